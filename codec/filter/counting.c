/*
 * Counting Bloom filters: two counters a byte, and the array of bits beside
 * them, so that taking a snapshot is a copy of the bits alone.
 */
#include "codec/counting.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "codec/filter/counting_state.h"
#include "codec/array_memory.h"

int scd_counting_new(struct scd_counting **out, uint64_t nbits, unsigned nhash)
{
	struct scd_counting *c = calloc(1, sizeof(*c));
	int error = SCD_ENOMEM;

	if (!c)
		return error;
	error = scd_bloom_init(&c->bloom, nbits, nhash);
	if (error)
		goto fail;
	error = SCD_ENOMEM;
	c->counters = scd__array_memory_zeros(scd__counter_bytes(c));
	if (!c->counters)
		goto fail;
	*out = c;
	return SCD_OK;
fail:
	scd_counting_free(&c);
	return error;
}

/* Whether a filter may have a hashing, by FORMAT.md. */
static bool counting_has_place(const struct scd_bloom *b,
			       enum scd_hashing hashing)
{
	switch (hashing) {
	case SCD_HASHING_DOUBLE:
		return true;
	case SCD_HASHING_SQUID:
		return b->nhash == SCD_SQUID_HASH && b->nbits % 8 == 0 &&
		       b->nbits <= SCD_SQUID_MAX_BITS;
	case SCD_HASHING_PREFIX:
		return b->nhash == 1 && b->nbits > 1 &&
		       (b->nbits & (b->nbits - 1)) == 0;
	}
	return false;
}

int scd_counting_set_hashing(struct scd_counting *c, enum scd_hashing hashing)
{
	assert(c);
	if (c->nones || !counting_has_place(&c->bloom, hashing))
		return SCD_EINVAL;
	c->bloom.hashing = hashing;
	return SCD_OK;
}

void scd_counting_free(struct scd_counting **c)
{
	if (!*c)
		return;
	scd_bloom_free(&(*c)->bloom);
	free((*c)->counters);
	free(*c);
	*c = NULL;
}

/*
 * A filter as it is while counters change, so that what counts stays in
 * registers. One position more, or less, in use is done without branches: in a
 * filter that is half full nobody can tell whether a counter is 0 or 1, and a
 * branch not foreseen takes longer than all of this.
 */
struct counters {
	uint8_t *counters, *bits;
	uint64_t nones, nsaturated;
};

static inline struct counters
counting_open_counters(const struct scd_counting *c)
{
	return (struct counters){ c->counters, c->bloom.bits, c->nones,
				  c->nsaturated };
}

static inline void counting_close_counters(struct scd_counting *c,
					   struct counters o)
{
	c->nones = o.nones;
	c->nsaturated = o.nsaturated;
}

static inline void counting_increment(struct counters *o, uint64_t at)
{
	unsigned shift = (at & 1) * 4, pair = o->counters[at >> 1];
	unsigned value = pair >> shift & 15;
	unsigned by = value < COUNTER_MAX;

	o->counters[at >> 1] = (uint8_t)(pair + (by << shift));
	o->bits[at >> 3] |= (uint8_t)(1u << (at & 7));
	o->nones += value == 0;
	o->nsaturated += value == COUNTER_MAX - 1;
}

static inline void counting_decrement(struct counters *o, uint64_t at)
{
	unsigned shift = (at & 1) * 4, pair = o->counters[at >> 1];
	unsigned value = pair >> shift & 15;
	unsigned by = value > 0 && value < COUNTER_MAX;
	unsigned last = value == 1;

	o->counters[at >> 1] = (uint8_t)(pair - (by << shift));
	o->bits[at >> 3] &= (uint8_t)~(last << (at & 7));
	o->nones -= last;
}

void scd_counting_add(struct scd_counting *c, const struct scd_key *key)
{
	uint64_t at[SCD_MAX_HASH];
	struct counters o;

	assert(c);
	scd_bloom_positions(&c->bloom, key, at);
	o = counting_open_counters(c);
	for (unsigned i = 0; i < c->bloom.nhash; i++)
		counting_increment(&o, at[i]);
	counting_close_counters(c, o);
}

void scd_counting_remove(struct scd_counting *c, const struct scd_key *key)
{
	uint64_t at[SCD_MAX_HASH];
	struct counters o;

	assert(c);
	scd_bloom_positions(&c->bloom, key, at);
	o = counting_open_counters(c);
	for (unsigned i = 0; i < c->bloom.nhash; i++)
		counting_decrement(&o, at[i]);
	counting_close_counters(c, o);
}

void scd_counting_clear(struct scd_counting *c)
{
	assert(c);
	scd_bloom_clear(&c->bloom);
	memset(c->counters, 0, scd__counter_bytes(c));
	c->nones = 0;
	c->nsaturated = 0;
}

const struct scd_bloom *scd_counting_bloom(const struct scd_counting *c)
{
	return &c->bloom;
}

uint64_t scd_counting_ones(const struct scd_counting *c)
{
	return c->nones;
}

uint64_t scd_counting_saturated(const struct scd_counting *c)
{
	return c->nsaturated;
}
