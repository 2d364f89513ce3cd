/*
 * HTTP/2 of the strict engine: requests, replies and bodies on streams.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "digestd/os/memory.h"
#include "tests/server/h2_client.h"
#include "tests/server/served.h"

static uint64_t memory_before;

static uint64_t memory_now(void)
{
	return ledger_used(&memory_ledger, LEDGER_connections) +
	       ledger_used(&memory_ledger, LEDGER_replies);
}

static int set_up(void **state)
{
	at.strict = at.http2 = true;
	memory_before = memory_now();
	return served_set_up(state);
}

static int tear_down(void **state)
{
	int err = served_tear_down(state);

	assert_int_equal(memory_now(), memory_before);
	return err;
}

#define FIELDS(...) (const struct h2_field[]){ __VA_ARGS__, { NULL, NULL } }
/* CUT: the same, behind the end of the answer. */
enum { FAILED = NGHTTP2_INTERNAL_ERROR, CUT = 1000 };

/* Requests, and what comes of them. */
/* clang-format off */
static const struct {
	const char *label, *method, *path;
	const struct h2_field *fields;
	size_t sent;       /* of a body */
	unsigned status, interims;
	size_t len;        /* of the answer */
	const char *body;  /* how it begins */
	const char *field; /* among those of the answer */
	const char *never;
	uint32_t error;
} talks[] = {
	{ "a small one", "GET", "/a%41?q", NULL, 0, 200, 0, 7, "/a%41?q", "content-length: 7\n", NULL, 0 },
	{ "a HEAD", "HEAD", "/big", NULL, 0, 200, 0, 0, "", "content-length: 3145728\n", NULL, 0 },
	{ "a large one", "GET", "/big", NULL, 0, 200, 0, BIG, "bbb", "date: ", NULL, 0 },
	{ "a shared one", "GET", "/shared", NULL, 0, 203, 0, BIG, "bbb", "x-made: once\n", NULL, 0 },
	{ "a written one", "GET", "/written", NULL, 0, 203, 0, BIG, "bbb", "x-made: once\n", NULL, 0 },
	{ "its header", "HEAD", "/written", NULL, 0, 203, 0, 0, "", "x-made: once\n", NULL, 0 },
	{ "once more", "HEAD", "/shared", NULL, 0, 203, 0, 0, "", "x-made: once\n", NULL, 0 },
	{ "in pieces", "GET", "/drip", NULL, 0, 200, 0, 5000, "ddd", "content-length: 5000\n", "x-sum", 0 },
	{ "of unknown length", "GET", "/chunks", NULL, 0, 200, 0, 5000, "ddd", "date: ", "x-sum", 0 },
	{ "with a trailer", "GET", "/chunks", FIELDS({ "te", "trailers" }), 0, 200, 0, 5000, "ddd", "x-sum: 7\n", "content-length", 0 },
	{ "later", "GET", "/late", NULL, 0, 200, 0, 4, "late", "", NULL, 0 },
	{ "one that breaks off", "GET", "/broken", NULL, 0, 200, 0, 5000, "ddd", "", NULL, FAILED },
	{ "one that is too short", "GET", "/short", NULL, 0, 200, 0, 5000, "ddd", "", NULL, FAILED },
	{ "one that is given up", "GET", "/stuck", NULL, 0, 200, 0, 1000, "ddd", "", NULL, FAILED },
	{ "none", "GET", "/abort", NULL, 0, 0, 0, 0, "", "", NULL, FAILED },
	{ "after others", "GET", "/hints", NULL, 0, 200, 2, 6, "hinted", "link: </a>\n", "connection", 0 },
	{ "after one that is too long", "GET", "/long/hint", NULL, 0, 200, 0, 5, "short", "", "x-long", 0 },
	{ "an empty one", "GET", "/empty", NULL, 0, 200, 0, 0, "", "content-length: 0\n", NULL, 0 },
	{ "an empty text", "GET", "/blank", NULL, 0, 200, 0, 0, "", "content-length: 0\n", NULL, 0 },
	{ "none in pieces", "GET", "/none", NULL, 0, 200, 0, 0, "", "date: ", "content-length", 0 },
	{ "with the date of an origin", "GET", "/dated", NULL, 0, 200, 0, 5, "bbbbb", "date: Sun, 06 Nov 1994 08:49:37 GMT\ncontent-length: 5\n", NULL, 0 },
	{ "and without a body", "GET", "/dated/empty", NULL, 0, 200, 0, 0, "", "content-length: 0\n", NULL, 0 },
	{ "a HEAD of a text", "HEAD", "/a%41?q", NULL, 0, 200, 0, 0, "", "content-length: 7\n", NULL, 0 },
	{ "a HEAD of pieces", "HEAD", "/drip", NULL, 0, 200, 0, 0, "", "content-length: 5000\n", NULL, 0 },
	{ "and of unknown length", "HEAD", "/chunks", NULL, 0, 200, 0, 0, "", "date: ", "content-length", 0 },
	{ "a header that is too long", "GET", "/long", NULL, 0, 0, 0, 0, "", "", NULL, FAILED },
	{ "304", "GET", "/304", NULL, 0, 304, 0, 0, "", "", "content-length", 0 },
	{ "204", "GET", "/204", NULL, 0, 204, 0, 0, "", "", "content-length", 0 },
	{ "an error", "GET", "/nowhere", NULL, 0, 404, 0, 14, "404 Not Found\n", "content-type: text/plain\n", NULL, 0 },
	{ "an upload", "POST", "/upload", NULL, 3, 200, 0, 1, "3", "", NULL, 0 },
	{ "of known length", "POST", "/upload", FIELDS({ "content-length", "3" }), 3, 200, 0, 1, "3", "", NULL, 0 },
	{ "a large upload", "POST", "/upload", NULL, BIG, 200, 0, 7, "3145728", "", NULL, 0 },
	{ "one that is asked for", "POST", "/upload", FIELDS({ "expect", "100-continue" }), 70000, 200, 1, 5, "70000", "", NULL, 0 },
	{ "one that nobody wants", "POST", "/nowhere", NULL, BIG, 404, 0, 14, "404", "", NULL, 0 },
	{ "one beside its answer", "POST", "/both", NULL, 60000, 200, 0, 11, "begun 60000", "", NULL, 0 },
	{ "one that its answer ends", "POST", "/both?early", NULL, BIG, 200, 0, 6, "begun ", "", NULL, 0 },
	{ "one behind it that nobody takes", "POST", "/both?enough", NULL, BIG, 200, 0, 6, "begun ", "", NULL, 0 },
	{ "one behind it that fails", "POST", "/both?cut", NULL, BIG, 200, 0, 6, "begun ", "", NULL, CUT },
	{ "one that is answered at its beginning", "POST", "/first", NULL, BIG, 200, 0, 6, "/first", "", NULL, 0 },
	{ "one that is answered when it goes on", "POST", "/second", NULL, 60000, 200, 0, 7, "/second", "", NULL, 0 },
	{ "one that is answered before it is asked for", "POST", "/both?early", FIELDS({ "expect", "100-continue" }), 3, 200, 0, 6, "begun ", "", NULL, 0 },
	{ "one that is given up before", "POST", "/abort", FIELDS({ "expect", "100-continue" }), 3, 0, 0, 0, "", "", NULL, FAILED },
	{ "one of which nothing is wanted", "POST", "/both?never", NULL, BIG, 200, 0, 6, "begun ", "", NULL, 0 },
	{ "one among calls that mean nothing", "POST", "/calls", NULL, 3, 200, 0, 4, "calm", "a: b\nempty: \n", NULL, 0 },
	{ "a claim", "GET", "/claim", FIELDS({ "x-forwarded-for", "abcd" }), 0, 203, 0, 4, "abcd", "", NULL, 0 },
	{ "a method that is not done", "TRACE", "/", NULL, 0, 501, 0, 20, "501", "cache-control: no-store\n", NULL, 0 },
	{ "another Host", "GET", "/", FIELDS({ "host", "i" }), 0, 400, 0, 16, "400", "", NULL, 0 },
	{ "a fragment", "GET", "/a#b", NULL, 0, 400, 0, 16, "400", "", NULL, 0 },
	{ "a line's end in a value", "GET", "/", FIELDS({ "a", "b\r\nc: d" }), 0, 400, 0, 16, "400", "", NULL, 0 },
	{ "a HEAD that is refused", "HEAD", "/a#b", NULL, 0, 400, 0, 0, "", "content-length: 16\n", NULL, 0 },
	{ "an expectation", "POST", "/upload", FIELDS({ "expect", "x" }), 3, 417, 0, 23, "417", "", NULL, 0 },
	{ "a capital letter", "GET", "/", FIELDS({ "A", "b" }), 0, 0, 0, 0, "", "", NULL, NGHTTP2_PROTOCOL_ERROR },
	{ "a field of the connection", "GET", "/", FIELDS({ "connection", "close" }), 0, 0, 0, 0, "", "", NULL, NGHTTP2_PROTOCOL_ERROR },
	{ "a coding", "POST", "/upload", FIELDS({ "transfer-encoding", "chunked" }), 3, 0, 0, 0, "", "", NULL, NGHTTP2_PROTOCOL_ERROR },
	{ "a pseudo-field behind others", "GET", "/", FIELDS({ "a", "b" }, { ":path", "/c" }), 0, 0, 0, 0, "", "", NULL, NGHTTP2_PROTOCOL_ERROR },
	{ "a body that is too short", "POST", "/upload", FIELDS({ "content-length", "4" }), 3, 0, 0, 0, "", "", NULL, NGHTTP2_PROTOCOL_ERROR },
	{ "a body that is too long", "POST", "/upload", FIELDS({ "content-length", "2" }), 3, 0, 0, 0, "", "", NULL, NGHTTP2_PROTOCOL_ERROR },
};
/* clang-format on */

static void check(size_t i, const struct h2_answer *a)
{
	uint32_t error = talks[i].error == CUT ? FAILED : talks[i].error;

	if (a->status != talks[i].status || a->interims != talks[i].interims ||
	    a->len != talks[i].len || a->error != error ||
	    a->ended != (!error || talks[i].error == CUT) ||
	    strncmp(a->body, talks[i].body, strlen(talks[i].body)) ||
	    !strstr(a->fields, talks[i].field) ||
	    (talks[i].never && strstr(a->fields, talks[i].never)))
		fail_msg("%s: %u, %u interims, %zu bytes %.20s, error %u\n%s",
			 talks[i].label, a->status, a->interims, a->len,
			 a->body, a->error, a->fields);
}

/* One after the other, on one connection. */
static void conversations(void **state)
{
	struct h2_client c;

	(void)state;
	h2_client_open(&c, false);
	for (size_t i = 0; i < NROWS(talks); i++)
		check(i, h2_client_wait(
				 &c, h2_client_ask(&c, talks[i].method,
						   talks[i].path,
						   talks[i].fields,
						   talks[i].sent)));
	h2_client_close(&c);
}

/* All of them at once; what waits does not hold up the others. */
static void streams_beside_each_other(void **state)
{
	int32_t ids[NROWS(talks)];
	struct h2_client c;
	int32_t never;

	(void)state;
	h2_client_open(&c, false);
	never = h2_client_ask(&c, "GET", "/never", NULL, 0);
	for (size_t i = 0; i < NROWS(talks); i++)
		ids[i] = h2_client_ask(&c, talks[i].method, talks[i].path,
				       talks[i].fields, talks[i].sent);
	for (size_t i = 0; i < NROWS(talks); i++)
		check(i, h2_client_wait(&c, ids[i]));
	assert_false(h2_client_answer(&c, never)->closed);
	h2_client_close(&c);
	for (int i = 0; i < 5000 && atomic_load(&at.begun) !=
				    atomic_load(&at.done) +
				    atomic_load(&at.aborted); i++)
		usleep(1000);
	assert_int_equal(atomic_load(&at.begun), atomic_load(&at.done) +
						 atomic_load(&at.aborted));
}

static void a_tunnel_that_is_not_dug(void **state)
{
	const struct h2_field connect[] = {
		{ ":method", "CONNECT" }, { ":authority", "h:443" },
		{ NULL, NULL },
	};
	struct h2_client c;

	(void)state;
	h2_client_open(&c, false);
	assert_int_equal(h2_client_wait(&c, h2_client_ask_raw(&c, connect))
				 ->status, 501);
	h2_client_close(&c);
}

/* What is behind a body: fields of the connection, and of what a client may not
 * say, are dropped; what is no field, or too much, ends the stream. */
static void trailers_of_an_upload(void **state)
{
	static char much[16500];
	static const struct {
		const char *path, *name, *value;
		size_t copies;
		const char *answer;
		uint32_t error;
	} rows[] = {
		{ "/upload", "x-sum", "v", 1, "3 v", 0 },
		{ "/upload", "x-sum", "v", 100, "3 v", 0 },
		{ "/upload", "authorization", "v", 1, "3", 0 },
		{ "/upload", "x-forwarded-for", "v", 1, "3", 0 },
		{ "/upload", "x-sum", "v", 101, "", NGHTTP2_PROTOCOL_ERROR },
		{ "/upload", "x-sum", much, 1, "", NGHTTP2_PROTOCOL_ERROR },
		{ "/upload", "x-sum", "a\rb", 1, "", NGHTTP2_PROTOCOL_ERROR },
		{ "/nowhere", "x-sum", "v", 1, "404 Not Found\n", 0 },
	};
	struct h2_client c;

	(void)state;
	memset(much, 'v', sizeof(much) - 1);
	h2_client_open(&c, false);
	for (size_t i = 0; i < NROWS(rows); i++) {
		const nghttp2_nv nv = {
			(uint8_t *)(uintptr_t)rows[i].name,
			(uint8_t *)(uintptr_t)rows[i].value,
			strlen(rows[i].name), strlen(rows[i].value), 0
		};
		int32_t id = h2_client_ask(&c, "POST", rows[i].path, NULL, 3);
		struct h2_answer *a = h2_client_answer(&c, id);

		a->trailer = &nv;
		a->ntrailers = rows[i].copies;
		h2_client_wait(&c, id);
		if (strcmp(a->body, rows[i].answer) != 0 ||
		    a->error != rows[i].error)
			fail_msg("%zu x %s: %s, error %u", rows[i].copies,
				 rows[i].name, a->body, a->error);
	}
	h2_client_close(&c);
}

/* Any number of them are dropped rather than collected. */
static void hints_for_who_does_not_read(void **state)
{
	struct h2_client c;
	struct h2_answer *a;

	(void)state;
	h2_client_open(&c, false);
	a = h2_client_wait(&c, h2_client_ask(&c, "GET", "/flood", NULL, 0));
	assert_int_equal(a->status, 200);
	assert_true(a->interims > 0 && a->interims < 100);
	h2_client_close(&c);
}

/* A client that takes back what it has asked for has left that exchange only.
 */
static void the_client_resets_a_stream(void **state)
{
	struct h2_client c;
	int32_t reads, sends;

	(void)state;
	h2_client_open(&c, true);
	reads = h2_client_ask(&c, "GET", "/flow", NULL, 0);
	sends = h2_client_ask(&c, "POST", "/upload", NULL, 1000);
	h2_client_answer(&c, sends)->stuck = true;
	while (!h2_client_answer(&c, reads)->len)
		h2_client_run(&c, 5);
	wait_for(&at.begun, 2);
	nghttp2_submit_rst_stream(c.session, 0, reads, NGHTTP2_CANCEL);
	nghttp2_submit_rst_stream(c.session, 0, sends, NGHTTP2_CANCEL);
	h2_client_run(&c, 10);
	wait_for(&at.aborted, 2);
	assert_int_equal(h2_client_wait(&c, h2_client_ask(&c, "GET", "/late",
							  NULL, 0))->len, 4);
	h2_client_close(&c);
}

static void the_client_leaves(void **state)
{
	struct h2_client c;

	(void)state;
	h2_client_open(&c, true);
	h2_client_ask(&c, "GET", "/never", NULL, 0);
	h2_client_ask(&c, "GET", "/flow", NULL, 0);
	h2_client_ask(&c, "POST", "/hold", NULL, BIG);
	h2_client_run(&c, 50);
	h2_client_close(&c);
	wait_for(&at.aborted, 3);
}

/* The handler has all of a body whose stream has closed before. */
static void a_body_behind_its_reply(void **state)
{
	struct h2_client c;
	int32_t id;

	(void)state;
	h2_client_open(&c, false);
	id = h2_client_ask(&c, "POST", "/both?after", NULL, 120000);
	assert_true(h2_client_wait(&c, id)->ended);
	wait_for(&at.done, 1);
	assert_int_equal(atomic_load(&at.taken), 120000);
	id = h2_client_ask(&c, "POST", "/both?after", NULL, BIG);
	assert_true(h2_client_wait(&c, id)->ended);
	wait_for(&at.done, 2);
	assert_int_equal(atomic_load(&at.taken), 120000 + BIG);
	/* or until the client has left */
	id = h2_client_ask(&c, "POST", "/both?after", NULL, 120000);
	h2_client_wait(&c, id);
	h2_client_close(&c);
	wait_for(&at.begun, 3);
	while (atomic_load(&at.done) + atomic_load(&at.aborted) < 3)
		usleep(1000);
}

/* Who closes the stream has left, whatever the error: the rest of the body will
 * not come. */
static void an_upload_that_is_closed_behind_its_reply(void **state)
{
	struct h2_client c;
	int32_t id;

	(void)state;
	h2_client_open(&c, false);
	id = h2_client_ask(&c, "POST", "/both?after", NULL, 1000);
	h2_client_answer(&c, id)->stuck = true;
	while (!h2_client_answer(&c, id)->status)
		h2_client_run(&c, 5);
	assert_int_equal(h2_client_answer(&c, id)->status, 200);
	assert_false(h2_client_answer(&c, id)->closed);
	nghttp2_submit_rst_stream(c.session, 0, id, NGHTTP2_NO_ERROR);
	h2_client_run(&c, 10);
	wait_for(&at.done, 1); /* its reply was whole */
	h2_client_close(&c);
}

/* What has been opened but is not read stays the origin's: the windows of a
 * stream, and of all of them, bound what a client may send ahead. */
static void uploads_that_nobody_takes(void **state)
{
	struct h2_client c;
	int32_t ids[3];
	size_t sent;

	(void)state;
	h2_client_open(&c, false);
	for (size_t i = 0; i < NROWS(ids); i++)
		ids[i] = h2_client_ask(&c, "POST", "/hold", NULL, BIG);
	do { /* until the windows are full, and then some more */
		h2_client_run(&c, 50);
		sent = 3 * (size_t)BIG;
		for (size_t i = 0; i < NROWS(ids); i++)
			sent -= h2_client_answer(&c, ids[i])->to_send;
	} while (sent < 262144);
	assert_int_equal(sent, 262144);
	for (int i = 0; i < 5000 && memory_now() - memory_before <= 262144; i++)
		usleep(1000);
	assert_true(memory_now() - memory_before > 262144);
	assert_true(memory_now() - memory_before < 500000);
	/* nor do they hold up what has no body */
	assert_int_equal(h2_client_wait(&c, h2_client_ask(&c, "GET", "/late",
							  NULL, 0))->len, 4);
	nghttp2_submit_rst_stream(c.session, 0, ids[0], NGHTTP2_CANCEL);
	nghttp2_submit_rst_stream(c.session, 0, ids[1], NGHTTP2_CANCEL);
	/* which has given the connection's window back */
	assert_string_equal(h2_client_wait(&c, h2_client_ask(
		&c, "POST", "/upload", NULL, BIG))->body, "3145728");
	h2_client_close(&c);
}

/* A header may come in many frames, of which the first says that the body is
 * empty. */
static void a_header_in_pieces(void **state)
{
	/* GET, http, /late, h */
	static const uint8_t header[] = "\x82\x86\x04\5/late\x41\1h";
	const size_t len = sizeof(header) - 1;
	struct h2_client c;
	int32_t id;

	(void)state;
	h2_client_open(&c, false);
	/* one of nghttp2's, so that the client knows of the stream */
	id = h2_client_ask(&c, "POST", "/hold", NULL, 1);
	h2_client_answer(&c, id)->stuck = true;
	h2_client_run(&c, 5);
	h2_client_send_frame(&c, NGHTTP2_HEADERS, 1, id + 2, header, 1);
	for (size_t i = 1; i < 5; i++)
		h2_client_send_frame(&c, NGHTTP2_CONTINUATION, 0, id + 2,
				     header + i, 1);
	wait_for(&at.begun, 1);
	h2_client_send_frame(&c, NGHTTP2_CONTINUATION, 4, id + 2, header + 5,
			     len - 5);
	wait_for(&at.begun, 2);
	wait_for(&at.done, 1);
	h2_client_close(&c);
	wait_for(&at.aborted, 1);
}

/* Replies for who has just gone: neither is anything sent, nor does what they
 * would send stay. */
static void replies_that_come_too_late(void **state)
{
	static const char *const paths[] = {
		"/answer/a%41?q", "/answer/small", "/answer/shared",
		"/answer/drip", "/answer/hints/none", "/answer/abort",
	};
	uint64_t before = memory_now();
	struct h2_client c;

	(void)state;
	h2_client_open(&c, false);
	h2_client_wait(&c, h2_client_ask(&c, "GET", "/small", NULL, 0));
	for (size_t i = 0; i < NROWS(paths); i++) {
		int32_t id = h2_client_ask(&c, "GET", "/wait", NULL, 0);
		struct h2_answer *a;

		h2_client_run(&c, 0);
		wait_for(&at.begun, 2 * (int)i + 2);
		h2_client_collect(&c, true);
		nghttp2_submit_rst_stream(c.session, 0, id, NGHTTP2_CANCEL);
		a = h2_client_answer(&c, h2_client_ask(&c, "GET", paths[i],
						       NULL, 0));
		h2_client_collect(&c, false);
		h2_client_wait(&c, id + 2);
		assert_string_equal(a->body, "answered");
		assert_int_equal(h2_client_answer(&c, id)->status, 0);
		wait_for(&at.aborted, (int)i + 1);
	}
	/* two of /small, two that come in pieces, and the shared one */
	at.stop = (struct loop_call){ .run = drop_shared };
	loop_post(at.loop, &at.stop);
	wait_for(&at.released, 5);
	h2_client_close(&c);
	served_tear_down(state);
	assert_in_range(memory_now(), 0, before);
	set_up(state);
}

/* A body that waits for its handler when the stream has closed behind it is
 * dropped by an abort, and only that. */
static void an_upload_that_is_aborted_behind_its_reply(void **state)
{
	struct h2_answer *a;
	struct h2_client c;

	(void)state;
	h2_client_open(&c, false);
	a = h2_client_wait(&c, h2_client_ask(&c, "POST", "/both?drop", NULL,
					     60000));
	assert_true(a->ended);
	assert_int_equal(a->error, 0);
	assert_int_equal(atomic_load(&at.done), 0);
	h2_client_wait(&c, h2_client_ask(&c, "GET", "/answer/wake", NULL, 0));
	wait_for(&at.aborted, 1);
	assert_int_equal(h2_client_wait(&c, h2_client_ask(
		&c, "POST", "/upload", NULL, BIG))->len, 7);
	h2_client_close(&c);
}

/* More of them than one call of the system takes parts. */
static void many_small_replies_at_once(void **state)
{
	enum { MANY = 90 };
	int32_t ids[MANY];
	struct h2_client c;

	(void)state;
	h2_client_open(&c, false);
	h2_client_wait(&c, h2_client_ask(&c, "GET", "/small", NULL, 0));
	h2_client_collect(&c, true);
	for (size_t i = 0; i < MANY; i++)
		ids[i] = h2_client_ask(&c, "GET", "/small", NULL, 0);
	h2_client_collect(&c, false);
	for (size_t i = 0; i < MANY; i++) {
		const struct h2_answer *a = h2_client_wait(&c, ids[i]);

		assert_true(a->ended);
		assert_string_equal(a->body, "bbbbbbbbbb");
	}
	h2_client_close(&c);
	wait_for(&at.done, MANY + 1);
}

/* Who does not read for a while gets all of it then, in order, and an answer to
 * each question that it asked meanwhile. */
static void a_client_that_reads_late(void **state)
{
	enum { PINGS = 600, WINDOW = 1 << 24 };
	struct h2_answer *big, *late;
	struct h2_client c;
	int32_t id;

	(void)state;
	h2_client_open(&c, false);
	nghttp2_session_set_local_window_size(c.session, 0, 0, WINDOW);
	id = h2_client_ask(&c, "GET", "/big", NULL, 0);
	big = h2_client_answer(&c, id);
	big->expected = at.big;
	late = h2_client_answer(&c, h2_client_ask(&c, "GET", "/late", NULL, 0));
	h2_client_collect(&c, false); /* which sends, and does not receive */
	nghttp2_submit_window_update(c.session, 0, id, WINDOW);
	h2_client_collect(&c, false);
	wait_for(&at.begun, 2);
	usleep(20000);
	for (int i = 0; i < PINGS; i++)
		h2_client_send_frame(&c, NGHTTP2_PING, 0, 0, "12345678", 8);
	usleep(20000);
	h2_client_wait(&c, id);
	assert_int_equal(big->len, BIG);
	assert_true(big->ended);
	assert_string_equal(h2_client_wait(&c, id + 2)->body, "late");
	assert_true(late->ended);
	while (c.pongs < PINGS && !c.over)
		h2_client_run(&c, 5);
	assert_int_equal(c.pongs, PINGS);
	h2_client_close(&c);
	wait_for(&at.done, 2);
}

/* More streams than there may be, before the client can know of that. */
static void surplus_streams_are_refused(void **state)
{
	enum { ASKED = 110, MAX = 100 };
	unsigned refused = 0;
	struct h2_client c;
	int32_t ids[ASKED];

	(void)state;
	h2_client_open(&c, false);
	h2_client_collect(&c, true);
	for (size_t i = 0; i < ASKED; i++)
		ids[i] = h2_client_ask(&c, "GET", "/late", NULL, 0);
	h2_client_collect(&c, false);
	for (size_t i = 0; i < ASKED; i++) {
		const struct h2_answer *a = h2_client_wait(&c, ids[i]);

		refused += a->error == NGHTTP2_REFUSED_STREAM;
		if (!a->error)
			assert_string_equal(a->body, "late");
	}
	assert_int_equal(refused, ASKED - MAX);
	assert_int_equal(atomic_load(&at.begun), MAX);
	h2_client_close(&c);
}

/* A preface behind something else, or where it is not allowed, is none. */
static void prefaces(void **state)
{
	char *reply;

	(void)state;
	reply = ask("GET /late" KEEP "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", NULL);
	assert_non_null(strstr(reply, "late"));
	assert_non_null(strstr(reply, "HTTP/1.1 505"));
	free(reply);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(conversations),
		TEST(streams_beside_each_other),
		TEST(a_tunnel_that_is_not_dug),
		TEST(trailers_of_an_upload),
		TEST(hints_for_who_does_not_read),
		TEST(the_client_resets_a_stream),
		TEST(the_client_leaves),
		TEST(a_body_behind_its_reply),
		TEST(an_upload_that_is_closed_behind_its_reply),
		TEST(uploads_that_nobody_takes),
		TEST(a_header_in_pieces),
		TEST(replies_that_come_too_late),
		TEST(an_upload_that_is_aborted_behind_its_reply),
		TEST(many_small_replies_at_once),
		TEST(a_client_that_reads_late),
		TEST(surplus_streams_are_refused),
		TEST(prefaces),
	};
#undef TEST

	return cmocka_run_group_tests(tests, NULL, NULL);
}
