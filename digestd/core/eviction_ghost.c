/*
 * The ring and its table. A place that is taken back stays in the ring until
 * the queue has come to it, or until the ring is packed.
 */
#include "digestd/core/eviction_ghost.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST_PLACES = 64 };
static const uint32_t PLACES_MAX = UINT32_C(1) << 30;

static uint32_t home(const struct ghosts *g, uint64_t hash)
{
	uint64_t mixed = hash * UINT64_C(0x9e3779b97f4a7c15);

	return (uint32_t)((mixed >> 32) * g->ntable >> 32);
}

static uint32_t after(uint32_t at, uint32_t n)
{
	return at + 1 < n ? at + 1 : 0;
}

static void enter(struct ghosts *g, uint32_t place)
{
	uint32_t at = home(g, g->hash[place]);

	while (g->table[at] != EVICTION_NONE)
		at = after(at, g->ntable);
	g->table[at] = place;
}

/* Where the table has a hash, or the empty place where it would be. */
static uint32_t search(const struct ghosts *g, uint64_t hash)
{
	uint32_t at = home(g, hash);

	while (g->table[at] != EVICTION_NONE &&
	       g->hash[g->table[at]] != hash)
		at = after(at, g->ntable);
	return at;
}

/* Empties a place of the table; those behind it that could be found no more
 * move up. */
static void leave(struct ghosts *g, uint32_t hole)
{
	uint32_t at = after(hole, g->ntable);

	while (g->table[at] != EVICTION_NONE) {
		uint32_t from = home(g, g->hash[g->table[at]]);
		uint32_t way = at >= from ? at - from : g->ntable - from + at;
		uint32_t gap = at >= hole ? at - hole : g->ntable - hole + at;

		if (way >= gap) {
			g->table[hole] = g->table[at];
			hole = at;
		}
		at = after(at, g->ntable);
	}
	g->table[hole] = EVICTION_NONE;
}

/* Takes a place back that the table does not have any more. */
static void take_back(struct ghosts *g, uint32_t place)
{
	g->held -= g->weight[place];
	g->weight[place] = 0;
	g->taken++;
}

/* The first places, as far as they are taken back, leave the ring. */
static void pass(struct ghosts *g)
{
	while (g->used && !g->weight[g->first]) {
		g->first = after(g->first, g->nplaces);
		g->used--;
		g->taken--;
	}
}

/* Forgets the oldest; there is one. */
static void forget(struct ghosts *g)
{
	uint32_t at;

	pass(g);
	at = home(g, g->hash[g->first]);
	/* by its place: a younger one may have the same hash */
	while (g->table[at] != g->first)
		at = after(at, g->ntable);
	leave(g, at);
	take_back(g, g->first);
	pass(g);
}

/* Copies what is remembered to the beginning of other arrays, or of a ring's
 * own when it begins at 0; and makes the table anew. */
static void pack(struct ghosts *g, uint64_t *hash, uint32_t *weight)
{
	uint32_t n = 0, place = g->first;

	for (uint32_t i = 0; i < g->used; i++) {
		if (g->weight[place]) {
			hash[n] = g->hash[place];
			weight[n++] = g->weight[place];
		}
		place = after(place, g->nplaces);
	}
	g->first = g->taken = 0;
	g->used = n;
}

static void make_table(struct ghosts *g)
{
	memset(g->table, 0xff, (size_t)g->ntable * sizeof(*g->table));
	for (uint32_t i = 0; i < g->used; i++)
		enter(g, i);
}

/* Another ring for what is remembered; without memory all stays. */
static void move(struct ghosts *g, uint32_t nplaces)
{
	struct ghosts to = { .nplaces = nplaces, .held = g->held };

	to.ntable = nplaces + nplaces / 2;
	to.hash = malloc(nplaces * sizeof(*to.hash));
	to.weight = malloc(nplaces * sizeof(*to.weight));
	to.table = malloc(to.ntable * sizeof(*to.table));
	if (!to.hash || !to.weight || !to.table) {
		ghosts_free(&to);
		return;
	}
	pack(g, to.hash, to.weight);
	to.used = g->used;
	ghosts_free(g);
	*g = to;
	make_table(g);
}

/* A place in a ring that is full: a larger ring, or one of the same size when
 * a quarter was taken back; else by forgetting one. Not 0: there is none. */
static int make_place(struct ghosts *g)
{
	uint32_t nplaces = g->nplaces;

	if (g->taken <= nplaces / 4)
		nplaces += nplaces / 4 + FIRST_PLACES;
	if (nplaces <= PLACES_MAX)
		move(g, nplaces);
	if (g->nplaces && g->used == g->nplaces)
		forget(g);
	return g->used < g->nplaces ? 0 : -1;
}

void ghosts_push(struct ghosts *g, struct eviction_item item, uint64_t limit)
{
	uint32_t place, weight = UINT32_MAX;

	if (item.weight < weight)
		weight = item.weight ? (uint32_t)item.weight : 1;
	while (g->held && g->held + weight > limit)
		forget(g);
	if (weight > limit || (g->used == g->nplaces && make_place(g)))
		return;
	place = (uint32_t)(((uint64_t)g->first + g->used) % g->nplaces);
	g->hash[place] = item.hash;
	g->weight[place] = weight;
	g->used++;
	g->held += weight;
	enter(g, place);
}

bool ghosts_take(struct ghosts *g, uint64_t hash)
{
	uint32_t at, place;

	if (!g->held)
		return false;
	at = search(g, hash);
	place = g->table[at];
	if (place == EVICTION_NONE)
		return false;
	leave(g, at);
	take_back(g, place);
	pass(g);
	return true;
}

void ghosts_free(struct ghosts *g)
{
	free(g->hash);
	free(g->weight);
	free(g->table);
	*g = (struct ghosts){ 0 };
}

size_t ghosts_memory(const struct ghosts *g)
{
	return g->nplaces * (sizeof(*g->hash) + sizeof(*g->weight)) +
	       g->ntable * sizeof(*g->table);
}
