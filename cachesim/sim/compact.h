/*
 * The compact format: the columns of a trace in a file, as they lie in memory,
 * so that it is mapped and not read; docs/TRACE-FORMAT.md describes it byte by
 * byte.
 *
 * A file is not trusted: counts, its length and every number that is an index
 * are checked when it is mapped (one pass over two columns at the speed of
 * memory). Its checksum finds damage in the rest; checking it is optional,
 * as it reads the whole file. What is changed while it is mapped is not seen.
 *
 * Only for little-endian machines.
 */
#ifndef CACHESIM_SIM_COMPACT_H
#define CACHESIM_SIM_COMPACT_H

#include "cachesim/sim/trace.h"

/* Whether a file begins as one in this format; false if it cannot be read. */
bool sim_compact_is(const char *path);

/*
 * Writes a trace to a file beside, which then takes the place of `path`; "-"
 * is standard output. 0; TRACE_EIO (errno); TRACE_EUNKNOWN on a big-endian
 * machine.
 */
int sim_compact_write(const struct sim_trace *t, const char *path);

/*
 * Maps a file; checksum: verify that, too. 0; TRACE_EIO (errno);
 * TRACE_EUNKNOWN: another format or version, or a big-endian machine;
 * TRACE_ECOMPACT: damaged. On success the caller ends it with
 * sim_trace_free(), on failure *out is empty.
 */
int sim_compact_map(struct sim_trace *out, const char *path, bool checksum);

#endif
