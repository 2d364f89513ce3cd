/*
 * What the engine makes of a cluster, for twin.py to compare:
 *
 *     cluster_dump TRACE columns [first=N]
 *     cluster_dump TRACE run [OPTION=VALUE ...]
 *
 * The first prints what is replayed: "o SIZE HASH" for each object, "r OBJECT
 * TIME CLIENT" for each request (its own number, if there are no clients),
 * "c REQUEST SIZE" for each change and "p REQUESTS SIZE CLIENT" for each
 * uncacheable request, with the cacheable ones before it. The second prints
 * "PROXY COUNTER VALUE" for each counter, PROXY "sum" for all together.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cachesim/sim/cluster.h"
#include "cachesim/sim/modify.h"
#include "digestd/store/eviction.h"

static const struct {
	const char *name;
	size_t at, size;
} numbers[] = {
#define NUMBER(name, field)                                                    \
	{ name, offsetof(struct sim_config, field),                            \
	  sizeof(((struct sim_config *)0)->field) }
	NUMBER("proxies", nproxies),
	NUMBER("partition", partition),
	NUMBER("capacity", capacity),
	NUMBER("capacity_ppm", capacity_ppm),
	NUMBER("objects", objects),
	NUMBER("size_limit", size_limit),
	NUMBER("placement", placement),
	NUMBER("tries", tries),
	NUMBER("peer_use", peer_use),
	NUMBER("share_ppm", publish.share_ppm),
	NUMBER("period_s", publish.period_s),
	NUMBER("delay_s", transport.delay_s),
	NUMBER("delay_requests", transport.delay_requests),
	NUMBER("loss_ppm", transport.loss_ppm),
	NUMBER("epoch", epoch),
	NUMBER("warmup_ppm", warmup_ppm),
	NUMBER("warmup_s", warmup_s),
	NUMBER("seed", seed),
	NUMBER("expected", digest.expected),
	NUMBER("nhash", digest.nhash),
	NUMBER("form", digest.form),
	NUMBER("all_forms", digest.all_forms),
	NUMBER("coded", digest.coded),
#undef NUMBER
};

static void store_number(void *at, size_t size, uint64_t value)
{
	if (size == sizeof(bool))
		*(bool *)at = value != 0;
	else if (size == sizeof(uint32_t))
		*(uint32_t *)at = (uint32_t)value;
	else
		*(uint64_t *)at = value;
}

static int set_number(struct sim_config *c, const char *name, size_t len,
		      const char *value)
{
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		if (strlen(numbers[i].name) != len ||
		    strncmp(numbers[i].name, name, len) != 0)
			continue;
		store_number((char *)c + numbers[i].at, numbers[i].size,
			     strtoull(value, NULL, 10));
		return 0;
	}
	return -1;
}

static int set(struct sim_config *c, struct sim_trace *t, const char *option)
{
	const char *value = strchr(option, '=');
	size_t len;

	if (!value)
		return -1;
	len = (size_t)(value++ - option);
	if (strncmp(option, "protocol=", len + 1) == 0) {
		if (!protocol_find(value))
			return -1;
		sim_config_use(c, protocol_find(value));
		return 0;
	}
	if (strncmp(option, "eviction=", len + 1) == 0) {
		c->eviction = eviction_policy_find(value);
		return c->eviction ? 0 : -1;
	}
	if (strncmp(option, "bits=", len + 1) == 0) {
		c->digest.bits = strtod(value, NULL);
		return 0;
	}
	if (strncmp(option, "first=", len + 1) == 0) {
		uint64_t n = strtoull(value, NULL, 10);

		t->nrequests = n < t->nrequests ? n : t->nrequests;
		while (t->nchanges && t->change[t->nchanges - 1] >= n)
			t->nchanges--;
		while (t->npasses && t->pass[t->npasses - 1] >= n)
			t->npasses--;
		return 0;
	}
	if (strncmp(option, "modify_s=", len + 1) == 0)
		return sim_trace_modify(t, (uint32_t)strtoul(value, NULL, 10));
	return set_number(c, option, len, value);
}

static void print_columns(const struct sim_trace *t)
{
	for (uint32_t i = 0; i < t->nobjects; i++)
		printf("o %" PRIu32 " %" PRIu64 "\n", t->size[i], t->hash[i]);
	for (uint64_t i = 0; i < t->nrequests; i++)
		printf("r %" PRIu32 " %" PRIu32 " %" PRIu64 "\n", t->object[i],
		       t->time ? t->time[i] : 0, t->client ? t->client[i] : i);
	for (uint64_t i = 0; i < t->nchanges; i++)
		printf("c %" PRIu64 " %" PRIu32 "\n", t->change[i],
		       t->change_size[i]);
	for (uint64_t i = 0; i < t->npasses; i++)
		printf("p %" PRIu64 " %" PRIu32 " %" PRIu64 "\n", t->pass[i],
		       t->pass_size[i],
		       t->pass_client ? t->pass_client[i] : i);
}

static void print_counters(const char *who, const struct sim_counters *c)
{
	for (const struct sim_counter_row *r = sim_counter_rows; r->name; r++)
		printf("%s %s %" PRIu64 "\n", who, r->name, sim_counter(c, r));
}

static int run(const struct sim_config *c, const struct sim_trace *t)
{
	static struct sim_result result;
	int err = sim_run(c, t, &result);
	char who[16];

	if (err) {
		const char *fault = sim_config_fault(c, t);

		fprintf(stderr, "error %d: %s\n", err, fault ? fault : "");
		return 1;
	}
	for (unsigned i = 0; i < result.nproxies; i++) {
		snprintf(who, sizeof(who), "%u", i);
		print_counters(who, &result.proxy[i]);
	}
	print_counters("sum", &result.sum);
	return 0;
}

int main(int argc, char **argv)
{
	struct sim_config c;
	struct sim_trace t;
	int status = 0;

	sim_config_init(&c);
	c.partition = SIM_BY_NUMBER;
	if (argc < 3 || sim_trace_load(&t, argv[1], NULL, NULL))
		return 2;
	for (int i = 3; i < argc; i++) {
		if (set(&c, &t, argv[i])) {
			fprintf(stderr, "bad option %s\n", argv[i]);
			return 2;
		}
	}
	if (strcmp(argv[2], "columns") == 0)
		print_columns(&t);
	else
		status = run(&c, &t);
	sim_trace_free(&t);
	return status;
}
