/*
 * What the environment tells of who started this process, before MPI is
 * asked, which takes a tenth of a second: Open MPI's mpirun, or another
 * launcher with PMIx or PMI (srun).
 */
#ifndef CACHESIM_MPI_LAUNCH_H
#define CACHESIM_MPI_LAUNCH_H

#include <stdbool.h>
#include <stdlib.h>

/* The first of three variables that is there; null: none is. */
static inline const char *launch_variable(const char *const names[3])
{
	const char *value = NULL;

	for (unsigned i = 0; i < 3 && !value; i++)
		value = getenv(names[i]);
	return value;
}

static inline const char *launch_rank(void)
{
	static const char *const names[] = { "OMPI_COMM_WORLD_RANK",
					     "PMIX_RANK", "PMI_RANK" };

	return launch_variable(names);
}

/* How many processes were started; 0: that is not known, as with PMIx. */
static inline int launch_processes(void)
{
	static const char *const names[] = { "OMPI_COMM_WORLD_SIZE",
					     "PMI_SIZE", "PMIX_SIZE" };
	const char *n = launch_variable(names);

	return n ? atoi(n) : 0;
}

static inline bool launch_is_another(void)
{
	return launch_rank() && atoi(launch_rank()) > 0;
}

#endif
