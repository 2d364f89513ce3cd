/*
 * Where a command writes the digest that it has made, what its header says,
 * and whether that is reported: options that many commands have.
 */
#ifndef DIGESTD_CTL_DIGEST_OUTPUT_H
#define DIGESTD_CTL_DIGEST_OUTPUT_H

#include <stdbool.h>
#include <stdint.h>

#include "digestd/tool/options.h"

/* What the options of a command that writes a digest begin with. */
struct digest_output {
	const char *path; /* "-": standard output */
	bool json;        /* a report, too */
	uint64_t instance, generation;
};

/* What is written where nothing is said. */
#define DIGEST_OUTPUT_DEFAULT { .path = "-", .instance = 1, .generation = 1 }

/* --output and --json; --instance and --generation. */
extern const struct tool_option digest_output_options[];
extern const struct tool_option digest_output_ids[];

/*
 * Whether a digest may be written there: a terminal is no place for bytes, and
 * report and digest do not both fit on standard output. If not, it is told. To
 * be asked before the work is done.
 */
bool digest_output_may(const struct digest_output *o);

#endif
