/*
 * The trace that the command line names, loaded; what is wrong with it is told
 * on stderr with file and line.
 */
#ifndef CACHESIM_WORKLOAD_H
#define CACHESIM_WORKLOAD_H

#include "cachesim/settings.h"
#include "cachesim/sim/trace.h"

/* What is simulated when no trace is named. */
extern const char workload_usual[];

/*
 * Loads the trace of the settings; s->trace is set where it was null. Returns
 * an exit code; with TOOL_OK the caller ends it with sim_trace_free().
 */
int workload_load(struct sim_trace *out, struct settings *s);

/*
 * Changes the objects of a trace as often as the settings say, if they do.
 * Returns an exit code; what is wrong was told.
 */
int workload_modify(struct sim_trace *t, const struct settings *s);

/* The options of reading a trace; complaints go to stderr. state is used by
 * them, and must live as long. */
struct workload_complaints {
	uint64_t told;
	bool quiet;
};
struct trace_options workload_options(const struct settings *s,
				      struct workload_complaints *state);

/*
 * Tells why the trace cannot be read, and that records were left out. Returns
 * an exit code.
 */
int workload_failed(const struct settings *s, int error);
void workload_left_out(const char *trace, uint64_t bad,
		       const struct workload_complaints *state);

#endif
