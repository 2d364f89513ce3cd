/*
 * Listening sockets: from "host:port" to a descriptor.
 */
#ifndef DIGESTD_OS_LISTEN_H
#define DIGESTD_OS_LISTEN_H

#include <stdbool.h>

struct listen_given;

enum {
	LISTEN_BACKLOG = 4096, /* the kernel caps it at somaxconn */
	LISTEN_LABEL_BYTES = 128,
};

struct listen_how {
	/* a numeric host and a port, "127.0.0.1:80", "[::1]:80", ":80" for
	 * every address of both families, or the path of a UNIX socket, which
	 * must be among those given: see listen_path.h */
	const char *address;
	bool joins; /* a socket of this process that listens there already */

	/* sockets that this process was given, among which one is taken that
	 * is for this listener; null: none. See listen_given_share() */
	struct listen_given *given;
	const char *listener; /* "data", "peer" or "admin" */
	unsigned worker;      /* its number, from 0 */
};

/*
 * Opens a non-blocking socket that listens. One that does not join has the
 * port to itself, but for sockets that join it later (SO_REUSEPORT): each
 * worker has one. With port 0 every socket has a port of its own. A socket that
 * was given is used as it is. Returns 0 with the descriptor in *fd (the caller
 * closes it), -EINVAL when the address is none, -EADDRNOTAVAIL for a path that
 * no socket was given for, -EADDRINUSE when anybody else listens there, or the
 * negative errno of the call that failed.
 */
int listen_open(const struct listen_how *how, int *fd);

/* How many sockets were given for this listener; `worker` does not matter. */
unsigned listen_count_given(const struct listen_how *how);

/* What they are called when they are handed on, see listen_given_name(). A null
 * address is no listener's: "". */
const char *listen_name_given(const struct listen_how *how);

/*
 * Has the kernel send without pauses on the connections that a socket accepts
 * from now on, if it is bound to a loopback address: by the congestion control
 * "reno", which any process may choose. Nobody shares a link with clients of
 * the same machine, but with BBR a body of 256 KiB waits for a timer once or
 * twice, and its interrupt costs a virtual machine 20 us. Connections to other
 * addresses stay with what the machine is set to.
 */
void listen_send_freely(int fd);

/* The port that a socket is bound to; 0 when it is not. */
unsigned listen_port(int fd);

/* What a log calls a socket that listens: "port 80", "unix:/path"; "no port"
 * for none, -1. */
void listen_label(int fd, char text[LISTEN_LABEL_BYTES]);

/* The address that it has: "127.0.0.1:80", "[::]:80", "unix:/path"; "": it is
 * none that listens. */
void listen_address(int fd, char text[LISTEN_LABEL_BYTES]);

#endif
