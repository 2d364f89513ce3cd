/*
 * Request tokens: which fields have one that is taken.
 */
#include <stdio.h>

#include "digestd/peers/token.h"
#include "tests/unit.h"

static const struct {
	const char *value, *token;
	bool matches;
} rows[] = {
	{ "Bearer abc", "abc", true },
	{ "bearer abc", "abc", true },
	{ "Bearer  abc", "abc", false },
	{ "Bearer abd", "abc", false },
	{ "Bearer bbc", "abc", false },
	{ "Bearer ab", "abc", false },
	{ "Bearer abcd", "abc", false },
	{ "Bearer ABC", "abc", false },
	{ "Bearer ", "", false }, /* no token is no door */
	{ "Bearer abc", "", false },
	{ "Basic abc", "abc", false },
	{ "abc", "abc", false },
	{ "", "abc", false },
	{ NULL, "abc", false },
};

static void test_tokens(void **state)
{
	(void)state;
	for (size_t i = 0; i < NROWS(rows); i++) {
		struct tokens tokens = { .n = 1 };

		snprintf(tokens.at[0], TOKEN_BYTES, "%s", rows[i].token);
		if (tokens_match(&tokens, rows[i].value) != rows[i].matches)
			fail_msg("\"%s\" for \"%s\"",
				 rows[i].value ? rows[i].value : "(none)",
				 rows[i].token);
	}
}

/* While a cluster changes over. */
static void test_several(void **state)
{
	const struct tokens both = { { "abc", "defg" }, 2 };
	const struct tokens none = { .n = 0 };

	(void)state;
	assert_true(tokens_match(&both, "Bearer abc"));
	assert_true(tokens_match(&both, "Bearer defg"));
	assert_false(tokens_match(&both, "Bearer abcd"));
	assert_false(tokens_match(&both, NULL));
	assert_false(tokens_match(&none, "Bearer "));
	assert_false(tokens_match(&none, "Bearer abc"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_tokens),
		cmocka_unit_test(test_several),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
