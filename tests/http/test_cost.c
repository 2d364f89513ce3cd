/*
 * What one message may cost: of each shape of a header that somebody might
 * choose on purpose, four times as many bytes take some four times as long.
 * What looks at each line for each name takes sixteen times as long.
 */
#include "tests/rounds.h"
#include "tests/unit.h"

#include <stdlib.h>
#include <time.h>

#include "digestd/http/cachestatus.h"
#include "digestd/http/conditional.h"
#include "digestd/http/forward.h"
#include "digestd/http/guard.h"
#include "digestd/http/httpdate.h"
#include "digestd/http/request_body.h"
#include "digestd/http/request_head.h"
#include "digestd/http/response.h"
#include "digestd/http/response_facts.h"
#include "digestd/http/setcookie.h"
#include "digestd/http/storable.h"
#include "digestd/http/tags.h"
#include "digestd/http/targeted.h"
#include "digestd/http/vary.h"
#include "digestd/http/via.h"
#include "tests/http/message.h"

#define CHUNKED_UPLOAD \
	"POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n"

enum {
	SMALL = 2048, LARGE = 8192, /* bytes of a header */
	ROUNDS = 7,
	TRIES = 3,
	MAX_RATIO = 9,
	NOISE_NS = 20000,    /* below it ratios mean nothing */
	MAX_NS = 2000000,    /* twenty times what it should take, and a quarter
				of what it took */
};

/* Lists: the field's name, perhaps with what its value begins with, where a
 * quote is closed at the end, an element, and how the lines beside it look, of
 * which there are 100 in the larger one; null: none. # is a number. */
static const struct shape {
	const char *list, *element, *line;
} shapes[] = {
	{ "Connection", "a#,", "b#: 1\n" },
	{ "Connection", "a#,", "a#: 1\n" },
	{ "Connection", "x-aaaaaaaa#,", "x-aaaaaaaa#: 1\n" },
	{ "Connection", "x-aaaaaaaab#,", "x-aaaaaaaa#: 1\n" },
	{ "Connection", "a,", "a: #\n" },
	{ "Connection", ",", "a#: #\n" },
	{ "Connection", "\"a#\\\",", "a#: \n" },
	{ "Connection", "close,", "keep#: \n" },
	{ "Vary", "a#,", "a#: 1, 2\n" },
	{ "Vary", "a,", "a: #\n" },
	{ "Vary", "x-aaaaaaaa#,", "x-aaaaaaaa#: 1\n" },
	{ "Cache-Control", "a,", NULL },
	{ "Cache-Control", "stale-if-errox=#,", NULL },
	{ "Cache-Control", "max-age=\"#\",", NULL },
	{ "Cache-Control", "=,", NULL },
	{ "Cache-Control", "no-cache=\"x#\",", "x#: 1\n" },
	{ "Cache-Control", "private=\"a\", a,", "b#: 1\n" },
	{ "CDN-Cache-Control", "a#,", NULL },
	{ "CDN-Cache-Control", "a;a;a,", NULL },
	{ "CDN-Cache-Control", "a=(\"\" \"\"),", NULL },
	{ "Surrogate-Control", "max-age=#;a;b;c,", NULL },
	{ "Surrogate-Control", ";;;;,", NULL },
	{ "If-None-Match", "\"#\",", NULL },
	{ "If-None-Match", "W/", NULL },
	{ "Cache-Status", "a;fwd=stale;", NULL },
	{ "Via", "1 a,", NULL },
	{ "Via", "1 ", NULL },
	{ "CDN-Loop", "a;", NULL },
	{ "Range", "bytes=0-#,", NULL },
	{ "Pragma", "a,", NULL },
	{ "Cache-Tag", "a#,", NULL },
	{ "Surrogate-Key", "a# ", NULL },
	{ "ETag", "!!!!", "etag: #\n" },
	{ "Accept-Language", "en, ", "accept-language: de\n" },
	{ "Accept-Encoding", "a,", NULL },
	{ "Accept-Encoding", "gzip;q=0.#,", "accept-encoding: br\n" },
	{ "Cache-Control: private=\"a", ", x-aaaaaaaa#", "x-aaaaaaaa#: 1\n" },
	{ "!!!!!!!!!!!!!!!!!!!!!!!!", "      ", "~!~!~!~!~!~!~!~#: \t\n" },
};

/* Writes a text, each # in it a number, and returns its end. */
static char *write_shape(char *out, const char *text, unsigned number)
{
	for (; *text; text++) {
		if (*text == '#')
			out += sprintf(out, "%x", number);
		else
			*out++ = *text;
	}
	*out = '\0';
	return out;
}

/* A header of so many bytes; the lines have their share of them. */
static void make_header(const struct shape *s, size_t bytes, char *out)
{
	char *at = out;

	for (unsigned i = 0; s->line && i < bytes / 82; i++)
		at = write_shape(at, s->line, i);
	at += sprintf(at, "Host: h\n%s%s", s->list,
		      strchr(s->list, ':') ? "" : ": ");
	for (unsigned i = 0; at + 40 < out + bytes; i++)
		at = write_shape(at, s->element, i);
	sprintf(at, "%s\n", strchr(s->list, '"') ? "\"" : "");
}

/* All that is done with the header of a request. */
static void read_request(const char *text)
{
	struct guard_request guard = { "GET", "/", 1, 1, NULL };
	struct forward_request how = { "node", "host", 1, false, NULL };
	struct fields f, out, selecting, response;
	struct cachecontrol cc;

	message_must(&f, text);
	message_must(&response, "Vary: a, b, accept-language, accept-encoding\n"
		     "ETag: \"1\"\n");
	guard.fields = &f;
	guard_check(&guard);
	cachecontrol_request(&f, &cc);
	via_loops(&f, "node");
	assert_int_equal(forward_to_origin(&f, &how, &out), 0);
	fields_free(&out);
	assert_int_equal(forward_to_peer(&f, &how, "token", &out), 0);
	fields_free(&out);
	assert_int_equal(vary_select(&f, &response, &selecting), 0);
	assert_true(vary_match(&selecting, &f));
	conditional_not_modified(&f, &response, 0);
	fields_free(&selecting);
	fields_free(&response);
	fields_free(&f);
}

/* All that is done with the header of a response, of a 304 too. */
static void read_response(const char *text)
{
	struct fields f, stored, out, selecting, request, withheld;
	struct response_framing framing;
	struct cachecontrol cc;
	struct response_facts facts = { .status = 200 };
	struct httpdate_last dates = { 0 };

	message_must(&f, text);
	message_must(&request, text);
	facts.fields = &f;
	response_frame(&f, 200, false, &framing);
	cachecontrol_response(&f, &cc);
	facts.cc = cc;
	targeted_read(&f, "node", &cc);
	cachestatus_fwd_nearest(&f);
	setcookie_refuses(&facts);
	assert_int_equal(setcookie_withheld(&facts, &withheld), 0);
	assert_int_equal(setcookie_shared(&f, &withheld, &out), 0);
	assert_int_equal(setcookie_add_withheld(&withheld, &out), 0);
	fields_free(&out);
	fields_free(&withheld);
	assert_int_equal(fields_copy(&f, &out), 0);
	assert_int_equal(forward_response(&out, 0, &dates), 0);
	fields_free(&out);
	if (!vary_select(&request, &f, &selecting))
		vary_match(&selecting, &request);
	fields_free(&selecting);
	assert_int_equal(fields_copy(&f, &stored), 0);
	assert_int_equal(conditional_update(&f, &stored), 0);
	assert_int_equal(conditional_304_fields(&f, &out), 0);
	fields_free(&out);
	fields_free(&stored);
	fields_free(&request);
	fields_free(&f);
}

/* A response as it comes, in pieces of so many bytes. */
static void parse(const char *text, size_t piece)
{
	struct response_bytes body;
	struct response r;
	char message[LARGE + 400] = "HTTP/1.1 200 OK\n";
	size_t len;

	strcat(strcat(message, text), "\n");
	len = strlen(message);
	response_init(&r, false, 2 * LARGE);
	for (size_t at = 0; at < len; at += piece) {
		struct response_bytes in = { message + at, piece };

		if (in.len > len - at)
			in.len = len - at;
		response_next(&r, &in, &body);
	}
	response_free(&r);
}

static void parse_whole(const char *text)
{
	parse(text, LARGE);
}

static void parse_bytes(const char *text)
{
	parse(text, 1);
}

static void read_tags(const char *text)
{
	struct tags_cursor cursor = { 0 };
	struct fields response;
	struct field_part tag;

	message_must(&response, text);
	while (tags_next(&response, &cursor, &tag))
		continue;
	fields_free(&response);
}

static int64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* The least that it takes: what else the machine does only adds to it. */
static int64_t cost_ns(void (*use)(const char *text), const char *text)
{
	int64_t least = INT64_MAX;

	for (int i = 0; i < ROUNDS; i++) {
		int64_t began = now_ns(), took;

		use(text);
		took = now_ns() - began;
		least = took < least ? took : least;
	}
	return least;
}

static bool is_linear_now(void (*use)(const char *text), const char *small,
			  const char *large, int64_t ns[2])
{
	int64_t factor = rounds_slowness();

	ns[0] = cost_ns(use, small);
	ns[1] = cost_ns(use, large);
	return ns[1] <= MAX_NS * factor &&
	       (ns[1] <= NOISE_NS * factor || ns[1] <= ns[0] * MAX_RATIO);
}

/* Four times the bytes, not much more than four times the time. A clock of a
 * virtual machine may lose some of either, but not each time. */
static void costs_are_linear(void (*use)(const char *text), const char *small,
			     const char *large, const char *name)
{
	int64_t ns[2];
	bool linear = false;

	for (int i = 0; i < TRIES && !linear; i++)
		linear = is_linear_now(use, small, large, ns);
	if (getenv("REPORT"))
		print_message("%s: %lld %lld ns\n", name, (long long)ns[0],
			      (long long)ns[1]);
	if (!linear)
		fail_msg("%s: %lld and %lld ns", name, (long long)ns[0],
			 (long long)ns[1]);
}

static void is_linear(void (*use)(const char *text))
{
	for (size_t i = 0; i < NROWS(shapes); i++) {
		char small[SMALL + 200], large[LARGE + 200], name[100];

		make_header(&shapes[i], SMALL, small);
		make_header(&shapes[i], LARGE, large);
		snprintf(name, sizeof(name), "%s: %s", shapes[i].list,
			 shapes[i].element);
		costs_are_linear(use, small, large, name);
	}
}

static void requests(void **state)
{
	(void)state;
	is_linear(read_request);
}

static void responses(void **state)
{
	(void)state;
	is_linear(read_response);
}

/* All that is done for the fields that a response names to be left out. */
static void withhold(const char *text)
{
	struct fields f, withheld, shared;
	struct response_facts facts;

	message_must(&f, text);
	response_facts_read(&facts, 200, &f, NULL);
	assert_int_equal(setcookie_withheld(&facts, &withheld), 0);
	assert_int_equal(setcookie_shared(&f, &withheld, &shared), 0);
	assert_int_equal(setcookie_add_withheld(&withheld, &shared), 0);
	fields_free(&shared);
	fields_free(&withheld);
	fields_free(&f);
}

static void read_directives(const char *text)
{
	struct cachecontrol cc;
	struct fields f;

	message_must(&f, text);
	cachecontrol_response(&f, &cc);
	assert_true(cc.private_fields);
	fields_free(&f);
}

static void select_and_match(const char *text)
{
	struct fields f, response, selecting;

	message_must(&f, text);
	message_must(&response, "Vary: Accept-Encoding\n");
	assert_int_equal(vary_select(&f, &response, &selecting), 0);
	assert_true(vary_match(&selecting, &f));
	fields_free(&selecting);
	fields_free(&response);
	fields_free(&f);
}

/* All bytes, as one element. */
static void read_bytes(const char *text)
{
	struct field_part all;
	struct fields f;

	message_must(&f, text);
	all.at = fields_get(&f, "Accept-Encoding");
	all.len = strlen(all.at);
	assert_true(field_part_take(&all, '\0').len > LARGE / 2);
	fields_free(&f);
}

/* Long lists that are needed more than once: what is done with them costs so
 * many times as much as to read them. */
static void reading_again(void **state)
{
	static const struct {
		struct shape shape;
		void (*use)(const char *text);
		void (*once)(const char *text);
		int64_t max_ratio;
	} rows[] = {
		{ { "Cache-Control: private=\"a", ", x-aaaaaaaa#",
		    "x-aaaaaaaa#: 1\n" }, withhold, read_directives, 5 },
		{ { "Accept-Encoding", "a,", NULL }, select_and_match,
		  read_bytes, 10 },
	};

	(void)state;
	/* sanitizers slow the one more than the other */
	for (size_t i = 0; i < NROWS(rows); i++) {
		char text[LARGE + 200];
		int64_t use_ns, once_ns;

		make_header(&rows[i].shape, LARGE, text);
		use_ns = cost_ns(rows[i].use, text);
		once_ns = cost_ns(rows[i].once, text);
		if (getenv("REPORT"))
			print_message("again: %lld %lld ns\n",
				      (long long)use_ns, (long long)once_ns);
		if (use_ns > once_ns * rows[i].max_ratio * rounds_slowness())
			fail_msg("%s: %lld ns, %lld to read it",
				 rows[i].shape.list, (long long)use_ns,
				 (long long)once_ns);
	}
}

static void parsing(void **state)
{
	(void)state;
	is_linear(parse_whole);
	is_linear(parse_bytes);
}

static void purging(void **state)
{
	(void)state;
	is_linear(read_tags);
}

/* Messages of a client: what they begin with, and what is in them as often as
 * they have room for; of two with a bar between them, each half has one. */
static const struct upload {
	const char *begin, *again;
} uploads[] = {
	{ "A", "A" },
	{ "GET /", "a" },
	{ "GET /", "\\" },
	{ "GET /?", "\\" },
	{ "GET /?", "^" },
	{ "GET /", "aa|?\\" },
	{ "GET http://", "@" },
	{ "GET / HTTP/1.1\r\n", "a:\r\n" },
	{ "GET / HTTP/1.1\r\na:", " " },
	{ "GET / HTTP/1.1\r\na: b", " " },
	{ "GET / HTTP/1.1\r\na: b", "b" },
	{ "GET / HTTP/1.1\r\n", "a" },
	{ "GET / HTTP/1.1\r\nConnection: ", "," },
	{ "GET / HTTP/1.1\r\nConnection: ", "\"a," },
	{ "GET / HTTP/1.1\r\nHost: ", "%61" },
	{ "GET / HTTP/1.1\r\nHost: ", "[" },
	{ "", "GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n" },
	{ "", "GET / HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\n\r\na" },
	{ "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 99999\r\n\r\n",
	  "a" },
	{ CHUNKED_UPLOAD, "1\r\na\r\n" },
	{ CHUNKED_UPLOAD, "1;a=b\r\na\r\n" },
	{ CHUNKED_UPLOAD "1;", "a" },
	{ CHUNKED_UPLOAD "0\r\n", "a: \t b \r\n" },
	{ CHUNKED_UPLOAD "0\r\na:", " " },
	{ CHUNKED_UPLOAD "0\r\na: b", " " },
	{ CHUNKED_UPLOAD "ffff\r\n", "a" },
};

/* A connection that is read, from its first byte that is not used on. */
struct reading {
	struct field_part rest;
	struct request_head head;
	struct request_body body;
	bool in_body;
};

static const struct request_limits reading_limits = { LARGE, 2 * LARGE };

/* One step; false: it needs more bytes, or is refused. */
static bool read_on(struct reading *r)
{
	enum request_body_event event;

	if (!r->in_body) {
		if (request_head_read(&r->head, r->rest.at, r->rest.len) !=
		    REQUEST_HEAD_DONE)
			return false;
		r->rest.at += r->head.len;
		r->rest.len -= r->head.len;
		request_body_init(&r->body, &r->head.framing, LARGE);
		r->in_body = true;
	}
	event = request_body_next(&r->body, &r->rest);
	if (event == REQUEST_BODY_END) {
		request_head_init(&r->head, &reading_limits);
		r->in_body = false;
	}
	return event != REQUEST_BODY_MORE && event != REQUEST_BODY_REFUSED;
}

static void upload(const char *text, size_t piece)
{
	struct reading r = { .rest = { text, 0 } };
	size_t left = strlen(text);

	request_head_init(&r.head, &reading_limits);
	while (left) {
		size_t n = left < piece ? left : piece;

		left -= n;
		r.rest.len += n;
		while (read_on(&r))
			;
	}
}

static void upload_whole(const char *text)
{
	upload(text, SIZE_MAX);
}

static void upload_bytes(const char *text)
{
	upload(text, 1);
}

static void make_upload(const struct upload *u, size_t bytes, char *out)
{
	const char *bar = strchr(u->again, '|');
	const char *second = bar ? bar + 1 : u->again;
	int first_len = (int)strcspn(u->again, "|");
	char *at = out + sprintf(out, "%s", u->begin);

	while (at < out + bytes / 2)
		at += sprintf(at, "%.*s", first_len, u->again);
	while (at < out + bytes)
		at += sprintf(at, "%s", second);
	strcpy(at, "\r\n\r\n");
}

static void uploading(void **state)
{
	static void (*const uses[])(const char *) = { upload_whole,
						      upload_bytes };

	(void)state;
	for (size_t i = 0; i < 2 * NROWS(uploads); i++) {
		const struct upload *u = &uploads[i / 2];
		char small[SMALL + 200], large[LARGE + 200];

		make_upload(u, SMALL, small);
		make_upload(u, LARGE, large);
		costs_are_linear(uses[i % 2], small, large, u->again);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(requests),
		cmocka_unit_test(responses),
		cmocka_unit_test(reading_again),
		cmocka_unit_test(parsing),
		cmocka_unit_test(purging),
		cmocka_unit_test(uploading),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
