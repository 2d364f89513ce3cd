/*
 * The plain Bloom filter, sent as it is: about half of its bits are set, so
 * that no coder could make anything of it. -log2(f) / ln 2 bits an object, in
 * memory and on the wire; a lookup of an absent key looks at 2 bits on
 * average.
 *
 * Body: the array, its spare bits zero. Parameter: hash functions.
 */
#include <math.h>
#include <string.h>

#include "codec/kind/kind_rows.h"
#include "codec/kind/kind_wire.h"
#include "codec/tune.h"

enum { LETTER = 'B' };

/* The fewest bits that reach a rate, and the functions that they take. */
static double kind_bloom_bits_for_fp(double n, double fp, unsigned *nhash)
{
	double best = INFINITY;

	for (unsigned k = 1; k <= SCD_MAX_HASH; k++) {
		double bits = scd__filter_bits(n, k, fp);

		if (bits < best) {
			best = bits;
			*nhash = k;
		}
	}
	return best;
}

static unsigned kind_bloom_best_hashes(double n, double bits)
{
	unsigned best = 1;

	for (unsigned k = 2; k <= SCD_MAX_HASH; k++) {
		if (scd_tune_fp(n, bits, k) < scd_tune_fp(n, bits, best))
			best = k;
	}
	return best;
}

static int kind_bloom_create(const struct scd__kind_goal *goal,
			     struct scd__summary **out)
{
	double n = (double)goal->nkeys, bits = goal->bits * n;
	unsigned nhash = 1;

	if (goal->fp > 0)
		bits = kind_bloom_bits_for_fp(n, goal->fp, &nhash);
	else
		nhash = kind_bloom_best_hashes(n, bits);
	if (bits > (double)SCD_BLOOM_MAX_BITS)
		return SCD_EGOAL;
	return scd__filter_new(scd__whole_bits(bits), nhash, out);
}

static int kind_bloom_encode(const struct scd__summary *s, uint8_t **out,
			     size_t *out_len)
{
	const struct scd__filter *f = (const struct scd__filter *)s;
	const size_t len = scd_bloom_bytes(&f->bloom);
	uint8_t *wire = scd__kind_wire_new(len);

	if (!wire)
		return SCD_ENOMEM;
	memcpy(wire + SCD__KIND_HEADER_BYTES, f->bloom.bits, len);
	scd__kind_wire_seal(wire, len,
			    &(struct scd__kind_header){
				    .letter = LETTER,
				    .parameter = (uint8_t)f->bloom.nhash,
				    .nkeys = f->nkeys,
				    .size = f->bloom.nbits,
			    });
	*out = wire;
	*out_len = SCD__KIND_HEADER_BYTES + len;
	return SCD_OK;
}

/* Are these the bytes of such an array? */
static int kind_bloom_check_body(const struct scd__kind_header *h,
				 const uint8_t *body, size_t len)
{
	if (h->parameter < 1 || h->parameter > SCD_MAX_HASH)
		return SCD_EFORMAT;
	if (h->size < 1 || h->size > SCD_BLOOM_MAX_BITS)
		return SCD_EFORMAT;
	if ((h->size + 7) / 8 != len)
		return SCD_EFORMAT;
	if (h->size % 8 && body[len - 1] >> h->size % 8)
		return SCD_EFORMAT;
	return SCD_OK;
}

static int kind_bloom_decode(const uint8_t *in, size_t len, size_t max_memory,
			     struct scd__summary **out)
{
	struct scd__kind_header h = {.letter = LETTER};
	const uint8_t *body = in + SCD__KIND_HEADER_BYTES;
	int error = scd__kind_wire_open(in, len, &h);

	if (error)
		return error;
	len -= SCD__KIND_HEADER_BYTES;
	error = kind_bloom_check_body(&h, body, len);
	if (!error && sizeof(struct scd__filter) + len > max_memory)
		error = SCD_ELIMIT;
	if (!error)
		error = scd__filter_new(h.size, h.parameter, out);
	if (error)
		return error;
	memcpy(((struct scd__filter *)*out)->bloom.bits, body, len);
	((struct scd__filter *)*out)->nkeys = h.nkeys;
	return SCD_OK;
}

const struct scd__kind scd__kind_bloom = {
	.name = "bloom",
	.title = "Bloom filter",
	.hashing = SCD_HASHING_DOUBLE,
	.create = kind_bloom_create,
	.add = scd__filter_add,
	.seal = scd__filter_seal,
	.has = scd__filter_has,
	.fp = scd__filter_fp,
	.memory = scd__filter_memory,
	.encode = kind_bloom_encode,
	.decode = kind_bloom_decode,
	.destroy = scd__filter_destroy,
};
