/*
 * What docs/ADMISSION.md says of admission, on generated traces and on real
 * ones: the second use saves most of the writes and helps small caches; where
 * uses come in bursts it costs hits, and a tier of RAM gives most of them
 * back; auto is within half a point of the better choice with LRU, and two
 * of it under every other eviction policy. The
 * figures themselves are the table's (make admission-table).
 *
 * The real traces are not part of the project; tests/sim/traces.h says where
 * they are looked for. What is not there is skipped.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/sim/admission_run.h"
#include "tests/sim/traces.h"
#include "tests/rounds.h"
#include "tests/unit.h"

enum { MAX_RUNS = 200 };

static const double shares[] = { .001, .01, .05, .2 };
static const double tolerance = .005, sticky_tolerance = .02;

/* A trace as it is named to the loader, or as its file is. */
struct source {
	const char *name, *format;
};

/* clang-format off */
static const struct source cdn = { "gen:cdn,requests=600000,seed=1", NULL };
static const struct source zipf = { "gen:zipf,requests=600000,alpha=.95,once=.2,objects=80000,seed=1", NULL };
static const struct source bursts = { "gen:zipf,requests=1000000,alpha=.8,once=.1,locality=.5,objects=100000,seed=1", NULL };
static const struct source web07 = { "cache2k-web07.i32le.zst", "i32le" };
static const struct source scarab = { "scarab-recs.i64be.zst", "i64be" };
static const struct source nasa = { "nasa-http-1995-07-09.clf.log.zst", NULL };
static const struct source w60 = { "cloudphysics-w60.oracleGeneral.bin.zst", NULL };
/* clang-format on */

/* The trace that was loaded last: most tests are about the one of the test
 * before. */
static struct {
	const struct source *source; /* null: none */
	struct sim_trace trace;
} loaded;

static void unload(void)
{
	if (loaded.source)
		sim_trace_free(&loaded.trace);
	loaded.source = NULL;
}

static const struct sim_trace *load(const struct source *s)
{
	struct trace_options options = { .format = s->format };
	char path[TRACE_PATH_BYTES];

	if (loaded.source == s)
		return &loaded.trace;
	unload();
	if (strncmp(s->name, "gen:", 4) == 0) {
		assert_int_equal(sim_trace_load(&loaded.trace, s->name, NULL,
						NULL), 0);
	} else {
		if (!real_trace(path, s->name))
			skip();
		assert_int_equal(sim_trace_load(&loaded.trace, path, &options,
						NULL), 0);
	}
	loaded.source = s;
	return &loaded.trace;
}

/* Under every eviction policy, with seeds that nothing was chosen by: policies
 * that count uses keep what came in before there was a choice to make, so that
 * they are not held to half a point. */
static void auto_suits_evictions(unsigned seed)
{
	struct sim_trace t;
	char name[128];

	snprintf(name, sizeof(name),
		 "gen:zipf,requests=200000,alpha=1.0,once=.03,objects=5000,"
		 "seed=%u", seed);
	assert_int_equal(sim_trace_load(&t, name, NULL, NULL), 0);
	for (size_t e = 0; eviction_policies[e]; e++) {
		const char *eviction = eviction_policies[e]->name;
		struct admission_run all, waits, r;

		assert_true(admission_run(&t, "none", eviction, .05, &all));
		assert_true(admission_run(&t, "probation", eviction, .05,
					  &waits));
		assert_true(admission_run(&t, "auto", eviction, .05, &r));
		if (r.ohr < all.ohr - sticky_tolerance ||
		    r.ohr < waits.ohr - sticky_tolerance)
			fail_msg("%s, seed %u: auto %.4f, all %.4f, "
				 "probation %.4f",
				 eviction, seed, r.ohr, all.ohr, waits.ohr);
	}
	sim_trace_free(&t);
}

static void auto_suits_all_evictions(void **state)
{
	const unsigned nseeds = (unsigned)rounds_of(1, 10);

	(void)state;
	for (unsigned seed = 301; seed < 301 + nseeds; seed++)
		auto_suits_evictions(seed);
}

/* What a policy comes to, which several tests ask of one trace. */
static struct admission_run run(const struct sim_trace *t, const char *policy,
				double share)
{
	static struct {
		const struct source *source;
		const char *policy;
		double share;
		struct admission_run r;
	} known[MAX_RUNS];
	size_t i = 0;

	for (; i < MAX_RUNS && known[i].source; i++) {
		if (known[i].source == loaded.source &&
		    known[i].share == share && !strcmp(known[i].policy, policy))
			return known[i].r;
	}
	assert_true(i < MAX_RUNS);
	assert_true(admission_run(t, policy, "lru", share, &known[i].r));
	known[i].source = loaded.source;
	known[i].policy = policy;
	known[i].share = share;
	return known[i].r;
}

/* Whatever the size, auto is about as good as the better of both ways, and
 * keys are as rarely taken for seen as the filter promises. */
static void auto_is_the_better(void **state)
{
	const struct sim_trace *t = load(*state);

	for (size_t i = 0; i < NROWS(shares); i++) {
		double all = run(t, "none", shares[i]).ohr;
		double waits = run(t, "probation", shares[i]).ohr;
		struct admission_run r = run(t, "auto", shares[i]);
		double better = all > waits ? all : waits;

		if (r.ohr < better - tolerance)
			fail_msg("%s, %g: auto %.4f, all %.4f, probation %.4f",
				 ((const struct source *)*state)->name,
				 shares[i], r.ohr, all, waits);
		if (t->nobjects > 10000)
			assert_true(r.false_seen < .01);
	}
}

/* Where most objects are used once, and the cache is small. */
static void second_use_wins(void **state)
{
	static const char *const filters[] = { "pair", "aged", "stable" };
	struct admission_run none;
	const struct sim_trace *t = load(*state);

	none = run(t, "none", .01);
	for (size_t i = 0; i < NROWS(filters); i++) {
		struct admission_run r = run(t, filters[i], .01);

		assert_true(r.ohr > none.ohr + .01);
		assert_true(r.writes < .46 * none.writes);
	}
}

/* Where objects have their time, writing at the second use wins while the cache
 * is small, and costs what it waits for when all of them fit; a little RAM
 * gives some of it back. */
static void second_use_turns_into_a_loss(void **state)
{
	static const double gain[][2] = { /* between */
		{ .04, .14 }, { .02, .11 }, { -.04, .01 }, { -.08, -.02 },
	};
	const struct sim_trace *t = load(*state);

	for (size_t i = 0; i < NROWS(shares); i++) {
		double all = run(t, "none", shares[i]).ohr;
		double second = run(t, "aged", shares[i]).ohr;
		double waits = run(t, "probation", shares[i]).ohr;

		if (second - all < gain[i][0] || second - all > gain[i][1])
			fail_msg("%g: all %.4f, second use %.4f", shares[i],
				 all, second);
		assert_true(waits > second - tolerance);
		if (shares[i] == .2)
			assert_true(waits > second + .005);
	}
}

/* Never to forget is the worst way to know a second use. */
static void to_forget_wins(void **state)
{
	struct admission_run exact, aged;
	const struct sim_trace *t = load(*state);

	exact = run(t, "exact", .01);
	aged = run(t, "aged", .01);
	assert_true(aged.ohr > exact.ohr + .01);
	assert_true(aged.writes < .5 * exact.writes);
}

/* Where uses come in bursts: it loses, RAM repairs most of it. */
static void bursts_want_ram(void **state)
{
	const struct sim_trace *t = load(*state);

	for (size_t i = 1; i <= 2; i++) { /* 1 % and 5 % */
		double all = run(t, "none", shares[i]).ohr;
		double second = run(t, "aged", shares[i]).ohr;
		double waits = run(t, "probation", shares[i]).ohr;

		assert_true(second < all - .01);
		assert_true(waits - second > .5 * (all - second));
	}
}

/* A dear write, fewer of them; and never a worse bargain. */
static void lambda_is_the_price(void **state)
{
	static const char *const texts[] = {
		"auto", "auto,lambda=.05", "auto,lambda=.5",
	};
	static const double price[] = { 0, .05, .5 };
	const struct sim_trace *t = load(*state);

	for (size_t i = 0; i < NROWS(texts); i++) {
		struct admission_run all = run(t, "none", .05);
		struct admission_run waits = run(t, "probation", .05);
		struct admission_run r = run(t, texts[i], .05);
		double a = all.ohr - price[i] * all.writes;
		double b = waits.ohr - price[i] * waits.writes;

		assert_true(r.ohr - price[i] * r.writes >
			    (a > b ? a : b) - tolerance);
	}
}

/* clang-format off */
#define ON(test, trace) { #test ", " #trace, test, NULL, NULL, (void *)&trace }
/* clang-format on */

/* What is measured here, other tests execute: a build that is slow has a look
 * at one of each. */
static const struct CMUnitTest slow_tests[] = {
	ON(auto_is_the_better, nasa),
	ON(second_use_wins, zipf),
	ON(to_forget_wins, zipf),
};

/* By traces: each is loaded once. In make check each test has a trace of its
 * kind; in make check-long, every trace. */
static const struct CMUnitTest quick_tests[] = {
	cmocka_unit_test(auto_suits_all_evictions),
	ON(auto_is_the_better, cdn),
	ON(second_use_wins, cdn),
	ON(second_use_turns_into_a_loss, cdn),
	ON(second_use_wins, zipf),
	ON(to_forget_wins, zipf),
	ON(lambda_is_the_price, zipf),
	ON(bursts_want_ram, bursts),
	ON(auto_is_the_better, web07),
	ON(auto_is_the_better, nasa),
};

static const struct CMUnitTest all_tests[] = {
	cmocka_unit_test(auto_suits_all_evictions),
	ON(auto_is_the_better, cdn),
	ON(second_use_wins, cdn),
	ON(second_use_turns_into_a_loss, cdn),
	ON(auto_is_the_better, zipf),
	ON(second_use_wins, zipf),
	ON(to_forget_wins, zipf),
	ON(lambda_is_the_price, zipf),
	ON(auto_is_the_better, bursts),
	ON(bursts_want_ram, bursts),
	ON(lambda_is_the_price, bursts),
	ON(auto_is_the_better, web07),
	ON(auto_is_the_better, scarab),
	ON(second_use_wins, scarab),
	ON(to_forget_wins, scarab),
	ON(auto_is_the_better, nasa),
	ON(auto_is_the_better, w60),
};

int main(void)
{
	int failed;

	if (rounds_slowness() > 1)
		failed = cmocka_run_group_tests(slow_tests, NULL, NULL);
	else if (rounds_are_long())
		failed = cmocka_run_group_tests(all_tests, NULL, NULL);
	else
		failed = cmocka_run_group_tests(quick_tests, NULL, NULL);
	unload();
	return failed;
}
