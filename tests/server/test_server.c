/*
 * The server against raw sockets: framing, streaming, bodies, clients that are
 * slow or leave, many clients at once. The server's loop runs in a thread of
 * its own; the tests are blocking clients.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "digestd/http/fields.h"
#include "digestd/os/loop.h"
#include "digestd/server/server.h"
#include "tests/loopback.h"

enum { BIG = 3 << 20, REPLY_MAX = 8 << 20, BUSY_ROUNDS = 20,
       FLOOD = 300000 };

static struct {
	struct loop *loop;
	struct server *server;
	pthread_t thread;
	char big[BIG];
	atomic_int begun, done, aborted, released, dropped;
	struct loop_call stop;
	struct shared_reply *shared;
	struct exchange *waiting;
	bool to_file;
	atomic_bool drained;
} at;

/* A reply that comes in pieces, each after a timer. */
struct drip {
	struct exchange *x;
	struct loop_timer timer;
	size_t sent, len;
	bool ready, over, fails;
};

static void drip_fire(void *arg)
{
	struct drip *d = arg;

	d->ready = true;
	exchange_wake(d->x);
}

static ssize_t drip_read(void *arg, void *buf, size_t cap)
{
	struct drip *d = arg;

	if (d->sent == d->len)
		return d->fails ? BODY_FAIL : BODY_END;
	if (!d->ready) {
		loop_timer_set(at.loop, &d->timer, loop_now_ms(at.loop) + 2,
			       drip_fire, d);
		return BODY_WAIT;
	}
	d->ready = false;
	cap = cap < 1000 ? cap : 1000;
	if (cap > d->len - d->sent)
		cap = d->len - d->sent;
	memset(buf, 'd', cap);
	d->sent += cap;
	return (ssize_t)cap;
}

static void drip_release(void *arg)
{
	free(arg);
	atomic_fetch_add(&at.released, 1);
}

static void start_drip(struct exchange *x, size_t len, bool known, bool fails)
{
	struct drip *d = calloc(1, sizeof(*d));
	struct body_source source = { drip_read, drip_release, d };

	d->x = x;
	d->len = len;
	d->fails = fails;
	exchange_set_data(x, d);
	exchange_reply_stream(x, 200, NULL,
			      known ? (int64_t)(len + fails) : -1, &source);
}

/* A reply that is given later. */
static void late_fire(void *arg)
{
	struct drip *d = arg;

	exchange_set_data(d->x, NULL);
	exchange_reply_copy(d->x, 200, NULL, "late", 4);
	free(d);
}

static void count_release(void *arg)
{
	(void)arg;
	atomic_fetch_add(&at.released, 1);
}

/* With the one shared reply; or, if that cannot be, with another. */
static void reply_shared(struct exchange *x)
{
	const struct body_memory body = { at.big, BIG, count_release, NULL,
					  at.to_file };
	struct fields f;

	if (!at.shared) {
		fields_init(&f);
		assert_int_equal(fields_add(&f, "X-Made", "once"), 0);
		at.shared = shared_reply_new(203, &f, &body);
		fields_free(&f);
		assert_non_null(at.shared);
	}
	if (!exchange_reply_shared(x, at.shared))
		exchange_reply_copy(x, 200, NULL, "own", 3);
}

static void drop_shared(void *arg)
{
	(void)arg;
	shared_reply_unref(at.shared);
	at.shared = NULL;
}

static void reply_late(struct exchange *x, int delay_ms)
{
	struct drip *d = calloc(1, sizeof(*d));

	d->x = x;
	exchange_set_data(x, d);
	loop_timer_set(at.loop, &d->timer, loop_now_ms(at.loop) + delay_ms,
		       late_fire, d);
}

/* Interim responses, and a reply after them, and what comes too late. */
static void reply_after_hints(struct exchange *x, unsigned n)
{
	struct fields f;

	fields_init(&f);
	assert_int_equal(fields_add(&f, "Link", "</a>"), 0);
	assert_int_equal(fields_add(&f, "Connection", "close"), 0);
	assert_int_equal(fields_add(&f, "Empty", ""), 0);
	while (n--)
		exchange_interim(x, 103, &f);
	exchange_reply_copy(x, 200, NULL, "hinted", 6);
	exchange_interim(x, 103, &f);
	fields_free(&f);
}

/* Counts a request's body, a few bytes at a time. */
struct upload {
	struct loop_timer timer;
	struct exchange *x;
	size_t taken;
	bool pause;
};

static void upload_fire(void *arg)
{
	struct upload *u = arg;

	u->pause = false;
	exchange_resume_body(u->x);
}

static void on_request(void *arg, struct exchange *x)
{
	const struct server_request *r = exchange_request(x);
	const char *t = r->target;

	(void)arg;
	atomic_fetch_add(&at.begun, 1);
	if (!strcmp(t, "/a%41?q")) {
		exchange_reply_copy(x, 200, NULL, t, strlen(t));
	} else if (!strcmp(t, "/big")) {
		exchange_reply(x, 200, NULL, at.big, BIG, count_release, NULL);
	} else if (!strcmp(t, "/drip")) {
		start_drip(x, 5000, true, false);
	} else if (!strcmp(t, "/chunks")) {
		start_drip(x, 5000, false, false);
	} else if (!strcmp(t, "/broken")) {
		start_drip(x, 5000, false, true);
	} else if (!strcmp(t, "/short")) {
		start_drip(x, 5000, true, true);
	} else if (!strcmp(t, "/late")) {
		reply_late(x, 5);
	} else if (!strcmp(t, "/hints")) {
		reply_after_hints(x, 2);
	} else if (!strcmp(t, "/flood")) {
		reply_after_hints(x, FLOOD);
	} else if (!strcmp(t, "/never")) {
		reply_late(x, 60000);
	} else if (!strcmp(t, "/shared")) {
		reply_shared(x);
	} else if (!strcmp(t, "/wait")) {
		at.waiting = x;
	} else if (!strcmp(t, "/abort")) {
		exchange_abort(x);
	} else if (!strcmp(t, "/304")) {
		exchange_reply(x, 304, NULL, NULL, 0, NULL, NULL);
	} else if (!strcmp(t, "/204")) {
		exchange_reply(x, 204, NULL, NULL, 0, NULL, NULL);
	} else if (!strcmp(t, "/upload")) {
		struct upload *u = calloc(1, sizeof(*u));

		u->x = x;
		exchange_set_data(x, u);
	} else {
		exchange_reply_error(x, 404, NULL);
	}
}

static size_t on_body(void *arg, struct exchange *x, const void *data,
		      size_t len)
{
	struct upload *u = exchange_data(x);

	(void)arg;
	(void)data;
	if (u->pause)
		return 0;
	len = len < 50000 ? len : 50000;
	u->taken += len;
	u->pause = true;
	loop_timer_set(at.loop, &u->timer, loop_now_ms(at.loop) + 1,
		       upload_fire, u);
	return len;
}

static void on_body_end(void *arg, struct exchange *x)
{
	struct upload *u = exchange_data(x);
	char text[32];
	int n = snprintf(text, sizeof(text), "%zu", u->taken);

	(void)arg;
	exchange_reply_copy(x, 200, NULL, text, (size_t)n);
}

static void on_done(void *arg, struct exchange *x, enum exchange_end end)
{
	const char *t = exchange_request(x)->target;

	(void)arg;
	atomic_fetch_add(end == EXCHANGE_DONE ? &at.done : &at.aborted, 1);
	if (!strcmp(t, "/upload")) {
		struct upload *u = exchange_data(x);

		loop_timer_clear(at.loop, &u->timer);
		free(u);
	} else if (exchange_data(x)) {
		struct drip *d = exchange_data(x);

		loop_timer_clear(at.loop, &d->timer);
		if (!strcmp(t, "/never") || !strcmp(t, "/late"))
			free(d);
	}
}

static const struct server_handler handler = {
	on_request, on_body, on_body_end, on_done,
};

static void *run(void *arg)
{
	loop_run(at.loop);
	return arg;
}

static int set_up(void **state)
{
	const struct server_settings settings = {
		.listen = "127.0.0.1:0",
		.max_connections = 1000,
		.max_header_bytes = 16384,
		.header_ms = 300,
		.idle_ms = 3000,
		.min_rate = 1000,
	};

	(void)state;
	signal(SIGPIPE, SIG_IGN);
	memset(at.big, 'b', BIG);
	assert_int_equal(loop_new(&at.loop), 0);
	assert_int_equal(server_new(at.loop, &settings, &handler, NULL,
				    &at.server), 0);
	atomic_store(&at.begun, 0);
	atomic_store(&at.done, 0);
	atomic_store(&at.aborted, 0);
	atomic_store(&at.released, 0);
	atomic_store(&at.dropped, 0);
	atomic_store(&at.drained, false);
	return pthread_create(&at.thread, NULL, run, NULL);
}

static int tear_down(void **state)
{
	(void)state;
	loop_stop(at.loop);
	pthread_join(at.thread, NULL);
	drop_shared(NULL);
	server_free(&at.server);
	loop_free(&at.loop);
	return 0;
}

/* Clients */

static int dial(void)
{
	return loopback_dial(server_port(at.server));
}

static void say(int fd, const char *text)
{
	ssize_t n = send(fd, text, strlen(text), MSG_NOSIGNAL);

	assert_int_equal(n, (ssize_t)strlen(text));
}

/* Reads until the server closes; the result ends with a 0. */
static char *hear(int fd, size_t *len)
{
	char *text = malloc(REPLY_MAX);
	size_t have = 0;
	ssize_t n;

	while (have < REPLY_MAX - 1 &&
	       (n = recv(fd, text + have, REPLY_MAX - 1 - have, 0)) > 0)
		have += (size_t)n;
	text[have] = '\0';
	if (len)
		*len = have;
	close(fd);
	return text;
}

static char *ask(const char *request, size_t *len)
{
	int fd = dial();

	say(fd, request);
	return hear(fd, len);
}

static void wait_for(atomic_int *counter, int value)
{
	for (int i = 0; i < 5000 && atomic_load(counter) < value; i++)
		usleep(1000);
	assert_int_equal(atomic_load(counter), value);
}

#define CLOSE " HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n"
#define KEEP " HTTP/1.1\r\nHost: h\r\n\r\n"

/* One request on a connection: what must be in the answer, and what not. */
static void shapes(void **state)
{
	/* clang-format off */
	static const struct {
		const char *request, *start, *has, *hasnt;
	} rows[] = {
		{ "GET /a%41?q" CLOSE, "HTTP/1.1 200", "\r\n\r\n/a%41?q", NULL },
		{ "GET /drip" CLOSE, "HTTP/1.1 200", "ength: 5000\r\n", "chunked" },
		{ "GET /chunks" CLOSE, "HTTP/1.1 200", "\r\n0\r\n\r\n", "ength:" },
		{ "GET /broken" CLOSE, "HTTP/1.1 200", "chunked", "\r\n0\r\n\r\n" },
		{ "GET /short" CLOSE, "HTTP/1.1 200", "ength: 5001\r\n", NULL },
		{ "HEAD /big" CLOSE, "HTTP/1.1 200", "ength: 3145728\r\n", "bbb" },
		{ "HEAD /drip" CLOSE, "HTTP/1.1 200", "ength: 5000\r\n", "ddd" },
		{ "GET /304" KEEP, "HTTP/1.1 304", "Connection: close\r\n",
		  "ength: 0" },
		{ "HEAD /chunks" KEEP, "HTTP/1.1 200", "Connection: close\r\n",
		  "ddd" },
		/* no last chunk of a body that is not there */
		{ "GET /304" KEEP, "HTTP/1.1 304", NULL, "\r\n0\r\n" },
		{ "HEAD /chunks" KEEP, "HTTP/1.1 200", NULL, "\r\n0\r\n" },
		{ "HEAD /drip" KEEP "GET /late" CLOSE, "HTTP/1.1 200",
		  "\r\n\r\nHTTP/1.1 200", NULL },
		{ "GET /204" CLOSE, "HTTP/1.1 204", "Date: ", "ength" },
		{ "GET /late" CLOSE, "HTTP/1.1 200", "\r\n\r\nlate", NULL },
		{ "POST /late" CLOSE, "HTTP/1.1 200", "\r\n\r\nlate", NULL },
		{ "GET /nowhere" CLOSE, "HTTP/1.1 404", "404 Not Found", NULL },
		{ "GET /a#b" CLOSE, "HTTP/1.1 400", "lose\r\n", NULL },
		{ "GET /drip HTTP/1.0\r\n\r\n", "HTTP/1.", "ddd", "chunked" },
		{ "GET /chunks HTTP/1.0\r\n\r\n", "HTTP/1.", "ddd", "chunked" },
		{ "PUT /nowhere HTTP/1.1\r\nHost: h\r\nConnection: close\r\n"
		  "Content-Length: 3\r\n\r\nabc", "HTTP/1.1 404", NULL, NULL },
		{ "GET /a%41?q" KEEP "GET /late" CLOSE, "HTTP/1.1 200",
		  "\r\n\r\n/a%41?qHTTP/1.1 200", NULL },
		{ "GET /abort" CLOSE, "", NULL, "HTTP" },
	};
	/* clang-format on */

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char *reply = ask(rows[i].request, NULL);

		assert_int_equal(strncmp(reply, rows[i].start,
					 strlen(rows[i].start)), 0);
		if (rows[i].has)
			assert_non_null(strstr(reply, rows[i].has));
		if (rows[i].hasnt)
			assert_null(strstr(reply, rows[i].hasnt));
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

#define HINT "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"

static void interim_responses(void **state)
{
	static const struct {
		const char *request, *start;
	} rows[] = {
		{ "GET /hints" CLOSE, HINT HINT "HTTP/1.1 200 OK\r\n" },
		{ "HEAD /hints" CLOSE, HINT HINT "HTTP/1.1 200 OK\r\n" },
		{ "GET /hints HTTP/1.0\r\n\r\n", "HTTP/1.1 200 OK\r\n" },
		{ "PUT /hints HTTP/1.1\r\nHost: h\r\nConnection: close\r\n"
		  "Content-Length: 3\r\n\r\nabc",
		  HINT HINT "HTTP/1.1 200 OK\r\n" },
		{ "PUT /hints HTTP/1.1\r\nHost: h\r\nConnection: close\r\n"
		  "Expect: 100-continue\r\nContent-Length: 3\r\n\r\nabc",
		  "HTTP/1.1 200 OK\r\n" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char *reply = ask(rows[i].request, NULL);

		assert_int_equal(strncmp(reply, rows[i].start,
					 strlen(rows[i].start)), 0);
		assert_null(strstr(reply + strlen(rows[i].start), "103"));
		free(reply);
	}
}

/* A client that does not read gets as many as its buffer takes, whole. */
/* Waits until nothing more comes, without reading what has. */
static void wait_until_full(int fd)
{
	const struct timespec pause = { .tv_nsec = 200000000 };
	int before, now = 0;

	do {
		before = now;
		nanosleep(&pause, NULL);
		assert_int_equal(ioctl(fd, FIONREAD, &now), 0);
	} while (!now || now != before);
}

static void interim_responses_are_dropped(void **state)
{
	const size_t len = sizeof(HINT) - 1;
	int fd = dial();
	char *reply, *at_final;
	unsigned n = 0;

	(void)state;
	say(fd, "GET /flood" CLOSE);
	wait_for(&at.begun, 1);
	wait_until_full(fd);
	reply = hear(fd, NULL);
	for (at_final = reply; !strncmp(at_final, HINT, len); at_final += len)
		n++;
	assert_in_range(n, 1, FLOOD - 1);
	assert_int_equal(strncmp(at_final, "HTTP/1.1 200 OK\r\n", 17), 0);
	assert_non_null(strstr(at_final, "\r\n\r\nhinted"));
	free(reply);
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
	struct timeval before, after;
	char *reply;
	int fd = dial();

	(void)state;
	gettimeofday(&before, NULL);
	say(fd, "GET /a%41?q HTTP/1.1\r\nHost: ");
	for (int i = 0; i < 100; i++) {
		if (send(fd, "h", 1, MSG_NOSIGNAL) < 0)
			break;
		usleep(10000);
	}
	reply = hear(fd, NULL);
	gettimeofday(&after, NULL);
	assert_null(strstr(reply, "200"));
	assert_true(after.tv_sec - before.tv_sec < 3);
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
	tear_down(NULL);
	assert_int_equal(atomic_load(&at.done) + atomic_load(&at.aborted), 10);
	for (int i = 0; i < 10; i++)
		close(fds[i]);
}

static void set_drained(void *arg)
{
	(void)arg;
	atomic_store(&at.drained, true);
}

static void run_drain(void *arg)
{
	(void)arg;
	server_drain(at.server, set_drained, NULL);
}

static void draining_finishes_what_is_under_way(void **state)
{
	int idle = dial(), busy = dial();
	char *reply;

	(void)state;
	say(busy, "GET /drip" KEEP);
	wait_for(&at.begun, 1);
	at.stop = (struct loop_call){ .run = run_drain };
	loop_post(at.loop, &at.stop);
	reply = hear(idle, NULL);
	assert_string_equal(reply, "");
	free(reply);
	reply = hear(busy, NULL);
	assert_non_null(strstr(reply, "ddd"));
	free(reply);
	for (int i = 0; i < 2000 && !atomic_load(&at.drained); i++)
		usleep(1000);
	assert_true(atomic_load(&at.drained));
}

static size_t count_of(const char *text, const char *part)
{
	size_t n = 0;

	while ((text = strstr(text, part)) != NULL) {
		text += strlen(part);
		n++;
	}
	return n;
}

static void run_drop(void *arg)
{
	drop_shared(arg);
	atomic_store(&at.dropped, 1);
}

/* Its body is given up with it, also when it is copied. */
static void one_reply(bool to_file)
{
	size_t len;
	char *reply;

	at.to_file = to_file;
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
	one_reply(false);
}

static void one_reply_from_a_file(void **state)
{
	(void)state;
	one_reply(true);
}

static void drain_and_reply(void *arg)
{
	run_drain(arg);
	reply_shared(at.waiting);
}

/* It would not tell the client that the connection closes. */
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
	assert_non_null(strstr(reply, "\r\n\r\nown"));
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

/* The library's own threads stall when k * 128 connections are ready. */
static void many_busy_clients_do_not_stall(void **state)
{
	(void)state;
	busy_clients(128);
	atomic_store(&at.done, 0);
	busy_clients(256);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(shapes, set_up, tear_down),
		cmocka_unit_test_setup_teardown(an_empty_cookie_ends, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(interim_responses, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(interim_responses_are_dropped,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(big_bodies_are_whole, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(uploads_are_held_back, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(chunked_uploads, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(leaving_is_noticed, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(slow_headers_are_cut_off,
						set_up, tear_down),
		cmocka_unit_test_setup(stopping_with_exchanges_under_way,
				       set_up),
		cmocka_unit_test_setup_teardown(
			draining_finishes_what_is_under_way, set_up, tear_down),
		cmocka_unit_test_setup_teardown(one_reply_for_many, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(one_reply_from_a_file, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(
			a_shared_reply_is_not_for_a_drain, set_up, tear_down),
		cmocka_unit_test_setup_teardown(many_busy_clients_do_not_stall,
						set_up, tear_down),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
