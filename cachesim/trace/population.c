/*
 * See population.h, and generator.h for what is solved.
 */
#include "cachesim/trace/population.h"

#include <stdlib.h>

#include "cachesim/trace/sizes.h"

enum {
	SHARED_HEAD = 8192, /* ranks of a catalogue, calibrated one by one */
	OWN_HEAD = 2048,
	CLIENTS_HEAD = 1 << 20, /* clients whose groups are counted */
	CLIENTS_MAX = 100000000,
	MEAN_STEPS = 1 << 16,
};

static const double clients_alpha = 0.5; /* busy clients are not that busy */

static double population_web_sizes(const void *arg, double u)
{
	(void)arg;
	return sizes_quantile(u);
}

static double population_listed_sizes(const void *arg, double u)
{
	return weighted_quantile(arg, u);
}

/* Reads the files that the plan names. */
static int population_load_files(struct population *p)
{
	static const struct weighted_names popularity = {
		"popularityBuckets", "popularityWeights"
	};
	static const struct weighted_names sizes = {
		"valSizeRange", "valSizeRangeProbability"
	};
	int err = 0;

	if (p->plan.popularity[0])
		err = weighted_load(&p->popularity, p->plan.popularity,
				    &popularity);
	if (!err && p->plan.sizes[0])
		err = weighted_load(&p->size_list, p->plan.sizes, &sizes);
	return err;
}

static void population_prepare_sizes(struct population *p)
{
	if (p->size_list.n)
		quantiles_init(&p->sizes, population_listed_sizes,
			       &p->size_list);
	else if (p->plan.model.sizes)
		quantiles_init(&p->sizes, p->plan.model.sizes, NULL);
	else
		quantiles_init(&p->sizes, population_web_sizes, NULL);
}

/* The clients, and the share of requests that comes from each group. */
static int population_make_clients(struct population *p)
{
	const struct trace_model *m = &p->plan.model;
	uint64_t head = m->clients < CLIENTS_HEAD ? m->clients : CLIENTS_HEAD;
	double left = 1;

	if (m->groups == 0 || m->groups > POPULATION_GROUPS_MAX ||
	    m->clients == 0 || m->clients > CLIENTS_MAX)
		return TRACE_EOPTION;
	p->share = calloc(m->groups, sizeof(*p->share));
	if (!p->share || zipf_law(&p->clients, m->clients, clients_alpha))
		return TRACE_ENOMEM;
	for (uint64_t c = 0; c < head; c++) {
		double part = zipf_p(&p->clients, c + 1);

		p->share[c % m->groups] += part;
		left -= part;
	}
	for (uint64_t i = 0; i < m->groups && head < m->clients; i++)
		p->share[i] += left / (double)m->groups;
	return zipf_prepare(&p->clients);
}

/* Makes catalogues of about n objects by Zipf's law. */
static int population_make_catalogues(struct population *p, double n)
{
	const struct trace_model *m = &p->plan.model;
	int err;

	zipf_free(&p->shared);
	zipf_free(&p->own);
	err = zipf_law(&p->shared, (uint64_t)n + 1, m->alpha);
	if (!err && m->affinity > 0)
		err = zipf_law(&p->own, (uint64_t)(n / (double)m->groups) + 1,
			       m->alpha);
	return err;
}

/* Requests that are no one-hit wonders, expected. */
static double population_core_requests(const struct population *p)
{
	return (double)p->plan.requests * (1 - p->plan.model.once);
}

/* Different objects among them, expected. */
static double population_distinct_core(const struct population *p)
{
	const struct trace_model *m = &p->plan.model;
	double draws = population_core_requests(p) * (1 - m->locality);
	double sum =
		zipf_distinct(&p->shared, draws * (1 - m->affinity), m->churn);

	for (uint64_t i = 0; i < m->groups && m->affinity > 0; i++)
		sum += zipf_distinct(&p->own, draws * m->affinity * p->share[i],
				     m->churn);
	return sum;
}

/* Finds the size of the catalogues that gives the hit ratio: bisection. */
static int population_solve_objects(struct population *p)
{
	const struct trace_model *m = &p->plan.model;
	double goal = (double)p->plan.requests * (1 - m->hit_ratio - m->once);
	double low = 0, high = 30; /* ln n: up to 10^13 objects */
	int err = population_make_catalogues(p, exact_exp(high));

	if (!err && (goal <= 0 || population_distinct_core(p) < goal))
		err = TRACE_EOPTION;
	while (!err && high - low > 1e-6) {
		double mid = (low + high) / 2;

		err = population_make_catalogues(p, exact_exp(mid));
		if (!err && population_distinct_core(p) < goal)
			low = mid;
		else
			high = mid;
	}
	return err;
}

static int population_make_objects(struct population *p)
{
	const struct trace_model *m = &p->plan.model;
	int err;

	if (p->popularity.n) {
		err = zipf_groups(&p->shared, &p->popularity);
		if (!err && m->affinity > 0)
			err = zipf_groups(&p->own, &p->popularity);
	} else if (m->objects) {
		err = population_make_catalogues(p, (double)m->objects - 1);
	} else {
		err = population_solve_objects(p);
	}
	if (!err)
		err = zipf_prepare(&p->shared);
	if (!err && m->affinity > 0)
		err = zipf_prepare(&p->own);
	return err;
}

/* The size of an object before scaling. */
static double population_unit_size(const struct population *p, struct object o)
{
	uint64_t catalogue = o.id >> POPULATION_RANK_BITS;
	uint64_t rank = o.id & (((uint64_t)1 << POPULATION_RANK_BITS) - 1);
	/* the objects of one rank lie far apart */
	double u = sizes_even(rank + o.generation * 1000003,
			      p->plan.seed * 65536 + catalogue);

	return quantiles_at(&p->sizes, u);
}

/* The mean of all sizes before scaling. */
static double population_mean_size(const struct population *p)
{
	double sum = 0;

	for (int i = 0; i < MEAN_STEPS; i++)
		sum += p->sizes.exact(p->sizes.arg, (i + 0.5) / MEAN_STEPS);
	return sum / MEAN_STEPS;
}

/* Expected bytes of a catalogue before scaling: of distinct objects, again. */
struct weight {
	double first, again;
};

/* The ranks whose sizes matter; with churn they have many objects each. */
static uint64_t population_head_of(const struct population *p,
				   uint64_t catalogue)
{
	const struct zipf *r = catalogue ? &p->own : &p->shared;
	uint64_t head = catalogue ? OWN_HEAD : SHARED_HEAD;

	if (p->plan.model.churn > 0)
		return 0;
	return r->n < head ? r->n : head;
}

/*
 * Adds a catalogue: its first ranks one by one, because their sizes matter
 * most, the others with the mean size.
 */
static void population_weigh(const struct population *p, uint64_t catalogue,
			     double core, struct weight *w)
{
	const struct zipf *r = catalogue ? &p->own : &p->shared;
	double draws = core * (1 - p->plan.model.locality);
	double distinct = zipf_distinct(r, draws, p->plan.model.churn);
	double again = core - distinct, mean = population_mean_size(p);
	uint64_t head = population_head_of(p, catalogue);

	for (uint64_t i = 1; i <= head; i++) {
		double share = zipf_p(r, i);
		double once = 1 - exact_exp(-draws * share);
		double size = population_unit_size(
			p, (struct object){
				   catalogue << POPULATION_RANK_BITS | i, 0});

		w->first += once * size;
		w->again += (core * share - once) * size;
		distinct -= once;
		again -= core * share - once;
	}
	w->first += distinct * mean;
	w->again += again * mean;
}

/* The sum of the sizes of all one-hit wonders, before scaling. */
static double population_weigh_wonders(const struct population *p)
{
	uint64_t n = (uint64_t)((double)p->plan.requests * p->plan.model.once);
	struct object o = { (uint64_t)POPULATION_ONCE << POPULATION_RANK_BITS,
			    0 };
	double sum = 0;

	for (uint64_t i = 0; i < n; i++, o.id++)
		sum += population_unit_size(p, o);
	return sum;
}

/* Finds both scales from the bytes of the model. */
static int population_solve_sizes(struct population *p)
{
	const struct trace_model *m = &p->plan.model;
	double core = population_core_requests(p);
	double unique = m->infinite_bytes * (double)p->plan.requests /
			(double)m->requests;
	double again = unique / (1 - m->byte_hit_ratio) - unique;
	double wonders = population_weigh_wonders(p);
	struct weight w = { 0, 0 };

	population_weigh(p, 0, core * (1 - m->affinity), &w);
	for (uint64_t i = 0; i < m->groups && m->affinity > 0; i++)
		population_weigh(p, i + 1, core * m->affinity * p->share[i],
				 &w);
	if (w.again <= 0)
		return TRACE_EOPTION;
	p->core_scale = again / w.again;
	p->once_scale = p->core_scale;
	if (wonders > 0)
		p->once_scale = (unique - p->core_scale * w.first) / wonders;
	return p->once_scale < 0 ? TRACE_EOPTION : 0;
}

static int population_scale_sizes(struct population *p)
{
	const struct trace_model *m = &p->plan.model;

	population_prepare_sizes(p);
	p->core_scale = 1;
	if (m->infinite_bytes > 0)
		return population_solve_sizes(p);
	if (m->mean_bytes > 0)
		p->core_scale = m->mean_bytes / population_mean_size(p);
	p->once_scale = p->core_scale;
	return 0;
}

int population_new(struct population **out, const struct trace_plan *plan)
{
	struct population *p = calloc(1, sizeof(*p));
	int err;

	*out = NULL;
	if (!p)
		return TRACE_ENOMEM;
	p->plan = *plan;
	err = population_load_files(p);
	if (!err)
		err = population_make_clients(p);
	if (!err)
		err = population_make_objects(p);
	if (!err)
		err = population_scale_sizes(p);
	if (err)
		population_free(&p);
	*out = p;
	return err;
}

uint64_t population_size(const struct population *p, struct object o)
{
	bool once = o.id >> POPULATION_RANK_BITS == POPULATION_ONCE;

	return (uint64_t)((once ? p->once_scale : p->core_scale) *
			  population_unit_size(p, o)) +
	       1;
}

void population_free(struct population **out)
{
	struct population *p = *out;

	if (!p)
		return;
	zipf_free(&p->clients);
	zipf_free(&p->shared);
	zipf_free(&p->own);
	weighted_free(&p->popularity);
	weighted_free(&p->size_list);
	free(p->share);
	free(p);
	*out = NULL;
}
