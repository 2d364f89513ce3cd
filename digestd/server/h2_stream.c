/*
 * Exchanges as the streams of a connection: from the end of a request's header
 * until the stream has closed.
 *
 * One whose reply is complete is over for the handler when that has gone to the
 * socket; one that was cut off, at once. One whose handler hears the client
 * beside its reply lasts until exchange_end_upload(), if need be without its
 * stream: with id 0, but in the list.
 */
#include <assert.h>

#include "digestd/server/h2.h"

struct front_exchange *h2_stream_new(struct front_conn *c, int32_t id)
{
	struct h2_conn *h2 = c->h2;
	struct front_exchange *fx = front_exchange_new(c);

	if (!fx)
		return NULL;
	fx->h2.id = id;
	fx->next = h2->streams;
	fx->h2.link = &h2->streams;
	if (fx->next)
		fx->next->h2.link = &fx->next;
	h2->streams = fx;
	if (!h2->nstreams++)
		h2->judged_ms = loop_now_ms(c->base.server->loop);
	h2_pace_set(c);
	nghttp2_session_set_stream_user_data(h2->session, id, fx);
	return fx;
}

static void h2_stream_unlink(struct front_exchange *fx)
{
	struct h2_conn *h2 = front_conn_of(&fx->x)->h2;

	assert(h2->nstreams);
	*fx->h2.link = fx->next;
	if (fx->next)
		fx->next->h2.link = fx->h2.link;
	fx->h2.link = NULL;
	h2->nstreams--;
}

/* Whether the handler still has to do with a body that is here, all of it: of
 * one that is not, nothing more will come. */
static bool h2_stream_is_heard(const struct front_exchange *fx)
{
	return fx->h2.complete && fx->h2.came && !fx->unheard &&
	       !fx->stream->failed;
}

void h2_stream_closed(struct front_exchange *fx, uint32_t error)
{
	struct h2_conn *h2 = front_conn_of(&fx->x)->h2;

	if (error != NGHTTP2_NO_ERROR || !h2_stream_is_heard(fx)) {
		h2_stream_close(fx);
		return;
	}
	fx->h2.id = 0;
	h2->nlasting++;
	nghttp2_session_consume_connection(h2->session, fx->h2.kept_len);
}

void h2_stream_close(struct front_exchange *fx)
{
	struct h2_conn *h2 = front_conn_of(&fx->x)->h2;

	if (!fx->h2.id)
		h2->nlasting--;
	h2_body_drop(fx);
	fx->h2.id = 0;
	h2_stream_unlink(fx);
	fx->next = h2->over;
	h2->over = fx;
	h2->stirred = true;
}

static bool h2_stream_is_done(const struct front_exchange *fx)
{
	return fx->h2.complete && !fx->x.aborted &&
	       !(fx->stream && fx->stream->failed);
}

static void h2_stream_end(struct front_exchange *fx)
{
	front_exchange_end(fx, h2_stream_is_done(fx) ? EXCHANGE_DONE :
						       EXCHANGE_ABORTED);
}

void h2_stream_end_over(struct front_conn *c)
{
	struct h2_conn *h2 = c->h2;
	struct front_exchange *all = h2->over, *fx;

	h2->over = NULL;
	while ((fx = all) != NULL) {
		all = fx->next;
		fx->next = NULL;
		if (h2_stream_is_done(fx) && h2_output_is_blocked(c)) {
			fx->next = h2->over;
			h2->over = fx;
			continue;
		}
		if (h2_stream_is_done(fx))
			h2_flood_earn(c, H2_FLOOD_DONE);
		h2_stream_end(fx);
	}
}

void h2_stream_end_all(struct front_conn *c)
{
	struct h2_conn *h2 = c->h2;

	while (h2->streams)
		h2_stream_close(h2->streams);
	while (h2->over) {
		struct front_exchange *fx = h2->over;

		h2->over = fx->next;
		fx->next = NULL;
		/* what had not gone out never will */
		fx->h2.complete &= !h2_output_is_blocked(c);
		h2_stream_end(fx);
	}
}
