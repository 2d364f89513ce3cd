/*
 * How long clients have. A connection that does not take what is sent is
 * watched by front_output.c, as those of HTTP/1.1 are; one without streams is
 * idle. Here is what a client can hold up while its connection is busy:
 *
 * - a header that has begun is complete within header_ms;
 * - a stream for whose body, or for whose window, everybody waits moves at
 *   min_rate at least. Each span of idle_ms in which it was the client's turn
 *   throughout is judged by itself, as in server_pace.c, so a stream that does
 *   not keep up is reset after twice idle_ms at most.
 */
#include "digestd/server/h2.h"

/* Whether it is for the client to let more of a reply through. */
static bool h2_pace_awaits_window(const struct front_exchange *fx)
{
	nghttp2_session *session = front_conn_of(&fx->x)->h2->session;

	if (!fx->h2.answered || fx->h2.complete ||
	    (fx->stream && fx->stream->waits))
		return false;
	return nghttp2_session_get_remote_window_size(session) <= 0 ||
	       nghttp2_session_get_stream_remote_window_size(session,
							     fx->h2.id) <= 0;
}

/* Whether a stream goes on. Begins its next span. */
static bool h2_pace_is_kept(struct front_exchange *fx, int64_t span_ms)
{
	bool awaited = h2_body_is_awaited(fx) || h2_pace_awaits_window(fx);
	bool kept = !awaited || !fx->h2.watched ||
		    conn_pace_suffices(fx->x.conn->server,
				       fx->h2.moved - fx->h2.judged, span_ms);

	fx->h2.watched = awaited;
	fx->h2.judged = fx->h2.moved;
	return kept;
}

static void h2_pace_judge(struct front_conn *c, int64_t now_ms)
{
	int64_t span_ms = now_ms - c->h2->judged_ms;

	c->h2->judged_ms = now_ms;
	for (struct front_exchange *fx = c->h2->streams; fx; fx = fx->next) {
		if (!h2_pace_is_kept(fx, span_ms))
			h2_session_reset(c, fx->h2.id,
					 NGHTTP2_ENHANCE_YOUR_CALM);
	}
}

static void h2_pace_fire(void *arg)
{
	struct front_conn *c = arg;
	struct h2_conn *h2 = c->h2;
	int64_t now_ms = loop_now_ms(c->base.server->loop);

	if (h2->header_due_ms && now_ms >= h2->header_due_ms)
		h2_session_terminate(c, NGHTTP2_ENHANCE_YOUR_CALM);
	if (h2->goodbye_due_ms && now_ms >= h2->goodbye_due_ms)
		h2_session_say_goodbye(c);
	if (now_ms >= h2->judged_ms + c->base.server->settings.idle_ms)
		h2_pace_judge(c, now_ms);
	h2->stirred = true;
	h2_pace_set(c);
	front_conn_run(c);
}

static int64_t h2_pace_sooner(int64_t a, int64_t b)
{
	return !a || (b && b < a) ? b : a;
}

void h2_pace_set(struct front_conn *c)
{
	struct loop *loop = c->base.server->loop;
	struct h2_conn *h2 = c->h2;
	int64_t due_ms;

	due_ms = h2_pace_sooner(h2->header_due_ms, h2->goodbye_due_ms);
	if (h2->nstreams)
		due_ms = h2_pace_sooner(
			due_ms,
			h2->judged_ms + c->base.server->settings.idle_ms);
	if (!due_ms || (h2->timer.link && h2->timer.due_ms <= due_ms))
		return;
	loop_timer_set(loop, &h2->timer, due_ms, h2_pace_fire, c);
}
