/*
 * The server's idle connections, those without a request yet included, in the
 * order in which they began to wait: when all places are taken, the first of
 * them goes. So whoever opens many and says little loses them to who comes.
 */
#include "digestd/server/server_conn.h"

void conn_idle_enter(struct conn *c)
{
	struct server *s = c->server;

	c->idle_next = NULL;
	c->idle_link = s->idle_end;
	*s->idle_end = c;
	s->idle_end = &c->idle_next;
}

void conn_idle_leave(struct conn *c)
{
	if (!c->idle_link)
		return;
	*c->idle_link = c->idle_next;
	if (c->idle_next)
		c->idle_next->idle_link = c->idle_link;
	else
		c->server->idle_end = c->idle_link;
	c->idle_link = NULL;
}

/* What is broken here stays open until the library looks: once for each. */
void server_make_room(struct server *s)
{
	struct conn *c = s->idle;

	if (s->nconns < s->settings.max_connections || !c)
		return;
	conn_idle_leave(c);
	c->x.aborted = true;
	conn_break(c);
	atomic_fetch_add_explicit(&s->crowded_out, 1, memory_order_relaxed);
}

uint64_t server_crowded_out(const struct server *server)
{
	return atomic_load_explicit(&server->crowded_out, memory_order_relaxed);
}
