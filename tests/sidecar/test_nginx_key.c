/*
 * What nginx's cache files say of themselves: templates of KEYs, and headers of
 * files; tables of both.
 */
#include <string.h>

#include "digestd/sidecar/nginx_entry.h"
#include "digestd/sidecar/nginx_key.h"
#include "tests/unit.h"

#define DEFAULT "$scheme$proxy_host$request_uri"
#define URL "http://$host$request_uri"

static void test_urls(void **state)
{
	static const struct {
		const char *key, *url, *text, *expected;
	} rows[] = {
		{ DEFAULT, URL, "httpexample.com/a?b",
		  "http://example.com/a?b" },
		{ DEFAULT, URL, "httpsexample.com/a", "http://example.com/a" },
		{ DEFAULT, URL, "https.example/", "http://s.example/" },
		{ DEFAULT, URL, "ftpexample.com/a", NULL },
		{ DEFAULT, URL, "httpexample.com", NULL },
		{ DEFAULT, URL, "http/a", NULL },
		{ DEFAULT, URL, "", NULL },
		{ DEFAULT, "$scheme://$host$request_uri", "httpsh/a",
		  "https://h/a" },
		{ DEFAULT, "http://www.example.com$request_uri",
		  "httpupstream/a", "http://www.example.com/a" },
		{ "$host$request_uri", URL, "h:8080/a//b",
		  "http://h:8080/a//b" },
		{ "$host$uri$is_args$args", URL, "h/a?b", "http://h/a?b" },
		{ "$http_host$request_uri", URL, "[::1]:80/",
		  "http://[::1]:80/" },
		{ "$scheme://$host$request_uri", URL, "https://h/a",
		  "http://h/a" },
		{ "$scheme://$host$request_uri", URL, "http:/h/a", NULL },
		{ "v2|$request_method|$host$request_uri", URL, "v2|GET|h/a",
		  "http://h/a" },
		{ "v2|$request_method|$host$request_uri", URL, "v2|POST|h/a",
		  NULL },
		{ "v2|$request_method|$host$request_uri", URL, "v1|GET|h/a",
		  NULL },
	};
	char out[64];

	(void)state;
	for (size_t i = 0; i < NROWS(rows); i++) {
		struct nginx_key key, url;
		size_t len, want = rows[i].expected ? strlen(rows[i].expected)
						    : 0;

		assert_null(nginx_key_read(rows[i].key, &key));
		assert_null(nginx_key_read(rows[i].url, &url));
		assert_null(nginx_key_fault(&key, &url));
		len = nginx_key_url(&key, &url, rows[i].text,
				    strlen(rows[i].text), out, sizeof(out));
		assert_int_equal(len, want);
		assert_memory_equal(out, rows[i].expected ? rows[i].expected
							  : "", want);
		/* no room for the last byte */
		assert_int_equal(nginx_key_url(&key, &url, rows[i].text,
					       strlen(rows[i].text), out,
					       want ? want - 1 : 0), 0);
	}
}

static void test_faults(void **state)
{
	static const struct {
		const char *key, *url, *fault; /* the beginning */
	} rows[] = {
		{ "$host$cookie_x$request_uri", URL, "has a variable" },
		{ "$hostname$request_uri", URL, "has a variable" },
		{ "$$", URL, "has a variable" },
		{ "$host$host$request_uri", URL, "nginx_key has a variable t" },
		{ "$host", URL, "nginx_url has a variable" },
		{ "$request_uri$host", URL, "nginx_key has no $request_uri" },
		{ "$request_uri|", "http://h$request_uri",
		  "nginx_key has no $request_uri" },
		{ "$request_uri", URL, "nginx_url has a variable" },
		{ "$host$request_uri", "http://$host/",
		  "nginx_url has no $request_uri" },
		{ "1$scheme2$scheme3$scheme4$scheme5$scheme6$scheme7$scheme8"
		  "$scheme9$scheme", URL, "has more than 16" },
	};
	static char longest[NGINX_KEY_TEXT + 2];
	struct nginx_key key, url;

	(void)state;
	for (size_t i = 0; i < NROWS(rows); i++) {
		const char *fault = nginx_key_read(rows[i].key, &key);

		assert_null(nginx_key_read(rows[i].url, &url));
		if (!fault)
			fault = nginx_key_fault(&key, &url);
		assert_non_null(fault);
		assert_memory_equal(fault, rows[i].fault,
				    strlen(rows[i].fault));
	}
	memset(longest, 'x', sizeof(longest) - 1);
	assert_string_equal(nginx_key_read(longest, &key),
			    "has more than 256 bytes of text");
}

/* A header of version 5, as nginx 1.22 writes it. */
static size_t make_header(char *to, uint64_t version, int64_t valid_s,
			  const char *key)
{
	memset(to, 0, 336);
	memcpy(to, &version, sizeof(version));
	memcpy(to + 8, &valid_s, sizeof(valid_s));
	memcpy(to + 336, "\nKEY: ", 6);
	memcpy(to + 342, key, strlen(key));
	to[342 + strlen(key)] = '\n';
	return 343 + strlen(key);
}

static void test_headers(void **state)
{
	char bytes[NGINX_ENTRY_BYTES];
	struct nginx_entry entry;
	size_t len = make_header(bytes, 5, 1234567890, "httph/a");

	(void)state;
	assert_int_equal(nginx_entry_read(bytes, len, &entry),
			 NGINX_ENTRY_GOOD);
	assert_int_equal(entry.version, 5);
	assert_int_equal(entry.valid_s, 1234567890);
	assert_int_equal(entry.key_len, 7);
	assert_memory_equal(entry.key, "httph/a", 7);
	/* cut at every length */
	for (size_t n = 0; n < len; n++) {
		enum nginx_entry_fault fault =
			nginx_entry_read(bytes, n, &entry);

		assert_int_equal(fault, n < 342 ? NGINX_ENTRY_NO_KEY :
						  NGINX_ENTRY_SHORT);
	}
	for (uint64_t version = 0; version < 9; version++) {
		make_header(bytes, version, 1, "httph/a");
		assert_int_equal(nginx_entry_read(bytes, len, &entry),
				 version >= NGINX_ENTRY_OLDEST &&
				 version <= NGINX_ENTRY_NEWEST ?
					 NGINX_ENTRY_GOOD :
					 NGINX_ENTRY_VERSION);
		assert_int_equal(entry.version, version);
	}
	/* a key so far behind is none of a header's */
	memset(bytes, 0, sizeof(bytes));
	bytes[0] = 5;
	memcpy(bytes + 2000, "\nKEY: a\n", 8);
	assert_int_equal(nginx_entry_read(bytes, sizeof(bytes), &entry),
			 NGINX_ENTRY_NO_KEY);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_urls),
		cmocka_unit_test(test_faults),
		cmocka_unit_test(test_headers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
