/*
 * The catalog: when a generation is due, and that its array is always the one
 * of the keys that are there.
 */
#include <string.h>

#include "digestd/core/catalog.h"
#include "tests/codec/alloc.h"
#include "tests/codec/random.h"
#include "tests/unit.h"

enum { NBITS = 1 << 14, NHASH = 3 };

static struct scd_key key_of(uint64_t n)
{
	uint64_t state = n;
	uint64_t lo = random_next(&state);

	return (struct scd_key){ lo, random_next(&state) };
}

static struct catalog *catalog_with(uint64_t nkeys)
{
	struct catalog *c;

	assert_int_equal(catalog_new(&c, NBITS, NHASH), SCD_OK);
	for (uint64_t i = 0; i < nkeys; i++) {
		struct scd_key key = key_of(i);

		catalog_add(c, &key);
	}
	return c;
}

static void publish(struct catalog *c, int64_t now_ms)
{
	struct catalog_snapshot snapshot;

	assert_int_equal(catalog_snapshot(c, now_ms, &snapshot), SCD_OK);
	scd_bloom_free(&snapshot.bloom);
}

/* Published at 1000 ms; then `added` and `removed` keys; asked at now_ms. */
static const struct {
	const char *label;
	uint64_t nkeys, added, removed;
	int64_t now_ms;
	bool due;
} due_rows[] = {
	{ "nothing changed", 1000, 0, 0, 1000000, false },
	{ "share reached, too soon", 1000, 500, 0, 1099, false },
	{ "share reached, in time", 1000, 500, 0, 1100, true },
	{ "just the share", 990, 10, 0, 1100, true },
	{ "just below the share", 991, 9, 0, 1100, false },
	{ "removals count too", 1010, 0, 10, 1100, true },
	{ "both count together", 1000, 5, 5, 1100, true },
	{ "one key, before the latest time", 1000, 1, 0, 10999, false },
	{ "one key, at the latest time", 1000, 1, 0, 11000, true },
	{ "first key of an empty cache", 0, 1, 0, 1100, true },
	{ "last key of a cache", 1, 0, 1, 1100, true },
	{ "the clock goes back", 1000, 500, 0, 500, false },
};

static void test_due(void **state)
{
	static const struct publish_policy policy = {
		.share = .01, .min_ms = 100, .max_ms = 10000,
	};

	(void)state;
	for (size_t i = 0; i < NROWS(due_rows); i++) {
		struct catalog *c = catalog_with(due_rows[i].nkeys);

		publish(c, 1000);
		for (uint64_t n = 0; n < due_rows[i].added; n++) {
			struct scd_key key = key_of(due_rows[i].nkeys + n);

			catalog_add(c, &key);
		}
		for (uint64_t n = 0; n < due_rows[i].removed; n++) {
			struct scd_key key = key_of(n);

			catalog_remove(c, &key);
		}
		if (catalog_due(c, &policy, due_rows[i].now_ms) !=
		    due_rows[i].due)
			fail_msg("%s", due_rows[i].label);
		catalog_free(&c);
		assert_null(c);
	}
}

static void test_first_is_due_at_once(void **state)
{
	static const struct publish_policy policy = { 1, 1000, 1000 };
	struct catalog *c = catalog_with(0);

	(void)state;
	assert_true(catalog_due(c, &policy, 0));
	publish(c, 0);
	assert_false(catalog_due(c, &policy, 5000));
	catalog_free(&c);
}

/* Makes an array of the keys that are in, from nothing. */
static void rebuild(const bool *in, size_t n, struct scd_bloom *out)
{
	assert_int_equal(scd_bloom_init(out, NBITS, NHASH), SCD_OK);
	for (size_t i = 0; i < n; i++) {
		struct scd_key key = key_of(i);

		if (in[i])
			scd_bloom_add(out, &key);
	}
}

static void compare(struct catalog *c, const bool *in, size_t n,
		    uint64_t generation)
{
	struct catalog_snapshot snapshot;
	struct catalog_stats stats;
	struct scd_bloom twin;

	rebuild(in, n, &twin);
	assert_int_equal(catalog_snapshot(c, 0, &snapshot), SCD_OK);
	assert_true(scd_bloom_equal(&snapshot.bloom, &twin));
	assert_int_equal(snapshot.generation, generation);
	catalog_stats(c, &stats);
	assert_int_equal(stats.nones, scd_bloom_ones(&twin));
	assert_int_equal(stats.nkeys, snapshot.nkeys);
	assert_int_equal(stats.changed, 0);
	assert_int_equal(stats.generation, generation);
	assert_float_equal(stats.fp, scd_bloom_fp(&twin), 1e-12);
	scd_bloom_free(&snapshot.bloom);
	scd_bloom_free(&twin);
}

static void test_model(void **state)
{
	enum { N = 1000, GENERATIONS = 60, CHANGES = 200 };
	struct catalog *c = catalog_with(0);
	bool in[N] = { false };
	uint64_t random = 7;

	(void)state;
	for (uint64_t g = 1; g <= GENERATIONS; g++) {
		for (unsigned i = 0; i < CHANGES; i++) {
			size_t at = (size_t)random_below(&random, N);
			struct scd_key key = key_of(at);

			if (in[at])
				catalog_remove(c, &key);
			else
				catalog_add(c, &key);
			in[at] = !in[at];
		}
		compare(c, in, N, g);
	}
	catalog_free(&c);
}

/* More objects than the filter was made for can be seen. */
static void test_overload_shows(void **state)
{
	struct catalog *few = catalog_with(NBITS / 32);
	struct catalog *many = catalog_with(NBITS);
	struct catalog_stats stats;

	(void)state;
	catalog_stats(few, &stats);
	assert_true(stats.fp < .001);
	catalog_stats(many, &stats);
	assert_true(stats.fp > .5);
	catalog_free(&few);
	catalog_free(&many);
}

/* A snapshot that fails has not happened. */
static void test_no_memory(void **state)
{
	static const struct publish_policy policy = { .01, 0, 1000 };
	struct catalog *c = catalog_with(10);
	struct catalog_snapshot snapshot;
	struct catalog_stats before, after;

	(void)state;
	catalog_stats(c, &before);
	alloc_fail_at(1);
	assert_int_equal(catalog_snapshot(c, 5, &snapshot), SCD_ENOMEM);
	alloc_fail_at(0);
	catalog_stats(c, &after);
	assert_int_equal(before.nkeys, after.nkeys);
	assert_int_equal(before.nones, after.nones);
	assert_int_equal(before.changed, after.changed);
	assert_int_equal(before.generation, after.generation);
	assert_true(catalog_due(c, &policy, 5));
	catalog_free(&c);
	for (unsigned n = 1;; n++) {
		int error;

		alloc_fail_at(n);
		error = catalog_new(&c, NBITS, NHASH);
		if (!alloc_failed())
			break;
		assert_int_equal(error, SCD_ENOMEM);
	}
	alloc_fail_at(0);
	catalog_free(&c);
	catalog_free(&c);
	assert_int_equal(catalog_new(&c, 0, NHASH), SCD_EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_due),
		cmocka_unit_test(test_first_is_due_at_once),
		cmocka_unit_test(test_model),
		cmocka_unit_test(test_overload_shows),
		cmocka_unit_test(test_no_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
