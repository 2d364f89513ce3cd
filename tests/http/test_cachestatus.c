/*
 * Cache-Status (RFC 9211): one member a way to an answer.
 */
#include "tests/unit.h"

#include "digestd/http/cachestatus.h"
#include "tests/http/message.h"

#define NO CACHESTATUS_NO_TTL

#define HIT .how = CACHESTATUS_HIT
#define FORWARDED .how = CACHESTATUS_FORWARDED
#define COLLAPSED .how = CACHESTATUS_COLLAPSED

/* clang-format off */
static const struct {
	struct cachestatus status;
	const char *value;
} rows[] = {
	{ { .node = "n", HIT, .ttl_s = 376 }, "n; hit; ttl=376" },
	{ { .node = "n", HIT, .ttl_s = -412 }, "n; hit; ttl=-412" },
	{ { .node = "n", HIT, .ttl_s = NO }, "n; hit" },
	/* a hit is no more than that, whatever the request went through before */
	{ { .node = "n", HIT, .ttl_s = 1, .fwd = CACHESTATUS_VARY_MISS, .fwd_status = 200, .stored = true },
	  "n; hit; ttl=1" },
	{ { .node = "n", FORWARDED, .ttl_s = NO, .fwd = CACHESTATUS_BYPASS },
	  "n; fwd=bypass" },
	{ { .node = "n", FORWARDED, .ttl_s = NO, .fwd = CACHESTATUS_METHOD, .fwd_status = 201 },
	  "n; fwd=method; fwd-status=201" },
	{ { .node = "n", FORWARDED, .ttl_s = 60, .fwd = CACHESTATUS_URI_MISS, .fwd_status = 200, .stored = true },
	  "n; fwd=uri-miss; fwd-status=200; ttl=60; stored" },
	{ { .node = "n", FORWARDED, .ttl_s = NO, .fwd = CACHESTATUS_VARY_MISS },
	  "n; fwd=vary-miss" },
	{ { .node = "n", FORWARDED, .ttl_s = NO, .fwd = CACHESTATUS_REQUEST },
	  "n; fwd=request" },
	{ { .node = "n", FORWARDED, .ttl_s = 9, .fwd = CACHESTATUS_STALE, .fwd_status = 304 },
	  "n; fwd=stale; fwd-status=304; ttl=9" },
	{ { .node = "n", FORWARDED, .ttl_s = NO, .fwd = CACHESTATUS_URI_MISS, .peer = "p" },
	  "n; fwd=uri-miss; detail=\"peer=p\"" },
	/* another request received it, and stored it */
	{ { .node = "n", COLLAPSED, .ttl_s = 9, .fwd = CACHESTATUS_URI_MISS, .fwd_status = 200, .stored = true },
	  "n; fwd=uri-miss; ttl=9; collapsed" },
	/* an error: before anything was looked for, and after */
	{ { .node = "n", .ttl_s = NO, .fwd_status = 200, .stored = true, .detail = "loop" },
	  "n; detail=\"loop\"" },
	{ { .node = "n", .ttl_s = NO, .fwd = CACHESTATUS_URI_MISS, .fwd_status = 200, .stored = true, .detail = "origin" },
	  "n; fwd=uri-miss; detail=\"origin\"" },
	/* to a peer, when it may have what is stale */
	{ { .node = "n", .ttl_s = NO, .fwd = CACHESTATUS_STALE, .usable = CACHESTATUS_USABLE_ON_ERROR, .detail = "stale" },
	  "n; fwd=stale; usable=on-error; detail=\"stale\"" },
	{ { .node = "n", .ttl_s = NO, .fwd = CACHESTATUS_STALE, .usable = CACHESTATUS_USABLE_ON_DISCONNECT },
	  "n; fwd=stale; usable=on-disconnect" },
	{ { .node = "n", HIT, .ttl_s = NO, .usable = CACHESTATUS_USABLE_ON_ERROR }, "n; hit" },
	{ { .node = "n", HIT, .ttl_s = NO, .detail = "a\"b\\c\x01\xe4" },
	  "n; hit; detail=\"a\\\"b\\\\c??\"" },
	/* a name that is no token is a string */
	{ { .node = "cache-1.example", HIT, .ttl_s = NO }, "cache-1.example; hit" },
	{ { .node = "*x", HIT, .ttl_s = NO }, "*x; hit" },
	{ { .node = "1", HIT, .ttl_s = NO }, "\"1\"; hit" },
	{ { .node = "a b", HIT, .ttl_s = NO }, "\"a b\"; hit" },
};
/* clang-format on */

static void members(void **state)
{
	(void)state;
	for (size_t i = 0; i < NROWS(rows); i++) {
		struct fields f;

		fields_init(&f);
		assert_int_equal(cachestatus_append(&f, &rows[i].status), 0);
		assert_string_equal(fields_get(&f, "Cache-Status"),
				    rows[i].value);
		fields_free(&f);
	}
}

static void behind_others(void **state)
{
	struct cachestatus s = { .node = "n", HIT, .ttl_s = NO };
	char text[MESSAGE_MAX];
	struct fields f;

	(void)state;
	message_must(&f, "Cache-Status: Origin; hit; ttl=1100");
	assert_int_equal(cachestatus_append(&f, &s), 0);
	assert_string_equal(message_text(&f, text),
			    "Cache-Status: Origin; hit; ttl=1100\n"
			    "Cache-Status: n; hit\n");
	fields_free(&f);
}

/* Text without end is cut, and the member ends within its bounds. */
static void long_details(void **state)
{
	static char detail[5000];
	struct cachestatus s = { .node = "n", .ttl_s = NO, .detail = detail };
	struct fields f;

	(void)state;
	memset(detail, 'x', sizeof(detail) - 1);
	fields_init(&f);
	assert_int_equal(cachestatus_append(&f, &s), 0);
	assert_true(strlen(fields_get(&f, "Cache-Status")) < 2000);
	fields_free(&f);
}

static const struct {
	const char *message;
	enum cachestatus_fwd fwd;
} nearest_rows[] = {
	{ "", CACHESTATUS_NONE },
	{ "Cache-Status:", CACHESTATUS_NONE },
	{ "Cache-Status: n", CACHESTATUS_NONE },
	{ "Cache-Status: n; hit", CACHESTATUS_NONE },
	{ "Cache-Status: n; fwd=bypass", CACHESTATUS_BYPASS },
	{ "Cache-Status: n; fwd=method", CACHESTATUS_METHOD },
	{ "Cache-Status: n; fwd=uri-miss", CACHESTATUS_URI_MISS },
	{ "Cache-Status: n; fwd=vary-miss", CACHESTATUS_VARY_MISS },
	{ "Cache-Status: n; fwd=request", CACHESTATUS_REQUEST },
	{ "Cache-Status: n; fwd=stale", CACHESTATUS_STALE },
	{ "Cache-Status: n;fwd=stale;detail=match", CACHESTATUS_STALE },
	{ "Cache-Status: n; ttl=-3; fwd=stale", CACHESTATUS_STALE },
	{ "cache-status:  n ;  fwd=stale ", CACHESTATUS_STALE },
	/* what is not understood */
	{ "Cache-Status: n; fwd=miss", CACHESTATUS_NONE },
	{ "Cache-Status: n; fwd", CACHESTATUS_NONE },
	{ "Cache-Status: n; fwd=", CACHESTATUS_NONE },
	{ "Cache-Status: n; fwd=\"stale\"", CACHESTATUS_NONE },
	{ "Cache-Status: n; fwd=stale-", CACHESTATUS_NONE },
	{ "Cache-Status: n; fwds=stale", CACHESTATUS_NONE },
	{ "Cache-Status: fwd=stale", CACHESTATUS_NONE }, /* a name */
	{ "Cache-Status: ;;;", CACHESTATUS_NONE },
	{ "Cache-Status: n; detail=\"a; fwd=stale\"", CACHESTATUS_NONE },
	{ "Cache-Status: n; detail=\"fwd=stale", CACHESTATUS_NONE },
	{ "Cache-Status: \"a, b; fwd=stale\"; hit", CACHESTATUS_NONE },
	{ "Age: 1\nX-Cache-Status: n; fwd=stale", CACHESTATUS_NONE },
	/* the nearest is the last, in one line or several */
	{ "Cache-Status: a; fwd=stale, b; fwd=uri-miss",
	  CACHESTATUS_URI_MISS },
	{ "Cache-Status: a; fwd=uri-miss, b; fwd=stale", CACHESTATUS_STALE },
	{ "Cache-Status: a; fwd=stale, b; hit", CACHESTATUS_NONE },
	{ "Cache-Status: a; fwd=stale\nCache-Status: b; fwd=vary-miss",
	  CACHESTATUS_VARY_MISS },
	{ "Cache-Status: a; fwd=stale, ,", CACHESTATUS_STALE },
	/* the last of a parameter */
	{ "Cache-Status: n; fwd=stale; fwd=uri-miss", CACHESTATUS_URI_MISS },
	{ "Cache-Status: n; fwd=uri-miss; fwd=stale", CACHESTATUS_STALE },
};

static const struct {
	const char *message;
	enum cachestatus_usable usable;
} usable_rows[] = {
	{ "", CACHESTATUS_USABLE_NO },
	{ "Cache-Status: n; fwd=stale", CACHESTATUS_USABLE_NO },
	{ "Cache-Status: n; fwd=stale; usable", CACHESTATUS_USABLE_NO },
	{ "Cache-Status: n; fwd=stale; usable=", CACHESTATUS_USABLE_NO },
	{ "Cache-Status: n; fwd=stale; usable=on", CACHESTATUS_USABLE_NO },
	{ "Cache-Status: n; fwd=stale; usable=on-error; detail=\"stale\"",
	  CACHESTATUS_USABLE_ON_ERROR },
	{ "Cache-Status: n; usable=on-disconnect; fwd=stale",
	  CACHESTATUS_USABLE_ON_DISCONNECT },
	{ "Cache-Status: a; usable=on-error, b; fwd=stale",
	  CACHESTATUS_USABLE_NO },
};

static void usable(void **state)
{
	(void)state;
	for (size_t i = 0; i < NROWS(usable_rows); i++) {
		struct fields f;

		message_must(&f, usable_rows[i].message);
		if (cachestatus_usable_nearest(&f) != usable_rows[i].usable)
			fail_msg("%s", usable_rows[i].message);
		fields_free(&f);
	}
}

static void nearest(void **state)
{
	(void)state;
	for (size_t i = 0; i < NROWS(nearest_rows); i++) {
		struct fields f;

		message_must(&f, nearest_rows[i].message);
		if (cachestatus_fwd_nearest(&f) != nearest_rows[i].fwd)
			fail_msg("%s", nearest_rows[i].message);
		fields_free(&f);
	}
}

/* What is written can be read, whatever the name and the detail. */
static void nearest_of_our_own(void **state)
{
	static const char *const texts[] = { "n", "a b", "a;b", "a\"b,c" };

	(void)state;
	for (int fwd = CACHESTATUS_NONE; fwd <= CACHESTATUS_STALE; fwd++) {
		for (size_t i = 0; i < NROWS(texts); i++) {
			struct cachestatus s = {
				.node = texts[i],
				FORWARDED,
				.fwd = (enum cachestatus_fwd)fwd,
				.ttl_s = -1,
				.detail = texts[i],
			};
			struct fields f;

			message_must(&f, "Cache-Status: a; fwd=method");
			assert_int_equal(cachestatus_append(&f, &s), 0);
			assert_int_equal(cachestatus_fwd_nearest(&f), fwd);
			fields_free(&f);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(members),
		cmocka_unit_test(behind_others),
		cmocka_unit_test(long_details),
		cmocka_unit_test(nearest),
		cmocka_unit_test(usable),
		cmocka_unit_test(nearest_of_our_own),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
