/*
 * Where the result of a command goes.
 */
#ifndef CACHESIM_OUTPUT_H
#define CACHESIM_OUTPUT_H

#include "cachesim/report/report.h"
#include "cachesim/settings.h"

/*
 * Writes the report as the settings say: as a table to standard output where
 * they say nothing; to a file as JSON or CSV by its name. Releases it. Returns
 * an exit code; what went wrong was told.
 */
int output_report(struct report *r, const struct settings *s);

/* Whether it goes into JSON or CSV, for programs to read. */
bool output_is_data(const struct settings *s);

#endif
