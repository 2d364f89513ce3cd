/*
 * Many configurations over one trace, on all cores.
 */
#include "config.h"

#include "cachesim/simulate.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "cachesim/single_cache.h"
#include "codec/error.h"
#include "digestd/tool/command.h"
#include "digestd/tool/progress.h"

enum {
	BLOCK = 1 << 16,     /* requests: its columns stay in the cache */
	TOGETHER = 8,        /* configurations of a thread at a time */
	THREADS_MAX = 256,
	LOOK_NS = 200000000, /* between two looks at the progress */
};

/* What the threads share. */
struct work {
	const struct plan *plan;
	const struct sim_trace *trace;
	struct sim_result *out;
	size_t *rows; /* that are simulated as clusters */
	size_t nrows, together;
	atomic_size_t next;     /* row that nobody has taken */
	atomic_uint_fast64_t done; /* requests, of all rows */
	atomic_int error;       /* the first; ends all */
	pthread_mutex_t lock;   /* of what follows */
	pthread_cond_t ended;
	unsigned running;
};

unsigned simulate_processors(void)
{
	long n = sysconf(_SC_NPROCESSORS_ONLN);

	return n < 1 ? 1 : n > THREADS_MAX ? THREADS_MAX : (unsigned)n;
}

static void simulate_fail(struct work *w, int error)
{
	int none = 0;

	if (error)
		atomic_compare_exchange_strong(&w->error, &none, error);
}

/* n rows of the list, from a position on, block by block. */
static void simulate_run_rows(struct work *w, size_t first, size_t n)
{
	struct sim_cluster *clusters[TOGETHER] = { 0 };
	uint64_t left = w->trace->nrequests;

	for (size_t i = 0; i < n; i++)
		simulate_fail(w,
			      sim_cluster_new(
				      &clusters[i],
				      &w->plan->rows[w->rows[first + i]].config,
				      w->trace));
	while (left && !atomic_load(&w->error)) {
		uint64_t some = left < BLOCK ? left : BLOCK;

		for (size_t i = 0; i < n; i++) {
			simulate_fail(w, sim_cluster_run(clusters[i], some));
			atomic_fetch_add(&w->done, some);
		}
		left -= some;
	}
	for (size_t i = 0; i < n; i++) {
		if (!atomic_load(&w->error))
			simulate_fail(w, sim_cluster_result(
						 clusters[i],
						 &w->out[w->rows[first + i]]));
		sim_cluster_free(&clusters[i]);
	}
}

static void *simulate_thread_main(void *arg)
{
	struct work *w = arg;
	size_t n = w->nrows, first;

	while (!atomic_load(&w->error)) {
		first = atomic_fetch_add(&w->next, w->together);
		if (first >= n)
			break;
		simulate_run_rows(w, first,
				  n - first < w->together ? n - first
							  : w->together);
	}
	pthread_mutex_lock(&w->lock);
	w->running--;
	pthread_cond_signal(&w->ended);
	pthread_mutex_unlock(&w->lock);
	return NULL;
}

/* Waits for the threads, and tells how far they are. */
static void simulate_wait_for(struct work *w, bool quiet)
{
	uint64_t total = w->trace->nrequests * w->nrows;
	struct progress progress;
	struct timespec until;

	progress_start(&progress, quiet ? PROGRESS_NEVER : PROGRESS_TERMINAL,
		       "simulating", total);
	progress.noun = "requests";
	pthread_mutex_lock(&w->lock);
	while (w->running) {
		uint64_t done = atomic_load(&w->done);

		progress_tell(&progress, done, done);
		clock_gettime(CLOCK_REALTIME, &until);
		until.tv_nsec += LOOK_NS;
		until.tv_sec += until.tv_nsec / 1000000000;
		until.tv_nsec %= 1000000000;
		pthread_cond_timedwait(&w->ended, &w->lock, &until);
	}
	pthread_mutex_unlock(&w->lock);
	progress_clear(&progress);
}

/* Starts as many threads as it can; returns their number. */
static unsigned simulate_start(struct work *w, pthread_t *threads,
			       unsigned wanted)
{
	unsigned n = 0;

	pthread_mutex_lock(&w->lock);
	while (n < wanted &&
	       !pthread_create(&threads[n], NULL, simulate_thread_main, w))
		n++;
	w->running = n;
	pthread_mutex_unlock(&w->lock);
	return n;
}

/* All rows of the list, by so many threads at most. */
static int simulate_clusters(struct work *w, unsigned threads, bool quiet)
{
	pthread_t ids[THREADS_MAX];
	unsigned n;

	if (threads > THREADS_MAX)
		threads = THREADS_MAX;
	if (threads > w->nrows)
		threads = (unsigned)w->nrows;
	w->together = (w->nrows + threads - 1) / threads;
	if (w->together > TOGETHER)
		w->together = TOGETHER;
	n = simulate_start(w, ids, threads);
	if (!n)
		simulate_fail(w, SCD_ENOMEM);
	simulate_wait_for(w, quiet);
	while (n)
		pthread_join(ids[--n], NULL);
	return atomic_load(&w->error);
}

int simulate(const struct plan *p, const struct sim_trace *t,
	     struct sim_result *out, const struct simulate_options *options)
{
	struct work w = { .plan = p,
			  .trace = t,
			  .out = out,
			  .rows = calloc(p->nrows, sizeof(*w.rows)),
			  .lock = PTHREAD_MUTEX_INITIALIZER,
			  .ended = PTHREAD_COND_INITIALIZER };
	struct single_cache_options plain = { .nthreads = options->threads,
				       .keep_changed = options->keep_changed,
				       .quiet = options->quiet };
	int error =
		w.rows ? single_cache_simulate(p, t, out, plain) : SCD_ENOMEM;

	for (size_t i = 0; !error && i < p->nrows; i++) {
		if (!single_cache_is(&p->rows[i], t, options->keep_changed))
			w.rows[w.nrows++] = i;
	}
	if (!error && w.nrows)
		error = simulate_clusters(&w, options->threads,
					  options->quiet);
	free(w.rows);
	if (!error)
		return TOOL_OK;
	fprintf(stderr, "%s: %s\n", program_invocation_short_name,
		scd_strerror(error));
	return TOOL_IO;
}
