/*
 * Bloom filters over a plain array of bytes.
 */
#include "codec/bloom.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "codec/coder/bits.h"
#include "codec/filter/bloom_raw.h"
#include "codec/array_memory.h"

/* Keys whose bytes are fetched together: more than memory is asked for at a
 * time, and still on the stack. */
enum { ADD_GROUP = 16 };

static void bloom_check(const struct scd_bloom *b)
{
	assert(b && b->bits && b->nbits > 0);
	assert(b->nhash >= 1 && b->nhash <= SCD_MAX_HASH);
	assert(b->hashing != SCD_HASHING_SQUID || b->nhash == SCD_SQUID_HASH);
	assert(b->hashing != SCD_HASHING_PREFIX ||
	       (b->nhash == 1 && b->nbits > 1 &&
		(b->nbits & (b->nbits - 1)) == 0));
}

size_t scd_bloom_bytes(const struct scd_bloom *b)
{
	return (size_t)(b->nbits / 8 + (b->nbits % 8 != 0));
}

static int bloom_make(struct scd_bloom *b, uint64_t nbits, unsigned nhash,
		      void *(*allocate)(size_t len))
{
	struct scd_bloom new = { .nbits = nbits, .nhash = nhash };

	if (nbits == 0 || nbits > SCD_BLOOM_MAX_BITS)
		return SCD_EINVAL;
	if (nbits / 8 >= SIZE_MAX / 2)
		return SCD_ENOMEM; /* on a machine of 32 bits */
	if (nhash < 1 || nhash > SCD_MAX_HASH)
		return SCD_EINVAL;
	new.bits = allocate(scd_bloom_bytes(&new));
	if (!new.bits)
		return SCD_ENOMEM;
	*b = new;
	return SCD_OK;
}

int scd_bloom_init(struct scd_bloom *b, uint64_t nbits, unsigned nhash)
{
	return bloom_make(b, nbits, nhash, scd__array_memory_zeros);
}

int scd__bloom_raw(struct scd_bloom *b, uint64_t nbits, unsigned nhash)
{
	return bloom_make(b, nbits, nhash, scd__array_memory);
}

int scd_bloom_copy(const struct scd_bloom *b, struct scd_bloom *copy)
{
	struct scd_bloom new = *b;

	bloom_check(b);
	new.bits = scd__array_memory(scd_bloom_bytes(b));
	if (!new.bits)
		return SCD_ENOMEM;
	memcpy(new.bits, b->bits, scd_bloom_bytes(b));
	*copy = new;
	return SCD_OK;
}

void scd_bloom_free(struct scd_bloom *b)
{
	free(b->bits);
	*b = (struct scd_bloom){ 0 };
}

void scd_bloom_positions(const struct scd_bloom *b, const struct scd_key *key,
			 uint64_t *at)
{
	switch (b->hashing) {
	case SCD_HASHING_DOUBLE:
		scd_positions(key, b->nbits, b->nhash, at);
		break;
	case SCD_HASHING_SQUID:
		scd_positions_squid(key, b->nbits, at);
		break;
	case SCD_HASHING_PREFIX:
		*at = scd_fingerprint(key,
				      (unsigned)__builtin_ctzll(b->nbits));
		break;
	}
}

void scd_bloom_add(struct scd_bloom *b, const struct scd_key *key)
{
	uint64_t at[SCD_MAX_HASH];

	bloom_check(b);
	scd_bloom_positions(b, key, at);
	for (unsigned i = 0; i < b->nhash; i++)
		b->bits[at[i] >> 3] |= (uint8_t)(1u << (at[i] & 7));
}

/* Whether a bit was zero among those that are set. */
static bool bloom_set_bits(struct scd_bloom *b, const uint64_t *at)
{
	unsigned had = 1;

	for (unsigned i = 0; i < b->nhash; i++) {
		uint8_t *byte = &b->bits[at[i] >> 3];
		unsigned bit = at[i] & 7;

		had &= (unsigned)*byte >> bit;
		*byte = (uint8_t)(*byte | 1u << bit);
	}
	return !(had & 1);
}

uint64_t scd_bloom_add_many(struct scd_bloom *b, const struct scd_key *keys,
			    size_t n)
{
	uint64_t at[ADD_GROUP][SCD_MAX_HASH];
	uint64_t added = 0;

	bloom_check(b);
	while (n) {
		size_t group = n < ADD_GROUP ? n : ADD_GROUP;

		for (size_t i = 0; i < group; i++) {
			scd_bloom_positions(b, &keys[i], at[i]);
			for (unsigned h = 0; h < b->nhash; h++)
				__builtin_prefetch(&b->bits[at[i][h] >> 3], 1);
		}
		for (size_t i = 0; i < group; i++)
			added += bloom_set_bits(b, at[i]);
		keys += group;
		n -= group;
	}
	return added;
}

bool scd_bloom_has(const struct scd_bloom *b, const struct scd_key *key)
{
	uint64_t at[SCD_MAX_HASH];

	bloom_check(b);
	scd_bloom_positions(b, key, at);
	for (unsigned i = 0; i < b->nhash; i++) {
		if (!(b->bits[at[i] >> 3] >> (at[i] & 7) & 1))
			return false;
	}
	return true;
}

void scd_bloom_clear(struct scd_bloom *b)
{
	bloom_check(b);
	memset(b->bits, 0, scd_bloom_bytes(b));
}

bool scd_bloom_same_shape(const struct scd_bloom *a, const struct scd_bloom *b)
{
	return a->nbits == b->nbits && a->nhash == b->nhash &&
	       a->hashing == b->hashing;
}

bool scd_bloom_equal(const struct scd_bloom *a, const struct scd_bloom *b)
{
	bloom_check(a);
	bloom_check(b);
	return scd_bloom_same_shape(a, b) &&
	       !memcmp(a->bits, b->bits, scd_bloom_bytes(a));
}

uint64_t scd_bloom_ones(const struct scd_bloom *b)
{
	bloom_check(b);
	return scd__count_ones(b->bits, scd_bloom_bytes(b));
}

double scd_bloom_fill(const struct scd_bloom *b)
{
	return (double)scd_bloom_ones(b) / (double)b->nbits;
}

/* Multiplied, not pow(), which is not the same on all processors: routes are
 * chosen by it. */
double scd_bloom_fp(const struct scd_bloom *b)
{
	double fill = scd_bloom_fill(b), fp = 1;

	for (unsigned i = 0; i < b->nhash; i++)
		fp *= fill;
	return fp;
}

enum operation { OP_UNION, OP_INTERSECTION, OP_DIFFERENCE };

/* As many bytes as are combined at a time: the compiler makes of them what the
 * processor has, two registers of 16 bytes on any x86-64. */
typedef uint64_t combine_block __attribute__((vector_size(32)));

/* Inlined with an operation that is constant: no branch is left in the loop. */
static inline __attribute__((always_inline)) void
bloom_combine_two(combine_block *a, const combine_block *b,
		  enum operation operation)
{
	switch (operation) {
	case OP_UNION:
		*a |= *b;
		return;
	case OP_INTERSECTION:
		*a &= *b;
		return;
	case OP_DIFFERENCE:
		*a ^= *b;
		return;
	}
}

static inline __attribute__((always_inline)) void
bloom_combine_bytes(uint8_t *dst, const uint8_t *src, size_t len,
		    enum operation operation)
{
	combine_block a = { 0 }, b = { 0 };
	size_t i = 0;

	for (; i + sizeof(a) <= len; i += sizeof(a)) {
		memcpy(&a, dst + i, sizeof(a));
		memcpy(&b, src + i, sizeof(b));
		bloom_combine_two(&a, &b, operation);
		memcpy(dst + i, &a, sizeof(a));
	}
	memcpy(&a, dst + i, len - i);
	memcpy(&b, src + i, len - i);
	bloom_combine_two(&a, &b, operation);
	memcpy(dst + i, &a, len - i);
}

static int bloom_combine(struct scd_bloom *dst, const struct scd_bloom *src,
			 enum operation operation)
{
	const size_t len = scd_bloom_bytes(dst);

	bloom_check(dst);
	bloom_check(src);
	if (!scd_bloom_same_shape(dst, src))
		return SCD_EMISMATCH;
	switch (operation) {
	case OP_UNION:
		bloom_combine_bytes(dst->bits, src->bits, len, OP_UNION);
		break;
	case OP_INTERSECTION:
		bloom_combine_bytes(dst->bits, src->bits, len, OP_INTERSECTION);
		break;
	case OP_DIFFERENCE:
		bloom_combine_bytes(dst->bits, src->bits, len, OP_DIFFERENCE);
		break;
	}
	return SCD_OK;
}

int scd_bloom_union(struct scd_bloom *dst, const struct scd_bloom *src)
{
	return bloom_combine(dst, src, OP_UNION);
}

int scd_bloom_intersect(struct scd_bloom *dst, const struct scd_bloom *src)
{
	return bloom_combine(dst, src, OP_INTERSECTION);
}

int scd_bloom_xor(struct scd_bloom *dst, const struct scd_bloom *src)
{
	return bloom_combine(dst, src, OP_DIFFERENCE);
}

static bool bloom_is_power_of_two(uint64_t n)
{
	return n && !(n & (n - 1));
}

/* Folds a byte to so many bits, a power of two. */
static uint8_t bloom_fold_byte(uint8_t byte, unsigned to)
{
	unsigned bits = byte;

	for (unsigned half = 4; half >= to; half /= 2)
		bits = (bits | bits >> half) & ((1u << half) - 1);
	return (uint8_t)bits;
}

int scd_bloom_fold(const struct scd_bloom *b, uint64_t nbits,
		   struct scd_bloom *out)
{
	struct scd_bloom new;
	size_t len;
	int error;

	bloom_check(b);
	if (!bloom_is_power_of_two(b->nbits) || !bloom_is_power_of_two(nbits) ||
	    nbits > b->nbits || b->hashing != SCD_HASHING_DOUBLE)
		return SCD_EINVAL;
	error = scd_bloom_init(&new, nbits, b->nhash);
	if (error)
		return error;
	len = scd_bloom_bytes(&new);
	for (size_t first = 0; first < scd_bloom_bytes(b); first += len)
		bloom_combine_bytes(new.bits, b->bits + first, len, OP_UNION);
	if (nbits < 8)
		new.bits[0] = bloom_fold_byte(new.bits[0], (unsigned)nbits);
	*out = new;
	return SCD_OK;
}

double scd_bloom_estimate(uint64_t nbits, uint64_t nones, unsigned nhash)
{
	double m = (double)nbits;

	assert(nbits > 0 && nones <= nbits && nhash > 0);
	return -(m / nhash) * log1p(-(double)nones / m);
}

double scd_bloom_cardinality(const struct scd_bloom *b)
{
	return scd_bloom_estimate(b->nbits, scd_bloom_ones(b), b->nhash);
}

static uint64_t bloom_ones_of_union(const struct scd_bloom *a,
				    const struct scd_bloom *b)
{
	size_t len = scd_bloom_bytes(a);
	uint64_t ones = 0;

	for (size_t i = 0; i < len; i++)
		ones += (unsigned)__builtin_popcount(a->bits[i] | b->bits[i]);
	return ones;
}

int scd_bloom_overlap(const struct scd_bloom *a, const struct scd_bloom *b,
		      double *nkeys)
{
	double both, common;

	bloom_check(a);
	bloom_check(b);
	if (!scd_bloom_same_shape(a, b))
		return SCD_EMISMATCH;
	both = scd_bloom_estimate(a->nbits, bloom_ones_of_union(a, b),
				  a->nhash);
	common = scd_bloom_cardinality(a) + scd_bloom_cardinality(b) - both;
	*nkeys = common > 0 ? common : 0;
	return SCD_OK;
}
