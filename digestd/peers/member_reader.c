/*
 * A thread that reads, and an eventfd by which it tells the loop. What they
 * share goes with the last of them: a thread that waits for a name server
 * cannot be broken off, and may outlive the loop.
 */
#include "digestd/peers/member_reader.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "digestd/os/loop.h"
#include "digestd/peers/member_source.h"

struct member_reader {
	struct loop *loop;
	struct loop_watch watch;
	void (*done)(void *arg, struct member_reading *reading);
	void *arg;
	pthread_t thread;

	/* shared with the thread */
	atomic_uint refs;
	int ended;  /* becomes readable with the reading */
	int cancel; /* ends the reading */
	char *source;
	bool https;
	struct member_reading reading;
};

static void member_reader_close(int fd)
{
	if (fd >= 0)
		close(fd);
}

static void member_reader_unref(struct member_reader *r)
{
	if (atomic_fetch_sub(&r->refs, 1) > 1)
		return;
	member_reader_close(r->ended);
	member_reader_close(r->cancel);
	member_list_free(&r->reading.list);
	free(r->source);
	free(r);
}

static void member_reader_signal(int fd)
{
	static const uint64_t one = 1;
	ssize_t written = write(fd, &one, sizeof(one));

	assert(written == sizeof(one)); /* its counter is never full */
	(void)written;
}

static void *member_reader_run(void *arg)
{
	struct member_reader *r = arg;
	const struct member_source_ask ask = {r->source, r->https, r->cancel};

	r->reading.well =
		member_source_read(&ask, &r->reading.list, &r->reading.fault);
	member_reader_signal(r->ended);
	member_reader_unref(r);
	return NULL;
}

static void member_reader_on_end(void *arg, unsigned events)
{
	struct member_reader *r = arg;
	struct member_reading reading;

	(void)events;
	loop_unwatch(r->loop, &r->watch);
	pthread_join(r->thread, NULL); /* its writes are seen after this */
	reading = r->reading;
	r->reading.list = (struct member_list){.n = 0};
	r->done(r->arg, &reading);
	member_reader_unref(r);
}

/* Starts the thread of a reader whose loop watches for its end. */
static int member_reader_start_thread(struct member_reader *r)
{
	int err;

	atomic_fetch_add(&r->refs, 1);
	err = -pthread_create(&r->thread, NULL, member_reader_run, r);
	if (!err)
		return 0;
	loop_unwatch(r->loop, &r->watch);
	atomic_fetch_sub(&r->refs, 1);
	return err;
}

int member_reader_start(struct loop *loop, const char *source, bool https,
			void (*done)(void *arg, struct member_reading *reading),
			void *arg, struct member_reader **out)
{
	struct member_reader *r = calloc(1, sizeof(*r));
	int err = 0;

	assert(loop && done && member_source_is(source));
	if (!r)
		return -ENOMEM;
	*r = (struct member_reader){
		.loop = loop, .done = done, .arg = arg, .https = https};
	atomic_init(&r->refs, 1);
	r->source = strdup(source);
	r->ended = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	r->cancel = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (!r->source)
		err = -ENOMEM;
	else if (r->ended < 0 || r->cancel < 0)
		err = -EMFILE;
	if (!err)
		err = loop_watch(loop, &r->watch, r->ended, LOOP_READ,
				 member_reader_on_end, r);
	if (!err)
		err = member_reader_start_thread(r);
	if (err)
		member_reader_unref(r);
	else
		*out = r;
	return err;
}

void member_reader_cancel(struct member_reader **out)
{
	struct member_reader *r = *out;

	if (!r)
		return;
	*out = NULL;
	loop_unwatch(r->loop, &r->watch);
	member_reader_signal(r->cancel);
	if (member_source_can_be_cancelled(r->source))
		pthread_join(r->thread, NULL);
	else
		pthread_detach(r->thread);
	member_reader_unref(r);
}
