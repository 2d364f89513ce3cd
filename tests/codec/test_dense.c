/*
 * The dense coding: every engine that this processor has against the portable
 * one (the same bytes from all, read by all), and that one against the array
 * itself; sizes against the entropy; damaged input.
 */
#include <stdlib.h>
#include <string.h>

#include "codec/coder/bits.h"
#include "codec/coder/dense.h"
#include "codec/error.h"
#include "tests/codec/random.h"
#include "tests/rounds.h"
#include "tests/unit.h"

enum { CHUNK = 16 << 20, SEED = 77 };

/* An array, and its code by the portable engine. */
struct sample {
	struct scd__shape shape;
	uint8_t *bits;
	uint8_t *code;
	size_t code_len;
};

static size_t array_len(const struct sample *s)
{
	return (size_t)scd__array_bytes(s->shape.nbits);
}

/* A byte whose bits are set with probability share / 2^16 each. */
static uint8_t draw_byte(uint64_t *seed, unsigned share)
{
	unsigned byte = 0;

	for (unsigned i = 0; i < 8; i += 4) {
		uint64_t r = random_next(seed);

		for (unsigned j = i; j < i + 4; j++, r >>= 16)
			byte |= (unsigned)((r & 0xffff) < share) << j;
	}
	return (uint8_t)byte;
}

/* Bits of that probability, which repeat themselves after a prime number of
 * bytes: bytes are coded each for itself. */
static void draw(struct sample *s, uint64_t seed, uint64_t nbits,
		 unsigned share)
{
	enum { PERIOD = 1000003 };
	const size_t len = (size_t)scd__array_bytes(nbits);

	s->bits = malloc(len);
	assert_non_null(s->bits);
	for (size_t i = 0; i < len && i < PERIOD; i++)
		s->bits[i] = draw_byte(&seed, share);
	for (size_t i = PERIOD; i < len; i += PERIOD)
		memcpy(s->bits + i, s->bits,
		       len - i < PERIOD ? len - i : PERIOD);
	if (nbits % 8)
		s->bits[len - 1] &= (uint8_t)((1u << nbits % 8) - 1);
	s->shape.nbits = nbits;
	s->shape.nones = scd__count_ones(s->bits, len);
}

static int encode(const struct scd__dense_engine *engine,
		  const struct sample *s, uint8_t *code, size_t cap,
		  size_t *len)
{
	struct scd__writer w = scd__writer(code, cap);
	int error = scd__dense_encode(engine, &s->shape, s->bits, &w, NULL);

	*len = scd__writer_len(&w);
	return error;
}

static int decode(const struct scd__dense_engine *engine,
		  const struct sample *s, const uint8_t *code, size_t len,
		  uint8_t *bits)
{
	struct scd__reader r = scd__reader(code, len);

	return scd__dense_decode(engine, &s->shape, &r, bits, NULL);
}

static void make(struct sample *s, uint64_t seed, uint64_t nbits,
		 unsigned share)
{
	size_t cap;

	draw(s, seed, nbits, share);
	cap = 2 * array_len(s) + 4096;
	s->code = malloc(cap);
	assert_non_null(s->code);
	assert_int_equal(encode(&scd__dense_portable, s, s->code, cap,
				&s->code_len),
			 SCD_OK);
}

static void release(struct sample *s)
{
	free(s->bits);
	free(s->code);
}

/* While it decodes, an engine adds up the same as after it. */
static void check_sum(const struct scd__dense_engine *engine,
		      const struct sample *s, uint8_t *bits)
{
	struct scd__reader r = scd__reader(s->code, s->code_len);
	struct scd__checksum during, after;
	const struct scd__coder_work work = {.sum = &during};
	uint64_t checksum;

	memset(bits, 0x55, array_len(s));
	scd__checksum_begin(&during, bits, SEED);
	assert_int_equal(scd__dense_decode(engine, &s->shape, &r, bits,
					   &work),
			 SCD_OK);
	assert_memory_equal(bits, s->bits, array_len(s));
	scd__checksum_begin(&after, bits, SEED);
	checksum = scd__checksum_finish(&after, bits + array_len(s));
	assert_true(scd__checksum_finish(&during, bits + array_len(s)) ==
		    checksum);
	assert_int_equal(during.ones, s->shape.nones);
}

/* One engine: the same code in as much room as it needs, and the array. */
static void check_engine(const struct scd__dense_engine *engine,
			 const struct sample *s)
{
	uint8_t *code = malloc(s->code_len + 1);
	uint8_t *bits = malloc(array_len(s));
	size_t len;

	assert_non_null(code);
	assert_non_null(bits);
	assert_int_equal(encode(engine, s, code, s->code_len, &len), SCD_OK);
	assert_int_equal(len, s->code_len);
	assert_memory_equal(code, s->code, len);
	memset(bits, 0x55, array_len(s));
	assert_int_equal(decode(engine, s, s->code, s->code_len, bits),
			 SCD_OK);
	assert_memory_equal(bits, s->bits, array_len(s));
	check_sum(engine, s, bits);
	assert_int_equal(encode(engine, s, code, s->code_len - 1, &len),
			 SCD_ESPACE);
	free(code);
	free(bits);
}

static void check_engines(const struct sample *s)
{
	for (size_t i = 0; i < scd__dense_nengines; i++) {
		if (scd__dense_engines[i]->available())
			check_engine(scd__dense_engines[i], s);
	}
}

/* Small arrays, of 4 lanes, of every fill and length. */
static void engines_agree_on_small(void **state)
{
	const int n = rounds_of(1500, 100000);
	uint64_t seed = 1;

	(void)state;
	for (int i = 0; i < n; i++) {
		struct sample s;

		make(&s, random_next(&seed), 1 + random_below(&seed, 12000),
		     (unsigned)random_below(&seed, 65537));
		check_engines(&s);
		release(&s);
	}
}

static const struct {
	const char *label;
	uint64_t nbits;
	unsigned share;
} large[] = {
	/* clang-format off */
	{ "8 lanes", 8 * 40000 + 3, 8722 },
	{ "16 lanes", 8 * 70000 + 3, 8722 },
	{ "32 lanes", 8 * 100000 + 3, 8722 },
	{ "64 lanes", 8 * 200000 + 1, 8722 },
	{ "64 lanes, whole rounds", 8 * 64 * 4000, 20000 },
	{ "128 lanes", 8 * 700001 + 7, 8722 },
	{ "128 lanes, 2 classes", 8 * 700000, 2 },
	{ "128 lanes, 4 classes", 8 * 700000, 1200 },
	{ "128 lanes, 5 classes", 8 * 700000, 3000 },
	{ "128 lanes, 6 classes", 8 * 700000, 6000 },
	{ "128 lanes, 8 classes", 8 * 700000, 26000 },
	{ "all ones", 8 * 700000, 65536 },
	{ "two chunks, the last of a byte", 8 * CHUNK + 5, 13000 },
	/* clang-format on */
};

static void engines_agree_on_large(void **state)
{
	(void)state;
	for (size_t i = 0; i < NROWS(large); i++) {
		struct sample s;

		make(&s, i, large[i].nbits, large[i].share);
		check_engines(&s);
		release(&s);
	}
}

/* p in 2^-16, and how much more than the entropy is allowed. */
static const struct {
	size_t len;
	unsigned share;
	double most;
} sizes[] = {
	/* clang-format off */
	{ 2000000, 3277, 1.0015 },
	{ 2000000, 5000, 1.0015 },
	{ 1750000, 8722, 1.001 },  /* m/n 14, k 2 */
	{ 2000000, 14417, 1.001 }, /* 0.22 */
	{ 2000000, 20000, 1.001 },
	{ 2000000, 26000, 1.001 },
	{ 100000, 8722, 1.003 },
	{ 33000, 8722, 1.0035 },
	/* clang-format on */
};

static void sizes_are_near_the_entropy(void **state)
{
	(void)state;
	for (size_t i = 0; i < NROWS(sizes); i++) {
		struct sample s;
		double share;

		make(&s, i, 8 * sizes[i].len, sizes[i].share);
		share = (double)s.code_len / scd__coder_entropy(&s.shape);
		assert_true(share < sizes[i].most);
		release(&s);
	}
}

/* Cut, or with a byte changed: refused, or an array, but never a fault. */
static void damage_is_harmless(void **state)
{
	const int n = rounds_of(1000, 100000);
	uint64_t seed = 5;
	struct sample s;
	uint8_t *code, *bits;

	(void)state;
	make(&s, 3, 8 * 3001 - 2, 8722);
	code = malloc(s.code_len);
	bits = malloc(array_len(&s));
	assert_non_null(code);
	assert_non_null(bits);
	for (size_t e = 0; e < scd__dense_nengines; e++) {
		const struct scd__dense_engine *engine = scd__dense_engines[e];

		if (!engine->available())
			continue;
		for (size_t len = 0; len < s.code_len; len++)
			assert_int_equal(decode(engine, &s, s.code, len, bits),
					 SCD_EFORMAT);
		for (int i = 0; i < n; i++) {
			memcpy(code, s.code, s.code_len);
			code[random_below(&seed, s.code_len)] =
				(uint8_t)random_next(&seed);
			if (decode(engine, &s, code, s.code_len, bits))
				continue;
			assert_int_equal(bits[array_len(&s) - 1] >> 6, 0);
		}
	}
	free(code);
	free(bits);
	release(&s);
}

/* Every place of every field that a decoder must refuse. */
static void rules_are_enforced(void **state)
{
	static const struct {
		size_t at;
		uint8_t value;
		const char *label;
	} bad[] = {
		{0, 15, "chunk_log"},
		{0, 31, "chunk_log"},
		{1, 0, "size of a chunk"},
		{5, 1, "lanes_log"},
		{5, 8, "lanes_log"},
		{6, 1, "nclasses"},
		{6, 9, "nclasses"},
		{8, 0x40, "a class takes all"},
	};
	struct sample s;
	uint8_t *bits;

	(void)state;
	make(&s, 3, 8 * 3000, 8722);
	bits = malloc(array_len(&s));
	assert_non_null(bits);
	for (size_t i = 0; i < NROWS(bad); i++) {
		uint8_t was = s.code[bad[i].at];

		s.code[bad[i].at] = bad[i].value;
		assert_int_equal(decode(&scd__dense_portable, &s, s.code,
					s.code_len, bits),
				 SCD_EFORMAT);
		s.code[bad[i].at] = was;
	}
	free(bits);
	release(&s);
}

/* x / freq, by multiplication, for every x there can be. */
static void check_division(const struct scd__dense_model *m, unsigned c)
{
	for (int x = 0; x < SCD__DENSE_SCALE; x++)
		assert_int_equal((-x * m->inverse[c] + (1 << 14)) >> 15 >>
					 m->shift[c],
				 x / m->freq[c]);
}

static void division_is_exact(void **state)
{
	struct scd__dense_model m = {.nclasses = 3};

	(void)state;
	for (uint32_t freq = 1; freq < SCD__DENSE_SCALE / 8; freq++) {
		m.freq[1] = (uint16_t)freq;
		m.freq[2] = 1;
		assert_int_equal(scd__dense_finish(&m),
				 8 * freq + 1 < SCD__DENSE_SCALE
					 ? SCD_OK
					 : SCD_EFORMAT);
		if (8 * freq + 1 >= SCD__DENSE_SCALE)
			continue;
		check_division(&m, 0);
		check_division(&m, 1);
	}
}

/* Any histogram at all has a model, and none costs more than 8 bits a byte. */
static void every_histogram_has_a_model(void **state)
{
	uint64_t seed = 9;

	(void)state;
	for (int i = rounds_of(1000, 100000); i > 0; i--) {
		uint64_t hist[SCD__DENSE_COUNTS], total = 0, cost;
		struct scd__dense_model m;

		for (unsigned c = 0; c < SCD__DENSE_COUNTS; c++) {
			hist[c] = random_next(&seed) >>
				  (40 + random_below(&seed, 24));
			total += hist[c];
		}
		if (total == 0)
			hist[random_below(&seed, 9)] = 1;
		scd__dense_fit(hist, &m, &cost);
		assert_int_equal(scd__dense_finish(&m), SCD_OK);
		assert_true((double)cost / (1 << 24) <
			    8.01 * (double)(total + 1));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(engines_agree_on_small),
		cmocka_unit_test(engines_agree_on_large),
		cmocka_unit_test(sizes_are_near_the_entropy),
		cmocka_unit_test(damage_is_harmless),
		cmocka_unit_test(rules_are_enforced),
		cmocka_unit_test(division_is_exact),
		cmocka_unit_test(every_histogram_has_a_model),
	};

	for (size_t i = 0; i < scd__dense_nengines; i++)
		print_message("# %s: %s\n", scd__dense_engines[i]->name,
			      scd__dense_engines[i]->available()
				      ? "tested"
				      : "this processor has it not");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
