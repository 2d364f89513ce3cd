/*
 * Squid's cache digest: a Bloom filter with 4 hash functions, whatever its
 * size, sent as it is. Squid takes 5 bits an entry, for a rate of 9 %; for
 * other goals it is as many whole bits as reach them, but never less, because
 * a Squid refuses an array of which more than 65 % are set. Keys are meant to
 * be those of scd_squid_key(), any that are as uniform do.
 *
 * On the wire it is Squid's format (squid.h).
 */
#include <math.h>

#include "codec/kind/kind_rows.h"
#include "codec/squid.h"

/* The whole bits an entry of a goal, 1..127; 0: none reach it. */
static unsigned kind_squid_entry_bits(const struct scd__kind_goal *goal)
{
	double bits = goal->bits;

	if (goal->fp > 0)
		bits = fmax(
			SCD_SQUID_ENTRY_BITS,
			ceil(scd__filter_bits(1, SCD_SQUID_HASH, goal->fp)));
	if (!(bits <= SCD_SQUID_MAX_ENTRY_BITS))
		return 0;
	return bits >= 1 ? (unsigned)bits : 1;
}

static int kind_squid_create(const struct scd__kind_goal *goal,
			     struct scd__summary **out)
{
	const unsigned bits = kind_squid_entry_bits(goal);
	uint64_t nbits = (goal->nkeys * bits + 7) / 8 * 8;
	int error;

	if (nbits == 0 || nbits >= SCD_SQUID_MAX_BITS)
		return SCD_EGOAL;
	error = scd__filter_new(nbits, SCD_SQUID_HASH, out);
	if (!error)
		((struct scd__filter *)*out)->bloom.hashing = SCD_HASHING_SQUID;
	return error;
}

static int kind_squid_encode(const struct scd__summary *s, uint8_t **out,
			     size_t *out_len)
{
	const struct scd__filter *f = (const struct scd__filter *)s;
	struct scd_squid_info info = {
		.count = f->nkeys > INT32_MAX ? INT32_MAX : (int32_t)f->nkeys,
	};

	return scd_squid_encode(&f->bloom, &info, out, out_len);
}

static int kind_squid_decode(const uint8_t *in, size_t len, size_t max_memory,
			     struct scd__summary **out)
{
	struct scd_squid_info info;
	struct scd_bloom bloom;
	int error = scd_squid_parse(in, len, &info);

	if (error)
		return error;
	if (sizeof(struct scd__filter) + len - SCD_SQUID_HEADER_BYTES >
	    max_memory)
		return SCD_ELIMIT;
	error = scd_squid_decode(in, len, &info, &bloom);
	if (error)
		return error;
	error = scd__filter_of(&bloom, out);
	if (error) {
		scd_bloom_free(&bloom);
		return error;
	}
	if (info.count > 0)
		((struct scd__filter *)*out)->nkeys = (uint64_t)info.count;
	return SCD_OK;
}

const struct scd__kind scd__kind_squid = {
	.name = "squid",
	.title = "Squid's digest",
	.hashing = SCD_HASHING_SQUID,
	.create = kind_squid_create,
	.add = scd__filter_add,
	.seal = scd__filter_seal,
	.has = scd__filter_has,
	.fp = scd__filter_fp,
	.memory = scd__filter_memory,
	.encode = kind_squid_encode,
	.decode = kind_squid_decode,
	.destroy = scd__filter_destroy,
};
