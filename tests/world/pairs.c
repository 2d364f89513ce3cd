/*
 * Which pairs of a state and an event the machines of the nodes have met. Their
 * steps come by here: the linker wraps them.
 */
#include "tests/world/pairs.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "digestd/node/node_fill.h"
#include "digestd/node/node_request.h"
#include "digestd/node/node_slices.h"

struct node_fill_step __real_node_fill_step(struct node_fill *f,
					    const struct node_fill_input *in);
struct node_fill_step __wrap_node_fill_step(struct node_fill *f,
					    const struct node_fill_input *in);
enum node_request_action
__real_node_request_step(struct node_request *q,
			 const struct node_request_input *in);
enum node_request_action
__wrap_node_request_step(struct node_request *q,
			 const struct node_request_input *in);

enum node_slices_action
__real_node_slices_step(struct node_slices *s,
			const struct node_slices_input *in);
enum node_slices_action
__wrap_node_slices_step(struct node_slices *s,
			const struct node_slices_input *in);

static uint64_t pairs_fill[NODE_FILL_STATES][NODE_EVENTS];
static uint64_t pairs_request[NODE_REQUEST_STATES][NODE_EVENTS];
static uint64_t pairs_slices[NODE_SLICES_STATES][NODE_SLICES_EVENTS];

struct node_fill_step __wrap_node_fill_step(struct node_fill *f,
					    const struct node_fill_input *in)
{
	pairs_fill[f->state][in->event]++;
	return __real_node_fill_step(f, in);
}

enum node_request_action
__wrap_node_request_step(struct node_request *q,
			 const struct node_request_input *in)
{
	pairs_request[q->state][in->event]++;
	return __real_node_request_step(q, in);
}

enum node_slices_action
__wrap_node_slices_step(struct node_slices *s,
			const struct node_slices_input *in)
{
	pairs_slices[s->state][in->event]++;
	return __real_node_slices_step(s, in);
}

/* Pairs that worlds cannot meet, and why. */
static const struct {
	const char *state;
	enum node_event event;
} pairs_elsewhere[] = {
	/* calls of other threads, which in a world run before a client can
	 * leave; test_relay.py has many that leave */
	{ "CLOSED", NODE_HEAD },
	{ "CLOSED", NODE_MORE },
	{ "CLOSED", NODE_END },
	/* a peer without a length breaks off behind its last byte:
	 * test_node_fill.c */
	{ "REJOIN", NODE_END },
	/* the client leaves just then: not met in 1,000 worlds, in which
	 * hundreds of fills rejoin; test_node_fill.c, again */
	{ "REJOIN", NODE_LEFT },
};

static bool pairs_can_be_met(const char *state, enum node_event event)
{
	size_t n = sizeof(pairs_elsewhere) / sizeof(pairs_elsewhere[0]);

	for (size_t i = 0; i < n; i++) {
		if (pairs_elsewhere[i].event == event &&
		    !strcmp(pairs_elsewhere[i].state, state))
			return false;
	}
	return true;
}

static unsigned pairs_print(const char *state, enum node_event event,
			    uint64_t n, bool all)
{
	bool missed = !n && pairs_can_be_met(state, event);

	if (all || missed)
		printf("# %s %s: %" PRIu64 " times\n", state,
		       node_event_name(event), n);
	return missed;
}

/* Of replies in slices, what worlds hardly meet: a client that leaves between
 * the beginning of a reply and its first byte, or in one of few pauses; what
 * passes and breaks off; and again calls of other threads. test_node_slices.c
 * has them. */
static bool pairs_slices_are_rare(enum node_slices_state state,
				  enum node_slices_event event)
{
	bool left = event == NODE_SLICES_LEFT;

	return (left && (state == NODE_SLICES_BETWEEN ||
			 state == NODE_SLICES_PAUSED)) ||
	       ((state == NODE_SLICES_CLOSED || state == NODE_SLICES_PASSING) &&
		event == NODE_SLICES_ENDED);
}

/* Those of replies in slices. */
static unsigned pairs_report_slices(bool all)
{
	unsigned count = 0;

	for (int s = 0; s < NODE_SLICES_STATES; s++) {
		enum node_slices_state state = (enum node_slices_state)s;

		for (int e = 0; e < NODE_SLICES_EVENTS; e++) {
			enum node_slices_event event =
				(enum node_slices_event)e;
			uint64_t n = pairs_slices[s][e];

			bool missed =
				!n && !pairs_slices_are_rare(state, event);

			if (!node_slices_handles(state, event) ||
			    !(all || missed))
				continue;
			printf("# slices: %s %s: %" PRIu64 " times\n",
			       node_slices_state_name(state),
			       node_slices_event_name(event), n);
			count += missed;
		}
	}
	return count;
}

unsigned pairs_report(bool all)
{
	unsigned missed = pairs_report_slices(all);

	for (int e = 0; e < NODE_EVENTS; e++) {
		enum node_event event = (enum node_event)e;

		for (int s = 0; s < NODE_REQUEST_STATES; s++) {
			enum node_request_state q = (enum node_request_state)s;

			if (node_request_handles(q, event))
				missed += pairs_print(
					node_request_state_name(q), event,
					pairs_request[s][e], all);
		}
		for (int s = 0; s < NODE_FILL_STATES; s++) {
			enum node_fill_state f = (enum node_fill_state)s;

			if (node_fill_handles(f, event))
				missed += pairs_print(node_fill_state_name(f),
						      event, pairs_fill[s][e],
						      all);
		}
	}
	return missed;
}
