/*
 * Makes a trace out of a seed: the same requests on every machine, because
 * its random numbers and its logarithms are its own.
 *
 * The model. A request is one of three kinds:
 *  - a one-hit wonder: a URL that never comes again (share once);
 *  - a repetition of one of the recent requests of the client's group, the
 *    nearer the likelier (share locality of the rest);
 *  - a draw by Zipf's law, from the group's own catalogue (share affinity of
 *    the draws) or from the one that all groups share.
 * Clients have Zipf-distributed activity and belong to group client mod groups.
 * An object's size follows from its identity alone: a lognormal body with a
 * Pareto tail, the quantile taken from a sequence that fills [0,1) evenly, so
 * that few objects already have the mean of many.
 *
 * Calibration. Stated are requests, hit ratio, byte hit ratio and bytes of an
 * infinite cache. The number of objects in the catalogues is solved for so
 * that the expected number of distinct ones gives the hit ratio at the number
 * of requests that is asked for; the mean sizes of one-hit wonders and of the
 * others follow from the two byte figures.
 */
#ifndef TRACE_GENERATOR_H
#define TRACE_GENERATOR_H

#include "cachesim/trace/request.h"

struct trace_model {
	const char *name;
	const char *about;
	uint64_t requests;     /* of the whole trace, > 0 */
	unsigned clients;      /* > 0 */
	unsigned groups;       /* > 0 */
	double infinite_bytes; /* sum of the sizes of distinct objects */
	double hit_ratio;      /* of an infinite cache */
	double byte_hit_ratio; /* of an infinite cache */
	double alpha;	       /* Zipf's exponent of the catalogues */
	double once;	       /* share of requests that are one-hit wonders */
	double locality;       /* share of the others: repetitions */
	double affinity;       /* share of draws from the group's catalogue */
};

/* The presets: the traces of the Summary Cache paper; a null name ends them. */
extern const struct trace_model trace_models[];

struct trace_plan {
	struct trace_model model;
	uint64_t seed;
	uint64_t requests; /* to be made; the hit ratio holds for this number */
	uint64_t hosts;	   /* names in the URLs; 0: one for every ten objects */
};

struct trace_generator;

/*
 * Reads "PRESET,seed=N,requests=N,hosts=N", with the share and ratio options
 * of trace_model by their names. 0 or TRACE_EOPTION.
 */
int trace_plan_parse(struct trace_plan *out, const char *spec);

/* Solves the calibration. 0, TRACE_ENOMEM, TRACE_EOPTION (no solution). */
int trace_generator_new(struct trace_generator **out,
			const struct trace_plan *plan);

/* The next request; its texts live until the next call. 1; 0 at the end. */
int trace_generator_next(struct trace_generator *g, struct trace_request *req);

/* Accepts null and nulls the pointer. */
void trace_generator_free(struct trace_generator **g);

#endif
