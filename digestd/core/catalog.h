/*
 * The catalog: what a node knows of its own cache, as a counting Bloom filter
 * in step with the store, and when to tell the peers.
 *
 * Source: Fan et al., "Summary Cache", 2000, V-B: a new summary is published
 * when a stated share of the objects is new.
 */
#ifndef DIGESTD_CORE_CATALOG_H
#define DIGESTD_CORE_CATALOG_H

#include <stdbool.h>
#include <stdint.h>

#include "codec/bloom.h"
#include "codec/key.h"

struct catalog;

/* When a new generation is due. */
struct publish_policy {
	double share;   /* of the keys that changed since the last, 0..1 */
	int64_t min_ms; /* not sooner after the last */
	int64_t max_ms; /* not later, if anything changed */
};

/* A generation, as it was at one moment. */
struct catalog_snapshot {
	struct scd_bloom bloom; /* the taker's, to be freed */
	uint64_t generation;    /* 1 and up */
	uint64_t nkeys;
};

struct catalog_stats {
	uint64_t nbits;
	unsigned nhash;
	uint64_t nkeys;
	uint64_t nones;
	uint64_t saturated;  /* counters that are stuck */
	uint64_t changed;    /* keys added or removed since the last snapshot */
	uint64_t generation; /* of the last snapshot; 0: none yet */
	double fp;           /* false positives to expect now */
};

/*
 * Makes an empty catalog with a filter of this shape. Returns 0, or an SCD_
 * error as scd_counting_new().
 */
int catalog_new(struct catalog **out, uint64_t nbits, unsigned nhash);

void catalog_free(struct catalog **c);

/* A key's first variant came in; its last one went. */
void catalog_add(struct catalog *c, const struct scd_key *key);
void catalog_remove(struct catalog *c, const struct scd_key *key);

/*
 * Whether a generation is due at now_ms. The first is due at once, so that
 * peers know of an empty cache too.
 */
bool catalog_due(const struct catalog *c, const struct publish_policy *policy,
		 int64_t now_ms);

/*
 * Takes the next generation: a copy of the array. Returns 0, or SCD_ENOMEM
 * and then nothing has changed.
 */
int catalog_snapshot(struct catalog *c, int64_t now_ms,
		     struct catalog_snapshot *out);

/* How things stand. Costs nothing: every sum is kept. */
void catalog_stats(const struct catalog *c, struct catalog_stats *out);

#endif
