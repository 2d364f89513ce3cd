/*
 * cachesim run --nodes daemon: whole nodes in time in the place of models.
 */
#ifndef CACHESIM_WHOLE_H
#define CACHESIM_WHOLE_H

#include "cachesim/plan.h"
#include "cachesim/settings.h"

/* The words of --nodes. */
enum whole_nodes { WHOLE_MODEL, WHOLE_DAEMON };

enum { WHOLE_MAX_NODES = 256 };

/*
 * Sets what nodes have as digestd ships it where the command line says nothing.
 * Returns an exit code; what is wrong with the settings was told.
 */
int whole_prepare(struct settings *s, struct sim_config *usual);

/*
 * Runs all rows, one after the other; out[i] is the result of row i. Returns an
 * exit code; what went wrong was told.
 */
int whole_simulate(const struct plan *p, const struct sim_trace *t,
		   struct sim_result *out, const struct settings *s);

#endif
