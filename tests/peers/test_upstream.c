/*
 * Peers and origins as an operator writes them: which texts are URLs, paths and
 * lists of URLs.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "digestd/peers/upstream.h"
#include "tests/unit.h"

static const struct {
	const char *text;
	bool is;
} urls[] = {
	{ "http://a", true },
	{ "https://a.example", true },
	{ "http://a:1", true },
	{ "http://a:65535", true },
	{ "http://10.0.0.1:80", true },
	{ "http://[::1]", true },
	{ "http://[2001:db8::A:10.0.0.1]:8080", true },
	{ "", false },
	{ "a", false },
	{ "a:80", false },
	{ "ftp://a", false },
	{ "http:/a", false },
	{ "http://", false },
	{ "https://", false },
	{ "http://:80", false },
	{ "http://a:", false },
	{ "http://a:0", false },
	{ "http://a:65536", false },
	{ "http://a:99999999999999999999", false },
	{ "http://a:8o", false },
	{ "http://a:-1", false },
	{ "http://a/", false },
	{ "http://a?b", false },
	{ "http://a#b", false },
	{ "http://user@a", false },
	{ "http://a b", false },
	{ "http://a\"", false },
	{ "http://a\\", false },
	{ "http://[::1", false },
	{ "http://[]", false },
	{ "http://[::g]", false },
	{ "http://[::1]80", false },
	{ "http://::1", false },
	{ "http://a]", false },
};

static void test_urls(void **state)
{
	(void)state;
	for (size_t i = 0; i < NROWS(urls); i++) {
		if (upstream_is_url(urls[i].text) != urls[i].is)
			fail_msg("\"%s\"", urls[i].text);
	}
}

/* A name of 255 bytes is the longest that there is. */
static void test_long_hosts(void **state)
{
	(void)state;
	for (int len = 255; len <= 256; len++) {
		char text[300];

		snprintf(text, sizeof(text), "http://%0*d:80", len, 0);
		assert_int_equal(upstream_is_url(text), len == 255);
	}
}

static const struct {
	const char *list;
	size_t n;
	const char *first;
} lists[] = {
	{ "", 0, "" },
	{ " ,\t\n, ", 0, "" },
	{ "http://a", 1, "http://a" },
	{ " http://a, ", 1, "http://a" },
	{ "http://a,http://b", 2, "http://a" },
	{ "\thttp://a http://b\n,,http://c", 3, "http://a" },
};

static void test_lists(void **state)
{
	(void)state;
	for (size_t i = 0; i < NROWS(lists); i++) {
		const char *at = lists[i].list;
		size_t len = upstream_next_url(&at);

		assert_int_equal(len, strlen(lists[i].first));
		assert_memory_equal(at, lists[i].first, len);
		assert_int_equal(upstream_count_urls(lists[i].list),
				 lists[i].n);
	}
}

static const struct {
	const char *text;
	bool is;
} paths[] = {
	{ "/", true },
	{ "/up?a=b", true },
	{ "", false },
	{ "up", false },
	{ "http://a/", false },
	{ "/a b", false },
	{ "/a\n", false },
	{ "/a#b", false },
	{ "/a\x7f", false },
	{ "/\xc3\xa4", false },
};

static void test_paths(void **state)
{
	(void)state;
	for (size_t i = 0; i < NROWS(paths); i++) {
		if (upstream_is_path(paths[i].text) != paths[i].is)
			fail_msg("\"%s\"", paths[i].text);
	}
}

/* Who says nothing of where it is, is here. */
static void test_elsewhere(void **state)
{
	char name[] = "berlin";
	const struct upstream there = { .location = name }, silent = { 0 };

	(void)state;
	assert_true(upstream_is_elsewhere(&there, "paris"));
	assert_false(upstream_is_elsewhere(&there, "berlin"));
	assert_false(upstream_is_elsewhere(&there, NULL));
	assert_false(upstream_is_elsewhere(&silent, "paris"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_urls),
		cmocka_unit_test(test_long_hosts),
		cmocka_unit_test(test_lists),
		cmocka_unit_test(test_paths),
		cmocka_unit_test(test_elsewhere),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
