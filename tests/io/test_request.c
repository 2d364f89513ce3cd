/*
 * The data path from end to end: workers with a data and a peer listener
 * between raw clients and an origin whose answers the path chooses, and which
 * counts what reaches it. Node b has node a as its peer.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "codec/bloom.h"
#include "digestd/core/catalog.h"
#include "digestd/core/fields.h"
#include "digestd/core/peerset.h"
#include "digestd/io/cache.h"
#include "digestd/io/fetch.h"
#include "digestd/io/loop.h"
#include "digestd/io/server.h"
#include "digestd/io/worker.h"

enum { BIG = 300000, REPLY_MAX = 1 << 20, NBITS = 1 << 16, NHASH = 3 };

#define TOKEN "00112233445566778899aabbccddeeff"

struct node {
	struct cache *cache;
	struct worker *worker;
	struct worker_settings settings;
	atomic_int outcomes[OUTCOME_ERROR + 1];
};

static struct {
	struct loop *loop;
	struct server *server;
	pthread_t thread;
	char url[64];
	atomic_int seen, gone;
	char last[4096]; /* the last request's fields */
	char big[BIG];
	struct node a, b;
} at;

/* The origin */

struct slow {
	struct exchange *x;
	struct loop_timer timer;
	size_t sent;
	bool ready, cut;
};

static void slow_fire(void *arg)
{
	struct slow *s = arg;

	s->ready = true;
	exchange_wake(s->x);
}

/* 300,000 bytes in pieces, a little apart; /cut ends in the middle. */
static ssize_t slow_read(void *arg, void *buf, size_t cap)
{
	struct slow *s = arg;

	if (s->cut && s->sent > BIG / 2)
		return BODY_FAIL;
	if (s->sent == BIG)
		return BODY_END;
	if (!s->ready) {
		loop_timer_set(at.loop, &s->timer, loop_now_ms(at.loop) + 1,
			       slow_fire, s);
		return BODY_WAIT;
	}
	s->ready = false;
	cap = cap < 30000 ? cap : 30000;
	cap = cap < BIG - s->sent ? cap : BIG - s->sent;
	memcpy(buf, at.big + s->sent, cap);
	s->sent += cap;
	return (ssize_t)cap;
}

static void slow_release(void *arg)
{
	struct slow *s = arg;

	loop_timer_clear(at.loop, &s->timer);
	free(s);
}

static void reply_slowly(struct exchange *x, const struct fields *fields,
			 bool known, bool cut)
{
	struct slow *s = calloc(1, sizeof(*s));
	struct body_source source = { slow_read, slow_release, s };

	s->x = x;
	s->cut = cut;
	exchange_reply_stream(x, 200, fields, known ? BIG : -1, &source);
}

static void late_fire(void *arg)
{
	struct slow *s = arg;
	struct fields f;

	fields_init(&f);
	fields_add(&f, "Cache-Control", "max-age=60");
	exchange_set_data(s->x, NULL);
	exchange_reply_copy(s->x, 200, &f, "late", 4);
	fields_free(&f);
	free(s);
}

static void remember(const struct fields *fields)
{
	size_t used = 0;

	for (size_t i = 0; i < fields_count(fields); i++) {
		const struct field *f = fields_at(fields, i);

		used += (size_t)snprintf(at.last + used,
					 sizeof(at.last) - used, "%s: %s\n",
					 f->name, f->value);
	}
}

static bool starts(const char *text, const char *with)
{
	return !strncmp(text, with, strlen(with));
}

static void reply_late(struct exchange *x)
{
	struct slow *s = calloc(1, sizeof(*s));

	s->x = x;
	exchange_set_data(x, s);
	loop_timer_set(at.loop, &s->timer, loop_now_ms(at.loop) + 100,
		       late_fire, s);
}

static void reply_validated(struct exchange *x, struct fields *f)
{
	const char *inm = fields_get(exchange_request(x)->fields,
				     "if-none-match");

	fields_set(f, "Cache-Control", "max-age=0");
	fields_add(f, "ETag", "\"v1\"");
	if (inm && !strcmp(inm, "\"v1\""))
		exchange_reply(x, 304, f, NULL, 0, NULL, NULL);
	else
		exchange_reply_copy(x, 200, f, "tagged", 6);
}

static void origin_request(void *arg, struct exchange *x)
{
	const struct server_request *r = exchange_request(x);
	const char *t = r->target;
	struct fields f;

	(void)arg;
	atomic_fetch_add(&at.seen, 1);
	remember(r->fields);
	fields_init(&f);
	fields_add(&f, "Cache-Control", "max-age=60");
	if (starts(t, "/hit")) {
		exchange_reply_copy(x, 200, &f, t, strlen(t));
	} else if (starts(t, "/late")) {
		reply_late(x);
	} else if (starts(t, "/nostore")) {
		fields_set(&f, "Cache-Control", "no-store");
		exchange_reply_copy(x, 200, &f, "no", 2);
	} else if (starts(t, "/private-big")) {
		fields_set(&f, "Cache-Control", "private");
		reply_slowly(x, &f, true, false);
	} else if (starts(t, "/big")) {
		reply_slowly(x, &f, true, false);
	} else if (starts(t, "/chunked")) {
		reply_slowly(x, &f, false, false);
	} else if (starts(t, "/cut")) {
		reply_slowly(x, &f, strchr(t, '?') == NULL, true);
	} else if (starts(t, "/etag")) {
		reply_validated(x, &f);
	} else if (starts(t, "/vary")) {
		fields_add(&f, "Vary", "Accept-Language");
		exchange_reply_copy(x, 200, &f, "v", 1);
	} else if (starts(t, "/error")) {
		exchange_reply_error(x, 500, NULL);
	} else if (starts(t, "/abort")) {
		exchange_abort(x);
	} else if (!r->has_body) {
		exchange_reply_copy(x, 200, NULL, "plain", 5);
	}
	fields_free(&f);
}

static size_t origin_body(void *arg, struct exchange *x, const void *data,
			  size_t len)
{
	(void)arg;
	(void)data;
	exchange_set_data(x, (void *)((uintptr_t)exchange_data(x) + len));
	return len;
}

static void origin_body_end(void *arg, struct exchange *x)
{
	char text[32];
	int n = snprintf(text, sizeof(text), "got %zu",
			 (size_t)(uintptr_t)exchange_data(x));

	(void)arg;
	exchange_set_data(x, NULL);
	exchange_reply_copy(x, 200, NULL, text, (size_t)n);
}

static void origin_done(void *arg, struct exchange *x, enum exchange_end end)
{
	struct slow *s = exchange_data(x);

	(void)arg;
	atomic_fetch_add(&at.gone, end == EXCHANGE_ABORTED);
	if (s && starts(exchange_request(x)->target, "/late"))
		slow_release(s);
}

static const struct server_handler origin = {
	origin_request, origin_body, origin_body_end, origin_done,
};

static void *run_origin(void *arg)
{
	loop_run(at.loop);
	return arg;
}

static void start_origin(void)
{
	const struct server_settings settings = {
		.listen = "127.0.0.1:0", .max_connections = 500,
		.max_header_bytes = 16384, .header_ms = 5000, .idle_ms = 5000,
	};

	assert_int_equal(loop_new(&at.loop), 0);
	assert_int_equal(server_new(at.loop, &settings, &origin, NULL,
				    &at.server), 0);
	snprintf(at.url, sizeof(at.url), "http://127.0.0.1:%u",
		 server_port(at.server));
	assert_int_equal(pthread_create(&at.thread, NULL, run_origin, NULL), 0);
}

/* The nodes */

static void on_outcome(void *arg, const struct worker_outcome *outcome)
{
	struct node *node = arg;

	atomic_fetch_add(&node->outcomes[outcome->kind], 1);
}

static void resource_request(void *arg, struct exchange *x)
{
	(void)arg;
	exchange_reply_copy(x, 200, NULL, "resource", 8);
}

static const struct server_handler resources = {
	.on_request = resource_request,
};

static void start_node(struct node *node, const char *name)
{
	const struct cache_settings cache = {
		.max_bytes = 1 << 20, .max_variants = 4, .policy = "sieve",
		.nbits = NBITS, .nhash = NHASH,
	};
	struct worker_hooks hooks = { on_outcome, node, &resources, NULL };

	node->settings = (struct worker_settings){
		.node = name, .token = TOKEN,
		.data_listen = "127.0.0.1:0", .peer_listen = "127.0.0.1:0",
		.max_connections = 500, .header_ms = 2000, .idle_ms = 5000,
		.min_rate = 100, .max_header_bytes = 16384,
		.default_origin = at.url,
		.origin_connect_ms = 1000, .origin_first_byte_ms = 2000,
		.origin_low_rate_s = 2, .peer_connect_ms = 200,
		.peer_first_byte_ms = 200, .peer_budget_ms = 300,
		.peer_tries = 2, .max_object_bytes = 400000,
		.window_bytes = 65536, .max_upload_bytes = 1 << 20,
	};
	for (int i = 0; i <= OUTCOME_ERROR; i++)
		atomic_store(&node->outcomes[i], 0);
	assert_int_equal(cache_new(&cache, &node->cache), 0);
	assert_int_equal(worker_new(&node->settings, &hooks, node->cache,
				    &node->worker), 0);
	assert_int_equal(worker_start(node->worker), 0);
}

static int set_up(void **state)
{
	(void)state;
	memset(at.big, 'b', BIG);
	atomic_store(&at.seen, 0);
	atomic_store(&at.gone, 0);
	start_origin();
	start_node(&at.a, "a");
	start_node(&at.b, "b");
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	worker_stop(&at.a.worker);
	worker_stop(&at.b.worker);
	cache_free(&at.a.cache);
	cache_free(&at.b.cache);
	loop_stop(at.loop);
	pthread_join(at.thread, NULL);
	server_free(&at.server);
	loop_free(&at.loop);
	return 0;
}

/* Gives b a view in which a holds what is in a's catalog now. */
static void introduce(const char *url)
{
	char own_url[64];
	struct catalog_snapshot snapshot;
	struct peerset_peer peer = { .id = 7, .usable = true, .name = "a" };
	struct peerset *view;

	snprintf(own_url, sizeof(own_url), "http://127.0.0.1:%u",
		 worker_peer_port(at.a.worker));
	peer.url = url ? url : own_url;
	assert_int_equal(catalog_snapshot(cache_lock(at.a.cache), 1, &snapshot),
			 0);
	cache_unlock(at.a.cache);
	peer.digest = peer_digest_take(&snapshot.bloom);
	view = peerset_new(&peer, 1);
	peer_digest_unref(peer.digest);
	assert_int_equal(worker_set_view(at.b.worker, view), 0);
	peerset_unref(view);
}

/* Clients */

static int dial(unsigned port)
{
	struct sockaddr_in to = {
		.sin_family = AF_INET, .sin_port = htons((uint16_t)port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	struct timeval limit = { .tv_sec = 10 };
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof(to)), 0);
	return fd;
}

static void say(int fd, const char *text)
{
	assert_int_equal(send(fd, text, strlen(text), MSG_NOSIGNAL),
			 (ssize_t)strlen(text));
}

static char *hear(int fd)
{
	char *text = malloc(REPLY_MAX);
	size_t have = 0;
	ssize_t n;

	while ((n = recv(fd, text + have, REPLY_MAX - 1 - have, 0)) > 0)
		have += (size_t)n;
	text[have] = '\0';
	close(fd);
	return text;
}

static char *ask(unsigned port, const char *method, const char *target,
		 const char *fields)
{
	char request[2048];
	int fd = dial(port);

	snprintf(request, sizeof(request), "%s %s HTTP/1.1\r\nHost: %s\r\n"
		 "Connection: close\r\n%s\r\n", method, target,
		 starts(target, "http://127") ? target + 7 : "h", fields);
	say(fd, request);
	return hear(fd);
}

static unsigned port_a(void)
{
	return worker_data_port(at.a.worker);
}

static unsigned port_b(void)
{
	return worker_data_port(at.b.worker);
}

static void expect(char *reply, unsigned status, const char *has)
{
	char start[32];

	snprintf(start, sizeof(start), "HTTP/1.1 %u", status);
	if (!starts(reply, start) || (has && !strstr(reply, has)))
		print_message("# wanted %u %s, got:\n%.700s\n", status,
			      has ? has : "", reply);
	assert_true(starts(reply, start));
	if (has)
		assert_non_null(strstr(reply, has));
	free(reply);
}

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
		{ "GET", "/hit", "Range: bytes=0-1\r\n", 200, "/hit", 1 },
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
		fds[i] = dial(port_a());
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
	int lead = dial(port_a()), other;

	(void)state;
	say(lead, "GET /late HTTP/1.1\r\nHost: h\r\n\r\n");
	usleep(30000);
	other = dial(port_a());
	say(other, "GET /late HTTP/1.1\r\nHost: h\r\n"
		   "Connection: close\r\n\r\n");
	usleep(20000);
	close(lead);
	expect(hear(other), 200, "late");
}

static void uploads(void **state)
{
	char *request = malloc(BIG + 200);
	int fd = dial(port_a());
	int n = snprintf(request, 200, "PUT /store HTTP/1.1\r\nHost: h\r\n"
			 "Connection: close\r\nContent-Length: %d\r\n\r\n",
			 BIG);

	(void)state;
	memset(request + n, 'u', BIG);
	request[n + BIG] = '\0';
	say(fd, request);
	free(request);
	expect(hear(fd), 200, "got 300000");
	fd = dial(port_a());
	say(fd, "POST /x HTTP/1.1\r\nHost: h\r\nConnection: close\r\n"
		"Transfer-Encoding: chunked\r\n\r\n4\r\nabcd\r\n0\r\n\r\n");
	expect(hear(fd), 200, "got 4");
	expect(ask(port_a(), "PUT", "/y", "Content-Length: 2000000\r\n"), 413,
	       NULL);
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

static void peers_are_asked_before_the_origin(void **state)
{
	(void)state;
	free(ask(port_a(), "GET", "/hit", ""));
	free(ask(port_a(), "GET", "/big", ""));
	introduce(NULL);
	expect(ask(port_b(), "GET", "/hit", ""), 200, "peer=");
	expect(ask(port_b(), "GET", "/hit", ""), 200, "b; hit");
	expect(ask(port_b(), "GET", "/big", ""), 200, "peer=");
	assert_int_equal(atomic_load(&at.seen), 2);
	assert_int_equal(atomic_load(&at.b.outcomes[OUTCOME_HIT]), 2);
	expect(ask(port_b(), "GET", "/hit-b", ""), 200, "uri-miss");
	assert_int_equal(atomic_load(&at.seen), 3);
}

static void false_hits_go_to_the_origin(void **state)
{
	(void)state;
	free(ask(port_a(), "GET", "/hit", ""));
	introduce(NULL);
	free(ask(port_a(), "DELETE", "/hit", ""));
	expect(ask(port_b(), "GET", "/hit", ""), 200, "/hit");
	assert_int_equal(atomic_load(&at.b.outcomes[OUTCOME_FALSE_HIT]), 1);
	assert_int_equal(atomic_load(&at.seen), 3);
}

static void dead_peers_cost_nothing_but_time(void **state)
{
	(void)state;
	free(ask(port_a(), "GET", "/hit", ""));
	introduce("http://127.0.0.1:1");
	expect(ask(port_b(), "GET", "/hit", ""), 200, "/hit");
	assert_int_equal(atomic_load(&at.b.outcomes[OUTCOME_ERROR]), 1);
}

/* What each connection to a bad peer is told before it hangs or is closed. */
struct bad_peer {
	int listen_fd;
	const char *text;
	bool hang;
};

static void *run_bad_peer(void *arg)
{
	struct bad_peer *bad = arg;
	char request[4096];
	int fd = accept(bad->listen_fd, NULL, NULL);

	if (fd < 0)
		return NULL;
	if (recv(fd, request, sizeof(request), 0) > 0)
		send(fd, bad->text, strlen(bad->text), MSG_NOSIGNAL);
	if (bad->hang) /* until the other side gives up */
		recv(fd, request, sizeof(request), 0);
	close(fd);
	return NULL;
}

#define OK "HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\n"

static void bad_peers_harm_nobody(void **state)
{
	/* clang-format off */
	static const struct {
		const char *text;
		bool hang;
		enum worker_outcome_kind outcome;
	} rows[] = {
		{ "", true, OUTCOME_ERROR },
		{ "", false, OUTCOME_ERROR },
		{ "garbage", false, OUTCOME_ERROR },
		{ OK "Content-Length: 9\r\n\r\nbad", true, OUTCOME_ERROR },
		{ OK "Content-Length: 9\r\n\r\nbad", false, OUTCOME_ERROR },
		{ OK "Content-Length: 3\r\nContent-Length: 4\r\n\r\nbad",
		  true, OUTCOME_ERROR },
		{ OK "Age: 61\r\nContent-Length: 3\r\n\r\nbad", true,
		  OUTCOME_STALE },
		{ OK "Vary: *\r\nContent-Length: 3\r\n\r\nbad", true,
		  OUTCOME_ERROR },
		{ "HTTP/1.1 200 OK\r\nCache-Control: no-store\r\n"
		  "Content-Length: 3\r\n\r\nbad", true, OUTCOME_ERROR },
		{ "HTTP/1.1 500 No\r\nContent-Length: 3\r\n\r\nbad", true,
		  OUTCOME_ERROR },
		{ "HTTP/1.1 504 No\r\nContent-Length: 3\r\n\r\nbad", true,
		  OUTCOME_FALSE_HIT },
	};
	/* clang-format on */

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct sockaddr_in addr = {
			.sin_family = AF_INET,
			.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
		};
		struct bad_peer bad = { .text = rows[i].text,
					.hang = rows[i].hang };
		socklen_t len = sizeof(addr);
		pthread_t thread;
		char url[64], target[16];
		int before;

		bad.listen_fd = socket(AF_INET, SOCK_STREAM, 0);
		bind(bad.listen_fd, (struct sockaddr *)&addr, len);
		listen(bad.listen_fd, 5);
		getsockname(bad.listen_fd, (struct sockaddr *)&addr, &len);
		snprintf(url, sizeof(url), "http://127.0.0.1:%u",
			 ntohs(addr.sin_port));
		snprintf(target, sizeof(target), "/hit%zu", i);
		pthread_create(&thread, NULL, run_bad_peer, &bad);
		free(ask(port_a(), "GET", target, ""));
		introduce(url);
		before = atomic_load(&at.b.outcomes[rows[i].outcome]);
		expect(ask(port_b(), "GET", target, "Cookie: a=b\r\n"), 200,
		       target);
		assert_int_equal(atomic_load(&at.b.outcomes[rows[i].outcome]),
				 before + 1);
		shutdown(bad.listen_fd, SHUT_RDWR);
		pthread_join(thread, NULL);
		close(bad.listen_fd);
	}
}

static void reconfiguring(void **state)
{
	struct worker_settings changed = at.a.settings;

	(void)state;
	changed.default_origin = NULL;
	assert_int_equal(worker_reconfigure(at.a.worker, &changed), 0);
	usleep(20000);
	expect(ask(port_a(), "GET", "/hit", ""), 421, NULL);
	changed.forward = true;
	assert_int_equal(worker_reconfigure(at.a.worker, &changed), 0);
	usleep(20000);
	expect(ask(port_a(), "GET", at.url, ""), 403, NULL);
	changed.forward_private = true;
	assert_int_equal(worker_reconfigure(at.a.worker, &changed), 0);
	usleep(20000);
	expect(ask(port_a(), "GET", at.url, ""), 200, "plain");
}

static void stopping_in_the_middle(void **state)
{
	int fds[8];

	(void)state;
	for (int i = 0; i < 8; i++) {
		fds[i] = dial(port_a());
		say(fds[i], i % 2 ? "GET /big HTTP/1.1\r\nHost: h\r\n\r\n" :
				    "GET /late HTTP/1.1\r\nHost: h\r\n\r\n");
	}
	usleep(5000);
	worker_stop(&at.a.worker);
	for (int i = 0; i < 8; i++)
		close(fds[i]);
}

static void draining(void **state)
{
	int fd = dial(port_a());

	(void)state;
	say(fd, "GET /late HTTP/1.1\r\nHost: h\r\n\r\n");
	usleep(20000);
	worker_drain(at.a.worker);
	expect(hear(fd), 200, "late");
	for (int i = 0; i < 1000 && !worker_drained(at.a.worker); i++)
		usleep(1000);
	assert_true(worker_drained(at.a.worker));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(sequence),
		TEST(large_bodies),
		TEST(truncated_bodies_are_not_stored),
		TEST(a_failing_origin),
		TEST(concurrent_misses_are_fetched_once),
		TEST(a_leader_may_leave),
		TEST(uploads),
		TEST(the_peer_listener_wants_the_token),
		TEST(peers_are_asked_before_the_origin),
		TEST(false_hits_go_to_the_origin),
		TEST(dead_peers_cost_nothing_but_time),
		TEST(bad_peers_harm_nobody),
		TEST(reconfiguring),
		TEST(stopping_in_the_middle),
		TEST(draining),
	};

	signal(SIGPIPE, SIG_IGN);
	fetch_global_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
