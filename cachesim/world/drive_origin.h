/*
 * The origin of a driven world: answers "/oN", "/oN.V" and "/pN" with a body as
 * long as the trace says, whose bytes are all alike.
 */
#ifndef CACHESIM_WORLD_DRIVE_ORIGIN_H
#define CACHESIM_WORLD_DRIVE_ORIGIN_H

#include <stdint.h>

/* Where it listens. */
extern const char *const drive_origin_name;

struct drive_objects {
	const uint32_t *size;      /* of each object, now */
	uint32_t nobjects;
	const uint32_t *pass_size; /* of each uncacheable response */
	uint64_t npasses;
	uint32_t max_age_s;
};

/* Begins and ends to listen. `objects` are borrowed. */
void drive_origin_start(const struct drive_objects *objects);
void drive_origin_stop(void);

#endif
