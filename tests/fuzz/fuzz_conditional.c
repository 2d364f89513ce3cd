/*
 * Any bytes as a conditional delta for a base of its shape. What applies must
 * be what its header says, and the base untouched; and each engine must split
 * the change and join it again.
 */
#include "codec/bloom.h"
#include "codec/conditional.h"
#include "codec/delta.h"
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

/* Gaps between the places that differ, in the bytes. */
static size_t make(struct fuzz_bytes *b, uint8_t **out)
{
	struct scd_digest_info info = fuzz_shape(b, 1 << 12);
	struct scd_bloom base = fuzz_base(&info), next = fuzz_base(&info);
	size_t len;

	info.base_generation = FRAME_BASE_GENERATION;
	for (uint64_t at = fuzz_take(b); at < info.nbits && b->left;
	     at += fuzz_take(b) + 1)
		next.bits[at / 8] ^= (uint8_t)(1u << at % 8);
	fuzz_must(scd_delta_encode_conditional(&base, &next, &info, out,
					       &len) == SCD_OK);
	scd_bloom_free(&base);
	scd_bloom_free(&next);
	return len;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t len, size_t max,
			       unsigned seed)
{
	static const struct fuzz_frame frame = {repair, make};

	return fuzz_mutate_frame(&frame, data, len, max, seed);
}
