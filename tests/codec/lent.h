/*
 * Threads that tests lend to libscd, in many ways.
 */
#ifndef TEST_CODEC_LENT_H
#define TEST_CODEC_LENT_H

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

#include "codec/error.h"
#include "codec/threads.h"
#include "tests/unit.h"

typedef void lent_task(void *arg, size_t i);

enum { LENT_MAX_THREADS = 8 };

/* What the threads of a run share. */
struct lent_run {
	lent_task *task;
	void *arg;
	size_t ntasks;
	atomic_size_t next;
};

static inline void *lent_thread(void *arg)
{
	struct lent_run *run = arg;
	size_t i;

	while ((i = atomic_fetch_add(&run->next, 1)) < run->ntasks)
		run->task(run->arg, i);
	return NULL;
}

/* By as many threads as *pool says, an unsigned. */
static inline int lent_run_threads(void *pool, lent_task *task, void *arg,
				   size_t ntasks)
{
	const unsigned nthreads = *(const unsigned *)pool;
	struct lent_run run = {.task = task, .arg = arg, .ntasks = ntasks};
	pthread_t threads[LENT_MAX_THREADS];

	assert_true(ntasks > 1 && ntasks <= SCD_MAX_TASKS);
	for (unsigned i = 0; i < nthreads; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, lent_thread,
						&run),
				 0);
	for (unsigned i = 0; i < nthreads; i++)
		pthread_join(threads[i], NULL);
	return 0;
}

/* By the calling thread, the last one first. */
static inline int lent_run_backwards(void *pool, lent_task *task, void *arg,
				     size_t ntasks)
{
	(void)pool;
	while (ntasks > 0)
		task(arg, --ntasks);
	return 0;
}

/* The odd ones first. */
static inline int lent_run_shuffled(void *pool, lent_task *task, void *arg,
				    size_t ntasks)
{
	(void)pool;
	for (size_t i = 1; i < ntasks; i += 2)
		task(arg, i);
	for (size_t i = 0; i < ntasks; i += 2)
		task(arg, i);
	return 0;
}

/* Not all of them, and says so, or says nothing. */
static inline int lent_run_fails(void *pool, lent_task *task, void *arg,
				 size_t ntasks)
{
	(void)pool;
	for (size_t i = 0; i + 1 < ntasks; i++)
		task(arg, i);
	return SCD_ENOMEM;
}

static inline int lent_run_forgets(void *pool, lent_task *task, void *arg,
				   size_t ntasks)
{
	(void)pool;
	for (size_t i = 0; i < ntasks; i++) {
		if (i != ntasks / 2)
			task(arg, i);
	}
	return 0;
}

#endif
