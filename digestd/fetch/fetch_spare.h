/*
 * Spare connections: made before anybody asks for them, and kept idle in the
 * pool, so that who asks next does not wait for a handshake.
 */
#ifndef DIGESTD_FETCH_FETCH_SPARE_H
#define DIGESTD_FETCH_FETCH_SPARE_H

#include "digestd/fetch/fetch_pool.h"

struct spare;

/* Those that are being made. All zero: none. */
struct spares {
	struct spare *first;
	struct pool *pool; /* borrowed */
};

/* Makes as many as a place lacks to have n connections, see pool_lacks(); each
 * has connect_ms. Without memory there are fewer. */
void spares_make(struct spares *s, const struct pool_place *place,
		 unsigned connect_ms, unsigned n);

/* Gives up those that are being made. */
void spares_end(struct spares *s);

#endif
