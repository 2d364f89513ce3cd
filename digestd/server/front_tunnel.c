/*
 * Connections that have changed protocols (RFC 9110, 7.8). What the handler
 * says is a streamed reply without framing, what the client says is handed to
 * the handler as a body, and an end of one of them is only that: the exchange
 * lasts until the handler has said all, and has done with what it heard, or
 * until the connection breaks.
 *
 * A client that does not take what there is must keep the pace of others, or it
 * is closed. How long both may be silent is the handler's business.
 */
#include <assert.h>

#include "digestd/server/front.h"

void front_tunnel_begin(struct front_exchange *fx)
{
	struct front_conn *c = front_conn_of(&fx->x);

	assert(c->phase == FRONT_REPLY && !c->tunnel);
	fx->x.tunnel = fx->x.receiving = true;
	fx->x.body_ended = false;
	c->tunnel = fx;
	c->phase = FRONT_TUNNEL;
	c->closing = true; /* there is no other request */
}

bool front_tunnel_wants(const struct front_conn *c)
{
	return c->tunnel && front_input_is_open(c->tunnel) &&
	       !c->tunnel->x.body_ended && !c->base.held;
}

size_t front_tunnel_read(struct front_conn *c, const char *at, size_t len)
{
	const struct server *s = c->base.server;
	size_t taken = s->handler->on_body ?
			       s->handler->on_body(s->arg, &c->tunnel->x, at,
						   len) :
			       len;

	assert(taken <= len);
	c->base.held = taken < len;
	return taken;
}

void front_tunnel_end_input(struct front_conn *c)
{
	const struct server *s = c->base.server;

	if (!c->tunnel || c->tunnel->x.body_ended)
		return;
	c->tunnel->x.body_ended = true;
	if (s->handler->on_body_end)
		s->handler->on_body_end(s->arg, &c->tunnel->x);
}

void front_tunnel_settle(struct front_conn *c)
{
	const struct front_exchange *fx = c->tunnel;

	if (!fx || c->shut || c->out != fx || fx->part < fx->nparts ||
	    !fx->stream->ended)
		return;
	front_io_shut(c);
	c->shut = true;
}
