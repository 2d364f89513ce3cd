/*
 * Lines to syslog.
 */
#include "digestd/os/syslog_socket.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <syslog.h>
#include <time.h>
#include <unistd.h>

static const char syslog_socket_prefix[] = "syslog:";

bool syslog_socket_is_meant(const char *place)
{
	return !strncmp(place, syslog_socket_prefix,
			sizeof(syslog_socket_prefix) - 1);
}

int syslog_socket_open(const char *place)
{
	const char *path = place + sizeof(syslog_socket_prefix) - 1;
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	int fd, err;

	if (!*path)
		path = "/dev/log";
	if (strlen(path) >= sizeof(at.sun_path))
		return -ENAMETOOLONG;
	memcpy(at.sun_path, path, strlen(path));
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	if (!connect(fd, (const struct sockaddr *)&at, sizeof(at)))
		return fd;
	err = -errno;
	close(fd);
	return err;
}

/* "<30>Nov 24 15:16:00 digestd[4711]: "; months have English names, whatever
 * the locale. Returns its length. */
static size_t syslog_socket_head(char head[static 64])
{
	static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
	time_t now = time(NULL);
	struct tm tm = { .tm_mday = 1 };

	localtime_r(&now, &tm);
	return (size_t)snprintf(head, 64,
				"<%d>%.3s %2d %02d:%02d:%02d digestd[%ld]: ",
				LOG_DAEMON | LOG_INFO,
				months + 3 * (tm.tm_mon % 12), tm.tm_mday,
				tm.tm_hour, tm.tm_min, tm.tm_sec,
				(long)getpid());
}

int syslog_socket_send(int fd, const char *line, size_t len)
{
	char head[64];
	struct iovec parts[] = {
		{ head, syslog_socket_head(head) },
		{ (void *)line, len < SYSLOG_SOCKET_LINE_MAX
					? len : SYSLOG_SOCKET_LINE_MAX },
	};
	const struct msghdr message = { .msg_iov = parts, .msg_iovlen = 2 };
	ssize_t n;

	do
		n = sendmsg(fd, &message, MSG_NOSIGNAL);
	while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : 0;
}
