/*
 * Routing one request: which peer to ask, then which, then the origin.
 */
#ifndef DIGESTD_MESH_ROUTE_H
#define DIGESTD_MESH_ROUTE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "codec/mix.h"
#include "digestd/mesh/distance_table.h"
#include "digestd/mesh/peerset.h"

enum { ROUTE_MAX_PEERS = 8 }; /* candidates that are kept, the best */

struct route_policy {
	int64_t budget_ms; /* of all peers together; 0: by their distances */
	int64_t peer_ms;   /* of one peer; 0: by its distance */
	unsigned tries;    /* peers asked at most */
	uint64_t spread;   /* see route_spread(); 0: all ask in one order */
	struct distance_table *peers;  /* null: nothing is known of them */
	const struct distance *origin; /* null: nothing is known of it */
};

/* A request's way; private. */
struct route {
	struct peerset *view; /* borrowed */
	uint32_t peers[ROUTE_MAX_PEERS]; /* numbers in the view, best first */
	unsigned npeers, next, tried, too_far;
	bool measures;    /* a peer that is too far, */
	uint32_t measured; /* this one */
	int64_t started_ms, budget_ms;
};

/* The next step. */
struct route_step {
	bool origin;        /* go to the origin; otherwise: */
	bool probe;         /* ask this one beside the request, and go on: it is
			       half open, or too far to be waited for */
	uint32_t peer;      /* number in the view */
	int64_t timeout_ms; /* > 0: how long it may take to answer */
};

/*
 * How much a key prefers a peer among equally near ones, which are asked from
 * the highest weight on (rendezvous hashing): a peer that comes or goes moves
 * no key between others. key_lo: the lower half of the key, which suffices to
 * scatter keys and is all that a simulated key has of its own. name_hash:
 * peerset_hash_name() of the peer's name; or what else tells peers apart, such
 * as their instances.
 *
 * Source: Thaler and Ravishankar, "Using Name-Based Mappings to Increase Hit
 * Rates", 1998.
 */
static inline uint64_t route_weight(uint64_t key_lo, uint64_t name_hash)
{
	return scd__mix64(key_lo ^ name_hash);
}

/* The same key for a node that spreads what all ask for over who has it: it
 * has an order of its own, by its own name. */
static inline uint64_t route_spread(uint64_t key_lo, uint64_t self_hash)
{
	return key_lo ^ scd__mix64(self_hash);
}

/*
 * Looks a key up and ranks who may have it: near first, where a false
 * positive counts as the time that it costs; peers within 5 ms are equally
 * near. Among equals a hash of the key and the peer's name decides, so that the
 * keys are spread evenly over them and every node asks the same one for a key.
 * Who is too far to be worth asking (distance_pays()) is left out, but for one
 * in DISTANCE_PASSED_OVER times: then it is probed, to measure it.
 * The view must outlive the route; a null one has nobody to ask.
 */
void route_init(struct route *r, struct peerset *view,
		const struct peerset_keys *keys,
		const struct route_policy *policy,
		int64_t now_ms);

/*
 * The next step, at first, after each probe and after each peer that did not
 * help. A half-open peer is no way for a request, which would wait for one that
 * has failed: now and then it is to be probed, else it is left out. A probe is
 * no try, and has its own time.
 */
struct route_step route_next(struct route *r,
			     const struct route_policy *policy, int64_t now_ms);

/* Candidates found, ROUTE_MAX_PEERS at most; and peers that have the key, too,
 * but are too far. */
unsigned route_candidates(const struct route *r);
unsigned route_too_far(const struct route *r);

#endif
