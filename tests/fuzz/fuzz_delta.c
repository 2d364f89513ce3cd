/*
 * Any bytes as a delta for a base that is there. What applies must be what
 * its header says, and the base untouched; what composes must parse.
 */
#include "codec/bloom.h"
#include "codec/delta.h"
#include "tests/fuzz/frame.h"

enum { BASE_BITS = 1003, BASE_HASH = 3, BASE_GENERATION = 6 };

static struct scd_bloom make_base(void)
{
	struct scd_bloom base;

	fuzz_must(scd_bloom_init(&base, BASE_BITS, BASE_HASH) == SCD_OK);
	for (unsigned i = 0; i < BASE_BITS; i += 7)
		base.bits[i / 8] |= (uint8_t)(1u << i % 8);
	return base;
}

static void try_apply(const uint8_t *in, size_t len,
		      const struct scd_bloom *bloom)
{
	struct scd_base base = {bloom, 1, BASE_GENERATION};
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

/* Make a header say that it is a delta for the base. */
static void adopt(uint8_t *in, const struct scd_bloom *bloom)
{
	in[4] = SCD_DELTA_XOR;
	in[7] = BASE_HASH;
	fuzz_put_u64(in + 8, BASE_BITS);
	fuzz_put_u64(in + 32, 1);
	fuzz_put_u64(in + 48, BASE_GENERATION);
	fuzz_put_u64(in + 56, scd_digest_checksum(bloom));
	fuzz_put_u64(in + 88, scd__frame_checksum(in));
}

/* Follow a delta with the one that leads on to the empty filter. */
static void try_compose(const uint8_t *in, size_t len)
{
	struct scd_delta first = {in, len}, second;
	struct scd_digest_info info, ids;
	struct scd_bloom from, none;
	uint8_t *bytes, *out;
	size_t out_len;

	if (scd_digest_parse(in, len, &fuzz_limits, &info) != SCD_OK ||
	    info.generation == UINT64_MAX)
		return;
	fuzz_must(scd_bloom_init(&none, info.nbits, info.nhash) == SCD_OK);
	fuzz_must(scd_bloom_init(&from, info.nbits, info.nhash) == SCD_OK);
	ids = (struct scd_digest_info){
		.instance = info.instance,
		.base_generation = info.generation,
		.generation = info.generation + 1,
	};
	fuzz_must(scd_delta_encode(&from, &none, &ids, &bytes, &second.len) ==
		  SCD_OK);
	fuzz_put_u64(bytes + 56, info.checksum);
	fuzz_put_u64(bytes + 88, scd__frame_checksum(bytes));
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
	struct scd_bloom base = make_base();
	uint8_t *in = fuzz_seal(data, len);

	try_apply(data, len, &base);
	try_compose(in, len);
	if (len >= SCD_DIGEST_HEADER_BYTES) {
		adopt(in, &base);
		try_apply(in, len, &base);
		try_compose(in, len);
	}
	free(in);
	scd_bloom_free(&base);
	return 0;
}
