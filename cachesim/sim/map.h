/*
 * From object numbers to slots of a cache: an array over all objects, or a
 * hash table that is at most 2/3 full of those that are in. The table has the
 * objects beside the slots, so that a search, and a removal, which moves what
 * is behind it, look at nothing else.
 */
#ifndef CACHESIM_SIM_MAP_H
#define CACHESIM_SIM_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "digestd/core/eviction.h"

/* What is in a slot. */
struct sim_held {
	uint32_t object, size;
};

/* A place of the hash table; empty: slot is EVICTION_NONE. */
struct sim_place {
	uint32_t object, slot;
};

struct sim_map {
	uint32_t *slot;		 /* by object; or null */
	struct sim_place *place; /* the hash table; or null */
	uint32_t nplaces;	 /* of the table, or nobjects */
	bool hashed;
};

/* An array for nobjects, or a hash table without places. 0 or SCD_ENOMEM. */
int sim_map_init(struct sim_map *m, uint32_t nobjects, bool hashed);

void sim_map_free(struct sim_map *m);

/* Makes a hash table large enough for nslots. An array stays as it is. 0 or
 * SCD_ENOMEM: then nothing has changed. */
int sim_map_reserve(struct sim_map *m, uint32_t nslots);

/* The three below, in a hash table. */
void sim_map_add_hashed(struct sim_map *m, uint32_t object, uint32_t slot);
void sim_map_remove_hashed(struct sim_map *m, uint32_t object);

/* The place where the search for an object begins. */
static inline uint32_t sim_map_home(const struct sim_map *m, uint32_t object)
{
	uint64_t h = object * UINT64_C(0x9e3779b97f4a7c15);

	return (uint32_t)((h >> 32) * m->nplaces >> 32);
}

static inline uint32_t sim_map_find_hashed(const struct sim_map *m,
					   uint32_t object)
{
	const struct sim_place *p = &m->place[sim_map_home(m, object)];

	while (p->slot != EVICTION_NONE && p->object != object)
		p = p + 1 < m->place + m->nplaces ? p + 1 : m->place;
	return p->slot;
}

/* Adds an object that is not in. */
static inline void sim_map_add(struct sim_map *m, uint32_t object,
			       uint32_t slot)
{
	if (m->hashed)
		sim_map_add_hashed(m, object, slot);
	else
		m->slot[object] = slot;
}

/* Removes an object that is in. */
static inline void sim_map_remove(struct sim_map *m, uint32_t object)
{
	if (m->hashed)
		sim_map_remove_hashed(m, object);
	else
		m->slot[object] = EVICTION_NONE;
}

/* The slot of an object; EVICTION_NONE: it is not in. */
static inline uint32_t sim_map_find(const struct sim_map *m, uint32_t object)
{
	return m->hashed ? sim_map_find_hashed(m, object) : m->slot[object];
}

/* Where the search for an object begins, to be fetched. (A function that only
 * fetches is taken for one without effects, and left out, by gcc 12.) */
static inline const void *sim_map_begin(const struct sim_map *m,
					uint32_t object)
{
	return m->hashed ? (const void *)&m->place[sim_map_home(m, object)]
			 : &m->slot[object];
}

/* The slot that the search for an object begins with, most likely its own;
 * EVICTION_NONE if there is none. */
static inline uint32_t sim_map_guess(const struct sim_map *m, uint32_t object)
{
	return m->hashed ? m->place[sim_map_home(m, object)].slot
			 : m->slot[object];
}

/* Bytes that it takes. */
static inline size_t sim_map_memory(const struct sim_map *m)
{
	return ((size_t)m->nplaces + 1) *
	       (m->hashed ? sizeof(*m->place) : sizeof(*m->slot));
}

#endif
