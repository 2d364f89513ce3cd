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

/*
 * One position more, or less, in use. Without branches: in a filter that is
 * half full nobody can tell whether a counter is 0 or 1, and a branch not
 * foreseen takes longer than all of this.
 */
static inline void scd__counting_increment(struct scd_counting *c, uint64_t at)
{
	unsigned value = scd__counter(c, at);
	unsigned by = value < COUNTER_MAX;

	c->counters[at >> 1] =
		(uint8_t)(c->counters[at >> 1] + (by << (at & 1) * 4));
	c->bloom.bits[at >> 3] |= (uint8_t)(1u << (at & 7));
	c->nones += value == 0;
	c->nsaturated += value == COUNTER_MAX - 1;
}

static inline void scd__counting_decrement(struct scd_counting *c, uint64_t at)
{
	unsigned value = scd__counter(c, at);
	unsigned by = value > 0 && value < COUNTER_MAX;
	unsigned last = value == 1;

	c->counters[at >> 1] =
		(uint8_t)(c->counters[at >> 1] - (by << (at & 1) * 4));
	c->bloom.bits[at >> 3] &= (uint8_t)~(last << (at & 7));
	c->nones -= last;
}

/* As scd_counting_add() and _remove(), of a key whose positions in the filter
 * are known. */
void scd__counting_add_at(struct scd_counting *c, const uint64_t *at);
void scd__counting_remove_at(struct scd_counting *c, const uint64_t *at);

/* Fetches what they touch for one position. */
static inline void scd__counting_prefetch(const struct scd_counting *c,
					  uint64_t at)
{
	__builtin_prefetch(&c->counters[at >> 1], 1);
	__builtin_prefetch(&c->bloom.bits[at >> 3], 1);
}

#endif
