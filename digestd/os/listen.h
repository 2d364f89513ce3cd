/*
 * Listening sockets: from "host:port" to a descriptor.
 */
#ifndef DIGESTD_OS_LISTEN_H
#define DIGESTD_OS_LISTEN_H

/*
 * Opens a non-blocking TCP socket that listens on `address`: a numeric host
 * and a port, "127.0.0.1:80", "[::1]:80", or ":80" for every address of both
 * families. SO_REUSEPORT is set, so that each worker may open it; but with port
 * 0 it is not, and the port is nobody else's. Returns 0 with the descriptor in
 * *fd (the caller closes it), -EINVAL when the address is none, or the negative
 * errno of the call that failed.
 */
int listen_open(const char *address, int *fd);

/* The port that a socket is bound to; 0 when it is not. */
unsigned listen_port(int fd);

#endif
