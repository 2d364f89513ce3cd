/*
 * Engines: the same work for different processors, behind one structure of
 * functions for each kind of work. The fastest that the processor can run is
 * taken, unless a caller or a test allows no more than some instruction set.
 */
#ifndef SCD_ENGINE_H
#define SCD_ENGINE_H

#include <stdbool.h>
#include <stddef.h>

/*
 * May an engine of this name run where no more than that of the other is
 * allowed? "portable" may always; so may "bmi2" where "avx2" is, and all where
 * the limit is null.
 */
bool scd__engine_within(const char *name, const char *limit);

#endif
