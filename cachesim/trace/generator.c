/*
 * See generator.h for the model, population.h for what is drawn from.
 */
#include "cachesim/trace/generator.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "cachesim/trace/population.h"
#include "codec/mix.h"

enum {
	RECENT = 4096, /* requests of a group that may be repeated */
	URL_MAX = 96,
	NAME_MAX_BYTES = 22, /* 10.4095.255.255 and more */
};

struct client {
	uint64_t hash;
	uint16_t group;
	uint8_t len;
	char name[NAME_MAX_BYTES];
};

struct group {
	uint64_t count; /* of objects ever put into recent */
	struct object recent[RECENT];
};

/* What a request is made of, before its texts. */
struct drawn {
	const struct client *client;
	struct object object;
};

struct trace_generator {
	struct population *from;
	struct trace_random random;
	struct quantiles gaps, distances;
	double clock_ms, gap_ms; /* gap: the mean between two requests */
	uint64_t made, wonders;
	uint64_t hosts;
	char url[URL_MAX];
	struct client *client;
	struct group group[];
};

/* Of the exponential distribution with mean 1. */
static double generator_gap_quantile(const void *arg, double u)
{
	(void)arg;
	return -exact_log(1 - u);
}

/* A distance up to RECENT; its density falls with 1/distance. */
static double generator_distance_quantile(const void *arg, double u)
{
	(void)arg;
	return exact_pow(RECENT, u);
}

static void generator_name_client(struct client *c, uint64_t number,
				  uint64_t groups)
{
	uint64_t member = number / groups;
	int n = snprintf(c->name, sizeof(c->name),
			 "10.%" PRIu64 ".%" PRIu64 ".%" PRIu64,
			 number % groups, member >> 8, member & 0xff);

	c->group = (uint16_t)(number % groups);
	c->len = (uint8_t)n;
	c->hash = trace_hash(c->name, c->len);
}

static int generator_name_clients(struct trace_generator *g,
				  const struct trace_model *m)
{
	g->client = malloc(m->clients * sizeof(*g->client));
	if (!g->client)
		return TRACE_ENOMEM;
	for (uint64_t i = 0; i < m->clients; i++)
		generator_name_client(&g->client[i], i, m->groups);
	return 0;
}

int trace_generator_new(struct trace_generator **out,
			const struct trace_plan *plan)
{
	const struct trace_model *m = &plan->model;
	struct population *from;
	struct trace_generator *g;
	int err = population_new(&from, plan);

	*out = NULL;
	if (err)
		return err;
	g = calloc(1, sizeof(*g) + m->groups * sizeof(g->group[0]));
	if (!g) {
		population_free(&from);
		return TRACE_ENOMEM;
	}
	g->from = from;
	g->gap_ms = 1000 / m->rate;
	g->hosts = plan->hosts ? plan->hosts
			       : 1 + (uint64_t)((double)plan->requests *
						(1 - m->hit_ratio) / 10);
	random_seed(&g->random, plan->seed);
	quantiles_init(&g->gaps, generator_gap_quantile, NULL);
	quantiles_init(&g->distances, generator_distance_quantile, NULL);
	err = generator_name_clients(g, m);
	if (err)
		trace_generator_free(&g);
	*out = g;
	return err;
}

void trace_generator_free(struct trace_generator **g)
{
	if (!*g)
		return;
	population_free(&(*g)->from);
	free((*g)->client);
	free(*g);
	*g = NULL;
}

static void generator_remember(struct group *group, struct object o)
{
	group->recent[group->count++ % RECENT] = o;
}

/* One of the recent requests. */
static struct object generator_repeat(struct trace_generator *g,
				      struct group *group)
{
	double u = random_unit(&g->random);
	double far = group->count >= RECENT
			     ? quantiles_at(&g->distances, u)
			     : exact_pow((double)group->count, u);

	return group->recent[(group->count - (uint64_t)far) % RECENT];
}

/* The how manyth object the rank is by now: each changes at a time of its. */
static uint64_t generator_generation_of(const struct trace_generator *g,
					uint64_t id)
{
	const struct trace_plan *plan = &g->from->plan;
	double phase = (double)(scd__mix64(id ^ plan->seed) >> 11) * 0x1p-53;

	return (uint64_t)((double)g->made / (double)plan->requests *
				  plan->model.churn +
			  phase);
}

/* Another client of the group to which an object belongs, as busy. */
static const struct client *generator_at_home(const struct trace_generator *g,
					      const struct client *c,
					      uint64_t id)
{
	const struct trace_model *m = &g->from->plan.model;
	uint64_t group = (scd__mix64(id) >> 32) * m->groups >> 32;
	uint64_t other = (uint64_t)(c - g->client) - c->group + group;

	return other < m->clients ? &g->client[other] : c;
}

/* An object that is drawn by popularity. */
static void generator_draw_object(struct trace_generator *g, struct drawn *d)
{
	const struct trace_model *m = &g->from->plan.model;
	const struct zipf *ranks = &g->from->shared;
	uint64_t catalogue = 0;

	if (m->affinity > 0 && random_unit(&g->random) < m->affinity) {
		catalogue = d->client->group + (uint64_t)1;
		ranks = &g->from->own;
	}
	d->object.id = catalogue << POPULATION_RANK_BITS |
		       zipf_draw(ranks, &g->random);
	if (m->churn > 0)
		d->object.generation = generator_generation_of(g, d->object.id);
	if (m->home > 0 && !catalogue && random_unit(&g->random) < m->home)
		d->client = generator_at_home(g, d->client, d->object.id);
	generator_remember(&g->group[d->client->group], d->object);
}

static struct drawn generator_draw(struct trace_generator *g)
{
	const struct trace_model *m = &g->from->plan.model;
	uint64_t client = zipf_draw(&g->from->clients, &g->random) - 1;
	struct drawn d = { &g->client[client], { 0, 0 } };
	struct group *group = &g->group[d.client->group];

	g->made++;
	g->clock_ms += g->gap_ms *
		       quantiles_at(&g->gaps, random_unit(&g->random));
	if (random_unit(&g->random) < m->once) {
		d.object.id = (uint64_t)POPULATION_ONCE
				      << POPULATION_RANK_BITS |
			      g->wonders++;
	} else if (random_unit(&g->random) < m->locality && group->count) {
		d.object = generator_repeat(g, group);
		generator_remember(group, d.object);
	} else {
		generator_draw_object(g, &d);
	}
	return d;
}

/* Different objects have different keys, but for a chance of 2^-64. */
static uint64_t generator_key_of(struct object o)
{
	uint64_t key = scd__mix64(o.id);

	return o.generation ? scd__mix64(key + o.generation) : key;
}

static void generator_write_url(struct trace_generator *g, struct object o,
				struct trace_request *req)
{
	uint64_t rank = o.id & (((uint64_t)1 << POPULATION_RANK_BITS) - 1);
	int n = snprintf(g->url, sizeof(g->url),
			 "http://www%" PRIu64 ".example/%" PRIu64 "/%" PRIu64,
			 scd__mix64(o.id) % g->hosts,
			 o.id >> POPULATION_RANK_BITS, rank);

	if (o.generation)
		n += snprintf(g->url + n, sizeof(g->url) - (size_t)n,
			      "/%" PRIu64, o.generation);
	req->url = (struct trace_text){ g->url, (size_t)n };
	req->key = generator_key_of(o);
}

int trace_generator_next(struct trace_generator *g, struct trace_request *req)
{
	struct drawn d;

	if (g->made == g->from->plan.requests)
		return 0;
	d = generator_draw(g);
	trace_request_clear(req);
	req->time_ms = (int64_t)g->clock_ms;
	req->status = 200;
	req->size = population_size(g->from, d.object);
	req->has_size = true;
	req->client = d.client->hash;
	req->name = (struct trace_text){ d.client->name, d.client->len };
	generator_write_url(g, d.object, req);
	return 1;
}

int trace_generator_rows(struct trace_generator *g, struct trace_row *rows,
			 int max)
{
	uint64_t left = g->from->plan.requests - g->made;
	int n = left < (uint64_t)max ? (int)left : max;

	for (int i = 0; i < n; i++) {
		struct drawn d = generator_draw(g);

		rows[i] = (struct trace_row){
			.key = generator_key_of(d.object),
			.client = d.client->hash,
			.size = population_size(g->from, d.object),
			.time_ms = (int64_t)g->clock_ms,
			.name = {d.client->name, d.client->len},
			.status = 200,
			.has_size = true,
		};
	}
	return n;
}
