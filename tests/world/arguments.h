/*
 * The command line of worlds, see main.c.
 */
#ifndef TESTS_WORLD_ARGUMENTS_H
#define TESTS_WORLD_ARGUMENTS_H

#include <stdbool.h>
#include <stdint.h>

#include "tests/world/cut.h"

struct arguments {
	uint64_t seed, worlds;
	bool chosen; /* by who has called */
	bool verbose, shrinks;
	struct cut cut;
};

/* Reads it over the defaults that are there. Ends the process with status 2 and
 * a message for what cannot be read. */
void arguments_read(int argc, char **argv, struct arguments *a);

#endif
