/*
 * Filters and digests for the tests of digest.c and delta.c.
 */
#ifndef TEST_CODEC_SAMPLE_H
#define TEST_CODEC_SAMPLE_H

#include <string.h>

#include "codec/bloom.h"
#include "codec/digest.h"
#include "tests/codec/random.h"
#include "tests/unit.h"

enum { SAMPLE_INSTANCE = 77 };

/* A filter with nones ones at random places; 4 hash functions. */
static inline struct scd_bloom sample_bloom(uint64_t seed, uint64_t nbits,
					    uint64_t nones)
{
	struct scd_bloom bloom;

	assert_int_equal(scd_bloom_init(&bloom, nbits, 4), SCD_OK);
	random_bits(&seed, bloom.bits, nbits, nones);
	return bloom;
}

/* The same with up to flips bits flipped. */
static inline struct scd_bloom sample_next(const struct scd_bloom *base,
					   uint64_t seed, unsigned flips)
{
	struct scd_bloom next;

	assert_int_equal(scd_bloom_init(&next, base->nbits, base->nhash),
			 SCD_OK);
	memcpy(next.bits, base->bits, (size_t)((base->nbits + 7) / 8));
	while (flips-- > 0) {
		uint64_t at = random_below(&seed, base->nbits);

		next.bits[at / 8] ^= (uint8_t)(1u << at % 8);
	}
	return next;
}

static inline struct scd_digest_info sample_ids(uint64_t generation,
						uint64_t base_generation)
{
	return (struct scd_digest_info){
		.instance = SAMPLE_INSTANCE,
		.generation = generation,
		.base_generation = base_generation,
		.nkeys = 10,
	};
}

static inline void sample_same(const struct scd_bloom *a,
			       const struct scd_bloom *b)
{
	assert_true(a->nbits == b->nbits && a->nhash == b->nhash);
	assert_memory_equal(a->bits, b->bits, (size_t)((a->nbits + 7) / 8));
}

#endif
