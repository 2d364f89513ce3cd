/*
 * The response of a fetch: bytes are read into memory that all fetches share,
 * and handed out from there. Only what a paused fetch has not taken is copied.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "digestd/fetch/fetch_http.h"

enum { RECEIVES = 4 }; /* before others have their turn */

/* Keeps what a callback did not take, and what came after it. */
static enum progress fetch_http_pause_with(struct transfer *f,
					   struct response_bytes body,
					   struct response_bytes rest)
{
	char *held = malloc(body.len + rest.len);

	if (!held)
		return transfer_finish(f, FETCH_NOMEM, false);
	memcpy(held, body.at, body.len);
	if (rest.len)
		memcpy(held + body.len, rest.at, rest.len);
	free(f->held);
	f->held = held;
	f->held_body = (struct response_bytes){ held, body.len };
	f->held_rest = (struct response_bytes){ held + body.len, rest.len };
	f->paused = true;
	return transfer_watch(f) == OVER ? OVER : STOPPED;
}

static void fetch_http_take_interim(struct transfer *f)
{
	const struct response *r = &f->response;

	if (f->gone || !f->callbacks->on_interim)
		return;
	transfer_calls(f, true);
	f->callbacks->on_interim(f->arg, &f->fetch, r->status, &r->fields);
	transfer_calls(f, false);
}

/* From now on both ends say what they like. */
static void fetch_http_begin_tunnel(struct transfer *f)
{
	f->tunnel = true;
	if (f->body.coding == BODY_LATER)
		f->body.coding = BODY_RAW;
	loop_defer(f->means->loop, &f->send);
}

static void fetch_http_take_header(struct transfer *f)
{
	const struct response *r = &f->response;

	f->headers_done = true;
	f->headers_ms = transfer_now_ms(f);
	if (r->status == RESPONSE_UPGRADED)
		fetch_http_begin_tunnel(f);
	else
		transfer_answer_early(f);
	transfer_calls(f, true);
	if (!f->gone && f->callbacks->on_headers)
		f->callbacks->on_headers(f->arg, &f->fetch, r->status,
					 &r->fields, r->framing.body_len);
	transfer_calls(f, false);
}

static bool fetch_http_take_body(struct transfer *f,
				 struct response_bytes body)
{
	bool taken = true;

	if (f->gone || !f->callbacks->on_body)
		return true;
	transfer_calls(f, true);
	taken = f->callbacks->on_body(f->arg, &f->fetch, body.at, body.len);
	transfer_calls(f, false);
	return taken || f->gone;
}

static void fetch_http_take_trailers(struct transfer *f)
{
	const struct fields *trailers = &f->response.trailers;

	if (f->gone || !f->callbacks->on_trailers || !fields_count(trailers))
		return;
	f->calling = true;
	f->callbacks->on_trailers(f->arg, &f->fetch, trailers);
	f->calling = false;
}

/* Whether a server that has agreed to a request gets all of it, also after its
 * whole response: it may have answered in advance. */
static bool fetch_http_is_wanted(const struct transfer *f)
{
	return f->response.status < 300 && f->body.read && !f->gone &&
	       !f->cut && !f->tunnel && !transfer_is_sent(f);
}

/* The response is whole, and what is left of the request goes with it if there
 * is little: then the connection stays. */
static enum progress fetch_http_end(struct transfer *f, bool alone)
{
	bool keep = f->response.keep && alone;

	fetch_http_take_trailers(f);
	if (fetch_http_is_wanted(f)) {
		f->half = f->whole = true;
		f->keeps = keep;
		transfer_watch_pace(f);
		return transfer_send(f) == OVER ? OVER : STOPPED;
	}
	if (keep && !f->gone && !transfer_is_sent(f) &&
	    transfer_send(f) == OVER)
		return OVER;
	return transfer_finish(f, FETCH_COMPLETE, keep);
}

/*
 * Reads what has come. A fetch that is cancelled meanwhile is deaf, and its
 * connection is kept if the response turns out to be whole.
 */
static enum progress fetch_http_consume(struct transfer *f,
					struct response_bytes in)
{
	bool was_done = f->headers_done;
	struct response_bytes body;

	for (;;) {
		switch (response_next(&f->response, &in, &body)) {
		case RESPONSE_INTERIM:
			fetch_http_take_interim(f);
			break;
		case RESPONSE_HEADER:
			fetch_http_take_header(f);
			break;
		case RESPONSE_BODY:
			if (!fetch_http_take_body(f, body))
				return fetch_http_pause_with(f, body, in);
			break;
		case RESPONSE_MORE:
			if (f->gone)
				return transfer_finish(f, FETCH_COMPLETE,
						       false);
			if (f->headers_done && !was_done)
				transfer_watch_pace(f);
			return GOES_ON;
		case RESPONSE_END:
			return fetch_http_end(f, !in.len &&
						 !pool_has_more(f->conn));
		case RESPONSE_BAD:
			return transfer_break(f);
		case RESPONSE_NOMEM:
			return transfer_finish(f, FETCH_NOMEM, false);
		}
	}
}

enum progress transfer_receive(struct transfer *f)
{
	struct fetch_means *means = f->means;

	f->unread = false;
	for (int i = 0; i < RECEIVES; i++) {
		size_t cap = f->tunnel ? FETCH_TUNNEL_BYTES : sizeof(means->in);
		ssize_t n = pool_receive(f->conn, means->in, cap);
		enum progress progress;

		if (n == -EAGAIN)
			return GOES_ON;
		if (n <= 0)
			return transfer_lose(f, !n);
		f->answered = true;
		f->moved += (uint64_t)n;
		progress = fetch_http_consume(
			f, (struct response_bytes){means->in, (size_t)n});
		if (progress != GOES_ON)
			return progress;
		if ((size_t)n < cap && !pool_has_more(f->conn) &&
		    !f->conn->ended)
			return GOES_ON;
	}
	f->unread = true; /* no edge tells of it */
	loop_defer(means->loop, &f->receive);
	return GOES_ON;
}

/* Goes on with what a pause has kept. */
static enum progress fetch_http_resume_held(struct transfer *f)
{
	struct response_bytes rest = f->held_rest;
	char *held = f->held;
	enum progress progress;

	if (!fetch_http_take_body(f, f->held_body))
		return STOPPED; /* still paused, with the same bytes */
	f->held = NULL; /* what is paused again is copied anew */
	f->paused = false;
	progress = fetch_http_consume(f, rest);
	free(held);
	if (progress != GOES_ON)
		return progress;
	transfer_watch_pace(f); /* it was not the server that was slow */
	return transfer_watch(f);
}

void transfer_run_receive(void *arg)
{
	struct transfer *f = arg;

	if (f->paused && fetch_http_resume_held(f) != GOES_ON)
		return;
	if (f->conn && !f->half && (f->unread || pool_has_more(f->conn)))
		(void)transfer_receive(f);
}
