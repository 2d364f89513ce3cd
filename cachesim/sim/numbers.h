/*
 * A list of numbers that grows.
 */
#ifndef CACHESIM_SIM_NUMBERS_H
#define CACHESIM_SIM_NUMBERS_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "codec/error.h"

struct numbers {
	uint32_t *at;
	size_t n, room;
};

/* Room for n in all. 0 or SCD_ENOMEM. */
static inline int numbers_reserve(struct numbers *l, size_t n)
{
	size_t room = l->room ? l->room : 64;
	uint32_t *at;

	if (n <= l->room)
		return 0;
	while (room < n)
		room *= 2;
	at = realloc(l->at, room * sizeof(*at));

	if (!at)
		return SCD_ENOMEM;
	l->at = at;
	l->room = room;
	return 0;
}

/* Adds a number. 0 or SCD_ENOMEM: then it is not there. */
static inline int numbers_push(struct numbers *l, uint32_t number)
{
	if (l->n == l->room && numbers_reserve(l, l->n + 1))
		return SCD_ENOMEM;
	l->at[l->n++] = number;
	return 0;
}

static inline void numbers_free(struct numbers *l)
{
	free(l->at);
	*l = (struct numbers){ 0 };
}

#endif
