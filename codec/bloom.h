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

/*
 * The array belongs to the filter: scd_bloom_init() and other functions that
 * make a filter allocate it, scd_bloom_free() releases it. Members may be read;
 * all but hashing are written by this library only. A structure that is all
 * zero is no filter, but scd_bloom_free() accepts it.
 */
struct scd_bloom {
	uint8_t *bits;  /* scd_bloom_bytes() bytes */
	uint64_t nbits; /* size of the array, > 0 */
	unsigned nhash; /* hash functions, 1..32 */
	/* SCD_HASHING_DOUBLE, unless the caller sets it while the filter is
	 * empty; SCD_HASHING_SQUID needs nhash = 4 and the keys of
	 * scd_squid_key(), SCD_HASHING_PREFIX nhash = 1 and a power of two of
	 * bits, 2 and more. */
	enum scd_hashing hashing;
	uint64_t reserved; /* 0 */
};

/*
 * Make an empty filter of nbits bits with nhash hash functions, to be released
 * with scd_bloom_free(). What *b was before is not looked at. Errors leave it
 * alone. SCD_EINVAL: nbits is not 1..2^40, or nhash not 1..32. SCD_ENOMEM.
 */
int scd_bloom_init(struct scd_bloom *b, uint64_t nbits, unsigned nhash);

/* Make *copy a filter of its own with the bits of b, to be released with
 * scd_bloom_free(). SCD_ENOMEM: *copy is left alone. */
int scd_bloom_copy(const struct scd_bloom *b, struct scd_bloom *copy);

/* Release the array; *b becomes all zero. */
void scd_bloom_free(struct scd_bloom *b);

/* Bytes of the array: nbits / 8, rounded up. */
size_t scd_bloom_bytes(const struct scd_bloom *b);

/*
 * The nhash positions of a key in the filter, each below nbits, not necessarily
 * distinct, into at[0..nhash-1]; SCD_MAX_HASH elements always suffice. Cannot
 * fail.
 */
void scd_bloom_positions(const struct scd_bloom *b, const struct scd_key *key,
			 uint64_t *at);

/* Add a key. Adding it again changes nothing. */
void scd_bloom_add(struct scd_bloom *b, const struct scd_key *key);

/*
 * Add keys[0..n-1] in this order, and return how many of them the filter did
 * not have yet: the number of distinct keys, less false positives. Two to four
 * times as fast as one by one if the array exceeds the processor's caches.
 */
uint64_t scd_bloom_add_many(struct scd_bloom *b, const struct scd_key *keys,
			    size_t n);

/* Whether a key may have been added: false is certain, true is wrong at the
 * rate scd_bloom_fp(). */
bool scd_bloom_has(const struct scd_bloom *b, const struct scd_key *key);

/* Remove all keys; the shape stays. */
void scd_bloom_clear(struct scd_bloom *b);

/* Whether two filters have the same size, hash functions and hashing. */
bool scd_bloom_same_shape(const struct scd_bloom *a, const struct scd_bloom *b);

/* Whether two filters have the same shape and hold the same bits. */
bool scd_bloom_equal(const struct scd_bloom *a, const struct scd_bloom *b);

/* Number of bits that are set. Costs one pass over the array. */
uint64_t scd_bloom_ones(const struct scd_bloom *b);

/* Share of bits that are set, 0..1. Costs one pass. */
double scd_bloom_fill(const struct scd_bloom *b);

/* The rate at which keys that were not added are found, 0..1: fill^nhash. Costs
 * one pass. */
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

/* scd_bloom_estimate() of a filter. Costs one pass. */
double scd_bloom_cardinality(const struct scd_bloom *b);

/*
 * About how many keys two filters have in common: |A| + |B| - |A or B|, each
 * estimated as above; never negative. Costs three passes. SCD_EMISMATCH: the
 * shapes differ.
 */
int scd_bloom_overlap(const struct scd_bloom *a, const struct scd_bloom *b,
		      double *nkeys);

#ifdef __cplusplus
}
#endif

#endif
