/*
 * The generator: the same requests from the same seed, each preset near its
 * row of the paper's table at any scale, ranks that follow Zipf's law.
 */
#include "tests/unit.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cachesim/trace/generator.h"
#include "cachesim/trace/reader.h"
#include "cachesim/trace/stats.h"
#include "cachesim/trace/population.h"
#include "codec/mix.h"
#include "tests/rounds.h"

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
		hash = scd__mix64(hash ^ q.key) + scd__mix64(q.client);
		hash = scd__mix64(hash ^ q.size) + (uint64_t)q.time_ms;
		assert_int_equal(trace_stats_add(s, &q), 0);
	}
	trace_stats_totals(s, totals);
	trace_stats_free(&s);
	trace_close(&r);
	return hash;
}

static void seeds_decide(void **state)
{
	static const uint64_t golden = 0xdc79a63763d09cefu;
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

/* Groups in the addresses 10.group.x.y of a trace's clients. */
static unsigned groups_of(const char *name)
{
	static bool seen[4096];
	struct trace_reader *r;
	struct trace_request q;
	unsigned n = 0;

	memset(seen, 0, sizeof(seen));
	assert_int_equal(trace_open(&r, name, NULL), 0);
	for (int i = 0; i < 2000 && trace_next(r, &q) > 0; i++) {
		unsigned long group = strtoul(q.name.at + 3, NULL, 10);

		assert_in_range(group, 0, NROWS(seen) - 1);
		n += !seen[group];
		seen[group] = true;
	}
	trace_close(&r);
	return n;
}

/* Table 1 of the paper. At full scale with SCD_TEST_LONG, else at 1/20. */
/* clang-format off */
static const struct {
	const char *name;
	double requests, clients, groups, bytes, hits, byte_hits;
} paper[] = {
	{ "dec", 3543968, 10089, 16, 2.88e10, 0.49, 0.36 },
	{ "ucb", 1907762, 5780, 8, 1.80e10, 0.30, 0.14 },
	{ "upisa", 2833624, 2203, 8, 2.07e10, 0.40, 0.27 },
	{ "questnet", 2885285, 12, 12, 2.33e10, 0.30, 0.15 },
	{ "nlanr", 1766409, 4, 4, 1.37e10, 0.36, 0.27 },
};
/* clang-format on */

static void presets_meet_the_paper(void **state)
{
	bool full = rounds_are_long();
	double scale = full ? 1 : 0.05, tolerance = full ? 0.02 : 0.05;

	(void)state;
	for (size_t i = 0; i < NROWS(paper); i++) {
		struct trace_totals t;
		char name[64];

		snprintf(name, sizeof(name), "gen:%s,scale=%g", paper[i].name,
			 scale);
		digest_of(name, &t);
		near("requests", name, (double)t.requests,
		     paper[i].requests * scale, 0.5);
		near("clients", name, (double)t.clients, paper[i].clients,
		     0.02 * paper[i].clients);
		near("groups", name, groups_of(name), paper[i].groups, 0);
		near("bytes", name,
		     (double)t.unique_bytes / (paper[i].bytes * scale), 1,
		     tolerance);
		near("hit ratio", name, t.hit_ratio / paper[i].hits, 1,
		     tolerance);
		/* a few large objects make it vary where there are few */
		near("byte hit ratio", name,
		     t.byte_hit_ratio / paper[i].byte_hits, 1,
		     full ? tolerance : 2 * tolerance);
	}
}

/* A mean over all requests, of another preset or with other options. */
static void options_do_what_they_say(void **state)
{
	/* clang-format off */
	static const struct {
		const char *name;
		double clients, hits, once; /* share of objects; -1: any */
	} cases[] = {
		{ "gen:zipf,requests=100000,objects=100000,clients=50,groups=5",
		  50, 0.6758, 0.656 },
		{ "gen:zipf,requests=100000,alpha=1,objects=1000",
		  -1, 0.990, 0.0 },
		{ "gen:zipf,requests=100000,hit_ratio=0.4,clients=1,groups=1",
		  1, 0.4, -1 },
		{ "gen:dec,requests=100000,churn=5", -1, 0.49, -1 },
		{ "gen:dec,requests=100000,home=1,churn=0.5", -1, 0.49, -1 },
		{ "gen:cdn,requests=1000000", -1, 0.791, 0.74 },
	};
	/* clang-format on */

	(void)state;
	for (size_t i = 0; i < NROWS(cases); i++) {
		struct trace_totals t;

		digest_of(cases[i].name, &t);
		if (cases[i].clients >= 0)
			near("clients", cases[i].name, (double)t.clients,
			     cases[i].clients, 0.1 * cases[i].clients);
		near("hit ratio", cases[i].name, t.hit_ratio, cases[i].hits,
		     0.006);
		if (cases[i].once >= 0)
			near("one-hit", cases[i].name,
			     (double)t.one_hit / (double)t.objects,
			     cases[i].once, 0.02);
	}
}

/* The rate is a mean; and homes bring a group's objects to it. */
static void time_and_homes(void **state)
{
	struct trace_reader *r;
	struct trace_request q;
	uint64_t n = 0;
	double seconds = 0;
	unsigned group = 0, other = 0;

	(void)state;
	assert_int_equal(trace_open(&r,
				    "gen:zipf,requests=20000,objects=1,"
				    "rate=50,home=1,groups=7",
				    NULL),
			 0);
	while (trace_next(r, &q) > 0) {
		unsigned g = (unsigned)strtoul(q.name.at + 3, NULL, 10);

		if (n++ == 0)
			group = g;
		other += g != group;
		seconds = (double)q.time_ms / 1000;
	}
	trace_close(&r);
	near("rate", "zipf", (double)n / seconds, 50, 2);
	assert_int_equal(other, 0);
}

static const char file[] = "trace-test-distribution";

static void write_file(const char *text)
{
	FILE *f = fopen(file, "w");

	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

/* Three objects with half, and one with the other half; of two sizes. */
static void published_distributions(void **state)
{
	struct trace_totals t;
	struct trace_reader *r;
	struct trace_request q;
	char name[128];
	double ones = 0;

	(void)state;
	write_file("{ \"popularityBuckets\": [ 1, 3 ], "
		   "\"popularityWeights\": [ 5, 5 ],"
		   "\"valSizeRange\": [ 10, 1000 ], "
		   "\"valSizeRangeProbability\": [ 3, 1 ] }");
	snprintf(name, sizeof(name),
		 "gen:cdn,once=0,churn=0,requests=10000,popularity=%s,sizes=%s",
		 file, file);
	digest_of(name, &t);
	assert_int_equal(t.objects, 4);
	assert_int_equal(trace_open(&r, name, NULL), 0);
	while (trace_next(r, &q) > 0) {
		assert_true(q.size == 11 || q.size == 1001);
		ones += q.url.at[q.url.len - 1] == '1';
	}
	trace_close(&r);
	near("the first", name, ones / 10000, 0.5, 0.02);
	unlink(file);
}

static void bad_distributions(void **state)
{
	static const char *const texts[] = {
		"",
		"[]",
		"{ \"valSizeRange\": [ 1 ] }",
		"{ \"valSizeRange\": [], \"valSizeRangeProbability\": [] }",
		"{ \"valSizeRange\": [ 1, 2 ], "
		"\"valSizeRangeProbability\": [ 1 ] }",
		"{ \"valSizeRange\": [ \"1\" ], "
		"\"valSizeRangeProbability\": [ 1 ] }",
		"{ \"valSizeRange\": [ 1 ], "
		"\"valSizeRangeProbability\": [ -1 ] }",
		"{ \"valSizeRange\": [ 1 ], "
		"\"valSizeRangeProbability\": [ 0 ] }",
	};
	struct trace_reader *r;
	char name[128];

	(void)state;
	snprintf(name, sizeof(name), "gen:cdn,sizes=%s", file);
	assert_int_equal(trace_open(&r, name, NULL), TRACE_EIO);
	for (size_t i = 0; i < NROWS(texts); i++) {
		write_file(texts[i]);
		assert_int_equal(trace_open(&r, name, NULL), TRACE_EOPTION);
	}
	unlink(file);
}

static void rows_are_the_same(void **state)
{
	static const char *const names[] = {
		"gen:ucb,requests=3000", "gen:cdn,requests=2000",
		"gen:zipf,requests=2000,objects=300,churn=9,home=0.5",
	};

	(void)state;
	for (size_t k = 0; k < NROWS(names); k++) {
		struct trace_reader *one, *many;
		struct trace_request q;
		struct trace_row row[100];
		int n;

		assert_int_equal(trace_open(&one, names[k], NULL), 0);
		assert_int_equal(trace_open(&many, names[k], NULL), 0);
		while ((n = trace_rows(many, row, NROWS(row))) > 0) {
			for (int i = 0; i < n; i++) {
				assert_int_equal(trace_next(one, &q), 1);
				assert_int_equal(row[i].key, q.key);
				assert_int_equal(row[i].client, q.client);
				assert_int_equal(row[i].size, q.size);
				assert_int_equal(row[i].time_ms, q.time_ms);
				assert_int_equal(row[i].name.len, q.name.len);
				assert_memory_equal(row[i].name.at, q.name.at,
						    q.name.len);
			}
		}
		assert_int_equal(trace_next(one, &q), 0);
		trace_close(&one);
		trace_close(&many);
	}
}

static void bad_plans_are_refused(void **state)
{
	static const char *const plans[] = {
		"gen:", "gen:mit", "gen:dec,requests=0", "gen:dec,seed=x",
		"gen:dec,colour=1", "gen:dec,alpha=3", "gen:dec,once=1",
		"gen:dec,hit_ratio=0.9,once=0.5", "gen:dec,",
		"gen:dec,clients=0", "gen:dec,groups=0", "gen:dec,groups=5000",
		"gen:dec,rate=0", "gen:dec,scale=0", "gen:dec,sizes=",
		"gen:cdn,hit_ratio=0.9", "gen:zipf,alpha=0",
	};
	struct trace_reader *r;

	(void)state;
	for (size_t i = 0; i < sizeof(plans) / sizeof(plans[0]); i++)
		assert_int_equal(trace_open(&r, plans[i], NULL),
				 TRACE_EOPTION);
}

static void what_was_refused_is_told(void **state)
{
	static const struct {
		const char *name, *columns, *why;
	} rows[] = {
		{ "gen:mit", NULL, "mit: unknown" },
		{ "gen:dec,seed=1,colour=1", NULL, "colour=1: unknown" },
		{ "gen:dec,seed=x,colour=1", NULL, "seed=x: unknown" },
		{ "gen:dec,clients=0", NULL, "options that" },
		{ "x.csv", "time,colour,url", "colour: unknown" },
		{ "x.csv", "time,client", "options that" },
		{ "x.csv", NULL, "options that" },
	};
	char why[TRACE_WHY_MAX], little[4];

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		trace_explain(rows[i].name, rows[i].columns, TRACE_EOPTION,
			      why, sizeof(why));
		assert_memory_equal(why, rows[i].why, strlen(rows[i].why));
	}
	assert_string_equal(trace_explain("gen:mit", NULL, TRACE_EOPTION,
					  little, sizeof(little)),
			    "mit");
	errno = ENOENT;
	assert_string_equal(trace_explain("x", NULL, TRACE_EIO, why,
					  sizeof(why)),
			    strerror(ENOENT));
}

/*
 * Chi-square of the first ranks, and of runs of ranks behind them; 150 is far
 * beyond chance for 60 of them.
 */
static void zipf_is_followed(void **state)
{
	enum { SINGLE = 50, RUNS = 10, N = 100000, DRAWS = 400000 };
	static const double alphas[] = { 0.6, 0.77, 1, 1.2 };

	(void)state;
	for (size_t a = 0; a < NROWS(alphas); a++) {
		double seen[SINGLE + RUNS] = { 0 }, want[SINGLE + RUNS] = { 0 };
		double chi = 0, total = 0;
		struct trace_random random;
		struct zipf r;

		random_seed(&random, 7);
		assert_int_equal(zipf_law(&r, N, alphas[a]), 0);
		assert_int_equal(zipf_prepare(&r), 0);
		for (uint64_t k = 1; k <= N; k++)
			total += pow((double)k, -alphas[a]);
		for (uint64_t k = 1; k <= N; k++) {
			double p = pow((double)k, -alphas[a]) / total;

			assert_true(fabs(zipf_p(&r, k) / p - 1) < 2e-4);
			want[k <= SINGLE ? k - 1 : SINGLE + k % RUNS] +=
				DRAWS * p;
		}
		for (int i = 0; i < DRAWS; i++) {
			uint64_t k = zipf_draw(&r, &random);

			assert_in_range(k, 1, N);
			seen[k <= SINGLE ? k - 1 : SINGLE + k % RUNS]++;
		}
		for (int k = 0; k < SINGLE + RUNS; k++)
			chi += (seen[k] - want[k]) * (seen[k] - want[k]) /
			       want[k];
		if (chi >= 150)
			fail_msg("alpha %g: chi-square %g", alphas[a], chi);
		zipf_free(&r);
	}
}

/* Within a segment the density falls as it should. */
static void segments_have_a_slope(void **state)
{
	enum { N = 1 << 20, DRAWS = 4000000 };
	double low = 0, high = 0, ratio;
	struct trace_random random;
	struct zipf r;

	(void)state;
	random_seed(&random, 8);
	assert_int_equal(zipf_law(&r, N, 2), 0);
	assert_int_equal(zipf_prepare(&r), 0);
	for (int i = 0; i < DRAWS; i++) {
		uint64_t k = zipf_draw(&r, &random);
		const struct zipf_segment *s = &r.segment[0];

		while (k >= s->first + s->count)
			s++;
		low += s->count > 1 && k == s->first;
		high += s->count > 1 && k == s->first + s->count - 1;
	}
	/* 64 to 128 have pairs (k, k + 1): (k / (k + 1))^2, summed */
	ratio = high / low;
	if (ratio > 0.985 || ratio < 0.945)
		fail_msg("%g", ratio);
	zipf_free(&r);
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
		cmocka_unit_test(options_do_what_they_say),
		cmocka_unit_test(time_and_homes),
		cmocka_unit_test(published_distributions),
		cmocka_unit_test(bad_distributions),
		cmocka_unit_test(rows_are_the_same),
		cmocka_unit_test(bad_plans_are_refused),
		cmocka_unit_test(what_was_refused_is_told),
		cmocka_unit_test(zipf_is_followed),
		cmocka_unit_test(segments_have_a_slope),
		cmocka_unit_test(functions_are_exact),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
