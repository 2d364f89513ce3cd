/*
 * The positions of many keys in arrays of one length: scd_positions() without
 * its divisions. The remainder comes from a product with the length's
 * reciprocal, which is at most 1 too small as a quotient; four positions take
 * as long as one division.
 * Source: Barrett, "Implementing the Rivest Shamir and Adleman Public Key
 * Encryption Algorithm on a Standard Digital Signal Processor", 1986.
 */
#ifndef SCD_POSITIONS_H
#define SCD_POSITIONS_H

#include "codec/key.h"

struct scd__modulus {
	uint64_t n, reciprocal; /* floor((2^64 - 1) / n) */
};

/* n > 0. */
static inline struct scd__modulus scd__modulus_of(uint64_t n)
{
	return (struct scd__modulus){ n, UINT64_MAX / n };
}

/* x % n. x * reciprocal / 2^64 is above x / n - 1. */
static inline uint64_t scd__modulo(struct scd__modulus m, uint64_t x)
{
	uint64_t quotient =
		(uint64_t)((unsigned __int128)x * m.reciprocal >> 64);
	uint64_t rest = x - quotient * m.n;

	return rest >= m.n ? rest - m.n : rest;
}

/* Hash i = 0, 1... of scd_positions(), before the remainder; walk is the key at
 * first. */
static inline uint64_t scd__next_hash(struct scd_key *walk, unsigned i)
{
	uint64_t hash = walk->lo;

	walk->lo += walk->hi;
	walk->hi += i + 1;
	return hash;
}

#endif
