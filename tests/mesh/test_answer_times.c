/*
 * Quantiles of the last minute: a table, and a twin that keeps all times and
 * sorts them.
 */
#include "digestd/mesh/answer_times.h"

#include <stdlib.h>

#include "tests/codec/random.h"
#include "tests/unit.h"

enum { MAX_TIMES = 8, TWIN_TIMES = 4000 };

/* clang-format off */
static const struct {
	const char *label;
	int64_t times_ms[MAX_TIMES];
	unsigned n;
	unsigned permille;
	int64_t want_ms;
} rows[] = {
	{ "nothing", { 0 }, 0, 500, -1 },
	{ "no time at all", { 0 }, 1, 500, 0 },
	{ "one time is every quantile", { 7 }, 1, 1, 7 },
	{ "also the last", { 7 }, 1, 1000, 7 },
	{ "the median of an odd number", { 1, 9, 5 }, 3, 500, 5 },
	{ "of an even number, the lower", { 1, 9, 5, 7 }, 4, 500, 5 },
	{ "p99 of few is the longest", { 1, 1, 1, 9 }, 4, 990, 9 },
	{ "exact below 16 ms", { 15 }, 1, 500, 15 },
	{ "then the end of its class", { 16 }, 1, 500, 17 },
	{ "the end of a class is its own", { 17 }, 1, 500, 17 },
	{ "an eighth of an octave", { 100 }, 1, 500, 103 },
	{ "the longest", { 65535 }, 1, 500, 65535 },
	{ "and what is beyond", { INT64_MAX }, 1, 500, 65535 },
};
/* clang-format on */

static void test_rows(void **state)
{
	(void)state;
	for (size_t i = 0; i < NROWS(rows); i++) {
		struct answer_times l = { 0 };
		int64_t got;

		for (unsigned k = 0; k < rows[i].n; k++)
			answer_times_add(&l, rows[i].times_ms[k], 0);
		got = answer_times_quantile(&l, rows[i].permille);
		if (got != rows[i].want_ms)
			fail_msg("%s: %d ms", rows[i].label, (int)got);
	}
}

/* Each time is at most an eighth below the end of its class. */
static void test_classes(void **state)
{
	int64_t last = -1;

	(void)state;
	for (int64_t ms = 0; ms <= TIMES_MAX_MS; ms++) {
		struct answer_times l = { 0 };
		int64_t got;

		answer_times_add(&l, ms, 0);
		got = answer_times_quantile(&l, 500);
		assert_true(got >= ms && (got - ms) * 8 <= ms);
		assert_true(got >= last);
		last = got;
	}
}

static void test_forgets(void **state)
{
	const int64_t end_ms = (int64_t)TIMES_SLICES * TIMES_SLICE_MS;
	struct answer_times l = { 0 };

	(void)state;
	answer_times_add(&l, 9, 0);
	answer_times_add(&l, 1, TIMES_SLICE_MS);
	answer_times_add(&l, 2, end_ms - 1);
	assert_int_equal(answer_times_quantile(&l, 1000), 9);
	answer_times_add(&l, 2, end_ms);
	assert_int_equal(answer_times_quantile(&l, 1000), 2);
	assert_int_equal(answer_times_count(&l), 3);
	answer_times_add(&l, 3, 100 * end_ms);
	assert_int_equal(answer_times_count(&l), 1);
	assert_int_equal(answer_times_quantile(&l, 1), 3);
}

static void test_counts_so_many(void **state)
{
	struct answer_times l = { 0 };

	(void)state;
	for (unsigned i = 0; i < TIMES_SLICE_MAX + 10u; i++)
		answer_times_add(&l, 5, 0);
	assert_int_equal(answer_times_count(&l), TIMES_SLICE_MAX);
	answer_times_add(&l, 5, TIMES_SLICE_MS);
	assert_int_equal(answer_times_count(&l),
			 TIMES_SLICE_MAX + 1);
	assert_int_equal(answer_times_quantile(&l, 1000), 5);
}

/* The twin. */
static struct { int64_t at_ms, ms; } twin[TWIN_TIMES];

static int compare_times(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

/* The one of that rank among those whose slice still counts; -1: none. */
static int64_t twin_quantile(size_t ntimes, unsigned permille, int64_t now_ms)
{
	static int64_t sorted[TWIN_TIMES];
	int64_t oldest = now_ms / TIMES_SLICE_MS - (TIMES_SLICES - 1);
	size_t n = 0;

	for (size_t i = 0; i < ntimes; i++) {
		if (twin[i].at_ms / TIMES_SLICE_MS >= oldest)
			sorted[n++] = twin[i].ms;
	}
	qsort(sorted, n, sizeof(sorted[0]), compare_times);
	return n ? sorted[(n * permille + 999) / 1000 - 1] : -1;
}

static void test_twin(void **state)
{
	static const unsigned permilles[] = { 1, 500, 950, 990, 1000 };
	struct answer_times l = { 0 };
	uint64_t random = 1;
	int64_t now_ms = 12345;

	(void)state;
	for (size_t i = 0; i < TWIN_TIMES; i++) {
		unsigned permille = permilles[random_below(&random, 5)];
		int64_t want, got;

		now_ms += (int64_t)random_below(&random, i % 500 ? 100 : 40000);
		twin[i].at_ms = now_ms;
		twin[i].ms = (int64_t)random_below(
			&random, UINT64_C(1) << random_below(&random, 17));
		answer_times_add(&l, twin[i].ms, now_ms);
		want = twin_quantile(i + 1, permille, now_ms);
		got = answer_times_quantile(&l, permille);
		assert_true(got >= want && (got - want) * 8 <= want);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_classes),
		cmocka_unit_test(test_forgets),
		cmocka_unit_test(test_counts_so_many),
		cmocka_unit_test(test_twin),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
