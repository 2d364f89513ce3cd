/*
 * The sketch: never below the true count before it halves, hardly ever above
 * it, the same after growing; and what halving does.
 */
#include "digestd/store/eviction_sketch.h"

#include "codec/error.h"
#include "tests/codec/alloc.h"
#include "tests/codec/random.h"
#include "tests/unit.h"

enum { NKEYS = 1000 };

static uint64_t hash_of(uint64_t key)
{
	uint64_t state = key;

	return random_next(&state);
}

/* Adds key k (k % 20) times, in turns. Returns how many it added. */
static uint64_t fill(struct sketch *s, uint64_t nkeys)
{
	uint64_t n = 0;

	for (uint64_t turn = 1; turn < 20; turn++) {
		for (uint64_t key = 0; key < nkeys; key++) {
			if (key % 20 < turn)
				continue;
			sketch_add(s, hash_of(key));
			n++;
		}
	}
	return n;
}

/* How many of fill()'s keys it estimates too high; none too low. */
static unsigned too_high(const struct sketch *s, uint64_t nkeys)
{
	unsigned wrong = 0;

	for (uint64_t key = 0; key < nkeys; key++) {
		unsigned n = (unsigned)(key % 20);

		n = n < SKETCH_MAX ? n : SKETCH_MAX;
		assert_true(sketch_estimate(s, hash_of(key)) >= n);
		wrong += sketch_estimate(s, hash_of(key)) > n;
	}
	return wrong;
}

static void test_counts(void **state)
{
	struct sketch s = { 0 };

	(void)state;
	assert_int_equal(sketch_reserve(&s, NKEYS), 0);
	assert_int_equal(fill(&s, NKEYS), NKEYS * 19 / 2);
	assert_int_equal(s.additions, NKEYS * 19 / 2);
	assert_true(too_high(&s, NKEYS) < NKEYS / 20);
	sketch_free(&s);
	assert_int_equal(sketch_memory(&s), 0);
}

/* After a halving everything counts half, and half as many calls lead to the
 * next one. */
static void test_halving(void **state)
{
	struct sketch s = { 0 };

	(void)state;
	assert_int_equal(sketch_reserve(&s, 100), 0);
	for (int i = 0; i < 999; i++)
		sketch_add(&s, hash_of(1));
	assert_int_equal(sketch_estimate(&s, hash_of(1)), 15);
	sketch_add(&s, hash_of(1));
	assert_int_equal(sketch_estimate(&s, hash_of(1)), 7);
	for (int i = 0; i < 499; i++)
		sketch_add(&s, hash_of(2));
	assert_int_equal(sketch_estimate(&s, hash_of(2)), 15);
	sketch_add(&s, hash_of(3));
	assert_int_equal(sketch_estimate(&s, hash_of(1)), 3);
	assert_int_equal(sketch_estimate(&s, hash_of(2)), 7);
	assert_int_equal(sketch_estimate(&s, hash_of(3)), 0);
	sketch_free(&s);
}

static void test_growing(void **state)
{
	struct sketch s = { 0 };
	unsigned before[NKEYS];

	(void)state;
	assert_int_equal(sketch_reserve(&s, NKEYS / 4), 0);
	s.keys = NKEYS; /* no halving yet */
	fill(&s, NKEYS);
	for (uint64_t key = 0; key < NKEYS; key++)
		before[key] = sketch_estimate(&s, hash_of(key));
	for (uint64_t n = 1; n < 100 * NKEYS; n = n * 3 / 2 + 1) {
		assert_int_equal(sketch_reserve(&s, n), 0);
		for (uint64_t key = 0; key < NKEYS; key++)
			assert_int_equal(sketch_estimate(&s, hash_of(key)),
					 before[key]);
		assert_true(s.keys >= n);
		assert_true(sketch_memory(&s) <= 8 * s.keys + 64);
		assert_true(sketch_memory(&s) >= 4 * s.keys);
	}
	sketch_free(&s);
}

static void test_allocation(void **state)
{
	struct sketch s = { 0 };

	(void)state;
	alloc_fail_at(1);
	assert_int_equal(sketch_reserve(&s, 10), SCD_ENOMEM);
	assert_null(s.counters);
	assert_int_equal(sketch_reserve(&s, 10), 0);
	sketch_add(&s, hash_of(1));
	alloc_fail_at(1);
	assert_int_equal(sketch_reserve(&s, 10000), SCD_ENOMEM);
	alloc_fail_at(0);
	assert_int_equal(s.keys, 10);
	assert_int_equal(sketch_estimate(&s, hash_of(1)), 1);
	sketch_free(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_counts),
		cmocka_unit_test(test_halving),
		cmocka_unit_test(test_growing),
		cmocka_unit_test(test_allocation),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
