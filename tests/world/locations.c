/*
 * Locations of a world.
 */
#include "tests/world/locations.h"

#include "cachesim/world/wire.h"
#include "cachesim/world/world.h"

static const struct locations_plan *locations_plan;

static bool locations_differ(unsigned a, unsigned b)
{
	return nodes_location(a) != nodes_location(b);
}

/* One way between two places. */
static int64_t locations_latency(int from, int to)
{
	const uint32_t us = wire_weather.latency_us;
	int64_t far_us = 0;

	if (from >= 0 && to >= 0 &&
	    locations_differ((unsigned)from, (unsigned)to))
		far_us = locations_plan->far_us;
	return far_us + us / 2 + world_below(CHOICE_LATENCY, us + 1);
}

void locations_choose(struct nodes_plan *nodes, struct locations_plan *plan,
		      uint32_t most_us, bool faults)
{
	*plan = (struct locations_plan){ 0 };
	locations_plan = plan;
	/* nobody says where a stranger is */
	if (nodes->nnodes < 2 || nodes->stranger ||
	    !world_happens(CHOICE_PLACES, 250))
		return;
	nodes->locations = 2 + world_below(CHOICE_PLACES, 2);
	plan->far_us = world_skewed(CHOICE_PLACES, 50, most_us);
	wire_weather.latency = locations_latency;
	if (faults && world_happens(CHOICE_PLACES, 500))
		plan->splits = world_skewed(CHOICE_PLACES, 1, 50);
}

void locations_tend(unsigned node)
{
	int64_t for_us;

	if (!world_happens(CHOICE_PLACES, locations_plan->splits))
		return;
	for_us = world_skewed(CHOICE_PLACES, 10000, 20000000);
	for (unsigned i = 0; i < nodes_count(); i++) {
		for (unsigned k = 0; k < i; k++) {
			if (locations_differ(i, k) &&
			    (!locations_differ(i, node) ||
			     !locations_differ(k, node)))
				wire_part((int)i, (int)k,
					  world_now_us + for_us);
		}
	}
}
