/*
 * Any bytes as a conditional delta for a base of its shape. What applies must
 * be what its header says, and the base untouched; and each engine must split
 * the change and join it again.
 */
#include "codec/bloom.h"
#include "codec/coder/conditional_coder.h"
#include "codec/delta.h"
#include "codec/coder/parts.h"
#include "tests/fuzz/frame.h"

static void check_engine(const struct scd__change_engine *engine,
			 const struct scd_bloom *base,
			 const struct scd_bloom *next)
{
	struct scd__changes c = {
		.cleared.nbits = scd_bloom_ones(base),
		.set.nbits = base->nbits - scd_bloom_ones(base),
	};
	struct scd_bloom again;

	fuzz_must(scd__changes_new(&c) == SCD_OK);
	fuzz_must(scd_bloom_init(&again, base->nbits, base->nhash) == SCD_OK);
	engine->split(base->bits, next->bits, base->nbits, &c);
	engine->join(base->bits, again.bits, base->nbits, &c);
	fuzz_must(memcmp(again.bits, next->bits, scd_bloom_bytes(next)) == 0);
	scd_bloom_free(&again);
	scd__changes_free(&c);
}

/* What was made is read again, and the same by all. */
static void check_applied(const struct scd_base *base,
			  const struct scd_digest_info *info,
			  const struct scd_bloom *next)
{
	struct scd_bloom back;
	uint8_t *out;
	size_t len;

	fuzz_must(scd_bloom_ones(next) == info->nones);
	fuzz_must(scd_digest_checksum(next) == info->checksum);
	for (size_t i = 0; i < scd__change_nengines; i++) {
		if (scd__change_engines[i]->available())
			check_engine(scd__change_engines[i], base->bloom,
				     next);
	}
	fuzz_must(scd_delta_encode_conditional(base->bloom, next, info, &out,
					       &len) == SCD_OK);
	fuzz_must(scd_delta_apply(out, len, &fuzz_limits, base, NULL, &back) ==
		  SCD_OK);
	fuzz_must(memcmp(back.bits, next->bits, scd_bloom_bytes(next)) == 0);
	scd_bloom_free(&back);
	free(out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct scd_base base = {
		.instance = FRAME_INSTANCE,
		.generation = FRAME_BASE_GENERATION,
	};
	struct scd_digest_info info;
	struct scd_bloom bloom, next;
	uint64_t before;

	if (scd_digest_parse(data, len, &fuzz_limits, &info) != SCD_OK)
		return 0;
	bloom = fuzz_base(&info);
	base.bloom = &bloom;
	before = scd_digest_checksum(&bloom);
	if (scd_delta_apply(data, len, &fuzz_limits, &base, &info, &next) ==
	    SCD_OK) {
		check_applied(&base, &info, &next);
		scd_bloom_free(&next);
	}
	fuzz_must(scd_digest_checksum(&bloom) == before);
	scd_bloom_free(&bloom);
	return 0;
}

/* The delta for the base of its shape. */
static void repair(uint8_t *in, size_t len)
{
	struct scd_digest_info info;
	struct scd_bloom base;

	in[4] = SCD_DELTA_CONDITIONAL;
	in[5] = SCD_CODING_PARTS;
	fuzz_put_u64(in + 32, FRAME_INSTANCE);
	fuzz_put_u64(in + 48, FRAME_BASE_GENERATION);
	fuzz_sum(in);
	if (scd_digest_parse(in, len, &fuzz_limits, &info) != SCD_OK)
		return;
	base = fuzz_base(&info);
	fuzz_put_u64(in + 56, scd_digest_checksum(&base));
	scd_bloom_free(&base);
}

/* Code an array by the coding that the bytes choose, if that is one for it. */
static enum scd_coding code_part(struct fuzz_bytes *b,
				 const struct scd__shape *shape,
				 const uint8_t *bits, struct scd__writer *out)
{
	const unsigned id = fuzz_take(b) % SCD_CODING_PARTS;
	const unsigned how = fuzz_take(b);
	enum scd_coding coding = (enum scd_coding)id;

	if (id > SCD_CODING_STORED && shape->nbits > 0 &&
	    scd__coding_find(id)->fits(shape, 4))
		out->at += coding_encode(coding, how, shape, bits, out->at);
	else
		fuzz_must(scd__part_encode(shape, bits, out, &coding) ==
			  SCD_OK);
	return coding;
}

static void code_changes(struct fuzz_bytes *b, const struct scd__changes *c,
			 struct scd__writer *out)
{
	static uint8_t parts[2][SLOW_ROOM(CODING_MAX_BYTES)];
	struct scd__writer cleared = scd__writer(parts[0], sizeof(parts[0]));
	struct scd__writer set = scd__writer(parts[1], sizeof(parts[1]));
	const unsigned first = code_part(b, &c->cleared, c->cleared_bits,
					 &cleared);
	const unsigned second = code_part(b, &c->set, c->set_bits, &set);

	scd__write_u8(out, (uint8_t)(first | second << 4));
	scd__write_varint(out, scd__writer_len(&cleared));
	scd__write_bytes(out, cleared.start, scd__writer_len(&cleared));
	scd__write_bytes(out, set.start, scd__writer_len(&set));
	fuzz_must(!out->error);
}

static size_t frame(struct fuzz_bytes *b, struct scd_digest_info *info,
		    const struct scd_bloom *base, const struct scd_bloom *next,
		    uint8_t **out)
{
	struct scd__changes c = {.cleared.nbits = scd_bloom_ones(base)};
	struct scd__writer payload;
	size_t len;

	c.set.nbits = base->nbits - c.cleared.nbits;
	fuzz_must(scd__changes_new(&c) == SCD_OK);
	scd__change_engine(NULL)->split(base->bits, next->bits, base->nbits,
					&c);
	c.cleared.nones = scd__count_ones(
		c.cleared_bits, (size_t)scd__array_bytes(c.cleared.nbits));
	c.set.nones = scd__count_ones(
		c.set_bits, (size_t)scd__array_bytes(c.set.nbits));
	info->kind = SCD_DELTA_CONDITIONAL;
	info->coding = SCD_CODING_PARTS;
	info->base_generation = FRAME_BASE_GENERATION;
	info->base_checksum = scd_digest_checksum(base);
	info->nones = scd_bloom_ones(next);
	info->checksum = scd_digest_checksum(next);
	info->ncoded = c.cleared.nones + c.set.nones;
	fuzz_must(scd__frame_begin(2 * SLOW_ROOM(CODING_MAX_BYTES),
				   &payload) == SCD_OK);
	code_changes(b, &c, &payload);
	scd__frame_finish(info, &payload, out, &len);
	scd__changes_free(&c);
	return len;
}

/* Gaps between the places that differ, in the bytes. */
static size_t make(struct fuzz_bytes *b, uint8_t **out)
{
	struct scd_digest_info info = fuzz_shape(b, 1 << 12);
	struct scd_bloom base = fuzz_base(&info), next = fuzz_base(&info);
	struct fuzz_bytes rest = *b;
	size_t len;

	for (uint64_t at = fuzz_take(b); at < info.nbits && b->left;
	     at += fuzz_take(b) + 1)
		next.bits[at / 8] ^= (uint8_t)(1u << at % 8);
	len = frame(&rest, &info, &base, &next, out);
	scd_bloom_free(&base);
	scd_bloom_free(&next);
	return len;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t len, size_t max,
			       unsigned seed)
{
	static const struct fuzz_frame conditional = {repair, make};

	return fuzz_mutate_frame(&conditional, data, len, max, seed);
}
