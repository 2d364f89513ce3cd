/*
 * A connection as a whole, from its first byte of HTTP/2 to the last. What it
 * was before and becomes afterwards, lingering until the client has closed it,
 * is front_conn.c's.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "digestd/os/memory.h"
#include "digestd/server/h2.h"

enum {
	CONN_BYTES = 24576, /* 15 KiB were measured, and HPACK has 8 more */
	GOODBYE_MS = 1000,  /* for the client to hear it */
	CHOKED_FRAMES = 256, /* that wait for a client who does not read */
};

static int h2_conn_new(struct front_conn *c)
{
	c->h2 = calloc(1, sizeof(*c->h2));
	if (!c->h2)
		return -1;
	ledger_add(&memory_ledger, LEDGER_connections, CONN_BYTES);
	c->base.exchanges = &h2_exchanges;
	h2_flood_begin(c);
	return h2_session_new(c);
}

void h2_conn_begin(struct front_conn *c)
{
	assert(!c->h2);
	c->phase = FRONT_HTTP2;
	if (h2_conn_new(c))
		c->broken = true;
	else if (c->base.server->draining)
		h2_conn_drain(c);
}

void h2_conn_free(struct front_conn *c)
{
	struct h2_conn *h2 = c->h2;

	if (!h2)
		return;
	loop_timer_clear(c->base.server->loop, &h2->timer);
	h2_stream_end_all(c);
	h2_request_resume(c);
	nghttp2_session_del(h2->session);
	h2_output_free(h2);
	c->base.exchanges = &front_exchanges;
	ledger_return(&memory_ledger, LEDGER_connections, CONN_BYTES);
	free(h2);
	c->h2 = NULL;
}

/* There is nothing more to say: as after the last reply of HTTP/1.1. */
static void h2_conn_end(struct front_conn *c)
{
	h2_conn_free(c);
	conn_upload_leave(&c->base);
	conn_idle_leave(&c->base);
	conn_set_deadline(&c->base, 0);
	c->base.held = c->base.sends = false;
	c->closing = true;
	c->phase = FRONT_LINGER;
}

void h2_conn_drain(struct front_conn *c)
{
	static const uint8_t word[8] = "goodbye";
	struct h2_conn *h2 = c->h2;

	if (!h2)
		return;
	assert(!h2->leaving); /* a server drains once */
	h2->leaving = h2->stirred = true;
	/* requests that are on their way are served; those that come after the
	 * answer to this were sent by who knew better */
	(void)nghttp2_submit_shutdown_notice(h2->session);
	(void)nghttp2_submit_ping(h2->session, NGHTTP2_FLAG_NONE, word);
	h2->goodbye_due_ms = loop_now_ms(c->base.server->loop) + GOODBYE_MS;
	conn_idle_leave(&c->base);
	h2_pace_set(c);
}

bool h2_conn_leave(struct front_conn *c)
{
	if (!c->h2 || c->base.sends || h2_output_is_blocked(c))
		return false;
	h2_session_terminate(c, NGHTTP2_NO_ERROR);
	return true;
}

void h2_conn_part(struct front_conn *c)
{
	if (h2_conn_leave(c))
		(void)h2_output_run(c);
}

/* Whether the client asks for more than it takes. */
static bool h2_conn_is_choked(const struct front_conn *c)
{
	return h2_output_is_blocked(c) &&
	       nghttp2_session_get_outbound_queue_size(c->h2->session) >
		       CHOKED_FRAMES;
}

/* What came behind something else, or comes now, is in the server's buffer.
 * Returns its length. */
static size_t h2_conn_receive(struct front_conn *c)
{
	size_t len = c->kept_len;

	if (c->ended || c->h2->ending)
		return 0;
	if (len) {
		memcpy(front_server(c)->buffer, c->kept, len);
		front_input_free(c);
		return len;
	}
	if (!c->readable || h2_conn_is_choked(c))
		return 0;
	return front_input_receive(c, 0);
}

static bool h2_conn_read(struct front_conn *c)
{
	size_t len = h2_conn_receive(c);

	if (len && !h2_session_read(c, front_server(c)->buffer, len))
		c->broken = true;
	return len;
}

/* Where it stands among those that make room: one whose streams all wait for
 * the client to send its bodies may go. */
static void h2_conn_settle_upload(struct front_conn *c)
{
	const struct h2_conn *h2 = c->h2;
	bool sends = h2->nstreams && h2->nreceiving == h2->nstreams;

	c->base.held = h2->nheld && h2->nheld == h2->nstreams;
	if (!sends)
		conn_upload_leave(&c->base);
	else if (!c->base.upload_link)
		conn_upload_enter(&c->base);
}

/* Nothing goes on any more. Returns whether that changes what can be done. */
static bool h2_conn_settle(struct front_conn *c)
{
	struct h2_conn *h2 = c->h2;

	if (c->ended) { /* the client has gone */
		c->broken = true;
		return false;
	}
	if (h2_output_is_blocked(c))
		return false;
	if (!nghttp2_session_want_read(h2->session) &&
	    !nghttp2_session_want_write(h2->session) &&
	    (h2->ending || !h2->nlasting)) {
		h2_conn_end(c);
		return true;
	}
	h2_conn_settle_upload(c);
	if (!h2->nstreams && !h2->leaving && !c->base.idle_link)
		front_conn_idle(c, c->base.server->settings.idle_ms);
	return false;
}

bool h2_conn_step(struct front_conn *c)
{
	struct h2_conn *h2 = c->h2;
	bool got_on = h2->stirred;

	h2->stirred = false;
	got_on |= h2_conn_read(c);
	if (!c->broken) {
		h2_body_resume_all(c);
		h2_stream_end_over(c);
		got_on |= h2_output_run(c);
		h2_stream_end_over(c);
	}
	if (c->broken)
		return false;
	return got_on || h2->stirred || h2_conn_settle(c);
}
