/*
 * The catalog: what a node knows of its own cache, as a counting Bloom filter
 * in step with the store or as a list of what changes, and when to tell the
 * peers.
 *
 * The filter can move to another size while keys come and go (a rebuild). That
 * takes a walk over all keys, which is done part by part: the new filter has
 * the keys of the parts that were visited, and what comes and goes in those
 * since then; the old one has all of them and stands until the new one does.
 * Folding the counters of one half onto the other would do for half the size,
 * but takes as long as the filter is large, in one go.
 *
 * A snapshot is a copy of the array, made slice by slice while keys come and
 * go: what changes in the slices that were copied changes in the copy too, so
 * that it is, after the last slice, the array of that one moment. Nothing is
 * kept for that but how far the copy has come; a key that comes or goes costs
 * a second write of its bits, as long as a copy is being made.
 *
 * For a list of fingerprints (codec/list.h) nothing has to be copied: a catalog
 * that notes its changes hands over with each snapshot what has come and gone
 * since the last, which takes no time whatever the catalog has. While nobody
 * asks for an array such a catalog needs no filter: that saves some 30 bytes of
 * memory for each key, and for each change as many cache misses as there are
 * hash functions. A rebuild gives it one again.
 *
 * Source: Fan et al., "Summary Cache", 2000, V-B: a new summary is published
 * when a stated share of the objects is new.
 */
#ifndef DIGESTD_MESH_CATALOG_H
#define DIGESTD_MESH_CATALOG_H

#include <stdbool.h>
#include <stdint.h>

#include "codec/bloom.h"
#include "codec/counting.h"
#include "codec/key.h"
#include "codec/list.h"
#include "digestd/store/keypart.h"

struct catalog;

/*
 * Peers refuse a digest with 5 % and more. Half of that leaves time for a
 * larger filter.
 */
#define CATALOG_MAX_FP .025

/*
 * Bytes copied in one go: some 20 us, from memory to memory. A request that
 * waits for the lock meanwhile does not notice.
 */
enum { CATALOG_SLICE_BYTES = 1 << 17 };

/*
 * A generation costs each reader, and this node for it, some 200 us together,
 * however small it is. So one with few changes waits until there are more: a
 * change may cost the cluster a millisecond. For nodes that follow each other,
 * that bounds what digests cost all of them by what changes, not by the square
 * of their number.
 */
enum {
	PUBLISH_READERS_A_CHANGE = 4,
	PUBLISH_FEW_READERS = 6, /* with more, max_ms grows as they do */
};

/* When a new generation is due. */
struct publish_policy {
	double share;   /* of the keys that changed since the last, 0..1 */
	int64_t min_ms; /* not sooner after the last */
	int64_t max_ms; /* not later, if anything changed */
	unsigned readers; /* of each generation; 0: unknown, few */
};

/* From how many changes on one is due as soon as it may be, with so many keys;
 * any change is enough where this is below 1. */
double publish_policy_changes(const struct publish_policy *policy,
			      uint64_t nkeys);

/* A generation, as it was at one moment. */
struct catalog_snapshot {
	struct scd_bloom bloom; /* the taker's, to be freed; no bits: only the
				 * changes were asked for */
	uint64_t generation;    /* 1 and up */
	uint64_t nkeys;
	double fp; /* false positives to expect of the filter; 0: none */
	/* Of a catalog that notes its changes: those since the last snapshot,
	 * in no order, as fingerprints of CATALOG_NOTED_WIDTH bits. The
	 * taker's, to be freed. */
	struct scd_list_change changes;
	bool lost; /* there was no memory for some of them, now or before */
};

enum { CATALOG_NOTED_WIDTH = SCD_LIST_MAX_WIDTH };

struct catalog_stats {
	uint64_t nbits; /* of the filter; 0: there is none */
	unsigned nhash;
	uint64_t nkeys;
	uint64_t nones;
	uint64_t saturated;  /* counters that are stuck */
	uint64_t changed;    /* keys added or removed since the last snapshot */
	uint64_t generation; /* of the last snapshot; 0: none yet */
	double fp;           /* false positives to expect of the filter now */
	uint64_t next_nbits; /* the size that it moves to; 0: it stays */
	uint64_t grown, shrunk; /* rebuilds that have ended; not the first */
};

/*
 * Makes an empty catalog with a filter of this shape; 0 bits: with none, so
 * that it has to note its changes until a rebuild. Returns 0, or an SCD_ error
 * as scd_counting_new().
 */
int catalog_new(struct catalog **out, uint64_t nbits, unsigned nhash);

void catalog_free(struct catalog **c);

/* From now on, notes what comes and goes, for the snapshots; before the first
 * key. Takes 8 bytes a change. */
void catalog_note_changes(struct catalog *c);

/*
 * Gives up the filter of a catalog that notes changes, while neither a snapshot
 * nor a rebuild is under way. Returns it, to be freed by the caller; null:
 * there is none.
 */
struct scd_counting *catalog_drop_filter(struct catalog *c);

/* A key's first variant came in; its last one went. */
void catalog_add(struct catalog *c, const struct scd_key *key);
void catalog_remove(struct catalog *c, const struct scd_key *key);

/*
 * Whether a generation is due at now_ms. The first is due at once, so that
 * peers know of an empty cache too. After a change of size one is due as soon
 * as min_ms allows; none is due while more false positives than CATALOG_MAX_FP
 * are to be expected and a larger filter is on its way.
 */
bool catalog_due(const struct catalog *c, const struct publish_policy *policy,
		 int64_t now_ms);

/* The time from which one is due if no more keys come or go [ms]; INT64_MAX:
 * none is until then. */
int64_t catalog_due_ms(const struct catalog *c,
		       const struct publish_policy *policy);

/*
 * Calls changed(arg) when so many keys have come or gone since the last
 * snapshot: once, by who adds or removes the last of them, within that call; or
 * at once, if they have already. Null: not any more.
 */
void catalog_notify(struct catalog *c, uint64_t changes,
		    void (*changed)(void *arg), void *arg);

/*
 * Begins the snapshot that will be the next generation, none being under way,
 * of a catalog with a filter. The array of `copy`, an empty filter of the
 * catalog's shape, becomes the catalog's, and *copy all zero: nothing is
 * allocated here, and what is given should have been touched, for the same
 * reason as in catalog_rebuild().
 */
void catalog_snapshot_begin(struct catalog *c, struct scd_bloom *copy);

/*
 * Copies the next CATALOG_SLICE_BYTES. Returns whether they were the last: then
 * *out is the generation as of now, and the snapshot has ended.
 */
bool catalog_snapshot_slice(struct catalog *c, int64_t now_ms,
			    struct catalog_snapshot *out);

/*
 * Makes the next generation of the changes alone, without an array; of a
 * catalog that notes them, while no snapshot is under way. Costs nothing.
 */
void catalog_snapshot_changes(struct catalog *c, int64_t now_ms,
			      struct catalog_snapshot *out);

/* Releases what a snapshot has. */
void catalog_snapshot_free(struct catalog_snapshot *snapshot);

/*
 * All of that in one go, for who has no lock to think of, and a filter. Returns
 * 0, or SCD_ENOMEM and then nothing has changed.
 */
int catalog_snapshot(struct catalog *c, int64_t now_ms,
		     struct catalog_snapshot *out);

/*
 * Begins a rebuild, none being under way: `next` is empty, has as many hash
 * functions, and becomes the catalog's; the keys will be handed over in nparts
 * (a power of two) parts. Nothing is allocated or freed in a rebuild, so that
 * it can be done under a lock: the system takes a while to hand out some
 * megabytes, or to take them back.
 */
void catalog_rebuild(struct catalog *c, struct scd_counting *next,
		     uint64_t nparts);

/* The part whose keys are to be handed over next; null: no rebuild. */
const struct keypart *catalog_rebuild_part(const struct catalog *c);

/* A key of that part. */
void catalog_rebuild_key(struct catalog *c, const struct scd_key *key);

/*
 * All keys of that part, as they are now, have been handed over: the next one's
 * turn. Returns whether it was the last: then the new filter has taken the old
 * one's place, and *old is that, or null if there was none, to be freed by the
 * caller. No snapshot of the filter may be under way at the last: it would be
 * half of the one, half of the other.
 */
bool catalog_rebuild_next(struct catalog *c, struct scd_counting **old);

/* How things stand. Costs nothing: every sum is kept. */
void catalog_stats(const struct catalog *c, struct catalog_stats *out);

#endif
