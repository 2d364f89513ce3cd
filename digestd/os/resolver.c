/*
 * Lookups in threads: a queue of what is to be looked up, a list of what has
 * been, both under one lock, and an eventfd that calls the loop.
 *
 * Threads and loop share the resolver's state, which goes with the last of
 * them: a thread that waits for a name server may outlive the loop.
 */
#include "config.h"

#include "digestd/os/resolver.h"

#include <assert.h>
#include <errno.h>
#include <netdb.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "digestd/os/loop.h"

enum { NAME_MAX_BYTES = 255, PORT_TEXT = 8 };

bool resolver_address_is(const union resolver_address *a,
			 const union resolver_address *b)
{
	if (a->any.sa_family != b->any.sa_family)
		return false;
	if (a->any.sa_family == AF_INET6)
		return a->in6.sin6_port == b->in6.sin6_port &&
		       a->in6.sin6_scope_id == b->in6.sin6_scope_id &&
		       !memcmp(&a->in6.sin6_addr, &b->in6.sin6_addr,
			       sizeof(a->in6.sin6_addr));
	return a->in4.sin_port == b->in4.sin_port &&
	       a->in4.sin_addr.s_addr == b->in4.sin_addr.s_addr;
}

struct resolver_query {
	struct resolver_query *next;
	/* null: nobody wants it. The loop's, which frees what is done. */
	void (*done)(void *arg, const struct resolver_answer *answer);
	void *arg;
	struct resolver_answer answer;
	char port[PORT_TEXT];
	char name[NAME_MAX_BYTES + 1];
};

/* What threads and loop share. */
struct shared {
	pthread_mutex_t lock; /* guards all but fd */
	int fd;
	unsigned refs; /* the resolver, and each thread */
	unsigned nthreads;
	bool closed;
	struct resolver_query *waiting, **waiting_end;
	struct resolver_query *finished;
};

struct resolver {
	struct loop *loop;
	struct loop_watch watch;
	struct shared *shared;
};

static void resolver_free_queries(struct resolver_query *q)
{
	while (q) {
		struct resolver_query *next = q->next;

		free(q);
		q = next;
	}
}

/* Ends a use; the lock is held, and is not after it. */
static void resolver_unref_and_unlock(struct shared *s)
{
	bool last = !--s->refs;

	pthread_mutex_unlock(&s->lock);
	if (!last)
		return;
	resolver_free_queries(s->waiting);
	resolver_free_queries(s->finished);
	pthread_mutex_destroy(&s->lock);
	close(s->fd);
	free(s);
}

static void resolver_look_up(struct resolver_query *q)
{
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM,
				  .ai_flags = AI_NUMERICSERV };
	struct addrinfo *list = NULL;
	int err = getaddrinfo(q->name, q->port, &hints, &list);

	q->answer.no_such_name = err == EAI_NONAME || err == EAI_NODATA;
	if (err)
		return;
	for (struct addrinfo *a = list;
	     a && q->answer.n < RESOLVER_ADDRESSES; a = a->ai_next) {
		if (a->ai_addrlen > sizeof(q->answer.addresses[0]) ||
		    (a->ai_family != AF_INET && a->ai_family != AF_INET6))
			continue;
		memcpy(&q->answer.addresses[q->answer.n++], a->ai_addr,
		       a->ai_addrlen);
	}
	freeaddrinfo(list);
}

static struct resolver_query *resolver_take_waiting(struct shared *s)
{
	struct resolver_query *q = s->waiting;

	if (!q)
		return NULL;
	s->waiting = q->next;
	if (!s->waiting)
		s->waiting_end = &s->waiting;
	return q;
}

static void *resolver_run(void *arg)
{
	static const uint64_t one = 1;
	struct shared *s = arg;
	struct resolver_query *q;

	pthread_mutex_lock(&s->lock);
	while (!s->closed && (q = resolver_take_waiting(s))) {
		pthread_mutex_unlock(&s->lock);
		resolver_look_up(q);
		pthread_mutex_lock(&s->lock);
		q->next = s->finished;
		s->finished = q;
		if (write(s->fd, &one, sizeof(one)) < 0)
			break; /* cannot be: the counter is never full */
	}
	s->nthreads--;
	resolver_unref_and_unlock(s);
	return NULL;
}

static void resolver_answers_ready(void *arg, unsigned events)
{
	struct resolver *r = arg;
	struct shared *s = r->shared;
	struct resolver_query *q;
	uint64_t count;

	(void)events;
	if (read(s->fd, &count, sizeof(count)) < 0)
		return;
	pthread_mutex_lock(&s->lock);
	q = s->finished;
	s->finished = NULL;
	pthread_mutex_unlock(&s->lock);
	while (q) {
		struct resolver_query *next = q->next;

		if (q->done)
			q->done(q->arg, &q->answer);
		free(q);
		q = next;
	}
}

int resolver_new(struct loop *loop, struct resolver **out)
{
	struct resolver *r = calloc(1, sizeof(*r));
	struct shared *s = calloc(1, sizeof(*s));
	int err = -ENOMEM;

	assert(loop);
	if (!r || !s)
		goto fail;
	s->fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	if (s->fd < 0) {
		err = -errno;
		goto fail;
	}
	err = loop_watch(loop, &r->watch, s->fd, LOOP_READ,
			 resolver_answers_ready, r);
	if (err) {
		close(s->fd);
		goto fail;
	}
	pthread_mutex_init(&s->lock, NULL);
	s->refs = 1;
	s->waiting_end = &s->waiting;
	r->loop = loop;
	r->shared = s;
	*out = r;
	return 0;
fail:
	free(r);
	free(s);
	return err;
}

void resolver_free(struct resolver **r)
{
	struct resolver *gone = *r;

	*r = NULL;
	if (!gone)
		return;
	loop_unwatch(gone->loop, &gone->watch);
	pthread_mutex_lock(&gone->shared->lock);
	gone->shared->closed = true;
	resolver_unref_and_unlock(gone->shared);
	free(gone);
}

/* One thread more, if that is allowed; the lock is held. */
static int resolver_start_thread(struct shared *s)
{
	pthread_attr_t attr;
	pthread_t thread;
	int err;

	if (s->nthreads == RESOLVER_THREADS)
		return 0;
	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	s->nthreads++;
	s->refs++;
	err = pthread_create(&thread, &attr, resolver_run, s);
	pthread_attr_destroy(&attr);
	if (!err)
		return 0;
	s->nthreads--;
	s->refs--;
	/* those that run will come to it */
	return s->nthreads ? 0 : -EAGAIN;
}

int resolver_start(struct resolver *r, const char *name, unsigned port,
		   void (*done)(void *arg,
				const struct resolver_answer *answer),
		   void *arg, struct resolver_query **out)
{
	struct shared *s = r->shared;
	struct resolver_query *q;
	int err;

	assert(name && done);
	assert(port <= 65535);
	if (strlen(name) > NAME_MAX_BYTES)
		return -EINVAL;
	q = calloc(1, sizeof(*q));
	if (!q)
		return -ENOMEM;
	q->done = done;
	q->arg = arg;
	strcpy(q->name, name);
	snprintf(q->port, sizeof(q->port), "%u", port);
	pthread_mutex_lock(&s->lock);
	err = resolver_start_thread(s);
	if (!err) {
		*s->waiting_end = q;
		s->waiting_end = &q->next;
	}
	pthread_mutex_unlock(&s->lock);
	if (err)
		free(q);
	else
		*out = q;
	return err;
}

void resolver_cancel(struct resolver_query **q)
{
	if (*q)
		(*q)->done = NULL;
	*q = NULL;
}
