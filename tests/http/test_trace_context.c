/*
 * traceparent: which are valid, and which traces are in a sample.
 */
#include <string.h>

#include "digestd/http/trace_context.h"
#include "tests/unit.h"

#define TRACE "0af7651916cd43dd8448eb211c80319c"
#define ZEROS "00000000000000000000000000000000"
#define PARENT "b7ad6b7169203331"

/* clang-format off */
static const struct {
	const char *label, *value;
	bool valid;
} rows[] = {
	{ "of version 0", "00-" TRACE "-" PARENT "-01", true },
	{ "of version 1, and longer", "01-" TRACE "-" PARENT "-01-what", true },
	{ "of version 1, as long", "01-" TRACE "-" PARENT "-01", true },
	{ "of version 1, and glued", "01-" TRACE "-" PARENT "-01what", false },
	{ "of version 0, and longer", "00-" TRACE "-" PARENT "-01-what", false },
	{ "of version 255", "ff-" TRACE "-" PARENT "-01", false },
	{ "no trace", "00-" ZEROS "-" PARENT "-01", false },
	{ "no parent", "00-" TRACE "-0000000000000000-01", false },
	{ "in capitals", "00-0AF7651916CD43DD8448EB211C80319C-" PARENT "-01", false },
	{ "no number", "00-" TRACE "-" PARENT "-0x", false },
	{ "no dash", "00-" TRACE "+" PARENT "-01", false },
	{ "short", "00-" TRACE "-" PARENT "-1", false },
	{ "empty", "", false },
};
/* clang-format on */

static void test_valid(void **state)
{
	char id[TRACE_ID_BYTES];

	(void)state;
	for (size_t i = 0; i < NROWS(rows); i++) {
		memset(id, 'x', sizeof(id));
		if (trace_context_read(rows[i].value, id) != rows[i].valid)
			fail_msg("%s", rows[i].label);
		assert_string_equal(id, rows[i].valid ? TRACE : "");
	}
}

/* At each length. */
static void test_cut(void **state)
{
	static const char whole[] = "00-" TRACE "-" PARENT "-01";
	char text[sizeof(whole)], id[TRACE_ID_BYTES];

	(void)state;
	for (size_t n = 0; n < sizeof(whole) - 1; n++) {
		memcpy(text, whole, n);
		text[n] = '\0';
		assert_false(trace_context_read(text, id));
	}
}

static void test_sample(void **state)
{
	(void)state;
	assert_true(trace_context_is_sampled(TRACE, 1));
	assert_true(trace_context_is_sampled(
		"ffffffffffffffffff3fffffffffffff", 4));
	assert_false(trace_context_is_sampled(
		"00000000000000000040000000000000", 4));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_valid),
		cmocka_unit_test(test_cut),
		cmocka_unit_test(test_sample),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
