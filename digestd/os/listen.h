/*
 * Listening sockets: from "host:port" to a descriptor.
 */
#ifndef DIGESTD_OS_LISTEN_H
#define DIGESTD_OS_LISTEN_H

#include <stdbool.h>

struct listen_how {
	/* a numeric host and a port, "127.0.0.1:80", "[::1]:80", or ":80" for
	 * every address of both families */
	const char *address;
	bool joins; /* a socket of this process that listens there already */
};

/*
 * Opens a non-blocking TCP socket that listens. One that does not join has the
 * port to itself, but for sockets that join it later (SO_REUSEPORT): each
 * worker has one. With port 0 every socket has a port of its own. Returns 0
 * with the descriptor in *fd (the caller closes it), -EINVAL when the address
 * is none, -EADDRINUSE when anybody else listens there, or the negative errno
 * of the call that failed.
 */
int listen_open(const struct listen_how *how, int *fd);

/* The port that a socket is bound to; 0 when it is not. */
unsigned listen_port(int fd);

#endif
