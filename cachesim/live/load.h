/*
 * What both programs do with a trace: tell of bad lines, and learn the objects.
 */
#ifndef LIVE_LOAD_H
#define LIVE_LOAD_H

#include "cachesim/live/objects.h"
#include "cachesim/trace/reader.h"

/*
 * Opens a trace. Prints why not ("program: trace: reason") and returns a
 * negative code; bad lines are printed as they come, the first few of them.
 */
int load_open(struct trace_reader **out, const char *name,
	      struct trace_options *opt);

/* Reads a whole trace into objects. 0 or a negative code, printed too. */
int load_objects(struct objects *out, const char *name,
		 struct trace_options *opt);

/* Prints what a trace is made of. 0 or a negative code, printed too. */
int load_info(const char *name, struct trace_options *opt);

#endif
