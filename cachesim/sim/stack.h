/*
 * LRU stack distances: how much must be used after an object, itself included,
 * before it is used again. An LRU cache of at least that size has it then; a
 * smaller one does not. So one pass over a trace tells the hits of all sizes.
 *
 * Method: each use takes the next of a row of places, over which a Fenwick tree
 * sums the sizes of what was used there last; when the row is full it is packed
 * (Olken, "Efficient Methods for Calculating the Success Function of Fixed
 * Space Replacement Policies", 1981, with a Fenwick tree).
 *
 * Costs: 32 bytes an object; a use takes steps by the logarithm of the objects.
 */
#ifndef CACHESIM_SIM_STACK_H
#define CACHESIM_SIM_STACK_H

#include <stddef.h>
#include <stdint.h>

/* The distance of a first use. */
static const uint64_t SIM_STACK_FIRST = UINT64_MAX;

struct sim_stack;

/* For objects below nobjects (< 2^30). 0 or SCD_ENOMEM. */
int sim_stack_new(struct sim_stack **out, uint32_t nobjects);

/* Accepts null and nulls the pointer. */
void sim_stack_free(struct sim_stack **s);

/* An object is used; it has this size from now on. Its distance, by the sizes
 * until now; SIM_STACK_FIRST: it was not used, or dropped since. */
uint64_t sim_stack_use(struct sim_stack *s, uint32_t object, uint32_t size);

/* An object is gone from the stack, if it was there. */
void sim_stack_drop(struct sim_stack *s, uint32_t object);

#endif
