/*
 * A set of hashes without error: what a filter is measured against. Open
 * addressing, at most 2/3 full, 12 to 24 bytes a hash.
 */
#ifndef DIGESTD_ADMISSION_ADMISSION_TWIN_H
#define DIGESTD_ADMISSION_ADMISSION_TWIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct admission_twin {
	uint64_t *hash; /* 0: empty place */
	uint64_t places, n;
	uint64_t fresh, false_seen; /* counted by admission_policy.c */
	bool full;		    /* no memory: takes no more */
};

/* An empty one. 0 or SCD_ENOMEM. */
int admission_twin_new(struct admission_twin **out);

/* Accepts null and nulls the pointer. */
void admission_twin_free(struct admission_twin **t);

/* Puts a hash in; whether it was not in before. Without memory it stays as it
 * is for good. */
bool admission_twin_add(struct admission_twin *t, uint64_t hash);

#endif
