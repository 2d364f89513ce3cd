/*
 * Connections that are kept: a server with a thread a connection, which does
 * with each request what its path says.
 */
#include "tests/unit.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "digestd/http/fields.h"
#include "digestd/fetch/fetch.h"
#include "digestd/os/loop.h"
#include "tests/fetch/accepting.h"
#include "tests/fetch/fetched.h"
#include "tests/loopback.h"
#include "tests/os/moved_clock.h"

#define OK "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

enum { BIG = 1000000, REQUEST_MAX = 4096 };

/* What the server answers; null: nothing. Then it closes, or not. */
/* clang-format off */
static const struct deed {
	const char *path, *answer;
	bool close;
	bool only_later; /* the first request of a connection gets OK instead */
	bool waits; /* before it, until the test says so */
	const char *unasked; /* said a moment later; null: nothing */
} deeds[] = {
	{ "/ok", OK, false, false, false, NULL },
	{ "/bye", OK, true, false, false, NULL },
	{ "/more", OK "x", false, false, false, NULL },
	{ "/last", "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok", false, false, false, NULL },
	{ "/old", "HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok", false, false, false, NULL },
	{ "/nobody", "HTTP/1.1 304 Not\r\n\r\n", false, false, false, NULL },
	{ "/later-none", NULL, true, true, false, NULL },
	{ "/later-half", "HTTP/1.1 2", true, true, false, NULL },
	{ "/none", NULL, true, false, false, NULL },
	{ "/slow", OK, false, false, true, NULL },
	{ "/unasked", OK, false, false, false, "HTTP/1.1 203 Other\r\nContent-Length: 5\r\n\r\nwrong" },
	{ "/half", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\no", false, false, false, NULL },
};
/* clang-format on */

static char big[BIG];

static struct {
	struct accepting server;
	unsigned port;
	atomic_uint requests, ended, unasked;
	atomic_bool goes_on; /* what waits */
	pthread_mutex_t lock;
	char request[REQUEST_MAX]; /* the last one, under the lock */
	struct loop *loop;
	struct fetcher *fetcher;
} at = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* A label longer than 63 bytes: no name server is asked. */
#define NO_NAME "a123456789b123456789c123456789d123456789e123456789f12345678" \
		"g123456789.invalid"

static void say(int fd, const char *text, size_t len)
{
	while (len) {
		ssize_t n = send(fd, text, len, MSG_NOSIGNAL);

		if (n <= 0)
			return;
		text += n;
		len -= (size_t)n;
	}
}

static void say_big(int fd)
{
	char head[100];

	snprintf(head, sizeof(head),
		 "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n", BIG);
	say(fd, head, strlen(head));
	say(fd, big, BIG);
}

/* Does as the path says. Returns whether the connection stays. */
static bool answer(int fd, const char *path, bool first)
{
	if (!strcmp(path, "/big")) {
		say_big(fd);
		return true;
	}
	for (size_t i = 0; i < NROWS(deeds); i++) {
		const struct deed *d = &deeds[i];

		if (strcmp(path, d->path) != 0)
			continue;
		if (d->only_later && first)
			d = &deeds[0];
		while (d->waits && !atomic_load(&at.goes_on))
			usleep(1000);
		if (d->answer)
			say(fd, d->answer, strlen(d->answer));
		if (d->unasked) {
			usleep(50000);
			say(fd, d->unasked, strlen(d->unasked));
			atomic_fetch_add(&at.unasked, 1);
		}
		return !d->close;
	}
	return false;
}

static void *serve_one(void *arg)
{
	int fd = (int)(intptr_t)arg;
	char path[64], request[REQUEST_MAX];
	bool first = true, stays = true;

	while (stays) {
		ssize_t n = recv(fd, request, sizeof(request) - 1, 0);

		if (n <= 0)
			break;
		request[n] = '\0';
		pthread_mutex_lock(&at.lock);
		memcpy(at.request, request, (size_t)n + 1);
		pthread_mutex_unlock(&at.lock);
		atomic_fetch_add(&at.requests, 1);
		stays = sscanf(request, "%*s %63s", path) == 1 &&
			answer(fd, path, first);
		first = false;
	}
	close(fd);
	atomic_fetch_add(&at.ended, 1);
	return NULL;
}

static int set_up_with(unsigned max_per_host)
{
	signal(SIGPIPE, SIG_IGN);
	for (size_t i = 0; i < BIG; i++)
		big[i] = (char)('a' + i % 23 + i / 1000 % 3);
	at.requests = at.ended = 0;
	accepting_begin(&at.server, loopback_listen(&at.port), serve_one);
	assert_int_equal(loop_new(&at.loop), 0);
	return fetcher_new(at.loop, FETCHER_DATA, max_per_host, &at.fetcher);
}

static int set_up(void **state)
{
	(void)state;
	return set_up_with(0);
}

static int set_up_one(void **state)
{
	(void)state;
	return set_up_with(1);
}

static int tear_down(void **state)
{
	(void)state;
	moved_clock_back();
	atomic_store(&at.goes_on, true);
	fetcher_free(&at.fetcher);
	loop_free(&at.loop);
	accepting_end(&at.server);
	return 0;
}

static const struct fetch_limits limits = {
	.connect_ms = 20000,
	.first_byte_ms = 20000,
	.max_header_bytes = 1000,
};

static void begin_with(const char *host, const char *path,
		       const struct fetch_limits *with, struct fetched *seen)
{
	char url[200];
	struct fetch_request request = { .method = "GET", .url = url,
					 .target = path, .limits = with };

	snprintf(url, sizeof(url), "http://%s:%u", host, at.port);
	fetched_begin(seen, at.loop, at.fetcher, &request);
}

static void begin(const char *host, const char *path, struct fetched *seen)
{
	begin_with(host, path, &limits, seen);
}

static enum fetch_result get(const char *path)
{
	struct fetched seen = { 0 };

	begin("127.0.0.1", path, &seen);
	return fetched_end(&seen);
}

static void a_connection_is_used_again(void **state)
{
	(void)state;
	for (int i = 0; i < 5; i++)
		assert_int_equal(get(i % 2 ? "/ok" : "/nobody"),
				 FETCH_COMPLETE);
	assert_int_equal(at.server.accepted, 1);
	assert_int_equal(at.requests, 5);
}

static void but_not_after_these(void **state)
{
	static const char *const paths[] = { "/more", "/last", "/old" };

	(void)state;
	for (unsigned i = 0; i < NROWS(paths); i++) {
		unsigned before = at.server.accepted;

		assert_int_equal(get(paths[i]), FETCH_COMPLETE);
		assert_int_equal(get("/ok"), FETCH_COMPLETE);
		assert_int_equal(at.server.accepted, before + 1 + !i);
	}
}

static void a_server_that_closes_kept_connections(void **state)
{
	(void)state;
	for (int i = 0; i < 20; i++)
		assert_int_equal(get("/bye"), FETCH_COMPLETE);
	assert_int_equal(at.server.accepted, 20);
}

/* It is there before the next request, and no loop has seen it yet. */
static void what_comes_unasked_is_no_answer(void **state)
{
	struct fetched seen = { 0 };

	(void)state;
	atomic_store(&at.unasked, 0);
	assert_int_equal(get("/unasked"), FETCH_COMPLETE);
	while (!atomic_load(&at.unasked))
		usleep(1000);
	begin("127.0.0.1", "/ok", &seen);
	fetched_end(&seen);
	assert_int_equal(seen.done.result, FETCH_COMPLETE);
	assert_int_equal(seen.status, 200);
	assert_int_equal(at.server.accepted, 2);
}

/* It closes when it sees the request: once more, on a new connection. */
static void a_request_that_was_not_read_is_repeated(void **state)
{
	(void)state;
	assert_int_equal(get("/later-none"), FETCH_COMPLETE);
	assert_int_equal(get("/later-none"), FETCH_COMPLETE);
	assert_int_equal(at.server.accepted, 2);
	assert_int_equal(at.requests, 3);
}

static void but_not_when_an_answer_has_begun(void **state)
{
	(void)state;
	assert_int_equal(get("/later-half"), FETCH_COMPLETE);
	assert_int_equal(get("/later-half"), FETCH_BAD);
	assert_int_equal(at.requests, 2);
}

static void nor_more_than_once(void **state)
{
	(void)state;
	assert_int_equal(get("/ok"), FETCH_COMPLETE);
	assert_int_equal(get("/none"), FETCH_BAD);
	assert_int_equal(at.requests, 3);
	assert_int_equal(get("/none"), FETCH_BAD);
	assert_int_equal(at.requests, 4);
}

/* What is whole although nobody wants it costs no connection. */
static void cancelled_when_it_was_there(void **state)
{
	(void)state;
	for (int i = 0; i < 3; i++) {
		struct fetched seen = { .cancels_at_head = true };

		begin("127.0.0.1", i ? "/nobody" : "/ok", &seen);
		fetched_end(&seen);
	}
	assert_int_equal(get("/ok"), FETCH_COMPLETE);
	assert_int_equal(at.requests, 4);
	assert_int_equal(at.server.accepted, 1);
}

static void warm(unsigned n)
{
	char url[64];

	snprintf(url, sizeof(url), "http://127.0.0.1:%u", at.port);
	fetcher_warm(at.fetcher, url, NULL, 20000, n);
}

static void await_accepted(unsigned n)
{
	while (at.server.accepted < n)
		loop_turn(at.loop, 5);
	loop_turn(at.loop, 5);
}

static void connections_are_there_before_a_request(void **state)
{
	struct fetched seen[2] = { 0 };

	(void)state;
	warm(2);
	await_accepted(2);
	warm(2); /* they are there */
	for (unsigned i = 0; i < NROWS(seen); i++)
		begin("127.0.0.1", "/ok", &seen[i]);
	warm(2); /* and are used */
	for (unsigned i = 0; i < NROWS(seen); i++) {
		assert_int_equal(fetched_end(&seen[i]), FETCH_COMPLETE);
		assert_int_equal(seen[i].done.timing.connect_ms, 0);
	}
	assert_int_equal(at.server.accepted, 2);
	warm(3);
	await_accepted(3);
	/* which is none */
	fetcher_warm(at.fetcher, "nowhere", NULL, 20000, 9);
	warm(6); /* to be given up */
}

static void but_no_more_than_the_limit(void **state)
{
	(void)state;
	warm(2);
	await_accepted(1);
	assert_int_equal(get("/ok"), FETCH_COMPLETE);
	warm(2);
	assert_int_equal(get("/ok"), FETCH_COMPLETE);
	warm(1);
	assert_int_equal(get("/ok"), FETCH_COMPLETE);
	assert_int_equal(at.server.accepted, 1);
}

static void a_host_has_a_limit(void **state)
{
	struct fetched seen[5] = { 0 };

	(void)state;
	for (unsigned i = 0; i < NROWS(seen); i++)
		begin("127.0.0.1", i == 2 ? "/none" : "/ok", &seen[i]);
	for (unsigned i = 0; i < NROWS(seen); i++) {
		fetched_end(&seen[i]);
		assert_int_equal(seen[i].done.result,
				 i == 2 ? FETCH_BAD : FETCH_COMPLETE);
	}
	/* "/none" came on a kept connection, and on one of its own */
	assert_int_equal(at.server.accepted, 3);
}

static void cancelled_while_it_waits(void **state)
{
	struct fetched seen[3] = { 0 };

	(void)state;
	for (unsigned i = 0; i < NROWS(seen); i++)
		begin("127.0.0.1", "/ok", &seen[i]);
	fetch_cancel(&seen[1].fetch);
	fetched_end(&seen[2]);
	assert_int_equal(seen[0].done.result, FETCH_COMPLETE);
	assert_int_equal(seen[2].done.result, FETCH_COMPLETE);
	assert_false(seen[1].over);
	begin("127.0.0.1", "/ok", &seen[1]); /* freed with its fetcher */
}

static void pauses_lose_nothing(void **state)
{
	struct fetched seen = { .pauses = 3, .body = big };

	(void)state;
	begin("127.0.0.1", "/big", &seen);
	fetched_end(&seen);
	assert_int_equal(seen.done.result, FETCH_COMPLETE);
	assert_int_equal(seen.len, BIG);
	assert_true(seen.calls > 3);
	assert_int_equal(get("/ok"), FETCH_COMPLETE);
	assert_int_equal(at.server.accepted, 1);
}

/* One request with a method of its own. A clock that stands still goes on by a
 * millisecond a turn, for what is to be late. */
static enum fetch_result ask_once(const char *method, const char *path,
				  const struct fetch_upload *upload)
{
	struct fetched seen = { 0 };
	char url[64];
	const struct fetch_request request = {
		.method = method, .url = url, .target = path,
		.limits = &limits, .upload = upload,
	};

	snprintf(url, sizeof(url), "http://127.0.0.1:%u", at.port);
	fetched_begin(&seen, at.loop, at.fetcher, &request);
	while (!seen.over) {
		assert_int_equal(loop_turn(at.loop, 1), 0);
		moved_clock_on(1);
	}
	loop_timer_clear(at.loop, &seen.timer);
	return seen.done.result;
}

static void a_post_uses_a_connection_again(void **state)
{
	(void)state;
	moved_clock_stop();
	for (int i = 0; i < 5; i++)
		assert_int_equal(ask_once(i % 2 ? "POST" : "DELETE", "/ok",
					  NULL), FETCH_COMPLETE);
	assert_int_equal(at.server.accepted, 1);
	assert_int_equal(at.requests, 5);
}

static void later(unsigned ms)
{
	moved_clock_on(ms);
	assert_int_equal(loop_turn(at.loop, 0), 0);
}

/* What is idle for longer is for others. */
static void but_not_after_a_second(void **state)
{
	(void)state;
	moved_clock_stop();
	assert_int_equal(ask_once("POST", "/ok", NULL), FETCH_COMPLETE);
	later(1050);
	assert_int_equal(get("/ok"), FETCH_COMPLETE);
	assert_int_equal(at.server.accepted, 1);
	later(1050);
	assert_int_equal(ask_once("POST", "/ok", NULL), FETCH_COMPLETE);
	assert_int_equal(at.server.accepted, 2);
}

/* Its server has closed it, which the loop has not seen yet. */
static void nor_one_that_has_ended(void **state)
{
	(void)state;
	moved_clock_stop();
	assert_int_equal(ask_once("POST", "/bye", NULL), FETCH_COMPLETE);
	while (atomic_load(&at.ended) == 0)
		usleep(1000);
	assert_int_equal(ask_once("POST", "/ok", NULL), FETCH_COMPLETE);
	assert_int_equal(at.server.accepted, 2);
}

static void upload_more(void *arg)
{
	struct fetched *seen = arg;

	fetch_resume_upload(seen->fetch);
}

/* Nothing at first: the server has read the header, and closed, before. */
static ssize_t read_late(void *arg, void *buf, size_t cap)
{
	struct fetched *seen = arg;

	switch (seen->calls++) {
	case 0:
		loop_timer_set(at.loop, &seen->timer, loop_now_ms(at.loop) + 30,
			       upload_more, seen);
		return FETCH_MORE;
	case 1:
		assert_true(cap >= 4);
		memcpy(buf, "abcd", 4);
		return 4;
	}
	return FETCH_EOF;
}

static ssize_t read_at_once(void *arg, void *buf, size_t cap)
{
	struct fetched *seen = arg;

	seen->calls += !seen->calls;
	return read_late(arg, buf, cap);
}

/* A server that overlooks a body takes it for the next request. */
static void who_uploads_shares_with_nobody_else(void **state)
{
	static const struct fetch_upload upload = {
		.len = 4,
		.read = read_at_once,
	};

	(void)state;
	moved_clock_stop();
	assert_int_equal(ask_once("POST", "/ok", &upload), FETCH_COMPLETE);
	assert_int_equal(get("/ok"), FETCH_COMPLETE);
	assert_int_equal(at.server.accepted, 2);
	assert_int_equal(ask_once("PUT", "/ok", &upload), FETCH_COMPLETE);
	assert_int_equal(get("/ok"), FETCH_COMPLETE);
	assert_int_equal(at.server.accepted, 2);
	assert_int_equal(ask_once("GET", "/ok", &upload), FETCH_COMPLETE);
	assert_int_equal(ask_once("POST", "/ok", &upload), FETCH_COMPLETE);
	assert_int_equal(at.server.accepted, 3);
}

/* The server ends kept connections when it has read a request: nobody knows
 * what it has done with it. */
static void what_is_not_safe_is_sent_once(void **state)
{
	static const struct fetch_upload late = {
		.len = 4,
		.read = read_late,
	};
	static const struct fetch_upload once = {
		.len = 4,
		.read = read_at_once,
	};
	static const struct {
		const char *method;
		const struct fetch_upload *upload;
		unsigned requests;
	} rows[] = {
		{ "POST", NULL, 1 },	{ "PATCH", NULL, 1 },
		{ "X-OTHER", NULL, 1 }, { "POST", &late, 1 },
		{ "POST", &once, 1 },	{ "PUT", &late, 1 },
		{ "PUT", &once, 1 },	{ "GET", &late, 1 },
		{ "PUT", NULL, 1 },	{ "DELETE", NULL, 1 },
		{ "OPTIONS", NULL, 2 },
	};

	(void)state;
	moved_clock_stop();
	for (size_t i = 0; i < NROWS(rows); i++) {
		unsigned accepted, before;

		/* uploads have connections of their own */
		assert_int_equal(ask_once("POST", "/ok",
					  rows[i].upload ? &once : NULL),
				 FETCH_COMPLETE);
		accepted = at.server.accepted;
		before = at.requests;
		assert_int_equal(ask_once(rows[i].method, "/later-none",
					  rows[i].upload),
				 rows[i].requests > 1 ? FETCH_COMPLETE :
							FETCH_BAD);
		assert_int_equal(at.requests - before, rows[i].requests);
		assert_in_range(at.server.accepted, accepted, accepted + 1);
	}
}

/* low_rate is one of the body, and not of the wait for the header, which is
 * longer here. libcurl has a clock of its own. */
static void a_slow_header_is_no_slow_body(void **state)
{
	static const struct fetch_limits patient = {
		.connect_ms = 20000,
		.first_byte_ms = 20000,
		.low_rate = 1,
		.low_rate_s = 1,
		.max_header_bytes = 1000,
	};

	(void)state;
	for (int use = 0; use < 2; use++) {
		struct fetched slow = { 0 }, half = { 0 };

		atomic_store(&at.goes_on, false);
		fetcher_free(&at.fetcher);
		assert_int_equal(fetcher_new(at.loop, (enum fetcher_use)use, 0,
					     &at.fetcher), 0);
		begin_with("127.0.0.1", "/slow", &patient, &slow);
		begin_with("127.0.0.1", "/half", &patient, &half);
		while (!half.len)
			assert_int_equal(loop_turn(at.loop, 10), 0);
		while (use == FETCHER_DATA && !half.over)
			later(100);
		fetched_end(&half);
		assert_int_equal(half.done.result, FETCH_TIMEOUT);
		assert_false(slow.over);
		atomic_store(&at.goes_on, true);
		fetched_end(&slow);
		assert_int_equal(slow.done.result, FETCH_COMPLETE);
	}
}

static void names(void **state)
{
	struct fetched seen[4] = { 0 };

	(void)state;
	begin("localhost", "/ok", &seen[0]);
	begin("LocalHost", "/ok", &seen[1]);
	fetched_end(&seen[0]);
	fetched_end(&seen[1]);
	begin("localhost", "/ok", &seen[2]);
	begin(NO_NAME, "/ok", &seen[3]);
	fetched_end(&seen[2]);
	fetched_end(&seen[3]);
	for (int i = 0; i < 3; i++)
		assert_int_equal(seen[i].done.result, FETCH_COMPLETE);
	assert_int_equal(seen[3].done.result, FETCH_NOCONNECT);
	assert_in_range(at.server.accepted, 1, 2);
}

static void forgotten_while_it_is_looked_up(void **state)
{
	static struct fetched seen[2];

	(void)state;
	begin(NO_NAME, "/ok", &seen[0]);
	begin(NO_NAME, "/ok", &seen[1]);
	loop_turn(at.loop, 0);
	fetch_cancel(&seen[0].fetch);
}

static void the_request_as_it_is_sent(void **state)
{
	struct fetched seen[2] = { 0 };
	char url[64], expected[200];
	struct fields fields;
	struct fetch_request request = { .method = "HEAD", .url = url,
					 .fields = &fields,
					 .limits = &limits };

	(void)state;
	snprintf(url, sizeof(url), "HTTP://127.0.0.1:%u/ok?a=%%20#frag",
		 at.port);
	fields_init(&fields);
	fields_add(&fields, "A", "b c");
	fields_add(&fields, "Connection", "x");
	fields_add(&fields, "Content-Length", "5");
	fields_add(&fields, "Empty", "");
	for (int i = 0; i < 2; i++) {
		snprintf(expected, sizeof(expected),
			 "HEAD /ok?a=%%20 HTTP/1.1\r\n%s%.*u%s"
			 "A: b c\r\nEmpty: \r\n%s\r\n",
			 i ? "" : "Host: 127.0.0.1:", i ? 0 : 1,
			 i ? 0 : at.port, i ? "" : "\r\n",
			 i ? "hOsT: there\r\n" : "");
		fetched_begin(&seen[i], at.loop, at.fetcher, &request);
		fetched_end(&seen[i]);
		pthread_mutex_lock(&at.lock);
		assert_string_equal(at.request, expected);
		pthread_mutex_unlock(&at.lock);
		fields_add(&fields, "hOsT", "there");
	}
	fields_free(&fields);
}

#define TEST(function) \
	cmocka_unit_test_setup_teardown(function, set_up, tear_down)
#define TEST_ONE(function) \
	cmocka_unit_test_setup_teardown(function, set_up_one, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_connection_is_used_again),
		TEST(but_not_after_these),
		TEST(a_server_that_closes_kept_connections),
		TEST(what_comes_unasked_is_no_answer),
		TEST(a_request_that_was_not_read_is_repeated),
		TEST(but_not_when_an_answer_has_begun),
		TEST(nor_more_than_once),
		TEST(cancelled_when_it_was_there),
		TEST(connections_are_there_before_a_request),
		TEST_ONE(but_no_more_than_the_limit),
		TEST_ONE(a_host_has_a_limit),
		TEST_ONE(cancelled_while_it_waits),
		TEST(pauses_lose_nothing),
		TEST_ONE(pauses_lose_nothing),
		TEST(a_post_uses_a_connection_again),
		TEST(but_not_after_a_second),
		TEST(nor_one_that_has_ended),
		TEST(who_uploads_shares_with_nobody_else),
		TEST(what_is_not_safe_is_sent_once),
		TEST(a_slow_header_is_no_slow_body),
		TEST(names),
		TEST(forgotten_while_it_is_looked_up),
		TEST(the_request_as_it_is_sent),
	};

	fetch_global_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
