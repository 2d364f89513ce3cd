/*
 * Values of the configuration from their text: what is one, and which, and
 * what is none.
 */

#include "digestd/config/value.h"
#include "digestd/http/enum_names.h"
#include "digestd/os/log.h"
#include "digestd/peers/upstream.h"
#include "tests/unit.h"

enum { NONE = -1 }; /* the text is no such value */

static const struct number {
	const char *text;
	int64_t number, size, time_ms;
} numbers[] = {
	{ "0", 0, 0, NONE },
	{ "64", 64, 64, NONE },
	{ "064", 64, 64, NONE },
	{ "64K", NONE, 65536, NONE },
	{ "64k", NONE, 65536, NONE },
	{ "1M", NONE, 1 << 20, 60000 }, /* a minute, as "m" is */
	{ "2G", NONE, (int64_t)2 << 30, NONE },
	{ "64 K", NONE, NONE, NONE },
	{ "64KB", NONE, NONE, NONE },
	{ "1.5M", NONE, NONE, NONE },
	{ "0x10", NONE, NONE, NONE },
	{ "1T", NONE, NONE, NONE },
	{ "0ms", NONE, NONE, 0 },
	{ "500ms", NONE, NONE, 500 },
	{ "30s", NONE, NONE, 30000 },
	{ "5m", NONE, 5 << 20, 300000 },
	{ "5M", NONE, 5 << 20, 300000 },
	{ "1h", NONE, NONE, 3600000 },
	{ "1.5s", NONE, NONE, NONE },
	{ "1d", NONE, NONE, 86400000 },
	{ "1w", NONE, NONE, NONE },
	{ "", NONE, NONE, NONE },
	{ "K", NONE, NONE, NONE },
	{ "ms", NONE, NONE, NONE },
	{ " 1", NONE, NONE, NONE },
	{ "1 ", NONE, NONE, NONE },
	{ "-1", NONE, NONE, NONE },
	{ "-1s", NONE, NONE, NONE },
	{ "9223372036854775807", INT64_MAX, INT64_MAX, NONE },
	{ "9223372036854775808", NONE, NONE, NONE },
	{ "8589934591G", NONE, INT64_MAX - (1 << 30) + 1, NONE },
	{ "8589934592G", NONE, NONE, NONE },
	{ "2562047788015h", NONE, NONE, 2562047788015 * 3600000 },
	{ "2562047788016h", NONE, NONE, NONE },
};

static void check_number(const char *text, const char *what,
			 bool (*read)(const char *text, int64_t *out),
			 int64_t expected)
{
	int64_t got;

	if (!read(text, &got))
		got = NONE;
	if (got != expected)
		fail_msg("%s \"%s\": %lld, not %lld", what, text,
			 (long long)got, (long long)expected);
}

static void test_numbers(void **state)
{
	(void)state;
	for (size_t i = 0; i < NROWS(numbers); i++) {
		const struct number *n = &numbers[i];

		check_number(n->text, "number", value_number, n->number);
		check_number(n->text, "size", value_size, n->size);
		check_number(n->text, "time", value_time_ms, n->time_ms);
	}
}

static const struct {
	const char *text;
	bool is_share;
	double share;
} shares[] = {
	{ "0", true, 0 },      { "1", true, 1 },       { "0.25", true, .25 },
	{ ".5", true, .5 },    { "1e-3", true, .001 }, { "-0.1", false, 0 },
	{ "1.01", false, 0 },  { "", false, 0 },       { "10%", false, 0 },
	{ "0.5 ", false, 0 },  { "nan", false, 0 },    { "inf", false, 0 },
	{ "half", false, 0 },
};

static void test_shares(void **state)
{
	(void)state;
	for (size_t i = 0; i < NROWS(shares); i++) {
		double got = 0;

		if (value_share(shares[i].text, &got) != shares[i].is_share)
			fail_msg("\"%s\"", shares[i].text);
		if (shares[i].is_share)
			assert_true(got == shares[i].share);
	}
}

static const struct {
	const char *text;
	bool url, address;
} places[] = {
	{ "http://a", true, false },
	{ "http://a:80", true, false },
	{ "https://[::1]:8443", true, false },
	{ "http://", false, false },
	{ "https://", false, false },
	{ "http://:80", false, false },
	{ "http://a:", false, false },
	{ "http://a:0", false, false },
	{ "http://a:65536", false, false },
	{ "http://a:80x", false, false },
	{ "http://a:+80", false, false },
	{ "http://::1", false, false },
	{ "http://[::1", false, false },
	{ "http://[::1]x", false, false },
	{ "http://[a b]:80", false, false },
	{ "http://[name]:80", false, false },
	{ "http://[]", false, false },
	{ "http://a/", false, false },
	{ "http://a?b", false, false },
	{ "http://a#b", false, false },
	{ "http://u@a", false, false },
	{ "http://a b", false, false },
	{ "HTTP://a", false, false },
	{ "ftp://a", false, false },
	{ "a:80", false, false },
	{ "", false, false },
	{ "127.0.0.1:8080", false, true },
	{ "0.0.0.0:0", false, true },
	{ ":8080", false, true },
	{ "[::1]:8080", false, true },
	{ "[::]:65535", false, true },
	{ "127.0.0.1:65536", false, false },
	{ "127.0.0.1:", false, false },
	{ "127.0.0.1:80x", false, false },
	{ "127.0.0.1", false, false },
	{ "127.0.0:80", false, false },
	{ "localhost:80", false, false },
	{ "::1:80", false, false },
	{ "[]:80", false, false },
	{ "[:80", false, false },
	{ "[::1:80", false, false },
	{ "[127.0.0.1]:80", false, false },
	{ "[1111:2222:3333:4444:5555:6666:7777:8888:9999:0000:1111:2222:3333]"
	  ":80", false, false },
};

static void test_places(void **state)
{
	(void)state;
	for (size_t i = 0; i < NROWS(places); i++) {
		const char *text = places[i].text;

		if (upstream_is_url(text) != places[i].url)
			fail_msg("\"%s\" as a URL", text);
		if (value_is_address(text) != places[i].address)
			fail_msg("\"%s\" as an address", text);
	}
}

static bool is_level(const char *text)
{
	return enum_names_find(log_level_names, text) >= 0;
}

static void test_levels(void **state)
{
	(void)state;
	assert_true(is_level("error"));
	assert_true(is_level("warning"));
	assert_true(is_level("info"));
	assert_true(is_level("debug"));
	assert_false(is_level("Debug"));
	assert_false(is_level("trace"));
	assert_false(is_level(""));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_numbers),
		cmocka_unit_test(test_shares),
		cmocka_unit_test(test_places),
		cmocka_unit_test(test_levels),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
