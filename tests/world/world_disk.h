/*
 * The disks of a world, in place of digestd/disk/disk_files.c and
 * disk_segments.c: what they hold lies in memory, and outlives the node that
 * wrote it. The threads that write and read are the daemon's own
 * (world_threads.c).
 *
 * Writing and reading take time. They fail, and bits flip, as often as the seed
 * says. Bodies in files are never synced, so when the power fails each of those
 * written lately is there, or not, or in part; and so is what was written to a
 * segment and not synced.
 */
#ifndef TESTS_WORLD_WORLD_DISK_H
#define TESTS_WORLD_WORLD_DISK_H

#include "cachesim/world/nodes.h"

/* How often, in a thousand calls. */
extern struct world_disk_faults {
	unsigned full, write_errors, read_errors, flips;
} world_disk_faults;

/* The disks of nodes, see nodes_plan. */
extern const struct nodes_disks world_disk_nodes;

/* Of this world: bodies and records that were written, or read; faults. */
struct world_disk_count {
	unsigned written, read, failed, flipped, torn;
};

const struct world_disk_count *world_disk_count(void);

#endif
