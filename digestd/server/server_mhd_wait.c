/*
 * The server's connections whose client waits for a reply. The library does
 * not watch them meanwhile, so whether the client leaves is watched here: but
 * only of those that have waited for a while. To watch one and to stop again
 * are two system calls, which most replies come too soon for. One whose reply
 * comes piece by piece, and has been watched once, is watched on between them.
 */
#include "digestd/server/server_mhd.h"

#include <assert.h>

enum { WATCH_AFTER_MS = 100 };

static void server_wait_client_left(void *arg, unsigned events)
{
	struct mhd_conn *c = arg;

	(void)events;
	if (c->suspended)
		exchange_abort(&c->x);
	else /* the library sees to it; or it is watched anew when it waits */
		loop_unwatch(c->base.server->loop, &c->hangup);
}

static void server_wait_watch_those_that_wait(void *arg);

static void server_wait_arm(struct mhd_server *s)
{
	if (s->waiting && !s->waiting_timer.link)
		loop_timer_set(s->base.loop, &s->waiting_timer,
			       s->waiting->waits_since_ms + WATCH_AFTER_MS,
			       server_wait_watch_those_that_wait, s);
}

static void server_wait_watch_those_that_wait(void *arg)
{
	struct mhd_server *s = arg;
	int64_t until_ms = loop_now_ms(s->base.loop) - WATCH_AFTER_MS;

	while (s->waiting && s->waiting->waits_since_ms <= until_ms) {
		struct mhd_conn *c = s->waiting;

		mhd_conn_wait_leave(c);
		/* without memory for it the client's leaving goes unseen */
		(void)loop_watch(s->base.loop, &c->hangup, c->base.fd,
				 LOOP_HANGUP, server_wait_client_left, c);
	}
	server_wait_arm(s);
}

void mhd_conn_wait_enter(struct mhd_conn *c)
{
	struct mhd_server *s = mhd_conn_server(c);

	assert(!c->waiting_link && c->suspended);
	if (c->hangup.active)
		return;
	c->waits_since_ms = loop_now_ms(s->base.loop);
	c->waiting_next = NULL;
	c->waiting_link = s->waiting_end;
	*s->waiting_end = c;
	s->waiting_end = &c->waiting_next;
	server_wait_arm(s);
}

void mhd_conn_wait_pause(struct mhd_conn *c)
{
	if (!c->hangup.active || !c->x.answered)
		mhd_conn_wait_leave(c);
}

void mhd_conn_wait_leave(struct mhd_conn *c)
{
	loop_unwatch(c->base.server->loop, &c->hangup);
	if (!c->waiting_link)
		return;
	*c->waiting_link = c->waiting_next;
	if (c->waiting_next)
		c->waiting_next->waiting_link = c->waiting_link;
	else
		mhd_conn_server(c)->waiting_end = c->waiting_link;
	c->waiting_link = NULL;
}
