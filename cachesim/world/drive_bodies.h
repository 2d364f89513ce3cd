/*
 * Bodies of objects where a trace goes through nodes: only their length
 * matters, so all of them are the same zeros, which are mapped once and take no
 * memory. What nodes keep in the memory of bodies (digestd/os/body_memory.h) is
 * not copied there.
 */
#ifndef CACHESIM_WORLD_DRIVE_BODIES_H
#define CACHESIM_WORLD_DRIVE_BODIES_H

#include <stddef.h>
#include <stdint.h>

/* How long a body can be at most, twice that of the largest object there is;
 * they are mapped, not allocated. */
#define DRIVE_BODIES_BYTES ((size_t)(SIZE_MAX > UINT32_MAX ? \
				     UINT64_C(8) << 30 : UINT32_C(1) << 29))

/* The zeros, read-only; null before the first start. */
extern const char *drive_bodies;

/* At their end: where pieces of bodies are put on their way out of a node. They
 * can be written, as what nodes read from elsewhere is; nobody reads it. */
enum { DRIVE_BODIES_SCRATCH = 16384 };
extern char *drive_bodies_scratch;

/* Maps them, once in a process. */
void drive_bodies_start(void);

#endif
