/*
 * Canonical URIs: a table of spellings and what becomes of them.
 */
#include "tests/unit.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "codec/uri.h"
#include "codec/uri_form.h"
#include "tests/codec/random.h"

static const struct {
	const char *uri;
	const char *canonical; /* null: refused */
} rows[] = {
	{ "http://example.com/", "http://example.com/" },
	{ "HTTP://Example.COM/A/b?C=d", "http://example.com/A/b?C=d" },
	{ "https://example.com", "https://example.com/" },
	{ "http://h?x", "http://h/?x" },
	{ "http://h/?", "http://h/?" },
	{ "http://h#top", "http://h/" },
	{ "http://h/a#b?c", "http://h/a" },
	{ "http://h./a", "http://h/a" },
	{ "http://h:80/a", "http://h/a" },
	{ "http://h:0080/a", "http://h/a" },
	{ "http://h:/a", "http://h/a" },
	{ "http://h:443/", "http://h:443/" },
	{ "https://h:443/", "https://h/" },
	{ "https://h:80/", "https://h:80/" },
	{ "http://h:08080/", "http://h:8080/" },
	{ "http://h.:8080", "http://h:8080/" },
	{ "http://h.:8080/a", "http://h:8080/a" },
	{ "http://a.b:65535/c?d", "http://a.b:65535/c?d" },
	{ "http://a.b:8080/c#d", "http://a.b:8080/c" },
	{ "http://a.b:8080?c", "http://a.b:8080/?c" },
	{ "https://a.b:080443/", NULL },
	{ "https://a.b:000443/", "https://a.b/" },
	{ "https://a.b:80443/", NULL },
	{ "http://a:8080@b/", "http://b/" },
	{ "http://a:8080#b", "http://a:8080/" },
	{ "http://user:pass@h/", "http://h/" },
	{ "http://a@b@h/", "http://h/" },
	{ "http://h/a@b", "http://h/a@b" },
	{ "http://[2001:DB8::1]/", "http://[2001:db8::1]/" },
	{ "http://[::1]:8080/x", "http://[::1]:8080/x" },
	{ "http://[::ffff:1.2.3.4]:80", "http://[::ffff:1.2.3.4]/" },
	{ "http://h/%7Eu/../x//y", "http://h/%7Eu/../x//y" },
	{ "http://%41b.c/", "http://%41b.c/" },
	{ "http://h/a?b?c/d", "http://h/a?b?c/d" },
	{ "", NULL },
	{ "http", NULL },
	{ "http:/h", NULL },
	{ "/path", NULL },
	{ "ftp://h/", NULL },
	{ "http://", NULL },
	{ "http:///x", NULL },
	{ "http://./x", NULL },
	{ "http://h../x", NULL },
	{ "http://:80/", NULL },
	{ "http://h:x/", NULL },
	{ "http://h:0/", NULL },
	{ "http://h:65536/", NULL },
	{ "http://h:99999999999999999999/", NULL },
	{ "http://h:80:80/", NULL },
	{ "http://[::1/", NULL },
	{ "http://[::1]x/", NULL },
	{ "http://[]/", NULL },
	{ "http://[1.2]/", NULL },
	{ "http://[::g]/", NULL },
	{ "http://h\\x/", NULL },
	{ "http://h%4/", NULL },
	{ "http://h%zz/", NULL },
	{ "http://a b/", NULL },
	{ "http://h/a b", NULL },
	{ "http://h/a\tb", NULL },
	{ "http://h/\x7f", NULL },
	{ "http://h/\xc3\xa4", NULL },
};

static void spellings(void **state)
{
	(void)state;
	for (size_t i = 0; i < NROWS(rows); i++) {
		char out[128];
		size_t len = 0;
		int error = scd_uri_canonical(rows[i].uri, strlen(rows[i].uri),
					      out, sizeof(out), &len);

		if (!rows[i].canonical) {
			if (error != SCD_EURI)
				fail_msg("%s: accepted", rows[i].uri);
			continue;
		}
		if (error)
			fail_msg("%s: %s", rows[i].uri, scd_strerror(error));
		assert_string_equal(out, rows[i].canonical);
		assert_int_equal(len, strlen(out));
	}
}

static void canonical_is_a_fixed_point(void **state)
{
	(void)state;
	for (size_t i = 0; i < NROWS(rows); i++) {
		char out[128];

		if (!rows[i].canonical)
			continue;
		assert_int_equal(scd_uri_canonical(rows[i].canonical,
						   strlen(rows[i].canonical),
						   out, sizeof(out), NULL),
				 SCD_OK);
		assert_string_equal(out, rows[i].canonical);
	}
}

static void every_smaller_buffer_is_refused(void **state)
{
	(void)state;
	for (size_t i = 0; i < NROWS(rows); i++) {
		size_t need, len = strlen(rows[i].uri);
		char out[128];

		if (!rows[i].canonical)
			continue;
		need = strlen(rows[i].canonical) + 1;
		assert_true(need <= len + 2);
		for (size_t cap = 0; cap < need; cap++)
			assert_int_equal(scd_uri_canonical(rows[i].uri, len,
							   out, cap, NULL),
					 SCD_ESPACE);
		assert_int_equal(scd_uri_canonical(rows[i].uri, len, out, need,
						   NULL),
				 SCD_OK);
	}
}

static void nul_bytes_are_refused(void **state)
{
	char out[64];

	(void)state;
	assert_int_equal(scd_uri_canonical("http://h/\0x", 11, out, sizeof(out),
					   NULL),
			 SCD_EURI);
}

/* Each byte there is, in each place of a long path and of a long host. */
static void bytes_are_judged_in_all_places(void **state)
{
	static const char in_name[] = "-._~!$&'()*+,;=";

	(void)state;
	for (unsigned at = 0; at < 20; at++) {
		for (int c = 0; c < 256; c++) {
			char path[] = "http://h/aaaaaaaaaaaaaaaaaaaa";
			char host[] = "http://aaaaaaaaaaaaaaaaaaaaa/";
			bool graphic = c > ' ' && c < 127, name, end;
			char out[64];

			name = (c < 128 && isalnum(c)) ||
			       (c && strchr(in_name, c)) ||
			       (c == '%' && at < 19); /* "%aa" */
			end = c == '/' || c == '?' || c == '#' || c == ':';
			path[9 + at] = (char)c;
			host[7 + at] = (char)c;
			if (scd_uri_canonical(path, strlen(path), out,
					      sizeof(out), NULL) !=
			    (graphic || !c ? SCD_OK : SCD_EURI))
				fail_msg("byte %d, place %u of a path", c, at);
			if (end || c == '@' || !c)
				continue; /* it ends the name */
			if (scd_uri_canonical(host, strlen(host), out,
					      sizeof(out), NULL) !=
			    (name ? SCD_OK : SCD_EURI))
				fail_msg("byte %d, place %u of a host", c, at);
		}
	}
}

/* What looks canonical is not taken apart, but with a scheme in upper case all
 * is: of random URIs the same becomes of both, and of most of them something.
 */
static void both_ways_agree(void **state)
{
	static const char bytes[] = "aaaabcdefg0123456789-..//::??##@%[]AZ\x80";
	uint64_t random = 1;
	unsigned good = 0, written = 0;

	(void)state;
	for (int n = 0; n < 200000; n++) {
		char uri[64] = "http://", a[64], b[64];
		size_t at = 7, end = 8 + random_below(&random, 30);
		int error;

		if (n % 2)
			at = (size_t)sprintf(uri, "https://h%s",
					     n % 4 == 1 ? ":8080/" : "");
		for (; at < end; at++)
			uri[at] = bytes[random_below(&random,
						     sizeof(bytes) - 1)];
		uri[at] = '\0';
		error = scd_uri_canonical(uri, at, a, sizeof(a), NULL);
		written += scd__uri_written_path(uri, at) != 0;
		assert_true(!scd__uri_written_path(uri, at) ||
			    !strcmp(uri, a));
		memcpy(uri, "HTTP", 4);
		if (scd_uri_canonical(uri, at, b, sizeof(b), NULL) != error ||
		    (!error && strcmp(a, b) != 0))
			fail_msg("%s: %d", uri, error);
		good += !error;
	}
	assert_true(good > written && written > 10000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(spellings),
		cmocka_unit_test(canonical_is_a_fixed_point),
		cmocka_unit_test(every_smaller_buffer_is_refused),
		cmocka_unit_test(nul_bytes_are_refused),
		cmocka_unit_test(bytes_are_judged_in_all_places),
		cmocka_unit_test(both_ways_agree),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
