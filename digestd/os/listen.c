/*
 * Listening sockets.
 */
#include "digestd/os/listen.h"

#include <assert.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "digestd/os/listen_given.h"
#include "digestd/os/listen_path.h"

enum { ADDRESS_MAX = 128 }; /* of "host:port" */

struct listen_place {
	struct sockaddr_storage any;
	socklen_t len;
};

/*
 * Cuts a copy of "host:port" in two. An empty host stays empty. Returns
 * -EINVAL when it has another form.
 */
static int listen_split(char *text, char **host, char **port)
{
	char *colon = strrchr(text, ':');

	if (!colon || !colon[1])
		return -EINVAL;
	*colon = '\0';
	*port = colon + 1;
	*host = text;
	if (text[0] == '[') {
		if (colon[-1] != ']')
			return -EINVAL;
		colon[-1] = '\0';
		*host = text + 1;
	}
	return 0;
}

static int listen_resolve_path(const char *address, struct listen_place *out)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	struct listen_path_text text;

	_Static_assert(sizeof(text.path) == sizeof(at.sun_path), "the same");
	if (!listen_path_read(address, &text))
		return -EINVAL;
	memcpy(at.sun_path, text.path, sizeof(at.sun_path));
	memcpy(&out->any, &at, sizeof(at));
	out->len = sizeof(at);
	return 0;
}

static int listen_resolve(const char *address, struct listen_place *out)
{
	struct addrinfo hints = {
		.ai_flags = AI_PASSIVE | AI_NUMERICHOST | AI_NUMERICSERV,
		.ai_family = AF_UNSPEC,
		.ai_socktype = SOCK_STREAM,
	};
	char text[ADDRESS_MAX];
	struct addrinfo *ai;
	char *host, *port;

	*out = (struct listen_place){ .len = 0 };
	if (listen_path_is_meant(address))
		return listen_resolve_path(address, out);
	if (strlen(address) >= sizeof(text))
		return -EINVAL;
	strcpy(text, address);
	if (listen_split(text, &host, &port))
		return -EINVAL;
	/* for an empty host one IPv6 socket takes both families */
	if (getaddrinfo(*host ? host : "::", port, &hints, &ai))
		return -EINVAL;
	memcpy(&out->any, ai->ai_addr, ai->ai_addrlen);
	out->len = ai->ai_addrlen;
	freeaddrinfo(ai);
	return 0;
}

static int listen_set_option(int fd, int level, int name, int value)
{
	return setsockopt(fd, level, name, &value, sizeof(value));
}

/* Port 0 stays the socket's own: the kernel would choose among shared ports,
 * too, and one that is in use may come out, even another program's. */
static bool listen_has_port(const struct listen_place *at)
{
	return at->any.ss_family == AF_INET6 ?
		((const struct sockaddr_in6 *)&at->any)->sin6_port :
		((const struct sockaddr_in *)&at->any)->sin_port;
}

/*
 * The first socket is bound and listens without SO_REUSEPORT, which the kernel
 * refuses if anybody listens there, and two that try at once do not both get
 * by listen(). Only then may others share the port with it.
 */
static int listen_bind_and_listen(int fd, const struct listen_place *at,
				  const struct listen_how *how)
{
	bool shares = listen_has_port(at);

	if (listen_set_option(fd, SOL_SOCKET, SO_REUSEADDR, 1) ||
	    listen_set_option(fd, SOL_SOCKET, SO_REUSEPORT,
			      shares && how->joins))
		return -errno;
	if (at->any.ss_family == AF_INET6 &&
	    listen_set_option(fd, IPPROTO_IPV6, IPV6_V6ONLY,
			      how->address[0] != ':'))
		return -errno;
	if (bind(fd, (const struct sockaddr *)&at->any, at->len) ||
	    listen(fd, LISTEN_BACKLOG))
		return -errno;
	if (shares && listen_set_option(fd, SOL_SOCKET, SO_REUSEPORT, 1))
		return -errno;
	return 0;
}

static int listen_open_new(const struct listen_how *how,
			   const struct listen_place *at, int *fd)
{
	int err;

	if (at->any.ss_family == AF_UNIX)
		return -EADDRNOTAVAIL;
	*fd = socket(at->any.ss_family,
		     SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	err = *fd < 0 ? -errno : listen_bind_and_listen(*fd, at, how);
	if (err && *fd >= 0)
		close(*fd);
	return err;
}

int listen_open(const struct listen_how *how, int *fd)
{
	struct listen_place at;
	int err;

	assert(how->address);
	err = listen_resolve(how->address, &at);
	if (err)
		return err;
	*fd = -ENOENT;
	if (how->given)
		*fd = listen_given_share(how->given, how->listener,
					 (const struct sockaddr *)&at.any,
					 how->worker);
	if (*fd == -ENOENT)
		return listen_open_new(how, &at, fd);
	return *fd < 0 ? *fd : 0;
}

unsigned listen_count_given(const struct listen_how *how)
{
	struct listen_place at;

	if (!how->given || listen_resolve(how->address, &at))
		return 0;
	return listen_given_count(how->given, how->listener,
				  (const struct sockaddr *)&at.any);
}

const char *listen_name_given(const struct listen_how *how)
{
	struct listen_place at;

	if (!how->given || !how->address || listen_resolve(how->address, &at))
		return "";
	return listen_given_name(how->given, how->listener,
				 (const struct sockaddr *)&at.any);
}

static bool listen_is_loopback(int fd)
{
	struct sockaddr_storage at = { .ss_family = AF_UNSPEC };
	socklen_t len = sizeof(at);

	if (getsockname(fd, (struct sockaddr *)&at, &len))
		return false;
	switch (at.ss_family) {
	case AF_INET:
		return ntohl(((struct sockaddr_in *)&at)->sin_addr.s_addr) >>
			       24 == IN_LOOPBACKNET;
	case AF_INET6:
		return IN6_IS_ADDR_LOOPBACK(
			&((struct sockaddr_in6 *)&at)->sin6_addr);
	default:
		return false;
	}
}

void listen_send_freely(int fd)
{
	static const char name[] = "reno";

	/* without it all works the same, at a higher cost */
	if (listen_is_loopback(fd))
		(void)setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, name,
				 sizeof(name) - 1);
}

unsigned listen_port(int fd)
{
	struct sockaddr_storage addr = { .ss_family = AF_UNSPEC };
	socklen_t len = sizeof(addr);

	assert(fd >= 0);
	if (getsockname(fd, (struct sockaddr *)&addr, &len))
		return 0;
	switch (addr.ss_family) {
	case AF_INET:
		return ntohs(((struct sockaddr_in *)&addr)->sin_port);
	case AF_INET6:
		return ntohs(((struct sockaddr_in6 *)&addr)->sin6_port);
	default:
		return 0;
	}
}

/* Whether a socket is a UNIX one, whose path is written then. */
static bool listen_has_path(int fd, char text[LISTEN_LABEL_BYTES])
{
	struct sockaddr_un at = { .sun_family = AF_UNSPEC };
	socklen_t len = sizeof(at);

	if (getsockname(fd, (struct sockaddr *)&at, &len) ||
	    at.sun_family != AF_UNIX)
		return false;
	snprintf(text, LISTEN_LABEL_BYTES, "unix:%.*s",
		 (int)sizeof(at.sun_path), at.sun_path);
	return true;
}

void listen_label(int fd, char text[LISTEN_LABEL_BYTES])
{
	if (fd < 0)
		strcpy(text, "no port");
	else if (!listen_has_path(fd, text))
		snprintf(text, LISTEN_LABEL_BYTES, "port %u", listen_port(fd));
}

void listen_address(int fd, char text[LISTEN_LABEL_BYTES])
{
	struct sockaddr_storage at;
	socklen_t len = sizeof(at);
	char host[INET6_ADDRSTRLEN + 16];

	*text = '\0';
	if (fd < 0 || listen_has_path(fd, text) ||
	    getsockname(fd, (struct sockaddr *)&at, &len) ||
	    getnameinfo((struct sockaddr *)&at, len, host, sizeof(host), NULL,
			0, NI_NUMERICHOST))
		return;
	snprintf(text, LISTEN_LABEL_BYTES,
		 at.ss_family == AF_INET6 ? "[%s]:%u" : "%s:%u", host,
		 listen_port(fd));
}
