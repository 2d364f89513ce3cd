/*
 * How a node ends: each event in each state, and each order of some of them.
 */
#include "digestd/node/node_drain.h"
#include "tests/unit.h"

enum { UNTIL_MS = 1000, DRAIN_MS = 300 };

/* clang-format off */
static const struct {
	enum node_drain_state state; /* DRAINING: until UNTIL_MS */
	enum node_drain_event event;
	int64_t now_ms;
	bool nothing_left;
	enum node_drain_state after;
	enum node_drain_action action;
} rows[] = {
#define ROW(state, event, now_ms, nothing_left, after, action) \
	{ NODE_DRAIN_##state, NODE_DRAIN_##event, now_ms, nothing_left, \
	  NODE_DRAIN_##after, NODE_DRAIN_##action },
ROW(SERVING,  ASKED,  5,            false, DRAINING, BEGIN)
ROW(SERVING,  LOOKED, 5,            false, SERVING,  GO_ON)
ROW(SERVING,  LOOKED, UNTIL_MS * 2, true,  SERVING,  GO_ON)
ROW(DRAINING, ASKED,  5,            false, OVER,     END)
ROW(DRAINING, LOOKED, UNTIL_MS - 1, false, DRAINING, GO_ON)
ROW(DRAINING, LOOKED, UNTIL_MS,     false, OVER,     END)
ROW(DRAINING, LOOKED, 5,            true,  OVER,     END)
ROW(OVER,     ASKED,  5,            false, OVER,     GO_ON)
ROW(OVER,     LOOKED, UNTIL_MS,     true,  OVER,     GO_ON)
#undef ROW
};
/* clang-format on */

static void steps(void **arg)
{
	bool met[NODE_DRAIN_STATES][NODE_DRAIN_EVENTS] = { 0 };

	(void)arg;
	for (size_t i = 0; i < NROWS(rows); i++) {
		struct node_drain d = { rows[i].state, UNTIL_MS };
		const struct node_drain_input in = {
			.event = rows[i].event, .now_ms = rows[i].now_ms,
			.drain_ms = DRAIN_MS,
			.nothing_left = rows[i].nothing_left,
		};
		enum node_drain_action action = node_drain_step(&d, &in);

		if (d.state != rows[i].after || action != rows[i].action)
			fail_msg("row %zu: state %d, action %d", i, d.state,
				 action);
		if (action == NODE_DRAIN_BEGIN)
			assert_int_equal(d.until_ms,
					 rows[i].now_ms + DRAIN_MS);
		assert_int_equal(node_drain_is_serving(&d),
				 d.state == NODE_DRAIN_SERVING);
		met[rows[i].state][rows[i].event] = true;
	}
	for (int s = 0; s < NODE_DRAIN_STATES; s++) {
		for (int e = 0; e < NODE_DRAIN_EVENTS; e++)
			assert_true(met[s][e]);
	}
}

/* Whatever happens in whatever order, it begins once and then ends once; and
 * as soon as it may. */
static void all_orders(void **arg)
{
	enum { EVENTS = 6, STEP_MS = DRAIN_MS / 3 + 1 };

	(void)arg;
	for (unsigned order = 0; order < 1u << 2 * EVENTS; order++) {
		unsigned begun = 0, ended = 0;
		struct node_drain d = { 0 };
		int64_t begun_ms = 0;

		for (unsigned i = 0; i < EVENTS; i++) {
			unsigned choice = order >> 2 * i & 3;
			const struct node_drain_input in = {
				.event = choice & 1 ? NODE_DRAIN_ASKED :
						      NODE_DRAIN_LOOKED,
				.now_ms = i * STEP_MS, .drain_ms = DRAIN_MS,
				.nothing_left = choice & 2,
			};
			bool late = begun && !ended &&
				    in.now_ms - begun_ms >= DRAIN_MS;
			enum node_drain_action action =
				node_drain_step(&d, &in);

			begun += action == NODE_DRAIN_BEGIN;
			ended += action == NODE_DRAIN_END;
			if (action == NODE_DRAIN_BEGIN)
				begun_ms = in.now_ms;
			assert_true(begun <= 1 && ended <= begun);
			assert_true(!late || ended);
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
