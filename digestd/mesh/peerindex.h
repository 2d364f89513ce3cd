/*
 * The digests of many peers in one index (codec/index.h), so that a lookup
 * costs the same for eight peers and for a hundred.
 *
 * All views of a node (peerset.h) share one: who makes the next view brings
 * the columns of the peers that have changed up to date, while the views that
 * there are go on looking up. So a view that is not the newest answers from
 * newer digests, if it was given older ones. A column stays with its peer while
 * any view asks for it, though the peer may have no column in newer ones.
 *
 * A peer has no column if its digest does not fit (the size is no power of
 * two), or is so large that the index would take too much memory. There is no
 * index for fewer peers than it pays off for.
 */
#ifndef DIGESTD_MESH_PEERINDEX_H
#define DIGESTD_MESH_PEERINDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "codec/key.h"
#include "digestd/mesh/peerset.h"

enum {
	/* Below, asking digest by digest is as fast, and takes no memory. */
	PEERINDEX_MIN_PEERS = 8,
	/* The bits of the index are at most so many times those of the digests
	 * in it: 1 if all have one size and fill the rows, 2 if the rows are
	 * half empty; the rest is for digests of different sizes. */
	PEERINDEX_MAX_MEMORY = 4,
	/* Instead of a column: none. */
	PEERINDEX_NONE = PEERSET_MAX_PEERS,
};

struct peerindex;

/*
 * The index of n peers: `old` (may be null) brought up to date, or another one
 * if it will not do. Returns an index with one user more, and in columns[i]
 * the column of peer i, below PEERSET_MAX_PEERS, or PEERINDEX_NONE. Null: too
 * few peers that fit, or no memory; then all are PEERINDEX_NONE. Only one
 * thread may do this. Costs a pass over each digest that has changed.
 */
struct peerindex *peerindex_update(struct peerindex *old,
				   const struct peerset_peer *peers, size_t n,
				   uint16_t *columns);

/* Says that a view asks for a column, and that it does so no longer; the
 * second from any thread. */
void peerindex_hold(struct peerindex *x, unsigned column);
void peerindex_release(struct peerindex *x, unsigned column);

/* One user less, the last one frees it; null is accepted. */
void peerindex_unref(struct peerindex *x);

/* Words of an answer, at most PEERSET_MAX_PEERS / 64. */
unsigned peerindex_words(const struct peerindex *x);

/*
 * Which columns may hold a key, as scd_index_lookup(); also columns that have
 * been left. Any number of threads may, during an update too.
 */
void peerindex_lookup(const struct peerindex *x, const struct scd_key *key,
		      uint64_t *out);

#endif
