/*
 * systemd's notification protocol: one datagram of NAME=VALUE lines.
 */
#include "digestd/os/notify.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

static void notify(const char *state)
{
	const char *path = getenv("NOTIFY_SOCKET");
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	size_t len = path ? strlen(path) : 0;
	size_t path_at = offsetof(struct sockaddr_un, sun_path);
	int fd;

	if (!len || len >= sizeof(to.sun_path))
		return;
	memcpy(to.sun_path, path, len);
	if (path[0] == '@')
		to.sun_path[0] = '\0';
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return;
	/* nobody to tell if this fails */
	(void)!sendto(fd, state, strlen(state), MSG_NOSIGNAL,
		      (struct sockaddr *)&to, (socklen_t)(path_at + len));
	close(fd);
}

void notify_ready(void)
{
	notify("READY=1");
}

void notify_reloading(void)
{
	struct timespec now;
	char state[80];

	clock_gettime(CLOCK_MONOTONIC, &now);
	snprintf(state, sizeof(state),
		 "RELOADING=1\nMONOTONIC_USEC=%" PRId64,
		 (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000);
	notify(state);
}

void notify_stopping(void)
{
	notify("STOPPING=1");
}

void notify_main_pid(pid_t pid)
{
	char state[40];

	snprintf(state, sizeof(state), "MAINPID=%ld", (long)pid);
	notify(state);
}
