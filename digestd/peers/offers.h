/*
 * What this node offers its peers of what it holds, as lists that they fetch
 * from the peer listener (docs/PROTOCOL.md):
 *
 *   /scd/v1/handover/<instance>   while it drains: what no other node holds, as
 *                                 far as digests say, for the peer of that
 *                                 instance to take over; piece by piece, each
 *                                 entry once
 *   /scd/v1/hottest/<bytes>       what is used most, up to so many bytes
 *
 * The hottest objects come first. Who takes over which of them is decided by
 * rendezvous hashing, as for leases: the peer that owns the key from now on.
 *
 * A hand-over begins and ends on the service loop; requests come from workers.
 */
#ifndef DIGESTD_PEERS_OFFERS_H
#define DIGESTD_PEERS_OFFERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "digestd/mesh/fetch_schedule.h"

struct cache;
struct exchange;
struct loop;
struct offers;
struct peerset;

enum {
	OFFERS_PIECE = 16, /* entries of a hand-over that a peer gets at once */
	OFFERS_PATIENCE_MS = 3000, /* for a peer that does not come for more */
	/* what it takes at least, if there is a peer: each is to come for the
	 * digest once, which it does FETCH_PACE_MS after the last time, and to
	 * hear that this node drains */
	OFFERS_TELL_MS = 2 * FETCH_PACE_MS,
	OFFERS_MAX = 16384, /* entries, of a hand-over or of a list */
	OFFERS_BYTES_MAX = 1 << 20, /* of a list as text */
};

/* Counters; one row each. name, what it counts. */
/* clang-format off */
#define OFFERS_COUNTERS(X) \
	X(offered,  "objects that were offered to peers to take over") \
	X(fetched,  "objects that peers were given the names of, to take over")
/* clang-format on */

struct offers_counters {
#define X(name, help) uint64_t name;
	OFFERS_COUNTERS(X)
#undef X
};

/* Makes one, with nothing to hand over. All is borrowed. Returns 0 or -ENOMEM.
 */
int offers_new(struct loop *loop, struct cache *cache, struct offers **out);

/* *o becomes null; null is allowed. When no worker runs any more. */
void offers_free(struct offers **o);

/*
 * Begins to hand over objects of so many bytes at most to the peers of a view
 * that may be asked. over(arg) is called later, from the loop: when each of
 * them has fetched all that is for it, or does not come for it, and
 * OFFERS_TELL_MS have passed; or at once, from here, if there is no such peer.
 */
void offers_hand_over(struct offers *o, const struct peerset *view,
		      uint64_t bytes, void (*over)(void *arg), void *arg);

/* The peers are another view: those that may not be asked any more will not
 * come, as they have ended, or drain themselves. */
void offers_follow(struct offers *o, const struct peerset *view);

/* Whether a request is for a list; and its answer, in a worker's thread. */
bool offers_are_asked_for(const struct exchange *x);
void offers_on_request(struct offers *o, struct exchange *x);

/* What was offered so far; from any thread. */
void offers_count(struct offers *o, struct offers_counters *out);

#endif
