/*
 * auto: its miniature caches against twins, and its choice on requests of
 * which one knows what suits them.
 */
#include <stdlib.h>
#include <string.h>

#include "cachesim/admission/admission_table.h"
#include "cachesim/sim/sim_cache.h"
#include "digestd/admission/admission_mini.h"
#include "digestd/store/eviction.h"
#include "tests/codec/random.h"
#include "tests/unit.h"

/* The twin of a miniature with LRU: an array, the newest in front. */
enum { ROWS = 200, CAPACITY = 300, OBJECTS = 5000, BOTH = 60000 };

struct row {
	uint64_t hash, size;
};

struct list {
	struct row rows[ROWS];
	unsigned n;
	uint64_t used;
};

/* Where it is, or l->n. */
static unsigned find(const struct list *l, uint64_t hash)
{
	unsigned i = 0;

	while (i < l->n && l->rows[i].hash != hash)
		i++;
	return i;
}

static void take_out(struct list *l, unsigned i)
{
	l->used -= l->rows[i].size;
	l->n--;
	memmove(&l->rows[i], &l->rows[i + 1], (l->n - i) * sizeof(struct row));
}

static void put_in(struct list *l, struct row row)
{
	while (l->used + row.size > CAPACITY)
		take_out(l, l->n - 1);
	memmove(&l->rows[1], &l->rows[0], l->n * sizeof(struct row));
	l->rows[0] = row;
	l->used += row.size;
	l->n++;
}

static void mini_is_a_list(void **state)
{
	struct list l = { .n = 0 };
	struct mini *m;
	uint64_t seed = 1;

	(void)state;
	assert_int_equal(mini_new(&m, eviction_policy_find("lru"), CAPACITY),
			 0);
	assert_false(mini_full(m));
	for (int i = 0; i < 200000; i++) {
		struct row row = { random_below(&seed, 150) << 40,
				   2 + random_below(&seed, 5) };
		unsigned at = find(&l, row.hash);

		assert_int_equal(mini_get(m, row.hash), at < l.n);
		if (at < l.n && i % 7 == 0) {
			mini_drop(m, row.hash);
			take_out(&l, at);
			continue;
		}
		if (at < l.n) {
			row = l.rows[at];
			take_out(&l, at);
		} else {
			assert_true(mini_put(m, row.hash, row.size));
		}
		put_in(&l, row);
		assert_int_equal(mini_objects(m), l.n);
	}
	assert_true(mini_full(m));
	assert_false(mini_put(m, 1, CAPACITY + 1));
	assert_int_equal(mini_objects(m), l.n);
	assert_true(mini_memory(m) < 40000);
	mini_free(&m);
	assert_null(m);
}

/* Requests that policies treat each in their own way: popular ones, scans, and
 * what comes back after it has gone. */
static uint32_t next_object(int i, uint64_t *seed)
{
	uint64_t below = random_below(seed, OBJECTS) + 1;

	if (i % 3 == 0)
		return (uint32_t)(i / 3) % OBJECTS;
	return (uint32_t)random_below(seed, below);
}

/* Requests to both: hits of the miniature, and what only one of them hit. */
struct tally {
	int hits, here_only, there_only;
};

static struct tally compare(struct mini *m, struct sim_cache *c,
			    const uint64_t *hash)
{
	struct tally t = { 0 };
	uint64_t seed = 3;

	for (int i = 0; i < BOTH; i++) {
		uint32_t o = next_object(i, &seed), size = 1 + o % 5;
		bool hit = mini_get(m, hash[o]);
		bool twin = sim_cache_get(c, o);

		t.hits += hit;
		t.here_only += hit && !twin;
		t.there_only += twin && !hit;
		if (!hit)
			assert_true(mini_put(m, hash[o], size));
		if (!twin)
			assert_int_equal(sim_cache_put(c, o, size), 0);
	}
	return t;
}

/* Under every eviction policy it hits what a cache of the simulator does; but
 * the sketch of W-TinyLFU goes by how many slots there are for now. */
static void mini_is_a_cache(void **state)
{
	uint64_t hash[OBJECTS], seed = 3;

	(void)state;
	for (size_t o = 0; o < OBJECTS; o++)
		hash[o] = random_next(&seed);
	for (size_t p = 0; eviction_policies[p]; p++) {
		struct sim_cache_config c = { .policy = eviction_policies[p],
					      .capacity = 3000,
					      .nobjects = OBJECTS,
					      .hash = hash };
		bool exact = strcmp(c.policy->name, "wtinylfu") != 0;
		struct sim_cache *cache;
		struct tally t;
		struct mini *m;

		assert_int_equal(mini_new(&m, c.policy, c.capacity), 0);
		assert_int_equal(sim_cache_new(&cache, &c), 0);
		t = compare(m, cache, hash);
		if (exact && t.here_only + t.there_only)
			fail_msg("%s: %d and %d", c.policy->name, t.here_only,
				 t.there_only);
		assert_true(abs(t.here_only - t.there_only) < t.hits / 20);
		assert_true(t.hits > BOTH / 6 && t.hits < BOTH / 6 * 5);
		assert_true(mini_objects(m) <= 3000);
		mini_free(&m);
		sim_cache_free(&cache);
	}
}

/* Workloads for a cache of 1000 objects. */
static uint64_t hot_and_once(uint64_t i, uint64_t *seed)
{
	return i % 2 ? random_below(seed, 1500) : 1000000 + i;
}

/* Ever new ones, each used three times in all, far apart: who waits for the
 * second use has one hit of the two. */
static uint64_t three_times(uint64_t i, uint64_t *seed)
{
	(void)seed;
	return i / 900 * 300 + i % 300;
}

/* A third of the requests are for what is used once: to admit everything has
 * 2/9 more hits and 3/9 more writes a request. */
static uint64_t three_times_and_once(uint64_t i, uint64_t *seed)
{
	return i % 3 ? three_times(i / 3 * 2 + i % 3, seed) : 1000000 + i;
}

/* clang-format off */
static const struct {
	const char *label, *text;
	uint64_t (*next)(uint64_t i, uint64_t *seed);
	bool admits_all;
} workloads[] = {
	{ "half are used once", "auto", hot_and_once, false },
	{ "half are used once, sampled", "auto,sample=4,sample-min=100", hot_and_once, false },
	{ "each is used three times", "auto", three_times, true },
	{ "and sampled", "auto,sample=4,sample-min=100", three_times, true },
	{ "writes for nothing", "auto", three_times_and_once, true },
	{ "cheap writes", "auto,lambda=.5", three_times_and_once, true },
	{ "dear writes", "auto,lambda=.9", three_times_and_once, false },
};
/* clang-format on */

static void run(struct admission *a, uint64_t n,
		uint64_t (*next)(uint64_t i, uint64_t *seed))
{
	uint64_t seed = 5;

	for (uint64_t i = 0; i < n; i++) {
		uint64_t number = next(i, &seed);
		struct admission_item item = { random_next(&number), 1 };

		admission_request(a, &item, false);
		admission_decide(a, &item);
	}
}

static struct admission *make(const char *text)
{
	const struct admission_policy *policy;
	struct admission_config c;
	struct admission *a;

	admission_defaults(&c);
	c.capacity = 1000;
	c.eviction = eviction_policy_find("lru");
	assert_int_equal(admission_parse(text, &policy, &c), 0);
	assert_int_equal(admission_new(&a, policy, &c), 0);
	return a;
}

static void choice_suits_the_requests(void **state)
{
	(void)state;
	for (size_t i = 0; i < NROWS(workloads); i++) {
		struct admission *a = make(workloads[i].text);

		run(a, 300000, workloads[i].next);
		if (admission_admits_all(a) != workloads[i].admits_all)
			fail_msg("%s", workloads[i].label);
		admission_free(&a);
	}
}

/* What was right becomes wrong. */
static void choice_follows_the_requests(void **state)
{
	struct admission *a = make("auto");

	(void)state;
	for (int turn = 0; turn < 3; turn++) {
		run(a, 300000, hot_and_once);
		assert_false(admission_admits_all(a));
		run(a, 300000, three_times);
		assert_true(admission_admits_all(a));
	}
	admission_free(&a);
}

/* Room is used; and then a stranger waits in RAM, a key that was seen not. */
static void empty_room_is_filled(void **state)
{
	struct admission *a = make("auto");
	struct admission_item item = { 1, 1 };

	(void)state;
	for (uint64_t i = 0; i < 900; i++) {
		uint64_t number = i;

		item.hash = random_next(&number);
		admission_request(a, &item, false);
		assert_int_equal(admission_decide(a, &item), ADMISSION_DISK);
	}
	run(a, 300000, hot_and_once);
	item.hash = 77;
	assert_int_equal(admission_decide(a, &item), ADMISSION_RAM);
	assert_int_equal(admission_decide(a, &item), ADMISSION_DISK);
	admission_free(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(mini_is_a_list),
		cmocka_unit_test(mini_is_a_cache),
		cmocka_unit_test(choice_suits_the_requests),
		cmocka_unit_test(choice_follows_the_requests),
		cmocka_unit_test(empty_room_is_filled),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
