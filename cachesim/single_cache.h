/*
 * Rows of a plan that are single caches without anything around them: these
 * are simulated together, and faster than as clusters of one, with the same
 * result.
 */
#ifndef CACHESIM_SINGLE_CACHE_H
#define CACHESIM_SINGLE_CACHE_H

#include "cachesim/plan.h"

struct single_cache_options {
	unsigned nthreads;
	/* A changed object is a hit, and stays as it is, as libCacheSim has
	 * it. Then all rows must be plain. */
	bool keep_changed;
	bool quiet; /* no progress on stderr */
};

/* Whether a row is one; of a trace with changes none is, unless changed
 * objects are kept. */
bool single_cache_is(const struct plan_row *row, const struct sim_trace *t,
		     bool keep_changed);

/*
 * Simulates those rows that are; out[i] is the result of row i, others are left
 * alone. 0 or SCD_ENOMEM.
 */
int single_cache_simulate(const struct plan *p, const struct sim_trace *t,
			  struct sim_result *out,
			  struct single_cache_options options);

#endif
