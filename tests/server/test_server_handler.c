/*
 * What a server's handler is told, and what it need not care about, with either
 * engine: accounts of what was sent, requests that were refused, bodies that it
 * does not want, and exchanges that end before it has replied.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "digestd/http/refusal.h"
#include "tests/server/h2_client.h"
#include "tests/server/served.h"

/* What was sent of a reply's body; of streams only one engine knows. */
static void accounts(void **state)
{
	/* clang-format off */
	static const struct {
		bool strict_only;
		const char *request;
		unsigned status;
		uint64_t bytes;
	} rows[] = {
		{ false, "GET /a%41?q" CLOSE, 200, 7 },
		{ false, "HEAD /a%41?q" CLOSE, 200, 0 },
		{ false, "GET /big" CLOSE, 200, BIG },
		{ false, "GET /shared" CLOSE, 203, BIG },
		{ false, "HEAD /shared" CLOSE, 203, 0 },
		{ true, "GET /written" CLOSE, 203, BIG },
		{ true, "HEAD /written" CLOSE, 203, 0 },
		{ false, "GET /304" CLOSE, 304, 0 },
		{ false, "GET /nowhere" CLOSE, 404, 14 },
		{ false, "GET /empty" CLOSE, 200, 0 },
		{ true, "GET /drip" CLOSE, 200, 5000 },
		{ true, "GET /chunks" CLOSE, 200, 5000 },
		{ false, "HEAD /chunks" CLOSE, 200, 0 },
	};
	/* clang-format on */
	int done = 0;

	(void)state;
	for (size_t i = 0; i < NROWS(rows); i++) {
		if (rows[i].strict_only && !at.strict)
			continue;
		free(ask(rows[i].request, NULL));
		wait_for(&at.done, ++done);
		if (at.account.status != rows[i].status ||
		    at.account.bytes != rows[i].bytes)
			fail_msg("%s: %u, %zu bytes", rows[i].request,
				 at.account.status, (size_t)at.account.bytes);
		assert_true(at.account.replied_us > 0);
	}
	free(ask("GET /abort" CLOSE, NULL));
	wait_for(&at.aborted, 1);
	assert_int_equal(at.account.status, 0);
	assert_int_equal(at.account.bytes, 0);
}

/* A header that is no list of fields; Date is the server's. */
static void written_headers(void **state)
{
	char *reply;

	(void)state;
	reply = ask("HEAD /written" CLOSE, NULL);
	if (at.strict) {
		assert_non_null(strstr(reply, "HTTP/1.1 203 Non-Auth"));
		assert_non_null(strstr(reply, "X-Made: once\r\nDate: "));
		assert_non_null(strstr(reply, "ength: 3145728\r\n"));
	} else {
		assert_non_null(strstr(reply, "ength: 3\r\n"));
		assert_int_equal(atomic_load(&at.released), 0);
	}
	free(reply);
}

/* Requests that the handler never hears of, but for their number. */
static void refusals(void **state)
{
	static const struct {
		const char *request;
		int status;
	} rows[] = {
		{ "GET /a#b" CLOSE, 400 },
		{ "GET / HTTP/1.1\r\nHost: h\r\nHost: i\r\n\r\n", 400 },
		{ "POST / HTTP/1.1\r\nHost: h\r\nExpect: x\r\n"
		  "Connection: close\r\nContent-Length: 1\r\n\r\na", 417 },
		{ "TRACE / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n",
		  501 },
	};

	(void)state;
	for (size_t i = 0; i < NROWS(rows); i++) {
		enum refusal reason = refusal_of_status(
			(unsigned)rows[i].status);
		uint64_t before[REFUSAL_COUNT] = { 0 };
		uint64_t after[REFUSAL_COUNT] = { 0 };

		server_refusals(at.server, before);
		atomic_store(&at.refused, 0);
		free(ask(rows[i].request, NULL));
		wait_for(&at.refused, rows[i].status);
		server_refusals(at.server, after);
		assert_int_equal(after[reason], before[reason] + 1);
	}
	assert_int_equal(atomic_load(&at.begun), 0);
}

/* An origin's date is the only one. */
static void dates(void **state)
{
	char *reply = ask("GET /dated" CLOSE, NULL);

	(void)state;
	assert_int_equal(count_of(reply, "\r\nDate: "), 1);
	assert_non_null(strstr(reply, "\r\nDate: Sun, 06 Nov 1994 "));
	free(reply);
}

#define UPLOAD "POST / HTTP/1.1\r\nHost: h\r\n"

/* A handler may leave out all that it does not need: what comes of bodies is
 * thrown away, and the next request is served. */
static void handlers_without_bodies(void **state)
{
	static const char *const requests[] = {
		"GET /" KEEP,
		UPLOAD "Content-Length: 5\r\n\r\nhello",
		UPLOAD "Transfer-Encoding: chunked\r\n\r\n"
		       "5\r\nhello\r\n0\r\nX-Sum: 1\r\n\r\n",
	};

	(void)state;
	for (size_t i = 0; i < NROWS(requests); i++) {
		int fd = dial();
		char *reply;

		say(fd, requests[i]);
		say(fd, "GET /" CLOSE);
		reply = hear(fd, NULL);
		if (count_of(reply, "HTTP/1.1 200 OK\r\n") != 2 ||
		    count_of(reply, "bare") != 2)
			fail_msg("%s: %s", requests[i], reply);
		free(reply);
	}
}

static void handlers_without_bodies_by_http2(void **state)
{
	struct h2_client c;

	(void)state;
	h2_client_open(&c, false);
	for (size_t len = 0; len < 100000; len += 30000) {
		struct h2_answer *a = h2_client_wait(&c, h2_client_ask(
			&c, len ? "POST" : "GET", "/", NULL, len));

		assert_true(a->ended);
		assert_string_equal(a->body, "bare");
	}
	h2_client_close(&c);
}

/* One exchange may answer the request of another, as where one fetch serves
 * both. */
static void replies_for_others(void **state)
{
	static const char *const paths[] = { "/a%41?q", "/small", "/drip",
					     "/shared", "/none" };

	(void)state;
	for (size_t i = 0; i < NROWS(paths); i++) {
		char request[100] = "GET /answer", *reply;
		int waiting = dial();

		strcat(strcat(request, paths[i]), CLOSE);
		say(waiting, "GET /wait" CLOSE);
		wait_for(&at.begun, 2 * (int)i + 1);
		reply = ask(request, NULL);
		assert_non_null(strstr(reply, "\r\n\r\nanswered"));
		free(reply);
		reply = hear(waiting, NULL);
		assert_int_equal(strncmp(reply, "HTTP/1.1 20", 11), 0);
		free(reply);
	}
	wait_for(&at.done, 2 * NROWS(paths));
}

static int set_up_library(void **state)
{
	at.strict = at.http2 = at.bare = false;
	return served_set_up(state);
}

static int set_up_strict(void **state)
{
	at.strict = true;
	at.http2 = at.bare = false;
	return served_set_up(state);
}

static int set_up_bare_library(void **state)
{
	at.strict = at.http2 = false;
	at.bare = true;
	return served_set_up(state);
}

static int set_up_bare_strict(void **state)
{
	at.strict = at.bare = true;
	at.http2 = false;
	return served_set_up(state);
}

static int set_up_bare_http2(void **state)
{
	at.strict = at.http2 = at.bare = true;
	return served_set_up(state);
}

static int tear_down(void **state)
{
	int err = served_tear_down(state);

	assert_int_equal(atomic_load(&at.done) + atomic_load(&at.aborted),
			 atomic_load(&at.begun));
	return err;
}

/* clang-format off */
#define ENGINES(test, kind)                                                   \
	{ #test ", libmicrohttpd", test, set_up_##kind##library, tear_down, NULL }, \
	{ #test ", strict", test, set_up_##kind##strict, tear_down, NULL }
/* clang-format on */

int main(void)
{
	const struct CMUnitTest tests[] = {
		ENGINES(accounts, ),
		ENGINES(written_headers, ),
		ENGINES(refusals, ),
		ENGINES(dates, ),
		ENGINES(replies_for_others, ),
		ENGINES(handlers_without_bodies, bare_),
		cmocka_unit_test_setup_teardown(
			handlers_without_bodies_by_http2, set_up_bare_http2,
			tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
