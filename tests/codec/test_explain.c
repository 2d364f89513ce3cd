/*
 * Explanations: the first candidate is the answer, the others are what it was
 * compared with, and each has lost for a reason that its own numbers show.
 */
#include "tests/unit.h"

#include <math.h>
#include <stdbool.h>

#include "codec/tune.h"

/* One for each way to choose; a million objects. */
static const struct {
	const char *label;
	struct scd_goal goal;
} goals[] = {
	{"fp", {.fp = .01}},
	{"fp, little memory", {.fp = .01, .max_memory = 14 << 20}},
	{"fp, half full", {.fp = .02, .max_memory = 6 << 20}},
	{"wire", {.wire_bits = 12}},
	{"both", {.fp = .03, .wire_bits = 7}},
	{"cost",
	 {.lookups = 1e5,
	  .false_hit_bytes = 1000,
	  .churn = .01,
	  .max_update = SCD_UPDATE_XOR}},
	{"cost, memory",
	 {.lookups = 1e5,
	  .false_hit_bytes = 1000,
	  .churn = .01,
	  .max_update = SCD_UPDATE_CONDITIONAL,
	  .max_memory = UINT64_C(1) << 36}},
	{"share",
	 {.lookups = 1e6,
	  .false_hit_bytes = 1000,
	  .peers = 9,
	  .replaced = 1e5,
	  .seconds = 3600,
	  .max_update = SCD_UPDATE_XOR}},
	{"deltas",
	 {.fp = .01,
	  .peers = 8,
	  .churn = .01,
	  .deltas = 100,
	  .max_update = SCD_UPDATE_XOR}},
};

static double sum(const struct scd_tuning *t)
{
	return t->update_cost + t->false_hit_cost + t->stale_cost;
}

static double limit(double wanted)
{
	return wanted > 0 ? wanted : INFINITY;
}

/* Whether the reason given is one. */
static bool is_true(const struct scd_goal *g, const struct scd_candidate *c,
		    const struct scd_tuning *chosen)
{
	const struct scd_tuning *t = &c->tuning;
	double links = g->peers > 2 ? g->peers - 1 : 1;
	double most = g->max_memory ? (double)g->max_memory
				    : scd_tune_memory(8 * 8e6, g->peers);

	switch (c->verdict) {
	case SCD_CHOSEN:
		return false;
	case SCD_LOST_MEMORY:
		return t->memory_bytes > most;
	case SCD_LOST_FP:
		return t->fp > g->fp / links && g->fp > 0;
	case SCD_LOST_WIRE:
		return t->full_bytes * 8 > limit(g->wire_bits) * 1e6;
	case SCD_LOST_UNWANTED:
		return t->update > g->max_update;
	case SCD_LOST_BYTES:
		return sum(t) > sum(chosen) &&
		       t->update_cost > chosen->update_cost;
	case SCD_LOST_COST:
		return sum(t) > sum(chosen) &&
		       t->false_hit_cost + t->stale_cost >
			       chosen->false_hit_cost + chosen->stale_cost;
	case SCD_LOST_WORSE_FP:
		return t->fp > chosen->fp;
	case SCD_LOST_EQUAL:
		return t->nbits >= chosen->nbits;
	case SCD_LOST_LITTLE:
		return sum(t) < sum(chosen) && sum(t) * 1.02 >= sum(chosen) &&
		       (t->nhash > chosen->nhash || t->nbits > chosen->nbits);
	}
	return false;
}

static bool has(const struct scd_candidate *list, size_t n,
		const struct scd_tuning *wanted)
{
	for (size_t i = 0; i < n; i++) {
		const struct scd_tuning *t = &list[i].tuning;

		if (t->nbits == wanted->nbits && t->nhash == wanted->nhash &&
		    t->update == wanted->update)
			return true;
	}
	return false;
}

static void reasons_are_true(void **state)
{
	(void)state;
	for (size_t i = 0; i < NROWS(goals); i++) {
		struct scd_goal goal = goals[i].goal;
		struct scd_candidate list[SCD_CANDIDATES];
		struct scd_tuning t;
		size_t n = 0;

		goal.objects = 1000000;
		assert_int_equal(scd_tune(&goal, &t), SCD_OK);
		assert_int_equal(scd_tune_explain(&goal, list, &n), SCD_OK);
		assert_in_range(n, 4, SCD_CANDIDATES);
		assert_int_equal(list[0].verdict, SCD_CHOSEN);
		assert_true(has(list, 1, &t));
		assert_int_equal(list[0].tuning.bound, t.bound);
		assert_true(list[0].tuning.share == t.share);
		for (size_t j = 1; j < n; j++) {
			if (!is_true(&goal, &list[j], &t))
				fail_msg("%s, %zu: %s", goals[i].label, j,
					 scd_verdict_text(list[j].verdict));
		}
	}
}

static void neighbours_are_there(void **state)
{
	struct scd_goal goal = {.objects = 1000000,
				.lookups = 1e5,
				.false_hit_bytes = 1000,
				.churn = .01,
				.max_update = SCD_UPDATE_XOR};
	struct scd_candidate list[SCD_CANDIDATES];
	struct scd_tuning want[6];
	size_t n = 0;

	(void)state;
	assert_int_equal(scd_tune_explain(&goal, list, &n), SCD_OK);
	for (size_t i = 0; i < NROWS(want); i++)
		want[i] = list[0].tuning;
	want[0].nbits /= 2;
	want[1].nbits *= 2;
	want[2].nhash--;
	want[3].nhash++;
	want[4].update = SCD_UPDATE_FULL;
	want[5].update = SCD_UPDATE_CONDITIONAL;
	for (size_t i = 0; i < NROWS(want); i++)
		assert_true(has(list, n, &want[i]));
	for (size_t i = 0; i < n; i++)
		assert_false(has(list, i, &list[i].tuning));
}

/* 7 functions save 5 kB of 1,041, and are told of. */
static void little_gain_is_explained(void **state)
{
	struct scd_goal goal = {
		.objects = 1000000, .fp = .02, .max_memory = 6 << 20};
	struct scd_candidate list[SCD_CANDIDATES];
	size_t n = 0, i = 0;

	(void)state;
	assert_int_equal(scd_tune_explain(&goal, list, &n), SCD_OK);
	assert_int_equal(list[0].tuning.nhash, 5);
	while (i < n && list[i].verdict != SCD_LOST_LITTLE)
		i++;
	assert_true(i < n);
	assert_int_equal(list[i].tuning.nhash, 7);
	assert_int_equal(list[i].tuning.nbits, list[0].tuning.nbits);
}

static void smallest_and_largest(void **state)
{
	struct scd_goal small = {.objects = 1, .fp = .5};
	struct scd_goal large = {.objects = 1000,
				 .wire_bits = 99,
				 .max_memory = UINT64_C(1) << 41};
	struct scd_candidate list[SCD_CANDIDATES];
	size_t n = 0;

	(void)state;
	assert_int_equal(scd_tune_explain(&small, list, &n), SCD_OK);
	for (size_t i = 0; i < n; i++)
		assert_true(list[i].tuning.nbits >= 64 &&
			    list[i].tuning.nhash > 0);
	assert_int_equal(scd_tune_explain(&large, list, &n), SCD_OK);
	for (size_t i = 0; i < n; i++)
		assert_true(list[i].tuning.nbits <= UINT64_C(1) << 40);
}

static void errors_leave_all_alone(void **state)
{
	struct scd_goal goal = {
		.objects = 1000000, .fp = .01, .max_memory = 1000};
	struct scd_candidate list[SCD_CANDIDATES];
	size_t n = 77;

	(void)state;
	assert_int_equal(scd_tune_explain(&goal, list, &n), SCD_EGOAL);
	goal.fp = 2;
	assert_int_equal(scd_tune_explain(&goal, list, &n), SCD_EINVAL);
	assert_int_equal(n, 77);
}

static void verdicts_have_texts(void **state)
{
	(void)state;
	for (int a = SCD_CHOSEN; a <= SCD_LOST_LITTLE; a++) {
		const char *text = scd_verdict_text((enum scd_verdict)a);

		assert_string_not_equal(text, "unknown");
		for (int b = SCD_CHOSEN; b < a; b++)
			assert_string_not_equal(
				text, scd_verdict_text((enum scd_verdict)b));
	}
	assert_string_equal(
		scd_verdict_text((enum scd_verdict)(SCD_LOST_LITTLE + 1)),
		"unknown");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reasons_are_true),
		cmocka_unit_test(neighbours_are_there),
		cmocka_unit_test(little_gain_is_explained),
		cmocka_unit_test(smallest_and_largest),
		cmocka_unit_test(errors_leave_all_alone),
		cmocka_unit_test(verdicts_have_texts),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
