/*
 * Packed header fields: what comes out is what went in.
 */
#include "tests/unit.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "digestd/http/packed.h"
#include "digestd/http/packed_values.h"
#include "tests/codec/alloc.h"
#include "tests/http/message.h"

/* Each name that has a number is found by it, in both of its spellings. */
static void names_have_numbers(void **state)
{
	/* clang-format off */
	static const char *const names[] = {
		"Accept-Ranges",
		"Access-Control-Allow-Credentials",
		"Access-Control-Allow-Headers",
		"Access-Control-Allow-Methods",
		"Access-Control-Allow-Origin",
		"Access-Control-Expose-Headers",
		"Age",
		"Allow",
		"Alt-Svc",
		"Cache-Control",
		"Cache-Status",
		"Cache-Tag",
		"CDN-Cache-Control",
		"Content-Disposition",
		"Content-Encoding",
		"Content-Language",
		"Content-Length",
		"Content-Location",
		"Content-Security-Policy",
		"Content-Type",
		"Cross-Origin-Opener-Policy",
		"Cross-Origin-Resource-Policy",
		"Date",
		"ETag",
		"Expires",
		"Last-Modified",
		"Link",
		"Location",
		"NEL",
		"P3P",
		"Permissions-Policy",
		"Pragma",
		"Referrer-Policy",
		"Report-To",
		"Server",
		"Server-Timing",
		"Set-Cookie",
		"Strict-Transport-Security",
		"Surrogate-Key",
		"Timing-Allow-Origin",
		"Vary",
		"Via",
		"X-Cache",
		"X-Content-Type-Options",
		"X-Frame-Options",
		"X-Powered-By",
		"X-Request-Id",
		"X-XSS-Protection",
	};
	/* clang-format on */

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		char lower[40], bytes[40];
		struct fields f;

		for (size_t j = 0; j <= strlen(names[i]); j++)
			lower[j] = (char)tolower((unsigned char)names[i][j]);
		fields_init(&f);
		assert_int_equal(fields_add(&f, names[i], "x"), 0);
		assert_int_equal(fields_add(&f, lower, "x"), 0);
		assert_int_equal(packed_write(&f, bytes, sizeof(bytes)), 6);
		assert_int_equal(bytes[0], i + 1);
		assert_int_equal((unsigned char)bytes[3], 0x80 | (i + 1));
		fields_free(&f);
	}
}

static void there_and_back(void **state)
{
	/* clang-format off */
	static const struct {
		const char *lines;
		size_t size;
	} rows[] = {
		{ "", 0 },
		{ "Date: x\n", 3 },
		{ "date: x\n", 3 },
		{ "DATE: x\n", 8 },
		{ "Accept-Ranges: \nX-Xss-Protection: 1\n", 2 + 20 },
		{ "accept-ranges: \nx-xss-protection: 1\n", 2 + 3 },
		{ "A: 1\nVary: a, b\nA: 2\nvia: c\nVary: \n", 5 + 6 + 5 + 3 + 2 },
		{ "Date: Sun, 06 Nov 1994 08:49:37 GMT\n", 5 },
		{ "last-modified: Thu, 01 Jan 1970 00:00:00 GMT\n", 5 },
		{ "Expires: Sun, 07 Feb 2106 06:28:15 GMT\n", 5 },
		/* not so: too late, of the wrong day, in lower case, short */
		{ "Expires: Sun, 07 Feb 2106 06:28:16 GMT\n", 31 },
		{ "Date: Mon, 06 Nov 1994 08:49:37 GMT\n", 31 },
		{ "Date: Sun, 06 nov 1994 08:49:37 GMT\n", 31 },
		{ "Date: Sun Nov  6 08:49:37 1994\n", 26 },
		{ "X-Date: Sun, 06 Nov 1994 08:49:37 GMT\n", 38 },
		/* values that many have: the first, some, the last; and not */
		{ "Vary: ASP.NET\nServer: zstd\n", 3 + 3 },
		{ "content-type: text/html; charset=utf-8\nX: nosniff\n", 3 + 5 },
		{ "Cache-Control: public, max-age=31536000, immutable\n", 3 },
		{ "Content-Encoding: gzip\nVary: Accept-Encoding\nE: 1\n", 6 + 5 },
		{ "Server: Zstd\nVary: accept-encodin\n", 6 + 16 },
		{ "Via: \001\nVia: \001a\nVia: \377\n", 5 + 6 + 3 },
		{ "CDN-Cache-Control: a\nETag: b\nPragma: c\nSet-Cookie: d\n", 12 },
	};
	/* clang-format on */
	struct fields f, back;
	char text[MESSAGE_MAX];

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char *bytes = malloc(rows[i].size + 1);

		message_must(&f, rows[i].lines);
		memset(bytes, 'x', rows[i].size + 1);
		for (size_t cap = 0; cap <= rows[i].size; cap++) {
			assert_int_equal(packed_write(&f, bytes, cap),
					 rows[i].size);
			assert_int_equal(bytes[cap], 'x');
		}
		fields_free(&f);
		assert_int_equal(packed_open(bytes, rows[i].size, &back), 0);
		assert_string_equal(message_text(&back, text), rows[i].lines);
		fields_free(&back);
		free(bytes);
	}
}

/* Each is found again, so they are in order. */
static void values_have_numbers(void **state)
{
	unsigned n = 1;

	(void)state;
	for (; packed_value(n); n++)
		assert_int_equal(packed_value_number(packed_value(n),
						     strlen(packed_value(n))),
				 n);
	assert_in_range(n, 100, 255);
	assert_null(packed_value(0));
	assert_null(packed_value(255));
	assert_int_equal(packed_value_number("", 0), 0);
	assert_int_equal(packed_value_number("zzz", 3), 0);
}

static void an_open_list_can_be_changed(void **state)
{
	char bytes[100], text[MESSAGE_MAX];
	struct fields f;
	size_t len;

	(void)state;
	message_must(&f, "Age: 1\nDate: Sun, 06 Nov 1994 08:49:37 GMT\n"
			 "B: 2\nVia: c\n");
	len = packed_write(&f, bytes, sizeof(bytes));
	fields_free(&f);
	assert_int_equal(packed_open(bytes, len, &f), 0);
	assert_int_equal(fields_set(&f, "Age", "3"), 0);
	assert_int_equal(fields_add(&f, "Via", fields_get(&f, "b")), 0);
	assert_string_equal(message_text(&f, text),
			    "Date: Sun, 06 Nov 1994 08:49:37 GMT\n"
			    "B: 2\nVia: c\nAge: 3\nVia: 2\n");
	fields_free(&f);
}

static void without_memory(void **state)
{
	char bytes[1000];
	struct fields f;
	unsigned n = 0;
	size_t len;

	(void)state;
	fields_init(&f);
	assert_int_equal(fields_add(&f, "Date",
				    "Sun, 06 Nov 1994 08:49:37 GMT"), 0);
	for (int i = 1; i < 40; i++)
		assert_int_equal(fields_add(&f, "Link", "x"), 0);
	len = packed_write(&f, bytes, sizeof(bytes));
	fields_free(&f);
	do {
		alloc_fail_at(++n);
		if (packed_open(bytes, len, &f)) {
			assert_true(alloc_failed());
			assert_int_equal(fields_memory(&f), 0);
		}
	} while (alloc_failed());
	assert_true(n > 2);
	assert_int_equal(fields_count(&f), 40);
	fields_free(&f);
}

/* Whatever the bytes, those that are good can be opened; cut ones are not. */
static void bytes_from_elsewhere(void **state)
{
	/* clang-format off */
	static const struct {
		const char *label, *bytes;
		size_t len;
		bool good;
	} rows[] = {
		{ "nothing",              "",              0, true },
		{ "a known name",         "\x01x",         3, true },
		{ "in lower case",        "\x81x",         3, true },
		{ "another name",         "\0A\0x",        5, true },
		{ "a date",               "\x57" "1234",   5, true },
		{ "no end of the value",  "\x01x",         2, false },
		{ "no value",             "\x01",          1, false },
		{ "no end of the name",   "\0A",           2, false },
		{ "a name alone",         "\0A",           3, false },
		{ "a date cut short",     "\x57" "123",    4, false },
		{ "no such name",         "\x3fx",         3, false },
		{ "lower case of none",   "\x80x",         3, false },
		{ "a date without name",  "\x40" "1234",   5, false },
		{ "a value's number",     "\x01\x01\x01", 3, true },
		{ "no such number",       "\x01\x01\xfe", 3, false },
		{ "number 0",             "\x01\x01\0",   3, false },
		{ "no number",            "\x01\x01",     2, false },
		{ "a value behind 0xff",  "\x01\x01\xff\x01", 5, true },
		{ "no end of that",       "\x01\x01\xff\x01", 4, false },
		{ "none behind 0xff",     "\x01\x01\xff", 3, false },
		{ "a second line is bad", "\x01x\0\x3f",   4, false },
	};
	/* clang-format on */
	struct fields f;

	(void)state;
	alloc_fail_at(0);
	for (size_t i = 0; i < NROWS(rows); i++) {
		char *copy = malloc(rows[i].len + 1); /* for sanitizers */

		assert_non_null(copy);
		memcpy(copy, rows[i].bytes, rows[i].len);
		if (packed_is_good(copy, rows[i].len) != rows[i].good)
			fail_msg("%s", rows[i].label);
		if (rows[i].good) {
			assert_int_equal(packed_open(copy, rows[i].len, &f), 0);
			fields_free(&f);
		}
		free(copy);
	}
}

static void first_line_of_no_table(void **state)
{
	(void)state;
	assert_true(packed_begins_with("\0:a\0b", 6, ":a"));
	assert_false(packed_begins_with("\0:ab\0b", 7, ":a"));
	assert_false(packed_begins_with("\0:a\0b", 6, ":ab"));
	assert_false(packed_begins_with("\0xa\0b", 6, ":a"));
	assert_false(packed_begins_with("\1:a\0b", 6, ":a"));
	assert_false(packed_begins_with("\0:a", 3, ":a"));
	assert_false(packed_begins_with("", 0, ":a"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(first_line_of_no_table),
		cmocka_unit_test(names_have_numbers),
		cmocka_unit_test(there_and_back),
		cmocka_unit_test(values_have_numbers),
		cmocka_unit_test(an_open_list_can_be_changed),
		cmocka_unit_test(without_memory),
		cmocka_unit_test(bytes_from_elsewhere),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
