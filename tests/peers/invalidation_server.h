/*
 * The part of a test's server that is the interface of invalidations: all of a
 * handler but its on_request().
 */
#ifndef TESTS_PEERS_INVALIDATION_SERVER_H
#define TESTS_PEERS_INVALIDATION_SERVER_H

#include "digestd/peers/invalidation_api.h"
#include "digestd/server/server.h"

static inline size_t invalidation_server_on_body(void *arg, struct exchange *x,
						 const void *data, size_t len)
{
	(void)arg;
	return invalidation_api_on_body(x, data, len);
}

static inline void invalidation_server_on_body_end(void *arg,
						   struct exchange *x)
{
	(void)arg;
	invalidation_api_on_body_end(x);
}

static inline void invalidation_server_on_done(void *arg, struct exchange *x,
					       enum exchange_end end)
{
	(void)arg;
	(void)end;
	invalidation_api_on_done(x);
}

#endif
