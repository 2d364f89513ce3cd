/*
 * Numbers as text, beside printf()'s.
 */
#include <inttypes.h>
#include <stdio.h>

#include "digestd/http/decimal.h"
#include "digestd/http/hexdigit.h"
#include "tests/codec/random.h"
#include "tests/unit.h"

static void check(int64_t number)
{
	char expected[32], text[DECIMAL_BYTES];
	int len = snprintf(expected, sizeof(expected), "%" PRId64, number);

	assert_int_equal(decimal_write(number, text), len);
	assert_string_equal(text, expected);
}

static void test_limits(void **state)
{
	static const int64_t rows[] = { 0, 9, 10, -1, INT64_MAX, INT64_MIN };

	(void)state;
	for (size_t i = 0; i < NROWS(rows); i++)
		check(rows[i]);
}

static void check_size(uint64_t number)
{
	char expected[32], text[DECIMAL_BYTES];
	int len = snprintf(expected, sizeof(expected), "%" PRIu64, number);

	assert_int_equal(decimal_write_size(number, text), len);
	assert_string_equal(text, expected);
}

/* Twenty digits are those of no int64_t. */
static void test_without_a_sign(void **state)
{
	uint64_t power = 1;

	(void)state;
	check_size(0);
	check_size(UINT64_MAX);
	for (unsigned digits = 1; digits <= 20; digits++, power *= 10) {
		check_size(power - 1);
		check_size(power);
	}
}

/* Of every length, and either sign. */
static void test_any(void **state)
{
	uint64_t random = 1;

	(void)state;
	for (unsigned i = 0; i < 10000; i++) {
		int64_t number = (int64_t)(random_next(&random) >> i % 64);

		check(number);
		check(-number);
	}
}

static void hexadecimal_digits(void **state)
{
	uint64_t random = 1;

	(void)state;
	for (unsigned i = 0; i < 1000; i++) {
		uint64_t number = random_next(&random) >> i % 64;
		char expected[32], text[HEXDIGIT_64 + 1];

		snprintf(expected, sizeof(expected), "%016" PRIx64, number);
		*hexdigit_write(number, text) = '\0';
		assert_string_equal(text, expected);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_limits),
		cmocka_unit_test(test_without_a_sign),
		cmocka_unit_test(test_any),
		cmocka_unit_test(hexadecimal_digits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
