/*
 * Sets of proxies by the thousand, as masks in rows of a few bytes: a row has
 * as many fields as it was made for, a field a bit for each proxy, rounded up
 * to bytes. What is asked together lies together.
 *
 * A field is read in words of 8 bytes, the last of which may go on behind it,
 * so there are 8 bytes more than rows; written is the one byte that holds the
 * proxy's bit.
 */
#ifndef CACHESIM_PROTOCOL_MASKS_H
#define CACHESIM_PROTOCOL_MASKS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "codec/error.h"

struct masks {
	uint8_t *at;
	unsigned stride; /* bytes of a field */
	unsigned row;    /* bytes of a row */
	unsigned nwords; /* of a field, the last one perhaps in part */
	uint64_t last;   /* the bits of proxies in that */
};

/* Rows for nproxies, all empty. 0 or SCD_ENOMEM; to be released with
 * masks_free(). */
static inline int masks_init(struct masks *m, uint64_t nrows, unsigned nfields,
			     unsigned nproxies)
{
	m->stride = (nproxies + 7) / 8;
	m->row = m->stride * nfields;
	m->nwords = (nproxies + 63) / 64;
	m->last = UINT64_MAX >> (m->nwords * 64 - nproxies);
	m->at = calloc((size_t)nrows * m->row + 8, 1);
	return m->at ? 0 : SCD_ENOMEM;
}

static inline void masks_free(struct masks *m)
{
	free(m->at);
	m->at = NULL;
}

/* Where a field of a row begins. */
static inline uint8_t *masks_place(const struct masks *m, uint64_t row,
				   unsigned field)
{
	return m->at + row * m->row + field * m->stride;
}

static inline uint64_t masks_get(const struct masks *m, uint64_t row,
				 unsigned field, unsigned word)
{
	uint64_t bytes;

	memcpy(&bytes, masks_place(m, row, field) + word * sizeof(bytes),
	       sizeof(bytes));
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	bytes = __builtin_bswap64(bytes);
#endif
	return word + 1 < m->nwords ? bytes : bytes & m->last;
}

static inline bool masks_has(const struct masks *m, uint64_t row,
			     unsigned field, unsigned proxy)
{
	return masks_place(m, row, field)[proxy >> 3] >> (proxy & 7) & 1;
}

static inline void masks_set(struct masks *m, uint64_t row, unsigned field,
			     unsigned proxy)
{
	masks_place(m, row, field)[proxy >> 3] |=
		(uint8_t)(1u << (proxy & 7));
}

static inline void masks_clear(struct masks *m, uint64_t row, unsigned field,
			       unsigned proxy)
{
	masks_place(m, row, field)[proxy >> 3] &=
		(uint8_t)~(1u << (proxy & 7));
}

static inline void masks_flip(struct masks *m, uint64_t row, unsigned field,
			      unsigned proxy)
{
	masks_place(m, row, field)[proxy >> 3] ^=
		(uint8_t)(1u << (proxy & 7));
}

static inline void masks_prefetch(const struct masks *m, uint64_t row)
{
	const uint8_t *at = m->at + row * m->row;

	__builtin_prefetch(at, 1);
	if (m->row > 16) /* often in two cache lines */
		__builtin_prefetch(at + m->row - 1, 1);
}

#endif
