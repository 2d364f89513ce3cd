/*
 * Hit ratio curves: what caches of many sizes would hit. Of all requests they
 * are exact: each point is what a simulation of that cache counts. For LRU from
 * stack distances, in one pass for all sizes that hold the largest object, if
 * no object becomes smaller (a cache evicts for it what the distance then
 * forgives); otherwise, and for any other policy, by simulating each size. A
 * changed object is a miss at every size.
 *
 * Of a sample the caches are scaled down with it: SHARDS, see sim/sample.h. LRU
 * takes distances at all sizes there; objects that are larger than the cache
 * that is asked for, not than the scaled one, are left out.
 *
 * A sample has a little more or less than its share of the requests, most of
 * all by chance of the most popular objects. With `adjust` the difference
 * counts as hits at all sizes, as those would be: SHARDS_adj of the paper.
 */
#ifndef CACHESIM_SIM_MRC_H
#define CACHESIM_SIM_MRC_H

#include "cachesim/sim/multi.h"
#include "cachesim/sim/sample.h"

struct sim_mrc_config {
	const struct sim_trace *trace;
	const struct eviction_policy *policy; /* null: LRU */
	const uint64_t *capacities;	      /* ascending, n of them */
	size_t n;
	struct sim_sample_config sample; /* rate 1: all; and the warm-up */
	unsigned nthreads;		 /* for policies other than LRU */
	bool equal_sizes;		 /* capacities are objects */
	bool adjust;
};

struct sim_mrc_point {
	double hit_ratio, byte_hit_ratio;
};

/* What it rests on. */
struct sim_mrc_basis {
	uint64_t requests, objects; /* simulated, with the warm-up */
	double rate;
};

/* Computes a point for each capacity; basis may be null. 0 or SCD_ENOMEM.
 * Without requests that count all ratios are 0. */
int sim_mrc(const struct sim_mrc_config *config, struct sim_mrc_point *points,
	    struct sim_mrc_basis *basis);

#endif
