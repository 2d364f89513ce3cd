/*
 * Curves, against the simulation of each size, to the last request;
 * samples against the whole trace, within errors that are told here; that the
 * adjustment makes them smaller; and what a sample consists of.
 */
#include "cachesim/sim/mrc.h"

#include <math.h>
#include <stdlib.h>

#include "cachesim/trace/zipf.h"
#include "codec/error.h"
#include "tests/codec/alloc.h"
#include "tests/codec/random.h"
#include "tests/rounds.h"
#include "tests/unit.h"

enum {
	NREQUESTS = 200000,
	NRANKS = 20000,
	NCHANGES = 1500,
	LARGEST = 1000, /* object */
	NSIZES = 8,
};

struct sample {
	uint32_t object[NREQUESTS], size[NRANKS], change_size[NCHANGES];
	uint64_t hash[NRANKS], change[NCHANGES];
	uint64_t capacities[NSIZES];
	struct sim_trace trace;
	struct sim_mrc_config config;
};

/* Zipf 0.8, sizes that have nothing to do with popularity, changes that make
 * objects larger. */
static struct sample *sample_new(void)
{
	struct sample *s = calloc(1, sizeof(*s));
	struct trace_random random;
	struct zipf ranks;
	uint32_t seen[NRANKS + 1] = { 0 };

	assert_non_null(s);
	random_seed(&random, 1);
	assert_int_equal(zipf_law(&ranks, NRANKS, .8), 0);
	assert_int_equal(zipf_prepare(&ranks), 0);
	for (int i = 0; i < NREQUESTS; i++) {
		uint32_t *number = &seen[zipf_draw(&ranks, &random)];

		if (!*number)
			*number = ++s->trace.nobjects;
		s->object[i] = *number - 1;
	}
	for (int i = 0; i < NRANKS; i++) {
		s->size[i] = 1 + (uint32_t)(random_u64(&random) % LARGEST);
		s->hash[i] = random_u64(&random);
	}
	zipf_free(&ranks);
	for (uint64_t i = 0; i < NCHANGES; i++) {
		s->change[i] = 100 + i * 100;
		s->change_size[i] = s->size[s->object[s->change[i]]];
	}
	for (size_t i = 0; i < NSIZES; i++)
		s->capacities[i] = (uint64_t)LARGEST << i * 3 / 2;
	s->trace.nrequests = NREQUESTS;
	s->trace.nchanges = NCHANGES;
	s->trace.object = s->object;
	s->trace.size = s->size;
	s->trace.hash = s->hash;
	s->trace.change = s->change;
	s->trace.change_size = s->change_size;
	s->config = (struct sim_mrc_config){
		.trace = &s->trace,
		.capacities = s->capacities,
		.n = NSIZES,
		.sample = { .rate = 1 },
		.nthreads = 2,
	};
	return s;
}

static void simulate(const struct sample *s, struct sim_mrc_point *points)
{
	for (size_t i = 0; i < s->config.n; i++) {
		struct sim_multi_cache cache = {
			.policy = s->config.policy
					  ? s->config.policy
					  : eviction_policy_find("lru"),
			.capacity = s->capacities[i],
		};
		struct sim_multi_config multi = {
			.trace = &s->trace,
			.caches = &cache,
			.ncaches = 1,
			.warm = s->config.sample.warm,
			.equal_sizes = s->config.equal_sizes,
		};
		struct sim_multi_result r;

		assert_int_equal(sim_multi_run(&multi, &r), 0);
		points[i].hit_ratio =
			(double)r.hit.hits / (double)r.requests;
		points[i].byte_hit_ratio =
			(double)r.hit.hit_bytes / (double)r.bytes;
	}
}

/* The largest difference of two curves. */
static double difference(const struct sim_mrc_point *a,
			 const struct sim_mrc_point *b, bool bytes)
{
	double most = 0;

	for (size_t i = 0; i < NSIZES; i++) {
		double d = bytes ? a[i].byte_hit_ratio - b[i].byte_hit_ratio
				 : a[i].hit_ratio - b[i].hit_ratio;

		most = fmax(most, fabs(d));
	}
	return most;
}

static void test_lru_is_exact(void **state)
{
	static const struct {
		bool equal_sizes;
		uint64_t warm, nchanges;
	} rows[] = {
		{ false, 0, 0 },   { false, 100000, 0 }, { true, 0, 0 },
		{ true, 12345, 0 }, { true, 7, NCHANGES },
		{ false, 0, NCHANGES },
	};
	struct sim_mrc_point points[NSIZES], expected[NSIZES];
	struct sample *s = sample_new();

	(void)state;
	for (size_t i = 0; i < NROWS(rows); i++) {
		struct sim_mrc_basis basis;

		s->config.equal_sizes = rows[i].equal_sizes;
		s->config.sample.warm = rows[i].warm;
		s->trace.nchanges = rows[i].nchanges;
		simulate(s, expected);
		assert_int_equal(sim_mrc(&s->config, points, &basis), 0);
		assert_memory_equal(points, expected, sizeof(points));
		assert_int_equal(basis.requests, NREQUESTS);
		assert_int_equal(basis.objects, s->trace.nobjects);
		assert_true(points[0].hit_ratio < points[NSIZES - 1].hit_ratio);
	}
	free(s);
}

/* Caches that hold few objects, not all of them, or objects that become
 * smaller: every policy's curve is still what a simulation counts. */
static void test_small_is_exact(void **state)
{
	struct sim_mrc_point points[NSIZES], expected[NSIZES];
	struct sample *s = sample_new();

	(void)state;
	s->trace.nrequests = (uint64_t)rounds_of(NREQUESTS / 5, NREQUESTS);
	s->trace.nchanges = (uint64_t)rounds_of(NCHANGES / 5, NCHANGES);
	for (size_t i = 0; i < NSIZES; i++)
		s->capacities[i] = LARGEST / 100 + (LARGEST / 4 - 2) * i;
	for (int smaller = 0; smaller < 2; smaller++) {
		for (int i = 0; i < NCHANGES && smaller; i++)
			s->change_size[i] = 1;
		for (size_t p = 0; eviction_policies[p]; p++) {
			s->config.policy = eviction_policies[p];
			simulate(s, expected);
			assert_int_equal(sim_mrc(&s->config, points, NULL), 0);
			assert_memory_equal(points, expected, sizeof(points));
		}
	}
	assert_true(expected[0].hit_ratio > 0);
	free(s);
}

/* Samples of small caches: an object that the cache would not take does not
 * displace others in the one that is scaled down. */
static void test_small_samples(void **state)
{
	struct sim_mrc_point points[NSIZES], mean[NSIZES] = { { 0, 0 } };
	struct sim_mrc_point expected[NSIZES];
	struct sample *s = sample_new();

	(void)state;
	for (size_t i = 0; i < NSIZES; i++)
		s->capacities[i] = LARGEST / 4 + LARGEST / 8 * i;
	for (int i = 0; i < NRANKS; i++)
		s->size[i] = i % 3 ? 10 : LARGEST;
	s->trace.nchanges = 0;
	simulate(s, expected);
	s->config.adjust = true;
	s->config.sample.rate = .3;
	for (uint64_t seed = 0; seed < 10; seed++) {
		s->config.sample.seed = seed;
		assert_int_equal(sim_mrc(&s->config, points, NULL), 0);
		for (size_t i = 0; i < NSIZES; i++)
			mean[i].hit_ratio += points[i].hit_ratio / 10;
	}
	if (difference(mean, expected, false) > .02)
		fail_msg("%f", difference(mean, expected, false));
	free(s);
}

/* Every policy, and LRU by distances: a sample of a tenth is near the truth. */
static void test_samples(void **state)
{
	struct sim_mrc_point points[NSIZES], expected[NSIZES];
	struct sample *s = sample_new();

	(void)state;
	s->config.adjust = true;
	s->config.sample.seed = 1;
	/* none so small that a sample of it has room for a few objects only */
	for (size_t i = 0; i < NSIZES; i++)
		s->capacities[i] = LARGEST * (200 + 400 * i);
	for (size_t p = 0; eviction_policies[p]; p++) {
		struct sim_mrc_basis basis;

		s->config.policy = eviction_policies[p];
		simulate(s, expected);
		s->config.sample.rate = .2;
		s->config.sample.max_objects = p % 2 ? 3000 : 0;
		assert_int_equal(sim_mrc(&s->config, points, &basis), 0);
		assert_true(basis.objects < s->trace.nobjects / 4);
		if (p % 2)
			assert_int_equal(basis.objects, 3000);
		if (difference(points, expected, false) > .04 ||
		    difference(points, expected, true) > .05)
			fail_msg("%s: %f %f", eviction_policies[p]->name,
				 difference(points, expected, false),
				 difference(points, expected, true));
	}
	free(s);
}

/* Over many seeds the adjustment makes the mean error much smaller. */
static void test_adjustment(void **state)
{
	struct sim_mrc_point points[NSIZES], expected[NSIZES];
	struct sample *s = sample_new();
	double error[2] = { 0, 0 };

	(void)state;
	s->config.equal_sizes = true;
	simulate(s, expected);
	s->config.sample.rate = .1;
	for (uint64_t seed = 0; seed < 10; seed++) {
		s->config.sample.seed = seed;
		for (int adjust = 0; adjust < 2; adjust++) {
			s->config.adjust = adjust;
			assert_int_equal(sim_mrc(&s->config, points, NULL), 0);
			error[adjust] +=
				difference(points, expected, false) / 10;
		}
	}
	if (!(error[1] < error[0] * .7 && error[1] < .03))
		fail_msg("mean errors: %f, adjusted %f", error[0], error[1]);
	free(s);
}

/* The requests of a sample are those of the objects in it, in order. */
static void compare_sample(const struct sample *s, const struct sim_sample *x,
			   uint64_t warm)
{
	uint64_t n = 0, change = 0, nwarm = 0;

	for (uint64_t i = 0; i < NREQUESTS && n < x->trace.nrequests; i++) {
		uint32_t o = x->trace.object[n];

		if (s->hash[s->object[i]] != x->trace.hash[o])
			continue;
		assert_int_equal(s->size[s->object[i]], x->trace.size[o]);
		if (i >= 100 && i % 100 == 0 && (i - 100) / 100 < NCHANGES) {
			assert_int_equal(x->trace.change[change], n);
			assert_int_equal(x->trace.change_size[change++],
					 s->change_size[(i - 100) / 100]);
		}
		nwarm += i < warm;
		n++;
	}
	assert_int_equal(n, x->trace.nrequests);
	assert_int_equal(change, x->trace.nchanges);
	assert_int_equal(nwarm, x->warm);
}

static void test_sample(void **state)
{
	static const struct {
		double rate;
		uint64_t max_objects;
	} rows[] = {
		{ .1, 0 }, { .001, 0 }, { 1, 1000 }, { .5, 10 }, { .01, 5000 },
		{ 1, 0 },
	};
	struct sample *s = sample_new();

	(void)state;
	for (size_t i = 0; i < NROWS(rows); i++) {
		struct sim_sample_config config = {
			.rate = rows[i].rate,
			.max_objects = rows[i].max_objects,
			.seed = i,
			.warm = 1000,
		};
		struct sim_sample x;
		double mean;

		assert_int_equal(sim_sample_make(&x, &s->trace, &config), 0);
		compare_sample(s, &x, config.warm);
		mean = s->trace.nobjects * x.rate;
		assert_true(x.rate <= rows[i].rate);
		assert_true(fabs(x.trace.nobjects - mean) <= 4 * sqrt(mean));
		if (rows[i].max_objects)
			assert_true(x.trace.nobjects <= rows[i].max_objects);
		sim_sample_free(&x);
		sim_sample_free(&x);
	}
	free(s);
}

/* Nothing to simulate. */
static void test_nothing(void **state)
{
	struct sim_mrc_point points[NSIZES];
	struct sample *s = sample_new();

	(void)state;
	s->config.sample.warm = NREQUESTS;
	for (int adjust = 0; adjust < 2; adjust++) {
		s->config.adjust = adjust;
		s->config.sample.rate = adjust ? .1 : 1;
		assert_int_equal(sim_mrc(&s->config, points, NULL), 0);
		assert_true(points[NSIZES - 1].hit_ratio == 0);
		assert_true(points[NSIZES - 1].byte_hit_ratio == 0);
	}
	s->config.n = 0;
	assert_int_equal(sim_mrc(&s->config, points, NULL), 0);
	free(s);
}

static void test_allocation(void **state)
{
	struct sample *s = sample_new();
	struct sim_mrc_point points[NSIZES];

	(void)state;
	s->trace.nrequests = s->trace.nchanges = 200;
	s->trace.nchanges = 1;
	s->config.adjust = true;
	s->config.sample.rate = .5;
	s->config.sample.max_objects = 50;
	for (size_t p = 0; eviction_policies[p]; p++) {
		unsigned n = 0;
		int err;

		s->config.policy = eviction_policies[p];
		do {
			alloc_fail_at(++n);
			err = sim_mrc(&s->config, points, NULL);
			assert_true(err == 0 || err == SCD_ENOMEM);
			assert_true(n < 1000);
		} while (alloc_failed());
		assert_int_equal(err, 0);
		assert_true(n > 10);
	}
	alloc_fail_at(0);
	free(s);
}

/* What compares curves executes what the others do, at length. */
static const struct CMUnitTest slow_tests[] = {
	cmocka_unit_test(test_sample),
	cmocka_unit_test(test_nothing),
	cmocka_unit_test(test_allocation),
};

static const struct CMUnitTest all_tests[] = {
	cmocka_unit_test(test_lru_is_exact),
	cmocka_unit_test(test_small_is_exact),
	cmocka_unit_test(test_small_samples),
	cmocka_unit_test(test_samples),
	cmocka_unit_test(test_adjustment),
	cmocka_unit_test(test_sample),
	cmocka_unit_test(test_nothing),
	cmocka_unit_test(test_allocation),
};

int main(void)
{
	if (rounds_slowness() > 1)
		return cmocka_run_group_tests(slow_tests, NULL, NULL);
	return cmocka_run_group_tests(all_tests, NULL, NULL);
}
