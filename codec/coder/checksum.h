/*
 * XXH64 of an array and the number of its ones, together, of which parts may be
 * added while the array is still being made: a decoder adds what it has just
 * made beside instructions that wait for others, which takes half the time of a
 * pass of its own.
 *
 * Source: the description of XXH64 in doc/xxhash_spec.md of xxHash.
 */
#ifndef SCD_CHECKSUM_H
#define SCD_CHECKSUM_H

#include <stddef.h>
#include <stdint.h>

#include "codec/coder/bits.h"

enum { SCD__CHECKSUM_STRIPE = 32 }; /* bytes that are added at once */

struct scd__checksum {
	const uint8_t *first, *next; /* [first, next) are added: stripes */
	uint64_t seed;
	uint64_t lane[4];
	uint64_t ones; /* in [first, next) */
};

#define SCD__CHECKSUM_PRIME1 UINT64_C(0x9e3779b185ebca87)
#define SCD__CHECKSUM_PRIME2 UINT64_C(0xc2b2ae3d27d4eb4f)

static inline uint64_t scd__checksum_round(uint64_t lane, uint64_t word)
{
	lane += word * SCD__CHECKSUM_PRIME2;
	return (lane << 31 | lane >> 33) * SCD__CHECKSUM_PRIME1;
}

/*
 * Add the next len bytes, whole stripes, but not their ones, which the caller
 * adds in the way that its processor has.
 */
static inline __attribute__((always_inline)) void
scd__checksum_add(struct scd__checksum *sum, size_t len)
{
	const uint8_t *const end = sum->next + len;
	uint64_t a = sum->lane[0], b = sum->lane[1];
	uint64_t c = sum->lane[2], d = sum->lane[3];

	/* In variables: bytes might be those of the structure. */
	for (const uint8_t *p = sum->next; p < end; p += SCD__CHECKSUM_STRIPE) {
		a = scd__checksum_round(a, scd__load_bits(p, 8));
		b = scd__checksum_round(b, scd__load_bits(p + 8, 8));
		c = scd__checksum_round(c, scd__load_bits(p + 16, 8));
		d = scd__checksum_round(d, scd__load_bits(p + 24, 8));
	}
	sum->lane[0] = a;
	sum->lane[1] = b;
	sum->lane[2] = c;
	sum->lane[3] = d;
	sum->next = end;
}

/* Begin: nothing is added of the bytes from first on. */
void scd__checksum_begin(struct scd__checksum *sum, const uint8_t *first,
			 uint64_t seed);

/* Add the stripes, and their ones, that end at end or before. */
void scd__checksum_reach(struct scd__checksum *sum, const uint8_t *end);

/* Add what is left of [first, end). Returns its XXH64; sum->ones are its ones,
 * and sum is of no other use from now on. */
uint64_t scd__checksum_finish(struct scd__checksum *sum, const uint8_t *end);

#endif
