/*
 * The stack as a row of places, old to new.
 */
#include "cachesim/sim/stack.h"

#include <stdlib.h>
#include <string.h>

#include "codec/error.h"

static const uint32_t NOWHERE = UINT32_MAX;

enum { SPARE_PLACES = 64 };

struct sim_stack {
	uint64_t *tree;	    /* 1..nplaces: sums of the sizes at places */
	uint32_t *object;   /* by place: who took it */
	uint32_t *place;    /* by object; NOWHERE */
	uint32_t *size;	    /* by object */
	uint32_t nplaces, next;
	uint64_t total; /* of all sizes */
};

int sim_stack_new(struct sim_stack **out, uint32_t nobjects)
{
	struct sim_stack *s = calloc(1, sizeof(*s));
	size_t n = nobjects ? nobjects : 1;

	if (!s)
		return SCD_ENOMEM;
	s->nplaces = nobjects * 2 + SPARE_PLACES;
	s->tree = calloc((size_t)s->nplaces + 1, sizeof(*s->tree));
	s->object = malloc((size_t)s->nplaces * sizeof(*s->object));
	s->place = malloc(n * sizeof(*s->place));
	s->size = malloc(n * sizeof(*s->size));
	if (!s->tree || !s->object || !s->place || !s->size) {
		sim_stack_free(&s);
		return SCD_ENOMEM;
	}
	memset(s->place, 0xff, n * sizeof(*s->place));
	*out = s;
	return 0;
}

void sim_stack_free(struct sim_stack **s)
{
	if (!*s)
		return;
	free((*s)->tree);
	free((*s)->object);
	free((*s)->place);
	free((*s)->size);
	free(*s);
	*s = NULL;
}

/* Adds to the size at a place; modulo 2^64, so that it subtracts, too. */
static void stack_add(struct sim_stack *s, uint32_t place, uint64_t size)
{
	for (uint32_t i = place + 1; i <= s->nplaces; i += i & -i)
		s->tree[i] += size;
}

/* The sizes at all places before this one. */
static uint64_t stack_before(const struct sim_stack *s, uint32_t place)
{
	uint64_t sum = 0;

	for (uint32_t i = place; i; i &= i - 1)
		sum += s->tree[i];
	return sum;
}

/* The places taken move together, to the old end. */
static void stack_pack(struct sim_stack *s)
{
	uint32_t n = 0;

	memset(s->tree, 0, ((size_t)s->nplaces + 1) * sizeof(*s->tree));
	for (uint32_t i = 0; i < s->next; i++) {
		uint32_t object = s->object[i];

		if (s->place[object] != i)
			continue;
		s->object[n] = object;
		s->place[object] = n++;
		s->tree[n] = s->size[object];
	}
	s->next = n;
	for (uint32_t i = 1; i <= s->nplaces; i++) {
		uint32_t up = i + (i & -i);

		if (up <= s->nplaces)
			s->tree[up] += s->tree[i];
	}
}

void sim_stack_drop(struct sim_stack *s, uint32_t object)
{
	if (s->place[object] == NOWHERE)
		return;
	stack_add(s, s->place[object], -(uint64_t)s->size[object]);
	s->total -= s->size[object];
	s->place[object] = NOWHERE;
}

uint64_t sim_stack_use(struct sim_stack *s, uint32_t object, uint32_t size)
{
	uint64_t distance = SIM_STACK_FIRST;

	if (s->place[object] != NOWHERE)
		distance = s->total - stack_before(s, s->place[object]);
	sim_stack_drop(s, object);
	if (s->next == s->nplaces)
		stack_pack(s);
	s->place[object] = s->next;
	s->object[s->next] = object;
	s->size[object] = size;
	s->total += size;
	stack_add(s, s->next++, size);
	return distance;
}
