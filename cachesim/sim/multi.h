/*
 * Many caches over one trace, each by itself, in one pass: the requests are
 * taken in blocks, and each block goes through all caches while it is in the
 * processor's cache. Threads divide the caches; as these know nothing of one
 * another, the results are the same with any number of threads.
 *
 * An object that has changed is a miss and is put in anew; or, with
 * keep_changed, as libCacheSim has it, remains in at its old size and is a hit.
 *
 * Costs: those of the caches (sim/sim_cache.h), and 4 bytes an object and
 * thread if the trace has changes.
 */
#ifndef CACHESIM_SIM_MULTI_H
#define CACHESIM_SIM_MULTI_H

#include "cachesim/sim/sim_cache.h"
#include "cachesim/sim/trace.h"

/* One of the caches. */
struct sim_multi_cache {
	const struct eviction_policy *policy;
	uint64_t capacity; /* bytes; objects with equal_sizes */
	bool hashed;	   /* see sim/sim_cache.h */
};

struct sim_multi_config {
	const struct sim_trace *trace;
	const struct sim_multi_cache *caches;
	size_t ncaches;
	uint64_t warm;	   /* requests at the beginning that do not count */
	unsigned nthreads; /* 0: one */
	bool equal_sizes;  /* every object has size 1 */
	bool keep_changed;
	/* Null, or told now and then, by the caller's own thread, how many
	 * requests of the trace that has done. */
	void (*tell)(void *arg, uint64_t requests);
	void *arg;
};

/* Of one cache, for the requests that count; memory at the end. */
struct sim_multi_result {
	uint64_t requests, bytes;
	struct sim_cache_hits hit;
	struct sim_cache_stats stats; /* of all requests */
	size_t memory;
};

/* Simulates; `results`: ncaches of them. 0 or SCD_ENOMEM. */
int sim_multi_run(const struct sim_multi_config *config,
		  struct sim_multi_result *results);

#endif
