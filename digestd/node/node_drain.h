/*
 * How a node ends: it takes no new work, hands over what only it holds, lets
 * what is under way end, and waits no longer for that than it was told. A
 * machine without I/O: what has happened and the time go in, what to do comes
 * out.
 *
 *   state      event    what follows
 *   SERVING    ASKED    begin: HANDING, until due_ms
 *   HANDING    HANDED   part from peers: DRAINING
 *   HANDING    ASKED    end: OVER
 *   HANDING    LATE     end: OVER
 *   DRAINING   ASKED    end: OVER
 *   DRAINING   EMPTY    if it was the last worker, end: OVER
 *   DRAINING   LATE     end: OVER
 *   OVER       any      nothing
 *
 * The time is LATE only after the begin, HANDED comes once after it, and a
 * worker is EMPTY only after the node has parted from its peers.
 */
#ifndef DIGESTD_NODE_NODE_DRAIN_H
#define DIGESTD_NODE_NODE_DRAIN_H

#include <stdbool.h>
#include <stdint.h>

enum node_drain_state {
	NODE_DRAIN_SERVING,
	NODE_DRAIN_HANDING,
	NODE_DRAIN_DRAINING,
	NODE_DRAIN_OVER,
};

enum { NODE_DRAIN_STATES = NODE_DRAIN_OVER + 1 };

enum node_drain_event {
	NODE_DRAIN_ASKED, /* to end, by a signal */
	NODE_DRAIN_HANDED, /* peers have what they will get */
	NODE_DRAIN_EMPTY, /* a worker has no connection any more */
	NODE_DRAIN_LATE,  /* the time is up */
};

enum { NODE_DRAIN_EVENTS = NODE_DRAIN_LATE + 1 };

/* What happens, with the facts that belong to it. */
struct node_drain_input {
	enum node_drain_event event;
	int64_t now_ms;	  /* ASKED */
	int64_t drain_ms; /* ASKED: what there is of time */
	unsigned workers; /* ASKED: how many there are; > 0 */
};

enum node_drain_action {
	NODE_DRAIN_GO_ON,
	NODE_DRAIN_BEGIN, /* take no clients any more, keep none that waits for
			     its next request; tell peers, and answer those who
			     wait for news; begin to hand over, and LATE at
			     due_ms */
	NODE_DRAIN_PART,  /* the same of peers as of clients */
	NODE_DRAIN_END,	  /* at once */
};

/* All zero at first: it serves. */
struct node_drain {
	enum node_drain_state state;
	int64_t due_ms; /* HANDING, DRAINING: LATE comes */
	unsigned left;	/* the same: workers that are not empty */
};

/* One step. EMPTY comes once for each worker. */
enum node_drain_action node_drain_step(struct node_drain *d,
				       const struct node_drain_input *in);

/* Whether new work is taken. */
bool node_drain_is_serving(const struct node_drain *d);

#endif
