/*
 * The order of engines: a processor that has the instructions of one has those
 * of all before it. NEON is of other processors, where nothing follows it.
 */
#include "codec/engine.h"

#include <string.h>

static const char *const steps[] = {"portable", "neon", "bmi2", "avx2",
				    "avx512"};

enum { NSTEPS = sizeof(steps) / sizeof(steps[0]) };

static size_t engine_step(const char *name)
{
	size_t i = 0;

	while (i < NSTEPS && strcmp(name, steps[i]) != 0)
		i++;
	return i;
}

bool scd__engine_within(const char *name, const char *limit)
{
	return !limit || engine_step(name) <= engine_step(limit);
}
