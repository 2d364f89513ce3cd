/*
 * What a peer has said of purges, on its way into the cache: one message
 * (invalidation_wire.h), section by section, each with a walk over the store
 * where it needs one, and off the disk at last.
 */
#ifndef DIGESTD_PEERS_HEARD_H
#define DIGESTD_PEERS_HEARD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "digestd/cache/cache.h"
#include "digestd/disk/disk.h"
#include "digestd/mesh/invalidation_wire.h"
#include "digestd/os/loop.h"
#include "digestd/store/keypart.h"

struct serving_desk;

/*
 * Where messages are applied, on one loop, and one after another: what is new
 * in a message is what lies behind the position that the one before it has
 * reached, so that the log has the numbers of an initiator in ascending order,
 * once each. Zero but for the first four.
 */
struct heard_by {
	struct loop *loop;
	struct cache *cache;
	const uint8_t *secret; /* of the hash */
	struct serving_desk *desk; /* null: purges are not strict */
	struct heard *under_way, *applying;
	bool stopped;
};

/* One message. */
struct heard {
	struct heard_by *by;
	void (*done)(void *arg, struct heard *h); /* it is off the disk, too */
	void *arg; /* null: nobody waits for it any more */
	uint8_t *bytes;
	size_t len, cap;
	size_t removed; /* objects */
	uint64_t first; /* the first initiator: of an answer, who gives it */
	bool queued; /* it is whole, and its turn has not come yet */

	struct invalidation_message message;
	struct invalidation_section section;
	struct invalidation_entry *entries; /* of that, those that are new */
	struct purge_walk walk;
	struct keypart part;
	struct loop_call step;
	struct disk_sync sync;
	struct heard *next, **link;
};

/* One that is still to be filled. Null: no memory. */
struct heard *heard_new(struct heard_by *by,
			void (*done)(void *arg, struct heard *h), void *arg);

/* Appends bytes. Returns 0, -E2BIG, -ENOMEM. */
int heard_add(struct heard *h, const void *bytes, size_t len);

/*
 * The message is whole. Returns 0, and done() will be called with `arg`, after
 * which it is freed; or SCD_EFORMAT, SCD_ECHECKSUM, SCD_ENOMEM, and it is the
 * caller's to free.
 */
int heard_apply(struct heard *h);

/* Frees one that is not being applied. *h becomes null. */
void heard_free(struct heard **h);

/* Ends and frees all that is under way; nothing is called. */
void heard_stop(struct heard_by *by);

#endif
