/*
 * The ring, and chains through it by hash. A place that is taken back stays in
 * the ring until the queue has come to it, or until the ring is packed.
 */
#include "digestd/store/eviction_ghost.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST_PLACES = 64 };
static const uint32_t PLACES_MAX = UINT32_C(1) << 30;

static uint32_t *eviction_ghost_chain_of(const struct ghosts *g, uint64_t hash)
{
	uint64_t mixed = hash * UINT64_C(0x9e3779b97f4a7c15);

	return &g->chains[(mixed >> 32) * g->nplaces >> 32];
}

static void eviction_ghost_enter(struct ghosts *g, uint32_t place)
{
	uint32_t *chain = eviction_ghost_chain_of(g, g->ring[place].hash);

	g->ring[place].chain = *chain;
	*chain = place;
}

/* Takes a place back that a link of its chain leads to. */
static void eviction_ghost_take_back(struct ghosts *g, uint32_t *link)
{
	struct ghost *out = &g->ring[*link];

	*link = out->chain;
	g->held -= out->weight;
	out->weight = 0;
	g->taken++;
}

/* The first places, as far as they are taken back, leave the ring. */
static void eviction_ghost_pass(struct ghosts *g)
{
	while (g->used && !g->ring[g->first].weight) {
		g->first = g->first + 1 < g->nplaces ? g->first + 1 : 0;
		g->used--;
		g->taken--;
	}
}

/* Forgets the oldest; there is one, and eviction_ghost_pass() has come to it.
 */
static void eviction_ghost_forget(struct ghosts *g)
{
	uint32_t *link = eviction_ghost_chain_of(g, g->ring[g->first].hash);

	/* by its place: a younger one may have the same hash */
	while (*link != g->first)
		link = &g->ring[*link].chain;
	eviction_ghost_take_back(g, link);
	eviction_ghost_pass(g);
}

/* Another ring for what is remembered; without memory all stays. */
static void eviction_ghost_move(struct ghosts *g, uint32_t nplaces)
{
	struct ghosts to = { .nplaces = nplaces, .held = g->held };
	uint32_t place = g->first;

	to.ring = malloc(nplaces * sizeof(*to.ring));
	to.chains = malloc(nplaces * sizeof(*to.chains));
	if (!to.ring || !to.chains) {
		ghosts_free(&to);
		return;
	}
	memset(to.chains, 0xff, nplaces * sizeof(*to.chains));
	for (uint32_t i = 0; i < g->used; i++) {
		if (g->ring[place].weight) {
			to.ring[to.used] = g->ring[place];
			eviction_ghost_enter(&to, to.used++);
		}
		place = place + 1 < g->nplaces ? place + 1 : 0;
	}
	ghosts_free(g);
	*g = to;
}

/* A place in a ring that is full: a larger ring, or one of the same size when
 * a quarter was taken back; else by forgetting one. Not 0: there is none. */
static int eviction_ghost_make_place(struct ghosts *g)
{
	uint32_t nplaces = g->nplaces;

	if (g->taken <= nplaces / 4)
		nplaces += nplaces / 4 + FIRST_PLACES;
	if (nplaces <= PLACES_MAX)
		eviction_ghost_move(g, nplaces);
	if (g->nplaces && g->used == g->nplaces)
		eviction_ghost_forget(g);
	return g->used < g->nplaces ? 0 : -1;
}

void ghosts_push(struct ghosts *g, struct eviction_item item, uint64_t limit)
{
	uint32_t place, weight = UINT32_MAX;

	if (item.weight < weight)
		weight = item.weight ? (uint32_t)item.weight : 1;
	while (g->held && g->held + weight > limit)
		eviction_ghost_forget(g);
	if (weight > limit ||
	    (g->used == g->nplaces && eviction_ghost_make_place(g)))
		return;
	place = g->used < g->nplaces - g->first ? g->first + g->used
						: g->used - (g->nplaces -
							     g->first);
	g->ring[place].hash = item.hash;
	g->ring[place].weight = weight;
	g->used++;
	g->held += weight;
	eviction_ghost_enter(g, place);
}

bool ghosts_take(struct ghosts *g, uint64_t hash)
{
	uint32_t *link;

	if (!g->held)
		return false;
	link = eviction_ghost_chain_of(g, hash);
	while (*link != EVICTION_NONE && g->ring[*link].hash != hash)
		link = &g->ring[*link].chain;
	if (*link == EVICTION_NONE)
		return false;
	eviction_ghost_take_back(g, link);
	eviction_ghost_pass(g);
	return true;
}

void ghosts_free(struct ghosts *g)
{
	free(g->ring);
	free(g->chains);
	*g = (struct ghosts){ 0 };
}

size_t ghosts_memory(const struct ghosts *g)
{
	return g->nplaces * (sizeof(*g->ring) + sizeof(*g->chains));
}
