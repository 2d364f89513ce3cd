/*
 * The guard: requests that all implementations read alike, and all the shapes
 * that some do not.
 */
#include "tests/unit.h"

#include <stdlib.h>

#include "digestd/http/guard.h"
#include "tests/http/message.h"

#define HOST "Host: h\n"

static const struct {
	const char *method, *target;
	unsigned minor;
	const char *fields;
	unsigned status; /* 0: accepted */
} rows[] = {
	{ "GET", "/", 1, HOST, 0 },
	{ "GET", "/", 0, NULL, 0 },
	{ "GET", "/", 0, HOST, 0 },
	{ "FOO", "/", 1, HOST, 0 },
	{ "M-SEARCH", "/a?b=c&d=%20;x", 1, HOST, 0 },
	{ "GET", "/a:b@c//../", 1, HOST, 0 },
	{ "GET", "/", 1, "Host: www.example.com:8080", 0 },
	{ "GET", "/", 1, "Host: [2001:db8::1]:80", 0 },
	{ "GET", "/", 1, HOST "X: \xe4\ttab\nY: \nZ: \"q\"", 0 },
	{ "OPTIONS", "*", 1, HOST, 0 },
	{ "POST", "/", 1, HOST "Content-Length: 0", 0 },
	{ "POST", "/", 1, HOST "Content-Length: 0012", 0 },
	{ "POST", "/", 1, HOST "Content-Length: 999999999999999999", 0 },
	{ "POST", "/", 1, HOST "Transfer-Encoding: chunked", 0 },
	{ "POST", "/", 1, HOST "Transfer-Encoding: Chunked", 0 },
	{ "POST", "/", 1, HOST "Expect: 100-Continue", 0 },
	/* methods */
	{ "", "/", 1, HOST, 400 },
	{ "GE T", "/", 1, HOST, 400 },
	{ "G\x01T", "/", 1, HOST, 400 },
	{ "GET:", "/", 1, HOST, 400 },
	{ "CONNECT", "h:443", 1, HOST, 501 },
	{ "TRACE", "/", 1, HOST, 501 },
	/* targets */
	{ "GET", "", 1, HOST, 400 },
	{ "GET", "/a b", 1, HOST, 400 },
	{ "GET", "/a\tb", 1, HOST, 400 },
	{ "GET", "/\x7f", 1, HOST, 400 },
	{ "GET", "/\xc3\xa4", 1, HOST, 400 },
	{ "GET", "/a#b", 1, HOST, 400 },
	{ "GET", "http://h/#", 1, HOST, 400 },
	{ "GET", "*", 1, HOST, 400 },
	{ "OPTIONS", "*x", 1, HOST, 400 },
	{ "GET", "h", 1, HOST, 400 },
	{ "GET", "h:80", 1, HOST, 400 },
	{ "GET", "?a", 1, HOST, 400 },
	{ "GET", "//", 1, HOST, 0 },
	{ "GET", "ftp://h/", 1, HOST, 400 },
	{ "GET", "file:///etc/passwd", 1, HOST, 400 },
	/* absolute targets, and Host beside them */
	{ "GET", "http://h/", 1, HOST, 0 },
	{ "GET", "http://h", 1, HOST, 0 },
	{ "GET", "http://h?x", 1, HOST, 0 },
	{ "GET", "HTTP://H:80/x", 1, HOST, 0 },
	{ "GET", "http://h./x", 1, HOST, 0 },
	{ "GET", "https://h/", 1, HOST, 0 },
	{ "GET", "https://h:443/", 1, HOST, 0 },
	{ "GET", "https://h:80/", 1, HOST, 400 },
	{ "GET", "http://h/", 1, "Host: H:80", 0 },
	{ "GET", "http://h:8080/", 1, "Host: h:8080", 0 },
	{ "GET", "http://h/", 0, NULL, 0 },
	{ "GET", "http://h/a@b", 1, HOST, 0 },
	{ "GET", "http://h/", 1, NULL, 400 },
	{ "GET", "http://h/", 1, "Host: g", 400 },
	{ "GET", "http://h:8080/", 1, HOST, 400 },
	{ "GET", "http://h/", 1, "Host: hh", 400 },
	{ "GET", "http://hh/", 1, HOST, 400 },
	{ "GET", "http://g/", 0, HOST, 400 },
	{ "GET", "http:///", 1, HOST, 400 },
	{ "GET", "http://", 1, HOST, 400 },
	{ "GET", "http:h", 1, HOST, 400 },
	{ "GET", "http:/h/", 1, HOST, 400 },
	{ "GET", "http://u@h/", 1, HOST, 400 },
	{ "GET", "http://u:p@h/", 1, HOST, 400 },
	{ "GET", "http://h:0/", 1, "Host: h:0", 400 },
	{ "GET", "http://h:65536/", 1, HOST, 400 },
	{ "GET", "http://h\\/", 1, HOST, 400 },
	/* Host */
	{ "GET", "/", 1, NULL, 400 },
	{ "GET", "/", 1, "Host: ", 400 },
	{ "GET", "/", 0, "Host: ", 400 },
	{ "GET", "/", 1, "Host: h\nHost: h", 400 },
	{ "GET", "/", 1, "Host: h\nhost: g", 400 },
	{ "GET", "/", 1, "Host: a b", 400 },
	{ "GET", "/", 1, "Host: u@h", 400 },
	{ "GET", "/", 1, "Host: h/x", 400 },
	{ "GET", "/", 1, "Host: h?x", 400 },
	{ "GET", "/", 1, "Host: h#x", 400 },
	{ "GET", "/", 1, "Host: http://h", 400 },
	{ "GET", "/", 1, "Host: h:x", 400 },
	{ "GET", "/", 1, "Host: h:80:80", 400 },
	{ "GET", "/", 1, "Host: [::1", 400 },
	{ "GET", "/", 1, "Host: [1:2]", 400 },
	{ "GET", "/", 1, "Host: [::1]:80", 0 },
	{ "GET", "/", 1, "Host: \xe4", 400 },
	{ "GET", "/", 1, "Host: :80", 400 },
	/* names and values */
	{ "GET", "/", 1, HOST "Bad Name: x", 400 },
	{ "GET", "/", 1, HOST "Name : x", 400 },
	{ "GET", "/", 1, HOST ": x", 400 },
	{ "GET", "/", 1, HOST "N\x01: x", 400 },
	{ "GET", "/", 1, HOST "N(): x", 400 },
	{ "GET", "/", 1, HOST "N\xe4: x", 400 },
	{ "GET", "/", 1, HOST "A: x\ry", 400 },
	{ "GET", "/", 1, HOST "A: \x01", 400 },
	{ "GET", "/", 1, HOST "A: \x7f", 400 },
	{ "GET", "/", 1, HOST "A: x\x1b[0m", 400 },
	/* the length of the body, said in one way only */
	{ "POST", "/", 1, HOST "Content-Length: 1\nContent-Length: 1", 400 },
	{ "POST", "/", 1, HOST "Content-Length: 1\ncontent-length: 2", 400 },
	{ "POST", "/", 1, HOST "Content-Length: 1, 1", 400 },
	{ "POST", "/", 1, HOST "Content-Length: ", 400 },
	{ "POST", "/", 1, HOST "Content-Length: -1", 400 },
	{ "POST", "/", 1, HOST "Content-Length: +1", 400 },
	{ "POST", "/", 1, HOST "Content-Length: 0x1", 400 },
	{ "POST", "/", 1, HOST "Content-Length: 1 ", 400 },
	{ "POST", "/", 1, HOST "Content-Length: 1.0", 400 },
	{ "POST", "/", 1, HOST "Content-Length: 1000000000000000000", 400 },
	{ "POST", "/", 1,
	  HOST "Content-Length: 1\nTransfer-Encoding: chunked", 400 },
	{ "POST", "/", 1,
	  HOST "Transfer-Encoding: chunked\nContent-Length: 0", 400 },
	{ "POST", "/", 0, HOST "Transfer-Encoding: chunked", 400 },
	{ "POST", "/", 1,
	  HOST "Transfer-Encoding: chunked\nTransfer-Encoding: chunked", 400 },
	{ "POST", "/", 1,
	  HOST "Transfer-Encoding: x\nTransfer-Encoding: chunked", 400 },
	{ "POST", "/", 1, HOST "Transfer-Encoding: gzip, chunked", 501 },
	{ "POST", "/", 1, HOST "Transfer-Encoding: chunked, chunked", 501 },
	{ "POST", "/", 1, HOST "Transfer-Encoding: identity", 501 },
	{ "POST", "/", 1, HOST "Transfer-Encoding: \"chunked\"", 501 },
	{ "POST", "/", 1, HOST "Transfer-Encoding: xchunked", 501 },
	{ "POST", "/", 1, HOST "Transfer-Encoding: ", 501 },
	{ "POST", "/", 1, HOST "Transfer-Encoding: chunked;x=y", 501 },
	{ "POST", "/", 1, HOST "Expect: 200-ok", 417 },
};

static struct guard_verdict check(const char *method, const char *target,
				  unsigned minor, const struct fields *f)
{
	struct guard_request r = { method, target, strlen(target), minor, f };

	return guard_check(&r);
}

static void shapes(void **state)
{
	(void)state;
	for (size_t i = 0; i < NROWS(rows); i++) {
		struct guard_verdict v;
		struct fields f;

		message_must(&f, rows[i].fields);
		v = check(rows[i].method, rows[i].target, rows[i].minor, &f);
		if (v.status != rows[i].status)
			fail_msg("row %zu: %s %s: %u %s", i, rows[i].method,
				 rows[i].target, v.status,
				 v.reason ? v.reason : "");
		assert_int_equal(v.status != 0, v.reason != NULL);
		fields_free(&f);
	}
}

static void nul_in_the_target(void **state)
{
	struct guard_request r = { "GET", "/a\0b", 4, 1, NULL };
	struct fields f;

	(void)state;
	message_must(&f, HOST);
	r.fields = &f;
	assert_int_equal(guard_check(&r).status, 400);
	fields_free(&f);
}

/* One more than a limit is refused, the limit itself is not. */
static void limits(void **state)
{
	char target[GUARD_MAX_TARGET + 2];
	char host[400];
	struct fields f;

	(void)state;
	message_must(&f, HOST);
	memset(target, 'a', sizeof(target) - 1);
	target[0] = '/';
	target[GUARD_MAX_TARGET + 1] = '\0';
	assert_int_equal(check("GET", target, 1, &f).status, 414);
	target[GUARD_MAX_TARGET] = '\0';
	assert_int_equal(check("GET", target, 1, &f).status, 0);
	while (fields_count(&f) < GUARD_MAX_FIELDS)
		assert_int_equal(fields_add(&f, "X", "y"), 0);
	assert_int_equal(check("GET", "/", 1, &f).status, 0);
	assert_int_equal(fields_add(&f, "X", "y"), 0);
	assert_int_equal(check("GET", "/", 1, &f).status, 431);
	fields_clear(&f);
	memset(host, 'a', sizeof(host) - 1);
	host[sizeof(host) - 1] = '\0';
	assert_int_equal(fields_add(&f, "Host", host), 0);
	assert_int_equal(check("GET", "/", 1, &f).status, 400);
	fields_free(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(shapes),
		cmocka_unit_test(nul_in_the_target),
		cmocka_unit_test(limits),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
