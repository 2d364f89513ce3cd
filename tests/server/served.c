/*
 * The server and its handler.
 */
#include "tests/server/served.h"

#include <netdb.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "digestd/server/reply_head.h"

/* Ends a test whose server does not, even with sanitizers on a busy machine. */
enum { TEST_LIMIT_S = 120 };

struct served at;

/* A reply that comes in pieces, each after a timer. */
struct drip {
	struct exchange *x;
	struct loop_timer timer;
	size_t sent, len;
	bool ready, fails, aborts;
	bool *refused; /* while it is handed over: set if it was not taken */
};

static void drip_fire(void *arg)
{
	struct drip *d = arg;

	d->ready = true;
	if (d->aborts && d->sent)
		exchange_abort(d->x);
	else
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

static const struct fields *drip_trailers(void *arg)
{
	static struct fields trailers;

	(void)arg;
	if (!fields_count(&trailers))
		(void)fields_borrow(&trailers, "X-Sum", "7");
	return &trailers;
}

static void drip_release(void *arg)
{
	struct drip *d = arg;

	if (d->refused)
		*d->refused = true;
	free(d);
	atomic_fetch_add(&at.released, 1);
}

static void start_drip(struct exchange *x, size_t len, bool known, bool fails)
{
	struct drip *d = calloc(1, sizeof(*d));
	struct body_source source = { drip_read, drip_release, d,
				      drip_trailers };
	bool refused = false;

	if (!d) {
		exchange_reply_error(x, 503, NULL);
		return;
	}
	d->x = x;
	d->len = len;
	d->fails = fails;
	d->aborts = !strcmp(exchange_request(x)->target, "/stuck");
	d->refused = &refused;
	exchange_set_data(x, d);
	exchange_reply_stream(x, 200, NULL,
			      known ? (int64_t)(len + fails) : -1, &source);
	if (refused)
		exchange_set_data(x, NULL);
	else
		d->refused = NULL;
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

void reply_shared(struct exchange *x)
{
	const struct body_memory body = { at.in_file ? at.in_file : at.big, BIG,
					  count_release, NULL };
	struct fields f;

	if (!at.shared) {
		fields_init(&f);
		if (!fields_add(&f, "X-Made", "once"))
			at.shared = shared_reply_new(203, &f, &body);
		fields_free(&f);
	}
	if (!at.shared || !exchange_reply_shared(x, at.shared))
		exchange_reply_copy(x, 200, NULL, "own", 3);
}

void drop_shared(void *arg)
{
	(void)arg;
	shared_reply_unref(at.shared);
	at.shared = NULL;
}

static void reply_late(struct exchange *x, int delay_ms)
{
	struct drip *d = calloc(1, sizeof(*d));

	if (!d) {
		exchange_reply_error(x, 503, NULL);
		return;
	}
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
	if (fields_add(&f, "Link", "</a>") ||
	    fields_add(&f, "Connection", "close") ||
	    fields_add(&f, "Empty", ""))
		n = 0;
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
	bool begun, whole, ended; /* of one that is answered meanwhile */
	bool over;                /* and nothing more is said */
};

/* "begun", and how much has come once that is all. */
static ssize_t both_read(void *arg, void *buf, size_t cap)
{
	struct upload *u = arg;

	if (!u->begun) {
		u->begun = true;
		return snprintf(buf, cap, "begun ");
	}
	if (!u->whole)
		return BODY_WAIT;
	if (u->ended) {
		u->over = true;
		return BODY_END;
	}
	u->ended = true;
	return snprintf(buf, cap, "%zu", u->taken);
}

/* Takes the request's body beside the reply, to its end or (early) not, or
 * (after) behind a reply that ends at once: see on_both_body(). */
static void start_both(struct exchange *x, bool early, bool after)
{
	struct upload *u = calloc(1, sizeof(*u));
	const struct body_source source = { .read = both_read, .arg = u };

	u->x = x;
	u->whole = u->ended = after;
	exchange_set_data(x, u);
	if (after || !strcmp(exchange_request(x)->target, "/both?drop"))
		at.waiting = x;
	exchange_set_duplex(x);
	exchange_reply_stream(x, 200, NULL, -1, &source);
	if (early)
		exchange_end_upload(x, strcmp(exchange_request(x)->target,
					      "/both?never") ?
					       EXCHANGE_DONE :
					       EXCHANGE_ABORTED);
}

static void upload_fire(void *arg)
{
	struct upload *u = arg;

	u->pause = false;
	exchange_resume_body(u->x);
}

static void end_turn(void *arg)
{
	(void)arg;
	at.turn_bytes = 0;
}

/* There is always more, and it is counted what one turn of the loop takes. */
static ssize_t flow_read(void *arg, void *buf, size_t cap)
{
	(void)arg;
	memset(buf, 'f', cap);
	loop_defer(at.loop, &at.turn);
	at.turn_bytes += cap;
	if (at.turn_bytes > at.turn_most)
		at.turn_most = at.turn_bytes;
	return (ssize_t)cap;
}

/* So that what is in the wrong place shows; "bbb" at both ends. */
static void fill_big(void)
{
	enum { PERIOD = 65537 };

	if (at.big[0])
		return;
	memset(at.big, 'b', BIG);
	for (size_t i = PERIOD; i < BIG; i += PERIOD)
		at.big[i] = (char)('a' + i / PERIOD % 26);
}

static bool is_both(const char *target)
{
	return !strncmp(target, "/both", 5);
}

/* What the server takes the client for. */
static void reply_who(struct exchange *x)
{
	const struct server_request *r = exchange_request(x);
	const char *said = fields_get(r->fields, "X-Forwarded-For");
	char host[64], port[16], text[160];
	int n;

	assert_int_equal(getnameinfo(r->client,
				     r->client->sa_family == AF_INET6 ?
					     sizeof(struct sockaddr_in6) :
					     sizeof(struct sockaddr_in),
				     host, sizeof(host), port, sizeof(port),
				     NI_NUMERICHOST | NI_NUMERICSERV), 0);
	if (!strcmp(host, "127.0.0.1"))
		strcpy(port, "any");
	n = snprintf(text, sizeof(text), "%s %s %s %s;", host, port,
		     r->https ? "https" : "http", said ? said : "-");
	exchange_reply_copy(x, 200, NULL, text, (size_t)n);
}

/* A tunnel that says what it hears, until it hears "!" or the end; then it
 * hears more, until "." or "?", at which it breaks off. */
struct echo {
	struct exchange *x;
	char said[TUNNEL_ROOM];
	size_t len;
	bool ended;
};

static ssize_t echo_read(void *arg, void *buf, size_t cap)
{
	struct echo *e = arg;
	size_t n = e->len < cap ? e->len : cap;

	memcpy(buf, e->said, n);
	memmove(e->said, e->said + n, e->len - n);
	e->len -= n;
	if (n)
		exchange_resume_body(e->x);
	return n ? (ssize_t)n : e->ended ? BODY_END : BODY_WAIT;
}

static size_t echo_hear(struct echo *e, const char *data, size_t len)
{
	size_t room = sizeof(e->said) - e->len;

	if (e->ended) {
		atomic_fetch_add(&at.dropped, (int)len);
		if (memchr(data, '.', len) || memchr(data, '?', len))
			exchange_end_upload(e->x, memchr(data, '.', len) ?
						  EXCHANGE_DONE :
						  EXCHANGE_ABORTED);
		return len;
	}
	len = len < room ? len : room;
	memcpy(e->said + e->len, data, len);
	e->len += len;
	e->ended = e->len && e->said[e->len - 1] == '!';
	exchange_wake(e->x);
	return len;
}

static void start_echo(struct exchange *x)
{
	struct echo *e = calloc(1, sizeof(*e));
	struct body_source source = { .read = echo_read, .arg = e };
	struct fields f;

	e->x = x;
	exchange_set_data(x, e);
	fields_init(&f);
	assert_int_equal(fields_add(&f, "Upgrade", "echo"), 0);
	assert_int_equal(fields_add(&f, "X-Key", "k"), 0);
	exchange_reply_stream(x, 101, &f, -1, &source);
	fields_free(&f);
}

/* Fields that not every protocol has room for. */
static void reply_with_field(struct exchange *x, unsigned status, size_t len)
{
	char *value = calloc(1, len + 1);
	struct fields f;

	fields_init(&f);
	memset(value, 'v', len);
	assert_int_equal(fields_add(&f, "X-Long", value), 0);
	if (status < 200)
		exchange_interim(x, status, &f);
	else
		exchange_reply_copy(x, status, &f, "long", 4);
	fields_free(&f);
	free(value);
}

static bool write_lines(struct reply_head *head, const void *arg)
{
	reply_head_add(head, "X-Made", arg);
	return false;
}

/* With a header that is no list of fields, by engines that can do so. */
static void reply_written(struct exchange *x)
{
	const struct reply_written reply = {
		.status = 203,
		.write = write_lines,
		.arg = "once",
		.body = { at.in_file ? at.in_file : at.big, BIG, count_release,
			  NULL },
	};

	if (!exchange_reply_written(x, &reply))
		exchange_reply_copy(x, 200, NULL, "own", 3);
}

/* With the date of an origin, and a shared body of this length. */
static void reply_dated(struct exchange *x, size_t len)
{
	const struct body_memory body = { at.big, len, count_release, NULL };
	struct shared_reply *reply = NULL;
	struct fields f;

	fields_init(&f);
	if (!fields_add(&f, "Date", "Sun, 06 Nov 1994 08:49:37 GMT"))
		reply = shared_reply_new(200, &f, &body);
	if (!reply || !exchange_reply_shared(x, reply))
		exchange_reply_error(x, 503, NULL);
	shared_reply_unref(reply);
	fields_free(&f);
}

static void reply_to(struct exchange *x, const char *t);

/* What a handler may do at any time, with nothing of it to be done: before the
 * reply, and behind it. */
static void reply_among_calls(struct exchange *x)
{
	struct fields f;

	fields_init(&f);
	if (fields_add(&f, "A", "b") || fields_add(&f, "Connection", "close") ||
	    fields_add(&f, "Empty", ""))
		exchange_abort(x);
	for (int i = 0; i < 2; i++) {
		exchange_wake(x);
		exchange_resume_body(x);
		exchange_end_upload(x, i ? EXCHANGE_ABORTED : EXCHANGE_DONE);
		if (i)
			exchange_interim(x, 103, NULL);
		else
			exchange_reply(x, 200, &f, "calm", 4, NULL, NULL);
	}
	fields_free(&f);
}

/* Of two exchanges one may answer the other's request. */
static void reply_to_waiting(struct exchange *x, const char *t)
{
	if (!strcmp(t, "/wake")) {
		exchange_resume_body(at.waiting);
		exchange_wake(at.waiting);
	} else {
		reply_to(at.waiting, t);
	}
	exchange_reply_copy(x, 200, NULL, "answered", 8);
}

static void on_request(void *arg, struct exchange *x)
{
	(void)arg;
	atomic_fetch_add(&at.begun, 1);
	reply_to(x, exchange_request(x)->target);
}

/* Replies that are there as a whole. Returns whether it is one. */
static bool reply_whole(struct exchange *x, const char *t)
{
	if (!strcmp(t, "/big")) {
		exchange_reply(x, 200, NULL, at.big, BIG, count_release, NULL);
	} else if (!strcmp(t, "/small")) {
		exchange_reply(x, 200, NULL, at.big, 10, count_release, NULL);
	} else if (!strcmp(t, "/empty")) {
		exchange_reply(x, 200, NULL, NULL, 0, NULL, NULL);
	} else if (!strcmp(t, "/blank")) {
		exchange_reply_copy(x, 200, NULL, NULL, 0);
	} else if (!strcmp(t, "/304")) {
		exchange_reply(x, 304, NULL, NULL, 0, NULL, NULL);
	} else if (!strcmp(t, "/204")) {
		exchange_reply(x, 204, NULL, NULL, 0, NULL, NULL);
	} else if (!strcmp(t, "/shared")) {
		reply_shared(x);
	} else if (!strcmp(t, "/written")) {
		reply_written(x);
	} else if (!strcmp(t, "/dated")) {
		reply_dated(x, 5);
	} else if (!strcmp(t, "/dated/empty")) {
		reply_dated(x, 0);
	} else if (!strcmp(t, "/long")) {
		reply_with_field(x, 200, 120000);
	} else if (!strcmp(t, "/long/hint")) {
		reply_with_field(x, 103, 9000);
		exchange_reply_copy(x, 200, NULL, "short", 5);
	} else {
		return false;
	}
	return true;
}

static void reply_to(struct exchange *x, const char *t)
{
	const struct server_request *r = exchange_request(x);

	if (reply_whole(x, t))
		return;
	if (!strncmp(t, "/hints/", 7)) {
		exchange_interim(x, 103, NULL);
		reply_to(x, t + 6);
	} else if (!strncmp(t, "/answer/", 8)) {
		reply_to_waiting(x, t + 7);
	} else if (!strcmp(t, "/a%41?q")) {
		exchange_reply_copy(x, 200, NULL, t, strlen(t));
	} else if (!strcmp(t, "/drip")) {
		start_drip(x, 5000, true, false);
	} else if (!strcmp(t, "/chunks") || !strcmp(t, "/stuck")) {
		start_drip(x, 5000, false, false);
	} else if (!strcmp(t, "/broken")) {
		start_drip(x, 5000, false, true);
	} else if (!strcmp(t, "/short")) {
		start_drip(x, 5000, true, true);
	} else if (!strcmp(t, "/flow")) {
		const struct body_source source = { .read = flow_read };

		exchange_reply_stream(x, 200, NULL, FLOW, &source);
	} else if (r->upgrade && !strcmp(r->upgrade, "echo")) {
		start_echo(x);
	} else if (!strcmp(t, "/who")) {
		reply_who(x);
	} else if (!strcmp(t, "/late")) {
		reply_late(x, 5);
	} else if (!strcmp(t, "/hints")) {
		reply_after_hints(x, 2);
	} else if (!strcmp(t, "/flood")) {
		reply_after_hints(x, FLOOD);
	} else if (!strcmp(t, "/never")) {
		reply_late(x, 60000);
	} else if (!strcmp(t, "/calls")) {
		reply_among_calls(x);
	} else if (!strcmp(t, "/wait")) {
		at.waiting = x;
	} else if (!strcmp(t, "/abort")) {
		exchange_abort(x);
	} else if (!strcmp(t, "/claim")) {
		const char *claim = fields_get(r->fields, "X-Forwarded-For");

		exchange_reply_copy(x, r->https ? 200 : 203, NULL,
				    claim ? claim : "none", 4);
	} else if (!strcmp(t, "/none")) {
		start_drip(x, 0, false, false);
	} else if (!strcmp(t, "/upload") || !strcmp(t, "/first") ||
		   !strcmp(t, "/second")) {
		struct upload *u = calloc(1, sizeof(*u));

		if (u)
			u->x = x;
		else
			exchange_reply_error(x, 503, NULL);
		exchange_set_data(x, u);
	} else if (!strcmp(t, "/hold")) {
		exchange_set_data(x, NULL);
	} else if (is_both(t)) {
		start_both(x, !strcmp(t, "/both?early") ||
				      !strcmp(t, "/both?never"),
			   strlen(t) > 5);
	} else {
		exchange_reply_error(x, 404, NULL);
	}
}

/* Takes no more for a moment. */
static void upload_pause(struct upload *u)
{
	u->pause = true;
	loop_timer_set(at.loop, &u->timer, loop_now_ms(at.loop) + 1,
		       upload_fire, u);
}

/* Breaks an upload off whose reply has ended before, in one way or the other;
 * (?drop) not before it is told to go on. Whether it was one of these. */
static bool on_both_body(struct upload *u, const char *t)
{
	bool enough = !strcmp(t, "/both?enough"), cut = !strcmp(t, "/both?cut");

	if (!strcmp(t, "/both?drop")) {
		if (u->pause)
			exchange_abort(u->x);
		u->pause = true;
		return true;
	}
	if ((enough || cut) && u->over)
		exchange_end_upload(u->x, enough ? EXCHANGE_DONE :
						   EXCHANGE_ABORTED);
	else if (enough || cut)
		upload_pause(u);
	return enough || cut;
}

static size_t on_body(void *arg, struct exchange *x, const void *data,
		      size_t len)
{
	const char *t = exchange_request(x)->target;
	struct upload *u = exchange_data(x);

	(void)arg;
	if (exchange_request(x)->upgrade)
		return echo_hear(exchange_data(x), data, len);
	if (!u || on_both_body(u, t)) /* which takes nothing */
		return 0;
	if (u->pause)
		return 0;
	if (!strcmp(t, "/first") || (!strcmp(t, "/second") && u->taken)) {
		exchange_reply_copy(x, 200, NULL, t, strlen(t));
		return len;
	}
	len = len < 50000 ? len : 50000;
	len = strcmp(t, "/second") != 0 ? len : 1;
	u->taken += len;
	upload_pause(u);
	return len;
}

static void on_body_end(void *arg, struct exchange *x)
{
	struct upload *u = exchange_data(x);
	const char *sum;
	char text[32];
	int n;

	(void)arg;
	if (is_both(exchange_request(x)->target)) {
		u->whole = true;
		exchange_wake(x);
		exchange_end_upload(x, EXCHANGE_DONE);
		return;
	}
	if (exchange_request(x)->upgrade) {
		((struct echo *)exchange_data(x))->ended = true;
		exchange_wake(x);
		exchange_end_upload(x, EXCHANGE_DONE);
		return;
	}
	sum = fields_get(exchange_trailers(x), "X-Sum");
	assert_null(fields_get(exchange_trailers(x), "Host"));
	assert_null(fields_get(exchange_trailers(x), "X-Hop"));
	n = snprintf(text, sizeof(text), "%zu%s%s", u->taken, sum ? " " : "",
		     sum ? sum : "");
	exchange_reply_copy(x, 200, NULL, text, (size_t)n);
}

static void on_done(void *arg, struct exchange *x, enum exchange_end end)
{
	const char *t = exchange_request(x)->target;

	(void)arg;
	exchange_account(x, &at.account);
	atomic_fetch_add(end == EXCHANGE_DONE ? &at.done : &at.aborted, 1);
	if (at.waiting == x)
		at.waiting = NULL;
	if (!strcmp(t, "/tunnel")) {
		free(exchange_data(x));
	} else if (!strcmp(t, "/upload") || !strcmp(t, "/first") ||
		   !strcmp(t, "/second") || is_both(t)) {
		struct upload *u = exchange_data(x);

		if (u)
			loop_timer_clear(at.loop, &u->timer);
		if (!strcmp(t, "/both?after"))
			atomic_fetch_add(&at.taken, (int)u->taken);
		free(u);
	} else if (exchange_data(x)) {
		struct drip *d = exchange_data(x);

		loop_timer_clear(at.loop, &d->timer);
		if (!strcmp(t, "/never") || !strcmp(t, "/late"))
			free(d);
	}
}

static void on_refused(void *arg, struct exchange *x, unsigned status)
{
	(void)arg;
	assert_non_null(exchange_request(x)->method);
	atomic_store(&at.refused, (int)status);
}

static const struct server_handler handler = {
	on_request, on_body, on_body_end, on_done, on_refused,
};

/* One that wants to know nothing but what is asked for. */
static void bare_fire(void *arg)
{
	(void)arg;
	exchange_reply_copy(at.waiting, 200, NULL, "bare", 4);
}

static void bare_on_request(void *arg, struct exchange *x)
{
	(void)arg;
	at.waiting = x;
	loop_timer_set(at.loop, &at.timer, loop_now_ms(at.loop) + 5, bare_fire,
		       NULL);
}

static const struct server_handler bare_handler = {
	.on_request = bare_on_request,
};

static void *run(void *arg)
{
	loop_run(at.loop);
	return arg;
}

int served_make(struct loop *loop, struct server **out)
{
	const struct server_settings settings = {
		.listen = at.listen ? at.listen : "127.0.0.1:0",
		.max_connections = at.max_connections ? at.max_connections :
							1000,
		.client_connections = at.client_connections,
		.max_header_bytes = 16384,
		.header_ms = at.header_ms ? at.header_ms : 10000,
		.idle_ms = at.idle_ms ? at.idle_ms : 3000,
		.min_rate = 1000,
		.strict = at.strict,
		.http2 = at.http2,
		.http2_plain = at.http2,
		.http2_streams = 100,
		.tls = at.tls,
		.proxy_protocol = at.proxy_protocol,
		.trusted = at.trusted,
		.allowed = at.allowed,
		.allowed_by = "listed",
	};

	return server_new(loop, &settings, at.bare ? &bare_handler : &handler,
			  NULL, out);
}

int served_set_up(void **state)
{
	(void)state;
	alarm(TEST_LIMIT_S);
	signal(SIGPIPE, SIG_IGN);
	fill_big();
	at.turn = (struct loop_call){ .run = end_turn };
	at.turn_bytes = at.turn_most = 0;
	assert_int_equal(loop_new(&at.loop), 0);
	assert_int_equal(served_make(at.loop, &at.server), 0);
	atomic_store(&at.begun, 0);
	atomic_store(&at.done, 0);
	atomic_store(&at.aborted, 0);
	atomic_store(&at.released, 0);
	atomic_store(&at.dropped, 0);
	atomic_store(&at.taken, 0);
	atomic_store(&at.refused, 0);
	atomic_store(&at.drained, false);
	return pthread_create(&at.thread, NULL, run, NULL);
}

int served_tear_down(void **state)
{
	(void)state;
	loop_stop(at.loop);
	pthread_join(at.thread, NULL);
	drop_shared(NULL);
	server_free(&at.server);
	loop_free(&at.loop);
	alarm(0);
	return 0;
}

void served_be_hasty(void **state)
{
	served_tear_down(state);
	at.header_ms = 1000;
	assert_int_equal(served_set_up(state), 0);
	at.header_ms = 0;
}

static void set_drained(void *arg)
{
	(void)arg;
	atomic_store(&at.drained, true);
}

void served_drain(void *arg)
{
	(void)arg;
	server_drain(at.server, set_drained, NULL);
}

void served_hand_over(void *arg)
{
	(void)arg;
	server_hand_over(at.server, set_drained, NULL);
}

void served_wait_drained(void)
{
	for (int i = 0; i < 20000 && !atomic_load(&at.drained); i++)
		usleep(1000);
	assert_true(atomic_load(&at.drained));
}
