/*
 * Reading what is purged while a process starts.
 */
#include "digestd/os/handover_purges.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

struct handover_purges {
	int channel;
	int stop; /* an eventfd; readable: no more is to be read */
	pthread_t thread;
	/* the thread's while it runs */
	struct invalidation *all;
	size_t n, room;
	int error;
};

static int handover_purges_keep(struct handover_purges *p,
				const struct handover_message *m)
{
	size_t room = p->room ? 2 * p->room : 64;
	struct invalidation *all;

	if (m->kind != HANDOVER_PURGE)
		return -EPROTO;
	if (p->n == p->room) {
		all = realloc(p->all, room * sizeof(*all));
		if (!all)
			return -ENOMEM;
		p->all = all;
		p->room = room;
	}
	p->all[p->n++] = m->of;
	return 0;
}

/* Takes all that has come; -EAGAIN: there is no more now. */
static int handover_purges_read(struct handover_purges *p)
{
	struct handover_message m;
	int err;

	do {
		err = handover_receive(p->channel, &m);
		if (!err)
			err = handover_purges_keep(p, &m);
	} while (!err);
	return err;
}

static void *handover_purges_run(void *arg)
{
	struct handover_purges *p = arg;
	struct pollfd ready[] = { { .fd = p->channel, .events = POLLIN },
				  { .fd = p->stop, .events = POLLIN } };
	int err = -EAGAIN;

	while (err == -EAGAIN) {
		if (poll(ready, 2, -1) < 0 && errno != EINTR)
			err = -errno;
		else if (ready[1].revents)
			break;
		else
			err = handover_purges_read(p);
	}
	p->error = err == -EAGAIN ? 0 : err;
	return NULL;
}

/* Up to the DISK of the other process. */
static int handover_purges_await_disk(struct handover_purges *p, int ms)
{
	struct handover_message m;
	int err;

	for (;;) {
		err = handover_wait(p->channel, ms, &m);
		if (err || m.kind == HANDOVER_DISK)
			return err;
		err = handover_purges_keep(p, &m);
		if (err)
			return err;
	}
}

static void handover_purges_free(struct handover_purges *p)
{
	if (p->stop >= 0)
		close(p->stop);
	free(p->all);
	free(p);
}

int handover_purges_new(int channel, int ms, struct handover_purges **out)
{
	struct handover_purges *p = calloc(1, sizeof(*p));
	int err;

	if (!p)
		return -ENOMEM;
	p->channel = channel;
	p->stop = eventfd(0, EFD_CLOEXEC);
	err = p->stop < 0 ? -errno : handover_purges_await_disk(p, ms);
	if (!err)
		err = -pthread_create(&p->thread, NULL, handover_purges_run, p);
	if (err)
		handover_purges_free(p);
	else
		*out = p;
	return err;
}

int handover_purges_end(struct handover_purges **out,
			void (*each)(void *arg, const struct invalidation *of),
			void *arg)
{
	struct handover_purges *p = *out;
	const uint64_t one = 1;
	int error;

	*out = NULL;
	if (!p)
		return 0;
	/* an eventfd of 0 takes it */
	(void)!write(p->stop, &one, sizeof(one));
	pthread_join(p->thread, NULL);
	for (size_t i = 0; each && i < p->n; i++)
		each(arg, &p->all[i]);
	error = p->error;
	handover_purges_free(p);
	return error;
}
