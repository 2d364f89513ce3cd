/*
 * Sockets on loopback, for tests that play a server or a client. What fails
 * fails the test.
 */
#ifndef TESTS_LOOPBACK_H
#define TESTS_LOOPBACK_H

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>

#include "tests/unit.h"

enum { LOOPBACK_LIMIT_S = 10, LOOPBACK_BACKLOG = 64 };

/* A socket that listens on a free port. */
static inline int loopback_listen(unsigned *port)
{
	struct sockaddr_in addr = { .sin_family = AF_INET,
				    .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(addr);
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	assert_true(fd >= 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&addr, len), 0);
	assert_int_equal(listen(fd, LOOPBACK_BACKLOG), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&addr, &len), 0);
	*port = ntohs(addr.sin_port);
	return fd;
}

/* A socket for a connection; neither end of it makes a test wait for ever. */
static inline int loopback_socket(void)
{
	struct timeval limit = { .tv_sec = LOOPBACK_LIMIT_S };
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	assert_true(fd >= 0);
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
	return fd;
}

static inline void loopback_connect(int fd, unsigned port)
{
	struct sockaddr_in to = { .sin_family = AF_INET,
				  .sin_port = htons((uint16_t)port),
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };

	assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof(to)), 0);
}

static inline int loopback_dial(unsigned port)
{
	int fd = loopback_socket();

	loopback_connect(fd, port);
	return fd;
}

#endif
