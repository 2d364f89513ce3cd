/*
 * Threads.
 */
#include "tests/world/world_threads.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdlib.h>
#include <time.h>

#include "cachesim/world/world.h"

enum {
	WAKE_US = 1000,   /* until a thread that was signalled runs, at most */
	TIMED_US = 50000, /* of a wait that ends by itself */
};

struct thread {
	pthread_t real;
	void *(*run)(void *arg);
	void *arg;
	sem_t turn;
	bool over;
	const pthread_cond_t *waits; /* null: for its turn only */
	struct world_event wake;
	struct thread *next;
};

static struct thread *threads, **threads_last = &threads;
static _Thread_local struct thread *thread_self; /* null: the world */
static sem_t thread_handed_over;                 /* to the world */

/* The disk's, in digestd/disk/disk_inside.h; null without it. */
void *disk_writer(void *arg) __attribute__((weak));
void *disk_reader(void *arg) __attribute__((weak));

int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
			  void *(*run)(void *arg), void *arg);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
			  void *(*run)(void *arg), void *arg);
int __real_pthread_join(pthread_t thread, void **result);
int __wrap_pthread_join(pthread_t thread, void **result);
int __wrap_pthread_cond_wait(pthread_cond_t *cond, pthread_mutex_t *lock);
int __wrap_pthread_cond_timedwait(pthread_cond_t *cond, pthread_mutex_t *lock,
				  const struct timespec *until);
int __wrap_pthread_cond_signal(pthread_cond_t *cond);
int __wrap_pthread_cond_broadcast(pthread_cond_t *cond);

static void thread_wait(sem_t *turn)
{
	while (sem_wait(turn))
		continue;
}

/* The world hands over to a thread, until that does. */
static void thread_run(void *arg)
{
	struct thread *t = arg;

	world_cancel(&t->wake);
	t->waits = NULL;
	sem_post(&t->turn);
	thread_wait(&thread_handed_over);
}

static void thread_hand_over(struct thread *t)
{
	sem_post(&thread_handed_over);
	thread_wait(&t->turn);
}

static void *thread_main(void *arg)
{
	struct thread *t = arg;

	thread_self = t;
	thread_wait(&t->turn);
	t->run(t->arg);
	t->over = true;
	sem_post(&thread_handed_over);
	return NULL;
}

static int thread_new(pthread_t *thread, void *(*run)(void *arg), void *arg)
{
	struct thread *t = calloc(1, sizeof(*t));

	if (!t)
		return ENOMEM;
	if (!threads)
		sem_init(&thread_handed_over, 0, 0);
	sem_init(&t->turn, 0, 0);
	t->run = run;
	t->arg = arg;
	*threads_last = t;
	threads_last = &t->next;
	world_at(&t->wake, world_now_us + world_below(CHOICE_DISK, WAKE_US),
		 thread_run, t);
	if (__real_pthread_create(&t->real, NULL, thread_main, t))
		world_fail("the world has no threads left");
	*thread = t->real;
	return 0;
}

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
			  void *(*run)(void *arg), void *arg)
{
	(void)attributes;
	if (run && (run == disk_writer || run == disk_reader))
		return thread_new(thread, run, arg);
	*thread = pthread_self();
	return 0;
}

int __wrap_pthread_join(pthread_t thread, void **result)
{
	struct thread **link = &threads, *t;

	if (result)
		*result = NULL;
	while ((t = *link) && !pthread_equal(t->real, thread))
		link = &t->next;
	if (!t) /* a loop, or the world */
		return 0;
	while (!t->over)
		thread_run(t);
	world_cancel(&t->wake);
	__real_pthread_join(t->real, NULL);
	*link = t->next;
	if (!t->next)
		threads_last = link;
	sem_destroy(&t->turn);
	free(t);
	return 0;
}

/* The world itself has to wait: whoever can go on does, and may end that. */
static void thread_run_another(void)
{
	struct thread *t = threads;

	while (t && (t->over || t->waits))
		t = t->next;
	if (!t)
		world_fail("all wait for each other");
	thread_run(t);
}

void world_thread_pause(int64_t for_us)
{
	struct thread *t = thread_self;

	if (!t)
		return;
	world_at(&t->wake, world_now_us + for_us, thread_run, t);
	thread_hand_over(t);
}

int __wrap_pthread_cond_wait(pthread_cond_t *cond, pthread_mutex_t *lock)
{
	struct thread *t = thread_self;

	pthread_mutex_unlock(lock);
	if (t) {
		t->waits = cond;
		thread_hand_over(t);
	} else {
		thread_run_another();
	}
	pthread_mutex_lock(lock);
	return 0;
}

int __wrap_pthread_cond_timedwait(pthread_cond_t *cond, pthread_mutex_t *lock,
				  const struct timespec *until)
{
	int64_t due_us = world_now_us + TIMED_US;

	(void)until; /* of a clock that is not the world's */
	world_at(&thread_self->wake, due_us, thread_run, thread_self);
	__wrap_pthread_cond_wait(cond, lock);
	return world_now_us >= due_us ? ETIMEDOUT : 0;
}

static void thread_wake(struct thread *t)
{
	t->waits = NULL;
	world_at(&t->wake, world_now_us + world_below(CHOICE_DISK, WAKE_US),
		 thread_run, t);
}

int __wrap_pthread_cond_signal(pthread_cond_t *cond)
{
	for (struct thread *t = threads; t; t = t->next) {
		if (t->waits == cond) {
			thread_wake(t);
			break;
		}
	}
	return 0;
}

int __wrap_pthread_cond_broadcast(pthread_cond_t *cond)
{
	for (struct thread *t = threads; t; t = t->next) {
		if (t->waits == cond)
			thread_wake(t);
	}
	return 0;
}
