/*
 * A server that says what a test wants, whatever it is asked: one request after
 * the other, each on a connection of its own.
 */
#ifndef TESTS_PROXY_SCRIPTED_H
#define TESTS_PROXY_SCRIPTED_H

#include <pthread.h>

enum { SCRIPTED_MAX = 4, SCRIPTED_PAUSE_US = 5000 };

struct scripted {
	const char *texts[SCRIPTED_MAX]; /* answers in turn, the last one again
					    and again; \1: a pause */
	char url[64];
	pthread_t thread;
	int listen_fd;
};

/* With its texts, it serves from now on. */
void scripted_begin(struct scripted *s);
void scripted_end(struct scripted *s);

#endif
