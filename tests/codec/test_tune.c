/*
 * Tuning: the tables of "Compressed Bloom Filters" to their printed digits,
 * and goals.
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
	{ 8, 6, 7.982, .001, .02158, .00001 },
	{ 14, 2, 7.9231, .0001, .01772, .00001 },
	{ 92, 1, 7.9231, .0001, .01081, .00001 },
	{ 16, 11, 15.9996, .0001, .000459, .000001 },
	{ 28, 4, 15.8463, .0001, .000314, .000001 },
	{ 48, 3, 15.8290, .0001, .000222, .000001 },
	{ 12.6, 2, 7.5815, .0001, .0215, .0001 },
	{ 46, 1, 6.8911, .0001, .0215, .0001 },
	{ 37.5, 3, 14.6663, .0001, .000454, .000002 },
	{ 93, 2, 13.8147, .0001, .000453, .000002 },
};

static const struct {
	double churn, m, n_hash;
	double wire, fp;
} delta[] = {
	{ .05, 8, 5, 1.6713, .02168 },  { .05, 12, 3, 1.6532, .01082 },
	{ .05, 32, 2, 1.6607, .00367 }, { .01, 8, 5, .4624, .02168 },
	{ .01, 12, 3, .4409, .01082 },  { .01, 26, 2, .4035, .00548 },
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
}

static bool is_power_of_two(uint64_t m)
{
	return m && !(m & (m - 1));
}

static void goals_are_reached(void **state)
{
	static const uint64_t sizes[] = { 1, 100, 10000, 1000000, 100000000 };
	static const double rates[] = { .1, .02, .001, 1e-5 };

	(void)state;
	for (size_t i = 0; i < NROWS(sizes); i++) {
		for (size_t j = 0; j < NROWS(rates); j++) {
			struct scd_goal goal = { .objects = sizes[i],
						 .fp = rates[j],
						 .peers = 5 };
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
	for (double wire = 20; wire >= 4; wire -= 2) {
		struct scd_goal goal = { .objects = 100000,
					 .wire_bits = wire };
		struct scd_tuning t;

		assert_int_equal(scd_tune(&goal, &t), SCD_OK);
		assert_true(t.full_bytes * 8 / 100000 <= wire);
		assert_true(t.fp >= last);
		last = t.fp;
	}
}

static void bounds_are_named(void **state)
{
	struct scd_goal goal = { .objects = 1000000, .fp = .03,
				 .max_memory = 2 << 20 };
	struct scd_tuning t;

	(void)state;
	assert_int_equal(scd_tune(&goal, &t), SCD_OK);
	assert_int_equal(t.bound, SCD_BOUND_MEMORY);
	goal = (struct scd_goal){ .objects = 1000, .wire_bits = 8,
				  .max_memory = UINT64_C(1) << 37 };
	assert_int_equal(scd_tune(&goal, &t), SCD_OK);
	assert_int_equal(t.bound, SCD_BOUND_WIRE);
	assert_string_equal(scd_bound_text(SCD_BOUND_FP),
			    "the false-positive goal");
}

static void deltas_count(void **state)
{
	struct scd_goal goal = { .objects = 1000000, .fp = .01, .churn = .01,
				 .deltas = 100 };
	struct scd_tuning t;

	(void)state;
	assert_int_equal(scd_tune(&goal, &t), SCD_OK);
	assert_true(t.delta_bytes < t.full_bytes / 5);
	assert_true(t.update_bytes < t.full_bytes / 5);
	assert_true(t.delta_bytes < 60000);
}

static void impossible_goals_are_refused(void **state)
{
	static const struct {
		struct scd_goal goal;
		int error;
	} rows[] = {
		{ { .objects = 0, .fp = .1 }, SCD_EINVAL },
		{ { .objects = 10 }, SCD_EINVAL },
		{ { .objects = 10, .fp = -1 }, SCD_EINVAL },
		{ { .objects = 10, .fp = 1 }, SCD_EINVAL },
		{ { .objects = 10, .fp = .1, .churn = 2 }, SCD_EINVAL },
		{ { .objects = 10, .fp = .1, .deltas = -1 }, SCD_EINVAL },
		{ { .objects = UINT64_MAX, .fp = .1 }, SCD_EINVAL },
		{ { .objects = 1000000, .fp = .01, .max_memory = 1000 },
		  SCD_EGOAL },
		{ { .objects = 1000000, .fp = 1e-6, .wire_bits = 8 },
		  SCD_EGOAL },
	};

	(void)state;
	for (size_t i = 0; i < NROWS(rows); i++) {
		struct scd_tuning t = { .nbits = 77 };

		assert_int_equal(scd_tune(&rows[i].goal, &t), rows[i].error);
		assert_int_equal(t.nbits, 77);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tables_of_the_paper),
		cmocka_unit_test(edges),
		cmocka_unit_test(goals_are_reached),
		cmocka_unit_test(less_wire_means_more_false_positives),
		cmocka_unit_test(bounds_are_named),
		cmocka_unit_test(deltas_count),
		cmocka_unit_test(impossible_goals_are_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
