/*
 * Which pairs of a state and an event the machines of the nodes have met. Their
 * steps come by here: the linker wraps them.
 */
#include <inttypes.h>
#include <stdio.h>

#include "digestd/node/node_fill.h"
#include "tests/world/pairs.h"

struct node_fill_step __real_node_fill_step(struct node_fill *f,
					    const struct node_fill_input *in);
struct node_fill_step __wrap_node_fill_step(struct node_fill *f,
					    const struct node_fill_input *in);

static uint64_t pairs_fill[NODE_FILL_STATES][NODE_EVENTS];

struct node_fill_step __wrap_node_fill_step(struct node_fill *f,
					    const struct node_fill_input *in)
{
	pairs_fill[f->state][in->event]++;
	return __real_node_fill_step(f, in);
}

unsigned pairs_report(bool all)
{
	unsigned missed = 0;

	for (int s = 0; s < NODE_FILL_STATES; s++) {
		for (int e = 0; e < NODE_EVENTS; e++) {
			uint64_t n = pairs_fill[s][e];

			if (!node_fill_handles((enum node_fill_state)s,
					       (enum node_event)e))
				continue;
			missed += !n;
			if (all || !n)
				printf("# %s %s: %" PRIu64 " times\n",
				       node_fill_state_name(
					       (enum node_fill_state)s),
				       node_event_name((enum node_event)e), n);
		}
	}
	return missed;
}
