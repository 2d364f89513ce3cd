/*
 * Golomb-coded sets, against a plain array of flags.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "codec/error.h"
#include "codec/kind/golomb.h"
#include "tests/codec/random.h"
#include "tests/unit.h"

enum { BOUND = 20000 };

/* One number in `every` at random; 1: all. */
static uint64_t draw(uint8_t *flags, uint64_t *numbers, uint64_t every,
		     uint64_t *seed)
{
	uint64_t count = 0;

	for (uint64_t i = 0; i < BOUND; i++) {
		flags[i] = random_below(seed, every) == 0;
		if (flags[i])
			numbers[count++] = i;
	}
	return count;
}

static void like_a_plain_array(void **state)
{
	static const uint64_t everies[] = {1, 2, 3, 50, 1000, 5000, 1 << 20};
	static uint8_t flags[BOUND];
	static uint64_t numbers[BOUND];
	uint64_t seed = 1;

	(void)state;
	for (size_t i = 0; i < NROWS(everies); i++) {
		uint64_t count = draw(flags, numbers, everies[i], &seed);
		struct scd__golomb g, back;

		assert_int_equal(scd__golomb_make(numbers, count, BOUND, &g),
				 SCD_OK);
		back = g;
		assert_int_equal(scd__golomb_load(&back, g.code, g.len),
				 SCD_OK);
		for (uint64_t n = 0; n < BOUND; n++) {
			assert_int_equal(scd__golomb_has(&g, n), flags[n]);
			assert_int_equal(scd__golomb_has(&back, n), flags[n]);
		}
		assert_false(scd__golomb_has(&g, BOUND + 1));
		scd__golomb_free(&g);
		scd__golomb_free(&back);
	}
}

static void ends_of_the_range(void **state)
{
	const uint64_t numbers[] = {0, 1, SCD__GOLOMB_MAX_BOUND - 1};
	struct scd__golomb g, back;

	(void)state;
	for (uint64_t count = 0; count <= NROWS(numbers); count++) {
		assert_int_equal(scd__golomb_make(numbers, count,
						  SCD__GOLOMB_MAX_BOUND, &g),
				 SCD_OK);
		back = g;
		assert_int_equal(scd__golomb_load(&back, g.code, g.len),
				 SCD_OK);
		for (uint64_t i = 0; i < NROWS(numbers); i++)
			assert_int_equal(scd__golomb_has(&back, numbers[i]),
					 i < count);
		assert_false(scd__golomb_has(&back, 2));
		scd__golomb_free(&g);
		scd__golomb_free(&back);
	}
}

/* The code is as short as it is predicted for numbers at random. */
static void length_is_as_predicted(void **state)
{
	static const double densities[] = {.3, .02, .01, .001};
	static uint64_t numbers[10000];

	(void)state;
	for (size_t i = 0; i < NROWS(densities); i++) {
		struct scd__golomb g;
		uint64_t count = 0, seed = i, at = 0;
		double bits, predicted = scd__golomb_bits(densities[i]);

		while (count < NROWS(numbers)) {
			if (random_below(&seed, 1000000) <
			    (uint64_t)(densities[i] * 1e6))
				numbers[count++] = at;
			at++;
		}
		assert_int_equal(scd__golomb_make(numbers, count, at, &g),
				 SCD_OK);
		bits = 8.0 * (double)g.len / (double)count;
		assert_true(fabs(bits - predicted) < .05);
		scd__golomb_free(&g);
	}
}

/* Bits in hexadecimal, what is said of them, and whether they may be that. */
static const struct {
	const char *label;
	uint64_t bound, count;
	unsigned rice;
	size_t len;
	uint8_t code[32];
	int expected;
} loads[] = {
	/* clang-format off */
	{"nothing", 5, 0, 0, 0, {0}, SCD_OK},
	{"a byte too many", 5, 0, 0, 1, {0}, SCD_EFORMAT},
	{"0 and 1", 5, 2, 0, 1, {3}, SCD_OK},
	{"all that there are", 2, 2, 0, 1, {3}, SCD_OK},
	{"more than there are", 1, 2, 0, 1, {3}, SCD_EFORMAT},
	{"one is missing", 5, 3, 0, 1, {3}, SCD_EFORMAT},
	{"one is left", 5, 1, 0, 1, {3}, SCD_EFORMAT},
	{"the last bit", 8, 1, 0, 1, {0x80}, SCD_OK},
	{"the last bit, out of bounds", 7, 1, 0, 1, {0x80}, SCD_EFORMAT},
	{"low bits", 8, 1, 2, 1, {0x07}, SCD_OK}, /* 3 */
	{"low bits, out of bounds", 3, 1, 2, 1, {0x07}, SCD_EFORMAT},
	{"low bits are cut", 99, 1, 2, 1, {0x40}, SCD_EFORMAT},
	{"200 zeros", 201, 1, 0, 26, {[25] = 1}, SCD_OK},
	{"200 zeros, out of bounds", 200, 1, 0, 26, {[25] = 1}, SCD_EFORMAT},
	{"zeros only", 1000, 1, 0, 26, {0}, SCD_EFORMAT},
	{"a gap beyond 64 bits", SCD__GOLOMB_MAX_BOUND, 1, 56, 24,
	 {[16] = 1}, SCD_EFORMAT},
	{"a parameter too large", 5, 1, 57, 16, {1}, SCD_EFORMAT},
	{"a count beyond the bits", SCD__GOLOMB_MAX_BOUND, UINT64_C(1) << 60,
	 0, 8, {255, 255, 255, 255, 255, 255, 255, 255}, SCD_EFORMAT},
	/* clang-format on */
};

static void codes_are_checked(void **state)
{
	(void)state;
	for (size_t i = 0; i < NROWS(loads); i++) {
		struct scd__golomb g = {
			.bound = loads[i].bound,
			.count = loads[i].count,
			.rice = loads[i].rice,
		};
		/* a copy of just that size, for the sanitizer */
		uint8_t *copy = malloc(loads[i].len ? loads[i].len : 1);
		int error;

		assert_non_null(copy);
		memcpy(copy, loads[i].code, loads[i].len);
		error = scd__golomb_load(&g, copy, loads[i].len);
		if (error != loads[i].expected)
			fail_msg("%s: %s", loads[i].label, scd_strerror(error));
		if (!error)
			scd__golomb_free(&g);
		free(copy);
	}
}

static void any_bytes_do_no_harm(void **state)
{
	uint64_t seed = 3, accepted = 0;

	(void)state;
	for (int round = 0; round < 20000; round++) {
		uint8_t bytes[16];
		struct scd__golomb g = {
			.bound = random_next(&seed) >>
				 (2 + random_below(&seed, 60)),
			.count = random_below(&seed, 40),
			.rice = (unsigned)random_below(&seed, 8),
		};

		for (size_t i = 0; i < sizeof(bytes); i++)
			bytes[i] = (uint8_t)random_next(&seed);
		bytes[15] &= (uint8_t)random_next(&seed);
		g.bound += !g.bound;
		if (scd__golomb_load(&g, bytes, sizeof(bytes)))
			continue;
		accepted++;
		for (uint64_t n = 0; n < 50; n++)
			scd__golomb_has(&g, random_below(&seed, g.bound));
		scd__golomb_free(&g);
	}
	assert_true(accepted > 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(like_a_plain_array),
		cmocka_unit_test(ends_of_the_range),
		cmocka_unit_test(length_is_as_predicted),
		cmocka_unit_test(codes_are_checked),
		cmocka_unit_test(any_bytes_do_no_harm),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
