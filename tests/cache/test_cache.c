/*
 * The cache against the dumbest possible twin: random puts, lookups, purges,
 * rebuilds and limits, in memory, with a part on probation, and with a disk,
 * where nothing is lost that memory has no room for. And each allocation
 * failing.
 *
 * The twin is an array: which response is stored for a key and a variant.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "digestd/cache/admitter.h"
#include "digestd/cache/cache.h"
#include "digestd/disk/disk.h"
#include "digestd/http/freshness.h"
#include "digestd/mesh/invalidation_log.h"
#include "digestd/mesh/catalog.h"
#include "digestd/os/loop.h"
#include "tests/codec/alloc.h"
#include "tests/codec/random.h"
#include "tests/disk/disk_folder.h"
#include "tests/unit.h"

enum {
	NKEYS = 24,
	NVARIANTS = 4, /* 0: it does not vary */
	STEPS = 6000,
	DISK_STEPS = 400,
	PLENTY = 16 << 20,
};

static const uint8_t secret[16] = "0123456789abcde";

/* What a response has: the number of its body; 0: none is stored. */
struct model {
	struct cache *cache;
	struct admitter *admitter;
	struct loop *loop;
	unsigned stored[NKEYS][NVARIANTS];
	unsigned next;
	uint64_t random;
	bool disk;
};

static const char *uri_of(unsigned key)
{
	static char uri[32];

	/* none begins as another does */
	snprintf(uri, sizeof(uri), "http://h/%u/", key);
	return uri;
}

static struct scd_key key_of(unsigned n)
{
	struct scd_key key;

	scd_key_make(secret, "GET", uri_of(n), strlen(uri_of(n)), &key);
	return key;
}

/* What a request of a variant has, and what selects it. */
static void variant_fields(unsigned variant, struct fields *f)
{
	char value[8];

	fields_init(f);
	snprintf(value, sizeof(value), "v%u", variant);
	if (variant)
		assert_int_equal(fields_add(f, "X-Variant", value), 0);
}

static struct cached *response(unsigned key, unsigned variant, unsigned n,
			       enum admission_decision place)
{
	const struct freshness freshness = { .explicit = true };
	struct fields selecting;
	const struct cached_head head = { uri_of(key), &fields_none,
					  &selecting, 200, &freshness, true };
	char text[300] = "";
	struct cached *c;
	char *body;

	variant_fields(variant, &selecting);
	c = cached_new(&head);
	fields_free(&selecting);
	assert_non_null(c);
	snprintf(text, sizeof(text), "%u", n);
	body = malloc(sizeof(text));
	assert_non_null(body);
	memcpy(body, text, sizeof(text));
	cached_set_body(c, body, sizeof(text));
	c->place = place & 3;
	return c;
}

static struct model *model_new(bool disk, bool probation, unsigned shards)
{
	const struct admitter_settings admission = {
		.policy = "probation", .eviction = "lru",
		.capacity = PLENTY, .memory = PLENTY, .mean_size = 1024,
		.window = 1000, .memory_share = 0.5,
	};
	struct cache_settings settings = {
		.max_bytes = PLENTY, .max_variants = NVARIANTS,
		.policy = "lru", .nbits = 1024, .nhash = 3,
		.bits_per_key = 32, .max_bits = 1 << 20,
		.disk_path = disk ? disk_folder() : NULL,
		.disk_bytes = PLENTY, .disk_queue_bytes = PLENTY,
		.hash_secret = secret, .shards = shards,
	};
	struct model *m = calloc(1, sizeof(*m));

	assert_non_null(m);
	m->random = 1;
	m->disk = disk;
	assert_int_equal(loop_new(&m->loop), 0);
	if (probation)
		assert_int_equal(admitter_new(&admission, 0, &m->admitter), 0);
	settings.admitter = m->admitter;
	assert_int_equal(cache_new(&settings, &m->cache), 0);
	assert_int_equal(cache_has_disk(m->cache), disk);
	return m;
}

static void model_free(struct model *m)
{
	cache_free(&m->cache);
	assert_null(m->cache);
	admitter_free(&m->admitter);
	loop_free(&m->loop);
	free(m);
}

/* Operations */

static void put(struct model *m, unsigned key, unsigned variant,
		enum admission_decision place)
{
	struct scd_key k = key_of(key);
	struct fields request;
	const struct cache_fill fill = { &k, &request,
					 cache_purges(m->cache), NULL };
	struct cached *c = response(key, variant, ++m->next, place);
	bool stored = place == ADMISSION_DISK ||
		      (place == ADMISSION_RAM && m->admitter);

	variant_fields(variant, &request);
	assert_int_equal(cache_put(m->cache, &fill, c), stored);
	/* what does not vary is for all requests: it hides the others */
	m->stored[key][variant] = stored ? m->next : 0;
	fields_free(&request);
	cached_unref(&c);
}

/* A key has variants, or it has not: as origins do. */
static unsigned variant_of(struct model *m, unsigned key)
{
	return key % 2 ? 0 :
			 1 + (unsigned)random_below(&m->random, NVARIANTS - 1);
}

static bool model_has(const struct model *m, unsigned key)
{
	for (unsigned v = 0; v < NVARIANTS; v++) {
		if (m->stored[key][v])
			return true;
	}
	return false;
}

static size_t forget(struct model *m, unsigned key)
{
	size_t n = 0;

	for (unsigned v = 0; v < NVARIANTS; v++)
		n += m->stored[key][v] != 0;
	memset(m->stored[key], 0, sizeof(m->stored[key]));
	return n;
}

static void drop(struct model *m, unsigned key)
{
	struct scd_key k = key_of(key);
	uint64_t before = cache_purges(m->cache), asked = before;
	struct cache_copy copy = { .key = &k,
				   .uri = uri_of(key),
				   .fields = &fields_none,
				   .born_s = 90 };

	assert_int_equal(cache_drop(m->cache, &k, &asked, 100),
			 forget(m, key));
	assert_int_equal(asked, cache_purges(m->cache));
	assert_true(asked > before);
	assert_int_equal(cache_last_purge(m->cache, &k, uri_of(key)).added,
			 asked);
	/* a copy from before is too old; one of later is not */
	assert_true(cache_is_purged(m->cache, &copy));
	copy.born_s = 110;
	assert_false(cache_is_purged(m->cache, &copy));
}

/* What was asked for before a purge is not stored. */
static void put_late(struct model *m, unsigned key)
{
	struct scd_key k = key_of(key);
	const struct cache_fill fill = { &k, &fields_none,
					 cache_purges(m->cache), NULL };
	struct cached *c = response(key, 0, ++m->next, ADMISSION_DISK);

	cache_drop(m->cache, &k, NULL, 100);
	forget(m, key);
	assert_false(cache_put(m->cache, &fill, c));
	assert_int_equal(cached_place(c), ADMISSION_NO);
	cached_unref(&c);
}

static void purge(struct model *m, unsigned key)
{
	uint64_t parts = cache_parts(m->cache);
	const struct invalidation_entry entry = {
		.of = invalidation_of_prefix(secret, uri_of(key))
	};
	const struct cache_purge purge = { .entries = &entry, .n = 1 };
	struct purge_walk walk;

	cache_purge_begin(m->cache, &purge, &walk);
	assert_true(walk.walks);
	for (uint64_t i = 0; i < parts; i++) {
		const struct keypart part = { i, parts };

		cache_purge_part(m->cache, &walk, &part);
	}
	cache_purge_end(m->cache, &walk);
	assert_int_equal(walk.removed, forget(m, key));
}

static void rebuild(struct model *m)
{
	unsigned parts = 1;

	assert_int_equal(cache_rebuild(m->cache, 1024u <<
				       random_below(&m->random, 3)), 0);
	while (!cache_rebuild_part(m->cache))
		parts++;
	assert_true(parts >= 1);
}

/* With a disk, memory may be as short as can be for a while; but what is on
 * probation is in memory only. */
static void squeeze(struct model *m)
{
	if (!m->disk || m->admitter)
		return;
	cache_limit(m->cache, 1, PLENTY, NVARIANTS);
	cache_limit(m->cache, PLENTY, PLENTY, NVARIANTS);
}

static void count_call(void *arg)
{
	++*(int *)arg;
}

/* As a request would have it: from memory, or from the disk. */
static struct cached *find(struct model *m, const struct scd_key *key,
			   const struct fields *request,
			   enum cachestatus_fwd *why)
{
	struct cached *c = cache_get(m->cache, key, request, why);
	int calls = 0;
	struct disk_read read = {
		.loop = m->loop, .call = { .run = count_call, .arg = &calls },
	};

	if (c || !cache_read(m->cache, key, request, &read))
		return c;
	while (!calls)
		assert_int_equal(loop_turn(m->loop, -1), 0);
	assert_non_null(read.found);
	return read.found;
}

/* A 304: another head, with the body that there is. */
static void renew(struct model *m, unsigned key, unsigned variant)
{
	const struct freshness freshness = { .explicit = true };
	struct scd_key k = key_of(key);
	struct fields request;
	const struct cached_head head = { uri_of(key), &fields_none, &request,
					  200, &freshness, true };
	struct cache_fill fill = { &k, &request, cache_purges(m->cache), NULL };
	enum cachestatus_fwd why;
	struct cached *old, *c;

	variant_fields(variant, &request);
	old = find(m, &k, &request, &why);
	if (old) {
		c = cached_new(&head);
		assert_non_null(c);
		cached_share_body(c, old);
		c->place = ADMISSION_DISK;
		fill.renews = old;
		assert_true(cache_put(m->cache, &fill, c));
		cached_unref(&c);
	}
	cached_unref(&old);
	fields_free(&request);
}

static void step(struct model *m)
{
	unsigned key = (unsigned)random_below(&m->random, NKEYS);

	switch (random_below(&m->random, 16)) {
	case 0:
		drop(m, key);
		return;
	case 1:
		put_late(m, key);
		return;
	case 2:
		purge(m, key);
		return;
	case 3:
		rebuild(m);
		return;
	case 4:
		put(m, key, variant_of(m, key), ADMISSION_NO);
		return;
	case 5:
		squeeze(m);
		return;
	case 6:
		renew(m, key, variant_of(m, key));
		return;
	case 7:
		put(m, key, variant_of(m, key),
		    m->admitter ? ADMISSION_RAM : ADMISSION_DISK);
		return;
	default:
		put(m, key, variant_of(m, key), ADMISSION_DISK);
	}
}

/* Comparing */

static void check_variant(struct model *m, unsigned key, unsigned variant)
{
	unsigned n = m->stored[key][variant];
	struct scd_key k = key_of(key);
	enum cachestatus_fwd why = CACHESTATUS_STALE;
	struct fields request;
	struct cached *c;

	variant_fields(variant, &request);
	c = find(m, &k, &request, &why);
	if ((c != NULL) != (n != 0))
		fail_msg("key %u, variant %u: %s", key, variant,
			 c ? "found" : "lost");
	if (c) {
		assert_int_equal(atoi(cached_body(c)), n);
		assert_string_equal(cached_uri(c), uri_of(key));
		cache_use(m->cache, &k, c, 0);
	} else {
		assert_int_equal(why, model_has(m, key) ?
				      CACHESTATUS_VARY_MISS :
				      CACHESTATUS_URI_MISS);
	}
	cached_unref(&c);
	fields_free(&request);
}

static void check_all(struct model *m)
{
	struct catalog_stats catalog;
	struct store_stats store;
	uint64_t nkeys = 0, nstored = 0;

	for (unsigned key = 0; key < NKEYS; key++) {
		nkeys += model_has(m, key);
		for (unsigned v = key % 2 ? 0 : 1;
		     v < (key % 2 ? 1 : NVARIANTS); v++) {
			check_variant(m, key, v);
			nstored += m->stored[key][v] != 0;
		}
	}
	cache_stats(m->cache, &store, &catalog);
	assert_int_equal(catalog.nkeys, nkeys);
	if (!m->disk)
		assert_int_equal(store.entries, nstored);
}

static void run_model(bool disk, bool probation, unsigned shards, int steps)
{
	struct model *m = model_new(disk, probation, shards);

	for (int i = 0; i < steps; i++) {
		step(m);
		if (i % 16 == 0)
			check_all(m);
	}
	check_all(m);
	model_free(m);
}

static void test_memory(void **state)
{
	(void)state;
	run_model(false, false, 1, STEPS);
}

static void test_shards(void **state)
{
	(void)state;
	run_model(false, false, 16, STEPS);
}

static void test_probation(void **state)
{
	(void)state;
	run_model(false, true, 1, STEPS);
}

static void test_disk(void **state)
{
	(void)state;
	run_model(true, false, 1, DISK_STEPS);
	disk_folder_empty();
}

static void test_disk_and_probation(void **state)
{
	(void)state;
	run_model(true, true, 1, DISK_STEPS);
	disk_folder_empty();
}

/* What was on disk is there after a restart, and in the first digest. */
static void test_restart(void **state)
{
	struct model *m;

	(void)state;
	m = model_new(true, false, 1);
	for (unsigned key = 0; key < NKEYS; key++)
		put(m, key, variant_of(m, key), ADMISSION_DISK);
	drop(m, 3);
	cache_free(&m->cache);
	{
		struct model *again = model_new(true, false, 1);
		struct cache *cache = again->cache;

		again->cache = NULL;
		m->cache = cache;
		model_free(again);
	}
	check_all(m);
	model_free(m);
	disk_folder_empty();
}

/* Waits until all is written that was put. */
static void sync_disk(struct model *m)
{
	int calls = 0;
	struct disk_sync sync = {
		.loop = m->loop, .call = { .run = count_call, .arg = &calls },
	};

	assert_true(cache_sync(m->cache, &sync));
	cache_sync_wait(m->cache, &sync);
	while (!calls)
		assert_int_equal(loop_turn(m->loop, -1), 0);
}

/* An object whose file has gone is found once more, in vain. */
static void test_lost_file(void **state)
{
	struct scd_key key = key_of(1);
	struct disk_counters counters;
	struct catalog_stats catalog;
	struct store_stats store;
	struct disk_read read;
	struct model *m;
	int calls = 0;

	(void)state;
	m = model_new(true, false, 1);
	put(m, 1, 0, ADMISSION_DISK);
	sync_disk(m);
	squeeze(m);
	assert_int_equal(unlink(disk_folder_path("00000001.log")), 0);
	read = (struct disk_read){
		.loop = m->loop, .call = { .run = count_call, .arg = &calls },
	};
	assert_true(cache_read(m->cache, &key, &fields_none, &read));
	while (!calls)
		assert_int_equal(loop_turn(m->loop, -1), 0);
	assert_null(read.found);
	assert_int_equal(read.error, -ENOENT);
	assert_false(cache_read(m->cache, &key, &fields_none, &read));
	cache_stats(m->cache, &store, &catalog);
	assert_int_equal(catalog.nkeys, 0);
	assert_true(cache_disk_stats(m->cache, &store, &counters));
	assert_int_equal(store.entries, 0);
	assert_int_equal(counters.read_errors, 1);
	model_free(m);
	disk_folder_empty();
}

/* Without a disk there is nothing to read, to wait for, or to tell of it. */
static void test_no_disk(void **state)
{
	struct model *m = model_new(false, false, 1);
	struct scd_key key = key_of(1);
	struct disk_counters counters;
	struct store_stats store;
	struct disk_read read = { .loop = NULL };
	struct disk_sync sync = { .loop = NULL };

	(void)state;
	assert_false(cache_read(m->cache, &key, &fields_none, &read));
	assert_false(cache_sync(m->cache, &sync));
	cache_sync_wait(m->cache, &sync);
	assert_false(cache_disk_stats(m->cache, &store, &counters));
	model_free(m);
}

/* An admission policy: none means that all is worth it. */
static void test_admission(void **state)
{
	struct model *all = model_new(false, false, 1);
	struct model *some = model_new(false, true, 1);
	struct scd_key key = key_of(1), other = key_of(2);

	(void)state;
	assert_int_equal(cache_admit(all->cache, &key, 100, 0),
			 ADMISSION_DISK);
	cache_note(all->cache, &key);
	assert_int_equal(cache_admit(some->cache, &key, 100, 0),
			 ADMISSION_RAM);
	assert_int_equal(cache_admit(some->cache, &key, 100, 0),
			 ADMISSION_DISK);
	/* a waiting request is a second use */
	assert_int_equal(cache_admit(some->cache, &other, 100, 0),
			 ADMISSION_RAM);
	cache_note(some->cache, &other);
	assert_int_equal(cache_admit(some->cache, &other, 100, 0),
			 ADMISSION_DISK);
	model_free(all);
	model_free(some);
}

static void test_impossible_settings(void **state)
{
	struct cache_settings settings = {
		.max_bytes = PLENTY, .max_variants = 1, .policy = "none",
		.nbits = 1024, .nhash = 3, .bits_per_key = 32,
		.max_bits = 1024, .hash_secret = secret,
	};
	struct cache *cache = NULL;

	(void)state;
	assert_int_equal(cache_new(&settings, &cache), -EINVAL);
	settings.policy = "sieve";
	settings.nhash = 0;
	assert_int_equal(cache_new(&settings, &cache), -EINVAL);
	assert_null(cache);
	cache_free(&cache);
}

static void test_every_allocation(void **state)
{
	const struct cache_settings settings = {
		.max_bytes = PLENTY, .max_variants = 1, .policy = "sieve",
		.nbits = 1024, .nhash = 3, .bits_per_key = 32,
		.max_bits = 1024, .hash_secret = secret,
	};
	bool failed = true;

	(void)state;
	for (unsigned n = 1; failed; n++) {
		struct cache *cache = NULL;
		int err;

		alloc_fail_at(n);
		err = cache_new(&settings, &cache);
		failed = alloc_failed();
		alloc_fail_at(0);
		assert_int_equal(err, failed ? -ENOMEM : 0);
		assert_int_equal(cache != NULL, !failed);
		if (failed)
			continue;
		alloc_fail_at(1);
		assert_int_not_equal(cache_rebuild(cache, 4096), 0);
		alloc_fail_at(0);
		assert_int_equal(cache_rebuild(cache, 4096), 0);
		cache_free(&cache);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_memory),
		cmocka_unit_test(test_shards),
		cmocka_unit_test(test_probation),
		cmocka_unit_test(test_disk),
		cmocka_unit_test(test_disk_and_probation),
		cmocka_unit_test(test_restart),
		cmocka_unit_test(test_lost_file),
		cmocka_unit_test(test_no_disk),
		cmocka_unit_test(test_admission),
		cmocka_unit_test(test_impossible_settings),
		cmocka_unit_test(test_every_allocation),
	};

	return cmocka_run_group_tests(tests, disk_folder_make,
				      disk_folder_remove);
}
