/*
 * Requests of HTTP/2 as lines of HTTP/1.1.
 */
#include <string.h>

#include "digestd/http/request_lines.h"
#include "tests/codec/alloc.h"
#include "tests/unit.h"

#define GET ":method\0GET\0:scheme\0http\0:authority\0h\0:path\0/\0"
#define ROW(fields) fields, sizeof(fields) - 1
#define GOT "GET / HTTP/1.1\r\nhost: h\r\n"

static const struct request_limits limits = { 8000, 1024 };

/* Names and values, each with a zero behind it; of a connection without TLS. */
/* clang-format off */
static const struct {
	const char *label, *fields;
	size_t len;
	enum message_fault fault;
	const char *lines; /* null: refused */
} rows[] = {
	{ "a GET", ROW(GET), MESSAGE_OK, GOT "\r\n" },
	{ "in another order", ROW(":path\0/a?b\0:authority\0h:8\0:scheme\0HTTP\0:method\0GET\0"),
	  MESSAGE_OK, "GET /a?b HTTP/1.1\r\nhost: h:8\r\n\r\n" },
	{ "with fields", ROW(GET "accept\0*/*\0te\0trailers\0x\0\0"),
	  MESSAGE_OK, GOT "accept: */*\r\nte: trailers\r\nx: \r\n\r\n" },
	{ "another scheme", ROW(":method\0GET\0:scheme\0https\0:authority\0h\0:path\0/p\0"),
	  MESSAGE_OK, "GET https://h/p HTTP/1.1\r\nhost: h\r\n\r\n" },
	{ "another scheme, and Host", ROW(":method\0GET\0:scheme\0https\0:path\0/p\0host\0h\0"),
	  MESSAGE_OK, "GET /p HTTP/1.1\r\nhost: h\r\n\r\n" },
	{ "OPTIONS *", ROW(":method\0OPTIONS\0:scheme\0https\0:authority\0h\0:path\0*\0"),
	  MESSAGE_OK, "OPTIONS * HTTP/1.1\r\nhost: h\r\n\r\n" },
	{ "CONNECT", ROW(":method\0CONNECT\0:authority\0h:443\0"),
	  MESSAGE_OK, "CONNECT h:443 HTTP/1.1\r\nhost: h:443\r\n\r\n" },
	{ "cookies", ROW(GET "cookie\0a=1\0accept\0*/*\0cookie\0b=2\0cookie\0c=3\0"),
	  MESSAGE_OK, GOT "accept: */*\r\ncookie: a=1; b=2; c=3\r\n\r\n" },
	{ "the same Host", ROW(GET "host\0H:80\0a\0b\0"),
	  MESSAGE_OK, GOT "a: b\r\n\r\n" },
	{ "another Host", ROW(GET "host\0i\0"), MESSAGE_HOST_DIFFERS, NULL },
	{ "a Host that is none", ROW(GET "host\0h h\0"), MESSAGE_HOST_DIFFERS, NULL },
	{ "two Hosts", ROW(":method\0GET\0:scheme\0http\0:path\0/\0host\0h\0host\0h\0"),
	  MESSAGE_HOST_REPEATED, NULL },
	{ "no Host", ROW(":method\0GET\0:scheme\0http\0:path\0/\0"), MESSAGE_HOST_MISSING, NULL },
	{ "no authority", ROW(":method\0GET\0:scheme\0http\0:authority\0a@h\0:path\0/\0"),
	  MESSAGE_HOST, NULL },
	{ "no method", ROW(":scheme\0http\0:authority\0h\0:path\0/\0"), MESSAGE_PSEUDO_FIELD, NULL },
	{ "no scheme", ROW(":method\0GET\0:authority\0h\0:path\0/\0"), MESSAGE_PSEUDO_FIELD, NULL },
	{ "no path", ROW(":method\0GET\0:scheme\0http\0:authority\0h\0"), MESSAGE_PSEUDO_FIELD, NULL },
	{ "an empty path", ROW(":method\0GET\0:scheme\0http\0:path\0\0"), MESSAGE_PSEUDO_FIELD, NULL },
	{ "nothing", ROW(""), MESSAGE_PSEUDO_FIELD, NULL },
	{ "a repeated one", ROW(GET ":path\0/\0"), MESSAGE_PSEUDO_FIELD, NULL },
	{ "a late one", ROW(":method\0GET\0:scheme\0http\0:path\0/\0a\0b\0:authority\0h\0"),
	  MESSAGE_PSEUDO_FIELD, NULL },
	{ "an unknown one", ROW(GET ":protocol\0websocket\0"), MESSAGE_PSEUDO_FIELD, NULL },
	{ "one of responses", ROW(GET ":status\0" "200\0"), MESSAGE_PSEUDO_FIELD, NULL },
	{ "CONNECT with a path", ROW(":method\0CONNECT\0:authority\0h:1\0:path\0/\0"),
	  MESSAGE_PSEUDO_FIELD, NULL },
	{ "a blank in the path", ROW(":method\0GET\0:scheme\0http\0:path\0/ HTTP/1.1\0"),
	  MESSAGE_PSEUDO_FIELD, NULL },
	{ "a line's end in the path", ROW(":method\0GET\0:scheme\0http\0:path\0/\r\nx:y\0"),
	  MESSAGE_PSEUDO_FIELD, NULL },
	{ "a blank in the method", ROW(":method\0GET /\0:scheme\0http\0:path\0/\0"),
	  MESSAGE_PSEUDO_FIELD, NULL },
	{ "a method that is none", ROW(":method\0G(T\0:scheme\0http\0:authority\0h\0:path\0/\0"),
	  MESSAGE_METHOD, NULL },
	{ "another scheme of URIs", ROW(":method\0GET\0:scheme\0ftp\0:authority\0h\0:path\0/\0"),
	  MESSAGE_TARGET_FORM, NULL },
	{ "a URI as path", ROW(":method\0GET\0:scheme\0http\0:authority\0h\0:path\0http://h/\0"),
	  MESSAGE_TARGET_FORM, NULL },
	{ "* of a GET", ROW(":method\0GET\0:scheme\0http\0:authority\0h\0:path\0*\0"),
	  MESSAGE_TARGET_FORM, NULL },
	{ "a fragment", ROW(":method\0GET\0:scheme\0http\0:authority\0h\0:path\0/#a\0"),
	  MESSAGE_TARGET_BYTE, NULL },
	{ "a capital letter", ROW(GET "Accept\0*/*\0"), MESSAGE_FIELD_NAME, NULL },
	{ "no name", ROW(GET "\0a\0"), MESSAGE_FIELD_NAME, NULL },
	{ "a colon in a name", ROW(GET "a:b\0c\0"), MESSAGE_FIELD_NAME, NULL },
	{ "a line's end in a name", ROW(GET "a: b\r\nc\0d\0"), MESSAGE_FIELD_NAME, NULL },
	{ "a line's end in a value", ROW(GET "a\0b\r\nc: d\0"), MESSAGE_FIELD_VALUE, NULL },
	{ "a line feed in a value", ROW(GET "a\0b\nc\0"), MESSAGE_FIELD_VALUE, NULL },
	{ "a blank before a value", ROW(GET "a\0 b\0"), MESSAGE_FIELD_VALUE, NULL },
	{ "a tab behind one", ROW(GET "a\0b\t\0"), MESSAGE_FIELD_VALUE, NULL },
	{ "a line's end in a cookie", ROW(GET "cookie\0a\r\nb: c\0"), MESSAGE_FIELD_VALUE, NULL },
	{ "Connection", ROW(GET "connection\0close\0"), MESSAGE_FIELD_CONNECTION, NULL },
	{ "Keep-Alive", ROW(GET "keep-alive\0" "5\0"), MESSAGE_FIELD_CONNECTION, NULL },
	{ "Proxy-Connection", ROW(GET "proxy-connection\0a\0"), MESSAGE_FIELD_CONNECTION, NULL },
	{ "Transfer-Encoding", ROW(GET "transfer-encoding\0chunked\0"), MESSAGE_FIELD_CONNECTION, NULL },
	{ "Upgrade", ROW(GET "upgrade\0a\0"), MESSAGE_FIELD_CONNECTION, NULL },
	{ "TE", ROW(GET "te\0gzip\0"), MESSAGE_FIELD_CONNECTION, NULL },
	{ "TE with more", ROW(GET "te\0trailers, gzip\0"), MESSAGE_FIELD_CONNECTION, NULL },
	{ "two lengths", ROW(GET "content-length\0" "1\0content-length\0" "1\0"),
	  MESSAGE_LENGTH_REPEATED, NULL },
	{ "an expectation", ROW(GET "expect\0x\0"), MESSAGE_EXPECTATION, NULL },
};
/* clang-format on */

static struct field_part next_word(const char **at)
{
	struct field_part word = { *at, strlen(*at) };

	*at += word.len + 1;
	return word;
}

static void add_all(struct request_lines *l, const char *at, size_t len)
{
	const char *end = at + len;

	while (at < end) {
		struct field_part name = next_word(&at);

		request_lines_add(l, name, next_word(&at));
	}
}

/* As the server does: lines, and what their reader says. */
static enum message_fault judge(struct request_lines *l, const char *fields,
				size_t len, struct field_part *lines)
{
	struct request_head h;
	enum message_fault fault;

	request_lines_begin(l, &limits, false);
	add_all(l, fields, len);
	fault = request_lines_end(l, lines);
	if (fault || l->failed)
		return fault;
	request_head_init(&h, &limits);
	if (request_head_read(&h, lines->at, lines->len) ==
	    REQUEST_HEAD_REFUSED)
		return h.fault;
	assert_int_equal(h.len, lines->len);
	return MESSAGE_OK;
}

static void requests(void **state)
{
	struct request_lines l = { .came = 0 };
	struct field_part lines;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		enum message_fault fault = judge(&l, rows[i].fields,
						 rows[i].len, &lines);

		if (fault != rows[i].fault)
			fail_msg("%s: %s", rows[i].label,
				 message_fault_reason(fault));
		if (fault)
			continue;
		assert_int_equal(lines.len, strlen(rows[i].lines));
		assert_memory_equal(lines.at, rows[i].lines, lines.len);
	}
	request_lines_free(&l);
}

static void an_encrypted_connection(void **state)
{
	static const char fields[] = GET, secure[] =
		":method\0GET\0:scheme\0https\0:authority\0h\0:path\0/\0"
		"host\0h:443\0";
	struct request_lines l = { .came = 0 };
	struct field_part lines;

	(void)state;
	request_lines_begin(&l, &limits, true);
	add_all(&l, fields, sizeof(fields) - 1);
	assert_int_equal(request_lines_end(&l, &lines), MESSAGE_OK);
	assert_memory_equal(lines.at, "GET http://h/ HTTP/1.1\r\n", 24);
	request_lines_begin(&l, &limits, true);
	add_all(&l, secure, sizeof(secure) - 1);
	assert_int_equal(request_lines_end(&l, &lines), MESSAGE_OK);
	assert_memory_equal(lines.at, GOT "\r\n", lines.len);
	request_lines_free(&l);
}

/* What is kept does not grow with what comes. */
static void large_ones(void **state)
{
	static const char fields[] = GET;
	static const struct field_part name = { "a", 1 };
	static char much[9000];
	struct request_lines l = { .came = 0 };
	struct field_part lines;

	(void)state;
	memset(much, 'x', sizeof(much));
	request_lines_begin(&l, &limits, false);
	request_lines_add(&l, (struct field_part){ ":path", 5 },
			  (struct field_part){ much, sizeof(much) });
	assert_int_equal(request_lines_end(&l, &lines), MESSAGE_TARGET_LENGTH);

	request_lines_begin(&l, &limits, false);
	add_all(&l, fields, sizeof(fields) - 1);
	for (int i = 0; i < 3; i++)
		request_lines_add(&l, name, (struct field_part){ much, 9000 });
	assert_false(request_lines_is_flood(&l));
	for (int i = 0; i < 3; i++)
		request_lines_add(&l, name, (struct field_part){ much, 9000 });
	assert_true(request_lines_is_flood(&l));
	assert_true(l.text.cap <= 32768);
	assert_int_equal(request_lines_end(&l, &lines), MESSAGE_HEADER_LENGTH);
	request_lines_free(&l);
}

static void pseudo_fields_are_known_of_what_is_refused(void **state)
{
	static const char fields[] = ":method\0HEAD\0:path\0/\0A\0b\0";
	struct request_lines l = { .came = 0 };
	struct field_part lines, method;

	(void)state;
	assert_int_equal(judge(&l, fields, sizeof(fields) - 1, &lines),
			 MESSAGE_PSEUDO_FIELD);
	method = request_lines_pseudo(&l, REQUEST_LINES_METHOD);
	assert_memory_equal(method.at, "HEAD", method.len);
	assert_int_equal(
		request_lines_pseudo(&l, REQUEST_LINES_SCHEME).len, 0);
	request_lines_free(&l);
}

/* Any allocation may fail, and the next header is none the worse for it. */
static void no_memory(void **state)
{
	static const char fields[] = GET "cookie\0a\0";
	struct field_part lines;

	(void)state;
	for (unsigned n = 1; n <= 2; n++) {
		struct request_lines l = { .came = 0 };

		alloc_fail_at(n);
		judge(&l, fields, sizeof(fields) - 1, &lines);
		assert_true(l.failed && alloc_failed());
		alloc_fail_at(0);
		assert_int_equal(judge(&l, fields, sizeof(fields) - 1, &lines),
				 MESSAGE_OK);
		assert_false(l.failed);
		request_lines_free(&l);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(requests),
		cmocka_unit_test(an_encrypted_connection),
		cmocka_unit_test(large_ones),
		cmocka_unit_test(pseudo_fields_are_known_of_what_is_refused),
		cmocka_unit_test(no_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
