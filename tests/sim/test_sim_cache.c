/*
 * Simulated caches against the dumbest twin: an array that says what is in,
 * told of evictions by the cache. Which objects are evicted, the tests of the
 * policies say; here: that counts, contents and memory are right, for both
 * kinds of map, and that a failed allocation changes nothing.
 */
#include "cachesim/sim/sim_cache.h"

#include <stdlib.h>

#include "cachesim/sim/map.h"
#include "codec/error.h"
#include "tests/codec/alloc.h"
#include "tests/codec/random.h"
#include "tests/unit.h"

enum { NOBJECTS = 3000, STEPS = 100000 };

struct twin {
	uint32_t size[NOBJECTS]; /* 0: not in */
	struct sim_cache_stats stats;
	uint64_t capacity;
};

static void evicted(void *arg, uint32_t object)
{
	struct twin *t = arg;

	assert_true(t->size[object] > 0);
	t->stats.evicted++;
	t->stats.evicted_bytes += t->size[object];
	t->stats.bytes -= t->size[object];
	t->stats.objects--;
	t->size[object] = 0;
}

static void drop(struct sim_cache *c, struct twin *t, uint32_t object)
{
	assert_int_equal(sim_cache_drop(c, object), t->size[object] > 0);
	if (!t->size[object])
		return;
	t->stats.objects--;
	t->stats.bytes -= t->size[object];
	t->size[object] = 0;
}

static void put(struct sim_cache *c, struct twin *t, uint32_t object,
		uint32_t size)
{
	if (t->size[object]) {
		t->stats.objects--;
		t->stats.bytes -= t->size[object];
		t->size[object] = 0;
	}
	if (size > t->capacity) {
		assert_int_equal(sim_cache_put(c, object, size), SCD_ELIMIT);
		return;
	}
	assert_int_equal(sim_cache_put(c, object, size), 0);
	t->size[object] = size;
	t->stats.objects++;
	t->stats.bytes += size;
	t->stats.puts++;
	t->stats.put_bytes += size;
	assert_true(t->stats.bytes <= t->capacity);
}

static void compare(const struct sim_cache *c, const struct twin *t)
{
	struct sim_cache_stats stats;

	sim_cache_stats(c, &stats);
	assert_memory_equal(&stats, &t->stats, sizeof(stats));
	for (uint32_t i = 0; i < NOBJECTS; i++)
		assert_int_equal(sim_cache_has(c, i), t->size[i] > 0);
}

static void step(struct sim_cache *c, struct twin *t, uint64_t *random)
{
	uint32_t object = (uint32_t)random_below(random, NOBJECTS);
	uint32_t size = 1 + (uint32_t)random_below(random, 100);

	object = (uint32_t)random_below(random, object + 1);
	sim_cache_prefetch(c, object);
	sim_cache_prefetch_slot(c, object);
	switch (random_below(random, 20)) {
	case 0:
		drop(c, t, object);
		break;
	case 1: /* replaces one that is in, maybe by one too large */
		put(c, t, object, size * 60);
		break;
	default:
		assert_int_equal(sim_cache_get(c, object), t->size[object] > 0);
		if (!t->size[object])
			put(c, t, object, size);
	}
}

static void replay(const struct eviction_policy *policy, bool hashed)
{
	struct twin *t = calloc(1, sizeof(*t));
	struct sim_cache_config config = {
		.policy = policy,
		.capacity = 5000,
		.nobjects = NOBJECTS,
		.hashed = hashed,
		.evicted = evicted,
		.arg = t,
	};
	struct sim_cache *c;
	uint64_t random = 7;

	assert_non_null(t);
	t->capacity = config.capacity;
	assert_int_equal(sim_cache_new(&c, &config), 0);
	for (int i = 0; i < STEPS; i++) {
		step(c, t, &random);
		if (i % 1000 == 0)
			compare(c, t);
	}
	assert_true(t->stats.evicted > 1000);
	sim_cache_free(&c);
	assert_null(c);
	sim_cache_free(&c);
	free(t);
}

static void test_twin(void **state)
{
	(void)state;
	for (size_t i = 0; eviction_policies[i]; i++) {
		replay(eviction_policies[i], false);
		replay(eviction_policies[i], true);
	}
}

/* Object hashes and the kind of map do not matter to the hits of LRU. */
static uint64_t hits(const struct sim_cache_config *config)
{
	struct sim_cache *c;
	uint64_t random = 3, n = 0;

	assert_int_equal(sim_cache_new(&c, config), 0);
	for (int i = 0; i < STEPS; i++) {
		uint32_t object = (uint32_t)random_below(&random, NOBJECTS);

		if (sim_cache_get(c, object))
			n++;
		else
			assert_int_equal(sim_cache_put(c, object, 1), 0);
	}
	sim_cache_free(&c);
	return n;
}

static void test_maps_agree(void **state)
{
	struct sim_cache_config config = {
		.policy = eviction_policy_find("lru"),
		.capacity = 1000,
		.nobjects = NOBJECTS,
	};
	uint64_t plain = hits(&config);

	(void)state;
	assert_true(plain > STEPS / 4 && plain < STEPS / 2);
	config.hashed = true;
	assert_int_equal(hits(&config), plain);
}

/* Every allocation fails once: the object is not in, everything else is as it
 * was, and the next attempt succeeds. */
static void fail_each(bool hashed)
{
	struct sim_cache_config config = {
		.policy = eviction_policy_find("sieve"),
		.capacity = NOBJECTS,
		.nobjects = NOBJECTS,
		.hashed = hashed,
	};
	struct sim_cache *c = NULL;
	unsigned n = 0, failures = 0;

	do {
		alloc_fail_at(++n);
	} while (sim_cache_new(&c, &config) == SCD_ENOMEM);
	assert_true(n > 3);
	for (uint32_t i = 0; i < NOBJECTS; i++) {
		alloc_fail_at(i % 5 + 1);
		if (sim_cache_put(c, i, 1) == 0)
			continue;
		failures++;
		assert_false(sim_cache_has(c, i));
		alloc_fail_at(0);
		assert_int_equal(sim_cache_put(c, i, 1), 0);
	}
	alloc_fail_at(0);
	assert_true(failures > 3);
	for (uint32_t i = 0; i < NOBJECTS; i++)
		assert_true(sim_cache_get(c, i));
	sim_cache_free(&c);
}

static void test_allocation(void **state)
{
	(void)state;
	fail_each(false);
	fail_each(true);
}

/* What a full cache says of its memory is no more than was promised; the map
 * of all objects is counted by the object. */
static void test_memory(void **state)
{
	enum { HELD = 20000, OBJECTS = 50000, CACHED_BYTES = 32 };

	(void)state;
	for (size_t i = 0; eviction_policies[i]; i++) {
		struct sim_cache_config config = {
			.policy = eviction_policies[i],
			.capacity = HELD,
			.nobjects = OBJECTS,
		};
		struct sim_cache *c;

		assert_int_equal(sim_cache_new(&c, &config), 0);
		for (uint32_t object = 0; object < OBJECTS; object++)
			assert_int_equal(sim_cache_put(c, object, 1), 0);
		assert_true(sim_cache_memory(c) <=
			    HELD * CACHED_BYTES + OBJECTS * 12);
		sim_cache_free(&c);
	}
}

/* The table of a hashed cache: objects whose places collide come and go. */
static void test_map(void **state)
{
	enum { NSLOTS = 64 };
	struct sim_held held[NSLOTS];
	bool in[NSLOTS] = { false };
	struct sim_map m;
	uint64_t random = 5;

	(void)state;
	assert_int_equal(sim_map_init(&m, 0, true), 0);
	assert_int_equal(sim_map_reserve(&m, NSLOTS, held), 0);
	for (int i = 0; i < STEPS; i++) {
		uint32_t slot = (uint32_t)random_below(&random, NSLOTS);

		if (in[slot])
			sim_map_remove(&m, held[slot].object, slot);
		else
			held[slot].object = slot + NSLOTS * (uint32_t)
				       random_below(&random, 1 << 20);
		if (!in[slot])
			sim_map_add(&m, held[slot].object, slot);
		in[slot] = !in[slot];
		slot = (uint32_t)random_below(&random, NSLOTS);
		if (in[slot])
			assert_int_equal(
				sim_map_find(&m, held[slot].object, held),
				slot);
		assert_int_equal(sim_map_find(&m, UINT32_MAX - 1, held),
				 EVICTION_NONE);
	}
	sim_map_free(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_twin),
		cmocka_unit_test(test_maps_agree),
		cmocka_unit_test(test_allocation),
		cmocka_unit_test(test_memory),
		cmocka_unit_test(test_map),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
