/*
 * Any bytes as an XOR delta for a base of its shape. What applies must be what
 * its header says, and the base untouched; what composes must parse.
 */
#include "codec/bloom.h"
#include "codec/delta.h"
#include "tests/fuzz/frame.h"

static void try_apply(const uint8_t *in, size_t len,
		      const struct scd_bloom *bloom)
{
	struct scd_base base = {.bloom = bloom,
				.instance = FRAME_INSTANCE,
				.generation = FRAME_BASE_GENERATION};
	uint64_t before = scd_digest_checksum(bloom);
	struct scd_digest_info info;
	struct scd_bloom next;

	if (scd_delta_apply(in, len, &fuzz_limits, &base, &info, &next) ==
	    SCD_OK) {
		fuzz_must(scd_bloom_ones(&next) == info.nones);
		fuzz_must(scd_digest_checksum(&next) == info.checksum);
		scd_bloom_free(&next);
	}
	fuzz_must(scd_digest_checksum(bloom) == before);
}

/* Follow a delta with the one that leads on to the empty filter. */
static void try_compose(const uint8_t *in, size_t len,
			const struct scd_digest_info *info)
{
	struct scd_delta first = {in, len}, second;
	struct scd_digest_info ids = {
		.instance = info->instance,
		.base_generation = info->generation,
		.generation = info->generation + 1,
	};
	struct scd_bloom from = fuzz_base(info), none = fuzz_base(info);
	uint8_t *bytes, *out;
	size_t out_len;

	scd_bloom_clear(&none);
	fuzz_must(scd_delta_encode(&from, &none, &ids, &bytes, &second.len) ==
		  SCD_OK);
	fuzz_put_u64(bytes + 56, info->checksum);
	fuzz_sum(bytes);
	second.bytes = bytes;
	if (scd_delta_compose(&first, &second, &fuzz_limits, &out, &out_len) ==
	    SCD_OK) {
		fuzz_must(scd_digest_parse(out, out_len, &fuzz_limits, &ids) ==
			  SCD_OK);
		free(out);
	}
	free(bytes);
	scd_bloom_free(&none);
	scd_bloom_free(&from);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct scd_digest_info info;
	struct scd_bloom base;

	if (scd_digest_parse(data, len, &fuzz_limits, &info) != SCD_OK)
		return 0;
	base = fuzz_base(&info);
	try_apply(data, len, &base);
	if (info.generation < UINT64_MAX)
		try_compose(data, len, &info);
	scd_bloom_free(&base);
	return 0;
}

/* The header of a delta for the base of its shape, with another array. */
static void adopt(uint8_t *in, const struct scd_bloom *base,
		  const struct scd_bloom *next)
{
	fuzz_put_u64(in + 24, scd_bloom_ones(next));
	fuzz_put_u64(in + 56, scd_digest_checksum(base));
	fuzz_put_u64(in + 64, scd_digest_checksum(next));
}

static void repair(uint8_t *in, size_t len)
{
	struct scd_digest_info info;
	struct scd_bloom base, next;

	in[4] = SCD_DELTA_XOR;
	fuzz_put_u64(in + 32, FRAME_INSTANCE);
	fuzz_put_u64(in + 48, FRAME_BASE_GENERATION);
	fuzz_sum(in);
	if (scd_digest_parse(in, len, &fuzz_limits, &info) != SCD_OK)
		return;
	base = fuzz_base(&info);
	next = fuzz_base(&info);
	if (scd__frame_payload(in, &info, next.bits) == SCD_OK &&
	    scd_bloom_xor(&next, &base) == SCD_OK)
		adopt(in, &base, &next);
	scd_bloom_free(&base);
	scd_bloom_free(&next);
}

static size_t make(struct fuzz_bytes *b, uint8_t **out)
{
	struct scd_digest_info info = fuzz_shape(b, 1 << 12);
	struct scd__shape shape = {.nbits = info.nbits};
	struct scd_bloom base = fuzz_base(&info), next = fuzz_base(&info);
	struct fuzz_bytes rest = *b;
	uint8_t flips[CODING_MAX_BYTES];

	coding_array(SCD_CODING_SPARSE, b, &shape, flips);
	for (size_t i = 0; i < scd_bloom_bytes(&next); i++)
		next.bits[i] ^= flips[i];
	info.kind = SCD_DELTA_XOR;
	info.base_generation = FRAME_BASE_GENERATION;
	info.base_checksum = scd_digest_checksum(&base);
	info.nones = scd_bloom_ones(&next);
	info.checksum = scd_digest_checksum(&next);
	scd_bloom_free(&base);
	scd_bloom_free(&next);
	return fuzz_code(&rest, &info, flips, out);
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t len, size_t max,
			       unsigned seed)
{
	static const struct fuzz_frame frame = {repair, make};

	return fuzz_mutate_frame(&frame, data, len, max, seed);
}
