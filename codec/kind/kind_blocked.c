/*
 * The blocked Bloom filter: a key has all its bits in one block of 64 bytes,
 * which is a line of the processor's cache, so that a lookup waits for memory
 * once. Some blocks get more keys than others, which costs 3 % more bits than
 * a plain filter at a rate of 1 %, 8 % at 0.1 %, 23 % at 0.001 %. It is sent
 * as it is.
 *
 * The upper half of the key's lo says which block; its bits are slices of 9
 * bits, 7 of hi and 7 of lo once it has been mixed.
 *
 * Body: the blocks. Parameter: bits a key, 1..14; size: bits of all blocks.
 *
 * Source: Putze, Sanders, Singler, "Cache-, Hash- and Space-Efficient Bloom
 * Filters", 2007.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "codec/kind/kind_rows.h"
#include "codec/kind/kind_wire.h"
#include "codec/mix.h"

enum {
	LETTER = 'K',
	BLOCK_BYTES = 64,
	BLOCK_BITS = 512,
	SLICE_BITS = 9,
	SLICES = 7,   /* in a word */
	MAX_HASH = 14 /* slices of both words */
};

struct blocked {
	struct scd__summary base;
	void *memory;    /* as allocated */
	uint8_t *blocks; /* within it, aligned to a block */
	uint64_t nblocks;
	uint64_t nkeys;
	unsigned nhash;
};

/* x to the power of n, by multiplications: pow() takes ten times as long. */
static double kind_blocked_power(double x, unsigned n)
{
	double result = 1;

	for (; n; n >>= 1, x *= x) {
		if (n & 1)
			result *= x;
	}
	return result;
}

/*
 * The mean over blocks with 0, 1, 2 ... keys, which are as frequent as
 * Poisson's distribution says.
 */
static double kind_blocked_predicted_fp(double bits_per_key, unsigned nhash)
{
	const double mean = BLOCK_BITS / bits_per_key;
	const double end = mean + 12 * sqrt(mean) + 12;
	const double stays = kind_blocked_power(1 - 1.0 / BLOCK_BITS, nhash);
	double probability = exp(-mean), fp = 0, zero = 1;

	for (double keys = 1; keys <= end; keys++) {
		zero *= stays; /* of a bit, after so many keys */
		probability *= mean / keys;
		fp += probability * kind_blocked_power(1 - zero, nhash);
	}
	return fp;
}

/* The fewest bits a key that reach a rate with so many functions, if these are
 * fewer than some; else infinity. */
static double kind_blocked_bits_for_fp(double fp, unsigned nhash, double most)
{
	double low = 1, high = BLOCK_BITS;

	if (kind_blocked_predicted_fp(fmin(high, most), nhash) > fp)
		return INFINITY;
	for (int i = 0; i < 40; i++) {
		double middle = (low + high) / 2;

		if (kind_blocked_predicted_fp(middle, nhash) <= fp)
			high = middle;
		else
			low = middle;
	}
	return high;
}

/* Bits a key for a goal, and how many functions are best for it. */
static double kind_blocked_bits_for(const struct scd__kind_goal *goal,
				    unsigned *nhash)
{
	double bits = goal->bits, best = INFINITY;

	for (unsigned k = 1; k <= MAX_HASH; k++) {
		double cost =
			goal->fp > 0
				? kind_blocked_bits_for_fp(goal->fp, k, best)
				: kind_blocked_predicted_fp(fmax(bits, 1), k);

		if (cost < best) {
			best = cost;
			*nhash = k;
		}
	}
	return goal->fp > 0 ? best : bits;
}

static int kind_blocked_new(uint64_t nblocks, unsigned nhash,
			    struct blocked **out)
{
	struct blocked *b = calloc(1, sizeof(*b));
	size_t offset;

	if (!b)
		return SCD_ENOMEM;
	if (nblocks <= SIZE_MAX / BLOCK_BYTES - 1)
		b->memory = calloc((size_t)nblocks + 1, BLOCK_BYTES);
	if (!b->memory) {
		free(b);
		return SCD_ENOMEM;
	}
	offset = (size_t)((uintptr_t)b->memory % BLOCK_BYTES);
	b->blocks = (uint8_t *)b->memory + (BLOCK_BYTES - offset);
	b->nblocks = nblocks;
	b->nhash = nhash;
	*out = b;
	return SCD_OK;
}

static int kind_blocked_create(const struct scd__kind_goal *goal,
			       struct scd__summary **out)
{
	unsigned nhash = 1;
	double nbits =
		kind_blocked_bits_for(goal, &nhash) * (double)goal->nkeys;
	struct blocked *b;
	int error;

	if (!(nbits <= (double)SCD_BLOOM_MAX_BITS))
		return SCD_EGOAL;
	error = kind_blocked_new((uint64_t)(nbits / BLOCK_BITS) + 1, nhash, &b);
	if (!error)
		*out = &b->base;
	return error;
}

static void kind_blocked_destroy(struct scd__summary *s)
{
	free(((struct blocked *)s)->memory);
	free(s);
}

static uint8_t *kind_blocked_block_of(const struct blocked *b,
				      const struct scd_key *key)
{
	/* below 2^31 blocks of below 2^32: the product fits */
	return b->blocks + ((key->lo >> 32) * b->nblocks >> 32) * BLOCK_BYTES;
}

static int kind_blocked_add(struct scd__summary *s, const struct scd_key *key)
{
	struct blocked *b = (struct blocked *)s;
	uint8_t *block = kind_blocked_block_of(b, key);
	uint64_t word = key->hi;

	for (unsigned i = 0; i < b->nhash; i++) {
		if (i == SLICES)
			word = scd__mix64(key->lo);
		block[(word & (BLOCK_BITS - 1)) >> 3] |=
			(uint8_t)(1u << (word & 7));
		word >>= SLICE_BITS;
	}
	b->nkeys++;
	return SCD_OK;
}

static int kind_blocked_seal(struct scd__summary *s)
{
	(void)s;
	return SCD_OK;
}

static bool kind_blocked_has(const struct scd__summary *s,
			     const struct scd_key *key)
{
	const struct blocked *b = (const struct blocked *)s;
	const uint8_t *block = kind_blocked_block_of(b, key);
	uint64_t word = key->hi;

	for (unsigned i = 0; i < b->nhash; i++) {
		if (i == SLICES)
			word = scd__mix64(key->lo);
		if (!(block[(word & (BLOCK_BITS - 1)) >> 3] >> (word & 7) & 1))
			return false;
		word >>= SLICE_BITS;
	}
	return true;
}

/* The mean over the blocks. */
static double kind_blocked_fp(const struct scd__summary *s)
{
	const struct blocked *b = (const struct blocked *)s;
	double sum = 0;

	for (uint64_t i = 0; i < b->nblocks; i++) {
		const uint8_t *block = b->blocks + i * BLOCK_BYTES;
		unsigned ones = 0;

		for (unsigned j = 0; j < BLOCK_BYTES; j++)
			ones += (unsigned)__builtin_popcount(block[j]);
		sum += pow((double)ones / BLOCK_BITS, b->nhash);
	}
	return sum / (double)b->nblocks;
}

static size_t kind_blocked_memory_for(uint64_t nblocks)
{
	return sizeof(struct blocked) + ((size_t)nblocks + 1) * BLOCK_BYTES;
}

static size_t kind_blocked_memory(const struct scd__summary *s)
{
	return kind_blocked_memory_for(((const struct blocked *)s)->nblocks);
}

static int kind_blocked_encode(const struct scd__summary *s, uint8_t **out,
			       size_t *out_len)
{
	const struct blocked *b = (const struct blocked *)s;
	const size_t len = (size_t)b->nblocks * BLOCK_BYTES;
	uint8_t *wire = scd__kind_wire_new(len);

	if (!wire)
		return SCD_ENOMEM;
	memcpy(wire + SCD__KIND_HEADER_BYTES, b->blocks, len);
	scd__kind_wire_seal(wire, len,
			    &(struct scd__kind_header){
				    .letter = LETTER,
				    .parameter = (uint8_t)b->nhash,
				    .nkeys = b->nkeys,
				    .size = b->nblocks * BLOCK_BITS,
			    });
	*out = wire;
	*out_len = SCD__KIND_HEADER_BYTES + len;
	return SCD_OK;
}

static int kind_blocked_decode(const uint8_t *in, size_t len, size_t max_memory,
			       struct scd__summary **out)
{
	struct scd__kind_header h = {.letter = LETTER};
	struct blocked *b;
	int error = scd__kind_wire_open(in, len, &h);

	if (error)
		return error;
	len -= SCD__KIND_HEADER_BYTES;
	if (h.parameter < 1 || h.parameter > MAX_HASH)
		return SCD_EFORMAT;
	if (h.size < BLOCK_BITS || h.size > SCD_BLOOM_MAX_BITS ||
	    h.size % BLOCK_BITS || h.size / 8 != len)
		return SCD_EFORMAT;
	if (kind_blocked_memory_for(h.size / BLOCK_BITS) > max_memory)
		return SCD_ELIMIT;
	error = kind_blocked_new(h.size / BLOCK_BITS, h.parameter, &b);
	if (error)
		return error;
	memcpy(b->blocks, in + SCD__KIND_HEADER_BYTES, len);
	b->nkeys = h.nkeys;
	*out = &b->base;
	return SCD_OK;
}

const struct scd__kind scd__kind_blocked = {
	.name = "blocked",
	.title = "Blocked Bloom filter",
	.hashing = SCD_HASHING_DOUBLE,
	.create = kind_blocked_create,
	.add = kind_blocked_add,
	.seal = kind_blocked_seal,
	.has = kind_blocked_has,
	.fp = kind_blocked_fp,
	.memory = kind_blocked_memory,
	.encode = kind_blocked_encode,
	.decode = kind_blocked_decode,
	.destroy = kind_blocked_destroy,
};
