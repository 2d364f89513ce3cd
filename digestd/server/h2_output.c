/*
 * What goes out: frames, as nghttp2 orders them, and the bodies in them. All
 * but bodies that are in memory passes through the server's buffer.
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "digestd/os/memory.h"
#include "digestd/server/h2.h"

enum {
	SENDS = 8,          /* before others have their turn */
	HEADER_BYTES = 9,   /* of a frame */
	PARTS_OF_FRAME = 2, /* at most */
};

/* Gathering */

static void h2_output_begin(struct front_conn *c, struct h2_gather *g)
{
	struct front_server *s = front_server(c);

	g->n = 0;
	g->at = s->buffer;
	g->end = s->buffer + s->buffer_bytes;
	g->bytes = 0;
	g->full = false;
}

/* Adds bytes that stay where they are until they are sent. */
static void h2_output_add(struct h2_gather *g, const char *at, size_t len)
{
	struct iovec *last = g->n ? &g->parts[g->n - 1] : NULL;

	g->bytes += len;
	if (last && (const char *)last->iov_base + last->iov_len == at)
		last->iov_len += len;
	else
		g->parts[g->n++] = (struct iovec){ (void *)(uintptr_t)at, len };
	g->full = g->bytes >= H2_SEND_BYTES ||
		  g->n > H2_PARTS - PARTS_OF_FRAME ||
		  (size_t)(g->end - g->at) < H2_FRAME_BYTES;
}

static void h2_output_copy(struct h2_gather *g, const void *at, size_t len)
{
	char *to = g->at;

	assert((size_t)(g->end - g->at) >= len);
	memcpy(to, at, len);
	g->at += len;
	h2_output_add(g, to, len);
}

/* Has nghttp2 say what there is. Returns 0, or -1 if it cannot. */
static int h2_output_gather(struct front_conn *c, struct h2_gather *g)
{
	const uint8_t *data;
	ssize_t n = 0;

	c->h2->gather = g;
	while (!g->full &&
	       (n = nghttp2_session_mem_send(c->h2->session, &data)) > 0)
		h2_output_copy(g, data, (size_t)n);
	c->h2->gather = NULL;
	return n < 0 ? -1 : 0;
}

/* Bodies */

/* The trailers go behind the body, and end the stream in its place. */
static void h2_output_add_trailers(struct front_exchange *fx, uint32_t *flags)
{
	const struct fields *f = front_stream_trailers(fx->stream);

	if (f && !h2_reply_trailers(fx, f))
		*flags |= NGHTTP2_DATA_FLAG_NO_END_STREAM;
}

/* Reads some of a body to where its frame will be. */
static ssize_t h2_output_read_stream(struct front_exchange *fx, size_t cap,
				     uint32_t *flags)
{
	struct h2_gather *g = front_conn_of(&fx->x)->h2->gather;
	struct front_stream *stream = fx->stream;
	size_t n = 0;

	/* there is room for a frame before nghttp2 is asked for one */
	assert(cap <= (size_t)(g->end - g->at) - HEADER_BYTES);
	while (n < cap && !stream->ended && !stream->waits)
		n += front_stream_read(stream, g->at + HEADER_BYTES + n,
				       cap - n);
	if (!n && stream->failed)
		return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
	if (stream->ended && !stream->failed) {
		*flags |= NGHTTP2_DATA_FLAG_EOF;
		h2_output_add_trailers(fx, flags);
	} else if (!n) {
		fx->h2.watched = false;
		return NGHTTP2_ERR_DEFERRED;
	}
	return (ssize_t)n;
}

static ssize_t h2_output_read(nghttp2_session *session, int32_t id,
			      uint8_t *unused, size_t cap, uint32_t *flags,
			      nghttp2_data_source *source, void *arg)
{
	struct front_exchange *fx = source->ptr;
	size_t n = fx->h2.left < cap ? fx->h2.left : cap;

	(void)session;
	(void)id;
	(void)unused;
	(void)arg;
	*flags |= NGHTTP2_DATA_FLAG_NO_COPY;
	if (fx->stream)
		return h2_output_read_stream(fx, cap, flags);
	if (n == fx->h2.left)
		*flags |= NGHTTP2_DATA_FLAG_EOF;
	return (ssize_t)n;
}

nghttp2_data_provider h2_output_provider(struct front_exchange *fx)
{
	return (nghttp2_data_provider){
		.source.ptr = fx, .read_callback = h2_output_read,
	};
}

int h2_output_add_data(struct front_conn *c, struct front_exchange *fx,
		       const uint8_t *header, size_t len)
{
	struct h2_gather *g = c->h2->gather;

	h2_output_copy(g, header, HEADER_BYTES);
	if (fx->stream) { /* where it was read to */
		g->at += len;
		if (len)
			h2_output_add(g, g->at - len, len);
	} else {
		assert(len); /* what is in memory is not empty */
		h2_output_add(g, fx->h2.at, len);
		fx->h2.at += len;
		fx->h2.left -= len;
	}
	fx->h2.moved += len;
	h2_flood_earn(c, H2_FLOOD_DATA);
	return g->full ? NGHTTP2_ERR_PAUSE : 0;
}

/* Sending */

/* Takes sent bytes off parts. Returns those that are left. */
static struct iovec *h2_output_advance(struct iovec *at,
				       const struct iovec *end, size_t sent)
{
	while (at < end && sent >= at->iov_len)
		sent -= (at++)->iov_len;
	if (at < end) {
		at->iov_base = (char *)at->iov_base + sent;
		at->iov_len -= sent;
	}
	return at;
}

/* Sends what the socket takes. Returns the parts that are left. */
static struct iovec *h2_output_send(struct front_conn *c, struct iovec *at,
				    const struct iovec *end)
{
	while (at < end && c->writable && !c->broken) {
		ssize_t n = front_io_send(c, at, (unsigned)(end - at), false);

		if (n == -EAGAIN)
			front_output_block(c);
		else if (n < 0)
			c->broken = true;
		else
			at = h2_output_advance(at, end, (size_t)n);
	}
	return at;
}

static void h2_output_drop_pending(struct h2_conn *h2)
{
	ledger_return(&memory_ledger, LEDGER_connections,
		      h2->pending_at + h2->pending_len);
	free(h2->pending);
	h2->pending = NULL;
	h2->pending_at = h2->pending_len = 0;
}

void h2_output_free(struct h2_conn *h2)
{
	h2_output_drop_pending(h2);
}

static void h2_output_send_pending(struct front_conn *c)
{
	struct h2_conn *h2 = c->h2;
	struct iovec part = { h2->pending + h2->pending_at, h2->pending_len };
	const struct iovec *left = h2_output_send(c, &part, &part + 1);
	size_t n = left == &part ? part.iov_len : 0;

	h2->pending_at += h2->pending_len - n;
	h2->pending_len = n;
	if (!n)
		h2_output_drop_pending(h2);
}

/* Copies what the socket has not taken. */
static void h2_output_keep(struct front_conn *c, const struct iovec *at,
			   const struct iovec *end)
{
	struct h2_conn *h2 = c->h2;
	size_t len = 0;
	char *to;

	for (const struct iovec *part = at; part < end; part++)
		len += part->iov_len;
	if (!len)
		return;
	h2->pending = to = malloc(len);
	if (!to) {
		c->broken = true;
		return;
	}
	ledger_add(&memory_ledger, LEDGER_connections, len);
	h2->pending_len = len;
	for (; at < end; at++) {
		memcpy(to, at->iov_base, at->iov_len);
		to += at->iov_len;
	}
}

/* Returns whether there was something to be sent. */
static bool h2_output_step(struct front_conn *c)
{
	struct h2_gather g;
	const struct iovec *left;

	if (h2_output_is_blocked(c)) {
		h2_output_send_pending(c);
		return true;
	}
	h2_output_begin(c, &g);
	if (h2_output_gather(c, &g)) {
		c->broken = true;
		return false;
	}
	left = h2_output_send(c, g.parts, g.parts + g.n);
	h2_output_keep(c, left, g.parts + g.n);
	return g.bytes;
}

/* The pace of a client is not measured while there is nothing for it. */
static void h2_output_rest(struct front_conn *c)
{
	if (!c->base.sends || !c->writable || h2_output_is_blocked(c))
		return;
	c->base.sends = false;
	conn_set_deadline(&c->base, 0);
}

bool h2_output_run(struct front_conn *c)
{
	int sends = 0;

	while (c->writable && !c->broken && !c->yields && h2_output_step(c))
		c->yields = ++sends == SENDS;
	if (!c->broken && !c->yields)
		h2_output_rest(c);
	return sends;
}
