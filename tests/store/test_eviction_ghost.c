/*
 * Ghosts against a list: objects are pushed when they are not remembered and
 * taken when they are, with limits that make the queue forget; and what is left
 * of it when there is no memory.
 */
#include "digestd/store/eviction_ghost.h"

#include <stdlib.h>
#include <string.h>

#include "tests/codec/alloc.h"
#include "tests/codec/random.h"
#include "tests/unit.h"

enum { NHASHES = 2000, STEPS = 100000 };

struct twin {
	struct eviction_item at[NHASHES]; /* from old to new */
	size_t n;
	uint64_t held;
};

static void twin_take(struct twin *t, size_t index)
{
	t->held -= t->at[index].weight;
	t->n--;
	memmove(t->at + index, t->at + index + 1,
		(t->n - index) * sizeof(t->at[0]));
}

static size_t twin_find(const struct twin *t, uint64_t hash)
{
	size_t i = 0;

	while (i < t->n && t->at[i].hash != hash)
		i++;
	return i;
}

static void twin_push(struct twin *t, struct eviction_item item, uint64_t limit)
{
	while (t->n && t->held + item.weight > limit)
		twin_take(t, 0);
	if (item.weight > limit)
		return;
	t->held += item.weight;
	t->at[t->n++] = item;
}

/* Hashes that differ in few bits, at either end. */
static uint64_t hash_of(uint64_t n)
{
	return n % 2 ? n << 50 : n;
}

static void replay(uint64_t hashes, uint64_t heaviest, uint64_t limit)
{
	struct ghosts g = { 0 };
	struct twin *t = calloc(1, sizeof(*t));
	uint64_t random = 11;

	assert_non_null(t);
	for (int i = 0; i < STEPS; i++) {
		struct eviction_item item = {
			hash_of(random_below(&random, hashes)),
			1 + random_below(&random, heaviest),
		};
		size_t index = twin_find(t, item.hash);
		bool in = index < t->n;

		assert_int_equal(ghosts_take(&g, item.hash), in);
		if (in) {
			twin_take(t, index);
		} else {
			ghosts_push(&g, item, limit);
			twin_push(t, item, limit);
		}
		assert_int_equal(g.held, t->held);
		assert_int_equal(g.used - g.taken, t->n);
	}
	ghosts_free(&g);
	free(t);
}

static void test_twin(void **state)
{
	static const struct {
		uint64_t hashes, heaviest, limit;
	} rows[] = {
		{ 1, 1, 1 },      { 10, 1, 3 },       { 100, 10, 100 },
		{ 500, 1, 100 },  { 2000, 100, 9999 }, { 2000, 1, 1900 },
		{ 100, 10, 5 },   { 2000, 1, 0 },     { 2000, 1, 1u << 30 },
	};

	(void)state;
	for (size_t i = 0; i < NROWS(rows); i++)
		replay(rows[i].hashes, rows[i].heaviest, rows[i].limit);
}

/* The variants of one resource have the same hash. */
static void test_same_hash(void **state)
{
	struct ghosts g = { 0 };

	(void)state;
	for (uint64_t i = 0; i < 1000; i++)
		ghosts_push(&g, (struct eviction_item){ i % 7 % 3, 1 }, 10);
	assert_int_equal(g.held, 10);
	for (uint64_t i = 0; i < 10; i++)
		ghosts_push(&g, (struct eviction_item){ 5 + i / 9, 1 }, 10);
	for (uint64_t i = 0; i < 3; i++)
		assert_false(ghosts_take(&g, i));
	for (int i = 0; i < 9; i++)
		assert_true(ghosts_take(&g, 5));
	assert_false(ghosts_take(&g, 5));
	assert_true(ghosts_take(&g, 6));
	assert_int_equal(g.held, 0);
	ghosts_free(&g);
}

/* Weights that do not fit, and none at all. */
static void test_weights(void **state)
{
	static const struct {
		uint64_t weight, counts;
	} rows[] = {
		{ 0, 1 }, { 1, 1 }, { UINT32_MAX, UINT32_MAX },
		{ UINT64_C(1) << 32, UINT32_MAX }, { UINT64_MAX, UINT32_MAX },
	};

	(void)state;
	for (size_t i = 0; i < NROWS(rows); i++) {
		struct ghosts g = { 0 };

		ghosts_push(&g, (struct eviction_item){ 5, rows[i].weight },
			    UINT64_MAX);
		assert_int_equal(g.held, rows[i].counts);
		assert_true(ghosts_take(&g, 5));
		assert_int_equal(g.held, 0);
		ghosts_free(&g);
	}
}

/* Without memory it remembers nothing; without more memory, the newest. */
static void test_allocation(void **state)
{
	(void)state;
	for (unsigned n = 1; n <= 2; n++) {
		struct ghosts g = { 0 };
		uint32_t places;

		alloc_fail_at(n);
		ghosts_push(&g, (struct eviction_item){ 1, 1 }, 1000);
		assert_true(alloc_failed());
		assert_false(ghosts_take(&g, 1));
		alloc_fail_at(0);
		ghosts_push(&g, (struct eviction_item){ 1, 1 }, 1000);
		places = g.nplaces;
		for (uint64_t i = 2; i <= places; i++)
			ghosts_push(&g, (struct eviction_item){ i, 1 }, 1000);
		alloc_fail_at(n);
		ghosts_push(&g, (struct eviction_item){ places + 1, 1 }, 1000);
		assert_true(alloc_failed());
		alloc_fail_at(0);
		assert_int_equal(g.held, places);
		assert_false(ghosts_take(&g, 1));
		for (uint64_t i = 2; i <= places + 1; i++)
			assert_true(ghosts_take(&g, i));
		ghosts_free(&g);
	}
}

/* The memory follows the number, whatever comes and goes. */
static void test_memory(void **state)
{
	enum { LIMIT = 10000, BYTES_EACH = 34 };
	struct ghosts g = { 0 };

	(void)state;
	for (uint64_t i = 0; i < STEPS; i++) {
		ghosts_push(&g, (struct eviction_item){ i, 1 }, LIMIT);
		if (i % 2 && i > 5)
			assert_true(ghosts_take(&g, i - 3));
	}
	assert_true(ghosts_memory(&g) <= (size_t)LIMIT * BYTES_EACH);
	ghosts_free(&g);
	assert_int_equal(ghosts_memory(&g), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_twin),
		cmocka_unit_test(test_same_hash),
		cmocka_unit_test(test_weights),
		cmocka_unit_test(test_allocation),
		cmocka_unit_test(test_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
