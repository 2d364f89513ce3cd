/*
 * How often what is fresh is validated.
 */
#include "digestd/node/node_recheck.h"
#include "tests/unit.h"

enum { OTHER_BITS = 40 };

static void test_once_a_second(void **state)
{
	static struct node_recheck r;
	const uint64_t a = UINT64_C(5) << OTHER_BITS;

	(void)state;
	assert_true(node_recheck_take(&r, a, 0)); /* the table is empty */
	assert_false(node_recheck_take(&r, a, 0));
	assert_false(node_recheck_take(&r, a, 999));
	assert_true(node_recheck_take(&r, a, 1000));
	assert_false(node_recheck_take(&r, a, 1999));
	assert_true(node_recheck_take(&r, a + 1, 1999)); /* another place */
	assert_true(node_recheck_take(&r, a, 5000));
	/* the low half of the clock begins anew */
	assert_true(node_recheck_take(&r, a, INT64_C(0xffffff00)));
	assert_false(node_recheck_take(&r, a, INT64_C(0x100000000)));
	assert_true(node_recheck_take(&r, a, INT64_C(0x100001000)));
}

/* Who loses the place is validated once more, and never less. */
static void test_two_of_one_place(void **state)
{
	static struct node_recheck r;
	const uint64_t a = UINT64_C(5) << OTHER_BITS,
		       b = UINT64_C(7) << OTHER_BITS;

	(void)state;
	assert_true(node_recheck_take(&r, a, 10));
	assert_true(node_recheck_take(&r, b, 20));
	assert_true(node_recheck_take(&r, a, 30));
	assert_false(node_recheck_take(&r, a, 40));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_once_a_second),
		cmocka_unit_test(test_two_of_one_place),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
