/*
 * Nodes at several locations, which are some way from each other, and are cut
 * off from each other now and then.
 */
#ifndef TESTS_WORLD_LOCATIONS_H
#define TESTS_WORLD_LOCATIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "cachesim/world/nodes.h"

struct locations_plan {
	uint32_t far_us;  /* one way between two of them, beside all else */
	unsigned splits;  /* in a thousand, ten times a second */
};

/*
 * In some worlds of two nodes and more the seed puts them at two or three
 * locations, no farther from each other than `most_us`, one way, and sets the
 * latency of all links. The plan is kept: what is changed in it counts.
 */
void locations_choose(struct nodes_plan *nodes, struct locations_plan *plan,
		      uint32_t most_us, bool faults);

/* Cuts all links between the location of a node and others for a time, if the
 * seed says that it happens now. */
void locations_tend(unsigned node);

#endif
