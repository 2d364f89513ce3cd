/*
 * The store with every eviction policy, without a twin (those of
 * tests/store/eviction_twin.c say which entry goes): what was reported is what
 * is in, and its weight fits.
 */
#include <stdlib.h>
#include <string.h>

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

/* A walk by heat. */
struct heat {
	unsigned seen[NOBJECTS], n, most;
	const struct account *of;
};

static bool heat_add(void *arg, struct store_entry *e)
{
	struct heat *h = arg;
	const struct object *o = (const struct object *)e;

	assert_true(o->in);
	h->seen[h->n++] = (unsigned)(o - h->of->objects);
	return h->n < h->most;
}

/* Each entry is met once, and none twice. */
static void check_heat(const struct account *a, const struct store *s)
{
	bool met[NOBJECTS] = { false };
	struct heat h = { .most = NOBJECTS + 1, .of = a };

	store_visit_hottest(s, NOBJECTS, heat_add, &h);
	assert_int_equal(h.n, a->entries);
	for (unsigned i = 0; i < h.n; i++) {
		assert_false(met[h.seen[i]]);
		met[h.seen[i]] = true;
	}
	h = (struct heat){ .most = 1, .of = a };
	store_visit_hottest(s, NOBJECTS, heat_add, &h);
	assert_int_equal(h.n, a->entries > 0);
}

static void run(const struct eviction_policy *policy)
{
	struct account *a = calloc(1, sizeof(*a));
	struct store_stats stats;
	struct store *s;
	uint64_t random = 1;

	assert_non_null(a);
	a->events = (struct store_events){ key_added, key_removed, released,
					   weight_of, NULL, a };
	assert_int_equal(store_new(&s, MAX_WEIGHT, policy, &a->events), 0);
	for (int i = 0; i < STEPS; i++) {
		step(a, s, &random);
		store_stats(s, &stats);
		assert_int_equal(stats.keys, a->nkeys);
		assert_int_equal(stats.entries, a->entries);
		assert_int_equal(stats.weight, a->weight);
		assert_true(stats.weight <= stats.max_weight);
		if (i % 1000 == 0)
			check_heat(a, s);
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

/* Which of five come first: 1 and 3 were used. */
static void test_heat(void **state)
{
	/* clang-format off */
	static const struct {
		const char *policy;
		unsigned order[5];
	} rows[] = {
		{ "sieve",  { 3, 1, 4, 2, 0 } },
		{ "clock",  { 3, 1, 4, 2, 0 } },
		{ "s3fifo", { 3, 1, 4, 2, 0 } },
		{ "lru",    { 1, 3, 4, 2, 0 } },
		{ "fifo",   { 4, 3, 2, 1, 0 } },
		{ "lfu",    { 1, 3, 4, 2, 0 } },
	};
	/* clang-format on */

	(void)state;
	for (size_t i = 0; i < NROWS(rows); i++) {
		struct account *a = calloc(1, sizeof(*a));
		struct heat h = { .most = 6, .of = a };
		struct store *s;

		assert_non_null(a);
		a->events = (struct store_events){ key_added, key_removed,
						   released, weight_of, NULL,
						   a };
		assert_int_equal(
			store_new(&s, MAX_WEIGHT,
				  eviction_policy_find(rows[i].policy),
				  &a->events), 0);
		for (unsigned n = 0; n < 5; n++) {
			struct scd_key key = { n, 0 };

			a->objects[n].in = true;
			a->entries++;
			assert_int_equal(store_insert(s, &a->objects[n].entry,
						      &key), 0);
		}
		store_touch(s, &a->objects[3].entry);
		store_touch(s, &a->objects[1].entry);
		store_visit_hottest(s, NOBJECTS, heat_add, &h);
		if (memcmp(h.seen, rows[i].order, sizeof(rows[i].order)) != 0)
			fail_msg("%s: %u %u %u %u %u", rows[i].policy,
				 h.seen[0], h.seen[1], h.seen[2], h.seen[3],
				 h.seen[4]);
		store_free(&s);
		free(a);
	}
}

static void spared_add(void *arg, struct store_entry *e)
{
	struct heat *h = arg;
	const struct object *o = (const struct object *)e;

	h->seen[h->n++] = (unsigned)(o - h->of->objects);
}

/* Of five, of which 1 and 3 were used, those that are spared, as bits; before
 * anything goes, and after two have gone. */
static void test_spared(void **state)
{
	/* clang-format off */
	static const struct {
		const char *policy;
		unsigned before, after;
	} rows[] = {
		{ "sieve", 1 << 1 | 1 << 3, 1 << 1 | 1 << 3 },
		{ "clock", 1 << 1 | 1 << 3, 1 << 3 },
		{ "lru", 0, 0 },
		{ "fifo", 0, 0 },
	};
	/* clang-format on */

	(void)state;
	for (size_t i = 0; i < NROWS(rows); i++) {
		struct account *a = calloc(1, sizeof(*a));
		struct store *s;

		assert_non_null(a);
		a->events = (struct store_events){ key_added, key_removed,
						   released, weight_of, NULL,
						   a };
		assert_int_equal(
			store_new(&s, 50, eviction_policy_find(rows[i].policy),
				  &a->events), 0);
		for (unsigned n = 0; n < 5; n++) {
			struct scd_key key = { n, 0 };

			a->objects[n].in = true;
			a->objects[n].weight = 10;
			a->entries++;
			a->weight += 10;
			assert_int_equal(store_insert(s, &a->objects[n].entry,
						      &key), 0);
		}
		store_touch(s, &a->objects[1].entry);
		store_touch(s, &a->objects[3].entry);
		for (int after = 0; after < 2; after++) {
			struct heat h = { .of = a };
			unsigned bits = 0;

			store_visit_spared(s, spared_add, &h);
			for (unsigned k = 0; k < h.n; k++)
				bits |= 1U << h.seen[k];
			if (bits != (after ? rows[i].after : rows[i].before))
				fail_msg("%s: %#x", rows[i].policy, bits);
			store_resize(s, 30); /* 0 and 2 go of SIEVE's */
		}
		store_free(&s);
		free(a);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all_policies),
		cmocka_unit_test(test_heat),
		cmocka_unit_test(test_spared),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
