/*
 * The last changes of a list, generation by generation, as fingerprints: what
 * leads from any of the generations that it knows to the newest one, or that
 * part of it which is in a range.
 *
 * Memory: 8 bytes a change, of as many as change_log_trim() leaves.
 */
#ifndef DIGESTD_MESH_CHANGE_LOG_H
#define DIGESTD_MESH_CHANGE_LOG_H

#include <stddef.h>
#include <stdint.h>

#include "codec/list.h"

struct change_step;

/* All zero: it knows of no generation. All fields are private. */
struct change_log {
	struct change_step *oldest, *newest;
	size_t nchanges, nsteps;
};

/* The changes, in order, that lead from a generation, which is that of the last
 * call, to another. SCD_ENOMEM: and it knows of no generation any more. */
int change_log_add(struct change_log *log, const struct scd_list_change *change,
		   uint64_t from);

/* Forgets the oldest ones: no more than so many changes are left. */
void change_log_trim(struct change_log *log, size_t most);

void change_log_free(struct change_log *log);

/* A range of fingerprints: first, and behind the last. */
struct change_range {
	uint64_t first, end;
};

/*
 * What has changed in a range since a generation, in order, to be released with
 * scd_list_change_free(). SCD_EBASE: it does not know that generation;
 * SCD_ENOMEM.
 */
int change_log_since(const struct change_log *log, uint64_t from,
		     const struct change_range *range,
		     struct scd_list_change *out);

#endif
