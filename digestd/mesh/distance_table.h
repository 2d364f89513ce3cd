/*
 * The distances of many peers, or of many origins, by a number of each: so many
 * as there is room for, those that were measured last.
 *
 * A peer's number is its id (peerset_peer.id), an origin's a hash of its name.
 * There are DISTANCE_SETS sets of DISTANCE_WAYS places; where a set is full,
 * the one that was measured the longest time ago makes room.
 */
#ifndef DIGESTD_MESH_DISTANCE_TABLE_H
#define DIGESTD_MESH_DISTANCE_TABLE_H

#include <stdint.h>

#include "digestd/mesh/distance.h"

enum { DISTANCE_SETS = 256, DISTANCE_WAYS = 4 };

struct distance_place;

/* All zero: there are none. All fields are private. */
struct distance_table {
	struct distance_place *places[DISTANCE_SETS][DISTANCE_WAYS];
	uint64_t uses;
};

/* The distance of that number, or null. */
struct distance *distance_table_find(const struct distance_table *t,
				     uint64_t number);

/* The same, made if there is none, to be measured. It lives until the next such
 * call. Null: no memory. */
struct distance *distance_table_use(struct distance_table *t, uint64_t number);

/* Frees what is in it, and leaves it empty. */
void distance_table_free(struct distance_table *t);

#endif
