/*
 * Requests that differ in nothing that counts.
 */
#include "tests/unit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "digestd/http/fields.h"
#include "digestd/http/request_normal.h"
#include "tests/codec/alloc.h"
#include "tests/http/message.h"

static const struct {
	const char *request, *wanted; /* null: no field is left */
} encodings[] = {
	{ "A: b", NULL },
	{ "Accept-Encoding: gzip, deflate, br", "br, gzip" },
	{ "Accept-Encoding: br;q=1.0, gzip ; q=0.8, *;q=0.1", "br, gzip" },
	{ "accept-encoding: BR\nAccept-Encoding: GZip", "br, gzip" },
	{ "Accept-Encoding: gzip", "gzip" },
	{ "Accept-Encoding: br", "br" },
	{ "Accept-Encoding: gzip;q=0, br", "br" },
	{ "Accept-Encoding: gzip; q=0.000, br;Q=0", NULL },
	{ "Accept-Encoding: gzip;q=0.001", "gzip" },
	{ "Accept-Encoding: gzip;q", "gzip" },
	{ "Accept-Encoding: gzipped, brr, x-gzip", NULL },
	{ "Accept-Encoding: identity", NULL },
	{ "Accept-Encoding: *", NULL },
	{ "Accept-Encoding: ", NULL },
};

static const struct {
	const char *names, *request, *wanted;
} cookies[] = {
	{ "a", "A: b", NULL },
	{ "a", "Cookie: a=1", "a=1" },
	{ "a", "Cookie: b=1", NULL },
	{ "", "Cookie: a=1; b=2", NULL },
	{ "a\nc", "Cookie: c=3; a=1; b=2; a=4", "c=3; a=1; a=4" },
	{ "a", "Cookie: b=2;a=1;;  ; c", "a=1" },
	{ "c", "Cookie: b=2;a=1;;  ; c", "c" },
	{ "a*", "Cookie: ab=1; b=2; a=3", "ab=1; a=3" },
	{ "a", "Cookie: ab=1; A=2", NULL },
	{ "a", "Cookie: b=1\nCookie: a=2\ncookie: a=3", "a=2; a=3" },
	{ "*", "Cookie: a;b;c;d\nCookie: e", "a; b; c; d; e" },
	{ "a", "Cookie: a==; =a; a", "a==; a" },
};

static void check(const char *label, const struct fields *f, const char *name,
		  const char *wanted)
{
	const char *got = fields_get(f, name);

	if (!got != !wanted || (got && strcmp(got, wanted)) ||
	    fields_lines(f, name) > 1)
		fail_msg("%s: %s", label, got ? got : "none");
}

static void test_encodings(void **state)
{
	(void)state;
	for (size_t i = 0; i < NROWS(encodings); i++) {
		struct fields f;

		message_must(&f, encodings[i].request);
		assert_int_equal(request_normal_encodings(&f), 0);
		check(encodings[i].request, &f, "Accept-Encoding",
		      encodings[i].wanted);
		fields_free(&f);
	}
}

static void test_cookies(void **state)
{
	(void)state;
	for (size_t i = 0; i < NROWS(cookies); i++) {
		struct fields f;

		message_must(&f, cookies[i].request);
		assert_int_equal(request_normal_cookies(&f, cookies[i].names),
				 0);
		check(cookies[i].request, &f, "Cookie", cookies[i].wanted);
		fields_free(&f);
	}
}

static void test_without_memory(void **state)
{
	struct fields f;

	(void)state;
	message_must(&f, "Cookie: a=1; b=2");
	alloc_fail_at(1);
	assert_int_equal(request_normal_cookies(&f, "a"), -ENOMEM);
	alloc_fail_at(0);
	assert_string_equal(fields_get(&f, "Cookie"), "a=1; b=2");
	fields_free(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_encodings),
		cmocka_unit_test(test_cookies),
		cmocka_unit_test(test_without_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
