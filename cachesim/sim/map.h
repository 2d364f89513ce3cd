/*
 * From object numbers to slots of a cache: an array over all objects, or a
 * hash table that is at most 2/3 full of those that are in. The table holds
 * slots only; which object a slot has, the cache's own array says.
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

struct sim_map {
	uint32_t *slot;	  /* EVICTION_NONE: not in, or an empty place */
	uint32_t nplaces; /* of the table, or nobjects */
	bool hashed;
};

/* An array for nobjects, or a hash table without places. 0 or SCD_ENOMEM. */
int sim_map_init(struct sim_map *m, uint32_t nobjects, bool hashed);

void sim_map_free(struct sim_map *m);

/* Makes a hash table large enough for nslots; `held` by slot. An array stays
 * as it is. 0 or SCD_ENOMEM: then nothing has changed. */
int sim_map_reserve(struct sim_map *m, uint32_t nslots,
		    const struct sim_held *held);

/* The two below, in a hash table. */
void sim_map_add_hashed(struct sim_map *m, uint32_t object, uint32_t slot);
void sim_map_remove_hashed(struct sim_map *m, const struct sim_held *held,
			   uint32_t slot);

/* Adds an object that is not in; held[slot] has it already. */
static inline void sim_map_add(struct sim_map *m, uint32_t object,
			       uint32_t slot)
{
	if (m->hashed)
		sim_map_add_hashed(m, object, slot);
	else
		m->slot[object] = slot;
}

/* Removes an object that is in; `held` by slot, with it still. */
static inline void sim_map_remove(struct sim_map *m,
				  const struct sim_held *held, uint32_t slot)
{
	if (m->hashed)
		sim_map_remove_hashed(m, held, slot);
	else
		m->slot[held[slot].object] = EVICTION_NONE;
}

/* The place where the search for an object begins. */
static inline uint32_t sim_map_place(const struct sim_map *m, uint32_t object)
{
	uint64_t h = object * UINT64_C(0x9e3779b97f4a7c15);

	if (!m->hashed)
		return object;
	return (uint32_t)((h >> 32) * m->nplaces >> 32);
}

/* The slot of an object; EVICTION_NONE: it is not in. `held` by slot. */
static inline uint32_t sim_map_find(const struct sim_map *m,
				    const struct sim_held *held,
				    uint32_t object)
{
	uint32_t place = sim_map_place(m, object);
	uint32_t slot;

	if (!m->hashed)
		return m->slot[place];
	while ((slot = m->slot[place]) != EVICTION_NONE) {
		if (held[slot].object == object)
			return slot;
		place = place + 1 < m->nplaces ? place + 1 : 0;
	}
	return EVICTION_NONE;
}

#endif
