/*
 * A server that a test plays in threads: one that accepts, and one for each
 * connection.
 */
#ifndef TESTS_FETCH_ACCEPTING_H
#define TESTS_FETCH_ACCEPTING_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/unit.h"

enum { ACCEPTING_MAX = 1024 }; /* connections */

struct accepting {
	int listen_fd;
	void *(*serve)(void *fd); /* (intptr_t)fd; closes it */
	pthread_t thread, connections[ACCEPTING_MAX];
	atomic_uint accepted;
};

static inline void *accepting_run(void *arg)
{
	struct accepting *a = arg;
	int fd;

	while ((fd = accept(a->listen_fd, NULL, NULL)) >= 0)
		pthread_create(&a->connections[a->accepted++], NULL, a->serve,
			       (void *)(intptr_t)fd);
	return NULL;
}

/* listen_fd becomes its own. */
static inline void accepting_begin(struct accepting *a, int listen_fd,
				   void *(*serve)(void *fd))
{
	a->listen_fd = listen_fd;
	a->serve = serve;
	a->accepted = 0;
	assert_int_equal(pthread_create(&a->thread, NULL, accepting_run, a), 0);
}

/* All connections have to end by themselves. */
static inline void accepting_end(struct accepting *a)
{
	shutdown(a->listen_fd, SHUT_RDWR);
	pthread_join(a->thread, NULL);
	for (unsigned i = 0; i < a->accepted; i++)
		pthread_join(a->connections[i], NULL);
	close(a->listen_fd);
}

#endif
