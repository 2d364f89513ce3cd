/*
 * What a trace is made of, and the most that any cache could hit of it: the
 * figures of an infinite cache that all requests go through.
 *
 * Costs one pass over the requests and a byte an object.
 */
#ifndef CACHESIM_SIM_INFO_H
#define CACHESIM_SIM_INFO_H

#include "cachesim/sim/trace.h"

struct sim_info {
	uint64_t requests, objects, clients;
	uint64_t uncacheable; /* of the requests: they pass to the origin */
	uint64_t changes;   /* modifications of objects */
	uint64_t bad;       /* records that are no request */
	uint64_t one_hit;   /* objects that are requested exactly once */
	uint64_t bytes;     /* requested; sizes beyond 4 GiB - 1 are that */
	uint64_t infinite;  /* bytes of the objects, each at its largest */
	int64_t first_ms;   /* since the epoch; 0: no times are known */
	uint32_t seconds;   /* from the first request to the latest */
	double one_hit_objects;  /* share of the objects... */
	double one_hit_requests; /* ...and of the requests that they are */
	double hit_ratio;        /* cacheable ones but the objects' first */
	double byte_hit_ratio;   /* the same by bytes, not below 0 */
	double fresh_hit_ratio;  /* when each modification is a miss, too */
};

/* Ratios of nothing are 0. 0 or TRACE_ENOMEM. */
int sim_trace_info(const struct sim_trace *t, struct sim_info *out);

#endif
