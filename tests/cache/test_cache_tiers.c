/*
 * A cache with tiers: hot copies have a share of it, the last copy in the
 * cluster stays, and a miss is heard of; with one shard and with several, in
 * memory and on disk.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "digestd/disk/disk.h"
#include "digestd/mesh/peerset.h"
#include "digestd/os/loop.h"
#include "digestd/store/eviction_tiers.h"
#include "tests/cache/small_cache.h"
#include "tests/disk/disk_folder.h"
#include "tests/unit.h"

enum {
	BODY_BYTES = 3000,
	HOT = 100,   /* which would take a third of the cache */
	SOLE = 1000, /* several times all of it */
};

static const struct {
	const char *label;
	unsigned shards;
	bool disk;
} caches[] = {
	{"one shard", 1, false},
	{"shards", 16, false},
	{"a disk", 1, true},
};

static void put(struct cache *cache, char kind, unsigned n)
{
	struct cached_head head = {.fields = &fields_none,
				   .selecting = &fields_none,
				   .status = 200};
	const struct freshness freshness = {.lifetime_s = 60};
	static char body[BODY_BYTES];
	char uri[64], *own = malloc(BODY_BYTES);
	struct cached *c;

	snprintf(uri, sizeof(uri), "http://www.example.com/%c/%u", kind, n);
	head.uri = uri;
	head.freshness = &freshness;
	head.for_disk = cache_has_disk(cache);
	c = cached_new(&head);
	assert_non_null(c);
	assert_non_null(own);
	memcpy(own, body, BODY_BYTES);
	cached_set_body(c, own, BODY_BYTES);
	c->place = ADMISSION_DISK;
	c->copy = kind == 'h';
	assert_true(small_cache_put(cache, uri, c, cache_purges(cache)));
}

static unsigned count(struct cache *cache, char kind, unsigned n)
{
	unsigned held = 0;

	for (unsigned i = 0; i < n; i++) {
		struct scd_key key;
		char uri[64];

		snprintf(uri, sizeof(uri), "http://www.example.com/%c/%u", kind,
			 i);
		key = small_cache_key(uri);
		held += cache_has(cache, &key, &fields_none);
	}
	return held;
}

/* A peer that has everything, as far as anybody knows. */
static struct peerset *view_of_all(void)
{
	struct peerset_peer peer = {.usable = true, .name = "n2", .url = ""};
	struct scd_bloom bloom;
	struct peerset *view;

	assert_int_equal(scd_bloom_init(&bloom, 64, 1), SCD_OK);
	memset(bloom.bits, 255, 8);
	peer.digest = peer_digest_take(&bloom);
	assert_non_null(peer.digest);
	view = peerset_new(&peer, 1);
	assert_non_null(view);
	peer_digest_unref(peer.digest);
	return view;
}

static struct cache *new_cache(size_t row, bool tiers)
{
	struct cache_settings s = small_cache_settings();
	struct cache *cache;

	s.shards = caches[row].shards;
	s.tiers = tiers;
	if (caches[row].disk) {
		s.disk_path = disk_folder();
		s.disk_bytes = 1 << 20;
		s.disk_queue_bytes = 64 << 20;
		s.max_bytes = 64 << 10;
	}
	assert_int_equal(cache_new(&s, &cache), 0);
	return cache;
}

static unsigned hot_left(size_t row, bool tiers, struct peerset *view)
{
	struct cache *cache = new_cache(row, tiers);
	unsigned left;

	cache_set_view(cache, view);
	for (unsigned i = 0; i < HOT; i++)
		put(cache, 'h', i);
	for (unsigned i = 0; i < SOLE; i++)
		put(cache, 's', i);
	left = count(cache, 'h', HOT);
	assert_true(count(cache, 's', SOLE) > 100);
	cache_free(&cache);
	if (caches[row].disk)
		disk_folder_empty();
	return left;
}

static void hot_copies_have_their_share(void **state)
{
	struct peerset *all = view_of_all();

	(void)state;
	for (size_t row = 0; row < NROWS(caches); row++) {
		unsigned left = hot_left(row, true, all);

		if (left < 10 || left > 60)
			fail_msg("%s: %u", caches[row].label, left);
		/* without tiers, or when nobody else has them, they are as
		 * others, and the oldest */
		assert_int_equal(hot_left(row, false, all), 0);
		left = hot_left(row, true, NULL);
		if (left > 60)
			fail_msg("%s: %u of the last", caches[row].label, left);
	}
	peerset_unref(all);
}

static void the_last_copy_becomes_sole(void **state)
{
	struct peerset *all = view_of_all();

	(void)state;
	for (size_t row = 0; row < NROWS(caches); row++) {
		unsigned left[2];

		for (int alone = 0; alone < 2; alone++) {
			struct cache *cache = new_cache(row, true);

			cache_set_view(cache, alone ? NULL : all);
			for (unsigned i = 0; i < HOT; i++)
				put(cache, 'h', i);
			/* until there is no room, and not for long after */
			for (unsigned i = 0; i < SOLE / 3; i++)
				put(cache, 's', i);
			left[alone] = count(cache, 'h', HOT);
			cache_free(&cache);
			if (caches[row].disk)
				disk_folder_empty();
		}
		if (left[1] <= left[0])
			fail_msg("%s: %u, of the last %u", caches[row].label,
				 left[0], left[1]);
	}
	peerset_unref(all);
}

static void count_call(void *arg)
{
	++*(int *)arg;
}

/* What is on disk, and not in memory. */
static struct cached *read_from_disk(struct cache *cache, const char *uri)
{
	const struct scd_key key = small_cache_key(uri);
	int calls = 0;
	struct disk_sync sync = {.call = {.run = count_call, .arg = &calls}};
	struct disk_read read = {.call = sync.call};

	assert_int_equal(loop_new(&sync.loop), 0);
	read.loop = sync.loop;
	assert_true(cache_sync(cache, &sync));
	cache_sync_wait(cache, &sync);
	while (!calls)
		assert_int_equal(loop_turn(sync.loop, -1), 0);
	cache_limit(cache, 1, 1 << 20, 1);
	assert_true(cache_read(cache, &key, &fields_none, &read));
	while (calls < 2)
		assert_int_equal(loop_turn(sync.loop, -1), 0);
	loop_free(&sync.loop);
	return read.found;
}

/* Or what renews it would be none. */
static void what_is_read_is_still_a_copy(void **state)
{
	static const char *const uris[] = {"http://www.example.com/s/0",
					   "http://www.example.com/h/0"};
	struct cache *cache = new_cache(2, true);

	(void)state;
	put(cache, 's', 0);
	put(cache, 'h', 0);
	for (int hot = 0; hot < 2; hot++) {
		struct cached *c = read_from_disk(cache, uris[hot]);

		assert_non_null(c);
		assert_int_equal(c->copy, hot);
		cached_unref(&c);
	}
	cache_free(&cache);
	disk_folder_empty();
}

/* What has left memory is still told of to who explains the key. */
static void a_look_finds_what_is_on_disk(void **state)
{
	static const char uri[] = "http://www.example.com/s/0";
	static const char other[] = "http://www.example.com/s/1";
	const struct scd_key key = small_cache_key(uri);
	const struct scd_key gone = small_cache_key(other);
	struct cache *cache = new_cache(2, false);
	struct cache_held held;
	struct cached *c;

	(void)state;
	put(cache, 's', 0);
	c = read_from_disk(cache, uri);
	assert_non_null(c);
	cached_unref(&c);
	cache_look(cache, &key, &held);
	assert_int_equal(held.on_disk, 1);
	assert_int_equal(held.in_memory + held.n, 0);
	cache_look(cache, &gone, &held);
	assert_int_equal(held.on_disk + held.in_memory + held.n, 0);
	cache_free(&cache);
	disk_folder_empty();
}

static void misses_are_heard_of(void **state)
{
	const struct tiers_miss miss = {
		.hash = 1, .weight = 1000, .remote = true};
	const struct tiers_miss origin = {
		.hash = 2, .weight = 1000, .nodes = 2};

	(void)state;
	for (size_t row = 0; row < NROWS(caches); row++) {
		for (int tiers = 0; tiers < 2; tiers++) {
			struct cache *cache = new_cache(row, tiers);

			for (unsigned i = 1; i < TIERS_MISSES_ROOMY; i++)
				assert_false(cache_missed(cache, &miss));
			assert_int_equal(cache_missed(cache, &miss), tiers);
			assert_true(cache_missed(cache, &origin));
			cache_free(&cache);
			if (caches[row].disk)
				disk_folder_empty();
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(hot_copies_have_their_share),
		cmocka_unit_test(the_last_copy_becomes_sole),
		cmocka_unit_test(what_is_read_is_still_a_copy),
		cmocka_unit_test(a_look_finds_what_is_on_disk),
		cmocka_unit_test(misses_are_heard_of),
	};

	return cmocka_run_group_tests(tests, disk_folder_make,
				      disk_folder_remove);
}
