/*
 * Simulated nodes: with a policy of the test's own, which says what it is told
 * to, every count and every place follows from a twin with two arrays; without
 * one, a node is its cache.
 */
#include "cachesim/sim/node.h"

#include "cachesim/sim/sim_cache.h"
#include "codec/error.h"
#include "tests/codec/alloc.h"
#include "tests/codec/random.h"
#include "tests/unit.h"

enum { NOBJECTS = 500, STEPS = 60000, CAPACITY = 100, UNIT = 3 };

/* Says what the size's lowest bits say, so that a test can steer it. */
struct told {
	struct admission base;
	uint64_t decided, requested, hits, evicted;
};

static enum admission_decision told_decide(struct admission *a,
					   const struct admission_item *r)
{
	((struct told *)a)->decided++;
	return (enum admission_decision)(r->size % 3);
}

static void told_request(struct admission *a, const struct admission_item *r,
			 bool hit)
{
	struct told *t = (struct told *)a;

	assert_true(r->size > 0);
	t->requested++;
	t->hits += hit;
}

static void told_evicted(struct admission *a, uint64_t hash)
{
	assert_true(hash >= 1000 && hash < 1000 + NOBJECTS);
	((struct told *)a)->evicted++;
}

static const struct admission_policy told_policy = {
	.name = "told",
	.options = "",
	.size = sizeof(struct told),
	.ram = true,
	.decide = told_decide,
	.request = told_request,
	.evicted = told_evicted,
};

enum place { NOWHERE, RAM, DISK };

struct twin {
	enum place place[NOBJECTS];
	uint64_t ngone, objects;
};

static void gone(void *arg, uint32_t object)
{
	struct twin *t = arg;

	assert_int_not_equal(t->place[object], NOWHERE);
	t->place[object] = NOWHERE;
	t->ngone++;
	t->objects--;
}

static uint64_t hashes[NOBJECTS];

static struct sim_node_config config_of(struct twin *t)
{
	struct sim_node_config c = {
		.capacity = CAPACITY,
		.eviction = eviction_policy_find("lru"),
		.admission = &told_policy,
		.nobjects = NOBJECTS,
		.hash = hashes,
		.gone = t ? gone : NULL,
		.arg = t,
	};

	admission_defaults(&c.options);
	c.options.ram_share = .2;
	for (uint32_t i = 0; i < NOBJECTS; i++)
		hashes[i] = 1000 + i;
	return c;
}

static void step(struct sim_node *n, struct twin *t, uint64_t *seed)
{
	uint32_t object = (uint32_t)random_below(seed, NOBJECTS / 4);
	uint32_t size = 1 + (uint32_t)random_below(seed, 6);
	enum place before = t->place[object], after = before;
	enum admission_decision told = (enum admission_decision)(size % 3);

	assert_int_equal(sim_node_has(n, object), before != NOWHERE);
	if (random_below(seed, 20) == 0) {
		assert_int_equal(sim_node_drop(n, object), before != NOWHERE);
		t->objects -= before != NOWHERE;
		t->place[object] = NOWHERE;
		return;
	}
	assert_int_equal(sim_node_get(n, object, size), before != NOWHERE);
	if (before == RAM && told == ADMISSION_DISK)
		after = DISK;
	if (before == NOWHERE) {
		assert_int_equal(sim_node_put(n, object, size), told);
		after = told == ADMISSION_DISK ? DISK
			: told == ADMISSION_RAM ? RAM
						: NOWHERE;
		t->objects += after != NOWHERE;
	}
	t->place[object] = after;
}

static void node_follows_its_policy(void **state)
{
	static struct twin t;
	struct sim_node_config c = config_of(&t);
	struct sim_node_stats stats;
	const struct told *told;
	struct sim_node *n;
	uint64_t seed = 5;

	(void)state;
	assert_int_equal(sim_node_new(&n, &c), 0);
	for (int i = 0; i < STEPS; i++)
		step(n, &t, &seed);
	sim_node_stats(n, &stats);
	told = (const struct told *)sim_node_admission(n);
	assert_int_equal(stats.objects, t.objects);
	assert_true(stats.bytes <= CAPACITY);
	assert_int_equal(stats.requests, told->requested);
	assert_int_equal(stats.hits, told->hits);
	assert_int_equal(stats.requests - stats.hits + stats.ram_hits,
			 told->decided);
	assert_true(stats.ram_hits > 1000 && stats.ram_hits < stats.hits);
	assert_true(stats.writes > 1000);
	assert_true(stats.refused > 1000);
	assert_true(told->evicted > 1000 && told->evicted < t.ngone);
	sim_node_free(&n);
	assert_null(n);
}

/* Whether the policy of the test admits everything is the seed's last bit. */
static bool told_all(const struct admission *a)
{
	return a->config.seed % 2;
}

/* The tier's share is the disk's while the policy has no use for it. */
static void room_goes_to_and_fro(void **state)
{
	struct admission_policy policy = told_policy;
	static struct twin t;
	struct sim_node_config c = config_of(&t);
	struct sim_node_stats stats;
	struct admission *shared;
	struct sim_node *n;

	(void)state;
	policy.admits_all = told_all;
	assert_int_equal(admission_new(&shared, &policy, &c.options), 0);
	c.shared = shared;
	assert_int_equal(sim_node_new(&n, &c), 0);
	for (int turn = 0; turn < 6; turn++) {
		uint64_t most = turn % 2 ? 100 : 80;

		shared->config.seed = (uint64_t)turn;
		for (uint32_t i = 0; i < 2 * CAPACITY; i++) {
			t.objects += t.place[i] == NOWHERE;
			t.place[i] = DISK;
			sim_node_request(n, i, 2);
		}
		sim_node_stats(n, &stats);
		assert_int_equal(stats.bytes, most);
		assert_int_equal(stats.objects, t.objects);
	}
	/* what waited in RAM goes with it */
	shared->config.seed = 0;
	t.place[CAPACITY * 3] = RAM;
	t.objects++;
	sim_node_request(n, CAPACITY * 3, 1);
	assert_true(sim_node_has(n, CAPACITY * 3));
	shared->config.seed = 1;
	t.place[CAPACITY * 4] = DISK;
	t.objects++;
	sim_node_request(n, CAPACITY * 4, 2);
	assert_false(sim_node_has(n, CAPACITY * 3));
	assert_int_equal(t.place[CAPACITY * 3], NOWHERE);
	sim_node_free(&n);
	admission_free(&shared);
}

static void too_large_is_kept_nowhere(void **state)
{
	struct sim_node_config c = config_of(NULL);
	struct sim_node_stats stats;
	struct sim_node *n;

	(void)state;
	c.largest = 50;
	assert_int_equal(sim_node_new(&n, &c), 0);
	/* disk, but beyond the limit; RAM, but beyond the tier; disk */
	assert_int_equal(sim_node_put(n, 1, 53), ADMISSION_NO);
	assert_int_equal(sim_node_put(n, 2, 22), ADMISSION_NO);
	assert_int_equal(sim_node_put(n, 3, 50), ADMISSION_DISK);
	sim_node_stats(n, &stats);
	assert_int_equal(stats.refused, 2);
	assert_int_equal(stats.write_bytes, 50);
	sim_node_free(&n);
}

/* All eviction policies: without admission, and with "none", it is the cache
 * itself. */
static void none_is_the_cache(void **state)
{
	static const struct admission_policy *admission[2];

	(void)state;
	admission[1] = admission_find("none");
	for (size_t p = 0; eviction_policies[p]; p++) {
		for (size_t i = 0; i < NROWS(admission); i++) {
			struct sim_node_config c = config_of(NULL);
			struct sim_cache_config plain = {
				.policy = eviction_policies[p],
				.capacity = CAPACITY,
				.nobjects = NOBJECTS,
				.hash = hashes,
			};
			struct sim_node *n;
			struct sim_cache *cache;
			uint64_t seed = p;

			c.eviction = eviction_policies[p];
			c.admission = admission[i];
			assert_int_equal(sim_node_new(&n, &c), 0);
			assert_int_equal(sim_cache_new(&cache, &plain), 0);
			for (int j = 0; j < STEPS / 4; j++) {
				uint32_t object = (uint32_t)random_below(
					&seed, random_below(&seed, 200) + 1);
				uint32_t size = object % 7 + 1;
				bool hit = sim_cache_get(cache, object);

				if (!hit)
					sim_cache_put(cache, object, size);
				assert_int_equal(sim_node_request(n, object,
								  size), hit);
			}
			sim_node_free(&n);
			sim_cache_free(&cache);
		}
	}
}

/* Two nodes with one memory: what one is told, the other knows. */
static void nodes_share_a_policy(void **state)
{
	struct sim_node_config c = config_of(NULL);
	struct admission *shared;
	struct sim_node *a, *b;

	(void)state;
	assert_int_equal(admission_new(&shared, &told_policy, &c.options), 0);
	c.shared = shared;
	assert_int_equal(sim_node_new(&a, &c), 0);
	assert_int_equal(sim_node_new(&b, &c), 0);
	assert_ptr_equal(sim_node_admission(a), shared);
	sim_node_request(a, 1, 2);
	sim_node_request(b, 1, 2);
	assert_int_equal(((struct told *)shared)->decided, 2);
	sim_node_free(&a);
	sim_node_free(&b);
	admission_free(&shared);
}

static void no_memory_no_node(void **state)
{
	struct sim_node_config c = config_of(NULL);
	unsigned n = 0;

	(void)state;
	do {
		struct sim_node *node = NULL;
		int err;

		alloc_fail_at(++n);
		err = sim_node_new(&node, &c);
		assert_int_equal(err, alloc_failed() ? SCD_ENOMEM : 0);
		assert_int_equal(node != NULL, !alloc_failed());
		sim_node_free(&node);
	} while (alloc_failed());
	alloc_fail_at(0);
	assert_true(n > 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(node_follows_its_policy),
		cmocka_unit_test(room_goes_to_and_fro),
		cmocka_unit_test(too_large_is_kept_nowhere),
		cmocka_unit_test(none_is_the_cache),
		cmocka_unit_test(nodes_share_a_policy),
		cmocka_unit_test(no_memory_no_node),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
