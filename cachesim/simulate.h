/*
 * Many configurations over one trace, on all cores. Each thread takes a few at
 * a time and streams the trace through them block by block. What comes out
 * depends on the configurations only, not on the threads.
 */
#ifndef CACHESIM_SIMULATE_H
#define CACHESIM_SIMULATE_H

#include "cachesim/plan.h"

/* The processors that there are. */
unsigned simulate_processors(void);

struct simulate_options {
	unsigned threads; /* 1 or more */
	bool quiet;       /* no progress on stderr */
	/* A changed object stays a hit; only where all rows are single caches
	 * (single_cache.h). */
	bool keep_changed;
};

/*
 * Runs all rows; out[i] is the result of row i. Returns an exit code; what went
 * wrong was told.
 */
int simulate(const struct plan *p, const struct sim_trace *t,
	     struct sim_result *out, const struct simulate_options *options);

#endif
