/*
 * See generator.h for the model. An object is a catalogue (0: shared by all
 * groups, 1..groups: a group's own, ONCE: one-hit wonders) and a rank in it.
 */
#include "cachesim/trace/generator.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cachesim/trace/random.h"
#include "cachesim/trace/sizes.h"
#include "cachesim/trace/zipf.h"

enum {
	ONCE = 0xffff,
	RECENT = 4096,	    /* requests of a group that may be repeated */
	GROUPS_MAX = 4096,
	SIZED_RANKS = 8192, /* of a catalogue, calibrated one by one */
	TEXT_MAX = 96,
};

static const double clients_alpha = 0.5; /* busy clients are not that busy */
static const double mean_gap_ms = 250;	 /* between two requests */

struct object {
	uint64_t rank;
	uint32_t catalogue;
};

struct group {
	double share; /* of all requests */
	struct zipf zipf;
	uint64_t count; /* of objects ever put into recent */
	struct object recent[RECENT];
};

struct trace_generator {
	struct trace_plan plan;
	struct trace_random random;
	struct zipf clients, shared;
	double once_scale, core_scale; /* [bytes] of a size of 1 */
	double clock_ms;
	uint64_t made, wonders;
	char url[TEXT_MAX], name[TEXT_MAX];
	struct group group[];
};

/* The share of requests that comes from each group. */
static void share_groups(struct trace_generator *g)
{
	const struct trace_model *m = &g->plan.model;

	zipf_init(&g->clients, m->clients, clients_alpha);
	for (unsigned c = 0; c < m->clients; c++)
		g->group[c % m->groups].share += zipf_p(&g->clients, c + 1);
}

/* Makes catalogues of about n objects. */
static void make_catalogues(struct trace_generator *g, double n)
{
	const struct trace_model *m = &g->plan.model;

	zipf_init(&g->shared, floor(n) + 1, m->alpha);
	for (unsigned i = 0; i < m->groups; i++)
		zipf_init(&g->group[i].zipf,
			  floor(n / m->groups) + 1, m->alpha);
}

/* Requests that are no one-hit wonders, expected. */
static double core_requests(const struct trace_generator *g)
{
	return (double)g->plan.requests * (1 - g->plan.model.once);
}

/* How many of them go to a catalogue of this share of the draws. */
static double distinct_core(const struct trace_generator *g)
{
	const struct trace_model *m = &g->plan.model;
	double draws = core_requests(g) * (1 - m->locality);
	double sum = zipf_distinct(&g->shared, draws * (1 - m->affinity));

	for (unsigned i = 0; i < m->groups; i++)
		sum += zipf_distinct(&g->group[i].zipf,
				     draws * m->affinity * g->group[i].share);
	return sum;
}

/* Finds the size of the catalogues that gives the hit ratio: bisection. */
static int solve_objects(struct trace_generator *g)
{
	const struct trace_model *m = &g->plan.model;
	double goal = (double)g->plan.requests * (1 - m->hit_ratio - m->once);
	double low = 0, high = 30; /* ln n: up to 10^13 objects */

	make_catalogues(g, exact_exp(high));
	if (goal <= 0 || distinct_core(g) < goal)
		return TRACE_EOPTION;
	while (high - low > 1e-6) {
		double mid = (low + high) / 2;

		make_catalogues(g, exact_exp(mid));
		if (distinct_core(g) < goal)
			low = mid;
		else
			high = mid;
	}
	return 0;
}

/* The size of an object before scaling. */
static double unit_size(const struct trace_generator *g, struct object o)
{
	return sizes_quantile(
		sizes_even(o.rank, g->plan.seed * 65536 + o.catalogue));
}

/* Expected bytes of a catalogue before scaling: of distinct objects, again. */
struct weight {
	double first, again;
};

/*
 * Adds a catalogue: its first ranks one by one, because their sizes matter
 * most, the others with the mean size.
 */
static void weigh(const struct trace_generator *g, uint32_t catalogue,
		  double core, struct weight *w)
{
	const struct zipf *z =
		catalogue ? &g->group[catalogue - 1].zipf : &g->shared;
	double draws = core * (1 - g->plan.model.locality);
	double distinct = zipf_distinct(z, draws), again = core - distinct;
	double mean = 0;
	uint64_t head = z->n < SIZED_RANKS ? (uint64_t)z->n : SIZED_RANKS;

	for (uint64_t i = 1; i <= head; i++) {
		double p = zipf_p(z, (double)i);
		double once = 1 - exact_exp(-draws * p);
		double size = unit_size(g, (struct object){ i, catalogue });

		w->first += once * size;
		w->again += (core * p - once) * size;
		distinct -= once;
		again -= core * p - once;
		mean += size / (double)head;
	}
	w->first += distinct * mean;
	w->again += again * mean;
}

/* The sum of the sizes of all one-hit wonders, before scaling. */
static double weigh_wonders(const struct trace_generator *g)
{
	uint64_t n = (uint64_t)((double)g->plan.requests * g->plan.model.once);
	double sum = 0;

	for (uint64_t i = 0; i < n; i++)
		sum += unit_size(g, (struct object){ i, ONCE });
	return sum;
}

/* Finds both scales from the bytes of the model. */
static int solve_sizes(struct trace_generator *g)
{
	const struct trace_model *m = &g->plan.model;
	double core = core_requests(g);
	double unique = m->infinite_bytes * (double)g->plan.requests /
			(double)m->requests;
	double again = unique / (1 - m->byte_hit_ratio) - unique;
	double wonders = weigh_wonders(g);
	struct weight w = { 0, 0 };

	weigh(g, 0, core * (1 - m->affinity), &w);
	for (unsigned i = 0; i < m->groups; i++)
		weigh(g, i + 1, core * m->affinity * g->group[i].share, &w);
	if (w.again <= 0)
		return TRACE_EOPTION;
	g->core_scale = again / w.again;
	if (wonders > 0)
		g->once_scale = (unique - g->core_scale * w.first) / wonders;
	return g->once_scale < 0 ? TRACE_EOPTION : 0;
}

int trace_generator_new(struct trace_generator **out,
			const struct trace_plan *plan)
{
	const struct trace_model *m = &plan->model;
	struct trace_generator *g;
	int err;

	*out = NULL;
	if (m->groups == 0 || m->groups > GROUPS_MAX || m->clients == 0)
		return TRACE_EOPTION;
	g = calloc(1, sizeof(*g) + m->groups * sizeof(g->group[0]));
	if (!g)
		return TRACE_ENOMEM;
	g->plan = *plan;
	if (g->plan.hosts == 0)
		g->plan.hosts = 1 + (uint64_t)((double)plan->requests *
					       (1 - m->hit_ratio) / 10);
	random_seed(&g->random, plan->seed);
	share_groups(g);
	err = solve_objects(g);
	if (!err)
		err = solve_sizes(g);
	if (err)
		trace_generator_free(&g);
	*out = g;
	return err;
}

void trace_generator_free(struct trace_generator **g)
{
	free(*g);
	*g = NULL;
}

static struct object remember(struct group *group, struct object o)
{
	group->recent[group->count++ % RECENT] = o;
	return o;
}

/* One of the recent requests; the density falls with 1/distance. */
static struct object repeat(struct trace_generator *g, struct group *group)
{
	uint64_t fill = group->count < RECENT ? group->count : RECENT;
	double far = exact_pow((double)fill, random_unit(&g->random));
	uint64_t distance = (uint64_t)far;

	return group->recent[(group->count - distance) % RECENT];
}

static struct object pick(struct trace_generator *g, uint32_t group_index)
{
	const struct trace_model *m = &g->plan.model;
	struct group *group = &g->group[group_index];
	struct object o = { 0, 0 };

	if (random_unit(&g->random) < m->once)
		return (struct object){ g->wonders++, ONCE };
	if (random_unit(&g->random) < m->locality && group->count)
		return remember(group, repeat(g, group));
	if (random_unit(&g->random) < m->affinity)
		o.catalogue = group_index + 1;
	o.rank = zipf_draw(o.catalogue ? &group->zipf : &g->shared,
			   &g->random);
	return remember(group, o);
}

static void write_url(struct trace_generator *g, struct object o,
		      struct trace_request *req)
{
	uint64_t host = random_mix(o.rank << 16 | o.catalogue) % g->plan.hosts;
	int n = snprintf(g->url, sizeof(g->url),
			 "http://www%" PRIu64 ".example/%" PRIu32 "/%" PRIu64,
			 host, o.catalogue, o.rank);

	trace_request_url(req, (struct trace_text){ g->url, (size_t)n });
}

static void write_client(struct trace_generator *g, uint64_t client,
			 struct trace_request *req)
{
	uint64_t group = client % g->plan.model.groups;
	uint64_t member = client / g->plan.model.groups;
	int n = snprintf(g->name, sizeof(g->name),
			 "10.%" PRIu64 ".%" PRIu64 ".%" PRIu64, group,
			 member >> 8, member & 0xff);

	trace_request_client(req, (struct trace_text){ g->name, (size_t)n });
}

int trace_generator_next(struct trace_generator *g, struct trace_request *req)
{
	uint64_t client;
	struct object o;
	double scale;

	if (g->made == g->plan.requests)
		return 0;
	g->made++;
	client = zipf_draw(&g->clients, &g->random) - 1;
	o = pick(g, (uint32_t)(client % g->plan.model.groups));
	scale = o.catalogue == ONCE ? g->once_scale : g->core_scale;
	g->clock_ms -= mean_gap_ms * exact_log(1 - random_unit(&g->random));
	trace_request_clear(req);
	req->time_ms = (int64_t)g->clock_ms;
	req->status = 200;
	req->size = (uint64_t)(scale * unit_size(g, o)) + 1;
	req->has_size = true;
	write_url(g, o, req);
	write_client(g, client, req);
	return 1;
}
