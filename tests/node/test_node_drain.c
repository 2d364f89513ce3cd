/*
 * How a node ends: each event in each state that it may come in, and each order
 * of some of them.
 */
#include "digestd/node/node_drain.h"
#include "tests/unit.h"

enum { NOW_MS = 700, DRAIN_MS = 300, WORKERS = 3 };

/* clang-format off */
static const struct {
	enum node_drain_state state;
	unsigned left; /* workers that are not empty */
	enum node_drain_event event;
	enum node_drain_state after;
	unsigned left_after;
	enum node_drain_action action;
} rows[] = {
#define ROW(state, left, event, after, left_after, action) \
	{ NODE_DRAIN_##state, left, NODE_DRAIN_##event, \
	  NODE_DRAIN_##after, left_after, NODE_DRAIN_##action },
ROW(SERVING,  0, ASKED, HANDING,  WORKERS, BEGIN)
ROW(HANDING,  3, HANDED, DRAINING, 3,      PART)
ROW(HANDING,  3, ASKED, OVER,     3,       END)
ROW(HANDING,  3, LATE,  OVER,     3,       END)
ROW(DRAINING, 2, ASKED, OVER,     2,       END)
ROW(DRAINING, 2, EMPTY, DRAINING, 1,       GO_ON)
ROW(DRAINING, 1, EMPTY, OVER,     0,       END)
ROW(DRAINING, 2, LATE,  OVER,     2,       END)
ROW(OVER,     2, ASKED, OVER,     2,       GO_ON)
ROW(OVER,     2, HANDED, OVER,    2,       GO_ON)
ROW(OVER,     2, EMPTY, OVER,     1,       GO_ON)
ROW(OVER,     1, EMPTY, OVER,     0,       GO_ON)
ROW(OVER,     2, LATE,  OVER,     2,       GO_ON)
#undef ROW
};
/* clang-format on */

static enum node_drain_action step(struct node_drain *d,
				   enum node_drain_event event, int64_t now_ms)
{
	const struct node_drain_input in = {
		.event = event, .now_ms = now_ms, .drain_ms = DRAIN_MS,
		.workers = WORKERS,
	};

	return node_drain_step(d, &in);
}

static void steps(void **arg)
{
	bool met[NODE_DRAIN_STATES][NODE_DRAIN_EVENTS] = { 0 };

	(void)arg;
	for (size_t i = 0; i < NROWS(rows); i++) {
		struct node_drain d = { .state = rows[i].state,
					.left = rows[i].left };
		enum node_drain_action action = step(&d, rows[i].event, NOW_MS);

		if (d.state != rows[i].after || action != rows[i].action ||
		    d.left != rows[i].left_after)
			fail_msg("row %zu: state %d, action %d, left %u", i,
				 d.state, action, d.left);
		if (action == NODE_DRAIN_BEGIN)
			assert_int_equal(d.due_ms, NOW_MS + DRAIN_MS);
		assert_int_equal(node_drain_is_serving(&d),
				 d.state == NODE_DRAIN_SERVING);
		met[rows[i].state][rows[i].event] = true;
	}
	for (int s = NODE_DRAIN_HANDING; s < NODE_DRAIN_STATES; s++) {
		for (int e = 0; e < NODE_DRAIN_EVENTS; e++)
			assert_int_equal(met[s][e],
					 (s != NODE_DRAIN_HANDING ||
					  e != NODE_DRAIN_EMPTY) &&
						 (s != NODE_DRAIN_DRAINING ||
						  e != NODE_DRAIN_HANDED));
	}
}

/* Whether an edge could bring it. */
static bool may_come(enum node_drain_event event, unsigned begun,
		     unsigned handed, unsigned empty, unsigned late)
{
	switch (event) {
	case NODE_DRAIN_ASKED:
		return true;
	case NODE_DRAIN_HANDED:
		return begun && !handed;
	case NODE_DRAIN_EMPTY:
		return handed && empty < WORKERS;
	case NODE_DRAIN_LATE:
		return begun && !late;
	}
	return false;
}

/* Whatever happens in whatever order, it begins once and then ends once, with
 * what comes first of a second signal, the last worker and the time. */
static void all_orders(void **arg)
{
	enum { EVENTS = 7, ORDERS = 1 << 2 * EVENTS };

	(void)arg;
	for (unsigned order = 0; order < ORDERS; order++) {
		unsigned asked = 0, handed = 0, empty = 0, late = 0;
		unsigned ended = 0, parted = 0;
		struct node_drain d = { 0 };

		for (unsigned i = 0, left = order; i < EVENTS; i++, left /= 4) {
			enum node_drain_event event =
				(enum node_drain_event)(left % 4);
			enum node_drain_action action;

			if (!may_come(event, asked, handed, empty, late))
				continue;
			asked += event == NODE_DRAIN_ASKED;
			handed += event == NODE_DRAIN_HANDED;
			empty += event == NODE_DRAIN_EMPTY;
			late += event == NODE_DRAIN_LATE;
			action = step(&d, event, i);
			parted += action == NODE_DRAIN_PART;
			assert_true(parted <= handed);
			assert_int_equal(action == NODE_DRAIN_PART,
					 event == NODE_DRAIN_HANDED && !ended);
			ended += action == NODE_DRAIN_END;
			assert_int_equal(action == NODE_DRAIN_BEGIN,
					 asked == 1 && !handed && !empty &&
						 !late &&
						 event == NODE_DRAIN_ASKED);
			assert_int_equal(ended, asked > 1 || late ||
							empty == WORKERS);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(steps),
		cmocka_unit_test(all_orders),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
