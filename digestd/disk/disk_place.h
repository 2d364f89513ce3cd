/*
 * Where a record is on disk.
 */
#ifndef DIGESTD_DISK_DISK_PLACE_H
#define DIGESTD_DISK_DISK_PLACE_H

#include <stdint.h>

struct disk_place {
	uint32_t segment; /* its number, from 1; 0: nowhere */
	uint32_t at;	  /* in it [units of SEGMENT_UNIT bytes] */
};

#endif
