/*
 * Each text format: a table of records with the request or the reason that
 * they give; detection by content; records that come in odd sizes.
 */
#include "tests/unit.h"

#include <stdio.h>
#include <string.h>

#include "cachesim/trace/format.h"

struct row {
	const char *label, *format, *record;
	int result;
	int64_t time_ms;
	const char *client, *method, *url;
	unsigned status;
	int64_t size; /* -1: none */
};

#define CLF "h - - [09/Jul/1995:00:00:01 -0400] "
#define CLF_MS 805262401000

/* The rest of a row whose record gives no request. */
#define NO(result) TRACE_##result, 0, NULL, NULL, NULL, 0, -1

/* clang-format off */
static const struct row rows[] = {
	{ "common", "clf", CLF "\"GET /a HTTP/1.0\" 200 6245", 0,
	  CLF_MS, "h", "GET", "http://b/a", 200, 6245 },
	{ "combined", "clf",
	  CLF "\"HEAD /a?x=1 HTTP/1.1\" 304 - \"http://r/\" \"Agent (1)\"", 0,
	  CLF_MS, "h", "HEAD", "http://b/a?x=1", 304, -1 },
	{ "zone", "clf",
	  "h - - [29/Feb/2000:23:59:60 +0530] \"GET / HTTP/1.0\" 200 1", 0,
	  951848999000 + 1000, "h", "GET", "http://b/", 200, 1 },
	{ "absolute", "clf", CLF "\"GET http://X/y HTTP/1.0\" 200 1", 0,
	  CLF_MS, "h", "GET", "http://X/y", 200, 1 },
	{ "no version", "clf", CLF "\"GET /a\" 200 1", 0,
	  CLF_MS, "h", "GET", "http://b/a", 200, 1 },
	{ "blank inside", "clf", CLF "\"GET /a b HTTP/1.0\" 200 1", 0,
	  CLF_MS, "h", "GET", "http://b/a", 200, 1 },
	{ "quote inside", "clf", CLF "\"GET /a\"b HTTP/1.0\" 404 -", 0,
	  CLF_MS, "h", "GET", "http://b/a\"b", 404, -1 },
	{ "empty", "clf", "", NO(SKIP) },
	{ "no time", "clf", "h - - \"GET / HTTP/1.0\" 200 1", NO(ETIME) },
	{ "month", "clf",
	  "h - - [09/Foo/1995:00:00:01 -0400] \"GET / \" 200 1", NO(ETIME) },
	{ "no request", "clf", CLF "200 1", NO(EREQUEST) },
	{ "method", "clf", CLF "\"G@T / HTTP/1.0\" 200 1", NO(EMETHOD) },
	{ "no url", "clf", CLF "\"GET HTTP/1.0\" 200", NO(EFIELDS) },
	{ "status", "clf", CLF "\"GET / HTTP/1.0\" 999 1", NO(ESTATUS) },
	{ "size", "clf", CLF "\"GET / HTTP/1.0\" 200 1x", NO(ESIZE) },
	{ "size overflows", "clf",
	  CLF "\"GET / HTTP/1.0\" 200 99999999999999999999", NO(ESIZE) },

	{ "native", "squid",
	  "1066036250.603  310 10.1.2.3 TCP_MISS/200 4567 GET http://x/ - D/-",
	  0, 1066036250603, "10.1.2.3", "GET", "http://x/", 200, 4567 },
	{ "aborted", "squid", "1.5 0 c NONE/000 0 GET http://x/y - - -", 0,
	  1500, "c", "GET", "http://x/y", 0, 0 },
	{ "comment", "squid", "# log", NO(SKIP) },
	{ "time", "squid", "x 0 c A/200 0 GET http://x/", NO(ETIME) },
	{ "no status", "squid", "1 0 c A 0 GET http://x/", NO(ESTATUS) },
	{ "size", "squid", "1 0 c A/200 -1 GET http://x/", NO(ESIZE) },
	{ "ends early", "squid", "1 0 c A/200 5", NO(EFIELDS) },
	{ "no url", "squid", "1 0 c A/200 5 GET", NO(EURL) },

	{ "four", "csv", "1.25,me,http://x/,77", 0,
	  1250, "me", "GET", "http://x/", 0, 77 },
	{ "tabs", "csv", "2\thttp://x/\t5", 0,
	  2000, "", "GET", "http://x/", 0, 5 },
	{ "milliseconds", "csv", "1700000000123,k", 0,
	  1700000000123, "", "GET", "k", 0, -1 },
	{ "quoted", "csv", "1,\"http://x/\"\"a\"\",b\",5", 0,
	  1000, "", "GET", "http://x/\"a\",b", 0, 5 },
	{ "header", "csv", "time,url,size", NO(SKIP) },
	{ "open quote", "csv", "1,\"http://x/,5", NO(EFIELDS) },
	{ "time", "csv", "soon,http://x/,5", NO(ETIME) },
	{ "size", "csv", "1,http://x/,big", NO(ESIZE) },
	{ "no url", "csv", "1,,5", NO(EURL) },

	{ "key", "keys", "abc", 0, 0, "", "GET", "abc", 0, -1 },
	{ "path", "keys", "/abc", 0, 0, "", "GET", "http://b/abc", 0, -1 },
	{ "control", "keys", "a\tb", NO(EURL) },
};
/* clang-format on */

static void same_text(const char *label, const char *what, const char *want,
		      struct trace_text got)
{
	if (got.len != strlen(want) || memcmp(got.at, want, got.len))
		fail_msg("%s: %s is \"%.*s\", not \"%s\"", label, what,
			 (int)got.len, got.at, want);
}

static void records_are_parsed(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct row *r = &rows[i];
		struct trace_text t = { r->record, strlen(r->record) };
		struct trace_request q;
		struct trace_parser p;
		int got;

		assert_int_equal(trace_parser_init(
					 &p, trace_format_named(r->format),
					 "http://b/"), 0);
		got = trace_parse(&p, t, &q);
		if (got != r->result)
			fail_msg("%s %s: %d, not %d", r->format, r->label,
				 got, r->result);
		if (got == 0) {
			assert_int_equal(q.time_ms, r->time_ms);
			same_text(r->label, "client", r->client, q.name);
			same_text(r->label, "method", r->method, q.method);
			same_text(r->label, "url", r->url, q.url);
			assert_int_equal(q.status, r->status);
			assert_int_equal(q.has_size ? (int64_t)q.size : -1,
					 r->size);
		}
		trace_parser_free(&p);
	}
}

static void columns_are_chosen(void **state)
{
	static const struct {
		const char *spec;
		int result;
	} specs[] = {
		{ "time,client,-,url", 0 }, { "url=4,size=1", 0 },
		{ "time", TRACE_EOPTION },  { "url=0", TRACE_EOPTION },
		{ "colour", TRACE_EOPTION }, { "", TRACE_EOPTION },
	};
	struct trace_request q;

	(void)state;
	for (size_t i = 0; i < sizeof(specs) / sizeof(specs[0]); i++) {
		struct trace_text t = { "7,c,x,http://u/", 15 };
		struct trace_parser p;

		trace_parser_init(&p, &trace_csv, NULL);
		assert_int_equal(trace_parser_columns(&p, specs[i].spec),
				 specs[i].result);
		if (specs[i].result == 0) {
			assert_int_equal(trace_parse(&p, t, &q), 0);
			same_text(specs[i].spec, "url", "http://u/", q.url);
		}
		trace_parser_free(&p);
	}
}

static void formats_are_detected(void **state)
{
	static const struct {
		const char *sample, *format;
	} samples[] = {
		{ CLF "\"GET / HTTP/1.0\" 200 1\n", "clf" },
		{ "1.5 0 c TCP_HIT/200 9 GET http://x/ - - -\n", "squid" },
		{ "url,size\nhttp://x/,5\n", "csv" },
		{ "1,http://x/,5\n", "csv" },
		{ "http://x/\nhttp://y/\n", "keys" },
		{ "\1\2\3", NULL },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(samples) / sizeof(samples[0]); i++) {
		struct trace_text t = { samples[i].sample,
					strlen(samples[i].sample) };
		const struct trace_format *f = trace_format_detect(t);

		assert_string_equal(f ? f->name : "none",
				    samples[i].format ? samples[i].format
						      : "none");
	}
}

static void numbers_are_keys(void **state)
{
	static const char record[24] = { 5, 0, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0,
					 9, 1 };
	struct trace_request q;
	struct trace_parser p;

	(void)state;
	trace_parser_init(&p, &trace_oracle, NULL);
	assert_int_equal(
		trace_parse(&p, (struct trace_text){ record, 24 }, &q), 0);
	assert_int_equal(q.time_ms, 5000);
	assert_int_equal(q.key, 7);
	assert_int_equal(q.size, 265);
	same_text("oracle", "url", "7", q.url);
	trace_parser_free(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(records_are_parsed),
		cmocka_unit_test(columns_are_chosen),
		cmocka_unit_test(formats_are_detected),
		cmocka_unit_test(numbers_are_keys),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
