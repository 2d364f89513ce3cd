/*
 * nghttp2's sessions: how they are set up, and what they call. It checks frames
 * and their order, that messages are well-formed (RFC 9113, 8), lengths of
 * bodies included, and the limits that it has itself: streams at a time, frames
 * that wait to be acknowledged.
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "digestd/server/h2.h"

enum { SLACK_BYTES = 65536 }; /* beside fields, in a header that is sent */

/* The exchange of a stream; null: it has none, or it is over. */
static struct front_exchange *h2_session_find(struct front_conn *c, int32_t id)
{
	return nghttp2_session_get_stream_user_data(c->h2->session, id);
}

void h2_session_reset(struct front_conn *c, int32_t id, uint32_t error)
{
	(void)nghttp2_submit_rst_stream(c->h2->session, NGHTTP2_FLAG_NONE, id,
					error);
	c->h2->stirred = true;
}

void h2_session_terminate(struct front_conn *c, uint32_t error)
{
	(void)nghttp2_session_terminate_session(c->h2->session, error);
	c->h2->ending = c->h2->stirred = true;
}

void h2_session_say_goodbye(struct front_conn *c)
{
	nghttp2_session *session = c->h2->session;

	c->h2->goodbye_due_ms = 0;
	(void)nghttp2_submit_goaway(
		session, NGHTTP2_FLAG_NONE,
		nghttp2_session_get_last_proc_stream_id(session),
		NGHTTP2_NO_ERROR, NULL, 0);
	c->h2->stirred = true;
}

/* What comes. All return 0 or an error of nghttp2's. */

/* Ends the connection from inside a call of nghttp2's. */
static int h2_session_give_up(struct front_conn *c)
{
	c->late = true; /* what it sends on is not read for long */
	server_count_flood(c->base.server, c->base.address);
	h2_session_terminate(c, NGHTTP2_ENHANCE_YOUR_CALM);
	return NGHTTP2_ERR_CALLBACK_FAILURE;
}

static unsigned h2_session_cost(const nghttp2_frame_hd *hd)
{
	switch (hd->type) {
	case NGHTTP2_DATA:
		return hd->length || hd->flags & NGHTTP2_FLAG_END_STREAM ?
			       0 : H2_FLOOD_FRAME;
	case NGHTTP2_HEADERS:
		return 0;
	case NGHTTP2_RST_STREAM:
		return H2_FLOOD_RESET;
	default:
		return H2_FLOOD_FRAME;
	}
}

static int h2_session_on_begin_frame(nghttp2_session *session,
				     const nghttp2_frame_hd *hd, void *arg)
{
	struct front_conn *c = arg;

	(void)session;
	if (hd->type != NGHTTP2_CONTINUATION)
		h2_request_forget(c);
	return h2_flood_spend(c, h2_session_cost(hd)) ? 0 :
							h2_session_give_up(c);
}

static int h2_session_on_begin_headers(nghttp2_session *session,
				       const nghttp2_frame *frame, void *arg)
{
	(void)session;
	if (frame->headers.cat == NGHTTP2_HCAT_REQUEST)
		h2_request_begin(arg);
	return 0;
}

static int h2_session_on_field(struct front_conn *c, const nghttp2_frame *frame,
			       struct field_part name, struct field_part value)
{
	struct front_exchange *fx;

	/* the other frame with fields is PUSH_PROMISE, which clients may not
	 * send (RFC 9113, 8.4) */
	assert(frame->hd.type == NGHTTP2_HEADERS);
	if (frame->headers.cat == NGHTTP2_HCAT_REQUEST)
		return h2_request_add(c, name, value) ? 0 :
							h2_session_give_up(c);
	fx = h2_session_find(c, frame->hd.stream_id);
	if (fx && !h2_body_add_trailer(fx, name, value)) {
		h2_session_reset(c, frame->hd.stream_id,
				 NGHTTP2_PROTOCOL_ERROR);
		return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
	}
	return 0;
}

static int h2_session_on_header(nghttp2_session *session,
				const nghttp2_frame *frame, const uint8_t *name,
				size_t name_len, const uint8_t *value,
				size_t value_len, uint8_t flags, void *arg)
{
	(void)session;
	(void)flags;
	return h2_session_on_field(
		arg, frame, (struct field_part){ (const char *)name, name_len },
		(struct field_part){ (const char *)value, value_len });
}

static int h2_session_on_frame(nghttp2_session *session,
			       const nghttp2_frame *frame, void *arg)
{
	struct front_conn *c = arg;
	bool ended = frame->hd.flags & NGHTTP2_FLAG_END_STREAM;
	struct front_exchange *fx;

	(void)session;
	if (frame->hd.type == NGHTTP2_PING &&
	    frame->hd.flags & NGHTTP2_FLAG_ACK && c->h2->goodbye_due_ms)
		h2_session_say_goodbye(c);
	if (frame->hd.type == NGHTTP2_HEADERS &&
	    frame->headers.cat == NGHTTP2_HCAT_REQUEST) {
		if (h2_request_end(c, frame->hd.stream_id, ended))
			h2_session_reset(c, frame->hd.stream_id,
					 NGHTTP2_INTERNAL_ERROR);
	} else if (ended && (frame->hd.type == NGHTTP2_HEADERS ||
			     frame->hd.type == NGHTTP2_DATA)) {
		fx = h2_session_find(c, frame->hd.stream_id);
		if (fx)
			h2_body_end(fx);
	}
	return 0;
}

/* Whatever is left of a malformed header is not looked at, so there is nothing
 * to wait for. */
static int h2_session_on_invalid(nghttp2_session *session,
				 const nghttp2_frame *frame, int error,
				 void *arg)
{
	(void)session;
	(void)frame;
	(void)error;
	h2_request_forget(arg);
	return 0;
}

static int h2_session_on_data(nghttp2_session *session, uint8_t flags,
			      int32_t id, const uint8_t *data, size_t len,
			      void *arg)
{
	(void)session;
	(void)flags;
	h2_body_take(arg, h2_session_find(arg, id), (const char *)data, len);
	return 0;
}

static int h2_session_on_close(nghttp2_session *session, int32_t id,
			       uint32_t error, void *arg)
{
	struct front_exchange *fx = h2_session_find(arg, id);

	(void)session;
	if (fx)
		h2_stream_closed(fx, error);
	return 0;
}

/* What goes */

/* Whether a stream is closed for what its client has made of it. */
static bool h2_session_blames(uint32_t error)
{
	return error != NGHTTP2_NO_ERROR && error != NGHTTP2_INTERNAL_ERROR &&
	       error != NGHTTP2_REFUSED_STREAM;
}

static int h2_session_on_sent(nghttp2_session *session,
			      const nghttp2_frame *frame, void *arg)
{
	struct front_conn *c = arg;
	struct front_exchange *fx;

	(void)session;
	if (frame->hd.type == NGHTTP2_RST_STREAM &&
	    h2_session_blames(frame->rst_stream.error_code)) {
		if (!h2_flood_spend(c, H2_FLOOD_RESET))
			(void)h2_session_give_up(c);
	} else if ((frame->hd.type == NGHTTP2_DATA ||
		    frame->hd.type == NGHTTP2_HEADERS) &&
		   frame->hd.flags & NGHTTP2_FLAG_END_STREAM) {
		fx = h2_session_find(c, frame->hd.stream_id);
		assert(fx); /* it lasts until its stream has closed */
		h2_reply_end(fx);
	}
	return 0;
}

/* A header that is too large for nghttp2, say. */
static int h2_session_on_not_sent(nghttp2_session *session,
				  const nghttp2_frame *frame, int error,
				  void *arg)
{
	(void)session;
	(void)error;
	if (frame->hd.type == NGHTTP2_HEADERS &&
	    h2_session_find(arg, frame->hd.stream_id))
		h2_session_reset(arg, frame->hd.stream_id,
				 NGHTTP2_INTERNAL_ERROR);
	return 0;
}

static int h2_session_send_data(nghttp2_session *session, nghttp2_frame *frame,
				const uint8_t *header, size_t len,
				nghttp2_data_source *source, void *arg)
{
	(void)session;
	(void)frame; /* nobody has asked for padding */
	return h2_output_add_data(arg, source->ptr, header, len);
}

/* What all sessions of a server share */

static void h2_session_set_callbacks(nghttp2_session_callbacks *to)
{
	nghttp2_session_callbacks_set_on_begin_frame_callback(
		to, h2_session_on_begin_frame);
	nghttp2_session_callbacks_set_on_begin_headers_callback(
		to, h2_session_on_begin_headers);
	nghttp2_session_callbacks_set_on_header_callback(to,
							 h2_session_on_header);
	/* those that nghttp2 would pass over are judged as the others are */
	nghttp2_session_callbacks_set_on_invalid_header_callback(
		to, h2_session_on_header);
	nghttp2_session_callbacks_set_on_frame_recv_callback(
		to, h2_session_on_frame);
	nghttp2_session_callbacks_set_on_invalid_frame_recv_callback(
		to, h2_session_on_invalid);
	nghttp2_session_callbacks_set_on_data_chunk_recv_callback(
		to, h2_session_on_data);
	nghttp2_session_callbacks_set_on_stream_close_callback(
		to, h2_session_on_close);
	nghttp2_session_callbacks_set_on_frame_send_callback(
		to, h2_session_on_sent);
	nghttp2_session_callbacks_set_on_frame_not_send_callback(
		to, h2_session_on_not_sent);
	nghttp2_session_callbacks_set_send_data_callback(to,
							 h2_session_send_data);
}

static void h2_session_set_options(nghttp2_option *to, size_t max_header_bytes)
{
	nghttp2_option_set_no_auto_window_update(to, 1);
	nghttp2_option_set_no_closed_streams(to, 1);
	nghttp2_option_set_max_send_header_block_length(
		to, 2 * max_header_bytes + SLACK_BYTES);
}

int h2_server_new(struct front_server *s)
{
	struct h2_server *h2;

	if (!s->base.settings.http2 && !s->base.settings.http2_plain)
		return 0;
	s->h2 = h2 = calloc(1, sizeof(*h2));
	if (!h2 || nghttp2_session_callbacks_new(&h2->callbacks) ||
	    nghttp2_option_new(&h2->options)) {
		h2_server_free(s);
		return -ENOMEM;
	}
	h2_session_set_callbacks(h2->callbacks);
	h2_session_set_options(h2->options, s->limits.max_header_bytes);
	return 0;
}

void h2_server_free(struct front_server *s)
{
	if (!s->h2)
		return;
	nghttp2_session_callbacks_del(s->h2->callbacks);
	nghttp2_option_del(s->h2->options);
	request_lines_free(&s->h2->lines);
	free(s->h2->nv);
	free(s->h2);
	s->h2 = NULL;
}

/* Sessions */

static int h2_session_set_up(const struct front_conn *c)
{
	const struct request_limits *limits = &front_server(c)->limits;
	const nghttp2_settings_entry settings[] = {
		{ NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS,
		  c->base.server->settings.http2_streams },
		{ NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, H2_STREAM_WINDOW },
		{ NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE,
		  (uint32_t)(limits->max_target_bytes +
			     limits->max_header_bytes) },
	};

	const size_t n = sizeof(settings) / sizeof(settings[0]);
	nghttp2_session *session = c->h2->session;

	if (nghttp2_submit_settings(session, NGHTTP2_FLAG_NONE, settings, n) ||
	    nghttp2_session_set_local_window_size(session, NGHTTP2_FLAG_NONE, 0,
						  H2_CONN_WINDOW))
		return -ENOMEM;
	return 0;
}

int h2_session_new(struct front_conn *c)
{
	const struct h2_server *s = h2_server_of(c);

	if (nghttp2_session_server_new2(&c->h2->session, s->callbacks, c,
					s->options))
		return -ENOMEM;
	return h2_session_set_up(c);
}

bool h2_session_read(struct front_conn *c, const char *at, size_t len)
{
	ssize_t n;

	h2_request_resume(c);
	n = nghttp2_session_mem_recv(c->h2->session, (const uint8_t *)at, len);
	h2_request_suspend(c);
	if (n == NGHTTP2_ERR_FLOODED) /* by what it has to answer */
		(void)h2_session_give_up(c);
	return n >= 0 || c->h2->ending;
}
