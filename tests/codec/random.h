/*
 * Random numbers and arrays for tests: the same on every machine from the same
 * seed.
 */
#ifndef TEST_CODEC_RANDOM_H
#define TEST_CODEC_RANDOM_H

#include <stdint.h>
#include <string.h>

#include "codec/mix.h"

static inline uint64_t random_next(uint64_t *state)
{
	return scd__splitmix64(state);
}

/* Uniform below n (n > 0), but for a bias of n / 2^64. */
static inline uint64_t random_below(uint64_t *state, uint64_t n)
{
	return random_next(state) % n;
}

/* An array of nbits bits with exactly nones ones at random places. */
static inline void random_bits(uint64_t *state, uint8_t *bits, uint64_t nbits,
			       uint64_t nones)
{
	uint64_t left = nones;

	memset(bits, 0, (size_t)((nbits + 7) / 8));
	for (uint64_t i = 0; i < nbits; i++) {
		if (random_below(state, nbits - i) >= left)
			continue;
		bits[i / 8] |= (uint8_t)(1u << i % 8);
		left--;
	}
}

#endif
