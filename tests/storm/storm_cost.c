/*
 * Costs. The node has no peers meanwhile, so that nothing else is counted but
 * what it does by itself now and then; a dear connection is therefore sent
 * again, and counts with the least of its costs.
 */
#include "tests/storm/storm_cost.h"

#include <inttypes.h>
#include <stdio.h>

#include "codec/mix.h"
#include "tests/storm/storm_client.h"
#include "tests/storm/storm_log.h"
#include "tests/storm/storm_node.h"
#include "tests/storm/storm_world.h"

enum {
	STORM_COST_LIMIT_US = 20000, /* of a connection with some messages */
	STORM_COST_AGAIN_US = 4000,  /* beyond it, sent again */
	STORM_COST_TRIES = 3,
	STORM_COST_DEAREST = 5,
};

struct storm_cost {
	uint64_t id, us;
};

/* Until the connection is over, and the node has nothing more to do. */
static uint64_t storm_cost_measure(uint64_t id)
{
	uint64_t before_us = storm_node_cpu_us(), now_us, last_us;

	if (!storm_client_begin(id))
		return 0;
	while (storm_client_hostile() && storm_node_alive())
		storm_net_run(storm.net, 1);
	now_us = storm_node_cpu_us();
	do {
		last_us = now_us;
		storm_net_run(storm.net, 1);
		now_us = storm_node_cpu_us();
	} while (now_us > last_us);
	return now_us - before_us;
}

static uint64_t storm_cost_of(uint64_t id)
{
	uint64_t least = storm_cost_measure(id);

	for (int i = 1; i < STORM_COST_TRIES && least > STORM_COST_AGAIN_US;
	     i++) {
		uint64_t us = storm_cost_measure(id);

		least = us < least ? us : least;
	}
	return least;
}

/* Into the list of the dearest, if it belongs there. */
static void storm_cost_keep(struct storm_cost *dearest, struct storm_cost cost)
{
	for (int i = 0; i < STORM_COST_DEAREST; i++) {
		struct storm_cost other = dearest[i];

		if (cost.us <= other.us)
			continue;
		dearest[i] = cost;
		cost = other;
	}
}

void storm_cost_run(uint64_t seed, uint64_t n)
{
	struct storm_cost dearest[STORM_COST_DEAREST] = {{0, 0}};
	uint64_t sum_us = 0;

	for (uint64_t i = 0; i < n && storm_node_alive(); i++) {
		struct storm_cost cost = {scd__mix64(seed + i), 0};

		cost.us = storm_cost_of(cost.id);
		sum_us += cost.us;
		storm_cost_keep(dearest, cost);
		if ((double)cost.us > STORM_COST_LIMIT_US * storm.patience)
			storm_log_finding("connection %" PRIx64
					  " costs %" PRIu64 " us of processor",
					  cost.id, cost.us);
	}
	printf("# a connection costs %" PRIu64 " us of processor; the dearest:",
	       n ? sum_us / n : 0);
	for (int i = 0; i < STORM_COST_DEAREST; i++)
		printf(" %" PRIx64 " %" PRIu64, dearest[i].id, dearest[i].us);
	printf("\n");
}
