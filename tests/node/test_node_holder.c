/*
 * Whose stale copy is asked for when the origin fails, and when.
 */
#include "digestd/node/node_holder.h"
#include "tests/unit.h"

#define NO CACHESTATUS_USABLE_NO
#define ON_DISCONNECT CACHESTATUS_USABLE_ON_DISCONNECT
#define ON_ERROR CACHESTATUS_USABLE_ON_ERROR

static struct node_holder heard(enum cachestatus_usable usable)
{
	struct node_holder h = { 0 };

	assert_int_equal(node_holder_heard(&h, usable), usable != NO);
	return h;
}

/* clang-format off */
static const struct {
	enum cachestatus_usable usable, need;
	bool may_ask;
} rows[] = {
	{ NO, NO, false },
	{ NO, ON_DISCONNECT, false },
	{ NO, ON_ERROR, false },
	{ ON_DISCONNECT, NO, false },
	{ ON_DISCONNECT, ON_DISCONNECT, true },
	{ ON_DISCONNECT, ON_ERROR, false },
	{ ON_ERROR, NO, false },
	{ ON_ERROR, ON_DISCONNECT, true },
	{ ON_ERROR, ON_ERROR, true },
};
/* clang-format on */

static void once_and_if_it_will_do(void **state)
{
	(void)state;
	for (size_t i = 0; i < NROWS(rows); i++) {
		struct node_holder h = heard(rows[i].usable);

		if (node_holder_may_ask(&h, rows[i].need) != rows[i].may_ask)
			fail_msg("row %zu", i);
		if (!rows[i].may_ask)
			continue;
		node_holder_take(&h, rows[i].need, 503);
		assert_int_equal(h.state, NODE_HOLDER_DUE);
		assert_int_equal(h.status, 503);
		assert_false(node_holder_may_ask(&h, rows[i].need));
		/* nor does another one take its place */
		assert_false(node_holder_heard(&h, ON_ERROR));
	}
}

static void the_best_and_of_these_the_first(void **state)
{
	struct node_holder h = heard(ON_DISCONNECT);

	(void)state;
	assert_false(node_holder_heard(&h, NO));
	assert_false(node_holder_heard(&h, ON_DISCONNECT));
	assert_true(node_holder_heard(&h, ON_ERROR));
	assert_false(node_holder_heard(&h, ON_ERROR));
	assert_true(node_holder_may_ask(&h, ON_ERROR));
}

static void by_status(void **state)
{
	static const struct {
		unsigned status;
		enum cachestatus_usable need;
	} wanted[] = {
		{ 200, NO },	   { 304, NO },	      { 404, NO },
		{ 429, NO },	   { 500, ON_ERROR }, { 501, NO },
		{ 502, ON_ERROR }, { 503, ON_ERROR }, { 504, ON_ERROR },
		{ 505, NO },
	};

	(void)state;
	for (size_t i = 0; i < NROWS(wanted); i++)
		assert_int_equal(node_holder_need_of_status(wanted[i].status),
				 wanted[i].need);
}

/* clang-format off */
static const struct {
	enum fetch_result result;
	enum cachestatus_usable need;
} failures[] = {
	{ FETCH_COMPLETE, NO },
	{ FETCH_TRUNCATED, ON_DISCONNECT },
	{ FETCH_TIMEOUT, ON_DISCONNECT },
	{ FETCH_NOCONNECT, ON_DISCONNECT },
	{ FETCH_NOTLS, ON_DISCONNECT },
	{ FETCH_BAD, ON_DISCONNECT },
	{ FETCH_UNTRUSTED, ON_ERROR },
	{ FETCH_REFUSED, ON_ERROR },
	{ FETCH_NOMEM, NO },
};
/* clang-format on */

_Static_assert(NROWS(failures) == FETCH_RESULTS, "all of them");

static void by_failure(void **state)
{
	(void)state;
	for (size_t i = 0; i < NROWS(failures); i++)
		assert_int_equal(
			node_holder_need_of_failure(failures[i].result),
			failures[i].need);
}

static void by_condition(void **state)
{
	(void)state;
	assert_int_equal(node_holder_need_of_condition(ORIGIN_SERVES), NO);
	assert_int_equal(node_holder_need_of_condition(ORIGIN_FAILS),
			 ON_ERROR);
	assert_int_equal(node_holder_need_of_condition(ORIGIN_SILENT),
			 ON_DISCONNECT);
}

static void how_long_it_is_waited_for(void **state)
{
	(void)state;
	assert_int_equal(node_holder_wait_ms(100), NODE_HOLDER_WAIT_MS);
	assert_int_equal(node_holder_wait_ms(NODE_HOLDER_WAIT_MS),
			 NODE_HOLDER_WAIT_MS);
	assert_int_equal(node_holder_wait_ms(4000), 4000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(once_and_if_it_will_do),
		cmocka_unit_test(the_best_and_of_these_the_first),
		cmocka_unit_test(by_status),
		cmocka_unit_test(by_failure),
		cmocka_unit_test(by_condition),
		cmocka_unit_test(how_long_it_is_waited_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
