/*
 * Lookups without the cache's lock: what they find stays until the reader
 * rests, and is freed then; one thread finds and evicts exactly what it would
 * with counted lookups under the lock; threads that put, drop and look up at
 * random find nothing wrong; and the catalog has heard of all keys that came
 * and went, in their order.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "digestd/cache/admitter.h"
#include "digestd/cache/cache.h"
#include "digestd/mesh/catalog.h"
#include "digestd/os/memory.h"
#include "tests/codec/random.h"
#include "tests/rounds.h"
#include "tests/unit.h"

enum {
	BODY_BYTES = 1000,
	ROOM_BYTES = 200 * 1200, /* for so many objects */
	NKEYS = 1000,
	STEPS = 40000,
	NTHREADS = 3,
	THREAD_STEPS = 20000,
	TURN = 16,
};

static const uint8_t secret[16] = { 1 };

static struct scd_key key_of(uint64_t n)
{
	return (struct scd_key){ scd__mix64(n), scd__mix64(~n) };
}

/* Its body begins with the number of its key. */
static struct cached *new_response(uint64_t n, enum admission_decision place)
{
	static const struct freshness fresh = { .explicit = true };
	const struct cached_head head = { "http://www.example.com/",
					  &fields_none, &fields_none, 200,
					  &fresh, false };
	struct cached *c = cached_new(&head);
	char *body = calloc(1, BODY_BYTES);

	assert_non_null(c);
	assert_non_null(body);
	memcpy(body, &n, sizeof(n));
	cached_set_body(c, body, BODY_BYTES);
	c->place = (uint8_t)place;
	return c;
}

/* Without a reader, or by one. */
static void put_by(struct cache *cache, struct cache_reader *reader,
		   uint64_t n, enum admission_decision place)
{
	struct scd_key key = key_of(n);
	const struct cache_fill fill = { &key, &fields_none,
					 cache_purges(cache), NULL };
	struct cached *c = new_response(n, place);

	if (reader)
		cache_store(reader, &fill, c);
	else
		cache_put(cache, &fill, c);
	cached_unref(&c);
}

static void put_at(struct cache *cache, uint64_t n,
		   enum admission_decision place)
{
	put_by(cache, NULL, n, place);
}

static struct cache *new_cache_in(unsigned shards, const char *policy,
				  struct admitter *admitter)
{
	const struct cache_settings settings = {
		.max_bytes = ROOM_BYTES, .max_variants = 4, .policy = policy,
		.nbits = 1 << 16, .nhash = 3, .bits_per_key = 32,
		.max_bits = 1 << 16, .hash_secret = secret,
		.admitter = admitter, .shards = shards,
	};
	struct cache *cache;

	assert_int_equal(cache_new(&settings, &cache), 0);
	return cache;
}

static struct cache *new_cache(const char *policy, struct admitter *admitter)
{
	return new_cache_in(1, policy, admitter);
}

static struct cache_reader *join(struct cache *cache)
{
	struct cache_reader *reader;

	assert_int_equal(cache_join(cache, &reader), 0);
	return reader;
}

/* The number of the key whose object is found; 0: none. */
static uint64_t look_up(struct cache_reader *reader, uint64_t n)
{
	struct scd_key key = key_of(n);
	struct cache_found found;
	uint64_t is = 0;

	cache_lookup(reader, &key, &fields_none, &found);
	if (found.c)
		memcpy(&is, cached_body(found.c), sizeof(is));
	else
		assert_int_equal(found.why, CACHESTATUS_URI_MISS);
	if (found.counted)
		cached_unref(&found.c);
	return is;
}

static uint64_t held_bytes(void)
{
	memory_batch(false);
	return ledger_used(&memory_ledger, LEDGER_objects);
}

static void what_was_found_stays_until_all_rest(void **state)
{
	struct cache *cache = new_cache("sieve", NULL);
	struct cache_reader *finder = join(cache), *other = join(cache);
	struct scd_key key = key_of(1);
	struct cache_found found;
	uint64_t held, body;

	(void)state;
	put_at(cache, 1, ADMISSION_DISK);
	held = held_bytes();
	cache_lookup(finder, &key, &fields_none, &found);
	assert_non_null(found.c);
	assert_false(found.counted);
	assert_int_equal(found.c->refs, 1);
	assert_int_equal(cache_drop(cache, &key, NULL, 0), 1);
	assert_int_equal(look_up(other, 1), 0);
	cache_rest(other);
	memcpy(&body, cached_body(found.c), sizeof(body));
	assert_int_equal(body, 1);
	assert_int_equal(held_bytes(), held);
	cache_wake(other); /* since then it cannot have found it */
	cache_rest(finder);
	cache_rest(other);
	assert_in_range(held_bytes(), 0, held - BODY_BYTES);
	cache_quit(&finder);
	cache_quit(&other);
	cache_free(&cache);
}

/* What somebody else has removed, while nobody looks anything up. */
static void what_has_left_is_freed_by_anybody(void **state)
{
	struct cache *cache = new_cache("sieve", NULL);
	struct cache_reader *reader = join(cache);
	struct scd_key key = key_of(1);
	uint64_t held;

	(void)state;
	put_at(cache, 1, ADMISSION_DISK);
	held = held_bytes();
	assert_int_equal(cache_drop(cache, &key, NULL, 0), 1);
	cache_collect(cache); /* the reader may have found it */
	assert_int_equal(held_bytes(), held);
	cache_rest(reader);
	assert_in_range(held_bytes(), 0, held - BODY_BYTES);
	put_at(cache, 1, ADMISSION_DISK);
	assert_int_equal(cache_drop(cache, &key, NULL, 0), 1);
	cache_collect(cache); /* it sleeps */
	assert_in_range(held_bytes(), 0, held - BODY_BYTES);
	cache_quit(&reader);
	cache_free(&cache);
}

static void one_that_sleeps_holds_nothing_up(void **state)
{
	struct cache *cache = new_cache("sieve", NULL);
	struct cache_reader *reader = join(cache), *asleep = join(cache);
	uint64_t held;

	(void)state;
	cache_rest(asleep);
	put_at(cache, 1, ADMISSION_DISK);
	held = held_bytes();
	for (unsigned i = 0; i < 4; i++) {
		struct scd_key key = key_of(1);

		cache_drop(cache, &key, NULL, 0);
		cache_rest(reader);
		assert_in_range(held_bytes(), 0, held - BODY_BYTES);
		cache_wake(reader);
		put_at(cache, 1, ADMISSION_DISK);
	}
	cache_quit(&reader);
	cache_quit(&asleep);
	cache_free(&cache);
}

/* The catalog */

static void check_catalog(struct cache *cache)
{
	struct catalog_stats catalog;
	struct store_stats store;

	cache_stats(cache, &store, &catalog);
	assert_int_equal(catalog.nkeys, store.keys);
}

static void count_notes(void *arg)
{
	++*(int *)arg;
}

/* Of two workers: when one rests, when somebody looks, and when more keys have
 * come and gone than can be written down. */
static void the_catalog_hears_of_all_keys(void **state)
{
	struct cache *cache = new_cache("sieve", NULL);
	struct cache_reader *reader = join(cache), *other = join(cache);
	int notes = 0;

	(void)state;
	catalog_notify(cache_lock(cache), 1, count_notes, &notes);
	cache_unlock(cache);
	put_at(cache, 1, ADMISSION_DISK);
	assert_int_equal(notes, 0);
	cache_rest(reader);
	assert_int_equal(notes, 1);
	cache_wake(reader);
	put_at(cache, 2, ADMISSION_DISK);
	check_catalog(cache);
	for (uint64_t n = 3; n < 3000; n++) {
		struct scd_key key = key_of(n);

		put_at(cache, n, ADMISSION_DISK);
		if (n % 3 == 0)
			assert_int_equal(cache_drop(cache, &key, NULL, 0), 1);
	}
	check_catalog(cache);
	cache_quit(&reader);
	cache_quit(&other);
	cache_free(&cache);
}

/* One thread, two caches */

struct row {
	const char *label, *policy;
	bool probation;
	unsigned shards;
};

static const struct row rows[] = {
	{ "marks", "sieve", false, 1 },
	{ "order", "lru", false, 1 },
	{ "marks, in shards", "sieve", false, 8 },
	{ "order, in shards", "lru", false, 8 },
	{ "history, in shards", "s3fifo", false, 8 },
	{ "marks, and those on probation", "sieve", true, 1 },
	{ "order, and those on probation", "lru", true, 1 },
};

static uint64_t get(struct cache *cache, uint64_t n)
{
	struct scd_key key = key_of(n);
	enum cachestatus_fwd why;
	struct cached *c = cache_get(cache, &key, &fields_none, &why);
	uint64_t is = 0;

	if (c)
		memcpy(&is, cached_body(c), sizeof(is));
	cached_unref(&c);
	return is;
}

static struct admitter *new_admitter(bool probation)
{
	const struct admitter_settings settings = {
		.policy = "probation", .eviction = "sieve",
		.capacity = ROOM_BYTES, .memory = ROOM_BYTES,
		.mean_size = 1200, .window = 100, .memory_share = .25,
	};
	struct admitter *a = NULL;

	if (probation)
		assert_int_equal(admitter_new(&settings, 0, &a), 0);
	return a;
}

/* As a request would: a miss is put where it is worth it, a drop now and then;
 * few keys often, so that uses matter. */
static void does_what_counted_lookups_do(void **state)
{
	const unsigned steps = (unsigned)rounds_of(STEPS, STEPS);

	(void)state;
	for (size_t i = 0; i < NROWS(rows); i++) {
		struct admitter *a = new_admitter(rows[i].probation);
		struct cache *counted = new_cache(rows[i].policy, a);
		struct cache *lent = new_cache_in(rows[i].shards,
						  rows[i].policy, a);
		struct cache_reader *reader = join(lent);
		uint64_t random = 1, hits = 0;

		for (unsigned step = 0; step < steps; step++) {
			uint64_t n = 1 + random_below(&random, NKEYS) *
					 random_below(&random, NKEYS) / NKEYS;
			enum admission_decision place =
				a && random_below(&random, 2) ? ADMISSION_RAM :
								ADMISSION_DISK;
			struct scd_key key = key_of(n);
			uint64_t is = get(counted, n);

			if (look_up(reader, n) != is)
				fail_msg("%s: step %u", rows[i].label, step);
			hits += is == n;
			if (is)
				continue;
			put_at(counted, n, place);
			put_at(lent, n, place);
			if (step % 50 == 0)
				assert_int_equal(
					cache_drop(counted, &key, NULL, 0),
					cache_drop(lent, &key, NULL, 0));
			if (step % TURN)
				continue;
			cache_rest(reader);
			cache_wake(reader);
		}
		assert_in_range(hits, steps / 10, steps - steps / 10);
		cache_quit(&reader);
		cache_free(&counted);
		cache_free(&lent);
		admitter_free(&a);
	}
}

/* Threads */

struct thread {
	struct cache *cache;
	uint64_t random, hits;
	bool wrong;
};

static void thread_step(struct thread *t, struct cache_reader *reader)
{
	uint64_t n = 1 + random_below(&t->random, NKEYS / 2), is;
	struct scd_key key = key_of(n);

	switch (random_below(&t->random, 8)) {
	case 0:
		put_by(t->cache, random_below(&t->random, 8) ? reader : NULL, n,
		       random_below(&t->random, 2) ? ADMISSION_RAM :
						     ADMISSION_DISK);
		break;
	case 1:
		if (random_below(&t->random, 8) == 0)
			cache_drop(t->cache, &key, NULL, 0);
		break;
	default:
		is = look_up(reader, n);
		t->wrong |= is && is != n;
		t->hits += is == n;
	}
}

static void *run_thread(void *arg)
{
	struct thread *t = arg;
	const unsigned steps = (unsigned)rounds_of(THREAD_STEPS, THREAD_STEPS);
	struct cache_reader *reader = join(t->cache);

	for (unsigned i = 0; i < steps; i++) {
		thread_step(t, reader);
		if (i % TURN)
			continue;
		cache_rest(reader);
		cache_wake(reader);
	}
	cache_quit(&reader);
	return NULL;
}

static void threads_find_what_they_ask_for(void **state)
{
	uint64_t held = held_bytes();

	(void)state;
	for (size_t i = 0; i < NROWS(rows); i++) {
		struct admitter *a = new_admitter(rows[i].probation);
		struct cache *cache = new_cache_in(rows[i].shards,
						   rows[i].policy, a);
		struct thread threads[NTHREADS];
		pthread_t ids[NTHREADS];

		for (unsigned j = 0; j < NTHREADS; j++) {
			threads[j] = (struct thread){ .cache = cache,
						      .random = j };
			assert_int_equal(pthread_create(&ids[j], NULL,
							run_thread,
							&threads[j]), 0);
		}
		for (unsigned j = 0; j < NTHREADS; j++) {
			assert_int_equal(pthread_join(ids[j], NULL), 0);
			assert_false(threads[j].wrong);
			assert_true(threads[j].hits > 0);
		}
		check_catalog(cache);
		cache_free(&cache);
		admitter_free(&a);
	}
	assert_int_equal(held_bytes(), held);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_was_found_stays_until_all_rest),
		cmocka_unit_test(one_that_sleeps_holds_nothing_up),
		cmocka_unit_test(what_has_left_is_freed_by_anybody),
		cmocka_unit_test(the_catalog_hears_of_all_keys),
		cmocka_unit_test(does_what_counted_lookups_do),
		cmocka_unit_test(threads_find_what_they_ask_for),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
