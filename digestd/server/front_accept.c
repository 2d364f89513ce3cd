/*
 * From the listening socket to connections.
 *
 * While there are as many connections as there may be, or no descriptor is
 * left, the listening socket is not watched, because it would be ready in each
 * turn of the loop; those who come wait in its queue. It is watched again when
 * a connection closes, or, where others may have taken the descriptors, after
 * RETRY_MS.
 */
#include "config.h"

#include <assert.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include "digestd/server/front.h"

enum { BATCH = 64, RETRY_MS = 100 };

static void front_accept_retry(void *arg)
{
	front_accept_resume(arg);
}

static void front_accept_pause(struct front_server *s)
{
	loop_unwatch(s->base.loop, &s->watch);
}

/* Tries again soon: what is missing may be there without an event. */
static void front_accept_wait(struct front_server *s)
{
	front_accept_pause(s);
	loop_timer_set(s->base.loop, &s->retry,
		       loop_now_ms(s->base.loop) + RETRY_MS,
		       front_accept_retry, s);
}

/* Whether accept() may be tried again at once. */
static bool front_accept_fails(struct front_server *s, int err)
{
	switch (err) {
	case EAGAIN:
		return false;
	case EMFILE:
	case ENFILE:
	case ENOBUFS:
	case ENOMEM:
		front_accept_wait(s);
		return false;
	default: /* it was about that one connection */
		return true;
	}
}

/* Returns whether there may be another one. */
static bool front_accept_one(struct front_server *s)
{
	struct sockaddr_in6 from;
	socklen_t len = sizeof(from);
	int fd;

	if (!server_has_room(&s->base)) {
		front_accept_wait(s);
		return false;
	}
	fd = accept4(s->base.listen_fd, (struct sockaddr *)&from, &len,
		     SOCK_NONBLOCK | SOCK_CLOEXEC);
	if (fd < 0)
		return front_accept_fails(s, errno);
	if (front_conn_open(s, fd, &from))
		return front_accept_fails(s, ENOMEM);
	return true;
}

static void front_accept_some(struct front_server *s, unsigned most)
{
	while (most-- && front_accept_one(s))
		;
}

static void front_accept_ready(void *arg, unsigned events)
{
	(void)events;
	front_accept_some(arg, BATCH);
}

static int front_accept_watch(struct front_server *s)
{
	return loop_watch(s->base.loop, &s->watch, s->base.listen_fd, LOOP_READ,
			  front_accept_ready, s);
}

/* Connections have these options from their listening socket. */
static void front_accept_set_options(int fd)
{
	static const int yes = 1, unsent = SERVER_UNSENT_BYTES;

	/* without them all works the same, later or with more memory */
	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
	(void)setsockopt(fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &unsent,
			 sizeof(unsent));
}

int front_accept_start(struct front_server *s)
{
	front_accept_set_options(s->base.listen_fd);
	return front_accept_watch(s);
}

void front_accept_stop(struct front_server *s)
{
	loop_timer_clear(s->base.loop, &s->retry);
	if (s->base.listen_fd < 0)
		return;
	if (!s->base.stopping) /* what has come is served */
		front_accept_some(s, s->base.settings.max_connections);
	loop_unwatch(s->base.loop, &s->watch);
	loop_timer_clear(s->base.loop, &s->retry);
	close(s->base.listen_fd);
	s->base.listen_fd = -1;
}

void front_accept_resume(struct front_server *s)
{
	if (s->base.listen_fd < 0 || s->watch.active || s->base.stopping)
		return;
	loop_timer_clear(s->base.loop, &s->retry);
	if (front_accept_watch(s))
		front_accept_fails(s, ENOMEM);
}
