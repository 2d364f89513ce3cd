/*
 * How a node ends: it takes no new work, lets what is under way end, and waits
 * no longer for that than it was told. A machine without I/O: what has happened
 * and the time go in, what to do comes out.
 *
 *   state      event    what follows
 *   SERVING    ASKED    begin: DRAINING, until drain_ms have passed
 *   SERVING    LOOKED   nothing
 *   DRAINING   ASKED    end: OVER
 *   DRAINING   LOOKED   if nothing is left, or the time has passed, end: OVER
 *   OVER       any      nothing
 */
#ifndef DIGESTD_NODE_NODE_DRAIN_H
#define DIGESTD_NODE_NODE_DRAIN_H

#include <stdbool.h>
#include <stdint.h>

enum node_drain_state {
	NODE_DRAIN_SERVING,
	NODE_DRAIN_DRAINING,
	NODE_DRAIN_OVER,
};

enum { NODE_DRAIN_STATES = NODE_DRAIN_OVER + 1 };

enum node_drain_event {
	NODE_DRAIN_ASKED,  /* to end, by a signal */
	NODE_DRAIN_LOOKED, /* for what is left; now and then */
};

enum { NODE_DRAIN_EVENTS = NODE_DRAIN_LOOKED + 1 };

/* What happens, with the facts that belong to it. */
struct node_drain_input {
	enum node_drain_event event;
	int64_t now_ms;
	int64_t drain_ms;  /* ASKED: what there is of time */
	bool nothing_left; /* LOOKED: no worker has a connection any more */
};

enum node_drain_action {
	NODE_DRAIN_GO_ON,
	NODE_DRAIN_BEGIN, /* take no connections any more, keep none that waits
			     for its next request, answer who waits for news */
	NODE_DRAIN_END,	  /* at once */
};

/* All zero at first: it serves. */
struct node_drain {
	enum node_drain_state state;
	int64_t until_ms; /* DRAINING */
};

/* One step. */
enum node_drain_action node_drain_step(struct node_drain *d,
				       const struct node_drain_input *in);

/* Whether new work is taken. */
bool node_drain_is_serving(const struct node_drain *d);

#endif
