/*
 * Summaries whose publications are flips of rows: a row of a view stands for
 * an object, a server or a bit of a filter, and has a bit for each proxy. A
 * publication names the rows in which its proxy's bit changes.
 */
#ifndef CACHESIM_PROTOCOL_FLIPS_H
#define CACHESIM_PROTOCOL_FLIPS_H

#include "cachesim/protocol/masks.h"
#include "cachesim/protocol/protocol.h"

/* A publication; `at` has room for n, its changes. */
struct flips {
	struct protocol_publication base;
	size_t n;
	uint32_t at[];
};

/* The views of an instance. */
struct flip_views {
	struct masks view[PROTOCOL_MAX_PROXIES];
};

/* Makes the views, of nrows each, empty. 0 or SCD_ENOMEM. */
int flip_views_init(struct flip_views *v, const struct protocol_config *c,
		    uint64_t nrows);
void flip_views_free(struct flip_views *v);

/* A publication of n flips, copied from `at` (null: to be filled in), and no
 * bytes yet. Null: no memory. */
struct flips *flips_new(unsigned proxy, const uint32_t *at, size_t n);

/* Flips the rows of a publication in a view. */
void flips_deliver(struct masks *view, const struct protocol_publication *p);

/* Bytes of one, and one from bytes: as struct protocol's. */
int flips_pack(const struct protocol_publication *p, uint8_t **out,
	       size_t *len);
int flips_unpack(struct protocol_state *s,
		 const struct protocol_publication *head, const uint8_t *in,
		 size_t len, struct protocol_publication **out);

/* Frees one: as struct protocol's discard(). */
void flips_discard(struct protocol_state *s, struct protocol_publication *p);

#endif
