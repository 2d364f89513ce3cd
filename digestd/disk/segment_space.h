/*
 * What the segments of a disk take, and how much of each is still wanted: from
 * this follows which of them is copied and given up when there is no room.
 *
 * The owner evicts so many objects that a share of the disk is left for what is
 * in segments and not wanted any more; so there is always one to gain by. The
 * emptiest is taken, as it costs the least copying for what it gives.
 * Source: Rosenblum and Ousterhout, "The Design and Implementation of a
 * Log-Structured File System", 1992.
 */
#ifndef DIGESTD_DISK_SEGMENT_SPACE_H
#define DIGESTD_DISK_SEGMENT_SPACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct segment_info {
	uint32_t number;
	bool sealed;
	bool unreadable; /* it cannot be copied */
	bool dropped;    /* nothing of it is wanted; but its file is there */
	uint64_t bytes; /* of its file */
	uint64_t live;	/* of records that are wanted */
};

/* Zero at first. */
struct segment_space {
	struct segment_info *at; /* by ascending numbers */
	size_t n, cap;
	uint64_t bytes; /* of all */
};

/* How large segments are on a disk of so many bytes: 64 MiB, or a 64th. */
uint64_t segment_space_segment_bytes(uint64_t max_bytes);

/* How much of a disk objects may weigh; what is left is for what is not wanted
 * any more, and for the segment that is being written. */
uint64_t segment_space_for_objects(uint64_t max_bytes);

/* Adds one that is larger than all numbers; 0 or -ENOMEM. */
int segment_space_add(struct segment_space *s, uint32_t number);

/* Null: there is none of that number. */
struct segment_info *segment_space_find(const struct segment_space *s,
					uint32_t number);

/* Its file has grown to so many bytes. */
void segment_space_set_bytes(struct segment_space *s, struct segment_info *i,
			     uint64_t bytes);

/* It is gone. */
void segment_space_remove(struct segment_space *s, uint32_t number);

/* The sealed segment by which most is gained; null: none is worth copying. */
const struct segment_info *segment_space_victim(const struct segment_space *s);

void segment_space_free(struct segment_space *s);

#endif
