/*
 * What a simulated request costs: one cache of each policy over a trace in
 * memory, and eight sizes in one pass, by one thread and by two.
 *
 *     bench_sim [requests [objects [alpha [capacity share]]]]
 *
 * by default 1e7 1e6 0.9 0.1: draws by Zipf's law, numbered in the order of
 * first appearance as traces are when they are loaded; every object has size 1
 * and the capacity is a share of the objects there could be. Times are medians
 * of several rounds: the processor's for one thread, the clock's for two.
 * Bytes an object: what a cache takes beyond the 4 bytes for each object of the
 * trace, by the objects in it; with a hash table, all. BENCH_POLICY in the
 * environment: that policy alone.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cachesim/sim/multi.h"
#include "cachesim/trace/zipf.h"
#include "tests/bench/clock.h"

enum { SEED = 2026, ROUNDS = 3, NSIZES = 8 };

struct bench {
	struct sim_trace trace;
	uint32_t *object;
	uint64_t capacity;
	double objects; /* that can be drawn */
};

static void die(const char *what)
{
	fprintf(stderr, "bench_sim: %s\n", what);
	exit(1);
}

static double number(const char *text)
{
	char *end;
	double value = strtod(text, &end);

	if (end == text || *end || value <= 0 || value > 4e9)
		die("usage: bench_sim [requests [objects [alpha [share]]]]");
	return value;
}

static void draw(struct bench *b, double alpha)
{
	size_t n = (size_t)b->objects;
	uint32_t *seen = calloc(n + 1, sizeof(*seen)); /* number + 1 by rank */
	struct trace_random random;
	struct zipf ranks;

	b->object = calloc(b->trace.nrequests, sizeof(*b->object));
	if (!seen || !b->object)
		die("no memory");
	random_seed(&random, SEED);
	if (zipf_law(&ranks, (uint64_t)b->objects, alpha) ||
	    zipf_prepare(&ranks))
		die("no memory");
	for (uint64_t i = 0; i < b->trace.nrequests; i++) {
		uint32_t *number_of = &seen[zipf_draw(&ranks, &random)];

		if (!*number_of)
			*number_of = ++b->trace.nobjects;
		b->object[i] = *number_of - 1;
	}
	b->trace.object = b->object;
	zipf_free(&ranks);
	free(seen);
}

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Median time [s] of a simulation; its last results. */
static double time_s(const struct sim_multi_config *config,
		     struct sim_multi_result *results)
{
	double (*now_s)(void) =
		config->nthreads > 1 ? clock_now_s : clock_used_s;
	double round_s[ROUNDS];

	for (int i = 0; i < ROUNDS; i++) {
		double begin_s = now_s();

		if (sim_multi_run(config, results))
			die("no memory");
		round_s[i] = now_s() - begin_s;
	}
	qsort(round_s, ROUNDS, sizeof(round_s[0]), by_size);
	return round_s[ROUNDS / 2];
}

/* A policy, with an array and with a hash table from objects to slots. */
static void one_cache(const struct bench *b, const struct eviction_policy *p)
{
	double rate[2], bytes[2], miss = 0;

	for (int hashed = 0; hashed < 2; hashed++) {
		struct sim_multi_cache cache = { p, b->capacity, hashed };
		struct sim_multi_config config = { .trace = &b->trace,
						   .caches = &cache,
						   .ncaches = 1,
						   .equal_sizes = true };
		struct sim_multi_result r;
		double n = (double)b->trace.nrequests;
		size_t map = hashed ? 0 : b->trace.nobjects * sizeof(uint32_t);

		rate[hashed] = n / 1e6 / time_s(&config, &r);
		bytes[hashed] = (double)(r.memory - map) /
				(double)r.stats.objects;
		miss = 1 - (double)r.hit.hits / n;
	}
	printf("%-9s %8.4f %9.1f %7.1f %9.1f %7.1f\n", p->name, miss, rate[0],
	       bytes[0], rate[1], bytes[1]);
	fflush(stdout);
}

/* Sizes from the capacity down, each half of the one before. */
static void eight_sizes(const struct bench *b, const struct eviction_policy *p)
{
	struct sim_multi_cache caches[NSIZES];
	struct sim_multi_result r[NSIZES];
	struct sim_multi_config config = { .trace = &b->trace,
					   .caches = caches,
					   .ncaches = NSIZES,
					   .equal_sizes = true };
	double n = (double)b->trace.nrequests * NSIZES, rate[2];
	size_t bytes = b->trace.nrequests * sizeof(uint32_t);

	for (int i = 0; i < NSIZES; i++)
		caches[i] = (struct sim_multi_cache){
			.policy = p,
			.capacity = (b->capacity >> i) + 1,
		};
	for (unsigned threads = 1; threads <= 2; threads++) {
		config.nthreads = threads;
		rate[threads - 1] = n / 1e6 / time_s(&config, r);
	}
	for (int i = 0; i < NSIZES; i++)
		bytes += r[i].memory;
	printf("%-9s %12.1f %12.1f %12.1f\n", p->name, rate[0], rate[1],
	       (double)bytes / (1 << 20));
	fflush(stdout);
}

static void each(const struct bench *b,
		 void (*row)(const struct bench *b,
			     const struct eviction_policy *p))
{
	const char *only = getenv("BENCH_POLICY");

	for (size_t i = 0; eviction_policies[i]; i++) {
		if (!only || !strcmp(only, eviction_policies[i]->name))
			row(b, eviction_policies[i]);
	}
}

int main(int argc, char **argv)
{
	struct bench b = { .objects = argc > 2 ? number(argv[2]) : 1e6 };
	double alpha = argc > 3 ? number(argv[3]) : 0.9;

	b.trace.nrequests = (uint64_t)(argc > 1 ? number(argv[1]) : 1e7);
	b.capacity = (uint64_t)(b.objects *
				(argc > 4 ? number(argv[4]) : 0.1)) + 1;
	draw(&b, alpha);
	printf("%" PRIu64 " requests, Zipf %g, %" PRIu32 " of %g objects, "
	       "capacity %" PRIu64 "; seed %d\n\n",
	       b.trace.nrequests, alpha, b.trace.nobjects, b.objects,
	       b.capacity, SEED);
	printf("one cache             array           hash table\n");
	printf("policy        miss    M req/s     B/o   M req/s     B/o\n");
	each(&b, one_cache);
	printf("\n%d sizes in one pass, simulated requests\n", NSIZES);
	printf("policy     1 thread M/s  2 threads M/s   all MiB\n");
	each(&b, eight_sizes);
	free(b.object);
	return 0;
}
