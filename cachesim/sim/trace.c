/*
 * Releasing a trace, wherever it lies.
 */
#include "cachesim/sim/trace.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* The columns are constant for everybody but their owner. */
static void drop(const void *column)
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
			drop(t->change);
			drop(t->change_size);
		}
	} else {
		drop(t->object);
		drop(t->time);
		drop(t->client);
		drop(t->size);
		drop(t->hash);
		drop(t->client_hash);
		drop(t->address);
		drop(t->change);
		drop(t->change_size);
		drop(t->pass);
		drop(t->pass_size);
		drop(t->pass_client);
	}
	memset(t, 0, sizeof(*t));
}
