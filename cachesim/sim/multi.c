/*
 * The pass over the blocks, in each thread.
 */
#include "cachesim/sim/multi.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "codec/error.h"

enum {
	BLOCK = 4096,	   /* requests: 16 KiB, half of a first-level cache */
	TELL_BLOCKS = 4,  /* between two tellings */
};

/* One thread: every nworkers-th cache from the first on. */
struct worker {
	const struct sim_multi_config *config;
	struct sim_multi_result *results;
	size_t first, nworkers;
	struct sim_cache **caches; /* of all, shared; this one's are made */
	uint32_t *size;		   /* by object, as of now; null: none change */
	uint64_t at, next_change;  /* requests and changes done */
	uint64_t next_tell;	   /* the request to tell of */
	uint64_t bytes;		   /* of the requests that count */
	pthread_t thread;
	bool started;
	int err;
};

static const uint32_t *multi_sizes(const struct worker *w)
{
	if (w->config->equal_sizes)
		return NULL;
	return w->size ? w->size : w->config->trace->size;
}

/* The requests up to `end`, through one cache. */
static int multi_replay(const struct worker *w, size_t number, uint64_t end)
{
	const struct sim_trace *t = w->config->trace;
	struct sim_cache_hits unused = { 0 };
	struct sim_cache_requests r = {
		.object = t->object + w->at,
		.n = (size_t)(end - w->at),
		.ahead = (size_t)(t->nrequests - end),
		.size = multi_sizes(w),
	};

	return sim_cache_replay(w->caches[number], &r,
				w->at < w->config->warm
					? &unused
					: &w->results[number].hit);
}

static void multi_count_bytes(struct worker *w, uint64_t end)
{
	const uint32_t *size = multi_sizes(w);

	if (w->at < w->config->warm)
		return;
	if (!size) {
		w->bytes += end - w->at;
		return;
	}
	for (uint64_t i = w->at; i < end; i++)
		w->bytes += size[w->config->trace->object[i]];
}

/* The end of a stretch of requests between which nothing changes, within a
 * block and on one side of the end of the warm-up. */
static uint64_t multi_stretch(const struct worker *w)
{
	const struct sim_trace *t = w->config->trace;
	uint64_t end = w->at + BLOCK;

	if (end > t->nrequests)
		end = t->nrequests;
	if (w->at < w->config->warm && end > w->config->warm)
		end = w->config->warm;
	if (w->size && w->next_change < t->nchanges &&
	    t->change[w->next_change] < end)
		end = t->change[w->next_change];
	return end;
}

/* The changes at the next request. */
static void multi_change(struct worker *w)
{
	const struct sim_trace *t = w->config->trace;

	while (w->size && w->next_change < t->nchanges &&
	       t->change[w->next_change] == w->at) {
		uint32_t object = t->object[w->at];

		w->size[object] = t->change_size[w->next_change++];
		for (size_t i = w->first; i < w->config->ncaches &&
					  !w->config->keep_changed;
		     i += w->nworkers)
			sim_cache_drop(w->caches[i], object);
	}
}

static int multi_make_caches(struct worker *w)
{
	const struct sim_multi_config *config = w->config;
	int err = 0;

	for (size_t i = w->first; i < config->ncaches && !err;
	     i += w->nworkers) {
		struct sim_cache_config one = {
			.policy = config->caches[i].policy,
			.capacity = config->caches[i].capacity,
			.hashed = config->caches[i].hashed,
			.nobjects = config->trace->nobjects,
			.hash = config->trace->hash,
		};

		err = sim_cache_new(&w->caches[i], &one);
	}
	return err;
}

static int multi_copy_sizes(struct worker *w)
{
	const struct sim_trace *t = w->config->trace;
	size_t bytes = (size_t)t->nobjects * sizeof(*w->size);

	if (!t->nchanges)
		return 0;
	w->size = malloc(bytes);
	if (!w->size)
		return SCD_ENOMEM;
	memcpy(w->size, t->size, bytes);
	return 0;
}

/* Only the first is the caller's thread. */
static void multi_tell(struct worker *w)
{
	if (w->first || !w->config->tell || w->at < w->next_tell)
		return;
	w->config->tell(w->config->arg, w->at);
	w->next_tell = w->at + TELL_BLOCKS * BLOCK;
}

static void multi_pass(struct worker *w)
{
	while (w->at < w->config->trace->nrequests && !w->err) {
		uint64_t end;

		multi_change(w);
		end = multi_stretch(w);
		multi_count_bytes(w, end);
		for (size_t i = w->first; i < w->config->ncaches && !w->err;
		     i += w->nworkers)
			w->err = multi_replay(w, i, end);
		w->at = end;
		multi_tell(w);
	}
}

static void multi_report(struct worker *w)
{
	const struct sim_multi_config *config = w->config;
	uint64_t n = config->trace->nrequests;

	for (size_t i = w->first; i < config->ncaches; i += w->nworkers) {
		struct sim_multi_result *r = &w->results[i];

		r->requests = n > config->warm ? n - config->warm : 0;
		r->bytes = w->bytes;
		sim_cache_stats(w->caches[i], &r->stats);
		r->memory = sim_cache_memory(w->caches[i]);
	}
}

static void *multi_work(void *arg)
{
	struct worker *w = arg;

	w->err = multi_copy_sizes(w);
	if (!w->err)
		w->err = multi_make_caches(w);
	if (!w->err)
		multi_pass(w);
	if (!w->err)
		multi_report(w);
	for (size_t i = w->first; i < w->config->ncaches; i += w->nworkers)
		sim_cache_free(&w->caches[i]);
	free(w->size);
	return NULL;
}

/* All threads but the first, which is the caller's own; one that cannot be
 * started is done without. */
static int multi_work_all(struct worker *workers, size_t n)
{
	int err;

	for (size_t i = 1; i < n; i++)
		workers[i].started = !pthread_create(&workers[i].thread, NULL,
						     multi_work, &workers[i]);
	multi_work(&workers[0]);
	err = workers[0].err;
	for (size_t i = 1; i < n; i++) {
		if (workers[i].started)
			pthread_join(workers[i].thread, NULL);
		else
			multi_work(&workers[i]);
		err = err ? err : workers[i].err;
	}
	return err;
}

int sim_multi_run(const struct sim_multi_config *config,
		  struct sim_multi_result *results)
{
	size_t n = config->nthreads ? config->nthreads : 1;
	struct sim_cache **caches;
	struct worker *workers;
	int err = SCD_ENOMEM;

	if (n > config->ncaches)
		n = config->ncaches;
	if (!n)
		return 0;
	memset(results, 0, config->ncaches * sizeof(*results));
	caches = calloc(config->ncaches, sizeof(struct sim_cache *));
	workers = calloc(n, sizeof(*workers));
	for (size_t i = 0; caches && workers && i < n; i++) {
		workers[i] = (struct worker){
			.config = config,
			.results = results,
			.first = i,
			.nworkers = n,
			.caches = caches,
		};
	}
	if (caches && workers)
		err = multi_work_all(workers, n);
	free(caches);
	free(workers);
	return err;
}
