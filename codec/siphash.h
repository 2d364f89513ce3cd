/*
 * SipHash-2-4 with 128 bits of output: the keyed hash from which everything
 * about a cache key derives. Without the key its values can neither be
 * predicted nor made to collide.
 *
 * Source: Aumasson, Bernstein, "SipHash: a fast short-input PRF", 2012, and
 * the 128-bit variant of its reference implementation.
 */
#ifndef SCD_SIPHASH_H
#define SCD_SIPHASH_H

#include <stddef.h>
#include <stdint.h>

/* The state of a hash that is fed piece by piece; all fields are private. */
struct scd__siphash {
	uint64_t v[4];
	uint64_t tail; /* bytes of the unfinished word, little-endian */
	uint64_t len;  /* bytes so far */
};

/* Begins with a key. */
void scd__siphash_init(struct scd__siphash *s, const uint8_t key[16]);

/* Takes the next len bytes; how they are split does not matter. */
void scd__siphash_update(struct scd__siphash *s, const void *bytes, size_t len);

/* The hash as two words: the first and the last 8 bytes, little-endian. */
void scd__siphash_final(struct scd__siphash *s, uint64_t out[2]);

/* The hash of len bytes behind up to seven others, which are a number whose
 * lowest byte is the first: at once, which is faster for a few words. */
void scd__siphash_whole(const uint8_t key[16], uint64_t before,
			unsigned before_len, const void *bytes, size_t len,
			uint64_t out[2]);

#endif
