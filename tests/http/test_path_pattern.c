/*
 * Patterns of paths, by a table, and against the dumbest matcher there is.
 */
#include <stdbool.h>
#include <errno.h>
#include <string.h>

#include "digestd/http/path_pattern.h"
#include "tests/codec/random.h"
#include "tests/unit.h"

static const struct {
	const char *pattern, *text;
	bool matches;
} rows[] = {
	{ "/a", "/a", true },
	{ "/a", "/ab", false },
	{ "/a", "/", false },
	{ "/a", "", false },
	{ "*", "", true },
	{ "*", "abc", true },
	{ "*", "a/c", false },
	{ "**", "", true },
	{ "**", "/a/b/c", true },
	{ "***", "/a/b/c", true },
	{ "/static/**", "/static/", true },
	{ "/static/**", "/static/a/b.css", true },
	{ "/static/**", "/static", false },
	{ "/static/*", "/static/a", true },
	{ "/static/*", "/static/a/b", false },
	{ "/**/a", "/x/y/a", true },
	{ "/**/a", "/a", false },
	{ "/**.css", "/x/y/a.css", true },
	{ "/**.css", "/x/y/a.css/b", false },
	{ "/*/a/*", "/x/a/", true },
	{ "/*/a/*", "/x/y/a/", false },
	{ "/a*b*c", "/aXbbYc", true },
	{ "/a*b*c", "/aXc", false },
	{ "/a**b*c", "/a/b/b/c", false },
	{ "/a**b*c", "/a/b/bc", true },
	{ "video/*", "video/mp4", true },
	{ "/a?", "/ab", false }, /* no other sign means anything */
	{ "/[a]", "/a", false },
};

static void test_rows(void **state)
{
	struct path_pattern p;

	(void)state;
	for (size_t i = 0; i < NROWS(rows); i++) {
		assert_int_equal(path_pattern_init(&p, rows[i].pattern), 0);
		if (path_pattern_match(&p, rows[i].text,
				       strlen(rows[i].text)) != rows[i].matches)
			fail_msg("%s and %s", rows[i].pattern, rows[i].text);
	}
}

static void test_length(void **state)
{
	char text[PATH_PATTERN_MAX + 2];
	struct path_pattern p;

	(void)state;
	assert_int_equal(path_pattern_init(&p, ""), -EINVAL);
	memset(text, 'a', sizeof(text) - 1);
	text[PATH_PATTERN_MAX + 1] = '\0';
	assert_int_equal(path_pattern_init(&p, text), -EINVAL);
	text[PATH_PATTERN_MAX] = '\0';
	assert_int_equal(path_pattern_init(&p, text), 0);
	assert_true(path_pattern_match(&p, text, PATH_PATTERN_MAX));
	assert_false(path_pattern_match(&p, text, PATH_PATTERN_MAX - 1));
}

static bool twin(const char *p, const char *t)
{
	bool any = !strncmp(p, "**", 2);

	if (!*p)
		return !*t;
	if (*p != '*')
		return *p == *t && twin(p + 1, t + 1);
	return twin(p + 1 + any, t) ||
	       (*t && (any || *t != '/') && twin(p, t + 1));
}

static void random_text(uint64_t *random, const char *of, char *out)
{
	size_t len = random_below(random, 8);

	for (size_t i = 0; i < len; i++)
		out[i] = of[random_below(random, strlen(of))];
	out[len] = '\0';
}

static void test_twin(void **state)
{
	uint64_t random = 1;
	struct path_pattern p;
	char pattern[9], text[9];
	unsigned matched = 0;

	(void)state;
	for (unsigned i = 0; i < 200000; i++) {
		random_text(&random, "ab/**", pattern + 1);
		*pattern = '/';
		random_text(&random, "aab/", text + 1);
		*text = '/';
		assert_int_equal(path_pattern_init(&p, pattern), 0);
		if (path_pattern_match(&p, text, strlen(text)) !=
		    twin(pattern, text))
			fail_msg("%s and %s", pattern, text);
		matched += twin(pattern, text);
	}
	assert_in_range(matched, 10000, 190000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_length),
		cmocka_unit_test(test_twin),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
