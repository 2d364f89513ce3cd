/*
 * Fetching over HTTP/1.1: the life of a fetch. It is one block of memory that
 * ends with the head of the request as it is sent; on a kept connection it
 * costs a send, a recv, and nothing that changes what the loop watches.
 *
 * A kept connection that its server has closed in the meantime is found out by
 * the first byte that does not come: a request of a safe method without a body
 * goes out once more, on a connection of its own. Nobody knows what became of
 * any other (RFC 9110, 9.2.2): it takes a connection that has only just been
 * used, or a new one, and is sent once.
 */
#include "digestd/fetch/fetch_http.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "digestd/fetch/fetch_head.h"
#include "digestd/os/memory.h"
#include "digestd/tls/tls_client.h"

int64_t transfer_now_ms(const struct transfer *f)
{
	return loop_now_ms(f->means->loop);
}

void transfer_calls(struct transfer *f, bool calls)
{
	f->calling = f->means->calling = calls;
}

void transfer_set_rest(struct transfer *f, char *rest, size_t len)
{
	ledger_add(&memory_ledger, LEDGER_uploads, len);
	ledger_return(&memory_ledger, LEDGER_uploads, f->body.rest_len);
	free(f->body.rest);
	f->body.rest = rest;
	f->body.rest_len = len;
}

/* The end */

/* Gives everything back but the memory; whole: the connection is kept. */
static void fetch_http_let_go(struct transfer *f, bool whole)
{
	struct fetch_means *means = f->means;

	loop_timer_clear(means->loop, &f->pace);
	loop_timer_clear(means->loop, &f->total);
	loop_undefer(means->loop, &f->send);
	loop_undefer(means->loop, &f->receive);
	pool_forget(means->pool, &f->want);
	if (f->conn && whole && !f->single_use && !f->conn->ended &&
	    transfer_is_sent(f))
		pool_keep(means->pool, f->conn);
	else if (f->conn)
		pool_close(means->pool, f->conn);
	f->conn = NULL;
	fetch_unlist(&f->fetch);
}

static void fetch_http_free(struct transfer *f)
{
	response_free(&f->response);
	tls_client_unref(f->place.tls);
	if (f->body.rest)
		transfer_set_rest(f, NULL, 0);
	free(f->held);
	free(f);
}

static unsigned fetch_http_elapsed_ms(const struct transfer *f,
				      int64_t until_ms)
{
	return until_ms > f->started_ms ? (unsigned)(until_ms - f->started_ms) :
					  0;
}

static void fetch_http_report(struct transfer *f, enum fetch_result result,
			      const struct fetch_timing *timing)
{
	const struct fetch_done done = {
		.result = result,
		.cause = f->cause,
		.sent = f->moved,
		.ended_by_close = f->response.framing.by_close,
		.timing = *timing,
	};

	transfer_calls(f, true);
	f->callbacks->on_done(f->arg, &f->fetch, &done);
	transfer_calls(f, false);
}

enum progress transfer_finish(struct transfer *f, enum fetch_result result,
			      bool keep)
{
	const struct fetch_timing timing = {
		.connect_ms = fetch_http_elapsed_ms(f, f->connected_ms),
		.first_byte_ms = fetch_http_elapsed_ms(f, f->headers_ms),
		.total_ms = fetch_http_elapsed_ms(f, transfer_now_ms(f)),
	};
	bool cancelled = f->gone;

	fetch_http_let_go(f, keep);
	f->gone = true; /* a cancel from the callback finds it ended */
	if (!cancelled)
		fetch_http_report(f, result, &timing);
	fetch_http_free(f);
	return OVER;
}

enum progress transfer_break(struct transfer *f)
{
	if (!f->answered)
		f->cause = TROUBLE_reset;
	return transfer_finish(f, f->headers_done ? FETCH_TRUNCATED : FETCH_BAD,
			       false);
}

/* Time */

static bool fetch_http_is_slow(const struct transfer *f)
{
	uint64_t moved = f->moved - f->moved_before;

	if (f->tunnel)
		return !moved;
	/* who waits for the caller is not slow */
	return moved < (uint64_t)f->low_rate * f->low_rate_s && !f->paused &&
	       !f->body.waits;
}

static void fetch_http_pace_late(void *arg)
{
	struct transfer *f = arg;

	if (!f->headers_done || fetch_http_is_slow(f))
		(void)transfer_finish(f, f->whole ? FETCH_COMPLETE :
						    FETCH_TIMEOUT, false);
	else
		transfer_watch_pace(f);
}

/* 0: the pace does not count. */
static int64_t fetch_http_span_ms(const struct transfer *f)
{
	if (f->tunnel)
		return f->tunnel_idle_ms;
	return f->low_rate ? (int64_t)f->low_rate_s * 1000 : 0;
}

static void fetch_http_watch_span(struct transfer *f)
{
	f->moved_before = f->moved;
	loop_timer_set(f->means->loop, &f->pace,
		       transfer_now_ms(f) + fetch_http_span_ms(f),
		       fetch_http_pace_late, f);
}

void transfer_watch_pace(struct transfer *f)
{
	if (fetch_http_span_ms(f))
		fetch_http_watch_span(f);
	else
		loop_timer_clear(f->means->loop, &f->pace);
}

void transfer_await_header(struct transfer *f)
{
	loop_timer_set(f->means->loop, &f->pace,
		       transfer_now_ms(f) + f->first_byte_ms,
		       fetch_http_pace_late, f);
}

static void fetch_http_total_late(void *arg)
{
	(void)transfer_finish(arg, FETCH_TIMEOUT, false);
}

static void fetch_http_start_timers(struct transfer *f,
				    const struct fetch_limits *limits)
{
	f->low_rate = limits->low_rate;
	f->low_rate_s = limits->low_rate_s;
	f->tunnel_idle_ms = limits->tunnel_idle_ms;
	f->first_byte_ms = limits->first_byte_ms;
	transfer_await_header(f);
	if (limits->total_ms)
		loop_timer_set(f->means->loop, &f->total,
			       transfer_now_ms(f) + limits->total_ms,
			       fetch_http_total_late, f);
}

/* The connection */

enum progress transfer_watch(struct transfer *f)
{
	unsigned events = f->paused || f->half ? 0 : LOOP_READ;

	if (f->unsent.len || pool_holds(f->conn))
		events |= LOOP_WRITE;
	if (!pool_watch(f->means->pool, f->conn, events))
		return GOES_ON;
	return transfer_finish(f, FETCH_NOMEM, false);
}

static void fetch_http_run_send(void *arg)
{
	struct transfer *f = arg;

	if (f->conn) /* else it is sent when there is one */
		(void)transfer_send(f);
}

static enum progress fetch_http_retry(struct transfer *f);

/* Whether nothing has been asked on this connection yet: what comes on it then
 * is no answer, and would be taken for one. */
static bool fetch_http_is_unasked(const struct transfer *f)
{
	return f->unsent.at == f->request && f->unsent.len == f->len;
}

static void fetch_http_conn_ready(void *arg, unsigned events)
{
	struct transfer *f = arg;

	f->conn->ended |= events & LOOP_HANGUP;
	if (events & (LOOP_READ | LOOP_HANGUP) && fetch_http_is_unasked(f)) {
		if (f->want.fresh)
			(void)transfer_break(f);
		else
			(void)fetch_http_retry(f);
		return;
	}
	/* what has been answered may not have to be sent any more */
	if (events & (LOOP_READ | LOOP_HANGUP) && !f->paused && !f->half &&
	    transfer_receive(f) != GOES_ON)
		return;
	if (events & LOOP_WRITE || (f->half && events & LOOP_HANGUP))
		(void)transfer_send(f);
}

static void fetch_http_use(struct transfer *f, struct pool_conn *conn)
{
	f->conn = conn;
	f->unsent = (struct response_bytes){ f->request, f->len };
	pool_use(conn, fetch_http_conn_ready, f);
}

static struct transfer *fetch_http_of_want(struct pool_want *want)
{
	return (struct transfer *)((char *)want -
				   offsetof(struct transfer, want));
}

static void fetch_http_got(struct pool_want *want, struct pool_conn *conn)
{
	struct transfer *f = fetch_http_of_want(want);

	f->connected_ms = transfer_now_ms(f);
	fetch_http_use(f, conn);
	(void)transfer_send(f);
}

static void fetch_http_failed(struct pool_want *want, enum fetch_result result)
{
	struct transfer *f = fetch_http_of_want(want);

	f->cause = want->cause;
	(void)transfer_finish(f, result, false);
}

/* Gets a connection, now or later. Returns 0 or -ENOMEM. */
static int fetch_http_ask(struct transfer *f)
{
	int err;
	struct pool_conn *conn = pool_ask(f->means->pool, &f->want, &f->place,
					  &err);

	if (conn) { /* nothing is called back from here */
		fetch_http_use(f, conn);
		loop_defer(f->means->loop, &f->send);
	}
	return err;
}

/* The request once more, on a connection that nobody has used. */
static enum progress fetch_http_retry(struct transfer *f)
{
	loop_undefer(f->means->loop, &f->send);
	loop_undefer(f->means->loop, &f->receive);
	pool_close(f->means->pool, f->conn);
	f->conn = NULL;
	f->cut = false;
	f->want.fresh = true;
	if (fetch_http_ask(f))
		return transfer_finish(f, FETCH_NOMEM, false);
	return STOPPED;
}

/* Of a tunnel: the other direction goes on. */
static enum progress fetch_http_half_close(struct transfer *f)
{
	f->half = true;
	f->calling = true;
	f->callbacks->on_half_close(f->arg, &f->fetch);
	f->calling = false;
	if (f->gone)
		return transfer_finish(f, FETCH_COMPLETE, false);
	return transfer_watch(f);
}

enum progress transfer_lose(struct transfer *f, bool orderly)
{
	if (!f->answered && f->conn->reused && f->repeatable)
		return fetch_http_retry(f);
	if (!orderly || response_closed(&f->response) != RESPONSE_END)
		return transfer_break(f);
	if (f->tunnel && f->callbacks->on_half_close && !f->cut &&
	    !transfer_is_sent(f))
		return fetch_http_half_close(f);
	return transfer_finish(f, FETCH_COMPLETE, false);
}

/* The way */

static struct transfer *fetch_http_transfer_of(struct fetch *f)
{
	return (struct transfer *)f;
}

static void fetch_http_set_body(struct transfer *f,
				const struct fetch_request *r)
{
	if (!r->upload)
		return;
	f->body.read = r->upload->read;
	f->body.trailers = r->upload->trailers;
	f->body.left = r->upload->len;
	if (r->upgrade)
		f->body.coding = BODY_LATER;
	else if (r->upload->len < 0)
		f->body.coding = BODY_CHUNKED;
	else if (r->upload->len)
		f->body.coding = BODY_COUNTED;
}

static void fetch_http_set_up(struct transfer *f,
			      const struct fetch_request *r)
{
	/* an empty body cannot be taken for a request */
	bool uploads = r->upload && r->upload->len && !r->upgrade;

	/* of an upload behind an upgrade nothing is read before the answer */
	f->repeatable = (!r->upload || r->upgrade) &&
			fetch_is_safe(r->method);
	f->single_use = uploads && fetch_is_safe(r->method);
	f->want = (struct pool_want){
		.connect_ms = r->limits->connect_ms,
		.lately = !f->repeatable,
		.uploads = uploads,
		.got = fetch_http_got,
		.failed = fetch_http_failed,
	};
	f->send = (struct loop_call){ .run = fetch_http_run_send, .arg = f };
	f->receive = (struct loop_call){ .run = transfer_run_receive,
					 .arg = f };
	fetch_http_set_body(f, r);
	response_init(&f->response, !strcmp(r->method, "HEAD"),
		      r->limits->max_header_bytes);
	f->response.continues = fetch_expects_continue(r);
	f->response.upgrades = r->upgrade;
}

/* Makes a fetch that has not begun. Null: no memory. */
static struct transfer *fetch_http_make(const struct fetch_request *r,
					const struct fetch_url *url)
{
	size_t size = fetch_head_size(r, url);
	struct transfer *f = calloc(1, sizeof(*f) + size + url->place.host_len);

	if (!f)
		return NULL;
	f->fetch.way = &fetch_way_http;
	f->len = fetch_head_write(f->request, r, url);
	f->place = url->place;
	f->place.host = memcpy(f->request + size, url->place.host,
			       url->place.host_len);
	if (r->address) {
		f->address = *r->address;
		f->place.address = &f->address;
	}
	fetch_http_set_up(f, r);
	return f;
}

/* Who brings nothing is served by what the system trusts. */
static struct tls_client *fetch_http_usual_tls(struct fetch_means *means)
{
	static const struct tls_files none = { .oldest = TLS_1_2 };
	struct tls_fault fault;

	if (!means->tls && tls_client_new(&none, &means->tls, &fault))
		return NULL;
	return means->tls;
}

static int fetch_http_set_tls(struct transfer *f, struct tls_client *tls)
{
	if (!tls)
		tls = fetch_http_usual_tls(f->means);
	if (!tls)
		return -ENOMEM;
	f->place.tls = tls_client_ref(tls);
	return 0;
}

static void fetch_http_warm(struct fetch_means *means, const char *text,
			    struct tls_client *tls, unsigned connect_ms,
			    unsigned n)
{
	struct fetch_url url;

	if (!fetch_url_read(text, &url))
		return;
	if (url.https)
		url.place.tls = tls ? tls : fetch_http_usual_tls(means);
	if (!url.https || url.place.tls)
		spares_make(&means->spares, &url.place, connect_ms, n);
}

static int fetch_http_start(struct fetch_means *means,
			    const struct fetch_request *request,
			    const struct fetch_callbacks *callbacks, void *arg,
			    struct fetch **out)
{
	struct fetch_url room;
	const struct fetch_url *url = fetch_urls_read(&means->urls,
						      request->url, &room);
	struct transfer *f;
	int err = 0;

	if (!url)
		return -EINVAL;
	f = fetch_http_make(request, url);
	if (!f)
		return -ENOMEM;
	f->means = means;
	f->callbacks = callbacks;
	f->arg = arg;
	f->started_ms = transfer_now_ms(f);
	fetch_list(&means->fetches, &f->fetch);
	fetch_http_start_timers(f, request->limits);
	if (url->https)
		err = fetch_http_set_tls(f, request->tls);
	if (!err)
		err = fetch_http_ask(f);
	if (err) {
		fetch_http_let_go(f, false);
		fetch_http_free(f);
		return err;
	}
	*out = &f->fetch;
	return 0;
}

static int fetch_http_take_fields(struct fetch *fetch, struct fields *fields)
{
	struct response *r = &fetch_http_transfer_of(fetch)->response;

	*fields = r->fields;
	fields_init(&r->fields);
	return 0;
}

static void fetch_http_lift_total(struct fetch *fetch)
{
	struct transfer *f = fetch_http_transfer_of(fetch);

	loop_timer_clear(f->means->loop, &f->total);
}

static void fetch_http_resume(struct fetch *fetch)
{
	struct transfer *f = fetch_http_transfer_of(fetch);

	if (!f->gone && f->headers_done)
		loop_defer(f->means->loop, &f->receive);
}

static void fetch_http_resume_upload(struct fetch *fetch)
{
	struct transfer *f = fetch_http_transfer_of(fetch);

	if (f->gone || !f->body.waits)
		return;
	f->body.waits = false;
	loop_defer(f->means->loop, &f->send);
}

static unsigned fetch_http_connect_ms(const struct fetch *fetch)
{
	const struct transfer *f = (const struct transfer *)fetch;

	return fetch_http_elapsed_ms(f, f->connected_ms);
}

static bool fetch_http_is_sent(const struct fetch *fetch)
{
	return ((const struct transfer *)fetch)->moved;
}

static void fetch_http_cancel(struct fetch *fetch)
{
	struct transfer *f = fetch_http_transfer_of(fetch);

	if (f->gone)
		return;
	f->gone = true;
	if (!f->calling)
		(void)transfer_finish(f, FETCH_COMPLETE, false);
}

static int fetch_http_open_means(struct loop *loop, unsigned max_per_host,
				 struct fetch_means **out)
{
	struct fetch_means *means = malloc(sizeof(*means));
	int err = means ? pool_new(loop, max_per_host, &means->pool) : -ENOMEM;

	if (err) {
		free(means);
		return err;
	}
	means->loop = loop;
	means->spares = (struct spares){ .pool = means->pool };
	means->fetches = NULL;
	means->tls = NULL;
	means->calling = false;
	means->urls = (struct fetch_urls){ 0 };
	*out = means;
	return 0;
}

static void fetch_http_close_means(struct fetch_means *means)
{
	if (!means)
		return;
	assert(!means->calling);
	while (means->fetches)
		fetch_http_cancel(means->fetches);
	spares_end(&means->spares);
	pool_free(&means->pool);
	tls_client_unref(means->tls);
	free(means);
}

static void fetch_http_public_only(struct fetch_means *means)
{
	pool_public_only(means->pool);
}

const struct fetch_way fetch_way_http = {
	.open = fetch_http_open_means,
	.close = fetch_http_close_means,
	.public_only = fetch_http_public_only,
	.warm = fetch_http_warm,
	.start = fetch_http_start,
	.take_fields = fetch_http_take_fields,
	.lift_total = fetch_http_lift_total,
	.resume = fetch_http_resume,
	.resume_upload = fetch_http_resume_upload,
	.connect_ms = fetch_http_connect_ms,
	.is_sent = fetch_http_is_sent,
	.cancel = fetch_http_cancel,
};
