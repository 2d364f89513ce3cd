/*
 * The eviction policies, one file each, and what all are made with.
 */
#ifndef DIGESTD_STORE_EVICTION_POLICY_H
#define DIGESTD_STORE_EVICTION_POLICY_H

#include "digestd/store/eviction.h"

/* All policies, each in a file of its own. */
#define EVICTION_POLICIES(X) \
	X(lru)               \
	X(fifo)              \
	X(clock)             \
	X(sieve)             \
	X(s3fifo)            \
	X(lfu)               \
	X(gdsf)              \
	X(wtinylfu)

#define X(name) extern const struct eviction_policy eviction_##name;
EVICTION_POLICIES(X)
#undef X

/* Makes an array larger: count elements of so many bytes; what is new in it is
 * not set. 0 or SCD_ENOMEM, then it is as before. */
int eviction_grow(void **array, size_t count, size_t each);

/* What the owner says of a slot. */
static inline struct eviction_item eviction_ask(const struct eviction *e,
						uint32_t slot)
{
	return e->config.item(e->config.arg, slot);
}

#endif
