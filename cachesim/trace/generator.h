/*
 * Makes a trace out of a seed: the same requests on every machine, because
 * its random numbers and its logarithms are its own.
 *
 * The model. A request is one of three kinds:
 *  - a one-hit wonder: a URL that never comes again (share once);
 *  - a repetition of one of the recent requests of the client's group, the
 *    nearer the likelier (share locality of the rest);
 *  - a draw by popularity, from the group's own catalogue (share affinity of
 *    the draws) or from the one that all groups share. Popularity is Zipf's
 *    law, or a distribution that was published.
 * A rank of a catalogue is another object now and then (churn: how often each
 * changes while the trace lasts). Clients have Zipf-distributed activity and
 * belong to group client mod groups; a share (home) of the draws from the
 * common catalogue comes from the one group that the object belongs to.
 * An object's size follows from its identity alone: a lognormal body with a
 * Pareto tail, or a published distribution, the quantile taken from a sequence
 * that fills [0,1) evenly, so that few objects already have the mean of many.
 *
 * Calibration. Where a model states them, hit ratio, byte hit ratio and bytes
 * are those of an infinite cache: the number of objects in the catalogues is
 * solved for so that the expected number of distinct ones gives the hit ratio
 * at the number of requests that is asked for; the mean sizes of one-hit
 * wonders and of the others follow from the two byte figures. Otherwise the
 * catalogue has `objects`, and sizes have the mean `mean_bytes`.
 *
 * Costs some 50 ns a request, and 40 bytes a client.
 */
#ifndef TRACE_GENERATOR_H
#define TRACE_GENERATOR_H

#include "cachesim/trace/quantiles.h"
#include "cachesim/trace/trace_request.h"

struct trace_model {
	const char *name;
	const char *about;
	uint64_t requests;     /* of the whole trace, > 0 */
	uint64_t clients;      /* 1..10^8 */
	uint64_t groups;       /* 1..4096 */
	double infinite_bytes; /* sum of the sizes of distinct objects */
	double hit_ratio;      /* of an infinite cache */
	double byte_hit_ratio; /* of an infinite cache */
	double alpha;	       /* Zipf's exponent of the catalogues */
	double once;	       /* share of requests that are one-hit wonders */
	double locality;       /* share of the others: repetitions */
	double affinity;       /* share of draws from the group's catalogue */
	double home;	       /* share of draws by the object's own group */
	double churn;	       /* objects that each rank is in turn, minus 1 */
	double rate;	       /* requests a second */
	uint64_t objects;      /* 0: what the hit ratio asks for */
	double mean_bytes;     /* 0: what infinite_bytes asks for */
	quantile_function *sizes; /* null: sizes.h; unscaled where it is one of
				     bytes, which mean_bytes tells */
};

/*
 * The presets: the traces of the Summary Cache paper, then a CDN and plain
 * Zipf; a null name ends them.
 */
extern const struct trace_model trace_models[];

enum { TRACE_PLAN_FILE_MAX = 256 };

struct trace_plan {
	struct trace_model model;
	uint64_t seed;
	uint64_t requests; /* to be made; the hit ratio holds for this number */
	uint64_t hosts;	   /* names in the URLs; 0: one for every ten objects */
	/* published distributions in CacheLib's form; empty: the model's. That
	 * of popularity takes the place of alpha and of the hit ratio. */
	char popularity[TRACE_PLAN_FILE_MAX], sizes[TRACE_PLAN_FILE_MAX];
	struct trace_text refused; /* a part of spec; empty: none by itself */
};

struct trace_generator;

/*
 * Reads "PRESET,seed=N,requests=N,hosts=N", with any of clients, groups,
 * objects, alpha, once, locality, affinity, home, churn, rate, hit_ratio,
 * byte_hit_ratio, mean_bytes, popularity=FILE, sizes=FILE, and scale=X for a
 * part X of the preset's requests. 0 or TRACE_EOPTION; then out->refused is
 * the part that is wrong, if it is one.
 */
int trace_plan_parse(struct trace_plan *out, const char *spec);

/*
 * Calibrates the model and starts; reads the plan's files. 0, TRACE_ENOMEM,
 * TRACE_EIO, or TRACE_EOPTION when no calibration gives what the plan asks
 * for. The caller ends it with trace_generator_free().
 */
int trace_generator_new(struct trace_generator **out,
			const struct trace_plan *plan);

/*
 * The next request, its texts valid until the next call; 1, or 0 after the
 * last one.
 */
int trace_generator_next(struct trace_generator *g, struct trace_request *req);

/*
 * The next 1..max requests in short, the same as from trace_generator_next(),
 * faster. Their number, 0 after the last one.
 */
int trace_generator_rows(struct trace_generator *g, struct trace_row *rows,
			 int max);

void trace_generator_free(struct trace_generator **g);

#endif
