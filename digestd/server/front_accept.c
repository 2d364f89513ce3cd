/*
 * From the listening socket to connections.
 *
 * While there are as many connections as there may be, or no descriptor is
 * left, the listening socket is not watched, because it would be ready in each
 * turn of the loop; those who come wait in its queue. It is watched again when
 * a connection closes, or, where others may have taken the descriptors, after
 * RETRY_MS. Who still finds no descriptor then gets 503, by one that is kept
 * for that.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "digestd/os/troubles.h"
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

static int front_accept_call(struct front_server *s, struct sockaddr_in6 *from)
{
	socklen_t len = sizeof(*from);

	return accept4(s->base.listen_fd, (struct sockaddr *)from, &len,
		       SOCK_NONBLOCK | SOCK_CLOEXEC);
}

static void front_accept_spare(struct front_server *s)
{
	s->spare_fd = fcntl(s->base.listen_fd, F_DUPFD_CLOEXEC, 0);
}

static void front_accept_give_up_spare(struct front_server *s)
{
	if (s->spare_fd >= 0)
		close(s->spare_fd);
	s->spare_fd = -1;
}

/* What has come is read: closing over it would take the answer away. */
static void front_accept_refuse(struct front_server *s, int fd)
{
	static const char busy[] = "HTTP/1.1 503 Service Unavailable\r\n"
				   "Content-Length: 0\r\n"
				   "Retry-After: 1\r\n"
				   "Cache-Control: no-store\r\n"
				   "Connection: close\r\n\r\n";
	ssize_t n;

	if (!s->base.tls) {
		n = send(fd, busy, sizeof(busy) - 1, MSG_NOSIGNAL);
		(void)shutdown(fd, SHUT_WR);
		n = recv(fd, s->buffer, s->buffer_bytes, 0);
		(void)n; /* all of this is as good as it gets */
	}
	close(fd);
}

/* Takes one from the queue, and refuses it if there is no other descriptor to
 * spare even now. Returns whether it was refused. */
static bool front_accept_turn_away(struct front_server *s)
{
	struct sockaddr_in6 from;
	int fd;

	if (s->spare_fd < 0)
		return false;
	front_accept_give_up_spare(s);
	fd = front_accept_call(s, &from);
	front_accept_spare(s);
	if (fd < 0)
		return false;
	if (s->spare_fd >= 0) {
		(void)front_conn_open(s, fd, &from);
		return false;
	}
	front_accept_refuse(s, fd);
	front_accept_spare(s);
	return true;
}

static void front_accept_complain(struct front_server *s, int refused)
{
	char detail[LISTEN_LABEL_BYTES + 32];

	snprintf(detail, sizeof(detail), "%s: connections refused: %d",
		 s->base.label, refused);
	troubles_of_part(s->base.settings.troubles, TROUBLE_PART_listener,
			 TROUBLE_descriptors, detail,
			 loop_now_ms(s->base.loop));
}

/* Which accept() does not ask before it fails. */
static bool front_accept_is_asked(const struct front_server *s)
{
	struct pollfd queue = { .fd = s->base.listen_fd, .events = POLLIN };

	return poll(&queue, 1, 0) > 0;
}

/* Whether accept() may be tried again at once. */
static bool front_accept_lacks_files(struct front_server *s)
{
	int refused = 0;

	if (!front_accept_is_asked(s))
		return false;
	if (server_give_way(&s->base))
		return true;
	if (s->spare_fd < 0)
		front_accept_spare(s);
	while (s->short_of_files && refused < BATCH &&
	       front_accept_turn_away(s))
		refused++;
	if (refused)
		front_accept_complain(s, refused);
	s->short_of_files = true;
	front_accept_wait(s);
	return false;
}

/* Whether accept() may be tried again at once. */
static bool front_accept_fails(struct front_server *s, int err)
{
	switch (err) {
	case EAGAIN:
		return false;
	case EMFILE:
	case ENFILE:
		return front_accept_lacks_files(s);
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
	int fd;

	if (!server_has_room(&s->base)) {
		front_accept_wait(s);
		return false;
	}
	fd = front_accept_call(s, &from);
	if (fd < 0)
		return front_accept_fails(s, errno);
	s->short_of_files = false;
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
	listen_send_freely(fd);
}

int front_accept_start(struct front_server *s)
{
	int err;

	front_accept_set_options(s->base.listen_fd);
	front_accept_spare(s);
	err = front_accept_watch(s);
	if (err)
		front_accept_give_up_spare(s);
	return err;
}

void front_accept_stop(struct front_server *s)
{
	loop_timer_clear(s->base.loop, &s->retry);
	if (s->base.listen_fd < 0)
		return;
	/* what has come is served, here or where it is handed over to */
	if (!s->base.stopping && !s->base.handed_over)
		front_accept_some(s, s->base.settings.max_connections);
	loop_unwatch(s->base.loop, &s->watch);
	loop_timer_clear(s->base.loop, &s->retry);
	front_accept_give_up_spare(s);
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
