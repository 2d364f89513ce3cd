/*
 * Purges of what is on disk, by prefix.
 */
#include "digestd/cache/cache.h"
#include "tests/cache/small_cache.h"
#include "tests/disk/disk_folder.h"
#include "tests/unit.h"

enum { LARGE = 100000 }; /* bytes: is not read into memory */

static struct cache *cache;

static void open_cache(void)
{
	struct cache_settings settings = small_cache_settings();

	settings.max_bytes = 65536;
	settings.disk_path = disk_folder();
	settings.disk_bytes = 8 << 20;
	settings.disk_queue_bytes = 4 << 20;
	assert_int_equal(cache_new(&settings, &cache), 0);
}

static void put(unsigned n, bool of_peer)
{
	struct cached *c = disk_response(n, LARGE);
	const struct scd_key key = small_cache_key(cached_uri(c));
	const struct cache_fill fill = { &key, &fields_none, 0, NULL };

	c->from_peer = c->unvouched = of_peer;
	assert_true(cache_put(cache, &fill, c));
	cached_unref(&c);
}

static bool has(const char *uri)
{
	const struct scd_key key = small_cache_key(uri);

	return cache_has(cache, &key, &fields_none);
}

static size_t purge(const char *prefix)
{
	struct keypart part = { .count = cache_parts(cache) };
	struct purge_walk walk;

	small_cache_purge_prefix(cache, prefix, 0, &walk);
	for (; part.number < part.count; part.number++)
		cache_purge_part(cache, &walk, &part);
	cache_purge_end(cache, &walk);
	return walk.removed;
}

/* A prefix is purged on disk, too: what digests show, and what came from peers,
 * which they do not. */
static void all_of_a_prefix_goes(void **state)
{
	(void)state;
	open_cache();
	put(20, false);
	put(22, true);
	put(40, true);
	cache_free(&cache);
	open_cache();
	assert_true(has("http://h/20") && has("http://h/22"));
	assert_int_equal(purge("http://h/2"), 2);
	assert_false(has("http://h/20") || has("http://h/22"));
	assert_true(has("http://h/40"));
	cache_free(&cache);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_of_a_prefix_goes),
	};
	return cmocka_run_group_tests(tests, disk_folder_make,
				      disk_folder_remove);
}
