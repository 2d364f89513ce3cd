/*
 * Replies. A header is written as for HTTP/1.1, once for either protocol, and
 * its lines are what nghttp2 gets: names are copied by it, in small letters,
 * and values are read where they lie when the frame is made.
 */
#include <stdlib.h>
#include <string.h>

#include "digestd/os/memory.h"
#include "digestd/server/h2.h"

enum {
	STATUS_AT = 9, /* in "HTTP/1.1 200" */
	STATUS_BYTES = 3,
	INTERIM_BYTES = 8192,
	INTERIM_FRAMES = 64, /* more wait to be sent: another is dropped */
};

/* Whether the stream has closed, and on_done() is to come: nothing is sent. */
static bool h2_reply_is_late(struct front_exchange *fx)
{
	if (!fx->h2.id || front_conn_of(&fx->x)->broken)
		fx->x.answered = fx->x.aborted = true;
	return fx->x.aborted;
}

/* Headers */

static nghttp2_nv h2_reply_pair(const char *name, size_t name_len,
				const char *value, size_t value_len)
{
	return (nghttp2_nv){
		.name = (uint8_t *)(uintptr_t)name,
		.namelen = name_len,
		.value = (uint8_t *)(uintptr_t)value,
		.valuelen = value_len,
		.flags = NGHTTP2_NV_FLAG_NO_COPY_VALUE,
	};
}

/* Room for another pair. Returns 0 or -1. */
static int h2_reply_make_room(struct h2_server *s, size_t n)
{
	size_t cap = s->nv_cap ? 2 * s->nv_cap : 64;
	nghttp2_nv *grown;

	if (n < s->nv_cap)
		return 0;
	grown = realloc(s->nv, cap * sizeof(*grown));
	if (!grown)
		return -1;
	s->nv = grown;
	s->nv_cap = cap;
	return 0;
}

/* Adds the lines of a text, "name: value" and an end, to those that are there.
 * Returns how many there are then, or 0 without memory. */
static size_t h2_reply_add_lines(struct h2_server *s, size_t n,
				 const char *at, const char *end)
{
	while (at < end) {
		const char *colon = memchr(at, ':', (size_t)(end - at));
		const char *stop = colon ? memchr(colon, '\r',
						  (size_t)(end - colon)) :
					   NULL;

		if (!stop)
			break;
		if (h2_reply_make_room(s, n))
			return 0;
		s->nv[n++] = h2_reply_pair(at, (size_t)(colon - at), colon + 2,
					   (size_t)(stop - colon - 2));
		at = stop + 2;
	}
	return n;
}

/* A header that begins with a status line, as pairs. */
static size_t h2_reply_pairs(struct h2_server *s, const char *text, size_t len)
{
	const char *lines = memchr(text, '\n', len);

	if (h2_reply_make_room(s, 0))
		return 0;
	s->nv[0] = h2_reply_pair(":status", 7, text + STATUS_AT, STATUS_BYTES);
	return h2_reply_add_lines(s, 1, lines + 1, text + len);
}

/* The header as it is written; of a shared one, what that does not have is the
 * exchange's own. Returns how many pairs there are, 0 without memory. */
static size_t h2_reply_header(struct front_exchange *fx, size_t own_len)
{
	struct h2_server *s = h2_server_of(front_conn_of(&fx->x));
	size_t n;

	if (!fx->shared)
		return h2_reply_pairs(s, fx->head.text, own_len);
	n = h2_reply_pairs(s, fx->shared->head.text, fx->shared->head.len);
	return n ? h2_reply_add_lines(s, n, fx->head.text,
				      fx->head.text + own_len) : 0;
}

/* The reply is complete, as far as it is not to be read: it goes out. */
static void h2_reply_submit(struct front_exchange *fx, size_t own_len,
			    bool has_body)
{
	struct front_conn *c = front_conn_of(&fx->x);
	nghttp2_data_provider from = h2_output_provider(fx);
	size_t n = fx->head.failed ? 0 : h2_reply_header(fx, own_len);

	if (!n || nghttp2_submit_response(c->h2->session, fx->h2.id,
					  h2_server_of(c)->nv, n,
					  has_body ? &from : NULL)) {
		exchange_abort(&fx->x);
		return;
	}
	front_exchange_count(fx);
	fx->x.answered = true;
	fx->h2.answered = true;
	/* who waits to be asked for a body will not send it any more */
	fx->unheard = !fx->x.duplex || !fx->stream || fx->h2.owes_continue;
	if (fx->unheard)
		h2_body_drop(fx);
	fx->h2.owes_continue = false;
	c->h2->stirred = true;
	front_conn_defer(c);
}

/* Replies of each kind */

static void h2_reply_text(struct exchange *x, const struct reply_text *reply)
{
	struct front_exchange *fx = (struct front_exchange *)x;
	bool bare = exchange_is_bodiless(x, reply->status) || !reply->len;
	size_t own_len;

	if (h2_reply_is_late(fx))
		return;
	front_reply_begin(fx, reply->status, reply->fields);
	if (reply->type)
		reply_head_add(&fx->head, "Content-Type", reply->type);
	front_reply_add_length(fx, reply->status, reply->len);
	own_len = fx->head.len;
	if (!bare)
		reply_head_add_bytes(&fx->head, reply->body, reply->len);
	if (!bare && !fx->head.failed) {
		fx->h2.at = fx->head.text + own_len;
		fx->h2.left = reply->len;
	}
	h2_reply_submit(fx, own_len, !bare);
}

/* The header is there, and the body is fx->memory. */
static void h2_reply_end_memory(struct front_exchange *fx, unsigned status)
{
	const struct body_memory *body = &fx->memory;
	bool bare = exchange_is_bodiless(&fx->x, status) || !body->len;

	front_reply_add_length(fx, status, body->len);
	if (!bare) {
		fx->h2.at = body->data;
		fx->h2.left = body->len;
	}
	h2_reply_submit(fx, fx->head.len, !bare);
}

static void h2_reply_memory(struct exchange *x,
			    const struct reply_memory *reply)
{
	struct front_exchange *fx = (struct front_exchange *)x;

	fx->memory = reply->body; /* released with the exchange */
	if (h2_reply_is_late(fx))
		return;
	front_reply_begin(fx, reply->status, reply->fields);
	h2_reply_end_memory(fx, reply->status);
}

static void h2_reply_written(struct exchange *x,
			     const struct reply_written *reply)
{
	struct front_exchange *fx = (struct front_exchange *)x;

	fx->memory = reply->body;
	if (h2_reply_is_late(fx))
		return;
	front_reply_begin_written(fx, reply);
	h2_reply_end_memory(fx, reply->status);
}

static bool h2_reply_shared(struct exchange *x, struct shared_reply *reply)
{
	struct front_exchange *fx = (struct front_exchange *)x;
	bool bare = exchange_is_bodiless(x, reply->status) || !reply->body.len;

	if (h2_reply_is_late(fx))
		return true;
	fx->shared = shared_reply_ref(reply);
	fx->head.len = 0;
	fx->head.failed = false;
	if (!reply->dated)
		reply_head_add_date(&fx->head,
				    loop_wall_s(x->conn->server->loop));
	if (!bare) {
		fx->h2.at = reply->body.data;
		fx->h2.left = reply->body.len;
	}
	h2_reply_submit(fx, fx->head.len, !bare);
	return true;
}

static void h2_reply_stream(struct exchange *x,
			    const struct reply_stream *reply)
{
	struct front_exchange *fx = (struct front_exchange *)x;
	bool bare = exchange_is_bodiless(x, reply->status);

	fx->stream = front_stream_new(reply, 0);
	if (!fx->stream) {
		if (reply->source->release)
			reply->source->release(reply->source->arg);
		exchange_abort(x);
		return;
	}
	if (h2_reply_is_late(fx))
		return;
	front_reply_begin(fx, reply->status, reply->fields);
	if (reply->body_len >= 0)
		front_reply_add_length(fx, reply->status,
				       (size_t)reply->body_len);
	else
		fx->stream->trailers = fields_has_token(x->request.fields, "TE",
							"trailers");
	if (bare)
		fx->stream->ended = true;
	h2_reply_submit(fx, fx->head.len, !fx->stream->ended);
}

int h2_reply_trailers(struct front_exchange *fx, const struct fields *fields)
{
	struct front_conn *c = front_conn_of(&fx->x);
	struct reply_head *head = &fx->stream->trailer;
	size_t n;

	(void)reply_head_add_fields(head, fields);
	ledger_add(&memory_ledger, LEDGER_replies, head->cap);
	n = head->failed ? 0 : h2_reply_add_lines(h2_server_of(c), 0,
						  head->text,
						  head->text + head->len);
	return n && !nghttp2_submit_trailer(c->h2->session, fx->h2.id,
					    h2_server_of(c)->nv, n) ? 0 : -1;
}

/* Interim responses go out at once or not at all. */
static void h2_reply_interim(struct exchange *x, unsigned status,
			     const struct fields *fields)
{
	struct front_exchange *fx = (struct front_exchange *)x;
	struct front_conn *c = front_conn_of(x);
	struct h2_server *s = h2_server_of(c);
	struct reply_head head = { 0 };
	size_t n = 0;

	if (x->answered || h2_reply_is_late(fx) || h2_output_is_blocked(c) ||
	    nghttp2_session_get_outbound_queue_size(c->h2->session) >=
		    INTERIM_FRAMES)
		return;
	reply_head_begin(&head, status);
	(void)reply_head_add_fields(&head, fields);
	if (!head.failed && head.len <= INTERIM_BYTES)
		n = h2_reply_pairs(s, head.text, head.len);
	for (size_t i = 0; i < n; i++) /* whose text ends here */
		s->nv[i].flags = NGHTTP2_NV_FLAG_NONE;
	if (n)
		nghttp2_submit_headers(c->h2->session, NGHTTP2_FLAG_NONE,
				       fx->h2.id, NULL, s->nv, n, NULL);
	reply_head_free(&head);
	c->h2->stirred = true;
	front_conn_defer(c);
}

void h2_reply_go_on(struct front_exchange *fx)
{
	if (!fx->h2.owes_continue || !fx->h2.receives)
		return;
	fx->h2.owes_continue = false;
	h2_reply_interim(&fx->x, 100, NULL);
}

/* What is left of the request is not needed any more (RFC 9113, 8.1). */
static void h2_reply_end_stream(struct front_exchange *fx)
{
	struct front_conn *c = front_conn_of(&fx->x);

	h2_body_drop(fx);
	if (!nghttp2_session_get_stream_remote_close(c->h2->session,
						     fx->h2.id))
		h2_session_reset(c, fx->h2.id, NGHTTP2_NO_ERROR);
}

void h2_reply_end(struct front_exchange *fx)
{
	fx->h2.complete = true;
	if (fx->unheard)
		h2_reply_end_stream(fx);
}

/* Of one whose reply goes on beside its body, or has gone before it. */
static void h2_reply_end_upload(struct exchange *x, enum exchange_end end)
{
	struct front_exchange *fx = (struct front_exchange *)x;
	struct front_conn *c = front_conn_of(x);

	if (fx->unheard)
		return;
	fx->unheard = true;
	x->body_ended = true;
	if (!fx->h2.link) /* it is over, and its reply is on its way out */
		return;
	h2_body_drop(fx);
	if (end == EXCHANGE_ABORTED && fx->stream->ended)
		fx->stream->failed = true;
	if (!fx->h2.id) /* the stream has closed before */
		h2_stream_close(fx);
	else if (fx->stream->failed)
		h2_session_reset(c, fx->h2.id, NGHTTP2_INTERNAL_ERROR);
	else if (fx->h2.complete)
		h2_reply_end_stream(fx);
	c->h2->stirred = true;
	front_conn_defer(c);
}

/* Others */

static void h2_reply_wake(struct exchange *x)
{
	struct front_exchange *fx = (struct front_exchange *)x;
	struct front_conn *c = front_conn_of(x);

	if (!fx->stream || !fx->stream->waits)
		return;
	fx->stream->waits = false;
	if (!fx->h2.id)
		return;
	/* which finds nothing to be resumed if it has not been deferred yet */
	(void)nghttp2_session_resume_data(c->h2->session, fx->h2.id);
	c->h2->stirred = true;
	front_conn_defer(c);
}

static void h2_reply_resume_body(struct exchange *x)
{
	struct front_exchange *fx = (struct front_exchange *)x;
	struct front_conn *c = front_conn_of(x);

	if (!fx->h2.held)
		return;
	h2_body_hold(fx, false);
	c->h2->resumed = c->h2->stirred = true;
	front_conn_defer(c);
}

static void h2_reply_abort(struct exchange *x)
{
	struct front_exchange *fx = (struct front_exchange *)x;

	if (!fx->h2.link)
		return;
	h2_body_drop(fx);
	if (fx->h2.id)
		h2_session_reset(front_conn_of(x), fx->h2.id,
				 NGHTTP2_INTERNAL_ERROR);
	else
		h2_stream_close(fx);
	front_conn_defer(front_conn_of(x));
}

const struct exchange_engine h2_exchanges = {
	.interim = h2_reply_interim,
	.reply_text = h2_reply_text,
	.reply_memory = h2_reply_memory,
	.reply_shared = h2_reply_shared,
	.reply_written = h2_reply_written,
	.reply_stream = h2_reply_stream,
	.wake = h2_reply_wake,
	.end_upload = h2_reply_end_upload,
	.resume_body = h2_reply_resume_body,
	.abort = h2_reply_abort,
};
