/*
 * Who may be asked, and how: a row a case.
 */
#include <string.h>

#include "digestd/http/cachecontrol.h"
#include "digestd/http/fields.h"
#include "digestd/http/freshness.h"
#include "digestd/node/node_ask.h"
#include "tests/unit.h"

struct pair {
	const char *name, *value;
};

static void fill(struct fields *f, const struct pair *pairs, size_t n)
{
	fields_init(f);
	for (size_t i = 0; i < n && pairs[i].name; i++)
		assert_int_equal(fields_add(f, pairs[i].name, pairs[i].value),
				 0);
}

enum method { GET, HEAD, POST };

static struct node_ask ask_by(enum method method, const struct fields *request,
			      const struct cachecontrol *cc)
{
	return (struct node_ask){
		.request = request,
		.cc = cc,
		.get = method == GET,
		.cacheable = method != POST,
		.ranged = fields_get(request, "Range"),
	};
}

/* clang-format off */
static const struct {
	enum method method;
	struct pair field;
	bool shareable, at_peers, renewed;
} who_rows[] = {
	{ GET, { 0 }, true, true, true },
	{ HEAD, { 0 }, false, true, false },
	{ POST, { 0 }, false, false, false },
	{ GET, { "Accept", "text/plain" }, true, true, true },
	{ GET, { "If-None-Match", "\"a\"" }, true, true, true },
	{ GET, { "Cache-Control", "no-store" }, false, false, false },
	{ GET, { "Cache-Control", "no-cache" }, false, false, false },
	{ GET, { "Cache-Control", "max-age=0" }, true, false, false },
	{ HEAD, { "Cache-Control", "max-age=0" }, false, false, false },
	{ GET, { "Cache-Control", "max-age=1" }, true, true, true },
	{ GET, { "Cache-Control", "min-fresh=1" }, true, true, true },
	{ GET, { "Range", "bytes=0-1" }, false, true, true },
	{ HEAD, { "Range", "bytes=0-1" }, false, false, false },
	{ GET, { "Authorization", "Basic eDp5" }, false, false, false },
};
/* clang-format on */

static void who_is_asked(void **arg)
{
	const struct freshness minute = { .lifetime_s = 60 };
	const struct freshness never = { .lifetime_s = 60,
					 .always_validate = true };
	const struct freshness none = { .lifetime_s = 0 };

	(void)arg;
	for (size_t i = 0; i < NROWS(who_rows); i++) {
		struct cachecontrol cc;
		struct node_ask ask;
		struct fields f;

		fill(&f, &who_rows[i].field, 1);
		cachecontrol_request(&f, &cc);
		ask = ask_by(who_rows[i].method, &f, &cc);
		if (node_ask_is_shareable(&ask) != who_rows[i].shareable ||
		    node_ask_may_be_at_peers(&ask, false) !=
			    who_rows[i].at_peers)
			fail_msg("row %zu", i);
		/* what is stored is asked about, not for */
		assert_false(node_ask_may_be_at_peers(&ask, true));
		assert_int_equal(node_ask_may_renew_at_peers(&ask, &minute),
				 who_rows[i].renewed);
		assert_false(node_ask_may_renew_at_peers(&ask, &never));
		assert_false(node_ask_may_renew_at_peers(&ask, &none));
		fields_free(&f);
	}
}

/* A part is passed on as it comes, unless it has to be of one version. */
static void parts_of_peers(void **arg)
{
	static const struct pair both[] = { { "Range", "bytes=-1" },
					    { "If-Range", "\"a\"" } };

	(void)arg;
	for (size_t n = 0; n <= NROWS(both); n++) {
		struct cachecontrol cc;
		struct node_ask ask;
		struct fields f;

		fill(&f, both, n);
		cachecontrol_request(&f, &cc);
		ask = ask_by(GET, &f, &cc);
		assert_int_equal(node_ask_may_pass_on_part(&ask), n == 1);
		assert_int_equal(node_ask_may_be_at_peers(&ask, false), n < 2);
		fields_free(&f);
	}
}

/* clang-format off */
static const struct {
	struct pair fields[2];
	bool aligns;
} slice_rows[] = {
	{ { { "Range", "bytes=0-1" } }, true },
	{ { { "Range", "bytes=-1" } }, false },
	{ { { "Accept", "text/plain" } }, false },
	{ { { "Range", "bytes=0-1" }, { "Cache-Control", "no-store" } }, false },
	{ { { "Range", "bytes=0-1" }, { "Authorization", "Basic eDp5" } }, false },
	{ { { "Range", "bytes=0-1" }, { "If-Range", "\"a\"" } }, true },
};
/* clang-format on */

/* What whole slices are asked for with, all may use, and peers may have. */
static void whole_slices_are_for_all(void **arg)
{
	(void)arg;
	for (size_t i = 0; i < NROWS(slice_rows); i++) {
		char range[SLICES_RANGE];
		struct cachecontrol cc;
		struct node_ask ask;
		struct fields f;

		fill(&f, slice_rows[i].fields, 2);
		cachecontrol_request(&f, &cc);
		ask = ask_by(GET, &f, &cc);
		assert_false(node_ask_align(&ask, range));
		ask.slice_bytes = 1000;
		assert_int_equal(node_ask_align(&ask, range),
				 slice_rows[i].aligns);
		if (slice_rows[i].aligns) {
			assert_string_equal(range, "bytes=0-999");
			assert_true(node_ask_is_shareable(&ask));
			assert_true(node_ask_may_be_at_peers(&ask, false));
			assert_false(node_ask_may_be_at_peers(&ask, true));
			ask.unheard = true;
			assert_false(node_ask_may_be_at_peers(&ask, false));
		}
		ask.get = false;
		assert_false(node_ask_align(&ask, range));
		fields_free(&f);
	}
}

/* What peers bring goes past the store until all of them were heard: slices can
 * only be had from there. */
static void slices_wait_for_who_was_not_heard(void **arg)
{
	struct cachecontrol cc;
	struct node_ask ask;

	(void)arg;
	cachecontrol_request(&fields_none, &cc);
	for (unsigned facts = 0; facts < 4; facts++) {
		ask = ask_by(GET, &fields_none, &cc);
		ask.unheard = facts & 1;
		ask.for_slices = facts & 2;
		assert_int_equal(node_ask_may_be_at_peers(&ask, false),
				 facts != 3);
	}
}

#define TAG { "ETag", "\"a\"" }
#define DATE { "Last-Modified", "Sun, 06 Nov 1994 08:49:37 GMT" }
#define NO_TAG { "Content-Type", "a/b" }
#define RANGE { "Range", "bytes=0-1" }
#define IF_RANGE { "If-Range", "\"c\"" }
#define IF_MATCH { "If-Match", "\"c\"" }
#define IF_NONE { "If-None-Match", "\"c\"" }
#define IF_SINCE { "If-Modified-Since", "Mon, 07 Nov 1994 08:49:37 GMT" }
#define IF_UNTIL { "If-Unmodified-Since", "Mon, 07 Nov 1994 08:49:37 GMT" }
#define OWN_NONE { "If-None-Match", "\"a\"" }
#define OWN_SINCE { "If-Modified-Since", "Sun, 06 Nov 1994 08:49:37 GMT" }

struct condition_row {
	const char *label;
	enum method method;
	struct pair request[4];
	struct pair stored[2]; /* none: nothing is */
	struct pair sent[4];   /* in any order; and what else the request has */
	bool validating;
};

/* clang-format off */
static const struct condition_row condition_rows[] = {
	{ "a miss", GET, { { 0 } }, { { 0 } }, { { 0 } }, false },
	{ "a miss, whose answer must be whole", GET, { IF_MATCH, IF_NONE, IF_SINCE, IF_UNTIL }, { { 0 } }, { { 0 } }, false },
	{ "a part of what is not stored", GET, { RANGE, IF_RANGE, IF_MATCH, IF_NONE }, { { 0 } }, { RANGE, IF_RANGE, IF_MATCH, IF_NONE }, false },
	{ "HEAD of what is not stored", HEAD, { IF_NONE, IF_SINCE }, { { 0 } }, { IF_NONE, IF_SINCE }, false },
	{ "by its tag", GET, { { 0 } }, { TAG }, { OWN_NONE }, true },
	{ "by its date", GET, { { 0 } }, { DATE }, { OWN_SINCE }, true },
	{ "by both", GET, { { 0 } }, { TAG, DATE }, { OWN_NONE, OWN_SINCE }, true },
	{ "HEAD", HEAD, { IF_NONE }, { TAG }, { OWN_NONE }, true },
	{ "in place of the client's", GET, { IF_MATCH, IF_NONE, IF_SINCE, IF_UNTIL }, { TAG }, { OWN_NONE }, true },
	{ "without a validator", GET, { IF_NONE, IF_SINCE }, { NO_TAG }, { { 0 } }, false },
	{ "a part, under its condition", GET, { RANGE, IF_RANGE, IF_NONE }, { TAG }, { RANGE, IF_RANGE, OWN_NONE }, true },
	{ "a part, without one", GET, { RANGE }, { DATE }, { RANGE, OWN_SINCE }, true },
	{ "a condition without a part", GET, { IF_RANGE }, { TAG }, { OWN_NONE }, true },
	{ "a part, without a validator", GET, { RANGE, IF_NONE }, { NO_TAG }, { RANGE, IF_NONE }, false },
	{ "another method", POST, { IF_MATCH, IF_UNTIL }, { { 0 } }, { IF_MATCH, IF_UNTIL }, false },
	{ "another method, of what is stored", POST, { IF_MATCH }, { TAG }, { IF_MATCH }, false },
};
/* clang-format on */

static size_t count_pairs(const struct pair *pairs, size_t n)
{
	size_t count = 0;

	while (count < n && pairs[count].name)
		count++;
	return count;
}

static void check_conditions(const struct condition_row *row)
{
	bool has_stored = row->stored[0].name;
	struct fields request, stored, out;
	struct cachecontrol cc;
	struct node_ask ask;
	bool validating = !row->validating;

	fill(&request, row->request, NROWS(row->request));
	fill(&stored, row->stored, NROWS(row->stored));
	assert_int_equal(fields_copy(&request, &out), 0);
	cachecontrol_request(&request, &cc);
	ask = ask_by(row->method, &request, &cc);
	assert_int_equal(node_ask_conditions(&ask, has_stored ? &stored : NULL,
					     &out, &validating), 0);
	if (validating != row->validating ||
	    fields_count(&out) != count_pairs(row->sent, NROWS(row->sent)))
		fail_msg("%s: %zu fields", row->label, fields_count(&out));
	for (size_t i = 0; i < fields_count(&out); i++) {
		const char *sent = fields_get(&out, row->sent[i].name);

		if (!sent || strcmp(sent, row->sent[i].value))
			fail_msg("%s: %s", row->label, row->sent[i].name);
	}
	fields_free(&request);
	fields_free(&stored);
	fields_free(&out);
}

static void conditions(void **arg)
{
	(void)arg;
	for (size_t i = 0; i < NROWS(condition_rows); i++)
		check_conditions(&condition_rows[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_is_asked),
		cmocka_unit_test(parts_of_peers),
		cmocka_unit_test(whole_slices_are_for_all),
		cmocka_unit_test(slices_wait_for_who_was_not_heard),
		cmocka_unit_test(conditions),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
