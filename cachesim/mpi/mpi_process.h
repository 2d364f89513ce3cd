/*
 * The processes that mpirun started as one program: ranks. Only this folder
 * knows MPI; without it (configure --with-mpi) every function is there, and
 * a program is always alone.
 *
 * Only the first rank writes. What others would say on standard error is kept
 * until the end, and told by the first if one of them failed. A rank that
 * fails, wherever it is, goes to mpi_process_end(); all others hear of it in
 * their next exchange, and go there, too.
 */
#ifndef CACHESIM_MPI_MPI_PROCESS_H
#define CACHESIM_MPI_MPI_PROCESS_H

#include <stdbool.h>

#include "cachesim/sim/exchange.h"

/* Before anything else: whether mpirun started several and this is not the
 * first of them. A command that is not divided is left to the first. */
bool mpi_process_is_another(void);

/* Meets the others, if mpirun started this. An exit code; what is wrong was
 * told. */
int mpi_process_begin(void);

/* How they hear of one another; null: there are no others. */
const struct sim_exchange *mpi_process_exchange(void);

/* How many of them share this machine, with this one. */
unsigned mpi_process_here(void);

/* Whether this one writes results. */
bool mpi_process_is_first(void);

/* An exchange failed because another rank did, which will be told. */
bool mpi_process_failed(void);

/* Ends with an exit code, waiting for the others; returns that of all. */
int mpi_process_end(int code);

#endif
