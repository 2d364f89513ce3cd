/*
 * Where connections lead: what a place says without a name server.
 */
#ifndef DIGESTD_FETCH_FETCH_PLACE_H
#define DIGESTD_FETCH_FETCH_PLACE_H

#include <stdbool.h>
#include <stddef.h>

#include "digestd/fetch/fetch_pool.h"
#include "digestd/os/resolver.h"

/* In which of n buckets of a table it is. Who names many hosts of one bucket
 * only slows his own lookups. */
size_t fetch_place_bucket(const struct pool_place *place, size_t n);

/*
 * Its address, where it brings one or its host is one: *at has that then, or
 * none if it is no valid one. Returns false for a name; *at has none.
 */
bool fetch_place_address(const struct pool_place *place,
			 struct resolver_answer *at);

#endif
