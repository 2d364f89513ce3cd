/*
 * Replies: what the handler has to say becomes parts to be sent.
 */
#include <assert.h>
#include <stdlib.h>

#include "digestd/os/body_memory.h"
#include "digestd/server/front.h"

/* How the header of a reply ends, and so what becomes of the connection. */
enum front_ending { FRONT_KEEPS, FRONT_KEEPS_OLD, FRONT_CLOSES, FRONT_ENDINGS };

static const struct iovec front_endings[FRONT_ENDINGS] = {
	[FRONT_KEEPS] = { (char[]){ "\r\n" }, 2 },
	[FRONT_KEEPS_OLD] = { (char[]){ "Connection: keep-alive\r\n\r\n" },
			      26 },
	[FRONT_CLOSES] = { (char[]){ "Connection: close\r\n\r\n" }, 21 },
};

/* Whether what is left of a request's body is worth less than a connection. */
static bool front_reply_may_discard(const struct front_conn *c)
{
	int64_t len = c->now->x.request.body_len;

	return !c->closing && !c->owes_continue && len >= 0 &&
	       (uint64_t)len - c->base.upload_bytes <= FRONT_DRAIN_BYTES;
}

static enum front_ending front_reply_decide(const struct front_exchange *fx)
{
	struct front_conn *c = front_conn_of(&fx->x);

	if (c->base.server->draining || fx->x.refused ||
	    (c->phase == FRONT_BODY && !front_reply_may_discard(c)))
		c->closing = true;
	if (c->closing)
		return FRONT_CLOSES;
	return fx->keeps_old ? FRONT_KEEPS_OLD : FRONT_KEEPS;
}

/* Whether the handler takes the rest of a body. Who waits to be asked for it
 * will not send it any more. */
static bool front_reply_is_duplex(const struct front_exchange *fx)
{
	return fx->x.duplex && fx->stream &&
	       !front_conn_of(&fx->x)->owes_continue;
}

/* Where the connection stands once its request has a reply. */
static void front_reply_move_on(struct front_conn *c, struct front_exchange *fx)
{
	switch (c->phase) {
	case FRONT_BODY:
		fx->unheard = !front_reply_is_duplex(fx);
		if (fx->unheard)
			front_input_discard_body(c);
		else
			c->duplex = fx;
		break;
	case FRONT_REPLY:
		c->phase = FRONT_HEAD;
		break;
	case FRONT_PROXY:
	case FRONT_HANDSHAKE:
	case FRONT_HEAD:
	case FRONT_DISCARD:
	case FRONT_HTTP2:
	case FRONT_TUNNEL:
	case FRONT_LINGER:
		break;
	}
}

static void front_reply_add_part(struct front_exchange *fx, const void *at,
				 size_t len)
{
	assert(fx->nparts < FRONT_PARTS);
	if (len)
		fx->parts[fx->nparts++] =
			(struct iovec){ (void *)(uintptr_t)at, len };
}

/* The reply is complete, as far as it is not to be read: it goes out. */
static void front_reply_give(struct front_exchange *fx)
{
	struct front_conn *c = front_conn_of(&fx->x);

	assert(!fx->x.answered && c->now == fx);
	front_exchange_count(fx);
	fx->x.answered = true;
	c->now = NULL;
	*c->out_end = fx;
	c->out_end = &fx->next;
	c->nout++;
	c->streams = fx->stream;
	front_reply_move_on(c, fx);
	c->owes_continue = false;
	front_conn_defer(c);
}

/* Whether the client has left, and on_done() is to come: nothing is sent. */
static bool front_reply_is_late(struct front_exchange *fx)
{
	assert(fx->x.aborted || !fx->x.answered);
	if (front_conn_of(&fx->x)->broken)
		fx->x.answered = fx->x.aborted = true;
	return fx->x.aborted;
}

static void front_reply_add_date(struct front_exchange *fx)
{
	reply_head_add_date(&fx->head, loop_wall_s(fx->x.conn->server->loop));
}

void front_reply_begin(struct front_exchange *fx, unsigned status,
		       const struct fields *fields)
{
	reply_head_begin(&fx->head, status);
	if (!reply_head_add_fields(&fx->head, fields))
		front_reply_add_date(fx);
}

/* Ends the header, without a body or with a small one; false: no memory. */
static bool front_reply_end(struct front_exchange *fx, const void *body,
			    size_t len)
{
	const struct iovec *ending = &front_endings[front_reply_decide(fx)];

	reply_head_add_bytes(&fx->head, ending->iov_base, ending->iov_len);
	if (len)
		reply_head_add_bytes(&fx->head, body, len);
	if (fx->head.failed) {
		exchange_abort(&fx->x);
		return false;
	}
	front_reply_add_part(fx, fx->head.text, fx->head.len);
	return true;
}

void front_reply_add_length(struct front_exchange *fx, unsigned status,
			    size_t len)
{
	if (status != 204 && (status != 304 || len))
		reply_head_add_length(&fx->head, len);
}

void front_reply_text(struct exchange *x, const struct reply_text *reply)
{
	struct front_exchange *fx = (struct front_exchange *)x;
	bool bare = exchange_is_bodiless(x, reply->status);

	if (front_reply_is_late(fx))
		return;
	front_reply_begin(fx, reply->status, reply->fields);
	if (reply->type)
		reply_head_add(&fx->head, "Content-Type", reply->type);
	front_reply_add_length(fx, reply->status, reply->len);
	if (front_reply_end(fx, reply->body, bare ? 0 : reply->len))
		front_reply_give(fx);
}

/* A body goes out as a part, or behind all parts without a copy; what is
 * encrypted is copied in any case. */
static void front_reply_add_body(struct front_exchange *fx, unsigned status,
				 const struct body_memory *body)
{
	if (exchange_is_bodiless(&fx->x, status))
		return;
	if (body->len > BODY_MEMORY_SMALL && !front_conn_of(&fx->x)->tls &&
	    body_memory_is_in_file(body->data)) {
		fx->file_at = body->data;
		fx->file_left = body->len;
	} else {
		front_reply_add_part(fx, body->data, body->len);
	}
}

/* The header but for its end is there, and the body is fx->memory. */
static void front_reply_end_memory(struct front_exchange *fx, unsigned status)
{
	front_reply_add_length(fx, status, fx->memory.len);
	if (!front_reply_end(fx, NULL, 0))
		return;
	front_reply_add_body(fx, status, &fx->memory);
	front_reply_give(fx);
}

void front_reply_memory(struct exchange *x, const struct reply_memory *reply)
{
	struct front_exchange *fx = (struct front_exchange *)x;

	fx->memory = reply->body; /* released with the exchange */
	if (front_reply_is_late(fx))
		return;
	front_reply_begin(fx, reply->status, reply->fields);
	front_reply_end_memory(fx, reply->status);
}

void front_reply_begin_written(struct front_exchange *fx,
			       const struct reply_written *reply)
{
	reply_head_begin(&fx->head, reply->status);
	if (!reply->write(&fx->head, reply->arg))
		front_reply_add_date(fx);
}

void front_reply_written(struct exchange *x, const struct reply_written *reply)
{
	struct front_exchange *fx = (struct front_exchange *)x;

	fx->memory = reply->body;
	if (front_reply_is_late(fx))
		return;
	front_reply_begin_written(fx, reply);
	front_reply_end_memory(fx, reply->status);
}

/* The header of a shared reply, and its end; false: no memory. */
static bool front_reply_add_shared(struct front_exchange *fx)
{
	const struct reply_head *head = &fx->shared->head;
	const enum front_ending how = front_reply_decide(fx);

	if (fx->shared->dated && how == FRONT_KEEPS) { /* behind it already */
		front_reply_add_part(fx, head->text,
				     head->len + front_endings[how].iov_len);
		return true;
	}
	front_reply_add_part(fx, head->text, head->len);
	if (!fx->shared->dated) {
		fx->head.len = 0;
		fx->head.failed = false;
		front_reply_add_date(fx);
		return front_reply_end(fx, NULL, 0);
	}
	front_reply_add_part(fx, front_endings[how].iov_base,
			     front_endings[how].iov_len);
	return true;
}

bool front_reply_shared(struct exchange *x, struct shared_reply *reply)
{
	struct front_exchange *fx = (struct front_exchange *)x;

	if (front_reply_is_late(fx))
		return true;
	fx->shared = shared_reply_ref(reply);
	if (!front_reply_add_shared(fx))
		return true;
	front_reply_add_body(fx, reply->status, &reply->body);
	front_reply_give(fx);
	return true;
}

/* How the length of a streamed body is told: at its end, if not before. */
static void front_reply_frame(struct front_exchange *fx, unsigned status,
			      bool bare)
{
	struct front_stream *stream = fx->stream;

	if (stream->left >= 0) {
		front_reply_add_length(fx, status, (size_t)stream->left);
	} else if (!bare && fx->x.request.minor) {
		stream->chunked = true;
		stream->trailers = fields_has_token(fx->x.request.fields, "TE",
						    "trailers");
		reply_head_add(&fx->head, "Transfer-Encoding", "chunked");
	} else if (!bare) {
		stream->by_close = true;
		front_conn_of(&fx->x)->closing = true;
	}
}

/* The end of the header of 101, which is that of no message. */
static bool front_reply_end_upgrade(struct front_exchange *fx,
				    const struct fields *fields)
{
	reply_head_add(&fx->head, "Upgrade", fields_get(fields, "Upgrade"));
	reply_head_add(&fx->head, "Connection", "Upgrade");
	reply_head_add_bytes(&fx->head, "\r\n", 2);
	if (fx->head.failed) {
		exchange_abort(&fx->x);
		return false;
	}
	front_reply_add_part(fx, fx->head.text, fx->head.len);
	front_tunnel_begin(fx);
	return true;
}

void front_reply_stream(struct exchange *x, const struct reply_stream *reply)
{
	struct front_exchange *fx = (struct front_exchange *)x;
	bool bare = exchange_is_bodiless(x, reply->status);

	fx->stream = front_stream_new(reply, FRONT_BLOCK_BYTES);
	if (!fx->stream) {
		if (reply->source->release)
			reply->source->release(reply->source->arg);
		exchange_abort(x);
		return;
	}
	if (front_reply_is_late(fx))
		return;
	front_reply_begin(fx, reply->status, reply->fields);
	if (reply->status == 101) {
		if (front_reply_end_upgrade(fx, reply->fields))
			front_reply_give(fx);
		return;
	}
	front_reply_frame(fx, reply->status, bare);
	if (bare)
		fx->stream->ended = true;
	if (front_reply_end(fx, NULL, 0))
		front_reply_give(fx);
}

void front_reply_wake(struct exchange *x)
{
	struct front_exchange *fx = (struct front_exchange *)x;

	if (!fx->stream || !fx->stream->waits)
		return;
	fx->stream->waits = false;
	front_conn_defer(front_conn_of(x));
}

void front_reply_interim(struct exchange *x, unsigned status,
			 const struct fields *fields)
{
	struct front_conn *c = front_conn_of(x);

	if (!x->request.minor || x->answered || c->broken)
		return;
	if (!front_output_interim(c, status, fields))
		return;
	front_output_run(c); /* which ends no exchange: none waits */
	front_conn_defer(c);
}
