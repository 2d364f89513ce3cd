/*
 * Changes to the map from objects to slots. The hash table has linear probing;
 * a removal moves those behind it up, so there are no tombstones.
 */
#include "cachesim/sim/map.h"

#include <stdlib.h>
#include <string.h>

#include "codec/error.h"

static uint32_t *empty_places(uint32_t n)
{
	uint32_t *slot = malloc(((size_t)n + 1) * sizeof(*slot));

	if (slot)
		memset(slot, 0xff, ((size_t)n + 1) * sizeof(*slot));
	return slot;
}

int sim_map_init(struct sim_map *m, uint32_t nobjects, bool hashed)
{
	m->hashed = hashed;
	m->nplaces = hashed ? 1 : nobjects;
	m->slot = empty_places(m->nplaces);
	return m->slot ? 0 : SCD_ENOMEM;
}

void sim_map_free(struct sim_map *m)
{
	free(m->slot);
	m->slot = NULL;
}

int sim_map_reserve(struct sim_map *m, uint32_t nslots,
		    const struct sim_held *held)
{
	struct sim_map larger = { .hashed = true };
	uint64_t nplaces = (uint64_t)nslots + nslots / 2 + 1;

	if (!m->hashed)
		return 0;
	larger.nplaces = nplaces < UINT32_MAX ? (uint32_t)nplaces : UINT32_MAX;
	larger.slot = empty_places(larger.nplaces);
	if (!larger.slot)
		return SCD_ENOMEM;
	for (uint32_t i = 0; i < m->nplaces; i++) {
		if (m->slot[i] != EVICTION_NONE)
			sim_map_add_hashed(&larger, held[m->slot[i]].object,
					   m->slot[i]);
	}
	sim_map_free(m);
	*m = larger;
	return 0;
}

void sim_map_add_hashed(struct sim_map *m, uint32_t object, uint32_t slot)
{
	uint32_t place = sim_map_place(m, object);

	while (m->slot[place] != EVICTION_NONE)
		place = place + 1 < m->nplaces ? place + 1 : 0;
	m->slot[place] = slot;
}

/* Places from a to b, going up and around. */
static uint32_t distance(const struct sim_map *m, uint32_t a, uint32_t b)
{
	return b >= a ? b - a : m->nplaces - a + b;
}

void sim_map_remove_hashed(struct sim_map *m, const struct sim_held *held,
			   uint32_t slot)
{
	uint32_t hole = sim_map_place(m, held[slot].object), place;

	while (m->slot[hole] != slot)
		hole = hole + 1 < m->nplaces ? hole + 1 : 0;
	m->slot[hole] = EVICTION_NONE;
	place = hole + 1 < m->nplaces ? hole + 1 : 0;
	while (m->slot[place] != EVICTION_NONE) {
		uint32_t s = m->slot[place];
		uint32_t home = sim_map_place(m, held[s].object);

		/* it may move to the hole if that lies on its way from home */
		if (distance(m, home, place) >= distance(m, hole, place)) {
			m->slot[hole] = s;
			m->slot[place] = EVICTION_NONE;
			hole = place;
		}
		place = place + 1 < m->nplaces ? place + 1 : 0;
	}
}
