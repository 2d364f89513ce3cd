/*
 * The server.
 */
#include "tests/proxy/scripted.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/loopback.h"

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

static void *scripted_run(void *arg)
{
	struct scripted *s = arg;
	size_t turn = 0;
	char rest;
	int fd;

	while ((fd = accept(s->listen_fd, NULL, NULL)) >= 0) {
		if (scripted_read(fd)) {
			scripted_say(fd, s->texts[turn]);
			turn += turn + 1 < SCRIPTED_MAX && s->texts[turn + 1];
		}
		shutdown(fd, SHUT_WR);
		while (recv(fd, &rest, 1, 0) > 0)
			continue;
		close(fd);
	}
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
