/*
 * Cache-Status (RFC 9211): one member a way to an answer.
 */
#include "tests/unit.h"

#include "digestd/core/cachestatus.h"
#include "tests/core/message.h"

#define NO CACHESTATUS_NO_TTL

static const struct {
	struct cachestatus status;
	const char *value;
} rows[] = {
	{ { .node = "n", .ttl_s = 376 }, "n; hit; ttl=376" },
	{ { .node = "n", .ttl_s = -412 }, "n; hit; ttl=-412" },
	{ { .node = "n", .ttl_s = NO }, "n; hit" },
	{ { .node = "n", .ttl_s = NO, .fwd = CACHESTATUS_BYPASS },
	  "n; fwd=bypass" },
	{ { .node = "n", .ttl_s = NO, .fwd = CACHESTATUS_METHOD,
	    .fwd_status = 201 },
	  "n; fwd=method; fwd-status=201" },
	{ { .node = "n", .ttl_s = 60, .fwd = CACHESTATUS_URI_MISS,
	    .fwd_status = 200, .stored = true },
	  "n; fwd=uri-miss; fwd-status=200; ttl=60; stored" },
	{ { .node = "n", .ttl_s = NO, .fwd = CACHESTATUS_VARY_MISS },
	  "n; fwd=vary-miss" },
	{ { .node = "n", .ttl_s = NO, .fwd = CACHESTATUS_REQUEST },
	  "n; fwd=request" },
	{ { .node = "n", .ttl_s = 9, .fwd = CACHESTATUS_STALE,
	    .fwd_status = 304 },
	  "n; fwd=stale; fwd-status=304; ttl=9" },
	{ { .node = "n", .ttl_s = 9, .collapsed = true },
	  "n; hit; ttl=9; collapsed" },
	{ { .node = "n", .ttl_s = NO, .fwd = CACHESTATUS_URI_MISS,
	    .peer = "p" },
	  "n; fwd=uri-miss; detail=\"peer=p\"" },
	{ { .node = "n", .ttl_s = NO, .detail = "a\"b\\c\x01\xe4" },
	  "n; hit; detail=\"a\\\"b\\\\c??\"" },
	/* a name that is no token is a string */
	{ { .node = "cache-1.example", .ttl_s = NO }, "cache-1.example; hit" },
	{ { .node = "*x", .ttl_s = NO }, "*x; hit" },
	{ { .node = "1", .ttl_s = NO }, "\"1\"; hit" },
	{ { .node = "a b", .ttl_s = NO }, "\"a b\"; hit" },
};

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
	struct cachestatus s = { .node = "n", .ttl_s = NO };
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(members),
		cmocka_unit_test(behind_others),
		cmocka_unit_test(long_details),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
