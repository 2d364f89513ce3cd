/*
 * How several processes that simulate one cluster together hear of one
 * another: one function, which the program has from MPI, and a test from
 * threads. A process is a rank, 0..nranks-1.
 */
#ifndef CACHESIM_SIM_EXCHANGE_H
#define CACHESIM_SIM_EXCHANGE_H

#include <stddef.h>
#include <stdint.h>

/* What all ranks gave: of rank i the bytes from start[i] to start[i + 1]. */
struct sim_gathered {
	const uint8_t *bytes;
	const size_t *start;
};

struct sim_exchange {
	unsigned rank, nranks;
	/*
	 * Gives n bytes to all ranks and gets what they give; all call it
	 * equally often, and wait for one another in it. *out is valid until
	 * the next call. 0 or an SCD_ error, the same for all ranks; then there
	 * is no further call.
	 */
	int (*gather)(void *arg, const void *mine, size_t n,
		      struct sim_gathered *out);
	void *arg;
};

#endif
