/*
 * Tuning: the tables of "Compressed Bloom Filters" to their printed digits,
 * goals, and the search against trying everything.
 */
#include "tests/unit.h"

#include <math.h>
#include <stdbool.h>

#include "codec/tune.h"

/* Bits an object on the wire and false positives, as printed. */
static const struct {
	double m, n_hash;
	double wire, wire_digit;
	double fp, fp_digit;
} full[] = {
	{8, 6, 7.982, .001, .02158, .00001},
	{14, 2, 7.9231, .0001, .01772, .00001},
	{92, 1, 7.9231, .0001, .01081, .00001},
	{16, 11, 15.9996, .0001, .000459, .000001},
	{28, 4, 15.8463, .0001, .000314, .000001},
	{48, 3, 15.8290, .0001, .000222, .000001},
	{12.6, 2, 7.5815, .0001, .0215, .0001},
	{46, 1, 6.8911, .0001, .0215, .0001},
	{37.5, 3, 14.6663, .0001, .000454, .000002},
	{93, 2, 13.8147, .0001, .000453, .000002},
};

static const struct {
	double churn, m, n_hash;
	double wire, fp;
} delta[] = {
	{.05, 8, 5, 1.6713, .02168},  {.05, 12, 3, 1.6532, .01082},
	{.05, 32, 2, 1.6607, .00367}, {.01, 8, 5, .4624, .02168},
	{.01, 12, 3, .4409, .01082},  {.01, 26, 2, .4035, .00548},
};

static void near(const char *what, double m, double found, double printed,
		 double digit)
{
	if (fabs(found - printed) > digit * 1.01)
		fail_msg("%s at m/n %g: %.7g, printed %g", what, m, found,
			 printed);
}

static void tables_of_the_paper(void **state)
{
	(void)state;
	for (size_t i = 0; i < NROWS(full); i++) {
		unsigned k = (unsigned)full[i].n_hash;

		near("wire", full[i].m, scd_tune_full_bits(1, full[i].m, k),
		     full[i].wire, full[i].wire_digit);
		near("fp", full[i].m, scd_tune_fp(1, full[i].m, k), full[i].fp,
		     full[i].fp_digit);
	}
	for (size_t i = 0; i < NROWS(delta); i++) {
		unsigned k = (unsigned)delta[i].n_hash;

		near("delta", delta[i].m,
		     scd_tune_delta_bits(1, delta[i].m, k, delta[i].churn),
		     delta[i].wire, .0001);
		near("fp", delta[i].m, scd_tune_fp(1, delta[i].m, k),
		     delta[i].fp, .00001);
	}
}

static void edges(void **state)
{
	(void)state;
	assert_true(scd_tune_zero(0, 100, 3) == 1);
	assert_true(scd_tune_fp(0, 100, 3) == 0);
	assert_true(scd_tune_full_bits(0, 100, 3) == 0);
	assert_true(scd_tune_full_bits(1e9, 100, 3) == 0);
	assert_true(scd_tune_delta_bits(10, 100, 3, 0) == 0);
	assert_true(scd_tune_conditional_bits(10, 100, 3, 0) == 0);
	assert_true(scd_tune_conditional_bits(0, 100, 3, .1) == 0);
	assert_true(scd_tune_conditional_bits(1e9, 100, 3, .1) == 0);
}

/* Bits an object of XOR and conditional deltas, from other programs. */
static const struct {
	double churn, m;
	unsigned k;
	double xored, conditional, digit;
} conditional[] = {
	{.001, 49.5, 1, .0315, .0279, .0001}, {.01, 49.5, 1, .250, .214, .001},
	{.05, 49.5, 1, 1.02, .84, .01},       {.2, 49.5, 1, 3.29, 2.55, .01},
	{.01, 13.1, 2, .344, .326, .001},
};

static void conditional_deltas(void **state)
{
	(void)state;
	for (size_t i = 0; i < NROWS(conditional); i++) {
		double m = conditional[i].m, c = conditional[i].churn;
		unsigned k = conditional[i].k;

		near("xor", m, scd_tune_delta_bits(1, m, k, c),
		     conditional[i].xored, conditional[i].digit);
		near("conditional", m, scd_tune_conditional_bits(1, m, k, c),
		     conditional[i].conditional, conditional[i].digit);
	}
}

static void conditional_is_never_larger(void **state)
{
	(void)state;
	for (double m = 1; m < 1e4; m *= 1.7) {
		for (unsigned k = 1; k <= 32; k++) {
			for (double c = 1e-5; c <= 1; c *= 3) {
				double x = scd_tune_delta_bits(1, m, k, c);
				double y =
					scd_tune_conditional_bits(1, m, k, c);

				assert_true(y <= x * (1 + 1e-9));
			}
		}
	}
}

static bool is_power_of_two(uint64_t m)
{
	return m && !(m & (m - 1));
}

static void goals_are_reached(void **state)
{
	static const uint64_t sizes[] = {1, 100, 10000, 1000000, 100000000};
	static const double rates[] = {.1, .02, .001, 1e-5};

	(void)state;
	for (size_t i = 0; i < NROWS(sizes); i++) {
		for (size_t j = 0; j < NROWS(rates); j++) {
			struct scd_goal goal = {.objects = sizes[i],
						.fp = rates[j],
						.peers = 5};
			struct scd_tuning t;

			assert_int_equal(scd_tune(&goal, &t), SCD_OK);
			assert_true(is_power_of_two(t.nbits));
			assert_true(t.fp <= rates[j] / 4);
			assert_true(t.update_bytes == t.full_bytes);
			assert_true(t.array_bytes <=
				    fmax(8, 8.0 * (double)sizes[i]));
		}
	}
}

static void less_wire_means_more_false_positives(void **state)
{
	double last = 0;

	(void)state;
	for (double wire = 20; wire >= 3; wire -= 1) {
		struct scd_goal goal = {.objects = 100000, .wire_bits = wire};
		struct scd_tuning t;
		int error = scd_tune(&goal, &t);

		if (wire < 6) { /* readers refuse more than 5 % */
			assert_int_equal(error, SCD_EGOAL);
			continue;
		}
		assert_int_equal(error, SCD_OK);
		assert_true(t.fp <= .05);
		assert_true(t.full_bytes * 8 / 100000 <= wire);
		assert_true(t.fp >= last);
		last = t.fp;
	}
}

/* Fewer bytes are no reason for many functions in an array of mostly ones. */
static void arrays_are_no_fuller_than_lookups_like(void **state)
{
	(void)state;
	for (double fp = .04; fp > 1e-6; fp /= 1.7) {
		struct scd_goal goal = {.objects = 1000000, .fp = fp};
		struct scd_tuning t;

		assert_int_equal(scd_tune(&goal, &t), SCD_OK);
		assert_true(scd_tune_zero(1e6, (double)t.nbits, t.nhash) >= .4);
		assert_true(fp < .005 || t.nhash <= 6);
	}
}

/* One row a bound; n is a million. */
static const struct {
	const char *label;
	struct scd_goal goal;
	enum scd_bound bound;
} bounds[] = {
	{"half the array",
	 {.fp = .03, .max_memory = 12 << 20},
	 SCD_BOUND_MEMORY},
	{"no memory stated", {.fp = .02}, SCD_BOUND_MEMORY},
	{"16 bits",
	 {.wire_bits = 16, .max_memory = UINT64_C(1) << 41},
	 SCD_BOUND_WIRE},
	{"7 bits, 5 %",
	 {.fp = .05,
	  .wire_bits = 7,
	  .churn = .01,
	  .max_update = SCD_UPDATE_XOR,
	  .max_memory = UINT64_C(1) << 41},
	 SCD_BOUND_FP},
	{"no memory worth it",
	 {.fp = .02, .max_memory = UINT64_C(1) << 41},
	 SCD_BOUND_FP},
	{"few lookups",
	 {.lookups = 100,
	  .false_hit_bytes = 1000,
	  .max_memory = UINT64_C(1) << 41},
	 SCD_BOUND_COST},
	{"few lookups, strict",
	 {.lookups = 100,
	  .false_hit_bytes = 1000,
	  .fp = 1e-6,
	  .max_memory = UINT64_C(1) << 41},
	 SCD_BOUND_FP},
	{"many lookups",
	 {.lookups = 1e9, .false_hit_bytes = 1000},
	 SCD_BOUND_MEMORY},
};

static void bounds_are_named(void **state)
{
	(void)state;
	for (size_t i = 0; i < NROWS(bounds); i++) {
		struct scd_goal goal = bounds[i].goal;
		struct scd_tuning t = {0};

		goal.objects = 1000000;
		if (scd_tune(&goal, &t) || t.bound != bounds[i].bound)
			fail_msg("%s: not by %s", bounds[i].label,
				 scd_bound_text(t.bound));
	}
	assert_string_equal(scd_bound_text(SCD_BOUND_FP),
			    "the false-positive goal");
}

static void deltas_count(void **state)
{
	struct scd_goal goal = {.objects = 1000000,
				.fp = .01,
				.churn = .01,
				.max_update = SCD_UPDATE_XOR,
				.deltas = 100};
	struct scd_tuning t, u;

	(void)state;
	assert_int_equal(scd_tune(&goal, &t), SCD_OK);
	assert_int_equal(t.update, SCD_UPDATE_XOR);
	assert_true(t.delta_bytes < t.full_bytes / 5);
	assert_true(t.update_bytes < t.full_bytes / 5);
	assert_true(t.update_bytes > t.delta_bytes);
	assert_true(t.delta_bytes < 60000);
	goal.max_update = SCD_UPDATE_CONDITIONAL;
	assert_int_equal(scd_tune(&goal, &u), SCD_OK);
	assert_int_equal(u.update, SCD_UPDATE_CONDITIONAL);
	assert_true(u.delta_bytes < t.delta_bytes * .97);
	goal.deltas = 0;
	assert_int_equal(scd_tune(&goal, &t), SCD_OK);
	assert_true(t.update_bytes == t.delta_bytes);
}

/* How updates go: by what may be sent, churn, and how full the array is. */
static void updates_are_chosen(void **state)
{
	static const struct {
		struct scd_goal goal;
		enum scd_update update;
	} rows[] = {
		/* 10.1 bits an object, seven functions: half full */
		{{.fp = .0079, .objects = 830555}, SCD_UPDATE_STORED},
		{{.fp = .022}, SCD_UPDATE_FULL},
		{{.fp = .05}, SCD_UPDATE_FULL},
		{{.fp = .05, .max_update = SCD_UPDATE_XOR}, SCD_UPDATE_FULL},
		{{.fp = .05, .max_update = SCD_UPDATE_XOR, .churn = .1},
		 SCD_UPDATE_XOR},
		{{.fp = .05, .max_update = SCD_UPDATE_XOR, .churn = 1},
		 SCD_UPDATE_FULL},
		{{.fp = .05, .max_update = SCD_UPDATE_CONDITIONAL, .churn = .1},
		 SCD_UPDATE_CONDITIONAL},
	};

	(void)state;
	for (size_t i = 0; i < NROWS(rows); i++) {
		struct scd_goal goal = rows[i].goal;
		struct scd_tuning t;

		if (!goal.objects)
			goal.objects = 1 << 20; /* 8 bits each */
		goal.max_memory = (5 + 1) << 20;
		assert_int_equal(scd_tune(&goal, &t), SCD_OK);
		assert_string_equal(scd_update_text(t.update),
				    scd_update_text(rows[i].update));
		assert_true(t.full_bytes <= t.array_bytes + 96);
		assert_int_equal(t.delta_bytes > 0, t.update >= SCD_UPDATE_XOR);
	}
}

static void memory_is_counted(void **state)
{
	static const struct {
		unsigned peers;
		double bytes; /* for an array of 8000 bits */
	} rows[] = {
		{0, 6000},   {2, 6000},     {3, 7000},     {8, 12000},
		{9, 21000},   {10, 30000},   {17, 37000},    {18, 54000},
		{65, 133000}, {129, 261000}, {513, 1029000}, {514, 1542000},
	};

	(void)state;
	for (size_t i = 0; i < NROWS(rows); i++) {
		struct scd_goal goal = {
			.objects = 1000, .fp = .5, .peers = rows[i].peers};
		struct scd_tuning t;

		assert_true(scd_tune_memory(8000, rows[i].peers) ==
			    rows[i].bytes);
		goal.max_memory = UINT64_C(1) << 24;
		assert_int_equal(scd_tune(&goal, &t), SCD_OK);
		assert_true(t.memory_bytes <= 1 << 24);
		assert_true(t.memory_bytes / (double)t.nbits * 8000 ==
			    rows[i].bytes);
	}
}

/* What stood before the search: a million objects, 1 % churn, 10^5 lookups
 * that cost 1 KB when false [kB: updates, false hits]. */
static void good_fp_is_lower_than_it_seems(void **state)
{
	static const struct {
		double m;
		unsigned k;
		double update, lost;
	} rows[] = {
		{8, 6, 61, 2158},
		{16, 9, 111, 51},
		{32, 4, 85, 19},
		{64, 3, 74, 10},
	};

	(void)state;
	for (size_t i = 0; i < NROWS(rows); i++) {
		double m = rows[i].m * 1e6;
		unsigned k = rows[i].k;

		near("update", rows[i].m,
		     scd_tune_conditional_bits(1e6, m, k, .01) / 8000,
		     rows[i].update, .5);
		near("false hits", rows[i].m, 1e5 * scd_tune_fp(1e6, m, k),
		     rows[i].lost, .6);
	}
}

/* What an array costs, with the bare formulas; a lookup costs a kB. */
static double bare_cost(const struct scd_goal *g, double m, unsigned k)
{
	double n = (double)g->objects;
	double bits = fmin(scd_tune_delta_bits(n, m, k, g->churn),
			   scd_tune_full_bits(n, m, k));

	return bits / 8 + 96 + 600 + g->lookups * 1000 * scd_tune_fp(n, m, k);
}

/* Every power of two and k; the least bytes, and the array that has them. */
static double least_cost(const struct scd_goal *g, double *m_best)
{
	double least = INFINITY;

	for (double m = 64; scd_tune_memory(m, 2) <= (double)g->max_memory;
	     m *= 2) {
		for (unsigned k = 1; k <= 32; k++) {
			if (bare_cost(g, m, k) * (1 + 1e-6) >= least)
				continue;
			least = bare_cost(g, m, k);
			*m_best = m;
		}
	}
	return least;
}

/* The array that costs least; and fewer functions would cost 2 % more. */
static void search_finds_the_least(void **state)
{
	(void)state;
	for (double lookups = 1e3; lookups <= 1e9; lookups *= 10) {
		struct scd_goal goal = {
			.objects = 1000000,
			.churn = .01,
			.lookups = lookups,
			.false_hit_bytes = 1000,
			.max_update = SCD_UPDATE_XOR,
			.max_memory = UINT64_C(1) << 36,
		};
		struct scd_tuning t;
		double m = 0, least = least_cost(&goal, &m), best;

		assert_int_equal(scd_tune(&goal, &t), SCD_OK);
		best = t.update_cost + t.false_hit_cost;
		assert_true((double)t.nbits == m);
		assert_true(best >= least * (1 - 1e-9));
		assert_true(best <= least * 1.02);
		for (unsigned k = 1; k < t.nhash; k++)
			assert_true(bare_cost(&goal, m, k) > least * 1.02);
	}
}

/* Where memory is no matter, powers of two come as near to f* as they can;
 * XOR deltas tell of twice as many places, and f* is twice as high. */
static void formula_holds_without_limits(void **state)
{
	(void)state;
	for (double cost = 1e6; cost < 1e9; cost *= 1.1) {
		struct scd_goal goal = {
			.objects = 1000000,
			.churn = .01,
			.lookups = 1,
			.false_hit_bytes = cost,
			.max_update = SCD_UPDATE_CONDITIONAL,
			.max_memory = UINT64_MAX,
		};
		double f = .01 * 1e6 / (log(2) * cost * 8);
		struct scd_tuning t;

		assert_int_equal(scd_tune(&goal, &t), SCD_OK);
		assert_true(fabs(log2(t.fp / f)) < .6);
		goal.max_update = SCD_UPDATE_XOR;
		assert_int_equal(scd_tune(&goal, &t), SCD_OK);
		assert_true(fabs(log2(t.fp / f) - 1) < .6);
	}
}

/* The objects that are new, and what they cost, in numbers of their own. */
static double cost_at(const struct scd_goal *g, const struct scd_tuning *t,
		      double share)
{
	double n = (double)g->objects, m = (double)t->nbits;
	double bits = scd_tune_delta_bits(n, m, t->nhash, share);
	double wrong = g->lookups * .2 / 7 * share / 2;

	return g->replaced / (share * n) * (bits / 8 + 96 + 600) +
	       wrong * (g->false_hit_bytes + g->false_miss_bytes);
}

static void share_weighs_staleness_and_bytes(void **state)
{
	struct scd_goal goal = {
		.objects = 1000000,
		.fp = .01,
		.peers = 8,
		.lookups = 1e6,
		.false_hit_bytes = 500,
		.false_miss_bytes = 5000,
		.peer_hits = .2,
		.replaced = 1e5,
		.seconds = 3600,
		.max_update = SCD_UPDATE_XOR,
	};
	struct scd_tuning t;
	double last = 1;

	(void)state;
	for (int i = 0; i < 5; i++) {
		assert_int_equal(scd_tune(&goal, &t), SCD_OK);
		near("cost", t.share, t.update_cost + t.stale_cost,
		     cost_at(&goal, &t, t.share), 1e-3);
		for (double x = .01; x < 100; x *= 1.3)
			assert_true(cost_at(&goal, &t, t.share) <=
				    cost_at(&goal, &t, t.share * x) * 1.01);
		assert_true(t.share < last);
		last = t.share;
		goal.lookups *= 4;
	}
}

static void rates_follow_from_churn(void **state)
{
	struct scd_goal goal = {.objects = 500000,
				.expected = 1000000,
				.fp = .01,
				.peers = 5,
				.replaced = 50000,
				.seconds = 100,
				.max_update = SCD_UPDATE_XOR};
	struct scd_tuning t, u;

	(void)state;
	assert_int_equal(scd_tune(&goal, &t), SCD_OK);
	assert_true(t.share == .01); /* nothing says what it costs */
	near("seconds", 0, t.update_seconds, 20, 1e-9);
	near("link", 0, t.link_rate, (t.update_bytes + 600) / 20, 1e-6);
	near("node", 0, t.node_rate, t.link_rate * 8, 1e-6);
	assert_true(t.fp_now < t.fp / 1.9);
	near("cluster", 0, t.cluster_fp, 1 - pow(1 - t.fp, 4), 1e-12);
	assert_true(t.cluster_fp <= .01);
	goal.churn = .02;
	assert_int_equal(scd_tune(&goal, &u), SCD_OK);
	near("seconds", 0, u.update_seconds, 40, 1e-9);
	goal.seconds = 0;
	assert_int_equal(scd_tune(&goal, &u), SCD_OK);
	assert_true(u.update_seconds == 0 && u.link_rate == 0);
}

static void impossible_goals_are_refused(void **state)
{
	static const struct {
		struct scd_goal goal;
		int error;
	} rows[] = {
		{{.objects = 0, .fp = .1}, SCD_EINVAL},
		{{.objects = 10}, SCD_EINVAL},
		{{.objects = 10, .lookups = 10}, SCD_EINVAL},
		{{.objects = 10, .false_hit_bytes = 10}, SCD_EINVAL},
		{{.objects = 10, .fp = -1}, SCD_EINVAL},
		{{.objects = 10, .fp = 1}, SCD_EINVAL},
		{{.objects = 10, .fp = NAN}, SCD_EINVAL},
		{{.objects = 10, .fp = .1, .churn = 2}, SCD_EINVAL},
		{{.objects = 10, .fp = .1, .deltas = -1}, SCD_EINVAL},
		{{.objects = 10, .fp = .1, .deltas = 1}, SCD_EINVAL},
		{{.objects = 10, .fp = .1, .peer_hits = 2}, SCD_EINVAL},
		{{.objects = 10, .fp = .1, .lookups = INFINITY}, SCD_EINVAL},
		{{.objects = 10, .fp = .1, .replaced = -1}, SCD_EINVAL},
		{{.objects = 10, .fp = .1, .seconds = -1}, SCD_EINVAL},
		{{.objects = 10, .fp = .1, .max_update = 4}, SCD_EINVAL},
		{{.objects = 10, .fp = .1, .reserved = {[5] = 1}}, SCD_EINVAL},
		{{.objects = UINT64_MAX, .fp = .1}, SCD_EINVAL},
		{{.objects = 1, .expected = UINT64_MAX, .fp = .1}, SCD_EINVAL},
		{{.objects = 1000000, .fp = .01, .max_memory = 1000},
		 SCD_EGOAL},
		{{.objects = 1, .fp = .1, .max_memory = 47}, SCD_EGOAL},
		{{.objects = 1000000, .fp = 1e-6, .wire_bits = 8}, SCD_EGOAL},
	};

	(void)state;
	for (size_t i = 0; i < NROWS(rows); i++) {
		struct scd_tuning t = {.nbits = 77};

		if (scd_tune(&rows[i].goal, &t) != rows[i].error)
			fail_msg("row %zu", i);
		assert_int_equal(t.nbits, 77);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tables_of_the_paper),
		cmocka_unit_test(conditional_deltas),
		cmocka_unit_test(conditional_is_never_larger),
		cmocka_unit_test(edges),
		cmocka_unit_test(goals_are_reached),
		cmocka_unit_test(less_wire_means_more_false_positives),
		cmocka_unit_test(arrays_are_no_fuller_than_lookups_like),
		cmocka_unit_test(bounds_are_named),
		cmocka_unit_test(deltas_count),
		cmocka_unit_test(updates_are_chosen),
		cmocka_unit_test(memory_is_counted),
		cmocka_unit_test(good_fp_is_lower_than_it_seems),
		cmocka_unit_test(search_finds_the_least),
		cmocka_unit_test(formula_holds_without_limits),
		cmocka_unit_test(share_weighs_staleness_and_bytes),
		cmocka_unit_test(rates_follow_from_churn),
		cmocka_unit_test(impossible_goals_are_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
