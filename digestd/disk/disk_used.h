/*
 * Which objects on disk were in use when the node ended, in the file "used"
 * beside the segments, so that its policy of eviction goes on with what it
 * knew: without it a restart has it evict what is wanted as soon as what is
 * not.
 *
 * It is written at an orderly end, and when another process takes the disk
 * over, and removed as it is read: it is of one
 * start. It decides what goes first, and nothing else; one that is damaged, or
 * cannot be written, is done without.
 *
 * Costs: 8 bytes an object while it is read or written.
 */
#ifndef DIGESTD_DISK_DISK_USED_H
#define DIGESTD_DISK_DISK_USED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { DISK_USED_MAX = 1 << 22 }; /* numbers; 32 MiB */

/* Zero at first. */
struct disk_used {
	uint64_t *ids; /* numbers of objects; once read, in ascending order */
	size_t n, cap;
};

/* Frees them; it is as at first. */
void disk_used_free(struct disk_used *u);

/* Adds one; beyond DISK_USED_MAX, or without memory, it is left out. */
void disk_used_add(struct disk_used *u, uint64_t id);

/* Puts them in order, and writes them to a folder, an open one. Returns 0 or a
 * negative errno, and then there is no such file. */
int disk_used_write(struct disk_used *u, int folder);

/* Reads them from there, into *u as it is at first, and removes the file.
 * Returns 0, -ENOENT, -EBADMSG (it is damaged) or another negative errno, and
 * then there are none. */
int disk_used_read(struct disk_used *u, int folder);

/* Whether it was among those that were read. */
bool disk_used_has(const struct disk_used *u, uint64_t id);

#endif
