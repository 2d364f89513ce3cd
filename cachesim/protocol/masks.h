/*
 * Sets of proxies by the thousand, as masks in rows of a few bytes: a row has
 * as many fields as it was made for, a field a bit for each proxy, rounded up
 * to bytes. What is asked together lies together.
 *
 * A field is read as the 8 bytes that begin with it, so there are 8 bytes more
 * than rows; written is the one byte that holds the proxy's bit.
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
	uint64_t all;    /* the bits of all proxies */
};

/* Rows for nproxies, all empty. With more than 64 of them, masks are not to be
 * got as a whole, and `all` is of the first. 0 or SCD_ENOMEM; to be released
 * with masks_free(). */
static inline int masks_init(struct masks *m, uint64_t nrows, unsigned nfields,
			     unsigned nproxies)
{
	m->stride = (nproxies + 7) / 8;
	m->row = m->stride * nfields;
	m->all = UINT64_MAX >> (nproxies < 64 ? 64 - nproxies : 0);
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
				 unsigned field)
{
	uint64_t bytes;

	memcpy(&bytes, masks_place(m, row, field), sizeof(bytes));
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	bytes = __builtin_bswap64(bytes);
#endif
	return bytes & m->all;
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
	__builtin_prefetch(m->at + row * m->row, 1);
}

#endif
