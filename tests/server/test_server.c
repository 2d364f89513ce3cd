/*
 * The server against raw sockets, with either engine: framing, streaming,
 * bodies, clients that are slow or leave, many clients at once.
 */
#include "tests/server/served.h"
#include "tests/server/served_clock.h"

#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "digestd/os/body_memory.h"
#include "digestd/server/server_engine.h"

enum { BUSY_ROUNDS = 20 };

/* For which engine a row of a table is. */
enum engine { BOTH, LIBRARY, STRICT };

static bool is_for_other(enum engine engine)
{
	return engine == (at.strict ? LIBRARY : STRICT);
}

/* One request on a connection: what must be in the answer, and what not. */
static void shapes(void **state)
{
	/* clang-format off */
	static const struct {
		enum engine engine;
		const char *request, *start, *has, *hasnt;
	} rows[] = {
		{ BOTH, "GET /a%41?q" CLOSE, "HTTP/1.1 200", "\r\n\r\n/a%41?q", NULL },
		{ BOTH, "GET /drip" CLOSE, "HTTP/1.1 200", "ength: 5000\r\n", "chunked" },
		{ BOTH, "GET /chunks" CLOSE, "HTTP/1.1 200", "\r\n0\r\n\r\n", "ength:" },
		{ BOTH, "GET /broken" CLOSE, "HTTP/1.1 200", "chunked", "\r\n0\r\n\r\n" },
		{ BOTH, "GET /short" CLOSE, "HTTP/1.1 200", "ength: 5001\r\n", NULL },
		{ BOTH, "HEAD /big" CLOSE, "HTTP/1.1 200", "ength: 3145728\r\n", "bbb" },
		{ BOTH, "HEAD /drip" CLOSE, "HTTP/1.1 200", "ength: 5000\r\n", "ddd" },
		{ LIBRARY, "GET /304" KEEP, "HTTP/1.1 304", "Connection: close\r\n",
		  "ength: 0" },
		{ LIBRARY, "HEAD /chunks" KEEP, "HTTP/1.1 200", "Connection: close\r\n",
		  "ddd" },
		{ STRICT, "GET /304" KEEP "GET /late" CLOSE, "HTTP/1.1 304",
		  "\r\n\r\nHTTP/1.1 200", "ength: 0" },
		{ STRICT, "HEAD /chunks" KEEP "GET /late" CLOSE, "HTTP/1.1 200",
		  "\r\n\r\nHTTP/1.1 200", "ddd" },
		/* no last chunk of a body that is not there */
		{ BOTH, "GET /304" CLOSE, "HTTP/1.1 304", NULL, "\r\n0\r\n" },
		{ BOTH, "HEAD /chunks" CLOSE, "HTTP/1.1 200", NULL, "\r\n0\r\n" },
		{ BOTH, "HEAD /drip" KEEP "GET /late" CLOSE, "HTTP/1.1 200",
		  "\r\n\r\nHTTP/1.1 200", NULL },
		{ BOTH, "GET /204" CLOSE, "HTTP/1.1 204", "Date: ", "ength" },
		{ BOTH, "GET /late" CLOSE, "HTTP/1.1 200", "\r\n\r\nlate", NULL },
		{ BOTH, "POST /late" CLOSE, "HTTP/1.1 200", "\r\n\r\nlate", NULL },
		{ BOTH, "GET /nowhere" CLOSE, "HTTP/1.1 404", "404 Not Found", NULL },
		{ BOTH, "GET /a#b" CLOSE, "HTTP/1.1 400", "lose\r\n", NULL },
		{ BOTH, "GET /drip HTTP/1.0\r\n\r\n", "HTTP/1.", "ddd", "chunked" },
		{ BOTH, "GET /chunks HTTP/1.0\r\n\r\n", "HTTP/1.", "ddd", "chunked" },
		{ BOTH, "PUT /nowhere HTTP/1.1\r\nHost: h\r\nConnection: close\r\n"
		  "Content-Length: 3\r\n\r\nabc", "HTTP/1.1 404", NULL, NULL },
		{ BOTH, "GET /a%41?q" KEEP "GET /late" CLOSE, "HTTP/1.1 200",
		  "\r\n\r\n/a%41?qHTTP/1.1 200", NULL },
		{ BOTH, "GET /empty" KEEP "GET /late" CLOSE, "HTTP/1.1 200",
		  "ength: 0\r\n", "bbb" },
		{ BOTH, "GET /blank" KEEP "GET /late" CLOSE, "HTTP/1.1 200",
		  "ength: 0\r\n", "chunked" },
		{ BOTH, "GET /none" CLOSE, "HTTP/1.1 200", "\r\n\r\n0\r\n\r\n", "ength" },
		{ BOTH, "GET /none HTTP/1.0\r\n\r\n", "HTTP/1.", "\r\n\r\n", "ength" },
		{ BOTH, "GET /dated" CLOSE, "HTTP/1.1 200",
		  "Date: Sun, 06 Nov 1994 08:49:37 GMT\r\n", NULL },
		{ BOTH, "GET /dated/empty" CLOSE, "HTTP/1.1 200", "ength: 0\r\n", "bbb" },
		{ BOTH, "HEAD /a%41?q" CLOSE, "HTTP/1.1 200", "ength: 7\r\n", "\r\n\r\n/" },
		{ BOTH, "GET /long/hint" CLOSE, "HTTP/1.1 200", "\r\n\r\nshort", "X-Long" },
		{ STRICT, "GET /calls" KEEP "GET /late" CLOSE, "HTTP/1.1 200",
		  "A: b\r\nEmpty: \r\n", NULL },
		{ LIBRARY, "GET /calls" CLOSE, "HTTP/1.1 200", "A: b\r\n", "Empty" },
		{ BOTH, "POST /calls HTTP/1.1\r\nHost: h\r\nConnection: close\r\n"
		  "Content-Length: 3\r\n\r\nabc", "HTTP/1.1 200", "\r\n\r\ncalm", "103" },
		{ BOTH, "GET /late HTTP/1.1\r\nHost: h\r\nConnection: close\r\n"
		  "Cookie: a=1; b=2; c=3\r\n\r\n", "HTTP/1.1 200", "\r\n\r\nlate", NULL },
		{ BOTH, "GET /hints/big" CLOSE, "HTTP/1.1 ", "bbbbb", NULL },
		{ BOTH, "POST /first HTTP/1.1\r\nHost: h\r\nConnection: close\r\n"
		  "Content-Length: 3\r\n\r\nabc", "HTTP/1.1 200", "\r\n\r\n/first", NULL },
		{ STRICT, "POST /second HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\n"
		  "helloGET /late" CLOSE, "HTTP/1.1 200", "\r\n\r\nlate", NULL },
		{ STRICT, "POST /abort HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n"
		  "Expect: 100-continue\r\n\r\n", "", NULL, "HTTP" },
		{ BOTH, "GET /abort" CLOSE, "", NULL, "HTTP" },
	};
	/* clang-format on */

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char *reply;

		if (is_for_other(rows[i].engine))
			continue;
		reply = ask(rows[i].request, NULL);
		if (strncmp(reply, rows[i].start, strlen(rows[i].start)) != 0 ||
		    (rows[i].has && !strstr(reply, rows[i].has)) ||
		    (rows[i].hasnt && strstr(reply, rows[i].hasnt)))
			fail_msg("%s: %.500s", rows[i].request, reply);
		free(reply);
	}
}

/* Nothing behind an empty Cookie is read, wherever a block of fields ends. */
static void an_empty_cookie_ends(void **state)
{
	enum { BLOCK = 1000, FIRST = BLOCK - 100, LAST = BLOCK };
	char request[2 * BLOCK], *reply;

	(void)state;
	for (int len = FIRST; len < LAST; len++) {
		snprintf(request, sizeof(request),
			 "GET /late HTTP/1.1\r\nHost: h\r\n"
			 "Connection: close\r\nX: %0*d\r\nCookie:\r\n\r\n",
			 len, 0);
		reply = ask(request, NULL);
		assert_int_equal(strncmp(reply, "HTTP/1.1 200", 12), 0);
		free(reply);
	}
}

#define REFUSED "HTTP/1.1 431"

/* The library has less room for cookies than for others, and may have none for
 * an answer where they are far too many. */
static void headers_that_are_too_large(void **state)
{
	static const struct {
		enum engine engine;
		const char *name, *part, *status;
		size_t parts;
	} rows[] = {
		{ BOTH, "X", "0123456789", REFUSED, 1700 },
		{ BOTH, "X", "0123456789", "HTTP/1.1 200", 1500 },
		{ BOTH, "Cookie", "a=1;b=2;c=", "HTTP/1.1 200", 40 },
		{ LIBRARY, "Cookie", "a=1;b=2;c=", REFUSED, 300 },
		{ LIBRARY, "Cookie", "a=1;b=2;c=", "", 1000 },
		{ STRICT, "Cookie", "a=1;b=2;c=", "HTTP/1.1 200", 1000 },
	};
	uint64_t refused = 0;

	(void)state;
	for (size_t i = 0; i < NROWS(rows); i++) {
		char text[20000] = "GET /late HTTP/1.1\r\nHost: h\r\n"
				   "Connection: close\r\n", *reply;

		if (is_for_other(rows[i].engine))
			continue;
		strcat(strcat(text, rows[i].name), ": ");
		for (size_t n = 0; n < rows[i].parts; n++)
			strcat(text, rows[i].part);
		strcat(text, "\r\n\r\n");
		reply = ask(text, NULL);
		if (strncmp(reply, rows[i].status, 12) != 0 &&
		    (rows[i].status[0] || strncmp(reply, REFUSED, 12) != 0))
			fail_msg("%zu x %s: %.100s", rows[i].parts,
				 rows[i].part, reply);
		free(reply);
		refused += strcmp(rows[i].status, "HTTP/1.1 200") != 0;
		assert_int_equal(server_too_large(at.server), refused);
	}
}

/* Who is idle when another process goes on may ask once more, and is told then
 * that this was the last; who does not is closed soon. */
static void a_hand_over(void **state)
{
	int idle = dial(), busy = dial();
	char part[8] = "", *reply;

	(void)state;
	say(idle, "GET /204" KEEP);
	assert_int_equal(recv(idle, part, sizeof(part), MSG_WAITALL), 8);
	say(busy, "GET /wait" KEEP);
	wait_for(&at.begun, 2);
	at.stop = (struct loop_call){ .run = served_hand_over };
	loop_post(at.loop, &at.stop);
	say(idle, "GET /answer/small" KEEP);
	reply = hear(idle, NULL);
	assert_non_null(strstr(reply, "\r\n\r\nanswered"));
	assert_non_null(strstr(reply, "onnection: close\r\n"));
	free(reply);
	reply = hear(busy, NULL);
	assert_non_null(strstr(reply, "onnection: close\r\n"));
	free(reply);
	served_wait_drained();
}

static void big_bodies_are_whole(void **state)
{
	size_t len;
	char *reply = ask("GET /big" CLOSE, &len);
	char *body = strstr(reply, "\r\n\r\n");

	(void)state;
	assert_non_null(body);
	assert_int_equal(len - (size_t)(body + 4 - reply), BIG);
	assert_memory_equal(body + 4, at.big, BIG);
	free(reply);
	wait_for(&at.released, 1);
	wait_for(&at.done, 1);
}

static void uploads_are_held_back(void **state)
{
	int fd = dial();
	char *reply;

	(void)state;
	say(fd, "POST /upload HTTP/1.1\r\nHost: h\r\nConnection: close\r\n"
		"Content-Length: 3145728\r\n\r\n");
	for (size_t sent = 0; sent < BIG;) {
		ssize_t n = send(fd, at.big + sent, BIG - sent, MSG_NOSIGNAL);

		assert_true(n > 0);
		sent += (size_t)n;
	}
	reply = hear(fd, NULL);
	assert_non_null(strstr(reply, "\r\n\r\n3145728"));
	free(reply);
}

/* The end of a request comes while the one before it is being answered. */
static void a_request_in_two_packets(void **state)
{
	(void)state;
	for (useconds_t us = 1000; us <= 8000; us *= 2) {
		int fd = dial();
		char *reply;

		say(fd, "GET /chunks" KEEP "GET /la");
		usleep(us);
		say(fd, "te" CLOSE);
		reply = hear(fd, NULL);
		assert_non_null(strstr(reply, "\r\n\r\nlate"));
		free(reply);
	}
}

static void chunked_uploads(void **state)
{
	char *reply = ask("POST /upload HTTP/1.1\r\nHost: h\r\n"
			  "Connection: close\r\nTransfer-Encoding: chunked\r\n"
			  "\r\n5\r\nabcde\r\n3\r\nfgh\r\n0\r\n\r\n", NULL);

	(void)state;
	assert_non_null(strstr(reply, "\r\n\r\n8"));
	free(reply);
}

static void leaving_is_noticed(void **state)
{
	int fd = dial();

	(void)state;
	say(fd, "GET /never" KEEP);
	usleep(20000);
	close(fd);
	wait_for(&at.aborted, 1);
}

static void slow_headers_are_cut_off(void **state)
{
	char *reply;
	int fd;

	served_be_hasty(state);
	fd = dial();
	say(fd, "GET /a%41?q HTTP/1.1\r\nHost: ");
	for (int i = 0; send(fd, "h", 1, MSG_NOSIGNAL) == 1; i++) {
		if (at.strict)
			served_pass(10);
		/* the kernel has its own time for what comes in bits */
		usleep(at.strict ? 1000 : 10000);
		assert_true(i < 2000); /* 20 s, or more if this was slow */
	}
	reply = hear(fd, NULL);
	assert_null(strstr(reply, "200"));
	free(reply);
}

static void stopping_with_exchanges_under_way(void **state)
{
	int fds[10];

	(void)state;
	for (int i = 0; i < 10; i++) {
		fds[i] = dial();
		say(fds[i], i % 2 ? "GET /never" KEEP : "GET /big" KEEP);
	}
	wait_for(&at.begun, 10);
	served_tear_down(NULL);
	assert_int_equal(atomic_load(&at.done) + atomic_load(&at.aborted), 10);
	for (int i = 0; i < 10; i++)
		close(fds[i]);
}

static void draining_finishes_what_is_under_way(void **state)
{
	int idle = dial(), busy = dial();
	char *reply;

	(void)state;
	say(busy, "GET /drip" KEEP);
	wait_for(&at.begun, 1);
	at.stop = (struct loop_call){ .run = served_drain };
	loop_post(at.loop, &at.stop);
	reply = hear(idle, NULL);
	assert_string_equal(reply, "");
	free(reply);
	reply = hear(busy, NULL);
	assert_non_null(strstr(reply, "ddd"));
	free(reply);
	served_wait_drained();
}

static void run_drop(void *arg)
{
	drop_shared(arg);
	atomic_store(&at.dropped, 1);
}

/* Its body is given up with it. */
static void one_reply(void)
{
	size_t len;
	char *reply;

	reply = ask("GET /shared" KEEP "HEAD /shared" KEEP
		    "GET /shared" CLOSE, &len);
	assert_true(len > 2 * BIG && len < 2 * BIG + 1000);
	assert_int_equal(count_of(reply, "HTTP/1.1 203"), 3);
	assert_int_equal(count_of(reply, "X-Made: once\r\n"), 3);
	assert_int_equal(count_of(reply, "ength: 3145728\r\n"), 3);
	assert_int_equal(count_of(reply, "\r\n\r\nbbb"), 2);
	free(reply);
	wait_for(&at.done, 3);
	assert_int_equal(atomic_load(&at.released), 0);
	at.stop = (struct loop_call){ .run = run_drop };
	loop_post(at.loop, &at.stop);
	wait_for(&at.dropped, 1);
	assert_int_equal(atomic_load(&at.released), 1);
}

static void one_reply_for_many(void **state)
{
	(void)state;
	one_reply();
}

static void one_reply_from_a_file(void **state)
{
	(void)state;
	at.in_file = body_memory_fit(NULL, 0, BIG);
	assert_true(body_memory_is_in_file(at.in_file));
	memset(at.in_file, 'b', BIG);
	body_memory_seal(at.in_file);
	one_reply();
	body_memory_free(at.in_file);
	at.in_file = NULL;
}

static void drain_and_reply(void *arg)
{
	served_drain(arg);
	reply_shared(at.waiting);
}

/* Over the library it could not tell the client that the connection closes. */
static void a_shared_reply_is_not_for_a_drain(void **state)
{
	int fd = dial();
	char *reply;

	(void)state;
	say(fd, "GET /wait" KEEP);
	wait_for(&at.begun, 1);
	at.stop = (struct loop_call){ .run = drain_and_reply };
	loop_post(at.loop, &at.stop);
	reply = hear(fd, NULL);
	assert_non_null(strstr(reply, "onnection: close"));
	assert_non_null(strstr(reply, at.strict ? "\r\n\r\nbbb" :
						  "\r\n\r\nown"));
	free(reply);
}

/* Reads one reply with "\r\n\r\n/a%41?q" at its end. */
static void hear_one(int fd)
{
	char text[1024];
	size_t have = 0;

	while (have < 7 || memcmp(text + have - 7, "/a%41?q", 7)) {
		ssize_t n = recv(fd, text + have, sizeof(text) - have, 0);

		assert_true(n > 0);
		have += (size_t)n;
	}
}

static void busy_clients(int count)
{
	int *fds = calloc((size_t)count, sizeof(*fds));

	for (int i = 0; i < count; i++)
		fds[i] = dial();
	for (int round = 0; round < BUSY_ROUNDS; round++) {
		for (int i = 0; i < count; i++)
			say(fds[i], "GET /a%41?q" KEEP);
		for (int i = 0; i < count; i++)
			hear_one(fds[i]);
	}
	for (int i = 0; i < count; i++)
		close(fds[i]);
	free(fds);
	wait_for(&at.done, count * BUSY_ROUNDS);
}

/* Some systems let a process have 256 at first. */
static void allow_descriptors(rlim_t n)
{
	struct rlimit limit;

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	if (limit.rlim_cur >= n)
		return;
	limit.rlim_cur = n;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
}

/* The library's own threads stall when k * 128 connections are ready. */
static void many_busy_clients_do_not_stall(void **state)
{
	(void)state;
	allow_descriptors(1024);
	busy_clients(128);
	atomic_store(&at.done, 0);
	busy_clients(256);
}

/* Bodies to clients of the same machine wait for no timer. */
static void local_clients_are_sent_to_freely(void **state)
{
	char name[16] = "";
	socklen_t len = sizeof(name);

	(void)state;
	assert_int_equal(getsockopt(at.server->listen_fd, IPPROTO_TCP,
				    TCP_CONGESTION, name, &len), 0);
	assert_string_equal(name, "reno");
}

static int set_up_library(void **state)
{
	at.strict = false;
	return served_set_up(state);
}

static int set_up_strict(void **state)
{
	at.strict = true;
	return served_set_up(state);
}

/* clang-format off */
#define ENGINES(test, tear_down)                                              \
	{ #test ", libmicrohttpd", test, set_up_library, tear_down, NULL },   \
	{ #test ", strict", test, set_up_strict, tear_down, NULL }
/* clang-format on */

int main(void)
{
	const struct CMUnitTest tests[] = {
		ENGINES(shapes, served_tear_down),
		ENGINES(an_empty_cookie_ends, served_tear_down),
		ENGINES(headers_that_are_too_large, served_tear_down),
		ENGINES(a_hand_over, served_tear_down),
		ENGINES(big_bodies_are_whole, served_tear_down),
		ENGINES(uploads_are_held_back, served_tear_down),
		ENGINES(a_request_in_two_packets, served_tear_down),
		ENGINES(chunked_uploads, served_tear_down),
		ENGINES(leaving_is_noticed, served_tear_down),
		ENGINES(slow_headers_are_cut_off, served_tear_down),
		ENGINES(stopping_with_exchanges_under_way, NULL),
		ENGINES(draining_finishes_what_is_under_way, served_tear_down),
		ENGINES(one_reply_for_many, served_tear_down),
		ENGINES(one_reply_from_a_file, served_tear_down),
		ENGINES(a_shared_reply_is_not_for_a_drain, served_tear_down),
		ENGINES(many_busy_clients_do_not_stall, served_tear_down),
		cmocka_unit_test_setup_teardown(
			local_clients_are_sent_to_freely, set_up_strict,
			served_tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
