/*
 * Each text format: a table of records with the request or the reason that
 * they give; detection by content; records that come in odd sizes.
 */
#include "tests/unit.h"

#include <stdbool.h>
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
	{ "sanitized", "squid",
	  "1168300799.906 151 185.6.87.32 TCP_REFRESH_HIT/304 411 GET "
	  "http://c3d8.com/8ab7cfe1 - DIRECT/c3d8.com -", 0,
	  1168300799906, "185.6.87.32", "GET", "http://c3d8.com/8ab7cfe1",
	  304, 411 },
	{ "query", "squid",
	  "1.5 0 c UDP_MISS/000 52 ICP_QUERY http://x/ - NONE/- -", NO(SKIP) },
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
	{ "time", "csv", "soon,http://x/,5", NO(EHEADER) },
	{ "size", "csv", "1,http://x/,big", NO(EHEADER) },
	{ "no url", "csv", "1,,5", NO(EHEADER) },

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

struct csv_case {
	const char *spec, *text; /* records with | between them */
	int result;		 /* of the last one */
	int64_t time_ms;
	const char *client, *url;
	int64_t size;
};

/* clang-format off */
static const struct csv_case csv_cases[] = {
	{ "time-col=1, obj-id-col=2, obj-size-col=3, delimiter=;, "
	  "has-header=true", "a;b;c|7;u;8", 0, 7000, "", "u", 8 },
	{ "time-field=3,OBJ_ID_FIELD=1,delimiter=,,has-header=false",
	  "u,b,7", 0, 7000, "", "u", -1 },
	{ "url=2,delimiter=\\t", "1,2\t3", 0, 0, "", "3", -1 },
	{ "url=target,size=sent", "sent,x,Target|5,6,u", 0, 0, "", "u", 5 },
	{ "url=target", "sent,x|5,6", TRACE_EFIELDS, 0, NULL, NULL, 0 },
	{ "url=2,obj-id-is-num=1", "x,0017", 0, 0, "", "17", -1 },
	{ "url=2,obj-id-is-num=1", "x,a17", TRACE_EKEY, 0, NULL, NULL, 0 },
	{ "url=2,has-header=0", "id,url", 0, 0, "", "url", -1 },
	{ "delimiter=;", "1;c,d;u,v;9", 0, 1000, "c,d", "u,v", 9 },
	{ "has-header=1", "1,2,3|4,u,6", 0, 4000, "", "u", 6 },
	{ "client=1,url=3,time=4", "c,u,v,5.25,6", 0, 5250, "c", "v", -1 },
	{ "url=7", "1,2,3", TRACE_EFIELDS, 0, NULL, NULL, 0 },
};
/* clang-format on */

/* Parses the records of a text one by one; the result of the last. */
static int parse_each(struct trace_parser *p, const char *text,
		      struct trace_request *q)
{
	int got = TRACE_EFIELDS;

	for (bool more = true; more;) {
		const char *end = strchr(text, '|');
		size_t len = end ? (size_t)(end - text) : strlen(text);

		got = trace_parse(p, (struct trace_text){ text, len }, q);
		more = end != NULL;
		text += len + 1;
	}
	return got;
}

static void layouts_of_csv(void **state)
{
	(void)state;
	for (size_t i = 0; i < NROWS(csv_cases); i++) {
		const struct csv_case *c = &csv_cases[i];
		struct trace_request q;
		struct trace_parser p;
		int got;

		assert_int_equal(trace_parser_init(&p, &trace_csv, NULL), 0);
		assert_int_equal(trace_parser_columns(&p, c->spec), 0);
		got = parse_each(&p, c->text, &q);
		if (got != c->result)
			fail_msg("%s: %d, not %d", c->spec, got, c->result);
		if (!got) {
			assert_int_equal(q.time_ms, c->time_ms);
			same_text(c->spec, "client", c->client, q.name);
			same_text(c->spec, "url", c->url, q.url);
			assert_int_equal(q.has_size ? (int64_t)q.size : -1,
					 c->size);
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
		{ "url=65", TRACE_EOPTION }, { "url=", TRACE_EOPTION },
		{ "colour=1", TRACE_EOPTION },
		{ "url=4,has-header=maybe", TRACE_EOPTION },
		{ "url=4,delimiter=ab", TRACE_EOPTION },
		{ "url=4,delimiter=\n", TRACE_EOPTION },
		{ "url=4,obj-id-is-num=2", TRACE_EOPTION },
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
		{ "# a comment\n\n1,http://x/,5\n", "csv" },
		{ "1 http://x/ 5\n2 http://y/ 6\n", "csv" },
		{ "1 http://x/ 5\n2  http://y/ 6\n", NULL },
		{ "two words\n", "csv" },
		{ "two\twords\n", "csv" },
		{ "http://x/\nhttp://y/\n", "keys" },
		/* as numbers these were times and next accesses */
		{ "abc\nabc\nabc\nabc\nabc\nabc\n"
		  "abc\nabc\nabc\nabc\nabc\nabc\n", "keys" },
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

struct binary_case {
	const char *format, *spec;
	const char *bytes;
	size_t len;
	int result;
	int64_t time_ms, size; /* -1: none */
	uint64_t key;
	const char *client, *url;
};

#define BYTES(text) text, sizeof(text) - 1
#define ZEROS4 "\0\0\0\0"

/* clang-format off */
static const struct binary_case binary_cases[] = {
	{ "oracleGeneral", NULL,
	  BYTES("\5\0\0\0" "\7" ZEROS4 "\0\0\0" "\11\1\0\0" ZEROS4 ZEROS4),
	  0, 5000, 265, 7, "", "7" },
	{ "i32le", NULL, BYTES("\1\2\0\377"),
	  0, 0, -1, 0xff000201, "", "4278190593" },
	{ "i32be", NULL, BYTES("\377\0\2\1"),
	  0, 0, -1, 0xff000201, "", "4278190593" },
	{ "i64le", NULL, BYTES("\1\2" ZEROS4 "\0\1"),
	  0, 0, -1, 0x100000000000201, "", "72057594037928449" },
	{ "i64be", NULL, BYTES("\1\0" ZEROS4 "\2\1"),
	  0, 0, -1, 0x100000000000201, "", "72057594037928449" },
	{ "worldcup", NULL,
	  BYTES("\65\110\20\1" "\0\0\0\2" "\0\0\0\3" "\0\0\4\0"
		"\0\102\0\0"),
	  0, INT64_C(893915137000), 1024, 3, "2", "3" },
	{ "worldcup", NULL,
	  BYTES("\65\110\20\1" "\0\0\0\2" "\0\0\0\3" "\377\377\377\377"
		"\0\102\0\0"),
	  0, INT64_C(893915137000), -1, 3, "2", "3" },
	{ "worldcup", NULL,
	  BYTES("\65\110\20\1" ZEROS4 ZEROS4 ZEROS4 "\11\2\0\0"),
	  TRACE_EMETHOD, 0, 0, 0, NULL, NULL },
	{ "worldcup", NULL,
	  BYTES("\65\110\20\1" ZEROS4 ZEROS4 ZEROS4 "\0\46\0\0"),
	  TRACE_ESTATUS, 0, 0, 0, NULL, NULL },
	{ "binary", "format=<IQI,time-col=1,obj-id-col=2,obj-size-col=3",
	  BYTES("\5\0\0\0" "\7" ZEROS4 "\0\0\0" "\11\1\0\0"),
	  0, 5000, 265, 7, "", "7" },
	{ "binary", "format=>2x2HbQ,client=3,url=2,size=1",
	  BYTES("\1\1" "\0\5" "\1\0" "\377" ZEROS4 ZEROS4),
	  0, 0, 5, 256, "-1", "256" },
	{ "binary", "format=fI,time=1,url=2", /* 1.5 */
	  BYTES("\0\0\300\77" "\1\0\0\0"), 0, 1000, -1, 1, "", "1" },
	{ "binary", "format=d,url=1", /* not a number */
	  BYTES("\0\0\0\0\0\0\370\177"), TRACE_EFIELDS, 0, 0, 0, NULL, NULL },
	{ "binary", "format=ib,url=1,size=2",
	  BYTES("\0\0\0\0\377"), TRACE_ESIZE, 0, 0, 0, NULL, NULL },
	{ "binary", "format=ib,url=1,time=2",
	  BYTES("\0\0\0\0\377"), TRACE_ETIME, 0, 0, 0, NULL, NULL },
};
/* clang-format on */

static void binary_records(void **state)
{
	(void)state;
	for (size_t i = 0; i < NROWS(binary_cases); i++) {
		const struct binary_case *c = &binary_cases[i];
		struct trace_request q;
		struct trace_parser p;
		int got;

		trace_parser_init(&p, trace_format_named(c->format), NULL);
		if (c->spec)
			assert_int_equal(trace_parser_columns(&p, c->spec), 0);
		assert_int_equal(p.block, c->len);
		got = trace_parse(&p, (struct trace_text){ c->bytes, c->len },
				  &q);
		if (got != c->result)
			fail_msg("%s: %d, not %d", c->format, got, c->result);
		if (!got) {
			assert_int_equal(q.time_ms, c->time_ms);
			assert_int_equal(q.key, c->key);
			assert_int_equal(q.has_size ? (int64_t)q.size : -1,
					 c->size);
			same_text(c->format, "client", c->client, q.name);
			same_text(c->format, "url", c->url, q.url);
			if (p.format == &trace_worldcup)
				assert_ptr_equal(
					trace_format_detect((struct trace_text){
						c->bytes, c->len }),
					&trace_worldcup);
		}
		trace_parser_free(&p);
	}
}

static void bad_binary_layouts(void **state)
{
	static const char *const specs[] = {
		"url=1",	     "format=,url=1",	  "format=<,url=1",
		"format=IK,url=1",   "format=I,url=2",	  "format=3,url=1",
		"format=65I,url=1",  "format=99999x,url=1", "format=xx,url=1",
		"format=4096x4096x4096x4096x4096x4096x4096x4096xI,url=1",
	};

	(void)state;
	for (size_t i = 0; i < NROWS(specs); i++) {
		struct trace_parser p;

		trace_parser_init(&p, &trace_binary, NULL);
		if (trace_parser_columns(&p, specs[i]) != TRACE_EOPTION)
			fail_msg("%s is taken", specs[i]);
		trace_parser_free(&p);
	}
}

/* A log's time is remembered; what looks like it must not pass for it. */
static void times_that_repeat(void **state)
{
	static const char none[] = "h - - [\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"
				   "\0\0\0\0\0\0\0\0\0] \"GET /a\" 200 1";
	static const char one[] = CLF "\"GET /a\" 200 1";
	static const char next[] =
		"h - - [09/Jul/1995:00:00:02 -0400] \"GET /a\" 200 1";
	static const char other[] =
		"h - - [09/Jul/1995:00:00:02 -0x00] \"GET /a\" 200 1";
	static const struct {
		struct trace_text record;
		int result;
		int64_t time_ms;
	} lines[] = {
		{ { none, sizeof(none) - 1 }, TRACE_ETIME, 0 },
		{ { one, sizeof(one) - 1 }, 0, CLF_MS },
		{ { one, sizeof(one) - 1 }, 0, CLF_MS },
		{ { next, sizeof(next) - 1 }, 0, CLF_MS + 1000 },
		{ { other, sizeof(other) - 1 }, TRACE_ETIME, 0 },
		{ { next, sizeof(next) - 1 }, 0, CLF_MS + 1000 },
		{ { one, sizeof(one) - 1 }, 0, CLF_MS },
	};
	struct trace_request q;
	struct trace_parser p;

	(void)state;
	trace_parser_init(&p, &trace_clf, NULL);
	for (size_t i = 0; i < NROWS(lines); i++) {
		assert_int_equal(trace_parse(&p, lines[i].record, &q),
				 lines[i].result);
		if (!lines[i].result)
			assert_int_equal(q.time_ms, lines[i].time_ms);
	}
	trace_parser_free(&p);
}

static void aliases(void **state)
{
	(void)state;
	assert_ptr_equal(trace_format_named("txt"), &trace_keys);
	assert_ptr_equal(trace_format_named("oracleGeneralBin"), &trace_oracle);
	assert_ptr_equal(trace_format_named("wc98"), &trace_worldcup);
	assert_null(trace_format_named(""));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(records_are_parsed),
		cmocka_unit_test(columns_are_chosen),
		cmocka_unit_test(formats_are_detected),
		cmocka_unit_test(layouts_of_csv),
		cmocka_unit_test(binary_records),
		cmocka_unit_test(bad_binary_layouts),
		cmocka_unit_test(times_that_repeat),
		cmocka_unit_test(aliases),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
