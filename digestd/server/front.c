/*
 * The engine: its server as a whole.
 */
#include "digestd/server/front.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "digestd/http/guard.h"

enum {
	TARGET_BYTES = 8000,    /* which all should take (RFC 9110, 4.1) */
	TLS_BYTES = 40960,      /* of a connection; measured */
	KERNEL_BYTES = 256,     /* beside its socket's buffers */
};

static size_t front_conn_bytes(const struct server *s)
{
	return sizeof(struct front_conn) + KERNEL_BYTES +
	       (s->tls ? TLS_BYTES : 0);
}

static int front_start(struct server *base)
{
	struct front_server *s = (struct front_server *)base;
	size_t max = base->settings.max_header_bytes, target = max, head;
	int err;

	if (target < TARGET_BYTES)
		target = TARGET_BYTES;
	if (target > GUARD_MAX_TARGET)
		target = GUARD_MAX_TARGET;
	s->limits = (struct request_limits){
		.max_target_bytes = target,
		.max_header_bytes = max,
	};
	head = REQUEST_HEAD_LINE_BYTES + s->limits.max_target_bytes + max;
	s->buffer_bytes = head < FRONT_BUFFER_BYTES / 2 ? FRONT_BUFFER_BYTES :
							  2 * head;
	s->buffer = malloc(s->buffer_bytes);
	if (!s->buffer)
		return -ENOMEM;
	err = h2_server_new(s);
	if (!err)
		err = front_accept_start(s);
	if (err) {
		h2_server_free(s);
		free(s->buffer);
	}
	return err;
}

/* What clients have sent before they could know of it is served. */
static void front_quiesce(struct server *base)
{
	struct front_server *s = (struct front_server *)base;

	front_accept_stop(s);
	for (struct conn *c = base->conns, *next; c; c = next) {
		next = c->next;
		((struct front_conn *)c)->readable = true;
		h2_conn_drain((struct front_conn *)c);
		front_conn_run(c);
	}
}

static void front_stop(struct server *base)
{
	struct front_server *s = (struct front_server *)base;

	front_accept_stop(s);
	while (base->conns)
		front_conn_free((struct front_conn *)base->conns);
	front_exchange_free_spare(s);
	h2_server_free(s);
	free(s->buffer);
}

static void front_close(struct conn *conn)
{
	struct front_conn *c = (struct front_conn *)conn;

	if (c->running) {
		c->broken = true;
		return;
	}
	h2_conn_part(c);
	front_conn_free(c);
}

static void front_expire(struct conn *conn)
{
	struct front_conn *c = (struct front_conn *)conn;

	assert(!c->running);
	if (h2_conn_leave(c))
		front_conn_run(c);
	else if (!front_input_refuse_late(c))
		front_conn_free(c);
}

static void front_resume_body(struct exchange *x)
{
	struct front_conn *c = front_conn_of(x);

	if (!c->base.held || x != front_input_receiver(c))
		return;
	c->base.held = false;
	/* else its pace of reading is measured, or it may be silent */
	if (!c->base.sends && c->phase == FRONT_BODY)
		conn_pace_start(&c->base);
	front_conn_defer(c);
}

static void front_abort(struct exchange *x)
{
	front_conn_break(front_conn_of(x));
}

const struct exchange_engine front_exchanges = {
	.interim = front_reply_interim,
	.reply_text = front_reply_text,
	.reply_memory = front_reply_memory,
	.reply_shared = front_reply_shared,
	.reply_written = front_reply_written,
	.reply_stream = front_reply_stream,
	.wake = front_reply_wake,
	.end_upload = front_input_end_upload,
	.resume_body = front_resume_body,
	.abort = front_abort,
};

const struct server_engine server_engine_front = {
	.bytes = sizeof(struct front_server),
	.start = front_start,
	.quiesce = front_quiesce,
	.stop = front_stop,
	.close = front_close,
	.expire = front_expire,
	.conn_bytes = front_conn_bytes,
};
