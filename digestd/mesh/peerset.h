/*
 * The peers as the data path sees them: what each of them holds, and which of
 * them may be asked. An immutable view that many threads use without a lock;
 * a change makes a new view, which shares the digests that did not change. For
 * lookups the views of a node share one index of all arrays (peerindex.h), and
 * one table of all lists (peer_table.h).
 */
#ifndef DIGESTD_MESH_PEERSET_H
#define DIGESTD_MESH_PEERSET_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "codec/key.h"
#include "digestd/mesh/peer_digest.h"
#include "digestd/mesh/sector.h"

struct peer_kind;

enum { PEERSET_MAX_PEERS = 1024 };

/* One peer in a view. */
struct peerset_peer {
	uint32_t id;                /* its own, the same in every view */
	bool usable;                /* may be asked, and its digest counts */
	bool half_open;             /* only to be probed: see below */
	bool suspect; /* others doubt what it sends; not used here */
	bool leases;  /* it says that it grants leases */
	double rtt_ms;              /* of its answers; 0: not known yet */
	int64_t trip_ms; /* to it and back, see distance.h; 0: not known yet */
	struct peer_digest *digest; /* null: none yet */
	/* Of a peer at another location: what its digest is of. Count 0: it is
	 * at this one, and its digest of all that it holds. */
	struct sector sector;
	struct sector owns; /* of one at this location, if there are others */
	const struct peer_kind *kind; /* how it is asked; not used here */
	const char *name;
	const char *url;            /* of its peer listener */
	uint64_t name_hash;         /* peerset_hash_name(), set here */
};

/* FNV-1a of 64 bits of a peer's name: no secret, only to tell peers apart. */
uint64_t peerset_hash_name(const char *name);

struct peerset;

/*
 * Makes a view with one user of n (at most PEERSET_MAX_PEERS) peers; names and
 * urls are copied, digests get a user more. last: the newest view before, whose
 * index it shares, so that only what has changed is work; null: the first one.
 * Only one thread may make the views of a node. Null: no memory. Without the
 * memory for an index it is a view all the same.
 */
struct peerset *peerset_next(const struct peerset *last,
			     const struct peerset_peer *peers, size_t n);

/* The same without a view before. */
struct peerset *peerset_new(const struct peerset_peer *peers, size_t n);

/* One user more, one less; the last one frees it. Null is accepted by the
 * second. */
struct peerset *peerset_ref(struct peerset *set);
void peerset_unref(struct peerset *set);

/* Its peers, in the order in which they were given; i < count. */
size_t peerset_count(const struct peerset *set);
const struct peerset_peer *peerset_at(const struct peerset *set, size_t i);

/* Whether a peer is at another location. */
static inline bool peerset_is_elsewhere(const struct peerset_peer *p)
{
	return p->sector.count;
}

/* How many are at this one. */
size_t peerset_count_here(const struct peerset *set);

/* This node's sector, of which peers elsewhere have given their digests; count
 * 0: there are none. */
struct sector peerset_sector(const struct peerset *set);

/* An object's key, in each hashing that digests may have. */
struct peerset_keys {
	const struct scd_key *own;   /* SCD_HASHING_DOUBLE */
	const struct scd_key *squid; /* SCD_HASHING_SQUID; null: digests that
				      * have it are left out */
};

/* Whether a usable peer's digest has Squid's hashing. */
bool peerset_has_squid(const struct peerset *set);

/*
 * The usable peers whose digest has the key, those elsewhere for keys of this
 * node's sector alone: their numbers in the view, in no order, at most cap.
 * Returns how many. Those in the index cost one lookup together; it may know
 * newer digests of theirs than the view does. Each of the others costs one of
 * its own, where those of the same shape share the positions.
 */
size_t peerset_lookup(const struct peerset *set,
		      const struct peerset_keys *keys, uint32_t *out,
		      size_t cap);

enum { PEERSET_PROBE_MS = 1000 }; /* a probe has ended: DISTANCE_PROBE_MS */

/*
 * Whether peer i may be asked now: always; half open once in
 * PEERSET_PROBE_MS, in this view and those after it. Whoever is told so asks
 * it. From any thread.
 */
bool peerset_claim_probe(struct peerset *set, size_t i, int64_t now_ms);

#endif
