/*
 * Fetching over plain HTTP/1.1: GET and HEAD to http, which is what misses and
 * peers need most. A fetch is one block of memory that ends with the request as
 * it is sent; on a kept connection it costs a send, a recv, and nothing that
 * changes what the loop watches.
 *
 * A kept connection that its server has closed in the meantime is found out by
 * the first byte that does not come: the request goes out once more, on a
 * connection of its own.
 *
 * Bytes are read into memory that all fetches share, and handed out from there:
 * only what a paused fetch has not taken is copied.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>

#include "digestd/http/fields.h"
#include "digestd/http/response.h"
#include "digestd/fetch/fetch_pool.h"
#include "digestd/fetch/fetch_way.h"

enum {
	RECEIVE_BUFFER = 65536, /* bytes a callback may see at once */
	RECEIVES = 4,           /* before others have their turn */
	HTTP_PORT = 80,
	PORT_MAX = 65535,
	PORT_TEXT = 8,
};

static const char scheme[] = "http://";

struct fetch_means {
	struct loop *loop;
	struct pool *pool;
	struct fetch *fetches;
	char buffer[RECEIVE_BUFFER];
};

struct transfer {
	struct fetch fetch; /* first: what fetch.h hands out */
	struct fetch_means *means;
	const struct fetch_callbacks *callbacks;
	void *arg;
	struct pool_want want;
	struct pool_conn *conn; /* null: not yet */
	struct response response;
	struct loop_timer pace;  /* the header's deadline, then the rate */
	struct loop_timer total;
	struct loop_call later;  /* resume, or what sending came to */
	unsigned low_rate, low_rate_s;
	uint64_t received, received_before; /* bytes of the body's time */
	int64_t started_ms, connected_ms, headers_ms;
	bool headers_done;
	bool answered;  /* a byte has come */
	bool calling;   /* a callback runs */
	bool gone;      /* cancelled, or over */
	bool paused;
	char *held;     /* what a paused fetch has not taken */
	struct response_bytes held_body, held_rest; /* in it */
	struct pool_place place; /* in the request's bytes, behind it */
	size_t len, sent;
	char request[];
};

/* Where to go, and what for */

struct where {
	struct pool_place place;
	struct response_bytes authority; /* for Host */
	struct response_bytes target;    /* path and query */
};

static bool fetch_plain_is_host_char(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
	       (c >= '0' && c <= '9') || c == '-' || c == '.' || c == '_';
}

/* How long the host is at the beginning of an authority; 0: none we know. */
static size_t fetch_plain_host_length(const char *at)
{
	size_t n = 0;

	if (*at == '[') {
		n = 1 + strspn(at + 1, "0123456789abcdefABCDEF:.");
		return at[n] == ']' ? n + 1 : 0;
	}
	while (fetch_plain_is_host_char(at[n]))
		n++;
	return n;
}

/* Reads ":port" if there is one. Returns its length, or -1. */
static int fetch_plain_read_port(const char *at, unsigned *port)
{
	int n = 1;

	*port = HTTP_PORT;
	if (*at != ':')
		return 0;
	*port = 0;
	for (; at[n] >= '0' && at[n] <= '9' && n < PORT_TEXT; n++)
		*port = *port * 10 + (unsigned)(at[n] - '0');
	return *port && *port <= PORT_MAX ? n : -1;
}

static bool fetch_plain_is_visible(const char *at, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		if (at[i] <= ' ' || at[i] > '~')
			return false;
	}
	return true;
}

/*
 * Takes an http URL apart. Returns false for one that is not that simple: user
 * names, escapes in the host, bytes beyond ASCII. Those are for libcurl.
 */
static bool fetch_plain_read_url(const char *url, struct where *where)
{
	const char *at = url + sizeof(scheme) - 1;
	int port_len;

	if (strncasecmp(url, scheme, sizeof(scheme) - 1) != 0)
		return false;
	where->place.host = at;
	where->place.host_len = fetch_plain_host_length(at);
	if (!where->place.host_len || where->place.host_len > POOL_HOST_MAX)
		return false;
	at += where->place.host_len;
	port_len = fetch_plain_read_port(at, &where->place.port);
	if (port_len < 0)
		return false;
	where->authority = (struct response_bytes){
		where->place.host,
		where->place.host_len + (where->place.port == HTTP_PORT ?
						 0 : (size_t)port_len)
	};
	at += port_len;
	where->target = (struct response_bytes){ at, strcspn(at, "#") };
	if (where->target.len && *at != '/')
		return false; /* "?query", and what is no URL */
	return fetch_plain_is_visible(at, where->target.len);
}

static bool fetch_plain_takes(const struct fetch_request *r)
{
	struct where where;

	return !r->upload &&
	       (!strcmp(r->method, "GET") || !strcmp(r->method, "HEAD")) &&
	       fetch_plain_read_url(r->url, &where);
}

/* The request */

/* How many bytes the request takes at the most. */
static size_t fetch_plain_request_size(const struct fetch_request *r,
				       const struct where *where)
{
	static const char rest[] = "  HTTP/1.1\r\nHost: \r\n\r\n/";
	size_t n = sizeof(rest) + strlen(r->method) + where->authority.len +
		   (r->target ? strlen(r->target) : where->target.len);

	for (size_t i = 0; r->fields && i < fields_count(r->fields); i++) {
		const struct field *field = fields_at(r->fields, i);

		n += strlen(field->name) + strlen(field->value) + 4;
	}
	return n;
}

static char *fetch_plain_put(char *at, const char *text, size_t len)
{
	memcpy(at, text, len);
	return at + len;
}

static char *fetch_plain_put_text(char *at, const char *text)
{
	return fetch_plain_put(at, text, strlen(text));
}

static char *fetch_plain_put_field(char *at, const char *name,
				   struct response_bytes value)
{
	at = fetch_plain_put_text(at, name);
	at = fetch_plain_put(at, ": ", 2);
	at = fetch_plain_put(at, value.at, value.len);
	return fetch_plain_put(at, "\r\n", 2);
}

/* Writes it to where fetch_plain_request_size() bytes are. Returns its length.
 */
static size_t fetch_plain_write_request(char *out,
					const struct fetch_request *r,
					const struct where *where)
{
	char *at = fetch_plain_put_text(out, r->method);

	*at++ = ' ';
	if (r->target)
		at = fetch_plain_put_text(at, r->target);
	else if (where->target.len)
		at = fetch_plain_put(at, where->target.at, where->target.len);
	else
		*at++ = '/';
	at = fetch_plain_put_text(at, " HTTP/1.1\r\n");
	if (!r->fields || !fields_get(r->fields, "Host"))
		at = fetch_plain_put_field(at, "Host", where->authority);
	for (size_t i = 0; r->fields && i < fields_count(r->fields); i++) {
		const struct field *field = fields_at(r->fields, i);

		if (!fetch_is_framing(field->name))
			at = fetch_plain_put_field(
				at, field->name,
				(struct response_bytes){field->value,
							strlen(field->value)});
	}
	at = fetch_plain_put(at, "\r\n", 2);
	return (size_t)(at - out);
}

/* The end */

static int64_t fetch_plain_now_ms(const struct transfer *f)
{
	return loop_now_ms(f->means->loop);
}

/* Gives everything back but the memory; whole: the connection is kept. */
static void fetch_plain_let_go(struct transfer *f, bool whole)
{
	struct fetch_means *means = f->means;

	loop_timer_clear(means->loop, &f->pace);
	loop_timer_clear(means->loop, &f->total);
	loop_undefer(means->loop, &f->later);
	pool_forget(means->pool, &f->want);
	if (f->conn && whole && f->sent == f->len)
		pool_keep(means->pool, f->conn);
	else if (f->conn)
		pool_close(means->pool, f->conn);
	f->conn = NULL;
	fetch_unlist(&f->fetch);
}

static void fetch_plain_transfer_free(struct transfer *f)
{
	response_free(&f->response);
	free(f->held);
	free(f);
}

static unsigned fetch_plain_elapsed_ms(const struct transfer *f,
				       int64_t until_ms)
{
	return until_ms > f->started_ms ? (unsigned)(until_ms - f->started_ms) :
					  0;
}

/* It is over; keep: the connection may be used again. */
static void fetch_plain_finish(struct transfer *f, enum fetch_result result,
			       bool keep)
{
	struct fetch_done done = {
		.result = result,
		.ended_by_close = f->response.framing.by_close,
		.connected = f->sent > 0,
		.timing =
			{
				.connect_ms = fetch_plain_elapsed_ms(
					f, f->connected_ms),
				.first_byte_ms = fetch_plain_elapsed_ms(
					f, f->headers_ms),
				.total_ms = fetch_plain_elapsed_ms(
					f, fetch_plain_now_ms(f)),
			},
	};

	fetch_plain_let_go(f, keep);
	f->gone = true; /* a cancel from the callback finds it ended */
	f->callbacks->on_done(f->arg, &f->fetch, &done);
	fetch_plain_transfer_free(f);
}

static enum fetch_result fetch_plain_broken(const struct transfer *f)
{
	return f->headers_done ? FETCH_TRUNCATED : FETCH_BAD;
}

/* Time */

static void fetch_plain_pace_late(void *arg)
{
	struct transfer *f = arg;
	uint64_t least = (uint64_t)f->low_rate * f->low_rate_s;
	bool slow = f->received - f->received_before < least;

	if (!f->headers_done || (slow && !f->paused)) {
		fetch_plain_finish(f, FETCH_TIMEOUT, false);
		return;
	}
	f->received_before = f->received;
	loop_timer_set(f->means->loop, &f->pace,
		       fetch_plain_now_ms(f) + (int64_t)f->low_rate_s * 1000,
		       fetch_plain_pace_late, f);
}

static void fetch_plain_total_late(void *arg)
{
	fetch_plain_finish(arg, FETCH_TIMEOUT, false);
}

/* From now on the body's pace counts, if there is one to keep. */
static void fetch_plain_watch_pace(struct transfer *f)
{
	if (!f->low_rate || !f->low_rate_s) {
		loop_timer_clear(f->means->loop, &f->pace);
		return;
	}
	f->received_before = f->received;
	loop_timer_set(f->means->loop, &f->pace,
		       fetch_plain_now_ms(f) + (int64_t)f->low_rate_s * 1000,
		       fetch_plain_pace_late, f);
}

static void fetch_plain_start_timers(struct transfer *f,
				     const struct fetch_limits *limits)
{
	struct loop *loop = f->means->loop;

	f->low_rate = limits->low_rate;
	f->low_rate_s = limits->low_rate_s;
	loop_timer_set(loop, &f->pace,
		       fetch_plain_now_ms(f) + limits->first_byte_ms,
		       fetch_plain_pace_late, f);
	if (limits->total_ms)
		loop_timer_set(loop, &f->total,
			       fetch_plain_now_ms(f) + limits->total_ms,
			       fetch_plain_total_late, f);
}

/* Receiving */

enum progress {
	GOES_ON,
	STOPPED, /* paused */
	OVER,    /* the fetch is no more */
};

/* Keeps what a callback did not take, and what came after it. */
static enum progress fetch_plain_pause_with(struct transfer *f,
					    struct response_bytes body,
					    struct response_bytes rest)
{
	char *held = malloc(body.len + rest.len);

	if (!held || pool_watch(f->means->pool, f->conn, 0)) {
		free(held);
		fetch_plain_finish(f, FETCH_NOMEM, false);
		return OVER;
	}
	memcpy(held, body.at, body.len);
	if (rest.len)
		memcpy(held + body.len, rest.at, rest.len);
	free(f->held);
	f->held = held;
	f->held_body = (struct response_bytes){ held, body.len };
	f->held_rest = (struct response_bytes){ held + body.len, rest.len };
	f->paused = true;
	return STOPPED;
}

static void fetch_plain_transfer_take_interim(struct transfer *f)
{
	const struct response *r = &f->response;

	if (f->gone || !f->callbacks->on_interim)
		return;
	f->calling = true;
	f->callbacks->on_interim(f->arg, &f->fetch, r->status, &r->fields);
	f->calling = false;
}

static void fetch_plain_take_header(struct transfer *f)
{
	const struct response *r = &f->response;

	f->headers_done = true;
	f->headers_ms = fetch_plain_now_ms(f);
	f->calling = true;
	if (!f->gone && f->callbacks->on_headers)
		f->callbacks->on_headers(f->arg, &f->fetch, r->status,
					 &r->fields, r->framing.body_len);
	f->calling = false;
}

static bool fetch_plain_take_body(struct transfer *f,
				  struct response_bytes body)
{
	bool taken = true;

	if (f->gone || !f->callbacks->on_body)
		return true;
	f->calling = true;
	taken = f->callbacks->on_body(f->arg, &f->fetch, body.at, body.len);
	f->calling = false;
	return taken || f->gone;
}

/* The end of one that was cancelled from a callback. */
static void fetch_plain_bury(struct transfer *f, bool keep)
{
	fetch_plain_let_go(f, keep);
	fetch_plain_transfer_free(f);
}

static enum progress fetch_plain_end_with(struct transfer *f,
					  enum fetch_result result, bool keep)
{
	if (f->gone)
		fetch_plain_bury(f, keep);
	else
		fetch_plain_finish(f, result, keep);
	return OVER;
}

/*
 * Reads what has come. A fetch that is cancelled meanwhile is deaf, and its
 * connection is kept if the response turns out to be whole.
 */
static enum progress fetch_plain_consume(struct transfer *f,
					 struct response_bytes in)
{
	bool was_done = f->headers_done;
	struct response_bytes body;

	for (;;) {
		switch (response_next(&f->response, &in, &body)) {
		case RESPONSE_INTERIM:
			fetch_plain_transfer_take_interim(f);
			break;
		case RESPONSE_HEADER:
			fetch_plain_take_header(f);
			break;
		case RESPONSE_BODY:
			if (!fetch_plain_take_body(f, body))
				return fetch_plain_pause_with(f, body, in);
			break;
		case RESPONSE_MORE:
			if (f->gone)
				return fetch_plain_end_with(f, FETCH_COMPLETE,
							    false);
			if (f->headers_done && !was_done)
				fetch_plain_watch_pace(f);
			return GOES_ON;
		case RESPONSE_END:
			return fetch_plain_end_with(
				f, FETCH_COMPLETE, f->response.keep && !in.len);
		case RESPONSE_BAD:
			return fetch_plain_end_with(f, fetch_plain_broken(f),
						    false);
		case RESPONSE_NOMEM:
			return fetch_plain_end_with(f, FETCH_NOMEM, false);
		}
	}
}

static void fetch_plain_retry(struct transfer *f);

/* The connection is gone; orderly: its end was announced. */
static void fetch_plain_lost(struct transfer *f, bool orderly)
{
	if (!f->answered && f->conn->reused)
		fetch_plain_retry(f);
	else if (orderly && response_closed(&f->response) == RESPONSE_END)
		fetch_plain_finish(f, FETCH_COMPLETE, false);
	else
		fetch_plain_finish(f, fetch_plain_broken(f), false);
}

static void fetch_plain_receive(struct transfer *f)
{
	struct fetch_means *means = f->means;

	for (int i = 0; i < RECEIVES; i++) {
		ssize_t n = recv(f->conn->watch.fd, means->buffer,
				 sizeof(means->buffer), 0);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
			return;
		if (n <= 0) {
			fetch_plain_lost(f, !n);
			return;
		}
		f->answered = true;
		f->received += (size_t)n;
		if (fetch_plain_consume(
			    f, (struct response_bytes){means->buffer,
						       (size_t)n}) != GOES_ON ||
		    (size_t)n < sizeof(means->buffer))
			return;
	}
}

/* Sending */

static void fetch_plain_run_lost(void *arg)
{
	fetch_plain_lost(arg, false);
}

/* Sends what it can; a failure comes from the loop. */
static void fetch_plain_send_request(struct transfer *f)
{
	ssize_t n = send(f->conn->watch.fd, f->request + f->sent,
			 f->len - f->sent, MSG_NOSIGNAL);
	unsigned events = LOOP_READ;

	if (n > 0)
		f->sent += (size_t)n;
	if (f->sent < f->len)
		events |= LOOP_WRITE;
	if ((n < 0 && errno != EAGAIN && errno != EWOULDBLOCK &&
	     errno != EINTR) || pool_watch(f->means->pool, f->conn, events)) {
		f->later.run = fetch_plain_run_lost;
		loop_defer(f->means->loop, &f->later);
	}
}

static void fetch_plain_conn_ready(void *arg, unsigned events)
{
	struct transfer *f = arg;

	if (events & LOOP_WRITE && f->sent < f->len)
		fetch_plain_send_request(f);
	if (events & (LOOP_READ | LOOP_HANGUP))
		fetch_plain_receive(f);
}

static void fetch_plain_begin(struct transfer *f, struct pool_conn *conn)
{
	f->conn = conn;
	f->sent = 0;
	pool_use(conn, fetch_plain_conn_ready, f);
	fetch_plain_send_request(f);
}

static struct transfer *fetch_plain_of_want(struct pool_want *want)
{
	return (struct transfer *)((char *)want -
				   offsetof(struct transfer, want));
}

static void fetch_plain_got(struct pool_want *want, struct pool_conn *conn)
{
	struct transfer *f = fetch_plain_of_want(want);

	f->connected_ms = fetch_plain_now_ms(f);
	fetch_plain_begin(f, conn);
}

static void fetch_plain_failed(struct pool_want *want, enum fetch_result result)
{
	fetch_plain_finish(fetch_plain_of_want(want), result, false);
}

/* Gets a connection, now or later. Returns 0 or -ENOMEM. */
static int fetch_plain_ask(struct transfer *f)
{
	int err;
	struct pool_conn *conn = pool_ask(f->means->pool, &f->want, &f->place,
					  &err);

	if (conn)
		fetch_plain_begin(f, conn);
	return err;
}

/* The request once more, on a connection that nobody has used. */
static void fetch_plain_retry(struct transfer *f)
{
	loop_undefer(f->means->loop, &f->later);
	pool_close(f->means->pool, f->conn);
	f->conn = NULL;
	f->want.fresh = true;
	if (fetch_plain_ask(f))
		fetch_plain_finish(f, FETCH_NOMEM, false);
}

/* The way */

static struct transfer *fetch_plain_transfer_of(struct fetch *f)
{
	return (struct transfer *)f;
}

/* Makes a fetch that has not begun. Null: no memory. */
static struct transfer *fetch_plain_make(const struct fetch_request *r)
{
	struct where where;
	size_t size;
	struct transfer *f;

	if (!fetch_plain_read_url(r->url, &where))
		return NULL; /* cannot be: fetch_plain_takes() has read it */
	size = fetch_plain_request_size(r, &where);
	f = malloc(sizeof(*f) + size + where.place.host_len);
	if (!f)
		return NULL;
	*f = (struct transfer){ .fetch.way = &fetch_way_plain };
	f->len = fetch_plain_write_request(f->request, r, &where);
	f->place = where.place;
	f->place.host = fetch_plain_put(f->request + size, where.place.host,
					where.place.host_len) -
			where.place.host_len;
	f->want.connect_ms = r->limits->connect_ms;
	f->want.got = fetch_plain_got;
	f->want.failed = fetch_plain_failed;
	f->later.arg = f;
	response_init(&f->response, !strcmp(r->method, "HEAD"),
		      r->limits->max_header_bytes);
	return f;
}

static int fetch_plain_start(struct fetch_means *means,
			     const struct fetch_request *request,
			     const struct fetch_callbacks *callbacks, void *arg,
			     struct fetch **out)
{
	struct transfer *f = fetch_plain_make(request);

	if (!f)
		return -ENOMEM;
	f->means = means;
	f->callbacks = callbacks;
	f->arg = arg;
	f->started_ms = fetch_plain_now_ms(f);
	fetch_list(&means->fetches, &f->fetch);
	fetch_plain_start_timers(f, request->limits);
	if (fetch_plain_ask(f)) {
		fetch_plain_bury(f, false);
		return -ENOMEM;
	}
	*out = &f->fetch;
	return 0;
}

static void fetch_plain_run_resume(void *arg)
{
	struct transfer *f = arg;
	struct response_bytes rest = f->held_rest;
	char *held = f->held;
	enum progress progress;

	if (!f->paused)
		return;
	if (!fetch_plain_take_body(f, f->held_body))
		return; /* still paused, with the same bytes */
	f->held = NULL; /* what is paused again is copied anew */
	f->paused = false;
	progress = fetch_plain_consume(f, rest);
	free(held);
	if (progress != GOES_ON)
		return;
	fetch_plain_watch_pace(f); /* it was not the server that was slow */
	if (pool_watch(f->means->pool, f->conn, LOOP_READ))
		fetch_plain_finish(f, FETCH_NOMEM, false);
}

static void fetch_plain_resume(struct fetch *fetch)
{
	struct transfer *f = fetch_plain_transfer_of(fetch);

	if (f->gone || !f->headers_done)
		return;
	f->later.run = fetch_plain_run_resume;
	loop_defer(f->means->loop, &f->later);
}

/* There are no uploads this way. */
static void fetch_plain_resume_upload(struct fetch *fetch)
{
	(void)fetch;
}

static void fetch_plain_cancel(struct fetch *fetch)
{
	struct transfer *f = fetch_plain_transfer_of(fetch);

	if (f->gone)
		return;
	f->gone = true;
	if (!f->calling)
		fetch_plain_bury(f, false);
}

static int fetch_plain_open_means(struct loop *loop, unsigned max_per_host,
				  struct fetch_means **out)
{
	struct fetch_means *means = malloc(sizeof(*means));
	int err = means ? pool_new(loop, max_per_host, &means->pool) : -ENOMEM;

	if (err) {
		free(means);
		return err;
	}
	means->loop = loop;
	means->fetches = NULL;
	*out = means;
	return 0;
}

static void fetch_plain_close_means(struct fetch_means *means)
{
	if (!means)
		return;
	while (means->fetches)
		fetch_plain_bury(fetch_plain_transfer_of(means->fetches),
				 false);
	pool_free(&means->pool);
	free(means);
}

static void fetch_plain_public_only(struct fetch_means *means)
{
	pool_public_only(means->pool);
}

const struct fetch_way fetch_way_plain = {
	.open = fetch_plain_open_means,
	.close = fetch_plain_close_means,
	.public_only = fetch_plain_public_only,
	.takes = fetch_plain_takes,
	.start = fetch_plain_start,
	.resume = fetch_plain_resume,
	.resume_upload = fetch_plain_resume_upload,
	.cancel = fetch_plain_cancel,
};
