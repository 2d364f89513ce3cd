/*
 * Sets of nodes of a world: a bit for each.
 */
#ifndef CACHESIM_WORLD_NODE_SET_H
#define CACHESIM_WORLD_NODE_SET_H

#include <stdbool.h>
#include <stdint.h>

#include "cachesim/world/nodes.h"

enum { NODE_SET_WORDS = (NODES_MAX + 63) / 64 };

struct node_set {
	uint64_t word[NODE_SET_WORDS];
};

static inline void node_set_add(struct node_set *s, unsigned node)
{
	s->word[node / 64] |= UINT64_C(1) << node % 64;
}

static inline void node_set_remove(struct node_set *s, unsigned node)
{
	s->word[node / 64] &= ~(UINT64_C(1) << node % 64);
}

/* The first one from `node` on that is in the set; NODES_MAX: there is none. */
static inline unsigned node_set_from(const struct node_set *s, unsigned node)
{
	for (; node < NODES_MAX; node = (node / 64 + 1) * 64) {
		uint64_t left = s->word[node / 64] >> node % 64;

		if (left)
			return node + (unsigned)__builtin_ctzll(left);
	}
	return NODES_MAX;
}

/* Whether another one than that is in it. */
static inline bool node_set_has_others(const struct node_set *s, unsigned node)
{
	unsigned first = node_set_from(s, 0);

	if (first == node)
		first = node_set_from(s, node + 1);
	return first < NODES_MAX;
}

#endif
