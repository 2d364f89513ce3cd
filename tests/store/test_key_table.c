/*
 * The table of keys against the dumbest twin: an array. Keys are few and their
 * homes fewer, so that they collide, wrap around the end and shift back.
 */
#include <stdlib.h>

#include "codec/error.h"
#include "digestd/store/key_table.h"
#include "tests/codec/alloc.h"
#include "tests/codec/random.h"
#include "tests/unit.h"

enum { NKEYS = 90, STEPS = 40000, MANY = 30000 };

/* Half of them are at home in the last four slots of a small table. */
static struct scd_key crowded_key(unsigned n)
{
	uint64_t random = n + 1;
	uint64_t hi = random_next(&random);

	return (struct scd_key){ n, n % 2 ? hi : hi | 0xf };
}

static struct scd_key spread_key(unsigned n)
{
	uint64_t random = n + 1;
	uint64_t lo = random_next(&random);

	return (struct scd_key){ lo, random_next(&random) };
}

struct counted {
	const struct keypart *part;
	unsigned n;
	uint64_t sum;
};

static void count_one(void *arg, const struct scd_key *key, void *value)
{
	struct counted *c = arg;

	assert_int_equal(keypart_of(key, c->part->count), c->part->number);
	c->n++;
	c->sum += *(const uint64_t *)value;
}

/* All parts together are the table. */
static void check_walk(const struct key_table *t, uint64_t nparts, unsigned n,
		       uint64_t sum)
{
	struct keypart part = { 0, nparts };
	struct counted c = { &part, 0, 0 };

	for (; part.number < part.count; part.number++)
		key_table_walk(t, &part, count_one, &c);
	assert_int_equal(c.n, n);
	assert_int_equal(c.sum, sum);
}

static void test_model(void **state)
{
	uint64_t twin[NKEYS] = { 0 }, sum = 0, random = 7;
	struct key_table *t;
	unsigned n = 0;
	void *value;

	(void)state;
	assert_int_equal(key_table_new(&t, 8, NKEYS / 2), 0);
	for (unsigned step = 1; step <= STEPS; step++) {
		unsigned i = (unsigned)random_below(&random, NKEYS);
		struct scd_key key = crowded_key(i);
		uint64_t *found = key_table_find(t, &key);

		assert_int_equal(found ? *found : 0, twin[i]);
		if (found) {
			assert_true(key_table_remove(t, &key));
			assert_false(key_table_remove(t, &key));
			sum -= twin[i];
			twin[i] = 0;
			n--;
		} else if (n == NKEYS / 2) {
			assert_int_equal(key_table_add(t, &key, &value),
					 SCD_ELIMIT);
		} else {
			assert_int_equal(key_table_add(t, &key, &value), 0);
			assert_int_equal(*(uint64_t *)value, 0);
			*(uint64_t *)value = twin[i] = step;
			sum += step;
			n++;
		}
		assert_int_equal(key_table_count(t), n);
		if (step % 64 == 0)
			check_walk(t, UINT64_C(1) << (step / 64 % 9), n, sum);
	}
	key_table_clear(t);
	assert_int_equal(key_table_bytes(t), 0);
	check_walk(t, 4, 0, 0);
	key_table_free(&t);
	assert_null(t);
	key_table_free(&t);
}

static void test_many(void **state)
{
	struct key_table *t;
	struct scd_key key;
	void *value;

	(void)state;
	assert_int_equal(key_table_new(&t, 16, MANY), 0);
	for (unsigned i = 0; i < MANY; i++) {
		key = spread_key(i);
		assert_int_equal(key_table_add(t, &key, &value), 0);
		*(uint64_t *)value = i;
	}
	assert_true(key_table_parts(t) > 1);
	check_walk(t, key_table_parts(t), MANY,
		   (uint64_t)MANY * (MANY - 1) / 2);
	/* three eighths of it are used at least */
	assert_true(key_table_bytes(t) <= (size_t)MANY * 33 * 8 / 3);
	for (unsigned i = 0; i < MANY; i++) {
		key = spread_key(i);
		assert_int_equal(*(uint64_t *)key_table_find(t, &key), i);
		assert_true(key_table_remove(t, &key));
	}
	assert_int_equal(key_table_count(t), 0);
	key_table_free(&t);
}

static void test_every_allocation(void **state)
{
	bool failed = true;

	(void)state;
	for (unsigned n = 1; failed; n++) {
		struct key_table *t = NULL;
		unsigned added = 0;
		int error;

		alloc_fail_at(n);
		error = key_table_new(&t, 8, 1000);
		while (!error && added < 200) {
			struct scd_key key = spread_key(added);
			void *value;

			error = key_table_add(t, &key, &value);
			added += !error;
		}
		failed = alloc_failed();
		alloc_fail_at(0);
		assert_int_equal(error, failed ? SCD_ENOMEM : 0);
		/* what was there still is */
		for (unsigned i = 0; i < added; i++) {
			struct scd_key key = spread_key(i);

			assert_non_null(key_table_find(t, &key));
		}
		key_table_free(&t);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_model),
		cmocka_unit_test(test_many),
		cmocka_unit_test(test_every_allocation),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
