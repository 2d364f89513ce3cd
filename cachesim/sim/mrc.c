/*
 * Curves. Whichever way, the simulated trace gives counts for each scaled
 * capacity, and these become ratios.
 */
#include "cachesim/sim/mrc.h"

#include <stdlib.h>
#include <string.h>

#include "cachesim/sim/stack.h"
#include "codec/error.h"
#include "digestd/store/eviction_policy.h"

/* What is counted for each capacity, and in all. */
struct curve {
	const struct sim_mrc_config *config;
	struct sim_sample sample; /* or all */
	uint64_t *capacities;	  /* scaled */
	struct sim_cache_hits *hits;
	uint64_t requests, bytes; /* that count */
	uint32_t *size;		  /* by object, as of now */
	/* of the uncacheable requests, as much as the sample's share */
	double passed, passed_bytes;
};

/* Some of the capacities, in one pass. */
struct mrc_range {
	size_t first, end;
	uint64_t limit; /* objects that are larger are in no cache */
};

static void mrc_scale(struct curve *c)
{
	for (size_t i = 0; i < c->config->n; i++) {
		double scaled = (double)c->config->capacities[i] *
				c->sample.rate;

		c->capacities[i] = c->sample.rate < 1
					   ? (uint64_t)(scaled + .5)
					   : c->config->capacities[i];
		if (!c->capacities[i])
			c->capacities[i] = 1;
	}
}

/* The first capacity of a range that is not below a distance; its end: none. */
static size_t mrc_first_holding(const uint64_t *capacities,
				const struct mrc_range *range,
				uint64_t distance)
{
	size_t low = range->first, high = range->end;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (capacities[middle] < distance)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static void mrc_count(struct curve *c, const struct mrc_range *range,
		      uint64_t distance, uint32_t size)
{
	size_t i;

	c->requests++;
	c->bytes += size;
	if (distance == SIM_STACK_FIRST)
		return;
	i = mrc_first_holding(c->capacities, range, distance);
	if (i == range->end)
		return;
	c->hits[i].hits++;
	c->hits[i].hit_bytes += size;
}

/* What hits at one capacity hits at all larger ones. */
static void mrc_accumulate(struct curve *c, const struct mrc_range *range)
{
	for (size_t i = range->first + 1; i < range->end; i++) {
		c->hits[i].hits += c->hits[i - 1].hits;
		c->hits[i].hit_bytes += c->hits[i - 1].hit_bytes;
	}
}

static void mrc_pass(struct curve *c, const struct mrc_range *range,
		     struct sim_stack *stack)
{
	const struct sim_trace *t = &c->sample.trace;
	uint64_t change = 0;

	c->requests = c->bytes = 0;
	for (uint64_t i = 0; i < t->nrequests; i++) {
		uint32_t object = t->object[i];
		uint64_t distance = SIM_STACK_FIRST;

		for (; change < t->nchanges && t->change[change] == i;
		     change++) {
			c->size[object] = t->change_size[change];
			sim_stack_drop(stack, object);
		}
		if (c->config->equal_sizes)
			c->size[object] = 1;
		if (c->size[object] <= range->limit)
			distance = sim_stack_use(stack, object,
						 c->size[object]);
		if (i >= c->sample.warm)
			mrc_count(c, range, distance, c->size[object]);
	}
	mrc_accumulate(c, range);
}

static int mrc_by_distance(struct curve *c, const struct mrc_range *range)
{
	const struct sim_trace *t = &c->sample.trace;
	struct sim_stack *stack = NULL;
	int err = SCD_ENOMEM;

	c->size = malloc(((size_t)t->nobjects + 1) * sizeof(*c->size));
	if (c->size)
		err = sim_stack_new(&stack, t->nobjects);
	if (!err) {
		if (t->size)
			memcpy(c->size, t->size,
			       t->nobjects * sizeof(*c->size));
		mrc_pass(c, range, stack);
	}
	sim_stack_free(&stack);
	free(c->size);
	return err;
}

static int mrc_by_simulation(struct curve *c, const struct mrc_range *range)
{
	size_t n = range->end - range->first;
	struct sim_multi_cache *caches = calloc(n + 1, sizeof(*caches));
	struct sim_multi_result *results = calloc(n + 1, sizeof(*results));
	struct sim_multi_config multi = {
		.trace = &c->sample.trace,
		.caches = caches,
		.ncaches = n,
		.warm = c->sample.warm,
		.nthreads = c->config->nthreads,
		.equal_sizes = c->config->equal_sizes,
	};
	int err = SCD_ENOMEM;

	for (size_t i = 0; caches && i < n; i++) {
		caches[i].policy = c->config->policy ? c->config->policy
						     : &eviction_lru;
		caches[i].capacity = c->capacities[range->first + i];
	}
	if (caches && results)
		err = sim_multi_run(&multi, results);
	for (size_t i = 0; !err && i < n; i++) {
		c->hits[range->first + i] = results[i].hit;
		c->requests = results[i].requests;
		c->bytes = results[i].bytes;
	}
	free(caches);
	free(results);
	return err;
}

/* The size of the largest object at any time; whether one becomes smaller. */
static int mrc_measure_sizes(const struct curve *c, uint64_t *largest,
			     bool *shrinks)
{
	const struct sim_trace *t = &c->sample.trace;
	size_t bytes = (size_t)t->nobjects * sizeof(uint32_t);
	uint32_t *size = malloc(bytes + 1);

	*largest = 1;
	*shrinks = false;
	if (!size)
		return SCD_ENOMEM;
	if (t->nobjects)
		memcpy(size, t->size, bytes);
	for (uint32_t o = 0; o < t->nobjects; o++)
		*largest = size[o] > *largest ? size[o] : *largest;
	for (uint64_t i = 0; i < t->nchanges; i++) {
		uint32_t *now = &size[t->object[t->change[i]]];

		*shrinks |= t->change_size[i] < *now;
		*now = t->change_size[i];
		*largest = *now > *largest ? *now : *largest;
	}
	free(size);
	return 0;
}

/*
 * LRU. Distances say what a cache holds if every object fits in it and none
 * becomes smaller: otherwise a cache of all requests is simulated. In a sample
 * objects are left out that do not fit in the cache that is scaled down, at
 * their own sizes.
 */
static int mrc_lru(struct curve *c)
{
	const uint64_t *capacities = c->config->capacities;
	bool sampled = c->sample.rate < 1, shrinks = false;
	struct mrc_range large = { 0, c->config->n, UINT64_MAX }, small = large;
	uint64_t largest = 1;
	int err = 0;

	if (!c->config->equal_sizes)
		err = mrc_measure_sizes(c, &largest, &shrinks);
	large.first = mrc_first_holding(capacities, &large, largest);
	if (shrinks && !sampled)
		large.first = large.end;
	small.end = large.first;
	if (!err && small.end && !sampled)
		err = mrc_by_simulation(c, &small);
	for (size_t i = 0; i < large.first && sampled && !err; i++)
		err = mrc_by_distance(
			c, &(struct mrc_range){i, i + 1, capacities[i]});
	if (!err && large.first < large.end)
		err = mrc_by_distance(c, &large);
	return err;
}

/* Hits of a number sampled, where so many were expected, and others passed. */
static double mrc_ratio(uint64_t hits, uint64_t sampled, double expected,
			double passed)
{
	double adjusted = (double)hits + expected - (double)sampled;

	if (expected <= 0 || adjusted <= 0)
		return 0;
	if (adjusted > expected)
		adjusted = expected;
	return adjusted / (expected + passed);
}

static void mrc_count_passes(struct curve *c)
{
	const struct sim_trace *t = c->config->trace;
	uint64_t first = sim_trace_first_pass(t, c->config->sample.warm);
	uint64_t bytes = 0;

	for (uint64_t i = first; i < t->npasses; i++)
		bytes += t->pass_size[i];
	c->passed = (double)(t->npasses - first) * c->sample.rate;
	c->passed_bytes = (double)bytes * c->sample.rate;
}

/* Bytes of the whole trace that count. */
static uint64_t mrc_all_bytes(const struct sim_mrc_config *config,
			      uint32_t *size)
{
	const struct sim_trace *t = config->trace;
	uint64_t change = 0, bytes = 0;

	memcpy(size, t->size, t->nobjects * sizeof(*size));
	for (uint64_t i = 0; i < t->nrequests; i++) {
		uint32_t object = t->object[i];

		for (; change < t->nchanges && t->change[change] == i; change++)
			size[object] = t->change_size[change];
		if (i >= config->sample.warm)
			bytes += size[object];
	}
	return bytes;
}

/* What the sample would be expected to count. */
static int mrc_expect(const struct curve *c, double *requests, double *bytes)
{
	const struct sim_mrc_config *config = c->config;
	uint64_t n = config->trace->nrequests, warm = config->sample.warm;
	uint32_t *size;

	*requests = (double)c->requests;
	*bytes = (double)c->bytes;
	if (!config->adjust || c->sample.rate >= 1)
		return 0;
	*requests = c->sample.rate * (double)(n > warm ? n - warm : 0);
	if (config->equal_sizes) {
		*bytes = *requests;
		return 0;
	}
	size = malloc(((size_t)config->trace->nobjects + 1) * sizeof(*size));
	if (!size)
		return SCD_ENOMEM;
	*bytes = c->sample.rate * (double)mrc_all_bytes(config, size);
	free(size);
	return 0;
}

static int mrc_draw_points(struct curve *c, struct sim_mrc_point *points)
{
	double requests, bytes;
	int err = mrc_expect(c, &requests, &bytes);

	mrc_count_passes(c);
	for (size_t i = 0; !err && i < c->config->n; i++) {
		points[i].hit_ratio = mrc_ratio(c->hits[i].hits, c->requests,
						requests, c->passed);
		points[i].byte_hit_ratio = mrc_ratio(
			c->hits[i].hit_bytes, c->bytes, bytes, c->passed_bytes);
	}
	return err;
}

/* The sample; all requests are borrowed. */
static int mrc_take(struct curve *c)
{
	const struct sim_mrc_config *config = c->config;
	uint64_t max = config->sample.max_objects;

	if (config->sample.rate < 1 || (max && max < config->trace->nobjects))
		return sim_sample_make(&c->sample, config->trace,
				       &config->sample);
	c->sample.trace = *config->trace;
	c->sample.rate = 1;
	c->sample.warm = config->sample.warm;
	return 0;
}

int sim_mrc(const struct sim_mrc_config *config, struct sim_mrc_point *points,
	    struct sim_mrc_basis *basis)
{
	struct curve c = { .config = config };
	int err = mrc_take(&c);

	c.capacities = calloc(config->n + 1, sizeof(*c.capacities));
	c.hits = calloc(config->n + 1, sizeof(*c.hits));
	if (!err && (!c.capacities || !c.hits))
		err = SCD_ENOMEM;
	if (!err) {
		bool lru = !config->policy || config->policy == &eviction_lru;
		struct mrc_range all = { 0, config->n, UINT64_MAX };

		mrc_scale(&c);
		err = lru ? mrc_lru(&c) : mrc_by_simulation(&c, &all);
	}
	if (!err)
		err = mrc_draw_points(&c, points);
	if (!err && basis) {
		basis->requests = c.sample.trace.nrequests;
		basis->objects = c.sample.trace.nobjects;
		basis->rate = c.sample.rate;
	}
	if (c.sample.trace.object != config->trace->object)
		sim_sample_free(&c.sample);
	free(c.capacities);
	free(c.hits);
	return err;
}
