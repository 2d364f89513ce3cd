/*
 * Replies that are ready: what is asked for again within a second gets the
 * same header, so that is made once. A hit that finds one makes nothing.
 *
 * They are of one worker, for plain hits: all of a stored response, with status
 * 200, without conditions. Each is good for the second it was made in (Age),
 * and holds its stored response until it goes, a second or two later; so what
 * has been purged or evicted is in memory that much longer, but is not sent:
 * a reply is found by the stored response, and that in the store.
 *
 * What is asked for once a second gets none: the first request for an object
 * leaves a note for its key, the second makes the reply.
 */
#ifndef DIGESTD_PROXY_READY_H
#define DIGESTD_PROXY_READY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "codec/key.h"
#include "digestd/os/loop.h"

struct cached;
struct fields;
struct shared_reply;

enum {
	READY_SLOTS = 256, /* a power of two */
	READY_ASKED = 2,   /* times in its second, to be made */
};

/* What a plain hit is answered with; all else follows from these. */
struct ready_hit {
	const struct cached *cached;
	int64_t at_s;
	int place; /* an enum admission_decision, see admission_tell() */
};

struct ready_slot {
	struct ready_hit hit;	    /* the last one here */
	struct scd_key key;	    /* of it */
	struct shared_reply *reply; /* null: a note only */
	unsigned asked;		    /* until there was one */
};

/* All zero at its beginning, but for the loop. */
struct ready {
	struct loop *loop;
	struct loop_timer timer; /* while there are replies */
	struct ready_slot slots[READY_SLOTS];
};

/*
 * The slot for a hit. There slot->reply is what it is answered with; if that is
 * null, *wanted says whether it should be made, and put there.
 */
struct ready_slot *ready_find(struct ready *ready, const struct ready_hit *hit,
			      bool *wanted);

/* Takes over the reply that was wanted there. */
void ready_keep(struct ready *ready, struct ready_slot *slot,
		struct shared_reply *reply);

/* Drops what was made in another second than now_s; its timer does so. */
void ready_sweep(struct ready *ready, int64_t now_s);

/* Forgets them all: settings have changed, or the worker ends. */
void ready_clear(struct ready *ready);

#endif
