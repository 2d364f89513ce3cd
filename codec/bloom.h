/*
 * Bloom filters: a set of keys in an array of bits. A key that was added is
 * always found; one that was not is found with the false-positive rate
 * (share of bits set)^nhash.
 *
 * Bit p is bit p & 7 of byte p >> 3; the spare bits of the last byte are zero.
 *
 * Source: Bloom, "Space/time trade-offs in hash coding with allowable errors",
 * 1970.
 */
#ifndef SCD_BLOOM_H
#define SCD_BLOOM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "error.h"
#include "key.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Bits of an array at most: 128 GiB, far beyond what a cache needs. */
#define SCD_BLOOM_MAX_BITS (UINT64_C(1) << 40)

/* The array is the filter's own: made by _init() or _copy(), freed by _free().
 * All zero is an empty object that _free() accepts. */
struct scd_bloom {
	uint8_t *bits;  /* scd_bloom_bytes() bytes */
	uint64_t nbits; /* size of the array, > 0 */
	unsigned nhash; /* hash functions, 1..32 */
	/* _init() makes it DOUBLE. Who wants another sets it while the filter
	 * is empty; SQUID is for nhash = 4 and the keys of scd_squid_key(). */
	enum scd_hashing hashing;
	uint64_t reserved; /* 0 */
};

/*
 * Make an empty filter. Errors leave *b alone. SCD_EINVAL: nbits is not
 * 1..2^40, nhash not 1..32. SCD_ENOMEM.
 */
int scd_bloom_init(struct scd_bloom *b, uint64_t nbits, unsigned nhash);

/* Make *copy a copy of b. SCD_ENOMEM: *copy is left alone. */
int scd_bloom_copy(const struct scd_bloom *b, struct scd_bloom *copy);

/* Release the array; *b becomes all zero. */
void scd_bloom_free(struct scd_bloom *b);

/* Bytes of the array. */
size_t scd_bloom_bytes(const struct scd_bloom *b);

/*
 * The nhash positions of a key, by the filter's hashing; at has room for
 * SCD_MAX_HASH. Cannot fail.
 */
void scd_bloom_positions(const struct scd_bloom *b, const struct scd_key *key,
			 uint64_t *at);

/* Add a key. Adding it again changes nothing. */
void scd_bloom_add(struct scd_bloom *b, const struct scd_key *key);

/*
 * Add n keys and return how many of them were not found before they were
 * added, each in its turn: the distinct keys, but for false positives. In an
 * array beyond the processor's caches two to four times as fast as one by one.
 */
uint64_t scd_bloom_add_many(struct scd_bloom *b, const struct scd_key *keys,
			    size_t n);

/* Whether a key may have been added. */
bool scd_bloom_has(const struct scd_bloom *b, const struct scd_key *key);

/* Remove everything. */
void scd_bloom_clear(struct scd_bloom *b);

/* Whether two filters have the same size, hash functions and hashing. */
bool scd_bloom_same_shape(const struct scd_bloom *a, const struct scd_bloom *b);

/* Whether two filters have the same shape and hold the same bits. */
bool scd_bloom_equal(const struct scd_bloom *a, const struct scd_bloom *b);

/* Number of bits that are set. Costs one pass over the array. */
uint64_t scd_bloom_ones(const struct scd_bloom *b);

/* Share of bits that are set, 0..1. Costs one pass. */
double scd_bloom_fill(const struct scd_bloom *b);

/* The rate at which keys that were not added are found: fill^nhash. */
double scd_bloom_fp(const struct scd_bloom *b);

/*
 * Make dst the union, intersection or difference (exclusive or) of both
 * arrays. A union is the filter of the union of the sets; an intersection
 * holds at least what both sets hold. SCD_EMISMATCH: the shapes differ, dst
 * is left alone.
 */
int scd_bloom_union(struct scd_bloom *dst, const struct scd_bloom *src);
int scd_bloom_intersect(struct scd_bloom *dst, const struct scd_bloom *src);
int scd_bloom_xor(struct scd_bloom *dst, const struct scd_bloom *src);

/*
 * Make *out the filter that the same keys would have made at a smaller size,
 * exactly: a position there is the one here modulo that size (key.h), so the
 * parts of the array are laid over each other. out is new, and not b. Both
 * sizes are powers of two, nbits at most b's; the same size gives a copy.
 * Costs a pass over the array. Errors leave *out alone. SCD_EINVAL: sizes
 * that are not so, or a hashing other than SCD_HASHING_DOUBLE. SCD_ENOMEM.
 */
int scd_bloom_fold(const struct scd_bloom *b, uint64_t nbits,
		   struct scd_bloom *out);

/*
 * How many distinct keys an array of nbits with nones ones and nhash hash
 * functions stands for: -(nbits / nhash) ln(1 - nones / nbits). A full array
 * gives infinity.
 * Source: Swamidass, Baldi, "Mathematical Correction for Fingerprint
 * Similarity Measures", 2007.
 */
double scd_bloom_estimate(uint64_t nbits, uint64_t nones, unsigned nhash);

/* The same for a filter. Costs one pass. */
double scd_bloom_cardinality(const struct scd_bloom *b);

/*
 * About how many keys two filters have in common: |A| + |B| - |A or B|, each
 * estimated as above; never negative. SCD_EMISMATCH: the shapes differ.
 */
int scd_bloom_overlap(const struct scd_bloom *a, const struct scd_bloom *b,
		      double *nkeys);

#ifdef __cplusplus
}
#endif

#endif
