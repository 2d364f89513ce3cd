/*
 * A cache in shards: insertions of several workers are told to one policy in
 * batches, so whatever they are, capacity, catalog and ledger are right again
 * when all have rested, and nothing is lost beside one shard.
 */
#include <stdlib.h>
#include <string.h>

#include "digestd/cache/cache.h"
#include "digestd/mesh/catalog.h"
#include "digestd/mesh/invalidation_log.h"
#include "digestd/os/memory.h"
#include "tests/codec/random.h"
#include "tests/unit.h"

enum {
	BODY_BYTES = 1000,
	OBJECT_BYTES = 1200, /* with its head, at least */
	OBJECTS = 100,	     /* that fit, at least */
	SHARDS = 16,
	TURN = 16,
	NKEYS = 2000,
	REQUESTS = 40000,
};

static const uint8_t secret[16] = { 1 };

/* Two workers, whose turns alternate. */
struct shards_model {
	struct cache *cache;
	struct cache_reader *workers[2];
	uint64_t held; /* in the ledger, before all */
};

static uint64_t held_bytes(void)
{
	memory_batch(false);
	return ledger_used(&memory_ledger, LEDGER_objects);
}

static struct shards_model model_new(const char *policy, unsigned shards)
{
	const struct cache_settings settings = {
		.max_bytes = OBJECTS * OBJECT_BYTES, .max_variants = 4,
		.policy = policy, .shards = shards, .nbits = 1 << 14,
		.nhash = 3, .bits_per_key = 32, .max_bits = 1 << 20,
		.hash_secret = secret,
	};
	struct shards_model m = { .held = held_bytes() };

	assert_int_equal(cache_new(&settings, &m.cache), 0);
	for (int i = 0; i < 2; i++)
		assert_int_equal(cache_join(m.cache, &m.workers[i]), 0);
	return m;
}

static void model_free(struct shards_model *m)
{
	for (int i = 0; i < 2; i++)
		cache_quit(&m->workers[i]);
	cache_free(&m->cache);
	assert_int_equal(held_bytes(), m->held);
}

static struct scd_key key_of(uint64_t n)
{
	return (struct scd_key){ scd__mix64(n), scd__mix64(~n) };
}

static struct cached *new_response(size_t body_len)
{
	static const struct freshness fresh = { .explicit = true };
	const struct cached_head head = { "http://www.example.com/",
					  &fields_none, &fields_none, 200,
					  &fresh, false };
	struct cached *c = cached_new(&head);
	char *body = calloc(1, body_len);

	assert_non_null(c);
	assert_non_null(body);
	cached_set_body(c, body, body_len);
	c->place = ADMISSION_DISK;
	return c;
}

static bool store_sized(struct shards_model *m, int worker, uint64_t n,
			size_t body_len)
{
	struct scd_key key = key_of(n);
	const struct cache_fill fill = { .key = &key, .request = &fields_none,
					 .asked = cache_purges(m->cache) };
	struct cached *c = new_response(body_len);
	bool stored = cache_store(m->workers[worker], &fill, c);

	cached_unref(&c);
	return stored;
}

static void store(struct shards_model *m, int worker, uint64_t n)
{
	assert_true(store_sized(m, worker, n, BODY_BYTES));
}

static bool look_up(struct shards_model *m, int worker, uint64_t n)
{
	struct scd_key key = key_of(n);
	struct cache_found found;

	cache_lookup(m->workers[worker], &key, &fields_none, &found);
	if (found.counted)
		cached_unref(&found.c);
	return found.c;
}

static void end_turn(struct shards_model *m, int worker)
{
	cache_rest(m->workers[worker]);
	cache_wake(m->workers[worker]);
}

/* Twice: what one has released, the other may have to let go of. */
static void end_turns(struct shards_model *m)
{
	for (int i = 0; i < 4; i++)
		end_turn(m, i % 2);
}

/* Returns what is stored. */
static struct store_stats check(struct shards_model *m)
{
	struct catalog_stats catalog;
	struct store_stats now;

	end_turns(m);
	cache_stats(m->cache, &now, &catalog);
	assert_int_equal(catalog.nkeys, now.keys);
	assert_in_range(now.weight, 0, now.max_weight);
	assert_in_range(now.weight, now.entries * BODY_BYTES, UINT64_MAX);
	return now;
}

static void room_is_made_when_a_turn_ends(void **state)
{
	struct shards_model m = model_new("sieve", SHARDS);
	struct store_stats now;

	(void)state;
	for (uint64_t n = 1; n <= 10 * OBJECTS; n++) {
		store(&m, n % 2, n);
		assert_true(look_up(&m, 0, n));
		assert_true(look_up(&m, 1, n));
		if (n % TURN == 0)
			end_turn(&m, n / TURN % 2);
	}
	now = check(&m);
	assert_in_range(now.entries, OBJECTS / 2, 2 * OBJECTS);
	assert_int_equal(now.evicted + now.entries, 10 * OBJECTS);
	model_free(&m);
}

static void one_of_the_size_of_all_takes_all(void **state)
{
	struct shards_model m = model_new("sieve", SHARDS);
	size_t most = OBJECTS * OBJECT_BYTES - OBJECT_BYTES;
	struct store_stats now;

	(void)state;
	for (uint64_t n = 1; n <= 5 * OBJECTS; n++)
		store(&m, 0, n);
	assert_false(store_sized(&m, 0, 1000, OBJECTS * OBJECT_BYTES));
	assert_false(look_up(&m, 1, 1000));
	assert_true(store_sized(&m, 1, 1001, most));
	now = check(&m);
	assert_true(look_up(&m, 0, 1001));
	assert_in_range(now.entries, 1, 5);
	model_free(&m);
}

/* Before the policy has heard of them. */
static void what_is_coming_can_go(void **state)
{
	struct shards_model m = model_new("sieve", SHARDS);
	struct scd_key key = key_of(1);
	uint64_t held;

	(void)state;
	store(&m, 0, 1);
	assert_int_equal(cache_drop(m.cache, &key, NULL, 0), 1);
	assert_false(look_up(&m, 1, 1));
	assert_int_equal(check(&m).entries, 0);
	assert_int_equal(held_bytes(), m.held);
	store(&m, 0, 1);
	store(&m, 1, 1); /* in its place */
	store(&m, 1, 2);
	store(&m, 1, 2);
	assert_int_equal(check(&m).entries, 2);
	held = held_bytes() - m.held;
	assert_in_range(held, 2 * BODY_BYTES, 2 * OBJECT_BYTES);
	model_free(&m);
}

static void what_is_coming_may_not_fit_any_more(void **state)
{
	struct shards_model m = model_new("sieve", SHARDS);

	(void)state;
	for (uint64_t n = 1; n <= OBJECTS; n++)
		store(&m, 0, n);
	end_turns(&m);
	for (uint64_t n = 1; n <= TURN; n++)
		store(&m, 0, OBJECTS + n);
	assert_true(store_sized(&m, 1, 1000, 20 * BODY_BYTES));
	cache_limit(m.cache, 10 * OBJECT_BYTES, 0, 4);
	assert_int_equal(check(&m).max_weight, 10 * OBJECT_BYTES);
	assert_false(look_up(&m, 0, 1000));
	cache_limit(m.cache, 0, 0, 4);
	assert_int_equal(check(&m).entries, 0);
	model_free(&m);
}

/* Walks go through all shards, in parts. */
static void walks_see_all(void **state)
{
	struct shards_model m = model_new("sieve", SHARDS);
	struct keypart part = { .count = cache_parts(m.cache) };
	const struct invalidation_entry entry = {
		.of = invalidation_of_prefix(secret, "http://www.example.com/")
	};
	const struct cache_purge purge = { .entries = &entry, .n = 1 };
	struct purge_walk walk;

	(void)state;
	for (uint64_t key = 1; key <= OBJECTS / 2; key++)
		store(&m, 0, key);
	assert_int_equal(part.count, SHARDS);
	assert_int_equal(cache_rebuild(m.cache, 1 << 15), 0);
	while (!cache_rebuild_part(m.cache))
		store(&m, 0, OBJECTS);
	assert_int_equal(check(&m).entries, OBJECTS / 2 + 1);
	cache_purge_begin(m.cache, &purge, &walk);
	assert_true(walk.walks);
	for (; part.number < part.count; part.number++)
		cache_purge_part(m.cache, &walk, &part);
	cache_purge_end(m.cache, &walk);
	assert_int_equal(walk.removed, OBJECTS / 2 + 1);
	assert_int_equal(check(&m).entries, 0);
	model_free(&m);
}

/* Few are asked for often, by both workers. */
static unsigned count_hits(const char *policy, unsigned shards)
{
	struct shards_model m = model_new(policy, shards);
	uint64_t random = 1;
	unsigned hits = 0;

	for (unsigned i = 0; i < REQUESTS; i++) {
		uint64_t n = random_below(&random, NKEYS) *
			     random_below(&random, NKEYS) / NKEYS *
			     random_below(&random, NKEYS) / NKEYS;
		int worker = i / TURN % 2;

		if (look_up(&m, worker, n))
			hits++;
		else
			store(&m, worker, n);
		if (i % TURN == TURN - 1)
			end_turn(&m, worker);
	}
	check(&m);
	model_free(&m);
	return hits;
}

static void no_hits_are_lost(void **state)
{
	static const char *const policies[] = { "sieve", "lru", "s3fifo" };

	(void)state;
	for (size_t i = 0; i < NROWS(policies); i++) {
		unsigned one = count_hits(policies[i], 1);
		unsigned many = count_hits(policies[i], SHARDS);

		assert_in_range(one, REQUESTS / 10, REQUESTS - REQUESTS / 10);
		if (many < one - one / 100)
			fail_msg("%s: %u hits, %u in one shard", policies[i],
				 many, one);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(room_is_made_when_a_turn_ends),
		cmocka_unit_test(one_of_the_size_of_all_takes_all),
		cmocka_unit_test(what_is_coming_can_go),
		cmocka_unit_test(what_is_coming_may_not_fit_any_more),
		cmocka_unit_test(walks_see_all),
		cmocka_unit_test(no_hits_are_lost),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
