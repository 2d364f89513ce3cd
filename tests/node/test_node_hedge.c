/*
 * The number of hedges: as many as there are questions to earn them, and a few
 * at once.
 */
#include "digestd/node/node_hedge.h"
#include "tests/unit.h"

static unsigned take_all(struct node_hedges *h)
{
	unsigned n = 0;

	while (node_hedges_take(h))
		n++;
	return n;
}

static void some_at_once(void **state)
{
	struct node_hedges h = { 0 };

	(void)state;
	assert_int_equal(take_all(&h), NODE_HEDGE_BURST);
	assert_false(node_hedges_take(&h));
}

static void the_rest_is_earned(void **state)
{
	struct node_hedges h = { 0 };

	(void)state;
	take_all(&h);
	for (int i = 0; i < 19; i++)
		node_hedges_asked(&h, 5);
	assert_false(node_hedges_take(&h));
	node_hedges_asked(&h, 5);
	assert_int_equal(take_all(&h), 1);
	/* and no more is saved than there was at first */
	for (int i = 0; i < 100000; i++)
		node_hedges_asked(&h, 100);
	assert_int_equal(take_all(&h), NODE_HEDGE_BURST);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(some_at_once),
		cmocka_unit_test(the_rest_is_earned),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
