/*
 * Any bytes as a full digest. What decodes must be what its header says, and
 * encode to a digest of the same array; payloads that may be one are decoded
 * by all engines and by the slow decoder.
 */
#include "codec/bloom.h"
#include "codec/digest.h"
#include "tests/fuzz/frame.h"

static void check_decoded(const struct scd_digest_info *info,
			  const struct scd_bloom *bloom)
{
	struct scd_digest_info again;
	uint8_t *out;
	size_t len;

	fuzz_must(info->nbits <= fuzz_limits.max_bits);
	fuzz_must(bloom->nbits == info->nbits && bloom->nhash == info->nhash);
	fuzz_must(scd_bloom_ones(bloom) == info->nones);
	fuzz_must(scd_digest_checksum(bloom) == info->checksum);
	fuzz_must(scd_digest_encode(bloom, info, &out, &len) == SCD_OK);
	fuzz_must(scd_digest_parse(out, len, &fuzz_limits, &again) == SCD_OK);
	fuzz_must(again.checksum == info->checksum);
	free(out);
}

static void check_payload(const uint8_t *in, size_t len)
{
	const struct fuzz_bytes payload = {in + SCD_DIGEST_HEADER_BYTES,
					   len - SCD_DIGEST_HEADER_BYTES};
	struct scd_digest_info info;
	struct scd__shape shape;

	if (scd_digest_parse(in, len, &fuzz_limits, &info) != SCD_OK ||
	    info.coding < SCD_CODING_RANGE || info.coding > SCD_CODING_SPARSE)
		return;
	shape = (struct scd__shape){info.nbits, info.ncoded};
	coding_decode(info.coding, &shape, &payload);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct scd_digest_info info;
	struct scd_bloom bloom;

	if (scd_digest_decode(data, len, &fuzz_limits, &info, &bloom) ==
	    SCD_OK) {
		check_decoded(&info, &bloom);
		scd_bloom_free(&bloom);
	}
	check_payload(data, len);
	return 0;
}

static void repair(uint8_t *in, size_t len)
{
	struct scd_digest_info info;
	uint8_t bits[CODING_MAX_BYTES];

	in[4] = SCD_FULL;
	memcpy(in + 24, in + 72, 8);
	fuzz_sum(in);
	if (scd_digest_parse(in, len, &fuzz_limits, &info) == SCD_OK &&
	    scd__frame_payload(in, &info, bits) == SCD_OK)
		fuzz_put_u64(in + 64, scd__array_checksum(bits, info.nbits));
}

static size_t make(struct fuzz_bytes *b, uint8_t **out)
{
	const enum scd_coding shaped = fuzz_take(b) % 2 ? SCD_CODING_SPARSE
							: SCD_CODING_DENSE;
	struct scd_digest_info info = fuzz_shape(b, 1 << 12);
	struct scd__shape shape = {.nbits = info.nbits};
	struct fuzz_bytes rest = *b;
	uint8_t bits[CODING_MAX_BYTES];

	coding_array(shaped, b, &shape, bits);
	info.nones = shape.nones;
	info.checksum = scd__array_checksum(bits, info.nbits);
	return fuzz_code(&rest, &info, bits, out);
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t len, size_t max,
			       unsigned seed)
{
	static const struct fuzz_frame frame = {repair, make};

	return fuzz_mutate_frame(&frame, data, len, max, seed);
}
