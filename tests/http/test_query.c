/*
 * Queries of which only some arguments count.
 */
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "digestd/http/query.h"
#include "tests/codec/alloc.h"
#include "tests/codec/random.h"
#include "tests/unit.h"

static const struct {
	struct query_rules rules;
	const char *uri, *wanted;
} rows[] = {
	{ { NULL, "a", true }, "http://h/", "http://h/" },
	{ { NULL, NULL, false }, "http://h/?b&a", "http://h/?b&a" },
	{ { NULL, "a", false }, "http://h/?a=1", "http://h/" },
	{ { NULL, "a", false }, "http://h/?a", "http://h/" },
	{ { NULL, "a", false }, "http://h/?", "http://h/?" },
	{ { NULL, "a", false }, "http://h/?b=1&a=2&c=3", "http://h/?b=1&c=3" },
	{ { NULL, "a", false }, "http://h/?ab=1&A=2", "http://h/?ab=1&A=2" },
	{ { NULL, "a*", false }, "http://h/?ab=1&a=2&ba", "http://h/?ba" },
	{ { NULL, "*", false }, "http://h/?a&b&&c=", "http://h/" },
	{ { NULL, "x\nutm_*\ny", false }, "http://h/?y=1&utm_a=2&z=3&x",
	  "http://h/?z=3" },
	{ { "a", NULL, false }, "http://h/?b=1&a=2&c&a=1",
	  "http://h/?a=2&a=1" },
	{ { "", NULL, false }, "http://h/?b=1&a=2", "http://h/" },
	{ { "a*", "ab", false }, "http://h/?ab&ac&b", "http://h/?ac" },
	{ { NULL, NULL, true }, "http://h/?b=1&a=2&b=0&a", "http://h/"
	  "?a=2&a&b=1&b=0" },
	{ { NULL, NULL, true }, "http://h/?ab=1&a=2", "http://h/?a=2&ab=1" },
	{ { NULL, "c", true }, "http://h/?b?c&c=1&a=/?", "http://h/?a=/?&b?c" },
	{ { NULL, NULL, true }, "http://h/?b&&a", "http://h/?&a&b" },
};

static void check(const struct query_rules *rules, const char *uri,
		  const char *wanted)
{
	size_t len = strlen(uri);
	char text[4096];

	memcpy(text, uri, len + 1);
	assert_int_equal(query_normalise(text, &len, rules), 0);
	assert_string_equal(text, wanted);
	assert_int_equal(len, strlen(wanted));
}

/* And what has been normalised stays as it is. */
static void test_rows(void **state)
{
	(void)state;
	for (size_t i = 0; i < NROWS(rows); i++) {
		check(&rows[i].rules, rows[i].uri, rows[i].wanted);
		check(&rows[i].rules, rows[i].wanted, rows[i].wanted);
	}
}

/* In whatever order they come, they are one URI. */
static void test_order(void **state)
{
	static const struct query_rules rules = { NULL, "x*", true };
	const char *arguments[] = { "a=1", "aa", "b=/", "c", "x1", "x2=3" };
	uint64_t random = 1;

	(void)state;
	for (unsigned round = 0; round < 500; round++) {
		char uri[128] = "http://h/?";

		for (size_t i = 0; i < NROWS(arguments); i++) {
			size_t j = i + random_below(&random,
						    NROWS(arguments) - i);
			const char *one = arguments[j];

			arguments[j] = arguments[i];
			arguments[i] = one;
			strcat(strcat(uri, i ? "&" : ""), one);
		}
		check(&rules, uri, "http://h/?a=1&aa&b=/&c");
	}
}

static void test_too_many(void **state)
{
	static const struct query_rules rules = { "b", NULL, true };
	char uri[4096] = "http://h/?b";

	(void)state;
	for (unsigned i = 1; i < QUERY_MAX_ARGUMENTS; i++)
		strcat(uri, "&a");
	check(&rules, uri, "http://h/?b");
	strcat(uri, "&a");
	check(&rules, uri, uri);
}

static void test_without_memory(void **state)
{
	static const struct query_rules rules = { NULL, "a", false };
	char uri[] = "http://h/?a&b";
	size_t len = strlen(uri);

	(void)state;
	alloc_fail_at(1);
	assert_int_equal(query_normalise(uri, &len, &rules), -ENOMEM);
	alloc_fail_at(0);
	assert_string_equal(uri, "http://h/?a&b");
	assert_int_equal(len, strlen(uri));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_too_many),
		cmocka_unit_test(test_without_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
