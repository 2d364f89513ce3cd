/*
 * Which server each object of a trace is from, by the host of its URL.
 */
#ifndef CACHESIM_SERVERS_H
#define CACHESIM_SERVERS_H

#include "cachesim/settings.h"
#include "cachesim/sim/trace.h"

struct servers {
	uint32_t *of; /* a number by object; null: not known */
	uint32_t n;   /* of servers */
};

/*
 * Reads the trace of the settings, which has been loaded as t, once more. What
 * has no URLs, or cannot be read twice, has no servers known. Returns an exit
 * code; what went wrong was told. The caller frees out->of.
 */
int servers_find(struct servers *out, const struct settings *s,
		 const struct sim_trace *t);

#endif
