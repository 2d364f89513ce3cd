/*
 * Sectors: all keys, divided evenly among the nodes of a location by the order
 * of their names. Nodes elsewhere give a node what they hold of its sector, and
 * nothing else.
 *
 * A sector is a range of fingerprints (catalog.h: CATALOG_NOTED_WIDTH bits).
 * Within it a fingerprint counts from where the sector begins, stretched to the
 * whole width: so the list of a sector is like that of a whole cache with fewer
 * objects, which is coded, looked up and kept as well as any.
 *
 * Which sector is whose depends on names alone, not on who can be reached: a
 * node that restarts has its own again, and no other node has to fetch another
 * one meanwhile. A node more or less in a location moves all sectors there.
 */
#ifndef DIGESTD_MESH_SECTOR_H
#define DIGESTD_MESH_SECTOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "codec/key.h"
#include "codec/list.h"

enum { SECTOR_COUNT_MAX = 1024 };

/* One of `count` sectors. Count 0: all keys, undivided. */
struct sector {
	unsigned number, count;
};

/* The sector of the node `self` among the nodes of its location, one of which
 * it is: the names of n nodes, in any order, with or without its own, and no
 * other one twice. At most SECTOR_COUNT_MAX nodes. */
struct sector sector_of(const char *self, const char *const *names, size_t n);

/* The number of the sector of a fingerprint, of count (> 0) sectors. */
static inline unsigned sector_number(uint64_t fingerprint, unsigned count)
{
	return (unsigned)(fingerprint * count >> SCD_LIST_MAX_WIDTH);
}

/* Whether a key is in a sector. */
bool sector_has(const struct sector *s, const struct scd_key *key);

/* The first fingerprint of a sector, or that behind the last one if number is
 * count. */
uint64_t sector_begin(const struct sector *s);

/* A fingerprint of a sector of `count` (> 0), as it counts within it. */
static inline uint64_t sector_within(uint64_t fingerprint, unsigned count)
{
	return fingerprint * count &
	       ((UINT64_C(1) << SCD_LIST_MAX_WIDTH) - 1);
}

/* The key by which one that is in a sector (count > 0) is looked up in lists of
 * that. */
struct scd_key sector_key(const struct sector *s, const struct scd_key *key);

/* The width of the list of a sector, for a list of all keys that has `width`:
 * it lies as often. */
unsigned sector_width(unsigned width, unsigned count);

#endif
