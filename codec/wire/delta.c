/*
 * Deltas: made, applied to a copy, composed. An XOR delta works in one array
 * that holds the flips: XOR with the base turns it into the result in place.
 * A conditional one has two, of the base's ones and of its zeros.
 */
#include "codec/delta.h"

#include <stdbool.h>
#include <string.h>

#include "codec/coder/bits.h"
#include "codec/bloom.h"
#include "codec/coder/conditional_coder.h"
#include "codec/wire/frame.h"
#include "codec/coder/parts.h"

static int delta_check(const struct scd_bloom *base,
		       const struct scd_bloom *next,
		       const struct scd_digest_info *ids)
{
	if (!scd_bloom_same_shape(base, next))
		return SCD_EMISMATCH;
	if (ids->instance == 0 || ids->base_generation >= ids->generation)
		return SCD_EINVAL;
	if (ids->nkeys > 0 && scd_bloom_ones(next) == 0)
		return SCD_EINVAL;
	return SCD_OK;
}

/* What a delta's header says, but for its kind and the bits that differ. */
static struct scd_digest_info delta_describe(const struct scd_bloom *base,
					     const struct scd_bloom *next,
					     const struct scd_digest_info *ids)
{
	struct scd_digest_info info = {
		.hashing = next->hashing,
		.nhash = next->nhash,
		.nbits = next->nbits,
		.nkeys = ids->nkeys,
		.instance = ids->instance,
		.generation = ids->generation,
		.base_generation = ids->base_generation,
		.base_checksum = scd_digest_checksum(base),
	};

	info.checksum = scd__array_sum(next->bits, next->nbits, &info.nones);
	return info;
}

int scd_delta_encode(const struct scd_bloom *base, const struct scd_bloom *next,
		     const struct scd_digest_info *ids, uint8_t **out,
		     size_t *out_len)
{
	struct scd_digest_info info;
	struct scd_bloom flips;
	int error = delta_check(base, next, ids);

	if (error)
		return error;
	error = scd_bloom_copy(next, &flips);
	if (error)
		return error;
	error = scd_bloom_xor(&flips, base);
	if (error)
		goto out_flips;
	info = delta_describe(base, next, ids);
	info.kind = SCD_DELTA_XOR;
	info.ncoded = scd_bloom_ones(&flips);
	error = scd__frame_make(&info, flips.bits, NULL, out, out_len);
out_flips:
	scd_bloom_free(&flips);
	return error;
}

/* Write the payload of a conditional delta: codings, length, two parts. */
static int delta_write_changes(const struct scd__changes *c,
			       struct scd__writer *out)
{
	struct scd__writer head = *out, first;
	enum scd_coding cleared, set;
	size_t len;
	int error;

	/* The first part's length precedes it, but is known after it. */
	scd__write_zeros(out, 1 + SCD__VARINT_BYTES);
	first = *out;
	error = scd__part_encode(&c->cleared, c->cleared_bits, out, &cleared);
	if (error)
		return error;
	len = (size_t)(out->at - first.at);
	scd__write_zeros(&head, 1);
	scd__write_varint(&head, len);
	memmove(head.at, first.at, len);
	out->at = head.at + len;
	error = scd__part_encode(&c->set, c->set_bits, out, &set);
	*head.start = (uint8_t)(cleared | set << 4);
	return error;
}

/* Fill in the arrays of what changed, and count it. */
static void delta_find_changes(const struct scd_bloom *base,
			       const struct scd_bloom *next,
			       struct scd__changes *c)
{
	scd__change_engine(NULL)->split(base->bits, next->bits, base->nbits, c);
	c->cleared.nones = scd__count_ones(
		c->cleared_bits, (size_t)scd__array_bytes(c->cleared.nbits));
	c->set.nones = scd__count_ones(
		c->set_bits, (size_t)scd__array_bytes(c->set.nbits));
}

int scd_delta_encode_conditional(const struct scd_bloom *base,
				 const struct scd_bloom *next,
				 const struct scd_digest_info *ids,
				 uint8_t **out, size_t *out_len)
{
	struct scd__changes c = {0};
	struct scd_digest_info info;
	struct scd__writer payload;
	int error = delta_check(base, next, ids);

	if (error)
		return error;
	c.cleared.nbits = scd_bloom_ones(base);
	c.set.nbits = base->nbits - c.cleared.nbits;
	error = scd__changes_new(&c);
	if (error)
		return error;
	delta_find_changes(base, next, &c);
	error = scd__frame_begin((size_t)scd__array_bytes(base->nbits) + 2 +
					 2 * SCD__VARINT_BYTES,
				 &payload);
	if (error)
		goto out_changes;
	error = delta_write_changes(&c, &payload);
	if (error) {
		scd__frame_drop(&payload);
		goto out_changes;
	}
	info = delta_describe(base, next, ids);
	info.kind = SCD_DELTA_CONDITIONAL;
	info.coding = SCD_CODING_PARTS;
	info.ncoded = c.cleared.nones + c.set.nones;
	scd__frame_finish(&info, &payload, out, out_len);
out_changes:
	scd__changes_free(&c);
	return error;
}

/* Is the delta for this base? The dearest test comes last. */
static int delta_check_base(const struct scd_digest_info *info,
			    const struct scd_base *base)
{
	if (info->kind != SCD_DELTA_XOR && info->kind != SCD_DELTA_CONDITIONAL)
		return SCD_EBASE; /* a list's has another base */
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

/*
 * How many places were cleared and set follows from the ones before and after
 * and the places that differ. SCD_EFORMAT: there are no such numbers.
 */
static int delta_count_changes(const struct scd_digest_info *info,
			       struct scd__changes *c)
{
	const uint64_t before = c->cleared.nbits, after = info->nones;
	const uint64_t both = info->ncoded; /* below 2^41, all of them */

	if (both + after < before || both + before < after ||
	    (both + before + after) % 2)
		return SCD_EFORMAT;
	c->set.nones = (both + after - before) / 2;
	c->cleared.nones = (both + before - after) / 2;
	if (c->set.nones > c->set.nbits || c->cleared.nones > c->cleared.nbits)
		return SCD_EFORMAT;
	return SCD_OK;
}

static int delta_read_changes(struct scd__reader *in, struct scd__changes *c)
{
	const unsigned codings = scd__read_u8(in);
	const uint64_t len = scd__read_varint(in);
	struct scd__reader first;
	const uint8_t *bytes;
	int error;

	if (in->error || len > scd__reader_left(in))
		return SCD_EFORMAT;
	bytes = scd__read_bytes(in, (size_t)len);
	first = scd__reader(bytes, (size_t)len);
	error = scd__part_decode(codings & 15, &c->cleared, &first,
				 c->cleared_bits);
	if (!error)
		error = scd__part_decode(codings >> 4, &c->set, in,
					 c->set_bits);
	return error;
}

static int delta_apply_conditional(const uint8_t *in,
				   const struct scd_digest_info *info,
				   const struct scd_bloom *base,
				   struct scd_bloom *bloom)
{
	struct scd__reader payload = scd__frame_reader(in, info);
	struct scd__changes c = {0};
	int error;

	c.cleared.nbits = scd_bloom_ones(base);
	c.set.nbits = base->nbits - c.cleared.nbits;
	error = delta_count_changes(info, &c);
	if (!error)
		error = scd__changes_new(&c);
	if (error)
		return error;
	error = delta_read_changes(&payload, &c);
	if (!error)
		scd__change_engine(NULL)->join(base->bits, bloom->bits,
					   base->nbits, &c);
	scd__changes_free(&c);
	return error;
}

static int delta_apply_xor(const uint8_t *in,
			   const struct scd_digest_info *info,
			   const struct scd_bloom *base,
			   struct scd_bloom *bloom)
{
	int error = scd__frame_payload(in, info, bloom->bits);

	return error ? error : scd_bloom_xor(bloom, base);
}

/* Turn an empty filter into the result, and verify it. */
static int delta_apply_into(const uint8_t *in,
			    const struct scd_digest_info *info,
			    const struct scd_base *base,
			    struct scd_bloom *bloom)
{
	uint64_t checksum, ones;
	int error;

	if (info->kind == SCD_DELTA_CONDITIONAL)
		error = delta_apply_conditional(in, info, base->bloom, bloom);
	else
		error = delta_apply_xor(in, info, base->bloom, bloom);
	if (error)
		return error;
	checksum = scd__array_sum(bloom->bits, bloom->nbits, &ones);
	if (ones != info->nones || checksum != info->checksum)
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
		error = delta_check_base(&parsed, base);
	if (!error)
		error = scd_bloom_init(&fresh, parsed.nbits, parsed.nhash);
	if (error)
		return error;
	fresh.hashing = parsed.hashing;
	error = delta_apply_into(in, &parsed, base, &fresh);
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
static int delta_read_flips(const struct scd_delta *delta,
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

/* Without a base, does its array take more memory than its length allows? */
static bool delta_expands(const struct scd_digest_info *info,
			  const struct scd_limits *limits)
{
	struct scd_limits defaults;

	scd_limits_init(&defaults);
	return scd__digest_expands(info, scd__array_bytes(info->nbits),
				   limits ? limits : &defaults);
}

/* Does a delta begin where another one ends? */
static bool delta_follows(const struct scd_digest_info *a,
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
	if (!error && !delta_follows(&a, &b))
		error = SCD_EBASE;
	if (!error && (delta_expands(&a, limits) || delta_expands(&b, limits)))
		error = SCD_ELIMIT;
	if (!error)
		error = delta_read_flips(first, &a, &flips);
	if (error)
		return error;
	error = delta_read_flips(second, &b, &more);
	if (error)
		goto out_flips;
	error = scd_bloom_xor(&flips, &more);
	scd_bloom_free(&more);
	if (error)
		goto out_flips;
	b.base_generation = a.base_generation;
	b.base_checksum = a.base_checksum;
	b.ncoded = scd_bloom_ones(&flips);
	error = scd__frame_make(&b, flips.bits, NULL, out, out_len);
out_flips:
	scd_bloom_free(&flips);
	return error;
}
