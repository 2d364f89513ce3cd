/*
 * From a request's target and Host to its canonical URI, and from what a
 * response points to.
 */
#include "tests/unit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "codec/uri.h"
#include "digestd/http/target.h"
#include "tests/codec/alloc.h"
#include "tests/codec/random.h"

static const struct {
	const char *raw, *host;
	const char *uri; /* null: refused */
	const char *authority, *path;
} rows[] = {
	{ "/", "h", "http://h/", "h", "/" },
	{ "/a?b", "H:80", "http://h/a?b", "h", "/a?b" },
	{ "/a", "h:8080", "http://h:8080/a", "h:8080", "/a" },
	{ "//a", "h", "http://h//a", "h", "//a" },
	{ "/http://g/", "h", "http://h/http://g/", "h", "/http://g/" },
	{ "/%41/../%7e", "h", "http://h/%41/../%7e", "h", "/%41/../%7e" },
	{ "/", "[::1]:81", "http://[::1]:81/", "[::1]:81", "/" },
	{ "http://g", NULL, "http://g/", "g", "/" },
	{ "http://g?x", "h", "http://g/?x", "g", "/?x" },
	{ "HTTPS://G:443/x", "g", "https://g/x", "g", "/x" },
	{ "/", NULL, NULL, NULL, NULL },
	{ "/", "", NULL, NULL, NULL },
	{ "/", "h/x", NULL, NULL, NULL },
	{ "/", "u@h", NULL, NULL, NULL },
	{ "/", "h?", NULL, NULL, NULL },
	{ "/", "h#", NULL, NULL, NULL },
	{ "/", "a b", NULL, NULL, NULL },
	{ "/a b", "h", NULL, NULL, NULL },
	{ "", "h", NULL, NULL, NULL },
	{ "*", "h", NULL, NULL, NULL },
	{ "h:80", "h", NULL, NULL, NULL },
	{ "ftp://h/", "h", NULL, NULL, NULL },
};

static void targets(void **state)
{
	(void)state;
	for (size_t i = 0; i < NROWS(rows); i++) {
		struct target t;
		int err = target_resolve(&t, rows[i].raw, strlen(rows[i].raw),
					 rows[i].host);

		if (!rows[i].uri) {
			assert_int_equal(err, -EINVAL);
			assert_null(t.uri);
			continue;
		}
		assert_int_equal(err, 0);
		assert_string_equal(t.uri, rows[i].uri);
		assert_int_equal(t.uri_len, strlen(rows[i].uri));
		assert_int_equal(t.host_len, strlen(rows[i].authority));
		assert_memory_equal(t.host, rows[i].authority, t.host_len);
		assert_string_equal(t.path, rows[i].path);
		assert_int_equal(t.absolute, rows[i].raw[0] != '/');
		target_free(&t);
		assert_null(t.uri);
	}
}

static const struct {
	const char *reference;
	const char *uri; /* null: another origin, or none */
} references[] = {
	{ "/x", "http://h/x" },
	{ "/x?y#z", "http://h/x?y" },
	{ "x", "http://h/a/x" },
	{ "x/y?z", "http://h/a/x/y?z" },
	{ "?x", "http://h/a/b?x" },
	{ "", "http://h/a/b?c/d" },
	{ "//h/x", "http://h/x" },
	{ "//H:80", "http://h/" },
	{ "./x", "http://h/a/x" },
	{ "../x?y/../z", "http://h/x?y/../z" },
	{ "../../x", "http://h/x" },
	{ "x/./y/../z#../w", "http://h/a/x/z" },
	{ ".", "http://h/a/" },
	{ "..", "http://h/" },
	{ "x/..", "http://h/a/" },
	{ ".x/..y/...", "http://h/a/.x/..y/..." },
	{ "/x//../y", "http://h/x/y" },
	{ "http://h/x/../y/.", "http://h/y/" },
	{ "#x", "http://h/a/b?c/d" },
	{ "http://h/x", "http://h/x" },
	{ "HTTP://H:80/x", "http://h/x" },
	{ "http://h", "http://h/" },
	{ "http://u@h/x", "http://h/x" },
	{ "http://h:8080/x", NULL },
	{ "https://h/x", NULL },
	{ "http://hh/x", NULL },
	{ "http://h.evil/x", NULL },
	{ "http://g/", NULL },
	{ "//g/x", NULL },
	{ "mailto:x@h", NULL },
	{ "javascript:x", NULL },
	{ "http:", NULL },
	{ "x y", NULL },
	{ "/\x80", NULL },
};

static void pointing(void **state)
{
	struct target t;

	(void)state;
	assert_int_equal(target_resolve(&t, "/a/b?c/d", 8, "h"), 0);
	for (size_t i = 0; i < NROWS(references); i++) {
		char *uri = NULL;
		int err = target_same_origin(&t, references[i].reference, &uri);

		if (!references[i].uri) {
			if (err != -EINVAL)
				fail_msg("%s", references[i].reference);
			continue;
		}
		assert_int_equal(err, 0);
		assert_string_equal(uri, references[i].uri);
		free(uri);
	}
	target_free(&t);
}

enum { JOINED_BYTES = 700 };

/* Appends n of these bytes. */
static void append_any(char *text, uint64_t *random, const char *bytes,
		       size_t n)
{
	const size_t kinds = strlen(bytes);
	size_t len = strlen(text);

	while (n--)
		text[len++] = bytes[random_below(random, kinds)];
	text[len] = '\0';
}

/* Whatever way it takes, a path with a Host is what both are, joined and made
 * canonical; whether that is as they are written, and however long it is. */
static void joined(void **state)
{
	static const size_t lens[] = { 0, 1, 7, 20, 180, 200, 490, 520 };
	uint64_t random = 1;
	unsigned good = 0, as_written = 0;

	(void)state;
	for (unsigned n = 0; n < 40000; n++) {
		char host[64] = "", text[JOINED_BYTES] = "http://";
		char uri[JOINED_BYTES + 1];
		const char *path;
		struct target t;
		size_t len;
		int err;

		append_any(host, &random, n % 2 ? "ab1.-" : "aB.:8[]@#/%",
			   random_below(&random, 20));
		if (n % 3)
			append_any(host, &random, ":", 1);
		if (n % 3)
			append_any(host, &random, "018", 1 + n % 3);
		strcat(text, host);
		path = text + strlen(text);
		append_any(text, &random, "/", 1);
		append_any(text, &random, n % 7 ? "ab/?.%" : "ab/?#\x80 ",
			   lens[random_below(&random, NROWS(lens))] +
				   random_below(&random, 20));
		err = target_resolve(&t, path, strlen(path), host);
		if (!*host || strpbrk(host, "/?#@") ||
		    scd_uri_canonical(text, strlen(text), uri, sizeof(uri),
				      &len)) {
			if (err != -EINVAL)
				fail_msg("%s: %d", text, err);
			continue;
		}
		if (err || t.uri_len != len || strcmp(t.uri, uri) != 0 ||
		    t.host != t.uri + strlen("http://") ||
		    t.path != strchr(t.host, '/') ||
		    t.host_len != (size_t)(t.path - t.host))
			fail_msg("%s: %d", text, err);
		good++;
		as_written += !strcmp(uri, text);
		target_free(&t);
	}
	assert_true(as_written > 5000 && good > as_written + 1000);
}

static void without_memory(void **state)
{
	static const char *const both[] = { "x", "http://h/x" };
	struct target t;
	char *uri;
	unsigned n = 0;
	int err;

	(void)state;
	do {
		alloc_fail_at(++n);
		err = target_resolve(&t, "/", 1, "h");
		assert_int_equal(err, alloc_failed() ? -ENOMEM : 0);
		target_free(&t);
	} while (alloc_failed());
	alloc_fail_at(0);
	assert_int_equal(target_resolve(&t, "/", 1, "h"), 0);
	for (size_t i = 0; i < NROWS(both); i++) {
		n = 0;
		do {
			alloc_fail_at(++n);
			err = target_same_origin(&t, both[i], &uri);
			assert_int_equal(err, alloc_failed() ? -ENOMEM : 0);
			if (!err)
				free(uri);
		} while (alloc_failed());
	}
	target_free(&t);
}

static void other_scheme(void **state)
{
	static const struct {
		const char *from, *scheme, *to;
	} swaps[] = {
		{ "http://h/a?b", "https", "https://h/a?b" },
		{ "https://h/", "http", "http://h/" },
		{ "http://h:8080/", "https", "https://h:8080/" },
		{ "http://h:443/a", "https", "https://h/a" },
		{ "https://h:80/a", "http", "http://h/a" },
		{ "http://[::1]:81/", "http", "http://[::1]:81/" },
	};

	(void)state;
	for (size_t i = 0; i < NROWS(swaps); i++) {
		struct target t;

		assert_int_equal(target_resolve(&t, swaps[i].from,
						strlen(swaps[i].from), NULL),
				 0);
		assert_int_equal(target_set_scheme(&t, swaps[i].scheme), 0);
		assert_string_equal(t.uri, swaps[i].to);
		assert_int_equal(t.uri_len, strlen(t.uri));
		assert_int_equal(target_is_https(&t),
				 !strcmp(swaps[i].scheme, "https"));
		assert_int_equal(*t.path, '/');
		target_free(&t);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(other_scheme),
		cmocka_unit_test(targets),
		cmocka_unit_test(pointing),
		cmocka_unit_test(joined),
		cmocka_unit_test(without_memory),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
