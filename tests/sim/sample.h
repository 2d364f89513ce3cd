/*
 * A small trace with everything that clusters make use of: clients, times,
 * sizes, servers, modifications.
 */
#ifndef TEST_SIM_SAMPLE_H
#define TEST_SIM_SAMPLE_H

#include "cachesim/sim/cluster.h"
#include "tests/codec/random.h"

enum {
	NREQUESTS = 12000,
	NOBJECTS = 1500,
	NCLIENTS = 60,
	NSERVERS = 100,
	NCHANGES = 400,
	NPROXIES = 5,
};

struct sample {
	uint32_t object[NREQUESTS], time[NREQUESTS], client[NREQUESTS];
	uint32_t size[NOBJECTS], server[NOBJECTS];
	uint64_t hash[NOBJECTS], client_hash[NCLIENTS];
	uint64_t change[NCHANGES];
	uint32_t change_size[NCHANGES];
	struct sim_trace trace;
};

static struct sample sample;

static void fill_objects(struct sample *s, uint64_t *random)
{
	for (int i = 0; i < NOBJECTS; i++) {
		s->size[i] = 1 + (uint32_t)random_below(random, 9000);
		s->hash[i] = random_next(random);
		s->server[i] = (uint32_t)random_below(random, NSERVERS);
	}
	for (int i = 0; i < NCLIENTS; i++)
		s->client_hash[i] = random_next(random);
	for (uint64_t i = 0; i < NCHANGES; i++) {
		s->change[i] = (i + 1) * NREQUESTS / NCHANGES - 1;
		s->change_size[i] = 1 + (uint32_t)random_below(random, 9000);
	}
}

/* A few are popular, most are not. */
static void fill_sample(struct sample *s)
{
	uint64_t random = 7;

	fill_objects(s, &random);
	for (uint32_t i = 0; i < NREQUESTS; i++) {
		uint64_t below = 1 + random_below(&random, NOBJECTS);
		uint32_t o;

		below = 1 + random_below(&random, below);
		o = (uint32_t)random_below(&random, below);

		s->object[i] = o;
		s->time[i] = i / 3;
		s->client[i] = (uint32_t)random_below(&random, NCLIENTS);
	}
	s->trace = (struct sim_trace){
		.nrequests = NREQUESTS,
		.nobjects = NOBJECTS,
		.nclients = NCLIENTS,
		.object = s->object,
		.time = s->time,
		.client = s->client,
		.size = s->size,
		.hash = s->hash,
		.client_hash = s->client_hash,
		.change = s->change,
		.change_size = s->change_size,
	};
}

/* The usual configuration, or with changes of objects. */
static struct sim_config usual(const char *protocol, bool changes)
{
	struct sim_config c;

	sample.trace.nchanges = changes ? NCHANGES : 0;
	sim_config_init(&c);
	sim_config_use(&c, protocol_find(protocol));
	c.nproxies = NPROXIES;
	c.capacity_ppm = 300000;
	if (c.publish.share_ppm)
		c.publish.share_ppm = 50000;
	if (c.protocol == protocol_find("blocked"))
		c.publish.share_ppm = 500000; /* takes long to make */
	c.server = sample.server;
	c.nservers = NSERVERS;
	return c;
}

#endif
