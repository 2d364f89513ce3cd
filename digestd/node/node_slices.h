/*
 * A reply that is made of slices (http/slices.h), one after the other: from the
 * store, from another request's fetch, or from one of its own.
 *
 * A closed machine without I/O. It knows of one slice at a time, the one that
 * the client is being sent; the edge (proxy/reply_slices.c) tells where that is
 * and carries out the one action of a step. The bytes stay outside.
 *
 *   BETWEEN    no slice is at hand; the edge looks for the next one
 *   READING    it is on disk, and is being read
 *   HERE       its bytes can be sent
 *   FOLLOWING  it is being fetched, and sent as it comes
 *   PASSING    it comes for this reply alone, and is not stored: memory has
 *              been short for a while
 *   PAUSED     there was no memory to fetch it; until a timer
 *   BROKEN     it cannot be had: the reply breaks off
 *   CLOSED     there is no client; calls may yet come
 */
#ifndef DIGESTD_NODE_NODE_SLICES_H
#define DIGESTD_NODE_NODE_SLICES_H

#include <stdbool.h>

enum node_slices_state {
	NODE_SLICES_BETWEEN,
	NODE_SLICES_READING,
	NODE_SLICES_HERE,
	NODE_SLICES_FOLLOWING,
	NODE_SLICES_PASSING,
	NODE_SLICES_PAUSED,
	NODE_SLICES_BROKEN,
	NODE_SLICES_CLOSED,
	NODE_SLICES_STATES,
};

enum node_slices_event {
	NODE_SLICES_FOUND,   /* the slice has been looked for: at `place` */
	NODE_SLICES_FETCHED, /* what became of NODE_SLICES_FETCH, or _PASS:
				`flight` */
	NODE_SLICES_READ,    /* the disk has been read, or cannot be */
	NODE_SLICES_TAKEN,   /* the client has taken all that is at hand */
	NODE_SLICES_ENDED,   /* the fetch that it follows: it broke off */
	NODE_SLICES_TIMER,
	NODE_SLICES_LEFT, /* the client, or all has been sent */
	NODE_SLICES_EVENTS,
};

/* Where a slice is. */
enum node_slices_place {
	NODE_SLICES_NOWHERE,
	NODE_SLICES_IN_MEMORY,
	NODE_SLICES_ON_DISK, /* a read has begun */
};

/* What came of fetching it. */
enum node_slices_flight {
	NODE_SLICES_JOINED, /* another's fetch */
	NODE_SLICES_LEADS,  /* a fetch of its own */
	NODE_SLICES_STORED, /* another has stored it meanwhile */
	NODE_SLICES_NO_MEMORY,
	NODE_SLICES_PASSES, /* past the store */
	NODE_SLICES_NO_WINDOW, /* there is no memory even for that */
};

enum {
	/* of one slice: fetches of its own, of which the second asks no peer,
	 * and of others that it has joined */
	NODE_SLICES_TRIES = 2,
	NODE_SLICES_JOINS = 32,
	NODE_SLICES_PAUSE_MS = 100,
	NODE_SLICES_PAUSES = 300, /* of one slice */
	/* of them, before it passes: what others are sent is theirs only for a
	 * while; who has waited so long once passes the next ones at once */
	NODE_SLICES_PATIENCE = 5,
	NODE_SLICES_AHEAD = 8, /* that are fetched at a time */
};

struct node_slices {
	enum node_slices_state state;
	bool may_fetch; /* nothing is fetched for a peer */
	unsigned ahead; /* how many may be fetched at a time: one when slices
			   go before they are sent, as more clients read than
			   there is room for */
	unsigned found; /* since then, that had not gone */
	unsigned tries, joins, pauses;
};

struct node_slices_input {
	enum node_slices_event event;
	enum node_slices_place place;   /* FOUND */
	bool gone; /* FOUND: it had been fetched for this reply */
	enum node_slices_flight flight; /* FETCHED */
	bool failed;                    /* READ */
	bool more;      /* TAKEN: the rest of the slice is on disk */
	bool no_memory; /* ENDED: it may have ended for want of it */
};

enum node_slices_action {
	NODE_SLICES_WAIT,    /* for the next event */
	NODE_SLICES_LOOK,    /* where the slice is; then FOUND */
	NODE_SLICES_FETCH,   /* join or lead; then FETCHED */
	NODE_SLICES_PASS,    /* ask for it past the store; then FETCHED */
	NODE_SLICES_READ_ON, /* more of it from the disk */
	NODE_SLICES_SEND,    /* what is at hand */
	NODE_SLICES_PAUSE,   /* set the timer */
	NODE_SLICES_FAIL,    /* break off */
	NODE_SLICES_CLOSE,   /* free it, when nothing is under way */
};

/* Makes one in BETWEEN. */
void node_slices_init(struct node_slices *s, bool may_fetch);

/* One step. The pair of s->state and in->event must be in the table. */
enum node_slices_action node_slices_step(struct node_slices *s,
					 const struct node_slices_input *in);

/* Whether a pair is in the table; the names of a state and of an event. */
bool node_slices_handles(enum node_slices_state state,
			 enum node_slices_event event);
const char *node_slices_state_name(enum node_slices_state state);
const char *node_slices_event_name(enum node_slices_event event);

#endif
