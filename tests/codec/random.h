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

/* An array of nbits bits with exactly nones ones at random places. Places are
 * drawn for the rarer value only, again where it is already. */
static inline void random_bits(uint64_t *state, uint8_t *bits, uint64_t nbits,
			       uint64_t nones)
{
	const uint8_t usual = nones > nbits / 2 ? 0xff : 0;
	uint64_t left = usual ? nbits - nones : nones;

	memset(bits, usual, (size_t)((nbits + 7) / 8));
	if (nbits % 8)
		bits[nbits / 8] &= (uint8_t)((1u << nbits % 8) - 1);
	while (left > 0) {
		const uint64_t at = random_below(state, nbits);
		const uint8_t mask = (uint8_t)(1u << at % 8);

		if ((bits[at / 8] ^ usual) & mask)
			continue;
		bits[at / 8] ^= mask;
		left--;
	}
}

#endif
