/*
 * XOR deltas: made, applied to a copy, composed. Each works in one array that
 * holds the flips: XOR with the base turns it into the result in place.
 */
#include "codec/delta.h"

#include <stdbool.h>

#include "codec/bloom.h"
#include "codec/frame.h"

static int check_ids(const struct scd_bloom *next,
		     const struct scd_digest_info *ids)
{
	if (ids->instance == 0 || ids->base_generation >= ids->generation)
		return SCD_EINVAL;
	if (ids->nkeys > 0 && scd_bloom_ones(next) == 0)
		return SCD_EINVAL;
	return SCD_OK;
}

int scd_delta_encode(const struct scd_bloom *base, const struct scd_bloom *next,
		     const struct scd_digest_info *ids, uint8_t **out,
		     size_t *out_len)
{
	struct scd_digest_info info;
	struct scd_bloom flips;
	int error;

	if (!scd_bloom_same_shape(base, next))
		return SCD_EMISMATCH;
	error = check_ids(next, ids);
	if (error)
		return error;
	error = scd_bloom_copy(next, &flips);
	if (error)
		return error;
	error = scd_bloom_xor(&flips, base);
	if (error)
		goto out_flips;
	info = (struct scd_digest_info){
		.kind = SCD_DELTA_XOR,
		.hashing = next->hashing,
		.nhash = next->nhash,
		.nbits = next->nbits,
		.nkeys = ids->nkeys,
		.nones = scd_bloom_ones(next),
		.instance = ids->instance,
		.generation = ids->generation,
		.base_generation = ids->base_generation,
		.base_checksum = scd_digest_checksum(base),
		.checksum = scd_digest_checksum(next),
		.ncoded = scd_bloom_ones(&flips),
	};
	error = scd__frame_make(&info, flips.bits, out, out_len);
out_flips:
	scd_bloom_free(&flips);
	return error;
}

/* Is the delta for this base? The dearest test comes last. */
static int check_base(const struct scd_digest_info *info,
		      const struct scd_base *base)
{
	if (info->kind != SCD_DELTA_XOR)
		return SCD_EBASE;
	if (info->instance != base->instance ||
	    info->base_generation != base->generation)
		return SCD_EBASE;
	if (info->nbits != base->bloom->nbits ||
	    info->hashing != base->bloom->hashing ||
	    info->nhash != base->bloom->nhash)
		return SCD_EBASE;
	if (info->base_checksum != scd_digest_checksum(base->bloom))
		return SCD_EBASE;
	return SCD_OK;
}

/* Turn an empty filter into the result, and verify it. */
static int apply_into(const uint8_t *in, const struct scd_digest_info *info,
		      const struct scd_base *base, struct scd_bloom *bloom)
{
	int error = scd__frame_payload(in, info, bloom->bits);

	if (!error)
		error = scd_bloom_xor(bloom, base->bloom);
	if (error)
		return error;
	if (scd_bloom_ones(bloom) != info->nones)
		return SCD_ECHECKSUM;
	if (scd_digest_checksum(bloom) != info->checksum)
		return SCD_ECHECKSUM;
	return SCD_OK;
}

int scd_delta_apply(const uint8_t *in, size_t len,
		    const struct scd_limits *limits,
		    const struct scd_base *base, struct scd_digest_info *info,
		    struct scd_bloom *bloom)
{
	struct scd_digest_info parsed;
	struct scd_bloom fresh;
	int error;

	error = scd_digest_parse(in, len, limits, &parsed);
	if (!error)
		error = check_base(&parsed, base);
	if (!error)
		error = scd_bloom_init(&fresh, parsed.nbits, parsed.nhash);
	if (error)
		return error;
	fresh.hashing = parsed.hashing;
	error = apply_into(in, &parsed, base, &fresh);
	if (error) {
		scd_bloom_free(&fresh);
		return error;
	}
	if (info)
		*info = parsed;
	*bloom = fresh;
	return SCD_OK;
}

/* The flips of a delta, as a new filter. */
static int read_flips(const struct scd_delta *delta,
		      const struct scd_digest_info *info,
		      struct scd_bloom *flips)
{
	int error = scd_bloom_init(flips, info->nbits, info->nhash);

	if (error)
		return error;
	error = scd__frame_payload(delta->bytes, info, flips->bits);
	if (error)
		scd_bloom_free(flips);
	return error;
}

/* Does a delta begin where another one ends? */
static bool follows(const struct scd_digest_info *a,
		    const struct scd_digest_info *b)
{
	return a->kind == SCD_DELTA_XOR && b->kind == SCD_DELTA_XOR &&
	       a->nbits == b->nbits && a->nhash == b->nhash &&
	       a->hashing == b->hashing &&
	       a->instance == b->instance &&
	       a->generation == b->base_generation &&
	       a->checksum == b->base_checksum;
}

int scd_delta_compose(const struct scd_delta *first,
		      const struct scd_delta *second,
		      const struct scd_limits *limits, uint8_t **out,
		      size_t *out_len)
{
	struct scd_digest_info a, b;
	struct scd_bloom flips, more;
	int error;

	error = scd_digest_parse(first->bytes, first->len, limits, &a);
	if (!error)
		error = scd_digest_parse(second->bytes, second->len, limits,
					 &b);
	if (!error && !follows(&a, &b))
		error = SCD_EBASE;
	if (!error)
		error = read_flips(first, &a, &flips);
	if (error)
		return error;
	error = read_flips(second, &b, &more);
	if (error)
		goto out_flips;
	error = scd_bloom_xor(&flips, &more);
	scd_bloom_free(&more);
	if (error)
		goto out_flips;
	b.base_generation = a.base_generation;
	b.base_checksum = a.base_checksum;
	b.ncoded = scd_bloom_ones(&flips);
	error = scd__frame_make(&b, flips.bits, out, out_len);
out_flips:
	scd_bloom_free(&flips);
	return error;
}
