/*
 * What a policy remembers of objects that are gone: a queue of key hashes with
 * weights, which forgets the oldest beyond a limit of weight in all.
 *
 * Its memory follows what is in it. When there is none for more, it forgets
 * sooner. 64 bits of hash tell objects apart; weights count up to 2^32 - 1, and
 * as 1 at least.
 *
 * Costs: 20 bytes a place, of which two fifths may be empty or taken back, so
 * some 33 bytes an object at most; every operation is a constant number of
 * steps but for growing, which is so on average.
 */
#ifndef DIGESTD_STORE_EVICTION_GHOST_H
#define DIGESTD_STORE_EVICTION_GHOST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "digestd/store/eviction.h"

struct ghost {
	uint64_t hash;
	uint32_t weight; /* 0: taken back */
	uint32_t chain;	 /* the next place of the same chain */
};

/* All zero is empty. */
struct ghosts {
	struct ghost *ring; /* the queue, nplaces */
	uint32_t *chains;   /* nplaces: the first place of each, by hash */
	uint32_t nplaces;
	uint32_t first, used, taken; /* the oldest place; those in use, of these
					those taken back */
	uint64_t held;		     /* weight of all */
};

/* Remembers an object as the newest, one more if it remembers such a hash
 * already; forgets the oldest until all weigh at most `limit`. */
void ghosts_push(struct ghosts *g, struct eviction_item item, uint64_t limit);

/* Is this one remembered? Then not any more, or once less. */
bool ghosts_take(struct ghosts *g, uint64_t hash);

/* Leaves it empty. */
void ghosts_free(struct ghosts *g);

/* Bytes allocated. */
size_t ghosts_memory(const struct ghosts *g);

#endif
