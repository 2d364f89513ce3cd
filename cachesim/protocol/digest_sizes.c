/*
 * Lengths of digests, by the entropy of what is coded. FORMAT.md has the fields
 * around it.
 */
#include "cachesim/protocol/digest_sizes.h"

#include <math.h>
#include <stdbool.h>

#include "codec/list.h"

enum {
	FRAME_TYPE = 1,
	FRAME_STEPS = 1,
	SHORT_SUM = 2,
	LONG_SUM = 8,
	LONG_CODE = 1024, /* bytes: then the frame is long */
	CODINGS = 1,	  /* of the two parts of a conditional delta */
};

/* The entropy of which of some places are ones [bytes]. */
static double digest_sizes_entropy(uint64_t nplaces, uint64_t nones)
{
	double p = (double)nones / (double)nplaces;

	if (nones == 0 || nones >= nplaces)
		return 0;
	return -(double)nplaces * (p * log2(p) + (1 - p) * log2(1 - p)) / 8;
}

/* Whole bytes for so many: a coder ends with less than one more. */
static uint64_t digest_sizes_whole(double bytes)
{
	return (uint64_t)(bytes + .999);
}

/* An array that the coders cannot make shorter is stored. */
static uint64_t digest_sizes_part(uint64_t nbits, uint64_t nones)
{
	uint64_t bytes = digest_sizes_whole(digest_sizes_entropy(nbits, nones));
	uint64_t stored = (nbits + 7) / 8;

	return bytes < stored ? bytes : stored;
}

static uint64_t digest_sizes_varint(uint64_t n)
{
	uint64_t bytes = 1;

	for (; n >= 0x80; n >>= 7)
		bytes++;
	return bytes;
}

uint64_t digest_size_of_array(uint64_t nbits, uint64_t nones)
{
	return SCD_DIGEST_HEADER_BYTES + digest_sizes_part(nbits, nones);
}

uint64_t digest_size_of_conditional(const struct digest_flips *f)
{
	uint64_t cleared = digest_sizes_part(f->nones, f->ncleared);
	uint64_t set = digest_sizes_part(f->nbits - f->nones, f->nset);

	return SCD_DIGEST_HEADER_BYTES + CODINGS +
	       digest_sizes_varint(cleared) + cleared + set;
}

/* Of n entries of a list, which may be equal: a set of places among n - 1 more
 * (FORMAT.md, "Coding 7"). */
static double digest_sizes_entries(unsigned width, uint64_t n)
{
	return digest_sizes_entropy((UINT64_C(1) << width) + n - 1, n);
}

uint64_t digest_size_of_list(unsigned width, uint64_t n)
{
	return SCD_DIGEST_HEADER_BYTES +
	       digest_sizes_whole(digest_sizes_entries(width, n));
}

uint64_t digest_size_of_frame(const struct digest_change *c)
{
	uint64_t code = digest_sizes_whole(
		digest_sizes_entropy(c->n, c->nremoved) +
		digest_sizes_entries(c->width, c->nadded));
	bool is_long = code >= LONG_CODE ||
		       c->generation % SCD_LIST_FRAME_EVERY == 0;
	uint64_t excess = c->nadded >= c->nremoved
				  ? 2 * (c->nadded - c->nremoved)
				  : 2 * (c->nremoved - c->nadded) - 1;
	uint64_t body = digest_sizes_varint(c->nremoved) +
			digest_sizes_varint(excess) +
			(is_long ? FRAME_STEPS + LONG_SUM : SHORT_SUM) + code;

	return FRAME_TYPE + digest_sizes_varint(body) + body;
}
