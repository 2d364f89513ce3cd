/*
 * Releasing a trace, wherever it lies.
 */
#include "cachesim/sim/trace.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* The columns are constant for everybody but their owner. */
static void trace_drop(const void *column)
{
	free((void *)(uintptr_t)column);
}

uint64_t sim_trace_first_pass(const struct sim_trace *t, uint64_t warm)
{
	uint64_t i = 0;

	while (warm && i < t->npasses && t->pass[i] <= warm)
		i++;
	return i;
}

void sim_trace_free(struct sim_trace *t)
{
	if (t->map) {
		munmap(t->map, t->map_bytes);
		if (t->changes_apart) {
			trace_drop(t->change);
			trace_drop(t->change_size);
		}
	} else {
		trace_drop(t->object);
		trace_drop(t->time);
		trace_drop(t->client);
		trace_drop(t->size);
		trace_drop(t->hash);
		trace_drop(t->client_hash);
		trace_drop(t->address);
		trace_drop(t->change);
		trace_drop(t->change_size);
		trace_drop(t->pass);
		trace_drop(t->pass_size);
		trace_drop(t->pass_client);
	}
	memset(t, 0, sizeof(*t));
}
