/*
 * The eviction policies, one file each, and what all are made with.
 */
#ifndef DIGESTD_STORE_EVICTION_POLICY_H
#define DIGESTD_STORE_EVICTION_POLICY_H

#include "digestd/store/eviction.h"

extern const struct eviction_policy eviction_lru;
extern const struct eviction_policy eviction_fifo;
extern const struct eviction_policy eviction_clock;
extern const struct eviction_policy eviction_sieve;
extern const struct eviction_policy eviction_s3fifo;
extern const struct eviction_policy eviction_lfu;
extern const struct eviction_policy eviction_gdsf;
extern const struct eviction_policy eviction_wtinylfu;

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
