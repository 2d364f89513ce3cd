/*
 * What a request will touch, fetched some requests ahead: an object's row,
 * then its place in the cache and in summaries, then what the eviction policy
 * has of it. (What is evicted is fetched as the one before it goes.) Nothing
 * depends on any of this but time.
 */
#ifndef CACHESIM_SIM_PREFETCH_H
#define CACHESIM_SIM_PREFETCH_H

#include "cachesim/sim/cluster_state.h"

/* Requests ahead. */
enum { SIM_ROW_AHEAD = 24, SIM_PLACE_AHEAD = 14, SIM_SLOT_AHEAD = 6 };

/* The proxy in whose cache a request looks. */
static inline struct sim_proxy *sim_prefetch_at(struct sim_cluster *s,
						uint64_t request)
{
	return sim_serving(s, sim_home(s, request), s->trace->object[request]);
}

/* Always inline: gcc takes a function that only fetches for one without any
 * effect, and drops its calls. */
__attribute__((always_inline)) static inline void
sim_prefetch_row(struct sim_cluster *s, uint64_t request)
{
	uint32_t object = s->trace->object[request];

	masks_prefetch(&s->objects, object);
	__builtin_prefetch(&s->size[object]);
	if (s->hashes)
		__builtin_prefetch(&s->trace->hash[object]);
}

static inline void sim_prefetch_place(struct sim_cluster *s, uint64_t request)
{
	struct sim_proxy *p = sim_prefetch_at(s, request);
	uint32_t object = s->trace->object[request];

	if (p->node)
		sim_node_prefetch(p->node, object);
	else
		sim_cache_prefetch(p->cache, object);
}

static inline void sim_prefetch_slot(struct sim_cluster *s, uint64_t request)
{
	struct sim_proxy *p = sim_prefetch_at(s, request);
	uint32_t object = s->trace->object[request];

	if (p->node)
		sim_node_prefetch_slot(p->node, object);
	else
		sim_cache_prefetch_slot(p->cache, object);
}

/* What a protocol knows of an object for a proxy. */
static inline void sim_prefetch_summaries(struct sim_cluster *s,
					  unsigned proxy, uint32_t object)
{
	if (s->prefetch)
		s->prefetch(s->protocol,
			    s->protocol->config.nviews > 1 ? proxy : 0, object);
}

#endif
