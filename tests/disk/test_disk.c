/*
 * The cache with a disk tier, without a node around it: restarts, and all that
 * a disk can do to files.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "digestd/cache/cache.h"
#include "digestd/mesh/catalog.h"
#include "digestd/disk/disk.h"
#include "digestd/os/loop.h"
#include "tests/cache/small_cache.h"
#include "tests/codec/alloc.h"
#include "tests/disk/disk_faults.h"
#include "tests/disk/disk_folder.h"
#include "tests/os/call_faults.h"
#include "tests/unit.h"

enum {
	KIB = 1024,
	SOME = 6,       /* objects */
	LARGE = 100000, /* bytes: is not read into memory */
};

static struct cache *cache;
static struct loop *loop;

static int try_open(uint64_t memory, uint64_t ondisk, uint64_t queue)
{
	struct cache_settings settings = small_cache_settings();

	settings.max_bytes = memory;
	settings.disk_path = disk_folder();
	settings.disk_bytes = ondisk;
	settings.disk_queue_bytes = queue;
	return cache_new(&settings, &cache);
}

static void open_sized(uint64_t memory, uint64_t ondisk, uint64_t queue)
{
	assert_int_equal(try_open(memory, ondisk, queue), 0);
}

static void open_cache(void)
{
	open_sized(64 * KIB, 8192 * KIB, 4096 * KIB);
}

static void close_cache(void)
{
	cache_free(&cache);
}

static int set_up(void **state)
{
	(void)state;
	disk_folder_empty();
	return loop_new(&loop);
}

static int tear_down(void **state)
{
	(void)state;
	loop_free(&loop);
	return 0;
}

static struct scd_key key_of(unsigned n)
{
	char uri[32];

	snprintf(uri, sizeof(uri), "http://h/%u", n);
	return small_cache_key(uri);
}

/* A request that gets n. */
static struct fields request_of(unsigned n)
{
	struct fields f;

	fields_init(&f);
	if (n % 2)
		assert_int_equal(fields_add(&f, "A", "b"), 0);
	return f;
}

static void put(unsigned n, size_t len)
{
	struct cached *c = disk_response(n, len);
	struct fields request = request_of(n);
	struct scd_key key = key_of(n);
	const struct cache_fill fill = { &key, &request, cache_purges(cache),
					 NULL };

	assert_true(cache_put(cache, &fill, c));
	cached_unref(&c);
	fields_free(&request);
}

static void on_read(void *arg)
{
	*(bool *)arg = true;
}

/* From memory, or from disk. */
static struct cached *get(unsigned n)
{
	struct fields request = request_of(n);
	struct scd_key key = key_of(n);
	bool done = false;
	struct disk_read read = { .loop = loop,
				  .call = { .run = on_read, .arg = &done } };
	enum cachestatus_fwd why;
	struct cached *c = cache_get(cache, &key, &request, &why);

	if (!c && cache_read(cache, &key, &request, &read)) {
		while (!done)
			assert_int_equal(loop_turn(loop, 1000), 0);
		c = read.found;
	}
	fields_free(&request);
	return c;
}

/* Blocks of a body in a file, as they are on disk and checked; or its error. */
static int get_blocks(unsigned n, struct cached *c, uint64_t block, char *to)
{
	bool done = false;
	struct disk_read read = { .loop = loop,
				  .call = { .run = on_read, .arg = &done },
				  .key = key_of(n),
				  .of = c,
				  .block = block,
				  .nblocks = 1,
				  .to = to };

	cache_read_blocks(cache, &read);
	while (!done)
		assert_int_equal(loop_turn(loop, 1000), 0);
	return read.error;
}

/* All of it; null: it cannot be had. */
static char *get_body(unsigned n, struct cached *c)
{
	uint64_t blocks = disk_blocks(c->body_len);
	char *body = malloc((size_t)blocks * DISK_BLOCK_BYTES);

	assert_non_null(body);
	for (uint64_t i = 0; i < blocks; i++) {
		if (get_blocks(n, c, i, body + i * DISK_BLOCK_BYTES)) {
			free(body);
			return NULL;
		}
	}
	return body;
}

/* Whether there is one, and it is right. */
static bool has(unsigned n, size_t len)
{
	struct cached *c = get(n), *right;
	char *copy = NULL;
	bool there;

	if (!c)
		return false;
	right = disk_response(n, len);
	assert_string_equal(cached_uri(c), cached_uri(right));
	assert_int_equal(c->body_len, len);
	if (cached_file(c))
		copy = get_body(n, c);
	there = copy || cached_body(c);
	if (there)
		assert_memory_equal(copy ? copy : cached_body(c),
				    cached_body(right), len);
	free(copy);
	cached_unref(&right);
	cached_unref(&c);
	return there;
}

static struct disk_counters counters(void)
{
	struct disk_counters now;
	struct store_stats store;

	assert_true(cache_disk_stats(cache, &store, &now));
	return now;
}

static uint64_t objects(void)
{
	struct disk_counters now;
	struct store_stats store;

	assert_true(cache_disk_stats(cache, &store, &now));
	return store.entries;
}

static uint64_t catalog_keys(void)
{
	struct catalog_stats now;

	catalog_stats(cache_lock(cache), &now);
	cache_unlock(cache);
	return now.nkeys;
}

static size_t size_of(unsigned n)
{
	static const size_t sizes[] = { 0, 1, 4096, 65536, 65537, 200000 };

	return sizes[n % 6];
}

static void a_restart_keeps_all(void **state)
{
	(void)state;
	open_cache();
	for (unsigned n = 0; n < 60; n++)
		put(n, size_of(n));
	assert_int_equal(objects(), 60);
	for (unsigned n = 0; n < 60; n++)
		assert_true(has(n, size_of(n)));
	close_cache(); /* writes all of it */
	for (int i = 0; i < 2; i++) {
		open_cache();
		assert_int_equal(objects(), 60);
		assert_int_equal(catalog_keys(), 60);
		for (unsigned n = 0; n < 60; n++)
			assert_true(has(n, size_of(n)));
		assert_int_equal(catalog_keys(), 60);
		assert_int_equal(counters().corrupt, 0);
		close_cache();
	}
}

/* What was used stays, though it is the oldest, as without a restart; and where
 * another process takes the disk over. */
static void what_is_in_use_outlives_a_restart(void **state)
{
	enum { USED = 10, ALL = 50, LEN = 16 * KIB };

	(void)state;
	for (int handed = 0; handed < 2; handed++) {
		struct cache *first = NULL;

		disk_folder_empty();
		open_sized(64 * KIB, 1024 * KIB, 4096 * KIB);
		for (unsigned n = 0; n < ALL; n++)
			put(n, LEN);
		for (unsigned n = 0; n < USED; n++)
			assert_true(has(n, LEN));
		if (handed)
			cache_retire_disk(first = cache);
		else
			close_cache();
		open_sized(64 * KIB, 1024 * KIB, 4096 * KIB);
		for (unsigned n = ALL; n < 2 * ALL - USED; n++)
			put(n, LEN);
		for (unsigned n = 0; n < USED; n++)
			assert_true(has(n, LEN));
		close_cache();
		cache_free(&first);
	}
}

static void a_large_one_makes_the_filter_fit(void **state)
{
	struct catalog_stats now;

	(void)state;
	open_cache();
	for (unsigned n = 0; n < 500; n++)
		put(n, 10);
	close_cache();
	open_cache();
	catalog_stats(cache_lock(cache), &now);
	cache_unlock(cache);
	assert_int_equal(now.nkeys, 500);
	assert_int_equal(now.nbits, 16384); /* 32 each */
	close_cache();
}

static void drops_and_replacements_last(void **state)
{
	struct scd_key key;

	(void)state;
	open_cache();
	for (unsigned n = 0; n < 10; n++)
		put(n, 100);
	key = key_of(3);
	assert_int_equal(cache_drop(cache, &key, NULL, 0), 1);
	close_cache();
	open_cache();
	assert_false(has(3, 100));
	put(4, 50);
	key = key_of(5);
	assert_int_equal(cache_drop(cache, &key, NULL, 0), 1);
	assert_int_equal(catalog_keys(), 8);
	close_cache();
	open_cache();
	assert_int_equal(objects(), 8);
	assert_true(has(4, 50));
	assert_false(has(5, 100));
	close_cache();
}

static void what_has_no_room_goes(void **state)
{
	unsigned there = 0;

	(void)state;
	open_sized(64 * KIB, 1024 * KIB, 4096 * KIB);
	for (unsigned n = 0; n < 400; n++)
		put(n, 8000);
	assert_in_range(objects(), 50, 128);
	assert_int_equal(catalog_keys(), objects());
	close_cache();
	open_sized(64 * KIB, 1024 * KIB, 4096 * KIB);
	for (unsigned n = 0; n < 400; n++)
		there += has(n, 8000);
	assert_int_equal(there, objects());
	close_cache();
	/* and with less of it at a start */
	open_sized(64 * KIB, 256 * KIB, 4096 * KIB);
	assert_in_range(objects(), 10, 32);
	close_cache();
}

/* However fast the writer is: two are larger than all of the queue. */
static void what_has_no_room_in_the_queue(void **state)
{
	(void)state;
	open_sized(64 * KIB, 8192 * KIB, 25000);
	for (unsigned n = 0; n < 3; n++)
		put(n, n ? 30000 : 20000);
	assert_int_equal(counters().not_written, 2);
	assert_int_equal(objects(), 1);
	close_cache();
}

/* A file of an object that was the n-th to be written, from 1. */
static const char *file_of(unsigned n)
{
	char name[32];

	snprintf(name, sizeof(name), "%02x/%016x", n % 256, n);
	return disk_folder_path(name);
}

/* Flips a bit of that file. */
static void flip(unsigned n, long at)
{
	FILE *f = fopen(file_of(n), "r+b");
	int byte;

	assert_non_null(f);
	assert_int_equal(fseek(f, at, SEEK_SET), 0);
	byte = fgetc(f);
	assert_int_equal(fseek(f, at, SEEK_SET), 0);
	assert_int_not_equal(fputc(byte ^ 1, f), EOF);
	fclose(f);
}

static void damaged_bodies_are_not_served(void **state)
{
	static const size_t len = 70000;
	FILE *f;

	(void)state;
	open_cache();
	for (unsigned n = 0; n < 30; n++)
		put(n, len);
	close_cache();
	for (unsigned n = 0; n < 30; n++) {
		switch (n % 4) {
		case 0:
			flip(n + 1, (long)(n * 1000));
			break;
		case 1: /* torn */
			assert_int_equal(truncate(file_of(n + 1), n * 100), 0);
			break;
		case 2: /* gone */
			assert_int_equal(unlink(file_of(n + 1)), 0);
			break;
		case 3: /* whoever opens it waits for its other end */
			assert_int_equal(unlink(file_of(n + 1)), 0);
			assert_int_equal(mkfifo(file_of(n + 1), 0600), 0);
		}
	}
	/* and one that nobody knows */
	f = fopen(file_of(1000), "wb");
	assert_non_null(f);
	fclose(f);
	open_cache();
	assert_int_equal(counters().lost, 7);
	assert_int_equal(objects(), 23);
	assert_int_not_equal(access(file_of(1000), F_OK), 0);
	for (unsigned n = 0; n < 30; n++)
		assert_false(has(n, len));
	assert_int_equal(counters().corrupt, 23);
	assert_int_equal(objects(), 0);
	assert_int_equal(catalog_keys(), 0);
	put(3, len);
	close_cache();
	open_cache();
	assert_int_equal(objects(), 1);
	assert_true(has(3, len));
	close_cache();
}

/* Waits until what was put is on disk, or given up. Without a disk tier it is
 * nowhere. */
static void sync_all(void)
{
	bool done = false;
	struct disk_sync sync = { .loop = loop,
				  .call = { .run = on_read, .arg = &done } };

	if (!cache_sync(cache, &sync))
		return;
	while (!done)
		assert_int_equal(loop_turn(loop, 1000), 0);
}

/* While it is open, and has been read before: the block is refused, the others
 * are not, and the object goes. */
static void blocks_damaged_meanwhile_are_not_read(void **state)
{
	static const size_t len = 200000;
	static char block[DISK_BLOCK_BYTES];

	(void)state;
	open_cache();
	for (unsigned n = 0; n < 4; n++)
		put(n, len);
	sync_all();
	for (unsigned n = 0; n < 4; n++) {
		struct cached *c;

		assert_true(has(n, len));
		c = get(n);
		assert_non_null(c);
		assert_non_null(cached_file(c));
		flip(n + 1, (long)(n * DISK_BLOCK_BYTES));
		for (unsigned i = 0; i < 4; i++)
			assert_int_equal(get_blocks(n, c, i, block),
					 i == n ? -EBADMSG : 0);
		cached_unref(&c);
		assert_int_equal(objects(), 3 - n);
		assert_false(has(n, len));
	}
	assert_int_equal(counters().corrupt, 4);
	assert_int_equal(catalog_keys(), 0);
	close_cache();
}

/* From some size on, no file can be written; segments neither. */
static void writes_that_fail(void **state)
{
	struct rlimit before, limit;

	(void)state;
	signal(SIGXFSZ, SIG_IGN);
	getrlimit(RLIMIT_FSIZE, &before);
	for (rlim_t kib = 0; kib < 128; kib = kib * 4 + 4) {
		disk_folder_empty();
		open_cache();
		limit = before;
		limit.rlim_cur = kib * KIB;
		setrlimit(RLIMIT_FSIZE, &limit);
		for (unsigned n = 0; n < 30; n++)
			put(n, n * 3000);
		close_cache();
		setrlimit(RLIMIT_FSIZE, &before);
		open_cache();
		assert_int_equal(counters().lost, 0);
		assert_int_equal(catalog_keys(), objects());
		assert_true(kib > 0 || objects() == 0);
		for (unsigned n = 0; n < 30; n++)
			has(n, n * 3000);
		assert_int_equal(counters().corrupt, 0);
		close_cache();
	}
}

/* A few, of which one is replaced and one removed. */
static void write_some(void)
{
	struct scd_key key = key_of(1);

	for (unsigned n = 0; n < SOME; n++)
		put(n, n * 3000);
	cache_drop(cache, &key, NULL, 0);
	put(2, 2 * 3000);
	sync_all();
}

/* What is on disk is right: all that was not counted as failed, and surely what
 * came last. */
static void check_some(unsigned failed, bool last)
{
	unsigned there = 0;

	open_cache();
	assert_int_equal(catalog_keys(), objects());
	for (unsigned n = 0; n <= SOME; n++)
		there += has(n, n * 3000);
	assert_int_equal(objects(), there);
	assert_int_equal(counters().corrupt, 0);
	assert_false(has(1, 3000));
	assert_int_equal(has(SOME, SOME * 3000), last);
	assert_in_range(there, SOME - failed, SOME);
	close_cache();
}

/* Fails the n-th call; after that, the tier must be as good as before. Returns
 * whether there were so many. */
static bool fail_one(enum disk_call call, unsigned n, int error, bool lasts)
{
	struct disk_counters now;
	struct store_stats store;
	unsigned failed;
	bool there;

	disk_folder_empty();
	disk_fail_at(call, n, error, lasts);
	open_cache();
	write_some();
	failed = disk_failed();
	disk_fail_at(call, 0, 0, false);
	put(SOME, SOME * 3000);
	sync_all();
	there = cache_disk_stats(cache, &store, &now);
	if (there)
		assert_int_equal(now.writes + now.write_errors + now.spared,
				 SOME + 2);
	assert_true(!there || failed || !now.write_errors);
	assert_true(there || failed);
	close_cache();
	check_some(there ? (unsigned)(now.write_errors + now.lost) : SOME,
		   there);
	return failed;
}

/* clang-format off */
static const struct {
	enum disk_call call;
	int error;
	bool lasts;
} write_faults[] = {
	{ DISK_CALL_WRITE, ENOSPC, false },
	{ DISK_CALL_WRITE, EIO,    true },
	{ DISK_CALL_SYNC,  EIO,    false },
	{ DISK_CALL_SYNC,  EIO,    true },
};
/* clang-format on */

/* Each write and each sync, from the first of a new folder on, until there are
 * no more to fail. */
static void every_write_fails(void **state)
{
	(void)state;
	for (size_t i = 0; i < NROWS(write_faults); i++) {
		unsigned n = 1;

		while (fail_one(write_faults[i].call, n, write_faults[i].error,
				write_faults[i].lasts))
			n++;
		assert_true(n > 1);
	}
}

/* What cannot be read is counted, forgotten, and can be had anew. */
static void every_read_fails(void **state)
{
	(void)state;
	open_cache();
	write_some();
	put(SOME, LARGE);
	close_cache();
	open_cache();
	assert_int_equal(objects(), SOME);
	disk_fail_at(DISK_CALL_READ, 1, EIO, true);
	for (unsigned n = 0; n < SOME; n++)
		assert_false(has(n, n * 3000));
	assert_false(has(SOME, LARGE));
	assert_int_equal(counters().read_errors, SOME);
	assert_int_equal(disk_failed(), SOME);
	assert_int_equal(objects(), 0);
	assert_int_equal(catalog_keys(), 0);
	disk_fail_at(DISK_CALL_READ, 0, 0, false);
	put(SOME, LARGE);
	close_cache();
	open_cache();
	assert_int_equal(objects(), 1);
	assert_true(has(SOME, LARGE));
	close_cache();
}

/* A disk that fails at a start is done without. What is purged meanwhile does
 * not come back at the next one. */
static void nothing_comes_back_that_was_given_up(void **state)
{
	const struct scd_key key = key_of(SOME);
	struct store_stats store;
	struct disk_counters now;

	(void)state;
	open_cache();
	write_some();
	put(SOME, LARGE);
	close_cache();
	call_fail_at("openat", 1, EIO);
	open_cache();
	assert_true(call_failed());
	assert_false(cache_disk_stats(cache, &store, &now));
	close_cache(); /* nothing was */
	open_cache();
	assert_true(has(SOME, LARGE));
	close_cache();
	call_fail_at("openat", 1, EIO);
	open_cache();
	call_fail_at("", 0, 0);
	cache_drop(cache, &key, NULL, 0);
	close_cache();
	open_cache();
	assert_int_equal(objects(), 0);
	assert_false(has(SOME, LARGE));
	for (unsigned n = 0; n < SOME; n++)
		assert_false(has(n, n * 3000));
	put(0, LARGE);
	close_cache();
	open_cache();
	assert_true(has(0, LARGE));
	close_cache();
}

static void a_folder_that_is_none(void **state)
{
	struct cache_settings settings = small_cache_settings();

	settings.disk_path = "/dev/null/x";
	settings.disk_bytes = 1 << 20;
	(void)state;
	assert_int_equal(cache_new(&settings, &cache), -ENOTDIR);
	assert_null(cache);
}

/* Files that nobody wrote here stay, whatever their names. */
static void files_of_others(void **state)
{
	static const char *const names[] = {
		"00/0000000000000000", "00/x", "00/00000000000000001",
	};

	(void)state;
	open_cache();
	put(1, 10);
	close_cache();
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		FILE *f = fopen(disk_folder_path(names[i]), "w");

		assert_non_null(f);
		fclose(f);
	}
	open_cache();
	assert_true(has(1, 10));
	close_cache();
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		assert_int_equal(access(disk_folder_path(names[i]), F_OK), 0);
}

/* One try of a start; whether what was to fail has failed. */
static bool start_fails(bool (*has_failed)(void))
{
	int err = try_open(64 * KIB, 8192 * KIB, 4096 * KIB);
	bool failed = has_failed();

	call_fail_at("", 0, 0);
	alloc_fail_at(0);
	if (err) {
		assert_true(failed);
		assert_null(cache);
		return true;
	}
	/* it may have none of its disk, and say so */
	for (unsigned n = 0; n < SOME; n++)
		assert_true(has(n, n ? LARGE : 10) || failed);
	close_cache();
	return failed;
}

static bool has_call_failed(void)
{
	return call_failed();
}

static bool has_alloc_failed(void)
{
	return alloc_failed();
}

/* Whatever it is, everything is there at the next one. */
static void starts_that_fail(void **state)
{
	static const char *const calls[] = {
		"mkdir", "open", "flock", "mkdirat", "openat", "fdopendir",
		"fstat", "pread", "pthread_create",
	};

	(void)state;
	open_cache();
	for (unsigned n = 0; n < SOME; n++)
		put(n, n ? LARGE : 10);
	close_cache();
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		unsigned n = 1;

		while (call_fail_at(calls[i], n, EIO),
		       start_fails(has_call_failed))
			n += n < 4 ? 1 : 2 * n; /* there are 256 folders */
		assert_true(n > 1);
	}
	for (unsigned n = 1; alloc_fail_at(n), start_fails(has_alloc_failed);)
		n += n < 50 ? 1 : n / 10; /* most are of the catalog */
}

/* Storing and reading without memory: a response is right, or there is none;
 * and those before it stay. */
static void work_without_memory(void **state)
{
	struct fields request = request_of(SOME);
	struct cached *c = disk_response(SOME, LARGE), *got;
	struct scd_key key = key_of(SOME);

	(void)state;
	open_sized(0, 8192 * KIB, 4096 * KIB);
	for (unsigned n = 0; n < SOME; n++)
		put(n, n ? LARGE : 10);
	for (unsigned n = 1; n < 40; n++) {
		const struct cache_fill fill = { &key, &request,
						 cache_purges(cache), NULL };
		struct disk_read read = { .loop = loop };
		enum cachestatus_fwd why;
		bool done = false;

		alloc_fail_at(n);
		(void)cache_put(cache, &fill, c);
		alloc_fail_at(n);
		read.call = (struct loop_call){ .run = on_read, .arg = &done };
		got = cache_get(cache, &key, &request, &why);
		if (!got && cache_read(cache, &key, &request, &read)) {
			while (!done)
				assert_int_equal(loop_turn(loop, 1000), 0);
			got = read.found;
		}
		alloc_fail_at(0);
		assert_true(!got || got->body_len == LARGE);
		cached_unref(&got);
		assert_true(has(n % SOME, n % SOME ? LARGE : 10));
	}
	cached_unref(&c);
	fields_free(&request);
	close_cache();
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(a_restart_keeps_all),
		CASE(what_is_in_use_outlives_a_restart),
		CASE(a_large_one_makes_the_filter_fit),
		CASE(drops_and_replacements_last),
		CASE(what_has_no_room_goes),
		CASE(what_has_no_room_in_the_queue),
		CASE(damaged_bodies_are_not_served),
		CASE(blocks_damaged_meanwhile_are_not_read),
		CASE(writes_that_fail),
		CASE(every_write_fails),
		CASE(every_read_fails),
		CASE(nothing_comes_back_that_was_given_up),
		CASE(a_folder_that_is_none),
		CASE(files_of_others),
		CASE(starts_that_fail),
		CASE(work_without_memory),
	};
	return cmocka_run_group_tests(tests, disk_folder_make,
				      disk_folder_remove);
}
