/*
 * Where the entries of a store are, by key: a hash table that threads read
 * without a lock while one changes it.
 *
 * A bucket is a cache line of 8 words. Each of the first 7 is 16 bits of tag
 * and 48 of address: the newest entry of one key, from which a chain leads to
 * its older ones, its variants. The last word is the address of a list of what
 * did not fit, of whatever keys. Words change as a whole, so a reader never
 * sees half of one; what is taken out keeps its chain, so a reader that stands
 * on it can go on. Entries are freed when no reader can hold them any more, see
 * quiescent.h.
 *
 * What a reader finds was there. That there is nothing, it knows only if
 * nothing has moved meanwhile and the bucket has no list; else it is not sure,
 * and has to look again under the writers' lock. That is rare: a table is half
 * full, and moves entries only while it grows.
 *
 * Costs: a lookup is the bucket's cache line and that of the entry; of a key
 * that is not there the bucket's, but for one in 65,536. The table doubles from
 * 5 keys a bucket on, and divides two buckets with each insertion then, so only
 * the allocation of the larger table takes longer than the rest; 13 to 26 bytes
 * a key.
 */
#ifndef DIGESTD_STORE_STORE_INDEX_H
#define DIGESTD_STORE_STORE_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "codec/key.h"
#include "digestd/store/keypart.h"

enum { STORE_INDEX_SEGMENTS = 32 };

struct store_bucket;
struct store_entry;

/* All zero but what store_index_init() makes. */
struct store_index {
	/* of 1, 1, 2, 4 ... times the first one's buckets */
	struct store_bucket *segments[STORE_INDEX_SEGMENTS];
	void *memory[STORE_INDEX_SEGMENTS]; /* from which they are aligned */
	uint64_t nbuckets; /* in use */
	uint64_t base;	   /* the largest power of two that is not more */
	uint64_t moves;	   /* odd: entries are being moved */
};

/* 0 or -ENOMEM. */
int store_index_init(struct store_index *x);

/* Frees its memory, not the entries. */
void store_index_free(struct store_index *x);

/* The newest entry of a key; null: none. For who has the writers' lock. */
struct store_entry *store_index_find(const struct store_index *x,
				     const struct scd_key *key);

/* The next older one of the same key; null: none. The same. */
struct store_entry *store_index_next(const struct store_entry *e);

/* Has the processor load what a lookup of this key begins with; only saves
 * time, where something else is done before the lookup. */
void store_index_prefetch(const struct store_index *x,
			  const struct scd_key *key);

/*
 * Both without the lock, for a reader that is awake. If null, *sure says
 * whether there is none, or that is to be found out under the lock.
 */
struct store_entry *store_index_peek(const struct store_index *x,
				     const struct scd_key *key, bool *sure);
struct store_entry *store_index_peek_next(const struct store_entry *e,
					  bool *sure);

/* Puts an entry in, as the newest of its key. */
void store_index_add(struct store_index *x, struct store_entry *e);

/* Takes one out that is in. Its chain stays, for readers. */
void store_index_remove(struct store_index *x, struct store_entry *e);

/* Grows if there are many keys, or goes on; for each insertion. Without memory
 * the lists only become longer. */
void store_index_grow(struct store_index *x, uint64_t nkeys);

/* The entries of what has been taken out are a list of the owner's: the chain
 * of one then leads to the next, and readers see that they have lost the
 * way. */
void store_index_link(struct store_entry *e, struct store_entry *next);
struct store_entry *store_index_linked(const struct store_entry *e);

/* Into how many parts to divide a walk, a power of two. */
uint64_t store_index_parts(const struct store_index *x);

/* Calls back with the entries of buckets that have keys of a part, and maybe
 * others; they may be removed there. */
void store_index_walk(const struct store_index *x, const struct keypart *part,
		      void (*each)(void *arg, struct store_entry *e),
		      void *arg);

#endif
