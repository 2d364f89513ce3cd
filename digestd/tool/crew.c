/*
 * Threads that take the next task until there is none.
 */
#include "digestd/tool/crew.h"

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

struct crew_job {
	void (*task)(void *arg, size_t i);
	void *arg;
	size_t ntasks;
	atomic_size_t next;
};

static void *crew_work(void *arg)
{
	struct crew_job *w = arg;
	size_t i;

	while ((i = atomic_fetch_add(&w->next, 1)) < w->ntasks)
		w->task(w->arg, i);
	return NULL;
}

int crew_run(void *nthreads, void (*task)(void *arg, size_t i), void *arg,
	     size_t ntasks)
{
	const unsigned wanted = *(const unsigned *)nthreads;
	struct crew_job w = {.task = task, .arg = arg, .ntasks = ntasks};
	pthread_t threads[CREW_MAX_THREADS];
	unsigned n = 0;

	assert(wanted <= CREW_MAX_THREADS);
	while (n + 1 < wanted && n + 1 < ntasks &&
	       pthread_create(&threads[n], NULL, crew_work, &w) == 0)
		n++;
	crew_work(&w);
	while (n > 0)
		pthread_join(threads[--n], NULL);
	return 0;
}
