/*
 * The server's connections whose client waits for a reply. The library does
 * not watch them meanwhile, so whether the client leaves is watched here: but
 * only of those that have waited for a while. To watch one and to stop again
 * are two system calls, which most replies come too soon for.
 */
#include "digestd/server/server_conn.h"

#include <assert.h>

enum { WATCH_AFTER_MS = 100 };

static void server_wait_client_left(void *arg, unsigned events)
{
	struct conn *c = arg;

	(void)events;
	exchange_abort(&c->x);
}

static void server_wait_watch_those_that_wait(void *arg);

static void server_wait_arm(struct server *s)
{
	if (s->waiting && !s->waiting_timer.link)
		loop_timer_set(s->loop, &s->waiting_timer,
			       s->waiting->waits_since_ms + WATCH_AFTER_MS,
			       server_wait_watch_those_that_wait, s);
}

static void server_wait_watch_those_that_wait(void *arg)
{
	struct server *s = arg;
	int64_t until_ms = loop_now_ms(s->loop) - WATCH_AFTER_MS;

	while (s->waiting && s->waiting->waits_since_ms <= until_ms) {
		struct conn *c = s->waiting;

		conn_wait_leave(c);
		/* without memory for it the client's leaving goes unseen */
		(void)loop_watch(s->loop, &c->hangup, c->fd, LOOP_HANGUP,
				 server_wait_client_left, c);
	}
	server_wait_arm(s);
}

void conn_wait_enter(struct conn *c)
{
	struct server *s = c->server;

	assert(!c->waiting_link && c->x.suspended);
	c->waits_since_ms = loop_now_ms(s->loop);
	c->waiting_next = NULL;
	c->waiting_link = s->waiting_end;
	*s->waiting_end = c;
	s->waiting_end = &c->waiting_next;
	server_wait_arm(s);
}

void conn_wait_leave(struct conn *c)
{
	loop_unwatch(c->server->loop, &c->hangup);
	if (!c->waiting_link)
		return;
	*c->waiting_link = c->waiting_next;
	if (c->waiting_next)
		c->waiting_next->waiting_link = c->waiting_link;
	else
		c->server->waiting_end = c->waiting_link;
	c->waiting_link = NULL;
}
