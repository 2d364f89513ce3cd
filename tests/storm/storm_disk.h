/*
 * Damage to a store on disk between two runs of its node.
 */
#ifndef TEST_STORM_DISK_H
#define TEST_STORM_DISK_H

#include <stdint.h>

/*
 * Damages files below a folder: bits flipped, ends cut off or put on, pages
 * of zeros or of other places, files removed or swapped. Returns how many.
 */
unsigned storm_disk_damage(const char *folder, uint64_t *random);

#endif
