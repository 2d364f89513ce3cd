/*
 * The states that a search has come to, each once, in the order in which it
 * came to them.
 */
#ifndef TESTS_MESH_STATE_SET_H
#define TESTS_MESH_STATE_SET_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit.h"

struct state_set {
	size_t bytes; /* of a state, whose padding is zero */
	uint32_t n, max;
	uint8_t *states;
	uint32_t *table; /* twice as many places; 1 + the number of a state */
	uint32_t mask;
};

/* For less than max states, a power of two. Returns whether there is memory. */
static inline bool state_set_init(struct state_set *s, size_t bytes,
				  uint32_t max)
{
	*s = (struct state_set){
		.bytes = bytes,
		.max = max,
		.states = malloc(max * bytes),
		.table = malloc(2 * (size_t)max * sizeof(*s->table)),
		.mask = 2 * max - 1,
	};
	return s->states && s->table;
}

static inline void state_set_free(struct state_set *s)
{
	free(s->states);
	free(s->table);
}

static inline void state_set_clear(struct state_set *s)
{
	memset(s->table, 0, ((size_t)s->mask + 1) * sizeof(*s->table));
	s->n = 0;
}

/* The i-th of s->n; it may move with the next one that is put. */
static inline const void *state_set_at(const struct state_set *s, uint32_t i)
{
	return s->states + i * s->bytes;
}

static inline void state_set_put(struct state_set *s, const void *state)
{
	const uint8_t *bytes = state;
	uint64_t h = 14695981039346656037u;
	uint32_t i;

	for (size_t b = 0; b < s->bytes; b++)
		h = (h ^ bytes[b]) * 1099511628211u;
	for (i = (uint32_t)(h ^ h >> 32) & s->mask; s->table[i];
	     i = (i + 1) & s->mask) {
		if (!memcmp(state_set_at(s, s->table[i] - 1), state, s->bytes))
			return;
	}
	assert_true(s->n < s->max);
	memcpy(s->states + s->n * s->bytes, state, s->bytes);
	s->table[i] = ++s->n;
}

#endif
