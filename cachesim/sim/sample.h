/*
 * Spatial sampling: of a trace, all requests for some of the objects, chosen by
 * a hash. A cache of a size scaled by the share of the objects has about the
 * hit ratio that the whole cache has with the whole trace.
 *
 * Source: Waldspurger, Park, Garthwaite, Ahmad: "Efficient MRC Construction
 * with SHARDS", FAST 2015. There, a sample of fixed size begins with all
 * objects and lowers its rate as they become too many; here all objects are
 * known beforehand, so that it begins with the rate that it would end with.
 *
 * Costs: 4 bytes a request sampled, 12 an object sampled; while it is made, 4
 * bytes an object, and 8 when their number is limited.
 */
#ifndef CACHESIM_SIM_SAMPLE_H
#define CACHESIM_SIM_SAMPLE_H

#include "cachesim/sim/trace.h"

struct sim_sample_config {
	double rate;	      /* share of the objects, 0 < rate <= 1 */
	uint64_t max_objects; /* no more than these; 0: no limit */
	uint64_t seed;	      /* another seed, other objects */
	uint64_t warm;	      /* requests at the beginning that do not count */
};

struct sim_sample {
	struct sim_trace trace; /* without times and clients */
	double rate;		/* the probability with which an object is in */
	uint64_t warm;		/* sampled requests that do not count */
};

/* Samples `in`. 0 or SCD_ENOMEM. The caller ends it with sim_sample_free(). */
int sim_sample_make(struct sim_sample *out, const struct sim_trace *in,
		    const struct sim_sample_config *config);

/* Leaves it empty; accepts one that is. */
void sim_sample_free(struct sim_sample *s);

#endif
