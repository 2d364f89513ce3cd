/*
 * Who only watches a cache does not change it: that a response is there may be
 * asked without its being taken for used.
 */
#include "digestd/cache/cache.h"
#include "digestd/disk/cached.h"
#include "digestd/store/keypart.h"
#include "tests/cache/small_cache.h"
#include "tests/unit.h"

static struct cache *cache;

enum { BODY_BYTES = 1000 };

static int set_up(void **state)
{
	struct cache_settings settings = small_cache_settings();

	(void)state;
	settings.max_bytes = 2 * (BODY_BYTES + BODY_BYTES / 2); /* room for 2 */
	settings.policy = "lru";
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
	struct cached *c = small_cache_response(uri, 200, BODY_BYTES,
						ADMISSION_DISK);

	assert_true(small_cache_put(cache, uri, c, cache_purges(cache)));
}

static bool holds(const char *uri)
{
	const struct scd_key key = small_cache_key(uri);

	return cache_holds(cache, &key);
}

static void use(const char *uri)
{
	struct cached *c = small_cache_get(cache, uri);

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

/* What is told of a key to who explains it, which uses nothing. */
static void test_a_look(void **state)
{
	const struct scd_key there = small_cache_key("http://a/1");
	const struct scd_key gone = small_cache_key("http://a/9");
	struct cache_held held;

	(void)state;
	put("http://a/1");
	put("http://a/2");
	cache_look(cache, &there, &held);
	assert_int_equal(held.in_memory, 1);
	assert_int_equal(held.on_disk, 0);
	assert_int_equal(held.n, 1);
	assert_string_equal(cached_uri(held.variants[0]), "http://a/1");
	cached_unref(&held.variants[0]);
	cache_look(cache, &gone, &held);
	assert_int_equal(held.in_memory + held.on_disk + held.n, 0);
	put("http://a/3");
	cache_look(cache, &there, &held);
	assert_int_equal(held.n, 0);
}

/* What a walk over parts of all keys has called with. */
struct visited {
	unsigned n[4]; /* of http://a/0 to 3 */
};

static void visit(void *arg, const char *uri)
{
	struct visited *v = arg;

	assert_true(uri[9] >= '0' && uri[9] <= '3');
	v->n[uri[9] - '0']++;
}

static struct visited visit_fresh(uint64_t nparts, int64_t now_s)
{
	struct visited v = { { 0 } };

	for (uint64_t i = 0; i < nparts; i++) {
		const struct keypart part = { i, nparts };

		cache_each_fresh(cache, &part, now_s, visit, &v);
	}
	return v;
}

/* Each of those that are fresh comes once, whatever the parts. */
static void test_fresh_ones_are_visited(void **state)
{
	int64_t born_s;
	struct cached *c;

	(void)state;
	put("http://a/1");
	put("http://a/2");
	c = small_cache_get(cache, "http://a/1");
	born_s = freshness_spans(&c->freshness).born_s;
	cached_unref(&c);
	for (uint64_t nparts = 1; nparts <= 64; nparts *= 4) {
		const struct visited v = visit_fresh(nparts, born_s);

		assert_int_equal(v.n[1], 1);
		assert_int_equal(v.n[2], 1);
		assert_int_equal(v.n[0] + v.n[3], 0);
	}
	assert_int_equal(visit_fresh(4, born_s + 59).n[1], 1);
	assert_int_equal(visit_fresh(4, born_s + 60).n[1], 0);
	/* what a peer alone has vouched for is not offered to others */
	c = small_cache_response("http://a/3", 200, 10, ADMISSION_DISK);
	c->unvouched = true;
	assert_true(small_cache_put(cache, "http://a/3", c,
				    cache_purges(cache)));
	assert_int_equal(visit_fresh(1, born_s).n[3], 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_asking_is_no_use, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_a_look, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_fresh_ones_are_visited,
						set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
