/*
 * Distances by number.
 */
#include "digestd/mesh/distance_table.h"

#include <stdlib.h>

#include "codec/mix.h"

struct distance_place {
	struct distance distance;
	uint64_t number;
	uint64_t used;
};

static unsigned distance_set_of(uint64_t number)
{
	return (unsigned)(scd__mix64(number) % DISTANCE_SETS);
}

static struct distance_place *
distance_table_place(struct distance_place *const *set, uint64_t number)
{
	for (unsigned i = 0; i < DISTANCE_WAYS; i++) {
		if (set[i] && set[i]->number == number)
			return set[i];
	}
	return NULL;
}

struct distance *distance_table_find(const struct distance_table *t,
				     uint64_t number)
{
	struct distance_place *p = distance_table_place(
		t->places[distance_set_of(number)], number);

	return p ? &p->distance : NULL;
}

/* Where a new one goes: a free place, or that of the least recently used. */
static struct distance_place **
distance_table_room(struct distance_place **set)
{
	struct distance_place **room = &set[0];

	for (unsigned i = 0; i < DISTANCE_WAYS; i++) {
		if (!set[i])
			return &set[i];
		if (set[i]->used < (*room)->used)
			room = &set[i];
	}
	return room;
}

static struct distance_place *
distance_table_make(struct distance_place **set, uint64_t number)
{
	struct distance_place **room = distance_table_room(set);

	if (!*room)
		*room = malloc(sizeof(**room));
	if (*room)
		**room = (struct distance_place){ .number = number };
	return *room;
}

struct distance *distance_table_use(struct distance_table *t, uint64_t number)
{
	struct distance_place **set = t->places[distance_set_of(number)];
	struct distance_place *p = distance_table_place(set, number);

	if (!p)
		p = distance_table_make(set, number);
	if (!p)
		return NULL;
	p->used = ++t->uses;
	return &p->distance;
}

void distance_table_free(struct distance_table *t)
{
	for (unsigned i = 0; i < DISTANCE_SETS; i++) {
		for (unsigned k = 0; k < DISTANCE_WAYS; k++)
			free(t->places[i][k]);
	}
	*t = (struct distance_table){ 0 };
}
