/*
 * Histograms: which cell a time goes to, and sums; and names of upstreams, of
 * which there are fifty of a kind.
 */
#include <stdio.h>
#include <string.h>

#include "digestd/os/histogram.h"
#include "digestd/os/upstream_names.h"
#include "tests/unit.h"

static const struct {
	int64_t us;
	int cell;
	uint64_t sum_us;
} rows[] = {
	{ -5, 0, 0 },
	{ 0, 0, 0 },
	{ 100, 0, 100 },
	{ 101, 1, 101 },
	{ 250, 1, 250 },
	{ 1000, 3, 1000 },
	{ 1001, 4, 1001 },
	{ 10000000, HISTOGRAM_BOUND_COUNT - 1, 10000000 },
	{ 10000001, HISTOGRAM_BOUND_COUNT, 10000001 },
};

static void test_cells(void **state)
{
	(void)state;
	for (size_t i = 0; i < NROWS(rows); i++) {
		struct histogram h = { 0 }, sum = { 0 };

		histogram_add(&h, rows[i].us);
		assert_int_equal(h.cells[rows[i].cell], 1);
		assert_int_equal(histogram_count(&h), 1);
		assert_int_equal(h.sum_us, rows[i].sum_us);
		histogram_merge(&sum, &h);
		histogram_merge(&sum, &h);
		assert_int_equal(sum.cells[rows[i].cell], 2);
		assert_int_equal(sum.sum_us, 2 * rows[i].sum_us);
	}
	for (int i = 1; i < HISTOGRAM_BOUND_COUNT; i++)
		assert_true(histogram_bounds_us[i - 1] <
			    histogram_bounds_us[i]);
}

static void test_names(void **state)
{
	struct upstream_names *names;
	char name[UPSTREAM_NAME_BYTES + 1];

	(void)state;
	assert_int_equal(upstream_names_new(&names), 0);
	assert_null(upstream_names_at(names, UPSTREAM_peer, 0));
	for (unsigned round = 0; round < 2; round++) {
		for (unsigned i = 0; i < UPSTREAM_NAMES_MAX + 3; i++) {
			snprintf(name, sizeof(name), "n%u", i);
			assert_int_equal(
				upstream_names_find(names, UPSTREAM_peer, name),
				i < UPSTREAM_NAMES_MAX ? i :
							 UPSTREAM_NAMES_MAX);
		}
	}
	assert_string_equal(upstream_names_at(names, UPSTREAM_peer, 7), "n7");
	assert_string_equal(
		upstream_names_at(names, UPSTREAM_peer, UPSTREAM_NAMES_MAX),
		"other");
	/* kinds have numbers of their own */
	assert_int_equal(upstream_names_find(names, UPSTREAM_origin, "n7"), 0);
	assert_int_equal(upstream_names_find(names, UPSTREAM_origin, NULL),
			 UPSTREAM_NAMES_MAX);
	memset(name, 'x', UPSTREAM_NAME_BYTES);
	name[UPSTREAM_NAME_BYTES] = '\0';
	assert_int_equal(upstream_names_find(names, UPSTREAM_origin, name),
			 UPSTREAM_NAMES_MAX);
	name[UPSTREAM_NAME_BYTES - 1] = '\0';
	assert_int_equal(upstream_names_find(names, UPSTREAM_origin, name), 1);
	upstream_names_free(&names);
	assert_null(names);
	upstream_names_free(&names);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cells),
		cmocka_unit_test(test_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
