/*
 * One trace through one node, as the table of docs/ADMISSION.md and its test
 * have it: a quarter of the requests warms up, the rest counts.
 */
#ifndef TESTS_SIM_ADMISSION_RUN_H
#define TESTS_SIM_ADMISSION_RUN_H

#include <stdlib.h>

#include "cachesim/sim/node.h"
#include "cachesim/sim/trace.h"
#include "digestd/store/eviction.h"

struct admission_run {
	double ohr, bhr, writes; /* hits and writes a request */
	double false_seen;
	double key_bytes; /* of the policy, a key of its window */
};

/* Bytes of all objects of a trace. */
static inline uint64_t admission_footprint(const struct sim_trace *t)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < t->nobjects; i++)
		sum += t->size[i];
	return sum;
}

static inline struct sim_node_stats
admission_replay(struct sim_node *n, const struct sim_trace *t)
{
	enum { FAR = 16, NEAR = 8 };
	struct sim_node_stats warm = { 0 }, end;

	for (uint64_t i = 0; i < t->nrequests; i++) {
		uint32_t object = t->object[i];

		if (i + FAR < t->nrequests)
			sim_node_prefetch(n, t->object[i + FAR]);
		if (i + NEAR < t->nrequests)
			sim_node_prefetch_slot(n, t->object[i + NEAR]);
		if (i == t->nrequests / 4)
			sim_node_stats(n, &warm);
		sim_node_request(n, object, t->size[object]);
	}
	sim_node_stats(n, &end);
	end.requests -= warm.requests;
	end.request_bytes -= warm.request_bytes;
	end.hits -= warm.hits;
	end.hit_bytes -= warm.hit_bytes;
	end.writes -= warm.writes;
	return end;
}

/*
 * The policy is named with its options; the capacity is a share of the
 * footprint. False: unknown policies, or no memory.
 */
static inline bool admission_run(const struct sim_trace *t, const char *policy,
				 const char *eviction, double share,
				 struct admission_run *out)
{
	double footprint = (double)admission_footprint(t);
	struct sim_node_config c = {
		.capacity = (uint64_t)(footprint * share),
		.eviction = eviction_policy_find(eviction),
		.nobjects = t->nobjects,
		.hash = t->hash,
	};
	struct admission_stats a = { 0 };
	struct sim_node_stats s;
	struct sim_node *n;

	admission_defaults(&c.options);
	c.options.measure = true;
	c.options.mean_size = (uint64_t)(footprint / t->nobjects + .5);
	if (!c.eviction || admission_parse(policy, &c.admission, &c.options) ||
	    sim_node_new(&n, &c))
		return false;
	s = admission_replay(n, t);
	admission_stats(sim_node_admission(n), &a);
	out->ohr = (double)s.hits / (double)s.requests;
	out->bhr = (double)s.hit_bytes / (double)s.request_bytes;
	out->writes = (double)s.writes / (double)s.requests;
	out->false_seen = a.fresh ? (double)a.false_seen / (double)a.fresh : 0;
	out->key_bytes = a.tracked ? (double)a.bytes / (double)a.tracked : 0;
	sim_node_free(&n);
	return true;
}

#endif
