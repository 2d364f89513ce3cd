/*
 * A thread with a queue of jobs.
 */
#include "digestd/os/background.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

struct background {
	struct loop *loop;
	pthread_t thread;
	pthread_mutex_t lock; /* guards what follows */
	pthread_cond_t wake;
	struct background_job *first, **last;
	bool stopping;
};

/* Waits for a job; null: the thread is to end. */
static struct background_job *background_next(struct background *b)
{
	struct background_job *job = NULL;

	pthread_mutex_lock(&b->lock);
	while (!b->stopping && !b->first)
		pthread_cond_wait(&b->wake, &b->lock);
	if (!b->stopping) {
		job = b->first;
		b->first = job->next;
		if (!b->first)
			b->last = &b->first;
	}
	pthread_mutex_unlock(&b->lock);
	return job;
}

static void *background_run(void *arg)
{
	struct background *b = arg;
	struct background_job *job;

	while ((job = background_next(b))) {
		job->run(job->arg);
		loop_post(b->loop, &job->call);
	}
	return NULL;
}

static void background_release(struct background *b)
{
	pthread_cond_destroy(&b->wake);
	pthread_mutex_destroy(&b->lock);
	free(b);
}

int background_new(struct loop *loop, struct background **out)
{
	struct background *b = calloc(1, sizeof(*b));
	int err;

	assert(loop);
	if (!b)
		return -ENOMEM;
	b->loop = loop;
	b->last = &b->first;
	pthread_mutex_init(&b->lock, NULL);
	pthread_cond_init(&b->wake, NULL);
	err = -pthread_create(&b->thread, NULL, background_run, b);
	if (err) {
		background_release(b);
		return err;
	}
	*out = b;
	return 0;
}

void background_free(struct background **out, void (*drop)(void *arg))
{
	struct background *b = *out;
	struct background_job *next;

	assert(drop);
	if (!b)
		return;
	pthread_mutex_lock(&b->lock);
	b->stopping = true;
	pthread_cond_signal(&b->wake);
	pthread_mutex_unlock(&b->lock);
	pthread_join(b->thread, NULL);
	for (struct background_job *job = b->first; job; job = next) {
		next = job->next;
		drop(job->arg);
	}
	background_release(b);
	*out = NULL;
}

static void background_take(struct background_job *job)
{
	assert(job->run && job->done);
	job->call = (struct loop_call){ .run = job->done, .arg = job->arg };
	job->next = NULL;
}

void background_run_here(struct background *b, struct background_job *job)
{
	background_take(job);
	job->run(job->arg);
	loop_defer(b->loop, &job->call);
}

void background_start(struct background *b, struct background_job *job)
{
	assert(!b->stopping);
	background_take(job);
	pthread_mutex_lock(&b->lock);
	*b->last = job;
	b->last = &job->next;
	pthread_cond_signal(&b->wake);
	pthread_mutex_unlock(&b->lock);
}
