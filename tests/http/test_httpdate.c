/*
 * HTTP dates: the examples of RFC 9110, days that exist and that do not, and
 * every day of four centuries there and back.
 */
#include "tests/unit.h"

#include <string.h>

#include "digestd/http/httpdate.h"

enum { NOW_S = 1795236663 }; /* Sat, 21 Nov 2026 04:51:03 GMT */

#define BAD INT64_MIN

static const struct {
	const char *text;
	int64_t at_s;
} rows[] = {
	/* RFC 9110, 5.6.7 */
	{ "Sun, 06 Nov 1994 08:49:37 GMT", 784111777 },
	{ "Sunday, 06-Nov-94 08:49:37 GMT", 784111777 },
	{ "Sun Nov  6 08:49:37 1994", 784111777 },
	{ "Thu, 01 Jan 1970 00:00:00 GMT", 0 },
	{ "Wed, 31 Dec 1969 23:59:59 GMT", -1 },
	{ "Fri, 13 Feb 2009 23:31:30 GMT", 1234567890 },
	{ "Tue, 19 Jan 2038 03:14:08 GMT", 2147483648 },
	{ "Fri, 31 Dec 9999 23:59:59 GMT", 253402300799 },
	{ "Tue, 29 Feb 2000 12:00:00 GMT", 951825600 },
	{ "Thu, 29 Feb 2024 12:00:00 GMT", 1709208000 },
	{ "Sat, 31 Dec 2016 23:59:60 GMT", 1483228800 }, /* leap second */
	{ "Mon, 06 Nov 1994 08:49:37 GMT", 784111777 },	 /* a Sunday */
	/* case does not matter to caches (RFC 9111, 4.2) */
	{ "SUN, 06 nov 1994 08:49:37 gmt", 784111777 },
	{ "sUNDAY, 06-NOV-94 08:49:37 Gmt", 784111777 },
	{ "sun NOV  6 08:49:37 1994", 784111777 },
	/* two digits: at most fifty years ahead */
	{ "Sunday, 06-Nov-26 08:49:37 GMT", 1793954977 },
	{ "Saturday, 21-Nov-76 04:51:03 GMT", 3373159863 },
	{ "Sunday, 21-Nov-76 04:51:04 GMT", 217399864 }, /* 1976 */
	{ "Monday, 31-Dec-76 00:00:00 GMT", 220838400 },
	{ "Friday, 01-Jan-77 00:00:00 GMT", 220924800 },
	{ "Thursday, 29-Feb-24 12:00:00 GMT", 1709208000 },
	{ "Sun Nov 06 08:49:37 1994", 784111777 },
	/* not dates */
	{ "", BAD },
	{ "0", BAD },
	{ "-1", BAD },
	{ "now", BAD },
	{ "784111777", BAD },
	{ "Sun, 06 Nov 1994 08:49:37 UTC", BAD },
	{ "Sun, 06 Nov 1994 08:49:37 +0000", BAD },
	{ "Sun, 06 Nov 1994 08:49:37 PST", BAD },
	{ "Sun, 06 Nov 1994 08:49:37", BAD },
	{ "Sun, 06 Nov 1994 08:49:37 GMTx", BAD },
	{ "Sun, 06 Nov 1994 08:49:37 GMT ", BAD },
	{ " Sun, 06 Nov 1994 08:49:37 GMT", BAD },
	{ "Sun 06 Nov 1994 08:49:37 GMT", BAD },
	{ "Sun,06 Nov 1994 08:49:37 GMT", BAD },
	{ "Sun, 6 Nov 1994 08:49:37 GMT", BAD },
	{ "Sun, 06 Nov 94 08:49:37 GMT", BAD },
	{ "Sun, 06-Nov-1994 08:49:37 GMT", BAD },
	{ "Sun, 06 Nov 1994 8:49:37 GMT", BAD },
	{ "Sun, 06 Nov 1994 08.49.37 GMT", BAD },
	{ "Sun, 06  Nov 1994 08:49:37 GMT", BAD },
	{ "Xyz, 06 Nov 1994 08:49:37 GMT", BAD },
	{ "Sun, 06 Foo 1994 08:49:37 GMT", BAD },
	{ "Sunday, 06 Nov 1994 08:49:37 GMT", BAD },
	{ "Sun, 06-Nov-94 08:49:37 GMT", BAD },
	{ "Sun Nov 6 08:49:37 1994", BAD },
	{ "Sun\f 06 Nov 1994 08:49:37 GMT", BAD }, /* but for a bit a comma */
	{ "Sun, 06 Nov 1994 08\03249:37 GMT", BAD }, /* a colon */
	{ "Sun, 06 Nov 1994 08:49:37 gMt", 784111777 },
	{ "Sun, 00 Nov 1994 08:49:37 GMT", BAD },
	{ "Sun, 31 Nov 1994 08:49:37 GMT", BAD },
	{ "Sun, 29 Feb 1900 08:49:37 GMT", BAD },
	{ "Sun, 29 Feb 2023 08:49:37 GMT", BAD },
	{ "Sun, 06 Nov 1994 24:00:00 GMT", BAD },
	{ "Sun, 06 Nov 1994 08:60:00 GMT", BAD },
	{ "Sun, 06 Nov 1994 08:49:61 GMT", BAD },
};

static void spellings(void **state)
{
	(void)state;
	for (size_t i = 0; i < NROWS(rows); i++) {
		int64_t at_s = BAD;
		bool ok = httpdate_parse(rows[i].text, NOW_S, &at_s);

		if (ok != (rows[i].at_s != BAD) || at_s != rows[i].at_s)
			fail_msg("\"%s\": %d, %lld", rows[i].text, ok,
				 (long long)at_s);
	}
}

static void every_prefix_is_refused(void **state)
{
	static const char *const texts[] = {
		"Sun, 06 Nov 1994 08:49:37 GMT",
		"Sunday, 06-Nov-94 08:49:37 GMT",
		"Sun Nov  6 08:49:37 1994",
	};
	char text[40];
	int64_t at_s;

	(void)state;
	for (size_t i = 0; i < NROWS(texts); i++) {
		for (size_t len = 0; len < strlen(texts[i]); len++) {
			memcpy(text, texts[i], len);
			text[len] = '\0';
			assert_false(httpdate_parse(text, NOW_S, &at_s));
		}
	}
}

/* Two digits near the end of a century, where "now" has another first two. */
static void centuries(void **state)
{
	static const struct {
		const char *now, *text, *same;
	} turns[] = {
		{ "Fri, 01 Jan 2049 00:00:00 GMT",
		  "Friday, 01-Jan-99 00:00:00 GMT",
		  "Thu, 01 Jan 2099 00:00:00 GMT" },
		{ "Fri, 01 Jan 2049 00:00:00 GMT",
		  "Friday, 01-Jan-00 00:00:00 GMT",
		  "Sat, 01 Jan 2000 00:00:00 GMT" },
		{ "Thu, 31 Dec 2099 00:00:00 GMT",
		  "Friday, 01-Jan-05 00:00:00 GMT",
		  "Thu, 01 Jan 2105 00:00:00 GMT" },
		{ "Thu, 31 Dec 2099 00:00:00 GMT",
		  "Friday, 01-Jan-60 00:00:00 GMT",
		  "Thu, 01 Jan 2060 00:00:00 GMT" },
		{ "Sat, 01 Jan 2000 00:00:00 GMT",
		  "Friday, 31-Dec-99 23:59:59 GMT",
		  "Fri, 31 Dec 1999 23:59:59 GMT" },
	};

	(void)state;
	for (size_t i = 0; i < NROWS(turns); i++) {
		int64_t now_s, at_s, same_s;

		assert_true(httpdate_parse(turns[i].now, NOW_S, &now_s));
		assert_true(httpdate_parse(turns[i].same, NOW_S, &same_s));
		assert_true(httpdate_parse(turns[i].text, now_s, &at_s));
		assert_int_equal(at_s, same_s);
	}
}

static void there_and_back(void **state)
{
	char text[HTTPDATE_LEN + 1];
	int64_t back_s;

	(void)state;
	for (int64_t day = 0; day < 146097; day++) {
		int64_t at_s = day * 86400 + day % 86400;

		httpdate_format(at_s, text);
		assert_int_equal(strlen(text), HTTPDATE_LEN);
		assert_true(httpdate_parse(text, NOW_S, &back_s));
		assert_int_equal(back_s, at_s);
	}
	httpdate_format(784111777, text);
	assert_string_equal(text, "Sun, 06 Nov 1994 08:49:37 GMT");
	httpdate_format(-1, text);
	assert_string_equal(text, "Thu, 01 Jan 1970 00:00:00 GMT");
	httpdate_format(INT64_MAX, text);
	assert_string_equal(text, "Fri, 31 Dec 9999 23:59:59 GMT");
}

/* What the exact reader takes is what would be written of it. */
static void check_exact(const char *text)
{
	char again[HTTPDATE_LEN + 1];
	int64_t at_s = 0, exact_s = 0;
	bool is = httpdate_parse(text, NOW_S, &at_s) && at_s >= 0;

	if (is) {
		httpdate_format(at_s, again);
		is = !strcmp(again, text);
	}
	if (httpdate_parse_exact(text, &exact_s) != is ||
	    (is && exact_s != at_s))
		fail_msg("\"%s\": %lld", text, (long long)exact_s);
}

static void exact_dates_are_those_that_are_written(void **state)
{
	static const char bytes[] = "0123456789 ,:GMTgmSunFebxv";
	char text[HTTPDATE_LEN + 1];
	unsigned x = 1;

	(void)state;
	for (size_t i = 0; i < NROWS(rows); i++)
		check_exact(rows[i].text);
	for (int i = 0; i < 300000; i++) {
		x = x * 1664525 + 1013904223;
		httpdate_format((int64_t)x * 3, text);
		check_exact(text);
		x = x * 1664525 + 1013904223;
		text[(x >> 8) % HTTPDATE_LEN] =
			bytes[(x >> 16) % sizeof(bytes)];
		check_exact(text);
	}
}

/* The same dates, whatever the last one was. */
static void the_last_date_is_remembered(void **state)
{
	static const char *const texts[] = {
		"",
		"Sun, 06 Nov 1994 08:49:37 GMT",
		"Sun, 06 Nov 1994 08:49:37 GMT",
		"sun, 06 Nov 1994 08:49:37 GMT",
		"Sunday, 06-Nov-94 08:49:37 GMT",
		"Sun, 06 Nov 1994 08:49:37 GM",
		"Sun, 06 Nov 1994 08:49:37 GMT ",
		"Sun, 06 Nov 1994 08:49:38 GMT",
		"",
		"Thu, 01 Jan 1970 00:00:00 GMT",
	};
	struct httpdate_last last = { 0 };
	char text[HTTPDATE_LEN + 1];
	int64_t back_s;

	(void)state;
	for (size_t i = 0; i < NROWS(texts); i++) {
		int64_t at_s = -1, next_s = -1;

		assert_int_equal(
			httpdate_parse_next(&last, texts[i], NOW_S, &next_s),
			httpdate_parse(texts[i], NOW_S, &at_s));
		assert_int_equal(next_s, at_s);
	}
	last = (struct httpdate_last){ 0 };
	for (int64_t at_s = 0; at_s < 100; at_s++) {
		httpdate_format(at_s / 3, text);
		assert_string_equal(httpdate_format_next(&last, at_s / 3),
				    text);
	}
	httpdate_format_next(&last, -5); /* what is written is 1970 */
	assert_true(httpdate_parse_next(&last, last.text, NOW_S, &back_s));
	assert_int_equal(back_s, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(spellings),
		cmocka_unit_test(every_prefix_is_refused),
		cmocka_unit_test(centuries),
		cmocka_unit_test(the_last_date_is_remembered),
		cmocka_unit_test(there_and_back),
		cmocka_unit_test(exact_dates_are_those_that_are_written),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
