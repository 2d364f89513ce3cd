/*
 * A part of all keys, so that what takes a walk over them can be done in
 * slices, while keys come and go: those whose hi is `number` modulo `count`.
 * The store visits a part by its slots; any other holder of keys may filter.
 */
#ifndef DIGESTD_STORE_KEYPART_H
#define DIGESTD_STORE_KEYPART_H

#include <stdbool.h>
#include <stdint.h>

#include "codec/key.h"

struct keypart {
	uint64_t number; /* below count */
	uint64_t count;  /* a power of two; 1: all keys are in part 0 */
};

/* The number of the part that a key is in, of `count` (a power of two). */
static inline uint64_t keypart_of(const struct scd_key *key, uint64_t count)
{
	return key->hi & (count - 1);
}

#endif
