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
enum { FAILED = NGHTTP2_INTERNAL_ERROR };

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
	if (a->status != talks[i].status || a->interims != talks[i].interims ||
	    a->len != talks[i].len || a->error != talks[i].error ||
	    a->ended == (a->error != 0) ||
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

static void trailers_of_an_upload(void **state)
{
	static const struct {
		const char *name, *answer;
	} rows[] = { { "x-sum", "3 v" }, { "authorization", "3" } };
	struct h2_client c;

	(void)state;
	h2_client_open(&c, false);
	for (size_t i = 0; i < NROWS(rows); i++) {
		const nghttp2_nv nv = {
			(uint8_t *)(uintptr_t)rows[i].name,
			(uint8_t *)(uintptr_t)"v", strlen(rows[i].name), 1, 0
		};
		int32_t id = h2_client_ask(&c, "POST", "/upload", NULL, 3);

		h2_client_answer(&c, id)->trailer = &nv;
		assert_string_equal(h2_client_wait(&c, id)->body,
				    rows[i].answer);
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
	h2_client_run(&c, 50);
	assert_true(h2_client_answer(&c, reads)->len > 0);
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
	h2_client_run(&c, 50);
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
	size_t left = 0;

	(void)state;
	h2_client_open(&c, false);
	for (size_t i = 0; i < NROWS(ids); i++)
		ids[i] = h2_client_ask(&c, "POST", "/hold", NULL, BIG);
	h2_client_run(&c, 100);
	for (size_t i = 0; i < NROWS(ids); i++)
		left += h2_client_answer(&c, ids[i])->to_send;
	assert_int_equal(3 * (size_t)BIG - left, 262144);
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
		TEST(prefaces),
	};
#undef TEST

	return cmocka_run_group_tests(tests, NULL, NULL);
}
