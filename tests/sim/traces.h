/*
 * Real traces that tests compare with. They are no part of the project: the
 * environment's SCD_TRACES names their folder, otherwise it is
 * ../shared/traces beside the checkout. A test skips what is not there.
 */
#ifndef TESTS_SIM_TRACES_H
#define TESTS_SIM_TRACES_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { TRACE_PATH_BYTES = 4096 };

/* Puts the path of a trace into out; says so, and false, if it is not there. */
static inline bool real_trace(char out[TRACE_PATH_BYTES], const char *file)
{
	const char *folder = getenv("SCD_TRACES"), *top = getenv("top_srcdir");

	if (folder)
		snprintf(out, TRACE_PATH_BYTES, "%s/%s", folder, file);
	else
		snprintf(out, TRACE_PATH_BYTES, "%s/../shared/traces/%s",
			 top ? top : "..", file);
	if (!access(out, R_OK))
		return true;
	printf("# SKIPPED, not there: %s\n", out);
	return false;
}

#endif
