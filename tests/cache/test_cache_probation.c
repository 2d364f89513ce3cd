/*
 * What is on probation is promoted at its next use, if it is in the cache: a
 * response that was never put there, as one that a 304 forbids to store, may
 * be used as well. On its way from tier to tier it is never gone for the
 * catalog.
 */
#include "digestd/cache/admitter.h"
#include "digestd/cache/cache.h"
#include "digestd/mesh/catalog.h"
#include "tests/cache/small_cache.h"
#include "tests/unit.h"

static const char uri[] = "http://www.example.com/";
static struct admitter *admitter;
static struct cache *cache;
static struct scd_key key;

static int set_up(void **state)
{
	const struct admitter_settings admission = {
		.policy = "probation",
		.eviction = "sieve",
		.capacity = 1 << 20,
		.memory = 1 << 20,
		.mean_size = 1024,
		.window = 1000,
		.memory_share = 0.5,
	};
	struct cache_settings settings = small_cache_settings();

	(void)state;
	key = small_cache_key(uri);
	if (admitter_new(&admission, 0, &admitter))
		return -1;
	settings.admitter = admitter;
	return cache_new(&settings, &cache);
}

static int tear_down(void **state)
{
	(void)state;
	cache_free(&cache);
	admitter_free(&admitter);
	return 0;
}

int __real_store_insert(struct store *s, struct store_entry *e,
			const struct scd_key *key);
int __wrap_store_insert(struct store *s, struct store_entry *e,
			const struct scd_key *key);

static uint64_t keys_seen;

/* What is published while something comes into a store. */
int __wrap_store_insert(struct store *s, struct store_entry *e,
			const struct scd_key *of)
{
	struct catalog_stats now;

	catalog_stats(cache_lock(cache), &now);
	cache_unlock(cache);
	keys_seen = now.nkeys;
	return __real_store_insert(s, e, of);
}

/* A response that is to be on probation. */
static struct cached *on_probation(void)
{
	return small_cache_response(uri, 200, 0, ADMISSION_RAM);
}

/* The caller keeps its reference. */
static bool put(struct cached *c)
{
	cached_ref(c);
	return small_cache_put(cache, uri, c, cache_purges(cache));
}

/* What is stored under the key, and where; ADMISSION_NO: nothing. */
static enum admission_decision stored_place(void)
{
	enum admission_decision place = ADMISSION_NO;
	struct cached *c = small_cache_get(cache, uri);

	if (c)
		place = cached_place(c);
	cached_unref(&c);
	return place;
}

static void test_second_use_promotes(void **state)
{
	struct cached *c = on_probation();

	(void)state;
	cache_admit(cache, &key, 100, 0); /* the first use */
	assert_true(put(c));
	assert_int_equal(stored_place(), ADMISSION_RAM);
	cache_use(cache, &key, c, 0);
	assert_int_equal(stored_place(), ADMISSION_DISK);
	assert_int_equal(keys_seen, 1);
	cached_unref(&c);
}

/* The catalog has the key all the while, and not twice. */
static void test_another_takes_its_place(void **state)
{
	struct cached *c = on_probation(), *next = on_probation();
	struct catalog_stats now;

	(void)state;
	assert_true(put(c));
	assert_int_equal(keys_seen, 0);
	next->place = ADMISSION_DISK;
	assert_true(put(next));
	assert_int_equal(keys_seen, 1);
	catalog_stats(cache_lock(cache), &now);
	cache_unlock(cache);
	assert_int_equal(now.nkeys, 1);
	assert_int_equal(cache_drop(cache, &key, NULL, 0), 1);
	catalog_stats(cache_lock(cache), &now);
	cache_unlock(cache);
	assert_int_equal(now.nkeys, 0);
	cached_unref(&c);
	cached_unref(&next);
}

static void test_use_of_what_was_never_stored(void **state)
{
	struct cached *c = on_probation();

	(void)state;
	cache_admit(cache, &key, 100, 0);
	cache_use(cache, &key, c, 0);
	assert_int_equal(stored_place(), ADMISSION_NO);
	cached_unref(&c);
}

/* The same while another response is on probation under the key. */
static void test_use_beside_another(void **state)
{
	struct cached *stored = on_probation(), *other = on_probation();

	(void)state;
	cache_admit(cache, &key, 100, 0);
	assert_true(put(stored));
	cache_use(cache, &key, other, 0);
	assert_int_equal(stored_place(), ADMISSION_RAM);
	cached_unref(&stored);
	cached_unref(&other);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_second_use_promotes,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_another_takes_its_place,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			test_use_of_what_was_never_stored, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_use_beside_another,
						set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
