/*
 * What is kept of responses, and what they invalidate: a row a case.
 */
#include "digestd/http/freshness.h"
#include "digestd/http/response_facts.h"
#include "digestd/http/target.h"
#include "digestd/node/node_keep.h"
#include "tests/node/response_row.h"
#include "tests/unit.h"

enum { MAX_BYTES = 1000 };

enum method { GET, POST, OTHER };

struct may_row {
	const char *label;
	enum method method;
	unsigned status;
	int64_t body_len;
	struct pair fields[2], request[1];
	bool expected;
};

#define NAMED(uri) { "Content-Location", uri }

/* clang-format off */
static const struct may_row may_rows[] = {
	{ "a GET", GET, 200, 10, { FRESH }, { { 0 } }, true },
	{ "without a length", GET, 200, -1, { FRESH }, { { 0 } }, true },
	{ "as long as may be", GET, 200, MAX_BYTES, { FRESH }, { { 0 } }, true },
	{ "too long", GET, 200, MAX_BYTES + 1, { FRESH }, { { 0 } }, false },
	{ "no-store", GET, 200, 10, { { "Cache-Control", "no-store" } }, { { 0 } }, false },
	{ "another method", OTHER, 200, 10, { FRESH }, { { 0 } }, false },
	{ "the whole for a range", GET, 200, 10, { FRESH }, { { "Range", "bytes=0-1" } }, true },
	{ "not there, for a range", GET, 404, 10, { FRESH }, { { "Range", "bytes=0-1" } }, false },
	{ "not there", GET, 404, 10, { FRESH }, { { 0 } }, true },
	{ "a POST", POST, 200, 10, { FRESH }, { { 0 } }, false },
	{ "a POST for its target", POST, 200, 10, { FRESH, NAMED("/a") }, { { 0 } }, true },
	{ "by its whole URI", POST, 200, 10, { FRESH, NAMED("http://h/a") }, { { 0 } }, true },
	{ "for another", POST, 200, 10, { FRESH, NAMED("/b") }, { { 0 } }, false },
	{ "for another origin", POST, 200, 10, { FRESH, NAMED("http://i/a") }, { { 0 } }, false },
	{ "for how long, it does not say", POST, 200, 10, { NAMED("/a") }, { { 0 } }, false },
	{ "a POST that has created", POST, 201, 10, { FRESH, NAMED("/a") }, { { 0 } }, false },
};
/* clang-format on */

static bool may(const struct may_row *row)
{
	const struct exchange_times times = { NOW_S, NOW_S, 0, NULL };
	struct fields fields, request;
	struct freshness freshness;
	struct response_facts facts;
	struct target target;
	struct node_keep_response r = {
		.facts = &facts, .request = &request, .target = &target,
		.freshness = &freshness,
		.get = row->method == GET, .post = row->method == POST,
		.body_len = row->body_len, .max_bytes = MAX_BYTES,
	};
	bool result;

	response_row_fields(&fields, row->fields, NROWS(row->fields));
	response_row_fields(&request, row->request, NROWS(row->request));
	response_facts_read(&facts, row->status, &fields, NULL);
	freshness_init(&freshness, &facts, &times);
	assert_int_equal(target_resolve(&target, "/a", 2, "h"), 0);
	result = !node_keep_refuse(&r);
	target_free(&target);
	fields_free(&fields);
	fields_free(&request);
	return result;
}

static void what_may_be_kept(void **arg)
{
	(void)arg;
	for (size_t i = 0; i < NROWS(may_rows); i++) {
		if (may(&may_rows[i]) != may_rows[i].expected)
			fail_msg("%s", may_rows[i].label);
	}
}

static void where(void **arg)
{
	(void)arg;
	assert_int_equal(node_keep_place(ADMISSION_NO, ADMISSION_NO),
			 ADMISSION_NO);
	assert_int_equal(node_keep_place(ADMISSION_RAM, ADMISSION_NO),
			 ADMISSION_RAM);
	assert_int_equal(node_keep_place(ADMISSION_NO, ADMISSION_DISK),
			 ADMISSION_DISK);
	assert_int_equal(node_keep_place(ADMISSION_DISK, ADMISSION_RAM),
			 ADMISSION_DISK);
	assert_int_equal(node_keep_place_renewed(ADMISSION_RAM),
			 ADMISSION_RAM);
	assert_int_equal(node_keep_place_renewed(ADMISSION_DISK),
			 ADMISSION_DISK);
	assert_int_equal(node_keep_place_renewed(ADMISSION_NO),
			 ADMISSION_DISK);
}

/* clang-format off */
static const struct {
	struct pair field, request;
	bool other_variant;
	enum node_renewed expected;
} renewed_rows[] = {
	{ FRESH, { 0 }, false, NODE_RENEWED_STORE },
	{ FRESH, { 0 }, true, NODE_RENEWED_DROP },
	{ { "Cache-Control", "no-store" }, { 0 }, false, NODE_RENEWED_DROP },
	{ FRESH, { "Authorization", "Basic eDp5" }, false, NODE_RENEWED_LEAVE },
	{ FRESH, { "Authorization", "Basic eDp5" }, true, NODE_RENEWED_LEAVE },
	{ { "Cache-Control", "public, max-age=60" }, { "Authorization", "Basic eDp5" }, false, NODE_RENEWED_STORE },
};
/* clang-format on */

static void what_is_confirmed(void **arg)
{
	(void)arg;
	for (size_t i = 0; i < NROWS(renewed_rows); i++) {
		struct fields fields, request;
		struct response_facts facts;

		response_row_fields(&fields, &renewed_rows[i].field, 1);
		response_row_fields(&request, &renewed_rows[i].request, 1);
		response_facts_read(&facts, 200, &fields, NULL);
		assert_int_equal(
			node_keep_renewed(&facts, &request,
					  !renewed_rows[i].other_variant),
			renewed_rows[i].expected);
		fields_free(&fields);
		fields_free(&request);
	}
}

/* clang-format off */
static const struct {
	struct node_keep_change change;
	unsigned expected;
} change_rows[] = {
	{ { .status = 200 }, 0 },
	{ { .status = 204, .unsafe = true }, NODE_DROP_TARGET | NODE_DROP_NAMED },
	{ { .status = 303, .unsafe = true }, NODE_DROP_TARGET | NODE_DROP_NAMED },
	{ { .status = 404, .unsafe = true }, 0 },
	{ { .status = 500, .unsafe = true }, 0 },
	{ { .status = 200, .head = true }, 0 },
	{ { .status = 200, .head = true, .validating = true }, NODE_DROP_TARGET },
	{ { .status = 200, .head = true, .validating = true, .same = true }, 0 },
	{ { .status = 404, .head = true, .validating = true }, 0 },
	{ { .status = 200, .validating = true }, 0 }, /* takes its place */
};
/* clang-format on */

static void what_is_invalidated(void **arg)
{
	(void)arg;
	for (size_t i = 0; i < NROWS(change_rows); i++)
		assert_int_equal(node_keep_invalidates(&change_rows[i].change),
				 change_rows[i].expected);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_may_be_kept),
		cmocka_unit_test(where),
		cmocka_unit_test(what_is_confirmed),
		cmocka_unit_test(what_is_invalidated),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
