/*
 * Every error code has a text of its own.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "codec/error.h"

static void texts_are_distinct(void **state)
{
	(void)state;
	for (int a = SCD_EURI; a <= SCD_OK; a++) {
		assert_string_not_equal(scd_strerror(a), "unknown error");
		for (int b = SCD_EURI; b < a; b++)
			assert_string_not_equal(scd_strerror(a),
						scd_strerror(b));
	}
}

static void unknown_codes_have_a_text(void **state)
{
	(void)state;
	assert_string_equal(scd_strerror(1), "unknown error");
	assert_string_equal(scd_strerror(SCD_EURI - 1), "unknown error");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(texts_are_distinct),
		cmocka_unit_test(unknown_codes_have_a_text),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
