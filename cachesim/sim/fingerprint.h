/*
 * One number for everything that a simulation reads of a trace, to see that
 * two have the same: XXH3 of the columns, some GB a second.
 */
#ifndef CACHESIM_SIM_FINGERPRINT_H
#define CACHESIM_SIM_FINGERPRINT_H

#include "cachesim/sim/trace.h"

/* Cannot fail. The same on machines of the same byte order. */
uint64_t sim_fingerprint(const struct sim_trace *t);

#endif
