/*
 * Listening sockets.
 */
#include "digestd/os/listen.h"

#include <assert.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "digestd/os/listen_given.h"

enum {
	LISTEN_BACKLOG = 4096, /* the kernel caps it at somaxconn */
	ADDRESS_MAX = 128,     /* of "host:port" */
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

static int listen_resolve(const char *address, struct addrinfo **out)
{
	struct addrinfo hints = {
		.ai_flags = AI_PASSIVE | AI_NUMERICHOST | AI_NUMERICSERV,
		.ai_family = AF_UNSPEC,
		.ai_socktype = SOCK_STREAM,
	};
	char text[ADDRESS_MAX];
	char *host, *port;

	if (strlen(address) >= sizeof(text))
		return -EINVAL;
	strcpy(text, address);
	if (listen_split(text, &host, &port))
		return -EINVAL;
	/* for an empty host one IPv6 socket takes both families */
	if (getaddrinfo(*host ? host : "::", port, &hints, out))
		return -EINVAL;
	return 0;
}

static int listen_set_option(int fd, int level, int name, int value)
{
	return setsockopt(fd, level, name, &value, sizeof(value));
}

/* Port 0 stays the socket's own: the kernel would choose among shared ports,
 * too, and one that is in use may come out, even another program's. */
static bool listen_has_port(const struct addrinfo *ai)
{
	return ai->ai_family == AF_INET6 ?
		((const struct sockaddr_in6 *)ai->ai_addr)->sin6_port :
		((const struct sockaddr_in *)ai->ai_addr)->sin_port;
}

/*
 * The first socket is bound and listens without SO_REUSEPORT, which the kernel
 * refuses if anybody listens there, and two that try at once do not both get
 * by listen(). Only then may others share the port with it.
 */
static int listen_bind_and_listen(int fd, const struct addrinfo *ai,
				  const struct listen_how *how)
{
	bool shares = listen_has_port(ai);

	if (listen_set_option(fd, SOL_SOCKET, SO_REUSEADDR, 1) ||
	    listen_set_option(fd, SOL_SOCKET, SO_REUSEPORT,
			      shares && how->joins))
		return -errno;
	if (ai->ai_family == AF_INET6 &&
	    listen_set_option(fd, IPPROTO_IPV6, IPV6_V6ONLY,
			      how->address[0] != ':'))
		return -errno;
	if (bind(fd, ai->ai_addr, ai->ai_addrlen) || listen(fd, LISTEN_BACKLOG))
		return -errno;
	if (shares && listen_set_option(fd, SOL_SOCKET, SO_REUSEPORT, 1))
		return -errno;
	return 0;
}

static int listen_open_new(const struct listen_how *how,
			   const struct addrinfo *ai, int *fd)
{
	int err;

	*fd = socket(ai->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC,
		     0);
	err = *fd < 0 ? -errno : listen_bind_and_listen(*fd, ai, how);
	if (err && *fd >= 0)
		close(*fd);
	return err;
}

int listen_open(const struct listen_how *how, int *fd)
{
	struct addrinfo *ai;
	int err;

	assert(how->address);
	err = listen_resolve(how->address, &ai);
	if (err)
		return err;
	*fd = -ENOENT;
	if (how->given)
		*fd = listen_given_share(how->given, how->listener,
					 ai->ai_addr, how->worker);
	if (*fd == -ENOENT)
		err = listen_open_new(how, ai, fd);
	else if (*fd < 0)
		err = *fd;
	freeaddrinfo(ai);
	return err;
}

unsigned listen_count_given(const struct listen_how *how)
{
	struct addrinfo *ai;
	unsigned n;

	if (!how->given || listen_resolve(how->address, &ai))
		return 0;
	n = listen_given_count(how->given, how->listener, ai->ai_addr);
	freeaddrinfo(ai);
	return n;
}

const char *listen_name_given(const struct listen_how *how)
{
	const char *name = "";
	struct addrinfo *ai;

	if (!how->given || !how->address || listen_resolve(how->address, &ai))
		return name;
	name = listen_given_name(how->given, how->listener, ai->ai_addr);
	freeaddrinfo(ai);
	return name;
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
