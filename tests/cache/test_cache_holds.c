/*
 * Who only watches a cache does not change it: that a response is there may be
 * asked without its being taken for used.
 */
#include <string.h>

#include "digestd/cache/cache.h"
#include "digestd/http/freshness.h"
#include "tests/unit.h"

static const uint8_t secret[16] = "0123456789abcde";
static struct cache *cache;

enum { BODY_BYTES = 1000 };

static struct scd_key key_of(const char *uri)
{
	struct scd_key key;

	scd_key_make(secret, "GET", uri, strlen(uri), &key);
	return key;
}

static int set_up(void **state)
{
	const struct cache_settings settings = {
		.max_bytes = 2 * (BODY_BYTES + BODY_BYTES / 2), /* room for 2 */
		.max_variants = 4,
		.policy = "lru",
		.nbits = 1024,
		.nhash = 3,
		.bits_per_key = 32,
		.max_bits = 1 << 20,
		.hash_secret = secret,
	};

	(void)state;
	return cache_new(&settings, &cache);
}

static int tear_down(void **state)
{
	(void)state;
	cache_free(&cache);
	return 0;
}

static void put(const char *uri)
{
	const struct freshness freshness = { .lifetime_s = 60 };
	const struct cached_head head = { uri, &fields_none, &fields_none,
					  200, &freshness, false };
	const struct scd_key key = key_of(uri);
	const struct cache_fill fill = { &key, &fields_none,
					 cache_purges(cache), NULL };
	struct cached *c = cached_new(&head);

	assert_non_null(c);
	cached_set_body(c, NULL, BODY_BYTES);
	c->place = ADMISSION_DISK;
	assert_true(cache_put(cache, &fill, c));
	cached_unref(&c);
}

static bool holds(const char *uri)
{
	const struct scd_key key = key_of(uri);

	return cache_holds(cache, &key);
}

static void use(const char *uri)
{
	const struct scd_key key = key_of(uri);
	enum cachestatus_fwd why;
	struct cached *c = cache_get(cache, &key, &fields_none, &why);

	assert_non_null(c);
	cached_unref(&c);
}

static void test_asking_is_no_use(void **state)
{
	(void)state;
	put("http://a/1");
	put("http://a/2");
	assert_true(holds("http://a/1"));
	put("http://a/3");
	assert_false(holds("http://a/1"));
	assert_true(holds("http://a/2"));
	use("http://a/2");
	put("http://a/4");
	assert_true(holds("http://a/2"));
	assert_false(holds("http://a/3"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_asking_is_no_use, set_up,
						tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
