/*
 * Bodies of requests. What the handler has not taken is kept, and not
 * acknowledged, so that a client sends no more than the windows of its stream
 * and of its connection before others are heard again.
 *
 * Of a body that nobody wants any more only the connection's window is given
 * back: the client stops when that of the stream is used up.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "digestd/http/forwarded.h"
#include "digestd/http/request_body.h"
#include "digestd/os/memory.h"
#include "digestd/server/h2.h"

void h2_body_hold(struct front_exchange *fx, bool held)
{
	struct h2_conn *h2 = front_conn_of(&fx->x)->h2;

	if (fx->h2.held == held)
		return;
	fx->h2.held = held;
	fx->h2.watched = false;
	if (held)
		h2->nheld++;
	else
		h2->nheld--;
}

void h2_body_begin(struct front_exchange *fx)
{
	fx->h2.receives = true;
	front_conn_of(&fx->x)->h2->nreceiving++;
}

static void h2_body_forget(struct front_exchange *fx)
{
	ledger_return(&memory_ledger, LEDGER_connections,
		      fx->h2.kept_at + fx->h2.kept_len);
	free(fx->h2.kept);
	fx->h2.kept = NULL;
	fx->h2.kept_at = fx->h2.kept_len = 0;
}

static void h2_body_stop(struct front_exchange *fx)
{
	h2_body_hold(fx, false);
	h2_body_forget(fx);
	fx->h2.receives = false;
	front_conn_of(&fx->x)->h2->nreceiving--;
}

void h2_body_drop(struct front_exchange *fx)
{
	struct h2_conn *h2 = front_conn_of(&fx->x)->h2;

	if (!fx->h2.receives)
		return;
	if (fx->h2.id)
		nghttp2_session_consume_connection(h2->session,
						   fx->h2.kept_len);
	h2_body_stop(fx);
}

/* The handler has all of it. */
static void h2_body_finish(struct front_exchange *fx)
{
	const struct server *s = fx->x.conn->server;

	h2_body_stop(fx);
	fx->x.body_ended = true;
	if (s->handler->on_body_end)
		s->handler->on_body_end(s->arg, &fx->x);
}

/* Hands a piece on. Returns how much of it is done with. */
static size_t h2_body_give(struct front_exchange *fx, const char *at,
			   size_t len)
{
	const struct front_conn *c = front_conn_of(&fx->x);
	const struct server *s = c->base.server;
	size_t taken = len;

	if (s->handler->on_body)
		taken = s->handler->on_body(s->arg, &fx->x, at, len);
	assert(taken <= len);
	if (!fx->h2.receives) /* it has replied */
		return len;
	if (fx->h2.id)
		nghttp2_session_consume(c->h2->session, fx->h2.id, taken);
	h2_body_hold(fx, taken < len);
	return taken;
}

/* Moves what is left to the front, once that is the smaller part. */
static void h2_body_pack(struct front_exchange *fx)
{
	if (fx->h2.kept_at <= fx->h2.kept_len)
		return;
	memmove(fx->h2.kept, fx->h2.kept + fx->h2.kept_at, fx->h2.kept_len);
	ledger_return(&memory_ledger, LEDGER_connections, fx->h2.kept_at);
	fx->h2.kept_at = 0;
}

static void h2_body_keep(struct front_exchange *fx, const char *at, size_t len)
{
	struct front_conn *c = front_conn_of(&fx->x);
	char *grown;
	size_t had;

	h2_body_pack(fx);
	had = fx->h2.kept_at + fx->h2.kept_len;
	grown = realloc(fx->h2.kept, had + len);

	if (!grown) {
		exchange_abort(&fx->x);
		nghttp2_session_consume_connection(c->h2->session, len);
		return;
	}
	ledger_add(&memory_ledger, LEDGER_connections, len);
	memcpy(grown + had, at, len);
	fx->h2.kept = grown;
	fx->h2.kept_len += len;
}

void h2_body_take(struct front_conn *c, struct front_exchange *fx,
		  const char *at, size_t len)
{
	size_t taken = 0;

	if (!fx || !fx->h2.receives) {
		nghttp2_session_consume_connection(c->h2->session, len);
		return;
	}
	c->base.upload_bytes += len;
	fx->h2.moved += len;
	if (!fx->h2.kept_len)
		taken = h2_body_give(fx, at, len);
	if (!fx->h2.receives) { /* which has given the stream's up */
		nghttp2_session_consume_connection(c->h2->session, len);
		return;
	}
	if (taken < len)
		h2_body_keep(fx, at + taken, len - taken);
}

void h2_body_end(struct front_exchange *fx)
{
	if (!fx->h2.receives)
		return;
	fx->h2.came = true;
	if (!fx->h2.kept_len)
		h2_body_finish(fx);
}

static void h2_body_resume(struct front_exchange *fx)
{
	size_t n;

	n = h2_body_give(fx, fx->h2.kept + fx->h2.kept_at, fx->h2.kept_len);
	if (!fx->h2.receives)
		return;
	fx->h2.kept_at += n;
	fx->h2.kept_len -= n;
	if (fx->h2.kept_len)
		return;
	h2_body_forget(fx);
	if (fx->h2.came)
		h2_body_finish(fx);
}

void h2_body_resume_all(struct front_conn *c)
{
	struct front_exchange *next;

	if (!c->h2->resumed)
		return;
	c->h2->resumed = false;
	for (struct front_exchange *fx = c->h2->streams; fx; fx = next) {
		next = fx->next;
		if (fx->h2.kept_len && !fx->h2.held)
			h2_body_resume(fx);
	}
}

/* Without memory the trailer is missing. */
bool h2_body_add_trailer(struct front_exchange *fx, struct field_part name,
			 struct field_part value)
{
	size_t line = name.len + value.len + 4; /* as HTTP/1.1 counts it */

	if (++fx->h2.ntrailers > REQUEST_BODY_FIELDS)
		return false;
	if (!fx->h2.receives)
		return true;
	if (request_lines_check(name, value) || line > fx->h2.trailer_left)
		return false;
	fx->h2.trailer_left -= line;
	if (request_body_drops(name) ||
	    (!fx->x.conn->trusted && forwarded_is_claim(name.at, name.len)))
		return true;
	(void)fields_add_n(&fx->x.trailers, name.at, name.len, value.at,
			   value.len);
	front_exchange_count(fx);
	return true;
}
