/*
 * The store with every eviction policy, without a twin (those of
 * tests/store/eviction_twin.c say which entry goes): what was reported is what
 * is in, and its weight fits.
 */
#include <stdlib.h>

#include "digestd/store/store.h"
#include "tests/codec/random.h"
#include "tests/unit.h"

enum { NKEYS = 48, NOBJECTS = 200, MAX_WEIGHT = 2000, STEPS = 60000 };

struct object {
	struct store_entry entry;
	size_t weight;
	bool in;
};

struct account {
	struct store_events events;
	struct object objects[NOBJECTS];
	bool key_in[NKEYS];
	uint64_t nkeys, entries, weight;
};

static void key_added(void *arg, const struct scd_key *key)
{
	struct account *a = arg;

	assert_false(a->key_in[key->lo]);
	a->key_in[key->lo] = true;
	a->nkeys++;
}

static void key_removed(void *arg, const struct scd_key *key)
{
	struct account *a = arg;

	assert_true(a->key_in[key->lo]);
	a->key_in[key->lo] = false;
	a->nkeys--;
}

static void released(void *arg, struct store_entry *entry)
{
	struct account *a = arg;
	struct object *o = (struct object *)entry;

	assert_true(o->in);
	o->in = false;
	a->entries--;
	a->weight -= o->weight;
}

static size_t weight_of(void *arg, const struct store_entry *entry)
{
	(void)arg;
	return ((const struct object *)entry)->weight;
}

static void step(struct account *a, struct store *s, uint64_t *random)
{
	struct object *o = &a->objects[random_below(random, NOBJECTS)];
	struct scd_key key = { random_below(random, NKEYS), 0 };

	if (o->in && random_below(random, 8) == 0) {
		store_remove(s, &o->entry);
	} else if (o->in) {
		store_touch(s, &o->entry);
	} else {
		o->weight = (size_t)random_below(random, 100);
		o->in = true;
		a->entries++;
		a->weight += o->weight;
		assert_int_equal(store_insert(s, &o->entry, &key), 0);
	}
	if (random_below(random, 100) == 0)
		store_resize(s, 100 + random_below(random, MAX_WEIGHT));
}

static void run(const struct eviction_policy *policy)
{
	struct account *a = calloc(1, sizeof(*a));
	struct store_stats stats;
	struct store *s;
	uint64_t random = 1;

	assert_non_null(a);
	a->events = (struct store_events){ key_added, key_removed, released,
					   weight_of, a };
	assert_int_equal(store_new(&s, MAX_WEIGHT, policy, &a->events), 0);
	for (int i = 0; i < STEPS; i++) {
		step(a, s, &random);
		store_stats(s, &stats);
		assert_int_equal(stats.keys, a->nkeys);
		assert_int_equal(stats.entries, a->entries);
		assert_int_equal(stats.weight, a->weight);
		assert_true(stats.weight <= stats.max_weight);
	}
	assert_true(stats.evicted > 1000);
	store_free(&s);
	assert_int_equal(a->entries, 0);
	free(a);
}

static void test_all_policies(void **state)
{
	(void)state;
	for (size_t i = 0; eviction_policies[i]; i++)
		run(eviction_policies[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all_policies),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
