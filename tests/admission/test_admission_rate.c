/*
 * The cap on writes.
 */
#include "tests/unit.h"

#include "digestd/admission/admission_rate.h"

static void without_a_cap(void **state)
{
	struct admission_rate r = { 0 };

	(void)state;
	for (int i = 0; i < 1000; i++)
		assert_true(admission_rate_take(&r, UINT64_MAX, 0));
}

/* clang-format off */
static const struct {
	int64_t ms;
	uint64_t bytes;
	bool taken;
} rows[] = {
	{ 0,     600,  true },  /* of 1000 saved up at the start */
	{ 0,     600,  true },  /* owes 200 */
	{ 0,     1,    false },
	{ 199,   1,    false },
	{ 201,   1,    true },
	{ 5000,  999,  true },  /* no more than a second is saved up */
	{ 5000,  5000, true },  /* larger than that: owes 4999 */
	{ 9000,  1,    false },
	{ 9998,  1,    false },
	{ 10000, 1,    true },
};
/* clang-format on */

static void rows_in_turn(void **state)
{
	struct admission_rate r = { 0 };

	(void)state;
	admission_rate_set(&r, 1000, 0);
	for (size_t i = 0; i < NROWS(rows); i++)
		if (admission_rate_take(&r, rows[i].bytes, rows[i].ms) !=
		    rows[i].taken)
			fail_msg("row %zu", i);
}

static void average(void **state)
{
	enum { RATE = 100000, SECONDS = 60 };
	struct admission_rate r = { 0 };
	uint64_t written = 0;

	(void)state;
	admission_rate_set(&r, RATE, 0);
	for (int64_t ms = 0; ms < SECONDS * 1000; ms++)
		if (admission_rate_take(&r, 7000, ms))
			written += 7000;
	assert_in_range(written, (uint64_t)RATE * SECONDS,
			(uint64_t)RATE * (SECONDS + 1) + 7000);
}

static void changed(void **state)
{
	struct admission_rate r = { 0 };

	(void)state;
	admission_rate_set(&r, 1000, 50000);
	assert_true(admission_rate_take(&r, 1500, 50000));
	admission_rate_set(&r, 500, 50000); /* what is owed stays */
	assert_false(admission_rate_take(&r, 1, 50999));
	assert_true(admission_rate_take(&r, 1, 51002));
	admission_rate_set(&r, 0, 51002);
	assert_true(admission_rate_take(&r, 1 << 30, 51002));
	admission_rate_set(&r, 10, 51002); /* and ends with the cap */
	assert_true(admission_rate_take(&r, 1, 51002));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_a_cap),
		cmocka_unit_test(rows_in_turn),
		cmocka_unit_test(average),
		cmocka_unit_test(changed),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
