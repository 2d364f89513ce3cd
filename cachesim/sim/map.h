/*
 * From object numbers to slots of a cache: an array over all objects, or a
 * hash table of those that are in, for many caches over one trace. The table
 * has chains of slots, as removals, which are as frequent as additions there,
 * then touch one chain of one or two; what object is in a slot, the cache
 * knows.
 *
 * Costs: 4 bytes an object, or 10 a slot.
 */
#ifndef CACHESIM_SIM_MAP_H
#define CACHESIM_SIM_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "digestd/store/eviction.h"

/* What is in a slot. */
struct sim_held {
	uint32_t object, size;
};

struct sim_map {
	uint32_t *slot;	  /* by object; or the first of a chain, by place */
	uint32_t *behind; /* by slot, the next of its chain; null: no table */
	uint32_t nplaces; /* of the table, or nobjects */
	uint32_t nslots;  /* that the table has room for */
	bool hashed;
};

/* An array for nobjects, or a hash table without slots. 0 or SCD_ENOMEM. */
int sim_map_init(struct sim_map *m, uint32_t nobjects, bool hashed);

void sim_map_free(struct sim_map *m);

/* Makes a hash table large enough for nslots; held: what is in them, by slot.
 * An array stays as it is. 0 or SCD_ENOMEM: then nothing has changed. */
int sim_map_reserve(struct sim_map *m, uint32_t nslots,
		    const struct sim_held *held);

/* The place of an object's chain. */
static inline uint32_t sim_map_home(const struct sim_map *m, uint32_t object)
{
	uint64_t h = object * UINT64_C(0x9e3779b97f4a7c15);

	return (uint32_t)((h >> 32) * m->nplaces >> 32);
}

/* Where the search for an object begins, to be fetched. (A function that only
 * fetches is taken for one without effects, and left out, by gcc 12.) */
static inline uint32_t *sim_map_begin(const struct sim_map *m, uint32_t object)
{
	return &m->slot[m->hashed ? sim_map_home(m, object) : object];
}

/* The slot that the search for an object begins with, most likely its own;
 * EVICTION_NONE if there is none. */
static inline uint32_t sim_map_guess(const struct sim_map *m, uint32_t object)
{
	return *sim_map_begin(m, object);
}

/* Adds an object that is not in. */
static inline void sim_map_add(struct sim_map *m, uint32_t object,
			       uint32_t slot)
{
	uint32_t *first = sim_map_begin(m, object);

	if (m->hashed)
		m->behind[slot] = *first;
	*first = slot;
}

/* Removes an object that is in that slot. */
static inline void sim_map_remove(struct sim_map *m, uint32_t object,
				  uint32_t slot)
{
	uint32_t *link = sim_map_begin(m, object);

	while (*link != slot)
		link = &m->behind[*link];
	*link = m->hashed ? m->behind[slot] : EVICTION_NONE;
}

/* The slot of an object; EVICTION_NONE: it is not in. */
static inline uint32_t sim_map_find(const struct sim_map *m, uint32_t object,
				    const struct sim_held *held)
{
	uint32_t slot = sim_map_guess(m, object);

	if (!m->hashed)
		return slot;
	while (slot != EVICTION_NONE && held[slot].object != object)
		slot = m->behind[slot];
	return slot;
}

/* Bytes that it takes. */
static inline size_t sim_map_memory(const struct sim_map *m)
{
	return ((size_t)m->nplaces + 1 + m->nslots) * sizeof(*m->slot);
}

#endif
