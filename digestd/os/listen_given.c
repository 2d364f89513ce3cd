/*
 * Sockets that were given, from the environment to listeners.
 */
#include "digestd/os/listen_given.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>
#include <unistd.h>

/* A number of the environment from 0 to max; -1: there is none, or another. */
static long listen_given_number(const char *name, long max)
{
	const char *text = getenv(name);
	char *end;
	long n;

	if (!text || *text < '0' || *text > '9')
		return -1;
	errno = 0;
	n = strtol(text, &end, 10);
	return errno || *end || n > max ? -1 : n;
}

/* Whether a descriptor listens for streams. Has it closed in programs that are
 * started, and not block. */
static bool listen_given_adopt(int fd)
{
	int listens = 0, type = 0, flags = fcntl(fd, F_GETFL);
	socklen_t len = sizeof(int);

	return flags >= 0 &&
	       !getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &len) &&
	       type == SOCK_STREAM &&
	       !getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &len) &&
	       listens && !fcntl(fd, F_SETFD, FD_CLOEXEC) &&
	       !fcntl(fd, F_SETFL, flags | O_NONBLOCK);
}

/* Cuts the next name off a list that is divided by colons. */
static void listen_given_cut_name(const char **names,
				  char name[LISTEN_GIVEN_NAME])
{
	size_t len = strcspn(*names, ":");
	size_t kept = len < LISTEN_GIVEN_NAME ? len : LISTEN_GIVEN_NAME - 1;

	memcpy(name, *names, kept);
	name[kept] = '\0';
	*names += len + ((*names)[len] == ':');
}

static int listen_given_read(struct listen_given *g, unsigned n, bool managed)
{
	const char *names = getenv("LISTEN_FDNAMES");

	g->at = calloc(n ? n : 1, sizeof(*g->at));
	if (!g->at)
		return -ENOMEM;
	for (; g->n < n; g->n++) {
		struct listen_given_socket *s = &g->at[g->n];

		s->fd = LISTEN_GIVEN_FIRST + (int)g->n;
		if (!listen_given_adopt(s->fd))
			return -EINVAL;
		if (names)
			listen_given_cut_name(&names, s->name);
		if (managed && !*s->name)
			strcpy(s->name, LISTEN_MANAGED);
	}
	return 0;
}

int listen_given_take(bool anyone, struct listen_given *out)
{
	long n = listen_given_number("LISTEN_FDS", LISTEN_GIVEN_MAX);
	long pid = listen_given_number("LISTEN_PID", INT32_MAX);
	bool has = getenv("LISTEN_FDS") && (anyone || pid == getpid());
	int err = 0;

	*out = (struct listen_given){ 0 };
	if (has)
		err = n < 0 ? -EINVAL :
			      listen_given_read(out, (unsigned)n, !anyone);
	if (err)
		listen_given_free(out);
	unsetenv("LISTEN_FDS");
	unsetenv("LISTEN_PID");
	unsetenv("LISTEN_FDNAMES");
	return err;
}

int listen_given_add(struct listen_given *given, int fd)
{
	struct listen_given_socket *at =
		realloc(given->at, (given->n + 1) * sizeof(*at));

	if (!at)
		return -ENOMEM;
	given->at = at;
	at[given->n++] = (struct listen_given_socket){ .fd = fd };
	return 0;
}

/* Which are for whom */

static bool listen_given_is_listener(const char *name)
{
	return !strcmp(name, "data") || !strcmp(name, "peer") ||
	       !strcmp(name, "admin");
}

static bool listen_given_same_address(const struct sockaddr_storage *a,
				      const struct sockaddr *b)
{
	const struct sockaddr_in6 *a6 = (const void *)a, *b6 = (const void *)b;
	const struct sockaddr_in *a4 = (const void *)a, *b4 = (const void *)b;
	const struct sockaddr_un *au = (const void *)a, *bu = (const void *)b;

	if (a->ss_family != b->sa_family)
		return false;
	if (b->sa_family == AF_UNIX)
		return !strncmp(au->sun_path, bu->sun_path,
				sizeof(au->sun_path));
	if (b->sa_family == AF_INET6)
		return a6->sin6_port == b6->sin6_port &&
		       !memcmp(&a6->sin6_addr, &b6->sin6_addr,
			       sizeof(a6->sin6_addr));
	return a4->sin_port == b4->sin_port &&
	       a4->sin_addr.s_addr == b4->sin_addr.s_addr;
}

static bool listen_given_fits(const struct listen_given_socket *s,
			      const char *listener,
			      const struct sockaddr *address)
{
	struct sockaddr_storage bound = { .ss_family = AF_UNSPEC };
	socklen_t len = sizeof(bound);

	if (listen_given_is_listener(s->name))
		return !strcmp(s->name, listener);
	return !getsockname(s->fd, (struct sockaddr *)&bound, &len) &&
	       listen_given_same_address(&bound, address);
}

unsigned listen_given_count(const struct listen_given *given,
			    const char *listener,
			    const struct sockaddr *address)
{
	unsigned n = 0;

	for (unsigned i = 0; i < given->n; i++)
		n += listen_given_fits(&given->at[i], listener, address);
	return n;
}

const char *listen_given_name(const struct listen_given *given,
			      const char *listener,
			      const struct sockaddr *address)
{
	for (unsigned i = 0; i < given->n; i++) {
		const struct listen_given_socket *s = &given->at[i];

		if (!*s->name || !listen_given_fits(s, listener, address))
			continue;
		return listen_given_is_listener(s->name) ? listener :
							   LISTEN_MANAGED;
	}
	return "";
}

/* Whether others may bind a socket to its port. */
static bool listen_given_may_be_joined(const struct listen_given_socket *s)
{
	int shares = 0;
	socklen_t len = sizeof(shares);

	return !getsockopt(s->fd, SOL_SOCKET, SO_REUSEPORT, &shares, &len) &&
	       shares;
}

int listen_given_share(struct listen_given *given, const char *listener,
		       const struct sockaddr *address, unsigned worker)
{
	unsigned n = listen_given_count(given, listener, address), i = 0;
	struct listen_given_socket *s = given->at;
	int fd;

	if (!n)
		return -ENOENT;
	for (unsigned left = worker % n;; i++) {
		s = &given->at[i];
		if (listen_given_fits(s, listener, address) && !left--)
			break;
	}
	if (worker >= n && listen_given_may_be_joined(s))
		return -ENOENT;
	fd = fcntl(s->fd, F_DUPFD_CLOEXEC, 0);
	s->used |= fd >= 0;
	return fd < 0 ? -errno : fd;
}

const struct listen_given_socket *
listen_given_unused(const struct listen_given *given)
{
	for (unsigned i = 0; i < given->n; i++) {
		if (!given->at[i].used)
			return &given->at[i];
	}
	return NULL;
}

void listen_given_free(struct listen_given *given)
{
	for (unsigned i = 0; i < given->n; i++)
		close(given->at[i].fd);
	free(given->at);
	*given = (struct listen_given){ 0 };
}
