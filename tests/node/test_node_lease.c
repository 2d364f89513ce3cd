/*
 * The way to an origin: each answer in each state, and that it ends.
 */
#include "digestd/node/node_lease.h"
#include "tests/unit.h"

enum { SELF = 1, OTHER = 2, THIRD = 3 };

static const struct row {
	enum node_lease_state state;
	uint64_t holder; /* who was named before */
	enum lease_word told;
	uint64_t at;
	enum node_lease_state after;
	enum node_lease_do does;
	struct lease_wish wish; /* of what is asked */
} rows[] = {
#define ROW(state, holder, told, at, after, does, ...)                    \
	{ NODE_LEASE_##state, holder, LEASE_##told, at, NODE_LEASE_##after, \
	  NODE_LEASE_##does, __VA_ARGS__ }
#define WISH(who, not)                                                    \
	{                                                                 \
		true, who, not                                            \
	}
	ROW(BEGIN, 0, NONE, 0, ASKED_OWNER, ASK_OWNER, WISH(SELF, 0)),

	ROW(ASKED_OWNER, 0, NONE, 0, OVER, TO_ORIGIN, WISH(0, 0)),
	ROW(ASKED_OWNER, 0, YOURS, 0, OVER, TO_ORIGIN, WISH(0, 0)),
	ROW(ASKED_OWNER, 0, ALONE, 0, OVER, TO_ORIGIN, WISH(0, 0)),
	ROW(ASKED_OWNER, 0, ELSEWHERE, SELF, OVER, TO_ORIGIN, WISH(0, 0)),
	ROW(ASKED_OWNER, 0, ELSEWHERE, OTHER, ASKED_HOLDER, ASK_HOLDER,
	    WISH(0, 0)),

	ROW(ASKED_HOLDER, OTHER, NONE, 0, ASKED_AGAIN, ASK_OWNER,
	    WISH(SELF, OTHER)),
	ROW(ASKED_HOLDER, OTHER, YOURS, 0, ASKED_AGAIN, ASK_OWNER,
	    WISH(SELF, OTHER)),
	ROW(ASKED_HOLDER, OTHER, ALONE, 0, OVER, TO_ORIGIN, WISH(0, 0)),
	ROW(ASKED_HOLDER, OTHER, ELSEWHERE, THIRD, ASKED_AGAIN, ASK_OWNER,
	    WISH(SELF, OTHER)),

	ROW(ASKED_AGAIN, OTHER, NONE, 0, OVER, TO_ORIGIN, WISH(0, 0)),
	ROW(ASKED_AGAIN, OTHER, YOURS, 0, OVER, TO_ORIGIN, WISH(0, 0)),
	ROW(ASKED_AGAIN, OTHER, ALONE, 0, OVER, TO_ORIGIN, WISH(0, 0)),
	ROW(ASKED_AGAIN, OTHER, ELSEWHERE, OTHER, OVER, TO_ORIGIN, WISH(0, 0)),
	ROW(ASKED_AGAIN, OTHER, ELSEWHERE, THIRD, ASKED_LAST, ASK_HOLDER,
	    WISH(0, 0)),

	ROW(ASKED_LAST, THIRD, NONE, 0, OVER, TO_ORIGIN, WISH(0, 0)),
	ROW(ASKED_LAST, THIRD, ELSEWHERE, OTHER, OVER, TO_ORIGIN, WISH(0, 0)),
	ROW(OVER, 0, ELSEWHERE, OTHER, OVER, TO_ORIGIN, WISH(0, 0)),
};

static void each_answer(void **state)
{
	(void)state;
	for (size_t i = 0; i < NROWS(rows); i++) {
		const struct row *r = &rows[i];
		const struct lease_answer told = { r->told, r->at };
		struct node_lease l = { .state = r->state,
					.holder = r->holder };
		struct lease_wish wish;

		if (node_lease_next(&l, &told, SELF, &wish) != r->does ||
		    l.state != r->after)
			fail_msg("row %zu: state %d", i, (int)l.state);
		assert_true(wish.waits && wish.who == r->wish.who &&
			    wish.not == r->wish.not);
		if (r->does == NODE_LEASE_ASK_HOLDER)
			assert_int_equal(l.holder, r->at);
	}
}

/* Whoever names whom: it comes to the origin in five steps. */
static void it_ends(void **state)
{
	(void)state;
	for (unsigned answers = 0; answers < 1 << 12; answers++) {
		struct node_lease l = { .state = NODE_LEASE_BEGIN };
		struct lease_answer told = { .word = LEASE_NONE };
		struct lease_wish wish;
		unsigned steps = 1;

		for (unsigned left = answers;
		     node_lease_next(&l, &told, SELF, &wish) !=
		     NODE_LEASE_TO_ORIGIN;
		     left >>= 3, steps++)
			told = (struct lease_answer){
				(enum lease_word)(left & 3),
				left & 4 ? OTHER : THIRD
			};
		assert_true(steps <= 5);
	}
}

static void worth(void **state)
{
	struct node_lease_worth w = { 0 };
	unsigned tried = 0;

	(void)state;
	for (unsigned i = 0; i < NODE_LEASE_PATIENCE; i++) {
		assert_true(node_lease_is_worth(&w));
		node_lease_was_worth(&w, false);
	}
	for (unsigned i = 0; i < 10 * NODE_LEASE_SAMPLE; i++)
		tried += node_lease_is_worth(&w);
	assert_int_equal(tried, 10);
	node_lease_was_worth(&w, true);
	assert_true(node_lease_is_worth(&w));
	assert_true(node_lease_is_worth(&w));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_answer),
		cmocka_unit_test(it_ends),
		cmocka_unit_test(worth),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
