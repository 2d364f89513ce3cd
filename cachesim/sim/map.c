/*
 * The memory of maps from objects to slots.
 */
#include "cachesim/sim/map.h"

#include <stdlib.h>
#include <string.h>

#include "codec/error.h"

/* n places that are all empty. */
static uint32_t *map_empty_places(uint32_t n)
{
	size_t bytes = ((size_t)n + 1) * sizeof(uint32_t);
	uint32_t *places = malloc(bytes);

	if (places)
		memset(places, 0xff, bytes);
	return places;
}

int sim_map_init(struct sim_map *m, uint32_t nobjects, bool hashed)
{
	*m = (struct sim_map){ .nplaces = hashed ? 1 : nobjects,
			       .hashed = hashed };
	m->slot = map_empty_places(m->nplaces);
	return m->slot ? 0 : SCD_ENOMEM;
}

void sim_map_free(struct sim_map *m)
{
	free(m->slot);
	free(m->behind);
	m->slot = NULL;
	m->behind = NULL;
}

/* Puts all that is in one table into another. */
static void map_add_all(struct sim_map *to, const struct sim_map *from,
			const struct sim_held *held)
{
	for (uint32_t i = 0; i < from->nplaces; i++) {
		for (uint32_t slot = from->slot[i]; slot != EVICTION_NONE;
		     slot = from->behind[slot])
			sim_map_add(to, held[slot].object, slot);
	}
}

int sim_map_reserve(struct sim_map *m, uint32_t nslots,
		    const struct sim_held *held)
{
	struct sim_map larger = { .nslots = nslots, .hashed = true };
	uint64_t nplaces = (uint64_t)nslots + nslots / 2 + 1;

	if (!m->hashed)
		return 0;
	larger.nplaces = nplaces < UINT32_MAX ? (uint32_t)nplaces : UINT32_MAX;
	larger.slot = map_empty_places(larger.nplaces);
	larger.behind = malloc(((size_t)nslots + 1) * sizeof(*larger.behind));
	if (!larger.slot || !larger.behind) {
		sim_map_free(&larger);
		return SCD_ENOMEM;
	}
	map_add_all(&larger, m, held);
	sim_map_free(m);
	*m = larger;
	return 0;
}
