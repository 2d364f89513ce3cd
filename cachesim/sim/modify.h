/*
 * Objects that change with time, for traces that do not tell when they do.
 *
 * Every object changes once in every interval of the same length, at a moment
 * of it that follows from the object's hash: so at any time of the trace the
 * share of the objects that changed since is the same, and copies of one age
 * are old with the same probability. A change shows with the next request for
 * the object; its size stays what it is.
 *
 * Costs one pass over the requests, 8 bytes an object while it lasts, and 12
 * bytes a change.
 */
#ifndef CACHESIM_SIM_MODIFY_H
#define CACHESIM_SIM_MODIFY_H

#include "cachesim/sim/trace.h"

/*
 * Adds to a trace's changes, in their order, those that an interval of every_s
 * seconds (> 0) makes: at a request for object o at second t, if
 * (t + phase) / every_s, rounded down, is not what it was at the last one,
 * where phase is the mixed hash of o modulo every_s, and time never goes back.
 * 0, TRACE_ENOMEM, or TRACE_ETIME: the trace has no times. On errors the trace
 * is as it was.
 */
int sim_trace_modify(struct sim_trace *t, uint32_t every_s);

#endif
