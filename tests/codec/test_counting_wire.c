/*
 * Counting filters as digests: there and back, sizes against the entropy of
 * the counters, damaged input, no memory.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "codec/filter/counting_state.h"
#include "codec/wire/frame.h"
#include "tests/codec/alloc.h"
#include "tests/codec/random.h"
#include "tests/unit.h"

static const struct scd_digest_info ids = {
	.instance = 7, .generation = 3, .nkeys = 5};

static struct scd_limits any(void)
{
	struct scd_limits limits;

	scd_limits_init(&limits);
	limits.max_fp_ppm = 1000000;
	return limits;
}

static struct scd_counting *filter(uint64_t nbits, unsigned nhash,
				   uint64_t keys)
{
	struct scd_counting *c;
	uint64_t seed = nbits + keys;

	assert_int_equal(scd_counting_new(&c, nbits, nhash), SCD_OK);
	for (uint64_t i = 0; i < keys; i++) {
		struct scd_key key = {random_next(&seed), random_next(&seed)};

		scd_counting_add(c, &key);
	}
	return c;
}

static void check_same(const struct scd_counting *a,
		       const struct scd_counting *b)
{
	assert_true(scd_bloom_equal(&a->bloom, &b->bloom));
	assert_memory_equal(a->counters, b->counters, scd__counter_bytes(a));
	assert_true(a->nones == b->nones);
	assert_true(a->nsaturated == b->nsaturated);
}

static const struct {
	const char *label;
	uint64_t nbits;
	unsigned nhash;
	uint64_t keys;
} filters[] = {
	/* clang-format off */
	{ "one counter", 1, 1, 1 },
	{ "one counter, 14", 1, 1, 14 },
	{ "one counter, saturated", 1, 1, 40 },
	{ "odd, all planes", 7, 2, 30 },
	{ "paper's", 14000, 2, 1000 },
	{ "dense planes", 140000, 2, 10000 },
	{ "sparse planes", 1 << 22, 1, 90000 },
	{ "full", 1000, 4, 3000 },
	/* clang-format on */
};

static void filters_come_back(void **state)
{
	const struct scd_limits limits = any();

	(void)state;
	for (size_t i = 0; i < NROWS(filters); i++) {
		struct scd_counting *back, *c = filter(
			filters[i].nbits, filters[i].nhash, filters[i].keys);
		struct scd_digest_info info;
		uint8_t *out, *again;
		size_t len, again_len;

		assert_int_equal(scd_counting_encode(c, &ids, &out, &len),
				 SCD_OK);
		assert_int_equal(
			scd_counting_decode(out, len, &limits, &info, &back),
			SCD_OK);
		check_same(c, back);
		assert_int_equal(info.kind, SCD_COUNTING);
		assert_true(info.nkeys == 5 && info.instance == 7);
		assert_int_equal(
			scd_counting_encode(back, &info, &again, &again_len),
			SCD_OK);
		assert_int_equal(again_len, len);
		assert_memory_equal(again, out, len);
		scd_counting_free(&back);
		scd_counting_free(&c);
		free(out);
		free(again);
	}
}

static void empty_comes_back(void **state)
{
	struct scd_counting *back, *c = filter(100, 2, 0);
	struct scd_digest_info none = {.instance = 1};
	uint8_t *out;
	size_t len;

	(void)state;
	assert_int_equal(scd_counting_encode(c, &ids, &out, &len), SCD_EINVAL);
	assert_int_equal(scd_counting_encode(c, &none, &out, &len), SCD_OK);
	assert_int_equal(len, SCD_DIGEST_HEADER_BYTES + 2);
	assert_int_equal(scd_counting_decode(out, len, NULL, NULL, &back),
			 SCD_OK);
	check_same(c, back);
	scd_counting_free(&back);
	scd_counting_free(&c);
	free(out);
}

/* Squid's hashing is in the header, and who takes over adds as before. */
static void hashing_comes_back(void **state)
{
	struct scd_key key = {1, 2};
	struct scd_counting *back, *c = filter(8000, 4, 0);
	uint8_t *out;
	size_t len;

	(void)state;
	assert_int_equal(scd_counting_set_hashing(c, SCD_HASHING_SQUID),
			 SCD_OK);
	scd_counting_add(c, &key);
	assert_int_equal(scd_counting_encode(c, &ids, &out, &len), SCD_OK);
	assert_int_equal(scd_counting_decode(out, len, NULL, NULL, &back),
			 SCD_OK);
	check_same(c, back);
	scd_counting_remove(back, &key);
	assert_int_equal(scd_counting_ones(back), 0);
	scd_counting_free(&back);
	scd_counting_free(&c);
	free(out);
}

/* The entropy of the counters' values, in bytes. */
static double entropy(const struct scd_counting *c)
{
	uint64_t hist[16] = {0};
	double bits = 0, m = (double)c->bloom.nbits;

	for (uint64_t at = 0; at < c->bloom.nbits; at++)
		hist[scd__counter(c, at)]++;
	for (int v = 0; v < 16; v++)
		bits += hist[v] ? (double)hist[v] * log2(m / (double)hist[v])
				: 0;
	return bits / 8;
}

static void sizes_are_near_the_entropy(void **state)
{
	(void)state;
	for (uint64_t keys = 1000; keys <= 100000; keys *= 10) {
		struct scd_counting *c = filter(14 * keys, 2, keys);
		double most = entropy(c) * 1.003 + 96 + 40;
		uint8_t *out;
		size_t len;

		assert_int_equal(scd_counting_encode(c, &ids, &out, &len),
				 SCD_OK);
		print_message("# %d keys: %d bytes, entropy %.0f\n", (int)keys,
			      (int)len - 96, entropy(c));
		assert_true((double)len < most);
		scd_counting_free(&c);
		free(out);
	}
}

/* Decode what has been changed, with the header's own checksum right. */
static int decode_forged(uint8_t *bytes, size_t len)
{
	const struct scd_limits limits = any();
	struct scd_counting *out = NULL;
	uint64_t sum = scd__frame_checksum(bytes);
	int error;

	for (int i = 0; i < 8; i++)
		bytes[88 + i] = (uint8_t)(sum >> 8 * i);
	error = scd_counting_decode(bytes, len, &limits, NULL, &out);
	scd_counting_free(&out);
	return error;
}

static void damage_is_refused(void **state)
{
	struct scd_counting *c = filter(14000, 2, 1000);
	uint8_t *out, *bad;
	size_t len;
	uint64_t seed = 4;

	(void)state;
	assert_int_equal(scd_counting_encode(c, &ids, &out, &len), SCD_OK);
	bad = malloc(len);
	assert_non_null(bad);
	for (size_t cut = 0; cut < len; cut++) {
		struct scd_counting *back;

		assert_int_not_equal(
			scd_counting_decode(out, cut, NULL, NULL, &back),
			SCD_OK);
	}
	for (int i = 0; i < 20000; i++) {
		/* nones, the counters' checksum, payload */
		size_t at = i % 3 == 0	 ? 24 + random_below(&seed, 8)
			    : i % 3 == 1 ? 56 + random_below(&seed, 8)
					 : 96 + random_below(&seed, len - 96);
		int error;

		memcpy(bad, out, len);
		bad[at] ^= (uint8_t)(1u << random_below(&seed, 8));
		error = decode_forged(bad, len);
		if (at < 96)
			assert_int_not_equal(error, SCD_OK);
	}
	scd_counting_free(&c);
	free(out);
	free(bad);
}

static void other_kinds_are_refused(void **state)
{
	struct scd_counting *back, *c = filter(14000, 2, 1000);
	struct scd_bloom bloom;
	uint8_t *out;
	size_t len;

	(void)state;
	assert_int_equal(
		scd_digest_encode(scd_counting_bloom(c), &ids, &out, &len),
		SCD_OK);
	assert_int_equal(scd_counting_decode(out, len, NULL, NULL, &back),
			 SCD_EBASE);
	free(out);
	assert_int_equal(scd_counting_encode(c, &ids, &out, &len), SCD_OK);
	assert_int_equal(scd_digest_decode(out, len, NULL, NULL, &bloom),
			 SCD_EBASE);
	free(out);
	scd_counting_free(&c);
}

static void no_memory_is_survived(void **state)
{
	struct scd_counting *back, *c = filter(14000, 2, 1000);
	uint8_t *out, *more;
	size_t len, more_len;
	unsigned n = 0;
	int error;

	(void)state;
	assert_int_equal(scd_counting_encode(c, &ids, &out, &len), SCD_OK);
	do {
		alloc_fail_at(++n);
		error = scd_counting_encode(c, &ids, &more, &more_len);
		if (error)
			assert_int_equal(error, SCD_ENOMEM);
		else
			free(more);
	} while (alloc_failed());
	n = 0;
	do {
		alloc_fail_at(++n);
		error = scd_counting_decode(out, len, NULL, NULL, &back);
		if (error)
			assert_int_equal(error, SCD_ENOMEM);
		else
			scd_counting_free(&back);
	} while (alloc_failed());
	alloc_fail_at(0);
	free(out);
	scd_counting_free(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(filters_come_back),
		cmocka_unit_test(empty_comes_back),
		cmocka_unit_test(hashing_comes_back),
		cmocka_unit_test(sizes_are_near_the_entropy),
		cmocka_unit_test(damage_is_refused),
		cmocka_unit_test(other_kinds_are_refused),
		cmocka_unit_test(no_memory_is_survived),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
