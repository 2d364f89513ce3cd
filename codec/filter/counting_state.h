/*
 * What a counting filter is made of, for the files that build and code it.
 */
#ifndef SCD_COUNTING_STATE_H
#define SCD_COUNTING_STATE_H

#include "codec/counting.h"

enum { COUNTER_MAX = 15 }; /* where a counter stays for good */

struct scd_counting {
	struct scd_bloom bloom;
	uint8_t *counters; /* counter i: the low or high half of byte i >> 1 */
	uint64_t nones;
	uint64_t nsaturated;
};

static inline size_t scd__counter_bytes(const struct scd_counting *c)
{
	return (size_t)(c->bloom.nbits / 2 + c->bloom.nbits % 2);
}

static inline unsigned scd__counter(const struct scd_counting *c, uint64_t at)
{
	return c->counters[at >> 1] >> (at & 1) * 4 & 15;
}

#endif
