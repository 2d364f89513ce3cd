/*
 * A plan that several processes simulate together (mpirun): a single
 * configuration with its proxies divided, if it can be; several configurations
 * divided among the processes. What comes out is what one process gives.
 */
#ifndef CACHESIM_SIMULATE_MPI_H
#define CACHESIM_SIMULATE_MPI_H

#include "cachesim/simulate.h"

/*
 * As simulate(), for a process that is not alone; all have the same plan. All
 * get all results. Tells also if they do not have the same trace.
 */
int simulate_mpi(const struct plan *p, const struct sim_trace *t,
		 struct sim_result *out,
		 const struct simulate_options *options);

#endif
