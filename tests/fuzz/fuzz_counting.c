/*
 * Any bytes as a counting filter. What decodes must be what its header says,
 * its counters in step with its bits, and encode to what decodes to the same.
 */
#include "codec/filter/counting_state.h"
#include "tests/fuzz/frame.h"

static void check_decoded(const struct scd_digest_info *info,
			  const struct scd_counting *c)
{
	struct scd_counting *back;
	uint64_t nones = 0, nsaturated = 0;
	uint8_t *out;
	size_t len;

	for (uint64_t i = 0; i < info->nbits; i++) {
		const unsigned value = scd__counter(c, i);

		fuzz_must((value > 0) == (c->bloom.bits[i / 8] >> i % 8 & 1));
		nones += value > 0;
		nsaturated += value == COUNTER_MAX;
	}
	fuzz_must(nones == info->nones && nones == scd_counting_ones(c));
	fuzz_must(nsaturated == scd_counting_saturated(c));
	fuzz_must(scd_digest_checksum(&c->bloom) == info->checksum);
	fuzz_must(scd_counting_encode(c, info, &out, &len) == SCD_OK);
	fuzz_must(scd_counting_decode(out, len, &fuzz_limits, NULL, &back) ==
		  SCD_OK);
	fuzz_must(memcmp(back->counters, c->counters, scd__counter_bytes(c)) ==
		  0);
	scd_counting_free(&back);
	free(out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct scd_digest_info info;
	struct scd_counting *c;

	if (scd_counting_decode(data, len, &fuzz_limits, &info, &c) !=
	    SCD_OK)
		return 0;
	check_decoded(&info, c);
	scd_counting_free(&c);
	return 0;
}

/* What follows from the counters is left: make() is for that. */
static void repair(uint8_t *in, size_t len)
{
	(void)len;
	in[4] = SCD_COUNTING;
	in[5] = SCD_CODING_PARTS;
	memcpy(in + 72, in + 24, 8);
}

/* Steps between counters, and what they are, in the bytes. */
static size_t make(struct fuzz_bytes *b, uint8_t **out)
{
	struct scd_digest_info info = fuzz_shape(b, 1 << 12);
	struct scd_counting *c;
	size_t len;

	fuzz_must(scd_counting_new(&c, info.nbits, info.nhash) == SCD_OK);
	fuzz_must(scd_counting_set_hashing(c, info.hashing) == SCD_OK);
	for (uint64_t at = fuzz_take(b); at < info.nbits && b->left;
	     at += fuzz_take(b) % 32 + 1) {
		unsigned value = 1 + fuzz_take(b) % 15;

		c->counters[at / 2] |= (uint8_t)(value << at % 2 * 4);
		c->bloom.bits[at / 8] |= (uint8_t)(1u << at % 8);
		c->nones++;
		c->nsaturated += value == COUNTER_MAX;
	}
	fuzz_must(scd_counting_encode(c, &info, out, &len) == SCD_OK);
	scd_counting_free(&c);
	return len;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t len, size_t max,
			       unsigned seed)
{
	static const struct fuzz_frame frame = {repair, make};

	return fuzz_mutate_frame(&frame, data, len, max, seed);
}
