/*
 * What was asked for before a purge does not come into the cache after it,
 * however the two meet: in each order, and by threads (which ThreadSanitizer
 * watches).
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

#include "digestd/cache/cache.h"
#include "digestd/mesh/invalidation_log.h"
#include "tests/cache/small_cache.h"
#include "tests/unit.h"

enum { FILLERS = 3, PURGES = 60000 };

static struct cache *cache;

static int set_up_in(unsigned shards)
{
	struct cache_settings settings = small_cache_settings();

	settings.shards = shards;
	return cache_new(&settings, &cache);
}

static int set_up(void **state)
{
	(void)state;
	return set_up_in(1);
}

static int set_up_shards(void **state)
{
	(void)state;
	return set_up_in(16);
}

static int tear_down(void **state)
{
	(void)state;
	cache_free(&cache);
	return 0;
}

/* What a 304 has made of another one, or (null) what was fetched. A version is
 * the status of the response. */
static bool put_renewed(const char *uri, unsigned version, uint64_t asked,
			const struct cached *renews)
{
	const struct scd_key key = small_cache_key(uri);
	const struct cache_fill fill = {&key, &fields_none, asked, renews};
	struct cached *c =
		small_cache_response(uri, version, 0, ADMISSION_DISK);
	bool stored = cache_put(cache, &fill, c);

	cached_unref(&c);
	return stored;
}

static bool put_version(const char *uri, unsigned version, uint64_t asked)
{
	return put_renewed(uri, version, asked, NULL);
}

/* Begins to purge all whose URI begins so, at a time. */
static struct purge_walk begin_walk(const char *prefix, int64_t now_s)
{
	struct purge_walk walk;

	small_cache_purge_prefix(cache, prefix, now_s, &walk);
	return walk;
}

static uint64_t last_settled(const char *uri)
{
	const struct scd_key key = small_cache_key(uri);

	return cache_last_purge(cache, &key, uri).settled;
}

/* Ten purges a second of others: a response that takes a minute is stored. */
static void test_purges_of_others(void **state)
{
	static const char uri[] = "http://h/1";
	uint64_t asked = cache_purges(cache);
	char other[32];

	(void)state;
	for (int i = 0; i < 600; i++) {
		struct purge_walk walk;

		snprintf(other, sizeof(other), "http://h/%d", 2 + i % 8);
		walk = begin_walk(other, 0);
		cache_purge_end(cache, &walk);
	}
	assert_true(put_version(uri, 200, asked));
}

/* 0: nothing is stored. */
static unsigned stored_version(const char *uri)
{
	struct cached *c = small_cache_get(cache, uri);
	unsigned version = c ? c->status : 0;

	cached_unref(&c);
	return version;
}

static void test_each_order(void **state)
{
	static const char one[] = "http://h/1", two[] = "http://h/2";
	struct scd_key key = small_cache_key(one);
	uint64_t asked = cache_purges(cache), own;
	struct purge_walk walk;

	(void)state;
	assert_int_equal(cache_drop(cache, &key, NULL, 0), 0);
	assert_false(put_version(one, 200, asked));
	assert_int_equal(stored_version(one), 0);
	assert_true(put_version(two, 200, asked)); /* another key */
	assert_true(put_version(one, 201, cache_purges(cache)));
	walk = begin_walk("http://other/", 0); /* it is of neither */
	asked = cache_purges(cache);
	assert_true(put_version(one, 202, asked - 1));
	assert_true(put_version(two, 203, asked));
	cache_purge_end(cache, &walk);
	walk = begin_walk("https://h/1", 0); /* whatever the scheme */
	asked = cache_purges(cache);
	assert_false(put_version(one, 202, asked - 1));
	assert_true(put_version(two, 203, asked - 1));
	assert_true(put_version(one, 203, asked));
	assert_int_equal(stored_version(one), 203); /* the walk's to remove */
	cache_purge_end(cache, &walk);

	/* what an unsafe method answers is newer than what it drops */
	own = asked;
	assert_int_equal(cache_drop(cache, &key, &own, 0), 1);
	assert_false(put_version(one, 204, asked));
	assert_true(put_version(one, 204, own));
	/* but not when somebody else has purged the key before */
	cache_drop(cache, &key, NULL, 0);
	cache_drop(cache, &key, &own, 0);
	assert_false(put_version(one, 205, own));
}

/* What is found while a walk goes on is not stored anew where that has been
 * already, before it ends and after. */
static void test_renewals_while_walking(void **state)
{
	static const char in[] = "http://h/in", out[] = "http://h/out";
	static const struct keypart all = {0, 1};
	struct purge_walk walk, next;
	struct cached *of_in = small_cache_response(in, 200, 0, ADMISSION_DISK);
	struct cached *of_out =
		small_cache_response(out, 200, 0, ADMISSION_DISK);
	uint64_t since;

	(void)state;
	assert_true(put_version(in, 200, 0));
	walk = begin_walk(in, 0);
	since = cache_purges(cache); /* in is found... */
	cache_purge_part(cache, &walk, &all);
	assert_int_equal(walk.removed, 1);
	assert_false(put_renewed(in, 201, since, of_in)); /* ...and gone */
	assert_true(put_renewed(out, 201, since, of_out));
	assert_true(put_version(in, 202, since)); /* the origin's */
	assert_true(last_settled(in) == UINT64_MAX);
	cache_purge_end(cache, &walk);
	assert_true(last_settled(in) > since);
	assert_false(put_renewed(in, 203, since, of_in));
	assert_true(put_renewed(out, 203, since, of_out));
	/* what the walk has left is from after it */
	next = begin_walk("http://other/", 0);
	assert_true(put_renewed(in, 204, cache_purges(cache), of_in));
	cache_purge_end(cache, &next);
	cached_unref(&of_in);
	cached_unref(&of_out);
}

/* What a peer may have from before a purge is not taken from it, unless it knew
 * of that purge; or, where it does not say, unless it is young enough. */
static void test_copies_of_peers(void **state)
{
	static const char in[] = "http://h/in", out[] = "http://h/out";
	enum { WALK_S = 100 };
	/* clang-format off */
	static const struct {
		const char *uri;
		int64_t born_s;
		bool met, asked_before, purged;
	} rows[] = {
		{ in,  50,         false, false, true },
		{ in,  WALK_S + 1, false, false, true },
		{ in,  WALK_S + 2, false, false, false },
		{ out, 50,         false, false, false },
		{ in,  50,         true,  false, false },
		{ in,  50,         true,  true,  true },
		{ in,  WALK_S + 2, true,  true,  false },
	};
	/* clang-format on */
	uint64_t before = cache_purges(cache);
	struct purge_walk walk = begin_walk("http://h/i", WALK_S);

	(void)state;
	cache_purge_end(cache, &walk);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct scd_key key = small_cache_key(rows[i].uri);
		const struct cache_copy copy = {
			.key = &key,
			.uri = rows[i].uri,
			.fields = &fields_none,
			.born_s = rows[i].born_s,
			.asked = rows[i].asked_before ? before
						      : cache_purges(cache),
			.met = rows[i].met,
		};

		print_message("# row %zu\n", i);
		assert_int_equal(cache_is_purged(cache, &copy), rows[i].purged);
	}
}

/* Peers are told of entries from a number on, so whatever they are of, the log
 * has them in the order of their numbers. */
static void test_numbers_in_order(void **state)
{
	enum { OTHER = 7, NKINDS = 4 };
	const struct scd_key keys[] = {small_cache_key("http://h/1"),
				       small_cache_key("http://h/2")};
	const struct invalidation_entry entries[NKINDS] = {
		{invalidation_of_key(&keys[0]), 1},
		{{.kind = INVALIDATION_TAG, .hash = {1, 1}}, 2},
		{invalidation_of_key(&keys[1]), 3},
		{{.kind = INVALIDATION_TAG, .hash = {2, 2}}, 4},
	};
	const struct cache_purge purge = {
		.entries = entries, .n = NKINDS, .source = OTHER};
	struct purge_walk walk;

	(void)state;
	cache_purge_begin(cache, &purge, &walk);
	assert_int_equal(walk.seq, NKINDS);
	for (uint64_t from = 0; from < NKINDS; from++) {
		const struct invalidation_position behind = {OTHER, from};
		struct invalidation_entry out[NKINDS];
		size_t n = invalidation_log_since(cache_purges_lock(cache),
						  &behind, out, NKINDS);

		cache_purges_unlock(cache);
		assert_int_equal(n, NKINDS - from);
		for (size_t i = 0; i < n; i++)
			assert_int_equal(out[i].seq, from + i + 1);
	}
	cache_purge_end(cache, &walk);
}

size_t __real_store_remove_key(struct store *s, const struct scd_key *key);
size_t __wrap_store_remove_key(struct store *s, const struct scd_key *key);

/* Who looks up without the lock while a purge is about to remove what it finds.
 */
static struct {
	struct cache_reader *reader; /* null: nobody */
	struct cache_found found;
	uint64_t since;
} between;

size_t __wrap_store_remove_key(struct store *s, const struct scd_key *key)
{
	if (between.reader) {
		between.since = cache_purges(cache);
		cache_lookup(between.reader, key, &fields_none, &between.found);
	}
	return __real_store_remove_key(s, key);
}

/* What was found so is not stored anew when a 304 has confirmed it. */
static void test_found_while_purging(void **state)
{
	static const char uri[] = "http://h/1";
	struct scd_key key = small_cache_key(uri);

	(void)state;
	assert_int_equal(cache_join(cache, &between.reader), 0);
	assert_true(put_version(uri, 200, cache_purges(cache)));
	assert_int_equal(cache_drop(cache, &key, NULL, 0), 1);
	assert_non_null(between.found.c);
	assert_false(put_version(uri, 200, between.since));
	assert_int_equal(stored_version(uri), 0);
	cache_quit(&between.reader);
}

/* The origin has version n from purge n on. */
static atomic_uint version;
static atomic_bool over;
static const char raced[] = "http://h/raced";

static void *keep_filling(void *arg)
{
	(void)arg;
	while (!atomic_load(&over)) {
		uint64_t asked = cache_purges(cache);
		unsigned fetched = atomic_load(&version);

		put_version(raced, fetched, asked);
	}
	return NULL;
}

static void test_purges_race_with_storing(void **state)
{
	struct scd_key key = small_cache_key(raced);
	pthread_t threads[FILLERS];
	unsigned wrong = 0;

	(void)state;
	atomic_store(&version, 1);
	atomic_store(&over, false);
	for (int i = 0; i < FILLERS; i++)
		assert_int_equal(
			pthread_create(&threads[i], NULL, keep_filling, NULL),
			0);
	for (unsigned n = 0; n < PURGES; n++) {
		unsigned now = 1 + n % 1000, found;

		atomic_store(&version, now);
		cache_drop(cache, &key, NULL, 0);
		found = stored_version(raced);
		wrong += found && found != now;
	}
	atomic_store(&over, true);
	for (int i = 0; i < FILLERS; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(wrong, 0);
}

/* A cache of one shard, and of several. */
#define IN_ALL_SHAPES(test)                                                    \
	cmocka_unit_test_setup_teardown(test, set_up, tear_down),              \
		cmocka_unit_test_setup_teardown(test, set_up_shards,           \
						tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		IN_ALL_SHAPES(test_each_order),
		IN_ALL_SHAPES(test_purges_of_others),
		IN_ALL_SHAPES(test_renewals_while_walking),
		IN_ALL_SHAPES(test_copies_of_peers),
		IN_ALL_SHAPES(test_numbers_in_order),
		IN_ALL_SHAPES(test_found_while_purging),
		IN_ALL_SHAPES(test_purges_race_with_storing),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
