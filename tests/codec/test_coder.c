/*
 * The coder against the dumbest twin there is, the array itself: every size
 * that could go wrong at every share of ones; the size of what comes out
 * against the entropy; damaged input.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "codec/coder/coder.h"
#include "codec/error.h"
#include "codec/coder/range_coder.h"
#include "tests/codec/random.h"
#include "tests/unit.h"

enum { MAX_BITS = 70000, MAX_BYTES = MAX_BITS / 8 + 1 };

static const uint64_t sizes[] = {
	1, 2, 3, 7, 8, 9, 15, 16, 17, 63, 64, 65, 1000, 4099, MAX_BITS,
};

/* Ones of nbits bits; a range of them all, from none to all. */
static const struct {
	const char *label;
	double share;
	int more;
} fills[] = {
	{"none", 0, 0},
	{"one", 0, 1},
	{"two", 0, 2},
	{"1/1000", 0.001, 0},
	{"1/64", 0.015625, 0},
	{"paper's", 0.1331, 0},
	{"half less one", 0.5, -1},
	{"half", 0.5, 0},
	{"half and one", 0.5, 1},
	{"0.9", 0.9, 0},
	{"0.9999", 0.9999, 0},
	{"all but one", 1, -1},
	{"all", 1, 0},
};

enum { NSIZES = NROWS(sizes) };
enum { NFILLS = NROWS(fills) };

static double entropy_bytes(const struct scd__shape *shape)
{
	double n = (double)shape->nbits, k = (double)shape->nones;

	if (shape->nones == 0 || shape->nones == shape->nbits)
		return 0;
	return (k * log2(n / k) + (n - k) * log2(n / (n - k))) / 8;
}

static int decode(const struct scd__coding *coding,
		  const struct scd__shape *shape, const uint8_t *in, size_t len,
		  uint8_t *bits)
{
	struct scd__reader r = scd__reader(in, len);

	return coding->decode(shape, &r, bits, NULL);
}

/* Encode, twice; into what it needs, and into one byte less; decode. */
static void check_round_trip(const struct scd__coding *coding,
			     const struct scd__shape *shape,
			     const uint8_t *bits)
{
	static uint8_t first[MAX_BYTES + 8], second[MAX_BYTES + 8];
	static uint8_t back[MAX_BYTES];
	const size_t bytes = (size_t)scd__array_bytes(shape->nbits);
	struct scd__writer w = scd__writer(first, sizeof(first));
	size_t len;

	assert_int_equal(coding->encode(shape, bits, &w, NULL), SCD_OK);
	len = scd__writer_len(&w);
	memset(back, 0xff, bytes);
	assert_int_equal(decode(coding, shape, first, len, back), SCD_OK);
	assert_memory_equal(back, bits, bytes);

	w = scd__writer(second, len + 8);
	assert_int_equal(coding->encode(shape, bits, &w, NULL), SCD_OK);
	assert_int_equal(scd__writer_len(&w), len);
	assert_memory_equal(first, second, len);
	if (len == 0)
		return;
	w = scd__writer(second, len - 1);
	assert_int_equal(coding->encode(shape, bits, &w, NULL), SCD_ESPACE);
	assert_int_equal(scd__writer_len(&w), 0);
}

static void check_size(const struct scd__shape *shape, const uint8_t *bits)
{
	static uint8_t out[MAX_BYTES];
	const size_t bytes = (size_t)scd__array_bytes(shape->nbits);
	struct scd__writer w = scd__writer(out, bytes);
	enum scd_coding id;
	double most;

	assert_int_equal(scd__coder_encode(shape, bits, &w, NULL, &id), SCD_OK);
	most = entropy_bytes(shape) * 1.0002 + 4;
	assert_true((double)scd__writer_len(&w) <= fmax(most, 0));
	assert_true(scd__coding_find(id)->fits(shape, scd__writer_len(&w)));
}

static void for_every_array(void (*check)(const struct scd__shape *shape,
					  const uint8_t *bits))
{
	static uint8_t bits[MAX_BYTES];
	uint64_t seed = 1;

	for (size_t s = 0; s < NSIZES; s++) {
		for (size_t f = 0; f < NFILLS; f++) {
			struct scd__shape shape = {.nbits = sizes[s]};
			int64_t nones =
				fills[f].more +
				(int64_t)(fills[f].share * (double)sizes[s]);

			if (nones < 0 || nones > (int64_t)sizes[s])
				continue;
			shape.nones = (uint64_t)nones;
			random_bits(&seed, bits, shape.nbits, shape.nones);
			check(&shape, bits);
		}
	}
}

static void check_range(const struct scd__shape *shape, const uint8_t *bits)
{
	check_round_trip(&scd__coding_range, shape, bits);
}

static void range_round_trips(void **state)
{
	(void)state;
	for_every_array(check_range);
}

static void check_stored(const struct scd__shape *shape, const uint8_t *bits)
{
	if (shape->nones > 0)
		check_round_trip(scd__coding_find(SCD_CODING_STORED), shape,
				 bits);
}

static void stored_round_trips(void **state)
{
	(void)state;
	for_every_array(check_stored);
}

static void smallest_is_chosen(void **state)
{
	(void)state;
	for_every_array(check_size);
}

/* Cut, a payload is another array's, or none: never the same one. */
static void check_cuts(const struct scd__shape *shape, const uint8_t *bits)
{
	static uint8_t out[MAX_BYTES + 8], back[MAX_BYTES];
	const size_t bytes = (size_t)scd__array_bytes(shape->nbits);
	struct scd__writer w = scd__writer(out, sizeof(out));
	size_t len, step;

	assert_int_equal(scd__coding_range.encode(shape, bits, &w, NULL),
			 SCD_OK);
	len = scd__writer_len(&w);
	step = len / 64 + 1;
	for (size_t cut = 0; cut < len; cut += step) {
		if (decode(&scd__coding_range, shape, out, cut, back))
			continue;
		assert_memory_not_equal(back, bits, bytes);
	}
	out[len] = 0;
	assert_int_equal(decode(&scd__coding_range, shape, out, len + 1, back),
			 SCD_EFORMAT);
}

static void cut_payloads_differ(void **state)
{
	(void)state;
	for_every_array(check_cuts);
}

/* Any bytes at all: an error, or an array of the announced shape. */
static void garbage_is_harmless(void **state)
{
	uint8_t in[64], *bits;
	uint64_t seed = 2;

	(void)state;
	for (int round = 0; round < 20000; round++) {
		struct scd__shape shape = {.nbits = 1};
		size_t len = (size_t)random_below(&seed, sizeof(in));
		size_t bytes;

		shape.nbits += random_below(&seed, 700);
		shape.nones = random_below(&seed, shape.nbits + 1);
		bytes = (size_t)scd__array_bytes(shape.nbits);
		for (size_t i = 0; i < len; i++)
			in[i] = (uint8_t)random_next(&seed);
		bits = malloc(bytes);
		assert_non_null(bits);
		for (unsigned id = 0; scd__coding_find(id); id++) {
			int got = decode(scd__coding_find(id), &shape, in, len,
					 bits);

			assert_true(got == SCD_OK || got == SCD_EFORMAT);
		}
		free(bits);
	}
}

static const struct {
	struct scd__shape shape;
	size_t len;
	uint8_t in[10];
	const char *label;
} bad[] = {
	/* clang-format off */
	{ { 12, 4 }, 2, { 0x0f, 0x10 }, "stored: spare bit set" },
	{ { 12, 5 }, 2, { 0x0f, 0x00 }, "stored: fewer ones than said" },
	{ { 12, 3 }, 2, { 0x0f, 0x00 }, "stored: more ones than said" },
	{ { 12, 4 }, 1, { 0x0f }, "stored: too short" },
	{ { 12, 4 }, 3, { 0x0f, 0, 0 }, "stored: too long" },
	/* clang-format on */
};

static void stored_rules_are_enforced(void **state)
{
	uint8_t back[8];

	(void)state;
	for (size_t i = 0; i < NROWS(bad); i++)
		assert_int_equal(decode(scd__coding_find(SCD_CODING_STORED),
					&bad[i].shape, bad[i].in, bad[i].len,
					back),
				 SCD_EFORMAT);
}

static void range_rules_are_enforced(void **state)
{
	static const uint8_t outside[8] = {255, 255, 255, 255,
					   255, 255, 255, 255};
	static const uint8_t ends_in_zero[2] = {1, 0};
	static const uint8_t long_input[9] = {1, 1, 1, 1, 1, 1, 1, 1, 1};
	const struct scd__shape shape = {100, 7};
	const struct scd__shape tiny = {1, 0};
	uint8_t back[13];

	(void)state;
	assert_int_equal(decode(&scd__coding_range, &shape, outside,
				sizeof(outside), back),
			 SCD_EFORMAT);
	assert_int_equal(decode(&scd__coding_range, &shape, ends_in_zero,
				sizeof(ends_in_zero), back),
			 SCD_EFORMAT);
	assert_int_equal(decode(&scd__coding_range, &tiny, long_input,
				sizeof(long_input), back),
			 SCD_EFORMAT);
}

static const struct {
	struct scd__shape shape;
	uint32_t expected;
} probabilities[] = {
	/* clang-format off */
	{ { 2, 1 }, UINT32_C(1) << 31 },
	{ { 4, 1 }, UINT32_C(1) << 30 },
	{ { 4, 3 }, UINT32_C(1) << 30 },
	{ { 3, 1 }, 0x55555555 },
	{ { 140000, 18632 }, 571598790 },
	{ { 7, 0 }, 1 },
	{ { 7, 7 }, 1 },
	{ { UINT64_C(1) << 40, 1 }, 1 },
	{ { UINT64_C(1) << 40, 1000 }, 3 },
	{ { UINT64_C(1) << 40, (UINT64_C(1) << 40) - 1000 }, 3 },
	/* clang-format on */
};

static void probability_is_exact(void **state)
{
	(void)state;
	for (size_t i = 0; i < NROWS(probabilities); i++)
		assert_int_equal(
			scd__range_probability(&probabilities[i].shape),
			probabilities[i].expected);
}

static void unknown_codings_are_unknown(void **state)
{
	(void)state;
	assert_non_null(scd__coding_find(SCD_CODING_RANGE));
	assert_non_null(scd__coding_find(SCD_CODING_SPARSE));
	assert_null(scd__coding_find(6));
	assert_null(scd__coding_find(255));
}

/*
 * The experiment of "Compressed Bloom Filters": 10^4 keys, 140,000 bits, 2
 * hash functions. Theory: 9903.9 bytes. 300 arrays: the mean's own deviation
 * is 11.35 / sqrt(300) = 0.66 bytes.
 */
static void papers_experiment_meets_theory(void **state)
{
	enum { TRIALS = 300, NBITS = 140000, DRAWS = 20000 };
	static uint8_t bits[NBITS / 8], out[NBITS / 8];
	struct scd__shape shape = {.nbits = NBITS};
	uint64_t seed = 3;
	double sum = 0;

	(void)state;
	for (int t = 0; t < TRIALS; t++) {
		struct scd__writer w = scd__writer(out, sizeof(out));

		memset(bits, 0, sizeof(bits));
		shape.nones = 0;
		for (int i = 0; i < DRAWS; i++) {
			uint64_t at = random_below(&seed, NBITS);

			shape.nones += !(bits[at / 8] >> at % 8 & 1);
			bits[at / 8] |= (uint8_t)(1u << at % 8);
		}
		assert_int_equal(scd__coding_range.encode(&shape, bits, &w,
							  NULL),
				 SCD_OK);
		sum += (double)scd__writer_len(&w);
	}
	print_message("# mean %.2f bytes, theory 9903.9\n", sum / TRIALS);
	assert_true(fabs(sum / TRIALS - 9903.9) < 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(range_round_trips),
		cmocka_unit_test(stored_round_trips),
		cmocka_unit_test(smallest_is_chosen),
		cmocka_unit_test(cut_payloads_differ),
		cmocka_unit_test(garbage_is_harmless),
		cmocka_unit_test(stored_rules_are_enforced),
		cmocka_unit_test(range_rules_are_enforced),
		cmocka_unit_test(probability_is_exact),
		cmocka_unit_test(unknown_codings_are_unknown),
		cmocka_unit_test(papers_experiment_meets_theory),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
