/*
 * Fetches whose events come in any order: a server and a client, both played
 * by the test in one thread, send, pause, resume, end and leave as a seed
 * says. Whatever the order, nothing is delivered to who has paused or left,
 * nothing is lost, and what can end does.
 */
#include "tests/unit.h"

#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "digestd/fetch/fetch.h"
#include "digestd/os/loop.h"
#include "tests/loopback.h"

enum {
	SEEDS = 150,
	STEPS = 60,
	BODY_MAX = 300000,
	PIECE_MAX = 80000,
	UPLOAD_MAX = 100000,
	TURNS_MAX = 4000, /* to the end, once nobody holds it up */
	SEND_FLAGS = MSG_NOSIGNAL | MSG_DONTWAIT,
};

enum kind { GET, POST, CURL_GET, NKINDS };

static char pattern[BODY_MAX];

static struct play {
	uint64_t random;
	enum kind kind;
	struct loop *loop;
	struct fetcher *fetcher;
	struct fetch *fetch;

	/* the server */
	int listen_fd, fd; /* fd -1: no connection, or none any more */
	bool asked;        /* the request's header is here */
	size_t matched;    /* of the empty line behind it */
	bool headed, broken;
	unsigned status;
	size_t body_len, body_sent;

	/* the client */
	size_t upload_len, upload_ready, uploaded;
	bool willing;      /* takes all that comes from now on */
	bool paused, left, over;
	size_t received;
	enum fetch_result result;
} at;

/* xorshift64* */
static unsigned random_below(unsigned n)
{
	at.random ^= at.random >> 12;
	at.random ^= at.random << 25;
	at.random ^= at.random >> 27;
	return (unsigned)((at.random * 2685821657736338717u) >> 33) % n;
}

static bool chance(unsigned percent)
{
	return random_below(100) < percent;
}

/* The client */

static void leave(void)
{
	at.left = true;
	fetch_cancel(&at.fetch);
}

static void resume(void)
{
	at.paused = false;
	fetch_resume(at.fetch);
}

static void on_headers(void *arg, struct fetch *f, unsigned status,
		       const struct fields *fields, int64_t body_len)
{
	(void)arg;
	(void)f;
	(void)fields;
	assert_false(at.left || at.over || at.received);
	assert_int_equal(status, at.status);
	assert_int_equal(body_len, at.body_len);
	if (!at.willing && chance(2))
		leave();
}

static bool on_body(void *arg, struct fetch *f, const void *data, size_t len)
{
	(void)arg;
	(void)f;
	assert_false(at.left || at.over || at.paused);
	assert_true(at.received + len <= at.body_len);
	assert_memory_equal(data, pattern + at.received, len);
	if (!at.willing && chance(2)) {
		leave();
		return chance(50);
	}
	if (!at.willing && chance(40)) {
		at.paused = true;
		if (chance(10))
			resume();
		return false;
	}
	at.received += len;
	return true;
}

static void on_done(void *arg, struct fetch *f, const struct fetch_done *done)
{
	(void)arg;
	(void)f;
	assert_false(at.left || at.over);
	assert_false(at.paused && done->result == FETCH_COMPLETE);
	at.over = true;
	at.result = done->result;
	at.fetch = NULL;
}

static const struct fetch_callbacks callbacks = {
	.on_headers = on_headers,
	.on_body = on_body,
	.on_done = on_done,
};

static ssize_t read_upload(void *arg, void *buf, size_t cap)
{
	size_t n = at.upload_ready - at.uploaded;

	(void)arg;
	assert_false(at.left || at.over);
	if (at.uploaded == at.upload_len)
		return FETCH_EOF;
	if (!n)
		return FETCH_MORE;
	n = n < cap ? n : cap;
	memcpy(buf, pattern + at.uploaded, n);
	at.uploaded += n;
	return (ssize_t)n;
}

static void upload_more(size_t n)
{
	if (!at.fetch || at.kind != POST)
		return;
	at.upload_ready += n;
	if (at.upload_ready > at.upload_len)
		at.upload_ready = at.upload_len;
	fetch_resume_upload(at.fetch);
}

static void begin(unsigned port)
{
	static const struct fetch_limits limits = {
		.connect_ms = 20000,
		.first_byte_ms = 20000,
		.max_header_bytes = 1000,
	};
	const struct fetch_upload upload = {
		.len = chance(50) ? (int64_t)at.upload_len : -1,
		.read = read_upload,
	};
	char url[64];
	const struct fetch_request request = {
		.method = at.kind == POST ? "POST" : "GET",
		.url = url,
		.limits = &limits,
		.upload = at.kind == POST ? &upload : NULL,
	};

	snprintf(url, sizeof(url), "http://127.0.0.1:%u/", port);
	assert_int_equal(fetch_start(at.fetcher, &request, &callbacks, NULL,
				     &at.fetch), 0);
}

/* The server */

static void server_close(bool reset)
{
	const struct linger now = { .l_onoff = 1 };

	if (at.fd < 0)
		return;
	if (reset)
		setsockopt(at.fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
	close(at.fd);
	at.fd = -1;
	at.broken = true;
}

static void server_read(void)
{
	static const char end[] = "\r\n\r\n";
	char buf[65536];
	ssize_t n;

	if (at.fd < 0 && !at.broken)
		at.fd = accept(at.listen_fd, NULL, NULL);
	if (at.fd < 0)
		return;
	n = recv(at.fd, buf, sizeof(buf), MSG_DONTWAIT);
	for (ssize_t i = 0; i < n && !at.asked; i++) {
		at.matched = buf[i] == end[at.matched] ? at.matched + 1 :
							 buf[i] == end[0];
		at.asked = at.matched == sizeof(end) - 1;
	}
	if (!n)
		server_close(false);
}

static void server_send(size_t most)
{
	char head[100];
	ssize_t n;

	if (at.fd < 0 || !at.asked)
		return;
	if (!at.headed) {
		snprintf(head, sizeof(head),
			 "HTTP/1.1 %u X\r\nContent-Length: %zu\r\n\r\n",
			 at.status, at.body_len);
		n = send(at.fd, head, strlen(head), SEND_FLAGS);
		at.headed = n == (ssize_t)strlen(head);
	}
	if (most > at.body_len - at.body_sent)
		most = at.body_len - at.body_sent;
	n = most ? send(at.fd, pattern + at.body_sent, most, SEND_FLAGS) : 0;
	if (n > 0)
		at.body_sent += (size_t)n;
}

/* The play */

static void step(void)
{
	switch (random_below(8)) {
	case 0:
	case 1:
		loop_turn(at.loop, 0);
		break;
	case 2:
		server_read();
		break;
	case 3:
	case 4:
		server_send(chance(20) ? 0 : random_below(PIECE_MAX));
		break;
	case 5:
		if (at.fetch && at.paused)
			resume();
		break;
	case 6:
		upload_more(random_below((unsigned)at.upload_len + 2));
		break;
	case 7:
		if (at.asked && chance(3))
			server_close(chance(50));
		else if (at.fetch && chance(3))
			leave();
		break;
	}
}

/* From now on nobody holds anything up: it must come to an end. */
static void finish(void)
{
	at.willing = true;
	for (int i = 0; i < TURNS_MAX && !at.over && !at.left; i++) {
		server_read();
		server_send(PIECE_MAX);
		upload_more(at.upload_len);
		if (at.fetch && at.paused)
			resume();
		loop_turn(at.loop, i < TURNS_MAX / 2 ? 0 : 1);
	}
	loop_turn(at.loop, 0);
}

static void play(enum kind kind, unsigned seed)
{
	static const unsigned statuses[] = { 200, 403, 302 };
	unsigned port;

	memset(&at, 0, sizeof(at));
	at.random = (seed * 3 + (unsigned)kind + 1) * 0x9e3779b97f4a7c15u;
	at.kind = kind;
	at.fd = -1;
	at.status = statuses[random_below(NROWS(statuses))];
	at.body_len = random_below(chance(30) ? 100 : BODY_MAX);
	at.upload_len = 1 + random_below(chance(50) ? 10 : UPLOAD_MAX);
	at.listen_fd = loopback_listen(&port);
	fcntl(at.listen_fd, F_SETFL, O_NONBLOCK);
	assert_int_equal(loop_new(&at.loop), 0);
	assert_int_equal(fetcher_new(at.loop, kind == CURL_GET ?
						     FETCHER_EXCHANGE :
						     FETCHER_DATA,
				     0, &at.fetcher), 0);
	begin(port);
	for (int i = 0; i < STEPS; i++)
		step();
	finish();
	if (!at.left && !(at.over && (at.broken ||
				      at.result == FETCH_COMPLETE)))
		fail_msg("kind %d, seed %u: over %d, result %d", (int)kind,
			 seed, (int)at.over, (int)at.result);
	if (at.over && at.result == FETCH_COMPLETE)
		assert_int_equal(at.received, at.body_len);
	server_close(false);
	fetcher_free(&at.fetcher);
	loop_free(&at.loop);
	close(at.listen_fd);
}

static void any_order(void **state)
{
	(void)state;
	signal(SIGPIPE, SIG_IGN);
	for (size_t i = 0; i < sizeof(pattern); i++)
		pattern[i] = (char)(i * 7 % 251);
	for (unsigned seed = 0; seed < SEEDS; seed++) {
		for (int kind = 0; kind < NKINDS; kind++)
			play((enum kind)kind, seed);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(any_order),
	};

	fetch_global_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
