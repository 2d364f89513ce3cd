/*
 * How fast clusters of proxies are replayed from memory, on one core:
 *
 *     bench_models [TRACE [proxies [capacity in ppm [rounds [row]]]]]
 *
 * One line for each protocol, best of some rounds, in processor time; then what
 * it found, so that a fast wrong answer would be noticed.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cachesim/sim/cluster.h"
#include "tests/bench/clock.h"

enum { ROUNDS = 3 };

/* clang-format off */
static const struct {
	const char *protocol;
	double bits;
	enum protocol_form form;
	uint32_t share_ppm;
} rows[] = {
	{ "none", 0, PROTOCOL_FULL, 0 },
	{ "icp", 0, PROTOCOL_FULL, 0 },
	{ "directory", 0, PROTOCOL_FULL, 10000 },
	{ "bloom", 8, PROTOCOL_FULL, 10000 },
	{ "bloom", 16, PROTOCOL_FULL, 10000 },
	{ "bloom", 32, PROTOCOL_FULL, 10000 },
	{ "bloom", 8, PROTOCOL_FULL, 1000 },
	{ "bloom", 8, PROTOCOL_FULL, 100000 },
	{ "compressed", 14, PROTOCOL_XOR, 10000 },
	{ "compressed", 32, PROTOCOL_CONDITIONAL, 10000 },
	{ "lists", 1600, PROTOCOL_CONDITIONAL, 10000 },
};
/* clang-format on */

static double run(const struct sim_config *c, const struct sim_trace *t,
		  struct sim_result *result)
{
	double begin = clock_used_s();

	if (sim_run(c, t, result)) {
		fprintf(stderr, "a run failed\n");
		exit(1);
	}
	return clock_used_s() - begin;
}

static void bench(struct sim_config *c, const struct sim_trace *t,
		  unsigned rounds, size_t i)
{
	static struct sim_result r;
	const struct sim_counters *s = &r.sum;
	double n, best_s = 0;

	sim_config_use(c, protocol_find(rows[i].protocol));
	c->publish.share_ppm = rows[i].share_ppm;
	c->digest.bits = rows[i].bits;
	c->digest.form = rows[i].form;
	for (unsigned k = 0; k < rounds; k++) {
		double seconds = run(c, t, &r);

		if (best_s <= 0 || seconds < best_s)
			best_s = seconds;
	}
	n = (double)s->requests;
	printf("%-11s %4.0f %8.1f | %8.2f | %7.4f %7.4f %8.5f %8.5f %8llu\n",
	       rows[i].protocol, rows[i].bits, rows[i].share_ppm / 1e4,
	       (double)t->nrequests / best_s / 1e6,
	       (double)s->local_hits / n, (double)s->remote_hits / n,
	       (double)s->false_hits / n, (double)s->false_misses / n,
	       (unsigned long long)s->published);
	fflush(stdout);
}

static unsigned long number(int argc, char **argv, int i, unsigned long usual)
{
	return argc > i ? strtoul(argv[i], NULL, 10) : usual;
}

int main(int argc, char **argv)
{
	const char *name = argc > 1 ? argv[1] : "gen:upisa,requests=4000000";
	struct sim_config c;
	struct sim_trace t;
	unsigned rounds = (unsigned)number(argc, argv, 4, ROUNDS);

	if (sim_trace_load(&t, name, NULL, NULL)) {
		fprintf(stderr, "cannot read %s\n", name);
		return 1;
	}
	sim_config_init(&c);
	c.partition = SIM_BY_NUMBER;
	c.nproxies = (unsigned)number(argc, argv, 2, 16);
	c.capacity_ppm = (uint32_t)number(argc, argv, 3, 50000);
	printf("%s: %llu requests, %u objects, %u proxies\n", name,
	       (unsigned long long)t.nrequests, t.nobjects, c.nproxies);
	printf("%-11s %4s %8s | %8s | %7s %7s %8s %8s %8s\n", "protocol",
	       "bits", "share %", "Mreq/s", "local", "remote", "false h",
	       "false m", "updates");
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (number(argc, argv, 5, i) == i)
			bench(&c, &t, rounds, i);
	}
	sim_trace_free(&t);
	return 0;
}
