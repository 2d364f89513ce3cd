/*
 * Any bytes as a full digest. What decodes must be what its header says, and
 * encode to a digest of the same array.
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

static void try_decode(const uint8_t *in, size_t len)
{
	struct scd_digest_info info;
	struct scd_bloom bloom;

	if (scd_digest_decode(in, len, &fuzz_limits, &info, &bloom) != SCD_OK)
		return;
	check_decoded(&info, &bloom);
	scd_bloom_free(&bloom);
}

/* The same with the array's checksum made right, if it is only that. */
static void try_sealed(const uint8_t *data, size_t len)
{
	uint8_t *in = fuzz_seal(data, len);
	struct scd_digest_info info;
	uint8_t *bits;

	try_decode(in, len);
	if (scd_digest_parse(in, len, &fuzz_limits, &info) == SCD_OK &&
	    info.kind == SCD_FULL) {
		bits = malloc((size_t)((info.nbits + 7) / 8));
		fuzz_must(bits != NULL);
		if (scd__frame_payload(in, &info, bits) == SCD_OK) {
			fuzz_put_u64(in + 64,
				     scd__array_checksum(bits, info.nbits));
			fuzz_put_u64(in + 88, scd__frame_checksum(in));
			try_decode(in, len);
		}
		free(bits);
	}
	free(in);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	try_decode(data, len);
	try_sealed(data, len);
	return 0;
}
