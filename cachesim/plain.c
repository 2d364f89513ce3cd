/*
 * Rows of a plan that are single caches.
 */
#include "cachesim/plain.h"

#include <stdlib.h>

#include "cachesim/sim/multi.h"
#include "codec/error.h"
#include "digestd/core/eviction.h"

enum {
	TOGETHER = 64, /* caches of one pass */
	ARRAYS = 2,    /* up to so many are worth an array of the objects */
};

bool plain_is(const struct plan_row *row, const struct sim_trace *t,
	      bool keep_changed)
{
	const struct sim_config *c = &row->config;

	return c->nproxies == 1 && !c->protocol && !c->admission &&
	       !c->size_limit && !c->warmup_ppm &&
	       (c->placement == PLACEMENT_KEEP ||
		c->placement == PLACEMENT_SECOND ||
		c->placement == PLACEMENT_SINGLE) &&
	       (!t->nchanges || keep_changed);
}

/* As a cluster of one counts. */
static void convert(const struct sim_multi_result *r,
		    const struct sim_config *c, uint64_t capacity,
		    struct sim_result *out)
{
	struct sim_counters *n = &out->sum;

	*out = (struct sim_result){ .nproxies = 1, .capacity = capacity };
	n->requests = r->requests;
	n->bytes = r->bytes;
	n->local_hits = r->hit.hits;
	n->local_bytes = r->hit.hit_bytes;
	n->origin = r->requests - r->hit.hits;
	n->origin_bytes = r->bytes - r->hit.hit_bytes;
	n->latency_us = n->local_hits * c->latency.local +
			n->origin * (c->latency.local + c->latency.origin);
	n->writes = r->stats.puts;
	n->write_bytes = r->stats.put_bytes;
	n->evicted = r->stats.evicted;
	n->evicted_bytes = r->stats.evicted_bytes;
	n->refused = n->origin - n->writes;
	n->held = r->stats.objects;
	n->held_bytes = r->stats.bytes;
	out->proxy[0] = *n;
}

/* Simulates n rows, those at rows[0..n-1], which count alike. */
static int run(const struct plan *p, const struct sim_trace *t,
	       struct sim_result *out, const size_t *rows, size_t n,
	       struct plain_options options)
{
	struct sim_multi_cache caches[TOGETHER];
	struct sim_multi_result results[TOGETHER];
	const struct sim_config *first = &p->rows[rows[0]].config;
	struct sim_multi_config config = {
		.trace = t,
		.caches = caches,
		.ncaches = n,
		.nthreads = options.nthreads,
		.equal_sizes = first->objects,
		.keep_changed = options.keep_changed,
	};
	int error;

	for (size_t i = 0; i < n; i++) {
		const struct sim_config *c = &p->rows[rows[i]].config;

		caches[i] = (struct sim_multi_cache){
			.policy = c->eviction ? c->eviction :
						eviction_policy_find("lru"),
			.capacity = sim_config_capacity(c, t),
			.hashed = n > ARRAYS,
		};
	}
	error = sim_multi_run(&config, results);
	for (size_t i = 0; !error && i < n; i++)
		convert(&results[i], &p->rows[rows[i]].config,
			caches[i].capacity, &out[rows[i]]);
	return error;
}

int plain_simulate(const struct plan *p, const struct sim_trace *t,
		   struct sim_result *out, struct plain_options options)
{
	size_t rows[TOGETHER], n = 0;
	int error = 0;

	for (size_t i = 0; !error && i < p->nrows; i++) {
		if (plain_is(&p->rows[i], t, options.keep_changed))
			rows[n++] = i;
		if (n == TOGETHER || (n && i + 1 == p->nrows)) {
			error = run(p, t, out, rows, n, options);
			n = 0;
		}
	}
	return error;
}
