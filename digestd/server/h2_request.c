/*
 * From the fields of a stream to a request: written as lines of HTTP/1.1, read
 * by the reader of those, and handed to the handler as such.
 *
 * What is malformed and can be told apart by nghttp2 never comes here: it
 * resets the stream (RFC 9113, 8.1.1). What is found here is answered.
 */
#include <assert.h>
#include <errno.h>
#include <string.h>

#include "digestd/os/memory.h"
#include "digestd/server/h2.h"

void h2_request_begin(struct front_conn *c)
{
	request_lines_begin(&h2_server_of(c)->lines,
			    &front_server(c)->limits, c->tls || c->https);
	c->h2->in_header = true;
}

bool h2_request_add(struct front_conn *c, struct field_part name,
		    struct field_part value)
{
	struct request_lines *lines = &h2_server_of(c)->lines;

	request_lines_add(lines, name, value);
	return !request_lines_is_flood(lines);
}

void h2_request_forget(struct front_conn *c)
{
	c->h2->in_header = false;
	c->h2->header_due_ms = 0;
}

/* Lines belong to the server while they are read, so that a connection has none
 * between requests. */
static void h2_request_swap(struct front_conn *c)
{
	struct h2_server *s = h2_server_of(c);
	const struct request_lines lines = s->lines;

	s->lines = c->h2->lines;
	c->h2->lines = lines;
}

static size_t h2_request_kept(const struct front_conn *c)
{
	return c->h2->lines.text.cap + c->h2->lines.cookies.cap;
}

void h2_request_suspend(struct front_conn *c)
{
	const struct server *s = c->base.server;

	if (!c->h2->in_header)
		return;
	h2_request_swap(c);
	ledger_add(&memory_ledger, LEDGER_connections, h2_request_kept(c));
	if (c->h2->header_due_ms)
		return;
	c->h2->header_due_ms = loop_now_ms(s->loop) + s->settings.header_ms;
	h2_pace_set(c);
}

void h2_request_resume(struct front_conn *c)
{
	if (!c->h2->in_header)
		return;
	ledger_return(&memory_ledger, LEDGER_connections, h2_request_kept(c));
	h2_request_swap(c);
	request_lines_free(&c->h2->lines); /* the server's, which it may do
					      without */
}

/* Judges the lines. Returns the status with which they are refused, *why, or
 * 0. */
static unsigned h2_request_read(struct front_conn *c, struct request_head *h,
				struct field_part *lines, const char **why)
{
	enum message_fault fault = request_lines_end(&h2_server_of(c)->lines,
						     lines);
	enum request_head_event event;

	*why = message_fault_reason(fault);
	if (fault)
		return message_fault_status(fault);
	if (h2_server_of(c)->lines.failed)
		return 0;
	request_head_init(h, &front_server(c)->limits);
	event = request_head_read(h, lines->at, lines->len);
	assert(event != REQUEST_HEAD_MORE); /* lines end as a header does */
	*why = request_head_reason(h, event);
	return request_head_refusal(h, event);
}

static void h2_request_refuse(struct front_exchange *fx, unsigned status,
			      const char *why)
{
	struct front_conn *c = front_conn_of(&fx->x);
	struct field_part method = request_lines_pseudo(
		&h2_server_of(c)->lines, REQUEST_LINES_METHOD);

	/* the answer to a HEAD has no body, whoever gives it */
	fx->x.request.method = method.len == 4 &&
			       !memcmp(method.at, "HEAD", 4) ? "HEAD" : "";
	fx->x.request.minor = 1;
	fx->x.request.fields = &fx->x.fields;
	exchange_refuse(&fx->x, status, why);
}

/* Of a body only its beginning shows how long it is, if at all. */
static void h2_request_fill(struct front_exchange *fx,
			    const struct request_head *h, bool ended)
{
	struct server_request *r = &fx->x.request;

	r->http2 = true;
	r->has_body = !ended && h->framing.length;
	r->body_len = !r->has_body ? 0 : h->framing.length;
	fx->x.receiving = r->has_body;
}

static void h2_request_begin_body(struct front_exchange *fx,
				  const struct request_head *h)
{
	size_t most = fx->x.conn->server->settings.max_header_bytes;

	fx->h2.owes_continue = h->expects_continue;
	fx->h2.trailer_left = most > h->header_len ? most - h->header_len : 0;
	h2_body_begin(fx);
}

/* Hands it to the handler. */
static void h2_request_start(struct front_exchange *fx,
			     const struct request_head *h, bool ended)
{
	const struct server *s = fx->x.conn->server;

	h2_request_fill(fx, h, ended);
	if (fx->x.receiving)
		h2_request_begin_body(fx, h);
	fx->x.started = true;
	s->handler->on_request(s->arg, &fx->x);
	h2_reply_go_on(fx);
}

/* The connection is not idle any more. */
static void h2_request_leave_idle(struct front_conn *c)
{
	if (!c->base.idle_link)
		return;
	conn_idle_leave(&c->base);
	if (!c->base.sends)
		conn_set_deadline(&c->base, 0);
}

int h2_request_end(struct front_conn *c, int32_t id, bool ended)
{
	struct request_head *h = &front_server(c)->head;
	struct front_exchange *fx;
	struct field_part lines;
	const char *why;
	unsigned status;

	h2_request_forget(c);
	h2_request_leave_idle(c);
	fx = h2_stream_new(c, id);
	if (!fx)
		return -ENOMEM;
	status = h2_request_read(c, h, &lines, &why);
	if (status) {
		h2_request_refuse(fx, status, why);
		return 0;
	}
	if (h2_server_of(c)->lines.failed ||
	    front_request_take(fx, h, lines.at))
		return -ENOMEM;
	h2_request_start(fx, h, ended);
	return 0;
}
