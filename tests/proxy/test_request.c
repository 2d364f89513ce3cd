/*
 * The data path from end to end, see two_nodes.h: what is stored and what is
 * not, bodies of all kinds, and what happens in the middle of them.
 */
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "digestd/fetch/fetch.h"
#include "digestd/os/loop.h"
#include "digestd/os/memory.h"
#include "tests/loopback.h"
#include "tests/proxy/two_nodes.h"
#include "tests/unit.h"

/* One after the other at node a; `seen`: requests at the origin by then. */
static void sequence(void **state)
{
	/* clang-format off */
	static const struct {
		const char *method, *target, *fields;
		unsigned status;
		const char *has;
		int seen;
	} rows[] = {
		{ "GET", "/hit", "", 200, "a; fwd=uri-miss", 1 },
		{ "GET", "/hit", "", 200, "a; hit", 1 },
		{ "GET", "/hit", "", 200, "\r\nAge: ", 1 },
		{ "GET", "/hit", "", 200, "\r\nVia: 1.1 a", 1 },
		{ "GET", "http://H:80/hit", "", 200, "a; hit", 1 },
		{ "HEAD", "/hit", "", 200, "Content-Length: 4\r\n", 1 },
		{ "GET", "/hit", "If-None-Match: \"x\"\r\n", 200, "/hit", 1 },
		{ "GET", "/hit", "Range: bytes=0-1\r\n", 206, "Content-Range: bytes 0-1/4\r\n", 1 },
		{ "GET", "/hit", "Range: bytes=4-\r\n", 416, "Content-Range: bytes */4\r\n", 1 },
		{ "GET", "/hit", "Cache-Control: no-cache\r\n", 200, "fwd=request", 2 },
		{ "GET", "/hit2", "Cache-Control: only-if-cached\r\n", 504, NULL, 2 },
		{ "HEAD", "/hit3", "", 200, "Content-Length: 5\r\n", 3 },
		{ "GET", "/nostore", "", 200, "no", 4 },
		{ "GET", "/nostore", "", 200, "no", 5 },
		{ "GET", "/vary", "Accept-Language: de\r\n", 200, "uri-miss", 6 },
		{ "GET", "/vary", "Accept-Language: en\r\n", 200, "vary-miss", 7 },
		{ "GET", "/vary", "Accept-Language: de\r\n", 200, "a; hit", 7 },
		{ "GET", "/etag", "", 200, "tagged", 8 },
		{ "GET", "/etag", "", 200, "fwd=stale", 9 },
		{ "GET", "/etag", "If-None-Match: \"v1\"\r\n", 304, "ETag: \"v1\"", 10 },
		{ "GET", "/etag", "If-None-Match: \"v2\"\r\n", 200, "tagged", 11 },
		{ "POST", "/hit", "Content-Length: 0\r\n", 200, NULL, 12 },
		{ "GET", "/hit", "", 200, "uri-miss", 13 },
		{ "GET", "/error", "", 500, NULL, 14 },
		{ "GET", "/hit4", "Via: 1.1 a\r\n", 508, NULL, 14 },
		{ "GET", "/hit4", "CDN-Loop: a\r\n", 508, NULL, 14 },
		{ "DELETE", "/hit", "", 200, NULL, 15 },
		{ "GET", "/hit", "", 200, "uri-miss", 16 },
		{ "GET", "/a#b", "", 400, NULL, 16 },
	};
	/* clang-format on */

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		expect(ask(port_a(), rows[i].method, rows[i].target,
			   rows[i].fields),
		       rows[i].status, rows[i].has);
		if (atomic_load(&at.seen) != rows[i].seen)
			print_message("# row %zu\n", i);
		assert_int_equal(atomic_load(&at.seen), rows[i].seen);
	}
}

static size_t body_len(const char *reply)
{
	const char *body = strstr(reply, "\r\n\r\n");

	return body ? strlen(body + 4) : 0;
}

static void large_bodies(void **state)
{
	static const char *const targets[] = { "/big", "/private-big" };

	(void)state;
	for (int i = 0; i < 4; i++) {
		char *reply = ask(port_a(), "GET", targets[i / 2], "");

		assert_int_equal(body_len(reply), BIG);
		free(reply);
	}
	assert_int_equal(atomic_load(&at.seen), 3);
	free(ask(port_a(), "GET", "/chunked", ""));
	expect(ask(port_a(), "GET", "/chunked", ""), 200, "a; hit");
	assert_int_equal(atomic_load(&at.seen), 4);
}

static uint64_t requests_held(void)
{
	return __atomic_load_n(&memory_ledger.used[LEDGER_requests],
			       __ATOMIC_RELAXED);
}

enum { SILENCE_MS = 150, WAITS = 5000, TRAILER_BYTES = 4000 };

/* Node a asks this test from now on. Returns a socket to accept it from. */
static int origin_listen(void)
{
	struct worker_settings changed = at.a.settings;
	char url[64];
	unsigned port;
	int listener = loopback_listen(&port);

	snprintf(url, sizeof(url), "http://127.0.0.1:%u", port);
	changed.default_origin = url;
	changed.tunnel_ms = SILENCE_MS;
	reconfigure(&at.a, &changed);
	return listener;
}

static int origin_accept(int listener)
{
	int fd = accept(listener, NULL, NULL);

	assert_true(fd >= 0);
	close(listener);
	return fd;
}

/* Reads a header. */
static void origin_head(int fd, const char *begin)
{
	char head[16384] = "";

	for (size_t len = 0; !strstr(head, "\r\n\r\n"); len++) {
		assert_true(len < sizeof(head) - 1);
		assert_int_equal(recv(fd, head + len, 1, 0), 1);
	}
	assert_int_equal(strncmp(head, begin, strlen(begin)), 0);
}

/* While one is under way its fields are there as they came, and as they are
 * sent: they count as long as they are. */
static void long_fields_count(void **state)
{
	enum { LONG = 8000 };
	char request[LONG + 100];
	uint64_t held[2];

	(void)state;
	for (int i = 0; i < 2; i++) {
		int listener = origin_listen(), fd = loopback_dial(port_a());
		int served;

		snprintf(request, sizeof(request),
			 "GET /long?%d HTTP/1.1\r\nHost: h\r\n"
			 "Connection: close\r\nX-Long: %0*d\r\n\r\n", i,
			 i ? LONG : 1, 7);
		say(fd, request);
		served = origin_accept(listener);
		origin_head(served, "GET /long?");
		held[i] = requests_held();
		say(served, "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n"
			    "long");
		expect(hear(fd), 200, "long");
		close(served);
		for (int n = 0; n < WAITS && requests_held(); n++)
			usleep(1000);
		assert_int_equal(requests_held(), 0);
	}
	assert_true(held[0] > 0);
	assert_true(held[1] >= held[0] + 2 * LONG - 100);
}

/* What may still be taken is too little to store a large body: it passes, each
 * time from the origin, while small ones are stored. */
static void little_memory(void **state)
{
	(void)state;
	memory_limit(memory_held() + BIG);
	for (int i = 1; i <= 2; i++) {
		char *reply = ask(port_a(), "GET", "/big", "");

		assert_int_equal(body_len(reply), BIG);
		free(reply);
		assert_int_equal(atomic_load(&at.seen), i);
	}
	memory_limit(UINT64_MAX);
	free(ask(port_a(), "GET", "/big", ""));
	expect(ask(port_a(), "GET", "/big", ""), 200, "a; hit");
	assert_int_equal(atomic_load(&at.seen), 3);
}

/* Hits only. */
static void no_memory(void **state)
{
	struct worker_counters sum = { 0 };

	(void)state;
	free(ask(port_a(), "GET", "/big", ""));
	memory_limit(1);
	expect(ask(port_a(), "GET", "/big", ""), 200, "a; hit");
	expect(ask(port_a(), "GET", "/store", ""), 503, "Retry-After: 1\r\n");
	expect(ask(port_a(), "POST", "/x", "Content-Length: 0\r\n"), 503,
	       "memory");
	memory_limit(UINT64_MAX);
	expect(ask(port_a(), "GET", "/store", ""), 200, NULL);
	worker_count(at.a.worker, &sum);
	assert_int_equal(sum.memory_refused, 2);
}

/* Longer than any name: it is the client's fault. */
static void long_hosts(void **state)
{
	static const struct {
		int len;
		unsigned status;
	} rows[] = { { 260, 200 }, { 261, 400 }, { 1000, 400 } };

	(void)state;
	for (size_t i = 0; i < NROWS(rows); i++) {
		char text[1200];
		int fd = loopback_dial(port_a());

		snprintf(text, sizeof(text), "GET /hit HTTP/1.1\r\nHost: %0*d"
			 "\r\nConnection: close\r\n\r\n", rows[i].len, 0);
		say(fd, text);
		expect(hear(fd), rows[i].status, NULL);
	}
	assert_int_equal(atomic_load(&at.seen), 1);
}

/* What an unsafe answer names is gone, too, if it is of the same host. */
static void what_an_answer_names_is_gone(void **state)
{
	static const char *const named[] = { "/hit", "/hit2" };

	(void)state;
	for (int other = 0; other < 2; other++) {
		for (size_t i = 0; i < NROWS(named); i++)
			free(ask(port_a(), "GET", named[i], ""));
		expect(ask(port_a(), "POST",
			   other ? "/change?other" : "/change",
			   "Content-Length: 0\r\n"), 200, "changed");
		expect(ask(port_a(), "GET", "/hit", ""), 200, "uri-miss");
		expect(ask(port_a(), "GET", "/hit2", ""), 200,
		       other ? "; hit" : "uri-miss");
	}
}

static void truncated_bodies_are_not_stored(void **state)
{
	(void)state;
	for (int i = 1; i <= 2; i++) {
		char *reply = ask(port_a(), "GET", "/cut", "");

		assert_true(body_len(reply) < BIG);
		free(reply);
		reply = ask(port_a(), "GET", "/cut?chunked", "");
		assert_null(strstr(reply, "\r\n0\r\n\r\n"));
		free(reply);
		assert_int_equal(atomic_load(&at.seen), 2 * i);
	}
}

static void a_failing_origin(void **state)
{
	(void)state;
	expect(ask(port_a(), "GET", "/abort", ""), 502, NULL);
}

static void concurrent_misses_are_fetched_once(void **state)
{
	int fds[20];

	(void)state;
	for (int i = 0; i < 20; i++) {
		fds[i] = loopback_dial(port_a());
		say(fds[i], "GET /late HTTP/1.1\r\nHost: h\r\n"
			    "Connection: close\r\n\r\n");
	}
	for (int i = 0; i < 20; i++)
		expect(hear(fds[i]), 200, "late");
	assert_int_equal(atomic_load(&at.seen), 1);
}

/* The leader leaves; those who wait are served all the same. */
static void a_leader_may_leave(void **state)
{
	int lead = loopback_dial(port_a()), other;

	(void)state;
	say(lead, "GET /late HTTP/1.1\r\nHost: h\r\n\r\n");
	usleep(30000);
	other = loopback_dial(port_a());
	say(other, "GET /late HTTP/1.1\r\nHost: h\r\n"
		   "Connection: close\r\n\r\n");
	usleep(20000);
	close(lead);
	expect(hear(other), 200, "late");
}

static void uploads(void **state)
{
	char *request = malloc(BIG + 200);
	int fd = loopback_dial(port_a());
	int n = snprintf(request, 200, "PUT /store HTTP/1.1\r\nHost: h\r\n"
			 "Connection: close\r\nContent-Length: %d\r\n\r\n",
			 BIG);

	(void)state;
	memset(request + n, 'u', BIG);
	request[n + BIG] = '\0';
	say(fd, request);
	free(request);
	expect(hear(fd), 200, "got 300000");
	fd = loopback_dial(port_a());
	say(fd, "POST /x HTTP/1.1\r\nHost: h\r\nConnection: close\r\n"
		"Transfer-Encoding: chunked\r\n\r\n4\r\nabcd\r\n0\r\n\r\n");
	expect(hear(fd), 200, "got 4");
	expect(ask(port_a(), "PUT", "/y", "Content-Length: 2000000\r\n"), 413,
	       NULL);
}

/* What answers it depends on a body that later requests do not have. */
static void a_get_with_a_body_goes_to_the_origin(void **state)
{
	static const char request[] =
		"GET /hit HTTP/1.1\r\nHost: h\r\nConnection: close\r\n"
		"Content-Length: 4\r\n\r\nabcd";

	(void)state;
	for (int i = 0; i < 3; i++) {
		int fd = loopback_dial(port_a());

		say(fd, request);
		expect(hear(fd), 200, "fwd=bypass");
		assert_int_equal(atomic_load(&at.seen), 1 + i + (i > 1));
		assert_non_null(strstr(at.last, "Content-Length: 4"));
		if (i == 1)
			expect(ask(port_a(), "GET", "/hit", ""), 200,
			       "fwd=uri-miss");
	}
	expect(ask(port_a(), "GET", "/hit", ""), 200, "a; hit");
}

static void the_peer_listener_wants_the_token(void **state)
{
	unsigned port = worker_peer_port(at.a.worker);

	(void)state;
	expect(ask(port, "GET", "/scd/v1/digest", ""), 401, NULL);
	expect(ask(port, "GET", "/scd/v1/digest",
		   "Authorization: Bearer " TOKEN "\r\n"), 200, "resource");
	expect(ask(port, "GET", "/scd/v1/digest",
		   "Authorization: Bearer 0" TOKEN "\r\n"), 401, NULL);
	expect(ask(port, "GET", "http://h/hit", ""), 407, NULL);
	expect(ask(port, "GET", "http://h/hit",
		   "Proxy-Authorization: Bearer " TOKEN "\r\n"), 504, NULL);
	expect(ask(port_a(), "GET", "/hit", ""), 200, NULL);
	expect(ask(port, "GET", "http://h/hit",
		   "Proxy-Authorization: Bearer " TOKEN "\r\n"), 200, "a; hit");
	assert_int_equal(atomic_load(&at.seen), 1);
}

static void reconfiguring(void **state)
{
	struct worker_settings changed = at.a.settings;

	(void)state;
	changed.default_origin = NULL;
	reconfigure(&at.a, &changed);
	expect(ask(port_a(), "GET", "/hit", ""), 421, NULL);
	changed.forward = true;
	reconfigure(&at.a, &changed);
	expect(ask(port_a(), "GET", at.url, ""), 403, NULL);
	changed.forward_private = true;
	reconfigure(&at.a, &changed);
	expect(ask(port_a(), "GET", at.url, ""), 200, "plain");
}

static void stopping_in_the_middle(void **state)
{
	int fds[8];

	(void)state;
	for (int i = 0; i < 8; i++) {
		fds[i] = loopback_dial(port_a());
		say(fds[i], i % 2 ? "GET /big HTTP/1.1\r\nHost: h\r\n\r\n" :
				    "GET /late HTTP/1.1\r\nHost: h\r\n\r\n");
	}
	usleep(5000);
	worker_stop(&at.a.worker);
	for (int i = 0; i < 8; i++)
		close(fds[i]);
}

static void count_drained(void *arg)
{
	atomic_fetch_add((atomic_int *)arg, 1);
}

static void draining(void **state)
{
	atomic_int drained = 0;
	struct loop_call call = { .run = count_drained, .arg = &drained };
	int fd = loopback_dial(port_a());

	(void)state;
	say(fd, "GET /late HTTP/1.1\r\nHost: h\r\n\r\n");
	while (!atomic_load(&at.seen))
		usleep(1000);
	worker_drain(at.a.worker, at.loop, &call);
	assert_int_equal(atomic_load(&drained), 0);
	expect(hear(fd), 200, "late");
	usleep(20000);
	assert_int_equal(atomic_load(&drained), 0); /* peers are served */
	worker_part(at.a.worker);
	for (int i = 0; i < WAITS && !atomic_load(&drained); i++)
		usleep(1000);
	assert_int_equal(atomic_load(&drained), 1);
}

/* What is ready for a stored response does not answer for another one that
 * has its place in memory. */
static void what_is_ready_is_not_that_of_another_response(void **state)
{
	(void)state;
	for (int i = 0; i < 40; i++) {
		char target[32], *reply, now = (char)('d' + i % 20);

		snprintf(target, sizeof(target), "/big%d", i);
		memset(at.big, 'b', BIG);
		for (int n = 0; n < 12; n++)
			free(ask(port_a(), "GET", target, ""));
		memset(at.big, now, BIG);
		free(ask(port_a(), "DELETE", target, ""));
		reply = ask(port_a(), "GET", target, "");
		assert_int_equal(reply[strlen(reply) - 1], now);
		free(reply);
		reply = ask(port_a(), "GET", target, "");
		if (reply[strlen(reply) - 1] != now)
			print_message("# round %d: %c instead of %c\n", i,
				      reply[strlen(reply) - 1], now);
		assert_int_equal(reply[strlen(reply) - 1], now);
		free(reply);
	}
}

/* Origins that the tests play. */

/* They are passed on, and returned when the exchange is over: the ledger is
 * looked at in the end, as in each test. */
static void trailers_are_passed_on(void **state)
{
	int listener = origin_listen(), client = loopback_dial(port_a());
	char text[TRAILER_BYTES + 200], *reply;
	int served;

	(void)state;
	say(client, "GET /sum HTTP/1.1\r\nHost: h\r\nTE: trailers\r\n"
		    "Connection: close, TE\r\n\r\n");
	served = origin_accept(listener);
	origin_head(served, "GET /sum HTTP/1.1\r\n");
	snprintf(text, sizeof(text), "HTTP/1.1 200 OK\r\n"
		 "Transfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n"
		 "X-Sum: %0*d\r\n\r\n", TRAILER_BYTES, 7);
	say(served, text);
	reply = hear(client);
	assert_non_null(strstr(reply, "0\r\nX-Sum: 000"));
	expect(reply, 200, "0007\r\n\r\n");
	close(served);
}

/* Of a tunnel: the origin has sent all, and the client has read that. */
static void tunnel_open(int *client, int *served)
{
	int listener = origin_listen();
	char got[4] = "";

	*client = loopback_dial(port_a());
	say(*client, "GET /ws HTTP/1.1\r\nHost: h\r\nConnection: upgrade\r\n"
		     "Upgrade: echo\r\n\r\n");
	*served = origin_accept(listener);
	origin_head(*served, "GET /ws HTTP/1.1\r\n");
	say(*served, "HTTP/1.1 101 Switching Protocols\r\n"
		     "Connection: upgrade\r\nUpgrade: echo\r\n\r\nbye");
	shutdown(*served, SHUT_WR);
	origin_head(*client, "HTTP/1.1 101 ");
	assert_int_equal(recv(*client, got, 3, MSG_WAITALL), 3);
	assert_string_equal(got, "bye");
	assert_int_equal(recv(*client, got, 1, 0), 0);
}

/* What it says is refused from now on, and nothing is left of the tunnel. */
static void tunnel_expect_end(int client)
{
	struct worker_counters sum = { 0 };
	int waits = 0;

	for (; !sum.tunnels_ended && waits < WAITS; waits++) {
		usleep(1000);
		sum = (struct worker_counters){ 0 };
		worker_count(at.a.worker, &sum);
	}
	assert_int_equal(sum.tunnels_ended, 1);
	while (send(client, "x", 1, MSG_NOSIGNAL) == 1 && waits++ < WAITS)
		usleep(1000);
	assert_in_range(waits, 1, WAITS - 1);
	close(client);
}

static void an_origin_that_is_done_and_then_silent(void **state)
{
	int client, served;

	(void)state;
	tunnel_open(&client, &served);
	tunnel_expect_end(client);
	close(served);
}

static void an_origin_that_is_done_and_breaks_off(void **state)
{
	static const struct linger now = { .l_onoff = 1 };
	int client, served;

	(void)state;
	tunnel_open(&client, &served);
	setsockopt(served, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
	close(served);
	tunnel_expect_end(client);
}

/* Sends until nothing is taken any more. Returns how much was. */
static size_t tunnel_fill(int client)
{
	static char block[65536];
	struct pollfd ready = { .fd = client, .events = POLLOUT };
	size_t sent = 0;

	memset(block, 'x', sizeof(block));
	while (poll(&ready, 1, 50) == 1) {
		ssize_t n = send(client, block, sizeof(block),
				 MSG_NOSIGNAL | MSG_DONTWAIT);

		sent += n > 0 ? (size_t)n : 0;
	}
	return sent;
}

/* The origin is done; what the client says then reaches it to the last byte,
 * and after that its end, though the client waits for nothing. */
static void the_last_bytes_of_a_client(void **state)
{
	static char got[65536];
	int client, served;
	size_t said, heard = 0;
	ssize_t n;

	(void)state;
	tunnel_open(&client, &served);
	said = tunnel_fill(client);
	shutdown(client, SHUT_WR);
	while ((n = recv(served, got, sizeof(got), 0)) > 0)
		heard += (size_t)n;
	assert_int_equal(n, 0);
	assert_int_equal(heard, said);
	close(served);
	tunnel_expect_end(client);
}

#define TEST(name) \
	cmocka_unit_test_setup_teardown(name, two_nodes_begin, two_nodes_end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(sequence),
		TEST(large_bodies),
		TEST(long_fields_count),
		TEST(little_memory),
		TEST(no_memory),
		TEST(long_hosts),
		TEST(what_an_answer_names_is_gone),
		TEST(truncated_bodies_are_not_stored),
		TEST(a_failing_origin),
		TEST(concurrent_misses_are_fetched_once),
		TEST(a_leader_may_leave),
		TEST(uploads),
		TEST(a_get_with_a_body_goes_to_the_origin),
		TEST(the_peer_listener_wants_the_token),
		TEST(reconfiguring),
		TEST(stopping_in_the_middle),
		TEST(draining),
		TEST(what_is_ready_is_not_that_of_another_response),
		TEST(trailers_are_passed_on),
		TEST(an_origin_that_is_done_and_then_silent),
		TEST(an_origin_that_is_done_and_breaks_off),
		TEST(the_last_bytes_of_a_client),
	};

	signal(SIGPIPE, SIG_IGN);
	fetch_global_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
