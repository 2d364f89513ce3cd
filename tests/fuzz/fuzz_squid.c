/*
 * Any bytes as a digest of Squid's; and as one whose sizes are right. What
 * decodes must be in the input, and encode to a digest of the same mask.
 */
#include <string.h>

#include "codec/squid.h"
#include "tests/fuzz/fuzz.h"

enum { MAX_INPUT = 4096 };

static void check_decoded(const uint8_t *in, struct scd_squid_info *info,
			  const struct scd_bloom *bloom)
{
	const size_t mask_bytes = scd_bloom_bytes(bloom);
	struct scd_squid_info again;
	uint8_t *out;
	size_t len;

	fuzz_must(bloom->nbits == 8 * (uint64_t)mask_bytes);
	fuzz_must(
		!memcmp(bloom->bits, in + SCD_SQUID_HEADER_BYTES, mask_bytes));
	fuzz_must(scd_squid_encode(bloom, info, &out, &len) == SCD_OK);
	fuzz_must(len == SCD_SQUID_HEADER_BYTES + mask_bytes);
	fuzz_must(scd_squid_parse(out, len, &again) == SCD_OK);
	fuzz_must(again.capacity == info->capacity &&
		  again.entry_bits == info->entry_bits);
	free(out);
}

static void try_decode(const uint8_t *in, size_t len)
{
	struct scd_squid_info info;
	struct scd_bloom bloom;
	int error = scd_squid_decode(in, len, &info, &bloom);

	fuzz_must((error == SCD_OK) == (scd_squid_fault(in, len) == NULL));
	if (error)
		return;
	check_decoded(in, &info, &bloom);
	scd_bloom_free(&bloom);
}

/* The same with the sizes put right: 8 bits an entry. */
static void try_sized(const uint8_t *data, size_t len)
{
	uint8_t in[MAX_INPUT];
	uint16_t entries = (uint16_t)(len - SCD_SQUID_HEADER_BYTES);

	memcpy(in, data, len);
	memset(in + 4, 0, 4);
	memset(in + 16, 0, 4);
	in[6] = in[18] = (uint8_t)(entries >> 8);
	in[7] = in[19] = (uint8_t)entries;
	in[20] = 8;
	in[21] = SCD_SQUID_HASH;
	try_decode(in, len);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	try_decode(data, len);
	if (len > SCD_SQUID_HEADER_BYTES && len <= MAX_INPUT)
		try_sized(data, len);
	return 0;
}
