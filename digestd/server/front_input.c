/*
 * What comes in: headers of requests and their bodies.
 *
 * While the client has to wait, for a reply or for room in the body's buffer,
 * or takes no reply, nothing is received; so a connection keeps no more than
 * what was received at once.
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "digestd/http/forwarded.h"
#include "digestd/os/memory.h"
#include "digestd/server/front.h"

enum { TOO_LATE = 408 }; /* the status */

static void front_input_keep(struct front_conn *c, const char *at, size_t len)
{
	char *kept = NULL;

	if (len) {
		kept = malloc(len);
		if (!kept) {
			c->broken = true;
			return;
		}
		memcpy(kept, at, len);
		ledger_add(&memory_ledger, LEDGER_connections, len);
	}
	ledger_return(&memory_ledger, LEDGER_connections, c->kept_len);
	free(c->kept);
	c->kept = kept;
	c->kept_len = len;
}

static void front_input_drop_head(struct front_conn *c)
{
	if (!c->head)
		return;
	free(c->head);
	c->head = NULL;
	ledger_return(&memory_ledger, LEDGER_connections,
		      sizeof(struct request_head));
}

void front_input_free(struct front_conn *c)
{
	front_input_keep(c, NULL, 0);
	front_input_drop_head(c);
}

/* The header goes on later: what was found out about it is kept. */
static void front_input_suspend_head(struct front_conn *c)
{
	const struct server *s = c->base.server;
	int64_t due_ms = loop_now_ms(s->loop) + s->settings.header_ms;

	c->incomplete = true;
	if (c->head)
		return;
	c->head = malloc(sizeof(*c->head));
	if (!c->head) {
		c->broken = true;
		return;
	}
	*c->head = front_server(c)->head;
	ledger_add(&memory_ledger, LEDGER_connections,
		   sizeof(struct request_head));
	if (c->base.idle_link && due_ms < c->base.deadline_ms)
		conn_set_deadline(&c->base, due_ms);
}

/* An exchange that the handler never hears of. */
static void front_input_refuse(struct front_conn *c, unsigned status,
			       unsigned minor, const char *why)
{
	struct front_exchange *fx = front_exchange_new(c);

	if (!fx) {
		c->broken = true;
		return;
	}
	fx->x.request.method = "";
	fx->x.request.minor = minor;
	fx->x.request.fields = &fx->x.fields;
	conn_idle_leave(&c->base);
	c->now = fx;
	c->phase = FRONT_LINGER;
	c->closing = true;
	exchange_refuse(&fx->x, status, why);
}

/* The handler has the request; is there a body to come? */
static void front_input_begin_body(struct front_conn *c)
{
	if (c->broken || c->phase != FRONT_BODY)
		return;
	conn_upload_enter(&c->base);
	conn_pace_start(&c->base);
}

/* Hands a request to the handler. `more`: bytes behind its header are here. */
static void front_input_begin(struct front_conn *c, struct front_exchange *fx,
			      const struct request_head *h, bool more)
{
	const struct server *s = c->base.server;
	size_t most = s->settings.max_header_bytes;
	bool has_body = fx->x.request.has_body;

	conn_idle_leave(&c->base);
	conn_set_deadline(&c->base, 0);
	c->used = true;
	if (!h->keep)
		c->closing = true;
	c->now = fx;
	c->base.upload_bytes = 0;
	c->phase = has_body ? FRONT_BODY : FRONT_REPLY;
	if (has_body)
		request_body_init(&c->body, &h->framing,
				  most > h->header_len ? most - h->header_len :
							 1);
	/* who has not asked for the body, may not get it any more */
	c->owes_continue = h->expects_continue && has_body && !more;
	fx->x.receiving = has_body;
	fx->x.started = true;
	s->handler->on_request(s->arg, &fx->x);
	front_input_begin_body(c);
}

/* A header to be served. Whatever comes of it, its bytes are used. */
static void front_input_take_request(struct front_conn *c,
				     struct request_head *h, const char *at,
				     size_t len)
{
	struct front_exchange *fx;
	bool more = len > h->len;

	fx = front_exchange_new(c);
	if (!fx || front_request_take(fx, h, at)) {
		if (fx)
			front_exchange_end(fx, EXCHANGE_ABORTED);
		c->broken = true;
		return;
	}
	front_input_begin(c, fx, h, more);
}

/* Whether a preface that has come is one of HTTP/2 that is spoken here. */
static bool front_input_may_be_http2(const struct front_conn *c)
{
	return !c->used && !c->tls && c->base.server->settings.http2_plain;
}

/* Returns the bytes used; none: it is incomplete. */
static size_t front_input_read_head(struct front_conn *c, const char *at,
				    size_t len)
{
	struct request_head *h = c->head ? c->head : &front_server(c)->head;
	enum request_head_event event;
	unsigned status;
	bool whole;
	size_t used;

	if (!c->head)
		request_head_init(h, &front_server(c)->limits);
	event = request_head_read(h, at, len);
	if (event == REQUEST_HEAD_MORE) {
		front_input_suspend_head(c);
		return 0;
	}
	if (event == REQUEST_HEAD_PREFACE && front_input_may_be_http2(c)) {
		front_input_drop_head(c);
		h2_conn_begin(c); /* which reads it again */
		return 0;
	}
	whole = event == REQUEST_HEAD_DONE;
	status = request_head_refusal(h, event);
	used = whole ? h->len : len;
	if (status)
		front_input_refuse(c, status, whole ? h->minor : 1,
				   request_head_reason(h, event));
	else
		front_input_take_request(c, h, at, len);
	front_input_drop_head(c);
	return used;
}

/* The client owes no more bytes; it may still have to take some. */
static void front_input_lift_pace(struct front_conn *c)
{
	if (!c->base.sends)
		conn_set_deadline(&c->base, 0);
}

void front_input_discard_body(struct front_conn *c)
{
	conn_upload_leave(&c->base);
	c->base.held = false;
	c->duplex = NULL;
	c->phase = c->closing ? FRONT_LINGER : FRONT_DISCARD;
	if (c->phase == FRONT_DISCARD) /* what it sends is awaited */
		conn_pace_start(&c->base);
	else
		front_input_lift_pace(c);
}

bool front_input_is_open(const struct front_exchange *fx)
{
	bool hears = fx->x.tunnel || (fx->x.duplex && fx->stream);

	return hears && !fx->unheard && !fx->stream->failed;
}

void front_input_end_upload(struct exchange *x, enum exchange_end end)
{
	struct front_exchange *fx = (struct front_exchange *)x;
	struct front_conn *c = front_conn_of(x);

	fx->unheard = true;
	x->body_ended = true;
	if (c->duplex == fx)
		front_input_discard_body(c);
	c->base.held = false;
	/* else the source has yet to say how it ends */
	if (end == EXCHANGE_ABORTED && fx->stream->ended)
		fx->stream->failed = true;
	front_conn_defer(c);
}

struct exchange *front_input_receiver(const struct front_conn *c)
{
	struct front_exchange *fx = c->now    ? c->now :
				    c->duplex ? c->duplex :
						c->tunnel;

	return fx ? &fx->x : NULL;
}

/* Hands a piece of the body on. Returns how much of it was taken. */
static size_t front_input_give(struct front_conn *c, const char *at, size_t len)
{
	const struct server *s = c->base.server;
	struct exchange *x = front_input_receiver(c);
	size_t taken = len;

	c->base.upload_bytes += len;
	c->owes_continue = false;
	if (c->phase != FRONT_BODY || !s->handler->on_body)
		return len;
	taken = s->handler->on_body(s->arg, x, at, len);
	assert(taken <= len);
	if (c->phase != FRONT_BODY || c->broken) /* it has replied */
		return len;
	c->base.upload_bytes -= len - taken;
	if (taken < len) {
		c->base.held = true;
		front_input_lift_pace(c); /* it is not the client that waits */
	}
	return taken;
}

static void front_input_end_body(struct front_conn *c)
{
	const struct server *s = c->base.server;
	struct exchange *x = front_input_receiver(c);

	conn_upload_leave(&c->base);
	c->owes_continue = false;
	front_input_lift_pace(c);
	if (c->phase == FRONT_DISCARD) {
		c->phase = FRONT_HEAD;
		return;
	}
	c->phase = c->now ? FRONT_REPLY : FRONT_HEAD;
	c->duplex = NULL;
	x->body_ended = true;
	fields_remove_named(&x->trailers, &x->fields);
	if (s->handler->on_body_end)
		s->handler->on_body_end(s->arg, x);
}

/* The rest of a body will never come. What is queued goes out. Returns the
 * minor version of the request if that can still be answered, or -1. */
static int front_input_break_body(struct front_conn *c)
{
	struct front_exchange *fx = c->now;
	int minor = -1;

	if (c->duplex)
		front_stream_break_off(c->duplex->stream);
	c->closing = true;
	c->owes_continue = false;
	front_input_discard_body(c);
	if (fx) {
		c->now = NULL;
		minor = (int)fx->x.request.minor;
		front_exchange_end(fx, EXCHANGE_ABORTED);
	}
	return minor;
}

static void front_input_refuse_body(struct front_conn *c)
{
	int minor = front_input_break_body(c);

	if (minor >= 0)
		front_input_refuse(c, message_fault_status(c->body.fault),
				   (unsigned)minor,
				   message_fault_reason(c->body.fault));
}

/* Whether the client owes the rest of what it has begun to send. Who has sent
 * nothing may only have connected in advance, and takes an answer for that to
 * its first request. */
static bool front_input_is_owed(const struct front_conn *c)
{
	switch (c->phase) {
	case FRONT_HEAD:
		return c->kept_len && !c->closing;
	case FRONT_BODY:
		return c->now; /* else the reply has begun */
	case FRONT_PROXY:
	case FRONT_HANDSHAKE:
	case FRONT_REPLY:
	case FRONT_DISCARD:
	case FRONT_HTTP2:
	case FRONT_TUNNEL:
	case FRONT_LINGER:
		break;
	}
	return false;
}

bool front_input_refuse_late(struct front_conn *c)
{
	const char *why = "its header did not come within header_timeout";
	int minor = 1;

	if (!front_input_is_owed(c) || front_output_waits(c))
		return false;
	if (c->phase == FRONT_BODY) {
		why = "its body came too slowly, see client_min_rate and "
		      "idle_timeout";
		minor = front_input_break_body(c);
	}
	front_input_free(c);
	c->raw = 0; /* which has gone with it */
	c->late = true;
	front_input_refuse(c, TOO_LATE, (unsigned)minor, why);
	return !c->broken;
}

/* A field behind the body; without memory it is missing. */
static void front_input_take_trailer(struct front_conn *c)
{
	const struct request_body *b = &c->body;
	struct exchange *x = front_input_receiver(c);

	if (c->phase != FRONT_BODY ||
	    (!c->base.trusted && forwarded_is_claim(b->name.at, b->name.len)))
		return;
	(void)fields_add_n(&x->trailers, b->name.at, b->name.len, b->value.at,
			   b->value.len);
	front_exchange_count((struct front_exchange *)x);
}

/* Returns the bytes used. */
static size_t front_input_read_body(struct front_conn *c, const char *at,
				    size_t len)
{
	struct field_part in = { at, len };

	while (!c->broken && !c->base.held &&
	       (c->phase == FRONT_BODY || c->phase == FRONT_DISCARD)) {
		switch (request_body_next(&c->body, &in)) {
		case REQUEST_BODY_MORE:
			c->incomplete = true;
			return len - in.len;
		case REQUEST_BODY_PIECE:
			c->raw = c->body.piece.len -
				 front_input_give(c, c->body.piece.at,
						  c->body.piece.len);
			break;
		case REQUEST_BODY_TRAILER:
			front_input_take_trailer(c);
			break;
		case REQUEST_BODY_END:
			front_input_end_body(c);
			return len - in.len;
		case REQUEST_BODY_REFUSED:
			front_input_refuse_body(c);
			return len - in.len;
		}
	}
	return len - in.len - c->raw;
}

/* Begins with what the handler has seen before, and left; the end of the body
 * may come right behind it. Returns the bytes used. */
static size_t front_input_read_raw(struct front_conn *c, const char *at,
				   size_t len)
{
	size_t n = front_input_give(c, at, c->raw);

	assert(c->raw <= len);
	c->raw -= n;
	return c->raw ? n : n + front_input_read_body(c, at + n, len - n);
}

/* Whether there may be another request before replies have gone out. */
static bool front_input_may_begin(const struct front_conn *c)
{
	return !c->closing && c->nout < FRONT_PIPELINE &&
	       !c->streams && c->writable;
}

static bool front_input_wants(const struct front_conn *c)
{
	switch (c->phase) {
	case FRONT_PROXY:
	case FRONT_HANDSHAKE:
	case FRONT_REPLY:
	case FRONT_HTTP2:
		return false;
	case FRONT_HEAD:
		return front_input_may_begin(c);
	case FRONT_BODY:
		return !c->base.held;
	case FRONT_TUNNEL:
		return front_tunnel_wants(c);
	case FRONT_DISCARD:
	case FRONT_LINGER:
		return true;
	}
	return false;
}

/* Reads what it can of what has come. Returns the bytes used. */
static size_t front_input_read(struct front_conn *c, const char *at, size_t len)
{
	size_t used = 0;

	c->incomplete = false;
	while (used < len && !c->broken && !c->incomplete &&
	       front_input_wants(c)) {
		if (c->raw)
			used += front_input_read_raw(c, at + used, len - used);
		else if (c->phase == FRONT_HEAD)
			used += front_input_read_head(c, at + used, len - used);
		else if (c->phase == FRONT_TUNNEL)
			used += front_tunnel_read(c, at + used, len - used);
		else if (c->phase == FRONT_LINGER)
			used = len;
		else
			used += front_input_read_body(c, at + used, len - used);
	}
	return used;
}

/* Whether the client has sent all. Over TLS many clients close without saying
 * so, and it is the framing that tells whether a request is whole. In a tunnel
 * nothing else tells an end from a connection that was cut. */
static bool front_input_is_end(const struct front_conn *c, ssize_t n)
{
	return !n || (n == -ECONNRESET && c->tls && c->phase != FRONT_TUNNEL);
}

size_t front_input_receive(struct front_conn *c, size_t len)
{
	struct front_server *s = front_server(c);
	size_t room = s->buffer_bytes - len;
	ssize_t n = front_io_recv(c, s->buffer + len, room);

	assert(room);
	if (n > 0) {
		/* less than there is room for was all; but an end after it
		 * shows only when it is looked for */
		if ((size_t)n < room && !c->hung_up && !front_io_has_more(c))
			c->readable = false;
		return len + (size_t)n;
	}
	c->readable = false;
	if (front_input_is_end(c, n))
		c->ended = true;
	else if (n != -EAGAIN)
		c->broken = true;
	return len;
}

/* The client will send no more. */
static void front_input_end(struct front_conn *c)
{
	if (c->phase == FRONT_BODY)
		(void)front_input_break_body(c);
	else
		c->closing = true;
	if (c->phase == FRONT_TUNNEL)
		front_tunnel_end_input(c);
}

bool front_input_run(struct front_conn *c)
{
	struct front_server *s = front_server(c);
	size_t len = c->kept_len, had = len, used;

	if (!front_input_wants(c) || c->ended ||
	    ((!len || c->incomplete) && !c->readable))
		return false;
	if (len)
		memcpy(s->buffer, c->kept, len);
	if (!len || c->incomplete)
		len = front_input_receive(c, len);
	if (c->ended)
		front_input_end(c);
	if (c->broken || c->ended || (len == had && c->incomplete))
		return false;
	used = front_input_read(c, s->buffer, len);
	if (had || used < len)
		front_input_keep(c, s->buffer + used, len - used);
	/* what was kept was too little, and more may have come long ago */
	return used || len > had || (c->incomplete && c->readable);
}
