/*
 * The codings of gaps: by one coder, and by many with every engine that this
 * processor has, against the array itself; sizes against the entropy; damaged
 * input.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "codec/coder/bits.h"
#include "codec/error.h"
#include "codec/coder/gaps.h"
#include "codec/coder/sparse.h"
#include "tests/codec/random.h"
#include "tests/rounds.h"
#include "tests/unit.h"

/* nones places at random; twice the same is one. */
static uint8_t *draw(uint64_t seed, struct scd__shape *shape)
{
	const size_t len = (size_t)scd__array_bytes(shape->nbits);
	uint8_t *bits = calloc(1, len);

	assert_non_null(bits);
	for (uint64_t i = 0; i < shape->nones; i++) {
		uint64_t at = random_below(&seed, shape->nbits);

		bits[at / 8] |= (uint8_t)(1u << at % 8);
	}
	shape->nones = scd__count_ones(bits, len);
	return bits;
}

static int decode_by(const struct scd__sparse_engine *engine,
		     const struct scd__shape *shape, const uint8_t *code,
		     size_t len, uint8_t *bits)
{
	struct scd__reader r = scd__reader(code, len);

	if (!engine)
		return scd__coding_gaps.decode(shape, &r, bits, NULL);
	return scd__sparse_decode(engine, shape, &r, bits, NULL);
}

/* Returns the length of the code, which the caller frees. */
static size_t encode(const struct scd__coding *coding,
		     const struct scd__shape *shape, const uint8_t *bits,
		     uint8_t **code)
{
	const size_t cap = 2 * (size_t)scd__array_bytes(shape->nbits) + 4096;
	struct scd__writer w;

	*code = malloc(cap);
	assert_non_null(*code);
	w = scd__writer(*code, cap);
	assert_int_equal(coding->encode(shape, bits, &w, NULL), SCD_OK);
	return scd__writer_len(&w);
}

static void check_decoder(const struct scd__sparse_engine *engine,
			  const struct scd__shape *shape, const uint8_t *bits,
			  const uint8_t *code, size_t code_len)
{
	const size_t len = (size_t)scd__array_bytes(shape->nbits);
	uint8_t *back = malloc(len), *exact = malloc(code_len);

	assert_non_null(back);
	assert_non_null(exact);
	memset(back, 0xaa, len);
	memcpy(exact, code, code_len); /* so that a byte too far is found */
	assert_int_equal(decode_by(engine, shape, exact, code_len, back),
			 SCD_OK);
	if (memcmp(back, bits, len) != 0) /* says where, and is slow */
		assert_memory_equal(back, bits, len);
	free(back);
	free(exact);
}

static void check_array(struct scd__shape shape, uint64_t seed)
{
	uint8_t *bits = draw(seed, &shape), *code;
	size_t len;

	if (scd__gap_suits(&shape)) {
		len = encode(&scd__coding_gaps, &shape, bits, &code);
		check_decoder(NULL, &shape, bits, code, len);
		free(code);
		len = encode(&scd__coding_sparse, &shape, bits, &code);
		for (size_t i = 0; i < scd__sparse_nengines; i++) {
			if (scd__sparse_engines[i]->available())
				check_decoder(scd__sparse_engines[i], &shape,
					      bits, code, len);
		}
		free(code);
	}
	free(bits);
}

static void small_arrays_come_back(void **state)
{
	const int n = rounds_of(4000, 100000);
	uint64_t seed = 1;

	(void)state;
	for (int i = 0; i < n; i++) {
		struct scd__shape shape = {
			.nbits = 32 + random_below(&seed, 100000)};

		shape.nones = 1 + random_below(&seed, shape.nbits / 32);
		shape.nones >>= random_below(&seed, 10);
		shape.nones += !shape.nones;
		check_array(shape, random_next(&seed));
	}
}

static const struct scd__shape large[] = {
	{ 8 * 300000 + 5, 60000 },   /* 16 lanes */
	{ 8 * 700000, 130000 },      /* 32 */
	{ 8 * 2000001 + 1, 480000 }, /* 64 */
	{ UINT64_C(1) << 31, 40000 }, /* low_bits 11, and a long way between */
};

static void large_arrays_come_back(void **state)
{
	(void)state;
	for (size_t i = 0; i < NROWS(large); i++)
		check_array(large[i], i);
}

/* Ones that are not spread out: gaps of zero, and gaps of many escapes. */
static void clusters_come_back(void **state)
{
	struct scd__shape shape = {.nbits = 400000};
	uint8_t *bits = calloc(1, 50000), *code;
	size_t len;

	(void)state;
	assert_non_null(bits);
	memset(bits + 123, 0xff, 400);
	bits[49999] = 0x80;
	shape.nones = 400 * 8 + 1;
	len = encode(&scd__coding_gaps, &shape, bits, &code);
	check_decoder(NULL, &shape, bits, code, len);
	free(code);
	len = encode(&scd__coding_sparse, &shape, bits, &code);
	for (size_t i = 0; i < scd__sparse_nengines; i++) {
		if (scd__sparse_engines[i]->available())
			check_decoder(scd__sparse_engines[i], &shape, bits,
				      code, len);
	}
	free(code);
	free(bits);
}

static const struct {
	const struct scd__coding *coding;
	struct scd__shape shape;
	double share, bytes; /* of the entropy, and beside it: at most */
} sizes[] = {
	/* clang-format off */
	{ &scd__coding_gaps, { 80000, 1 }, 1, 4 },
	{ &scd__coding_gaps, { 80000, 2500 }, 1.0002, 4 },
	{ &scd__coding_gaps, { 12000000, 2000 }, 1.0002, 4 },
	{ &scd__coding_gaps, { 12000000, 30000 }, 1.0002, 4 },
	/* delta, (m/n 12, k 3), 1 % of 10^6 objects */
	{ &scd__coding_sparse, { 12000000, 46600 }, 1.0015, 0 },
	/* full, (m/n 46, k 1), 10^6 objects */
	{ &scd__coding_sparse, { 46000000, 1000000 }, 1.0005, 0 },
	/* clang-format on */
};

static void sizes_are_near_the_entropy(void **state)
{
	(void)state;
	for (size_t i = 0; i < NROWS(sizes); i++) {
		struct scd__shape shape = sizes[i].shape;
		uint8_t *bits = draw(i, &shape), *code;
		size_t len = encode(sizes[i].coding, &shape, bits, &code);

		assert_true((double)len <= scd__coder_entropy(&shape) *
							   sizes[i].share +
						   sizes[i].bytes);
		free(code);
		free(bits);
	}
}

/*
 * Cut, or with a byte changed: refused, or an array, but never a fault. A lone
 * coder, which has no state to end with but 0, may take what is cut for
 * another array.
 */
static void check_damage(const struct scd__coding *coding,
			 const struct scd__sparse_engine *engine)
{
	const int n = rounds_of(2000, 100000);
	struct scd__shape shape = {.nbits = 8 * 6000 - 3, .nones = 1400};
	uint8_t *bits = draw(7, &shape), *code, *bad, *back;
	size_t len = encode(coding, &shape, bits, &code);
	uint64_t seed = 5;

	bad = malloc(len);
	back = malloc(6000);
	assert_non_null(bad);
	assert_non_null(back);
	for (size_t cut = 0; cut < len; cut++) {
		int error = decode_by(engine, &shape, code, cut, back);

		if (!error && !engine)
			assert_memory_not_equal(back, bits, 6000);
		else
			assert_int_equal(error, SCD_EFORMAT);
	}
	for (int i = 0; i < n; i++) {
		memcpy(bad, code, len);
		bad[random_below(&seed, len)] = (uint8_t)random_next(&seed);
		if (decode_by(engine, &shape, bad, len, back))
			continue;
		assert_int_equal(back[5999] >> 5, 0);
	}
	free(bad);
	free(back);
	free(code);
	free(bits);
}

static void damage_is_harmless(void **state)
{
	(void)state;
	check_damage(&scd__coding_gaps, NULL);
	for (size_t i = 0; i < scd__sparse_nengines; i++) {
		if (scd__sparse_engines[i]->available())
			check_damage(&scd__coding_sparse,
				     scd__sparse_engines[i]);
	}
}

/* For any share of ones: frequencies that fill the scale, none of them 0. */
static void every_share_has_a_model(void **state)
{
	(void)state;
	for (unsigned log = 6; log <= 40; log++) {
		for (uint64_t ones = 1; ones <= (UINT64_C(1) << log) / 32;
		     ones += ones / 3 + 1) {
			struct scd__shape shape = {UINT64_C(1) << log, ones};
			struct scd__gap_model m;
			unsigned sum = 0;

			scd__gap_model(&shape, &m);
			assert_in_range(m.nsyms, 4, SCD__GAP_MAX_SYMS);
			assert_in_range(m.low_bits, 1, 36);
			for (unsigned i = 0; i <= m.nsyms; i++) {
				assert_in_range(m.freq[i], 1, 1000);
				assert_int_equal(m.start[i], sum);
				sum += m.freq[i];
			}
			assert_int_equal(sum, SCD__GAP_SCALE);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(small_arrays_come_back),
		cmocka_unit_test(large_arrays_come_back),
		cmocka_unit_test(clusters_come_back),
		cmocka_unit_test(sizes_are_near_the_entropy),
		cmocka_unit_test(damage_is_harmless),
		cmocka_unit_test(every_share_has_a_model),
	};

	for (size_t i = 0; i < scd__sparse_nengines; i++)
		print_message("# %s: %s\n", scd__sparse_engines[i]->name,
			      scd__sparse_engines[i]->available()
				      ? "tested"
				      : "this processor has it not");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
