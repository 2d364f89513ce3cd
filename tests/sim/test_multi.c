/*
 * Many caches in one pass against each by itself, with a plain loop over the
 * requests; with changed objects, a warm-up, several threads, and with
 * allocations that fail.
 */
#include "cachesim/sim/multi.h"

#include <stdlib.h>
#include <string.h>

#include "codec/error.h"
#include "tests/codec/alloc.h"
#include "tests/codec/random.h"
#include "tests/unit.h"

enum {
	NREQUESTS = 30000, /* several blocks, and a part of one */
	NOBJECTS = 2000,
	NCHANGES = 500,
	MAX_CACHES = 32,
	SIZES = 3, /* of caches for each policy */
};

struct sample {
	uint32_t object[NREQUESTS], size[NOBJECTS];
	uint64_t hash[NOBJECTS], change[NCHANGES];
	uint32_t change_size[NCHANGES];
	struct sim_trace trace;
	struct sim_multi_cache caches[MAX_CACHES];
	struct sim_multi_config config;
	struct sim_multi_result results[MAX_CACHES];
};

static void fill_trace(struct sample *s)
{
	uint64_t random = 1;

	for (int i = 0; i < NREQUESTS; i++) {
		uint64_t below = 1 + random_below(&random, NOBJECTS);

		s->object[i] = (uint32_t)random_below(&random, below);
	}
	for (int i = 0; i < NOBJECTS; i++) {
		s->size[i] = 1 + (uint32_t)random_below(&random, 1000);
		s->hash[i] = random_next(&random);
	}
	for (uint64_t i = 0; i < NCHANGES; i++) {
		/* some at the same request, the last at the last one */
		s->change[i] = (i / 2 + 1) * 2 * NREQUESTS / NCHANGES - 1;
		s->change_size[i] = 1 + (uint32_t)random_below(&random, 1000);
	}
	s->trace = (struct sim_trace){
		.nrequests = NREQUESTS,
		.nchanges = NCHANGES,
		.nobjects = NOBJECTS,
		.object = s->object,
		.size = s->size,
		.hash = s->hash,
		.change = s->change,
		.change_size = s->change_size,
	};
}

static struct sample *sample_new(void)
{
	static const uint64_t capacities[SIZES] = { 3000, 50000, 2000000 };
	struct sample *s = calloc(1, sizeof(*s));

	assert_non_null(s);
	fill_trace(s);
	s->config.trace = &s->trace;
	s->config.caches = s->caches;
	for (size_t i = 0; eviction_policies[i / SIZES]; i++) {
		assert_true(i < MAX_CACHES);
		s->caches[i] = (struct sim_multi_cache){
			.policy = eviction_policies[i / SIZES],
			.capacity = capacities[i % SIZES],
			.hashed = i % 2,
		};
		s->config.ncaches++;
	}
	return s;
}

/* One cache, request by request. */
static void alone(const struct sample *s, size_t number,
		  struct sim_multi_result *out)
{
	struct sim_cache_config one = {
		.policy = s->caches[number].policy,
		.capacity = s->caches[number].capacity,
		.nobjects = NOBJECTS,
		.hash = s->hash,
	};
	struct sim_cache *c;
	uint32_t size[NOBJECTS];
	size_t change = 0;

	memset(out, 0, sizeof(*out));
	memcpy(size, s->size, sizeof(size));
	assert_int_equal(sim_cache_new(&c, &one), 0);
	for (uint64_t i = 0; i < NREQUESTS; i++) {
		uint32_t o = s->object[i];
		bool counts = i >= s->config.warm, hit;

		for (; change < NCHANGES && s->change[change] == i; change++) {
			size[o] = s->change_size[change];
			if (!s->config.keep_changed)
				sim_cache_drop(c, o);
		}
		hit = sim_cache_get(c, o);
		if (!hit)
			sim_cache_put(c, o,
				      s->config.equal_sizes ? 1 : size[o]);
		out->requests += counts;
		out->bytes += counts * (s->config.equal_sizes ? 1 : size[o]);
		out->hit.hits += counts && hit;
		if (counts && hit)
			out->hit.hit_bytes +=
				s->config.equal_sizes ? 1 : size[o];
	}
	sim_cache_stats(c, &out->stats);
	sim_cache_free(&c);
}

static void compare(struct sample *s)
{
	assert_int_equal(sim_multi_run(&s->config, s->results), 0);
	for (size_t i = 0; i < s->config.ncaches; i++) {
		struct sim_multi_result expected;

		alone(s, i, &expected);
		assert_true(s->results[i].memory > 0);
		s->results[i].memory = 0;
		assert_memory_equal(&s->results[i], &expected,
				    sizeof(expected));
	}
}

static void test_alone(void **state)
{
	static const struct {
		bool equal_sizes, keep_changed;
		uint64_t warm;
	} rows[] = {
		{ false, false, 0 },     { false, true, 0 },
		{ true, false, 0 },      { true, true, 5000 },
		{ false, false, 12345 }, { false, false, NREQUESTS },
		{ false, false, NREQUESTS + 1 },
	};
	struct sample *s = sample_new();

	(void)state;
	for (size_t i = 0; i < NROWS(rows); i++) {
		s->config.equal_sizes = rows[i].equal_sizes;
		s->config.keep_changed = rows[i].keep_changed;
		s->config.warm = rows[i].warm;
		compare(s);
	}
	s->trace.nchanges = 0;
	s->config.warm = 0;
	assert_int_equal(sim_multi_run(&s->config, s->results), 0);
	assert_true(s->results[1].hit.hits > 0);
	free(s);
}

static void test_threads(void **state)
{
	struct sim_multi_result results[MAX_CACHES];
	struct sample *s = sample_new();

	(void)state;
	assert_int_equal(sim_multi_run(&s->config, s->results), 0);
	for (unsigned n = 1; n <= 2 * MAX_CACHES; n += n < 5 ? 1 : 23) {
		s->config.nthreads = n;
		memset(results, 0xee, sizeof(results));
		assert_int_equal(sim_multi_run(&s->config, results), 0);
		assert_memory_equal(results, s->results,
				    s->config.ncaches * sizeof(results[0]));
	}
	free(s);
}

static void take_tale(void *arg, uint64_t requests)
{
	uint64_t *told = arg;

	assert_true(requests > told[0] && requests <= NREQUESTS);
	told[0] = requests;
	told[1]++;
}

/* With any number of threads it is told how far one of them is. */
static void test_tells(void **state)
{
	struct sample *s = sample_new();

	(void)state;
	for (unsigned n = 1; n <= 3; n++) {
		uint64_t told[2] = { 0 };

		s->config.nthreads = n;
		s->config.tell = take_tale;
		s->config.arg = told;
		assert_int_equal(sim_multi_run(&s->config, s->results), 0);
		assert_true(told[0] > NREQUESTS / 3);
		assert_int_equal(told[1], 2);
	}
	free(s);
}

/* No caches, and no requests. */
static void test_nothing(void **state)
{
	struct sample *s = sample_new();
	size_t n = s->config.ncaches;

	(void)state;
	s->config.ncaches = 0;
	assert_int_equal(sim_multi_run(&s->config, s->results), 0);
	s->config.ncaches = n;
	s->trace.nrequests = s->trace.nchanges = 0;
	assert_int_equal(sim_multi_run(&s->config, s->results), 0);
	assert_int_equal(s->results[0].requests, 0);
	assert_int_equal(s->results[0].hit.hits, 0);
	free(s);
}

/* Allocations fail one after the other; those of ghosts do no harm. */
static void test_allocation(void **state)
{
	struct sample *s = sample_new();
	unsigned n = 0, failures = 0;

	(void)state;
	s->trace.nrequests = s->trace.nchanges = NCHANGES;
	do {
		int err;

		alloc_fail_at(++n);
		err = sim_multi_run(&s->config, s->results);
		assert_true(err == 0 || err == SCD_ENOMEM);
		failures += err != 0;
	} while (alloc_failed());
	alloc_fail_at(0);
	assert_true(failures > 10 * SIZES);
	free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_alone),
		cmocka_unit_test(test_threads),
		cmocka_unit_test(test_tells),
		cmocka_unit_test(test_nothing),
		cmocka_unit_test(test_allocation),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
