/*
 * Counting Bloom filters: two counters a byte, and the array of bits beside
 * them, so that taking a snapshot is a copy of the bits alone.
 */
#include "codec/counting.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "codec/counting_state.h"

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
	c->counters = calloc(1, scd__counter_bytes(c));
	if (!c->counters)
		goto fail;
	*out = c;
	return SCD_OK;
fail:
	scd_counting_free(&c);
	return error;
}

/* Whether a filter may have a hashing, by FORMAT.md. */
static bool has_place(const struct scd_bloom *b, enum scd_hashing hashing)
{
	switch (hashing) {
	case SCD_HASHING_DOUBLE:
		return true;
	case SCD_HASHING_SQUID:
		return b->nhash == SCD_SQUID_HASH && b->nbits % 8 == 0 &&
		       b->nbits <= SCD_SQUID_MAX_BITS;
	}
	return false;
}

int scd_counting_set_hashing(struct scd_counting *c, enum scd_hashing hashing)
{
	assert(c);
	if (c->nones || !has_place(&c->bloom, hashing))
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

void scd__counting_add_at(struct scd_counting *c, const uint64_t *at)
{
	for (unsigned i = 0; i < c->bloom.nhash; i++)
		scd__counting_increment(c, at[i]);
}

void scd__counting_remove_at(struct scd_counting *c, const uint64_t *at)
{
	for (unsigned i = 0; i < c->bloom.nhash; i++)
		scd__counting_decrement(c, at[i]);
}

void scd_counting_add(struct scd_counting *c, const struct scd_key *key)
{
	uint64_t at[SCD_MAX_HASH];

	assert(c);
	scd_bloom_positions(&c->bloom, key, at);
	scd__counting_add_at(c, at);
}

void scd_counting_remove(struct scd_counting *c, const struct scd_key *key)
{
	uint64_t at[SCD_MAX_HASH];

	assert(c);
	scd_bloom_positions(&c->bloom, key, at);
	scd__counting_remove_at(c, at);
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
