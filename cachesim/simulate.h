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

/*
 * Runs all rows; out[i] is the result of row i. threads: 1 or more. quiet: no
 * progress on stderr. Returns an exit code; what went wrong was told.
 */
int simulate(const struct plan *p, const struct sim_trace *t,
	     struct sim_result *out, unsigned threads, bool quiet);

#endif
