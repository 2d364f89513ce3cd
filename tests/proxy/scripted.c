/*
 * The server.
 */
#include "tests/proxy/scripted.h"

#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/loopback.h"

enum { CONNECTIONS = 8 }; /* that have not asked yet */

/* Until the end of a request's head; false: there is none. */
static bool scripted_read(int fd)
{
	char head[8192] = "";
	size_t len = 0;
	ssize_t n;

	while (!strstr(head, "\r\n\r\n")) {
		n = recv(fd, head + len, sizeof(head) - 1 - len, 0);
		if (n <= 0)
			return false;
		len += (size_t)n;
		head[len] = '\0';
	}
	return true;
}

static void scripted_say(int fd, const char *text)
{
	while (*text) {
		size_t len = strcspn(text, "\1");

		(void)!send(fd, text, len, MSG_NOSIGNAL);
		text += len;
		if (*text) {
			usleep(SCRIPTED_PAUSE_US);
			text++;
		}
	}
}

/* Answers who has asked for something, and waits until it is gone. */
static void scripted_serve(const struct scripted *s, int fd, size_t *turn)
{
	char rest;

	if (scripted_read(fd)) {
		scripted_say(fd, s->texts[*turn]);
		*turn += *turn + 1 < SCRIPTED_MAX && s->texts[*turn + 1];
	}
	shutdown(fd, SHUT_WR);
	while (recv(fd, &rest, 1, 0) > 0)
		continue;
	close(fd);
}

/* Nodes keep connections ready on which they may never ask: these keep nobody
 * waiting who does. */
static void *scripted_run(void *arg)
{
	struct scripted *s = arg;
	struct pollfd at[1 + CONNECTIONS] = {
		{ .fd = s->listen_fd, .events = POLLIN }
	};
	nfds_t n = 1;
	size_t turn = 0;
	int fd = 0;

	while (fd >= 0 && poll(at, n, -1) > 0) {
		for (nfds_t i = n; --i > 0;) {
			if (!at[i].revents)
				continue;
			scripted_serve(s, at[i].fd, &turn);
			at[i] = at[--n];
		}
		if (!at[0].revents)
			continue;
		fd = accept(s->listen_fd, NULL, NULL);
		if (fd >= 0 && n <= CONNECTIONS)
			at[n++] = (struct pollfd){ .fd = fd, .events = POLLIN };
		else if (fd >= 0)
			close(fd);
	}
	while (n-- > 1)
		close(at[n].fd);
	return arg;
}

void scripted_begin(struct scripted *s)
{
	unsigned port;

	s->listen_fd = loopback_listen(&port);
	snprintf(s->url, sizeof(s->url), "http://127.0.0.1:%u", port);
	assert_int_equal(pthread_create(&s->thread, NULL, scripted_run, s), 0);
}

void scripted_end(struct scripted *s)
{
	shutdown(s->listen_fd, SHUT_RDWR);
	pthread_join(s->thread, NULL);
	close(s->listen_fd);
}
