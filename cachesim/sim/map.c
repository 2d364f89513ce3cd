/*
 * Changes to the map from objects to slots. The hash table has linear probing;
 * a removal moves those behind it up, so there are no tombstones.
 */
#include "cachesim/sim/map.h"

#include <stdlib.h>
#include <string.h>

#include "codec/error.h"

/* n places or slots that are all empty. */
static void *empty_places(uint32_t n, size_t each)
{
	void *places = malloc(((size_t)n + 1) * each);

	if (places)
		memset(places, 0xff, ((size_t)n + 1) * each);
	return places;
}

int sim_map_init(struct sim_map *m, uint32_t nobjects, bool hashed)
{
	*m = (struct sim_map){ .nplaces = hashed ? 1 : nobjects,
			       .hashed = hashed };
	if (hashed)
		m->place = empty_places(1, sizeof(*m->place));
	else
		m->slot = empty_places(nobjects, sizeof(*m->slot));
	return m->place || m->slot ? 0 : SCD_ENOMEM;
}

void sim_map_free(struct sim_map *m)
{
	free(m->slot);
	free(m->place);
	m->slot = NULL;
	m->place = NULL;
}

int sim_map_reserve(struct sim_map *m, uint32_t nslots)
{
	struct sim_map larger = { .hashed = true };
	uint64_t nplaces = (uint64_t)nslots + nslots / 2 + 1;

	if (!m->hashed)
		return 0;
	larger.nplaces = nplaces < UINT32_MAX ? (uint32_t)nplaces : UINT32_MAX;
	larger.place = empty_places(larger.nplaces, sizeof(*larger.place));
	if (!larger.place)
		return SCD_ENOMEM;
	for (uint32_t i = 0; i < m->nplaces; i++) {
		if (m->place[i].slot != EVICTION_NONE)
			sim_map_add_hashed(&larger, m->place[i].object,
					   m->place[i].slot);
	}
	sim_map_free(m);
	*m = larger;
	return 0;
}

static uint32_t next(const struct sim_map *m, uint32_t place)
{
	return place + 1 < m->nplaces ? place + 1 : 0;
}

void sim_map_add_hashed(struct sim_map *m, uint32_t object, uint32_t slot)
{
	uint32_t place = sim_map_home(m, object);

	while (m->place[place].slot != EVICTION_NONE)
		place = next(m, place);
	m->place[place] = (struct sim_place){ object, slot };
}

/* Places from a to b, going up and around. */
static uint32_t distance(const struct sim_map *m, uint32_t a, uint32_t b)
{
	return b >= a ? b - a : m->nplaces - a + b;
}

void sim_map_remove_hashed(struct sim_map *m, uint32_t object)
{
	uint32_t hole = sim_map_home(m, object), place;

	while (m->place[hole].object != object)
		hole = next(m, hole);
	place = next(m, hole);
	while (m->place[place].slot != EVICTION_NONE) {
		uint32_t home = sim_map_home(m, m->place[place].object);

		/* it may move to the hole if that lies on its way from home */
		if (distance(m, home, place) >= distance(m, hole, place)) {
			m->place[hole] = m->place[place];
			hole = place;
		}
		place = next(m, place);
	}
	m->place[hole] = (struct sim_place){ EVICTION_NONE, EVICTION_NONE };
}
