/*
 * The generator: the same requests from the same seed, each preset near its
 * row of the paper's table at any scale, ranks that follow Zipf's law.
 */
#include "tests/unit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "cachesim/trace/generator.h"
#include "cachesim/trace/reader.h"
#include "cachesim/trace/stats.h"
#include "cachesim/trace/zipf.h"

/* A hash over all requests of a trace, and its totals. */
static uint64_t digest_of(const char *name, struct trace_totals *totals)
{
	struct trace_reader *r;
	struct trace_stats *s;
	struct trace_request q;
	uint64_t hash = 0;

	assert_int_equal(trace_open(&r, name, NULL), 0);
	assert_int_equal(trace_stats_new(&s), 0);
	while (trace_next(r, &q) > 0) {
		hash = random_mix(hash ^ q.key) + random_mix(q.client);
		hash = random_mix(hash ^ q.size) + (uint64_t)q.time_ms;
		assert_int_equal(trace_stats_add(s, &q), 0);
	}
	trace_stats_totals(s, totals);
	trace_stats_free(&s);
	trace_close(&r);
	return hash;
}

static void seeds_decide(void **state)
{
	static const uint64_t golden = 0xca27ddf87435b29au;
	struct trace_totals t;
	uint64_t hash = digest_of("gen:upisa,requests=10000", &t);

	(void)state;
	assert_int_equal(t.requests, 10000);
	if (hash != golden)
		fail_msg("hash is 0x%016llx", (unsigned long long)hash);
	assert_true(digest_of("gen:upisa,requests=10000,seed=2", &t) != hash);
}

static void near(const char *what, const char *name, double got, double want,
		 double tolerance)
{
	if (fabs(got - want) > tolerance)
		fail_msg("%s of %s: %g, not %g", what, name, got, want);
}

/* At 1/20 scale; with SCD_TEST_LONG at full scale, and nearer. */
static void presets_meet_the_paper(void **state)
{
	bool full = getenv("SCD_TEST_LONG");
	double tolerance = full ? 0.01 : 0.02;

	(void)state;
	for (const struct trace_model *m = trace_models; m->name; m++) {
		uint64_t n = full ? m->requests : m->requests / 20;
		double part = (double)n / (double)m->requests;
		struct trace_totals t;
		char name[64];

		snprintf(name, sizeof(name), "gen:%s,requests=%llu", m->name,
			 (unsigned long long)n);
		digest_of(name, &t);
		near("hit ratio", name, t.hit_ratio, m->hit_ratio, tolerance);
		near("byte hit ratio", name, t.byte_hit_ratio,
		     m->byte_hit_ratio, tolerance);
		near("bytes", name,
		     (double)t.unique_bytes / (m->infinite_bytes * part), 1,
		     2 * tolerance);
		near("clients", name, (double)t.clients, m->clients,
		     0.02 * m->clients);
	}
}

static void bad_plans_are_refused(void **state)
{
	static const char *const plans[] = {
		"gen:", "gen:mit", "gen:dec,requests=0", "gen:dec,seed=x",
		"gen:dec,colour=1", "gen:dec,alpha=3", "gen:dec,once=1",
		"gen:dec,hit_ratio=0.9,once=0.5", "gen:dec,",
	};
	struct trace_reader *r;

	(void)state;
	for (size_t i = 0; i < sizeof(plans) / sizeof(plans[0]); i++)
		assert_int_equal(trace_open(&r, plans[i], NULL),
				 TRACE_EOPTION);
}

/* Chi-square of the first ranks; 150 is far beyond chance for 50 of them. */
static void ranks_follow_zipf(void **state)
{
	enum { RANKS = 50, DRAWS = 200000 };
	static const double alphas[] = { 0.6, 0.77, 1.2 };

	(void)state;
	for (size_t a = 0; a < sizeof(alphas) / sizeof(alphas[0]); a++) {
		double seen[RANKS + 1] = { 0 }, chi = 0;
		struct trace_random r;
		struct zipf z;

		random_seed(&r, 7);
		zipf_init(&z, 100000, alphas[a]);
		for (int i = 0; i < DRAWS; i++) {
			uint64_t k = zipf_draw(&z, &r);

			assert_in_range(k, 1, 100000);
			if (k <= RANKS)
				seen[k]++;
		}
		for (int k = 1; k <= RANKS; k++) {
			double e = DRAWS * zipf_p(&z, k);

			chi += (seen[k] - e) * (seen[k] - e) / e;
		}
		assert_true(chi < 150);
	}
}

/* Not a promise of the bits, but that they are right: against libm's. */
static void functions_are_exact(void **state)
{
	(void)state;
	for (double x = 1e-9; x < 1e12; x *= 1.37) {
		assert_true(fabs(exact_log(x) - log(x)) <=
			    1e-15 * (1 + fabs(log(x))));
		assert_true(fabs(exact_exp(-log(x)) * x - 1) < 1e-13);
		assert_true(fabs(exact_pow(x, 0.77) / pow(x, 0.77) - 1) <
			    1e-13);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(seeds_decide),
		cmocka_unit_test(presets_meet_the_paper),
		cmocka_unit_test(bad_plans_are_refused),
		cmocka_unit_test(ranks_follow_zipf),
		cmocka_unit_test(functions_are_exact),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
