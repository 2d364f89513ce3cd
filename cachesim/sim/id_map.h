/*
 * Numbers without gaps for 64-bit hashes: the first that is seen is 0, the
 * next new one 1, and so on, up to 2^32 - 1 of them.
 *
 * An open-addressing table with linear probing; a slot holds the whole hash,
 * its number, and a tag that is the user's, so that a look-up touches one line
 * of the cache. 16 bytes a slot, 21 to 43 a hash, and 8 for the array of hashes
 * by number. Many are looked up at a time, and expected before, so that their
 * cache misses overlap: 10 ns each where one by one takes 100, or nothing where
 * they are waited for with other work.
 */
#ifndef CACHESIM_SIM_ID_MAP_H
#define CACHESIM_SIM_ID_MAP_H

#include <stddef.h>
#include <stdint.h>

struct id_map_slot {
	uint64_t hash;
	uint32_t after; /* number + 1; 0: empty */
	uint32_t tag;   /* of the user; 0 for a new hash */
};

struct id_map {
	uint64_t *hash; /* by number; the owner may take it */
	uint32_t n;     /* numbers given */
	uint32_t room;  /* for so many there is room in hash */
	uint32_t most;  /* never more numbers than this */
	struct id_map_slot *slot;
	uint64_t mask; /* slots - 1 */
};

/* Says that a hash will be looked up soon. */
static inline void id_map_expect(const struct id_map *d, uint64_t hash)
{
	__builtin_prefetch(&d->slot[hash & d->mask], 1);
}

/* Room for many at once. */
enum { ID_MAP_MANY = 256 };

/* Makes an empty one. 0 or TRACE_ENOMEM. */
int id_map_init(struct id_map *d);

/*
 * The slots of n hashes, 0..ID_MAP_MANY, in their order, until the next call;
 * new ones get the next number. The hashes' low bits must be well mixed; the
 * caller expected them before. 0, TRACE_ENOMEM or TRACE_EOBJECTS: there are no
 * numbers left.
 */
int id_map_slots(struct id_map *d, const uint64_t *hash, size_t n,
		 struct id_map_slot **out);

/* The same for those who want the numbers only, and expected nothing. */
int id_map_numbers(struct id_map *d, const uint64_t *hash, size_t n,
		   uint32_t *out);

/* The slot of a hash; with `after` 0, if it has no number. */
struct id_map_slot *id_map_find(const struct id_map *d, uint64_t hash);

void id_map_free(struct id_map *d);

#endif
