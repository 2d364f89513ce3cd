/*
 * The compressed Bloom filter: larger than a plain one and emptier, so that
 * the coder of this library makes fewer bytes of it. Memory is traded for
 * wire: with few hash functions a rate of false positives needs more bits in
 * memory, which have less entropy. The size is the one that is sent in the
 * fewest bytes, or reaches the lowest rate in the bytes that are allowed,
 * within the memory that the goal allows.
 *
 * On the wire it is a full digest as of FORMAT.md, instance 1.
 *
 * Source: Mitzenmacher, "Compressed Bloom Filters", 2002.
 */
#include <math.h>

#include "codec/digest.h"
#include "codec/kind/kind_rows.h"
#include "codec/tune.h"

enum { MEMORY_BITS = 64 }; /* an object, if the goal does not say */

struct shape {
	double nbits;
	unsigned nhash;
	double cost; /* the less the better: bits on the wire, or a rate */
};

/* The largest array that is sent in so many bits, at most max_bits. */
static double kind_compressed_bits_for_wire(double n, unsigned k, double wire,
					    double max_bits)
{
	double low = 0, high = max_bits;

	if (scd_tune_full_bits(n, high, k) <= wire)
		return high;
	for (int i = 0; i < 60; i++) {
		double middle = (low + high) / 2;

		if (scd_tune_full_bits(n, middle, k) <= wire)
			low = middle;
		else
			high = middle;
	}
	return low;
}

/* What k functions make of a goal; a cost of infinity: nothing. */
static struct shape kind_compressed_shape_for(const struct scd__kind_goal *goal,
					      unsigned k)
{
	const double n = (double)goal->nkeys;
	const double most =
		n * (goal->memory_bits > 0 ? goal->memory_bits : MEMORY_BITS);
	struct shape s = {.nhash = k, .cost = INFINITY};

	if (goal->fp > 0) {
		s.nbits = scd__filter_bits(n, k, goal->fp);
		if (s.nbits <= most)
			s.cost = scd_tune_full_bits(n, s.nbits, k);
	} else {
		s.nbits = kind_compressed_bits_for_wire(n, k, goal->bits * n,
							most);
		if (s.nbits >= 1)
			s.cost = scd_tune_fp(n, s.nbits, k);
	}
	return s;
}

static int kind_compressed_create(const struct scd__kind_goal *goal,
				  struct scd__summary **out)
{
	struct shape best = {.cost = INFINITY};

	for (unsigned k = 1; k <= SCD_MAX_HASH; k++) {
		struct shape s = kind_compressed_shape_for(goal, k);

		if (s.cost < best.cost)
			best = s;
	}
	if (!(best.cost < INFINITY) || best.nbits > (double)SCD_BLOOM_MAX_BITS)
		return SCD_EGOAL;
	return scd__filter_new(scd__whole_bits(best.nbits), best.nhash, out);
}

static int kind_compressed_encode(const struct scd__summary *s, uint8_t **out,
				  size_t *out_len)
{
	const struct scd__filter *f = (const struct scd__filter *)s;
	const struct scd_digest_info ids = {.instance = 1, .nkeys = f->nkeys};

	return scd_digest_encode(&f->bloom, &ids, out, out_len);
}

static int kind_compressed_decode(const uint8_t *in, size_t len,
				  size_t max_memory, struct scd__summary **out)
{
	struct scd_limits limits = {
		.max_hash = SCD_DIGEST_MAX_HASH,
		.max_fp_ppm = 1000000,
		.max_expansion = SCD_DIGEST_MAX_EXPANSION,
	};
	struct scd_digest_info info;
	struct scd_bloom bloom;
	int error;

	if (max_memory < sizeof(struct scd__filter))
		return SCD_ELIMIT;
	limits.max_bits = SCD_DIGEST_MAX_BITS;
	if (max_memory - sizeof(struct scd__filter) < SCD_DIGEST_MAX_BITS / 8)
		limits.max_bits =
			8 * (uint64_t)(max_memory - sizeof(struct scd__filter));
	error = scd_digest_decode(in, len, &limits, &info, &bloom);
	if (error)
		return error == SCD_EBASE ? SCD_EFORMAT : error;
	if (bloom.hashing != SCD_HASHING_DOUBLE)
		error = SCD_EFORMAT;
	else
		error = scd__filter_of(&bloom, out);
	if (error)
		scd_bloom_free(&bloom);
	else
		((struct scd__filter *)*out)->nkeys = info.nkeys;
	return error;
}

const struct scd__kind scd__kind_compressed = {
	.name = "compressed",
	.title = "Compressed Bloom filter",
	.hashing = SCD_HASHING_DOUBLE,
	.create = kind_compressed_create,
	.add = scd__filter_add,
	.seal = scd__filter_seal,
	.has = scd__filter_has,
	.fp = scd__filter_fp,
	.memory = scd__filter_memory,
	.encode = kind_compressed_encode,
	.decode = kind_compressed_decode,
	.destroy = scd__filter_destroy,
};
