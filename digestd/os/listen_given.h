/*
 * Listening sockets that a process is given by who starts it: by a service
 * manager, sd_listen_fds(3), or by the process that it replaces (handover.h).
 *
 *	LISTEN_FDS=n		they are the descriptors 3 to n + 2
 *	LISTEN_PID=pid		and are for this process
 *	LISTEN_FDNAMES=a:b	what they are called
 *
 * A socket that is called as a listener is ("data", "peer", "admin") is for
 * that one, whatever its address; any other is for the listener whose address
 * it is bound to. What a service manager gives always has a name (where it says
 * none, LISTEN_MANAGED), and keeps it from process to process; sockets that
 * this program has opened itself have none.
 */
#ifndef DIGESTD_OS_LISTEN_GIVEN_H
#define DIGESTD_OS_LISTEN_GIVEN_H

#include <stdbool.h>
#include <sys/socket.h>

enum {
	LISTEN_GIVEN_FIRST = 3, /* the descriptor of the first one */
	LISTEN_GIVEN_MAX = 4096,
	LISTEN_GIVEN_NAME = 32, /* bytes, with the NUL; longer ones are cut */
};

#define LISTEN_MANAGED "managed"

struct listen_given_socket {
	int fd;
	char name[LISTEN_GIVEN_NAME]; /* "": none */
	bool used; /* a listener has it */
};

struct listen_given {
	struct listen_given_socket *at;
	unsigned n;
};

/*
 * Takes what this process is given, and clears those variables, so that no
 * process that it starts takes them for its own. `anyone`: LISTEN_PID does not
 * matter, as the process before this one gives them. Returns 0, -EINVAL when a
 * variable is none, a descriptor is not open, or is no stream socket that
 * listens; or -ENOMEM. Then none is taken.
 */
int listen_given_take(bool anyone, struct listen_given *out);

/* Adds one that this process has opened, which is closed with the others.
 * Returns 0 or -ENOMEM: it is the caller's. */
int listen_given_add(struct listen_given *given, int fd);

/*
 * Finds the socket of a listener, by its name and the address that it should
 * have, for its worker of that number: each gets one of its own while there are
 * enough. Others get one that a worker has already if the kernel allows no
 * further one at its port (SO_REUSEPORT). Returns a new descriptor, which does
 * not block, and the caller closes; -ENOENT: there is none for it; or another
 * negative errno.
 */
int listen_given_share(struct listen_given *given, const char *listener,
		       const struct sockaddr *address, unsigned worker);

/*
 * What its sockets are called when they are handed on: as the listener where
 * they were found by that name, LISTEN_MANAGED where a service manager has
 * given them otherwise, and keeps them open; "": they are this program's own.
 */
const char *listen_given_name(const struct listen_given *given,
			      const char *listener,
			      const struct sockaddr *address);

/* How many there are for a listener. */
unsigned listen_given_count(const struct listen_given *given,
			    const char *listener,
			    const struct sockaddr *address);

/* One that no listener has; null: there is none. */
const struct listen_given_socket *
listen_given_unused(const struct listen_given *given);

/* Closes them; who has shared one goes on. Empty afterwards. */
void listen_given_free(struct listen_given *given);

#endif
