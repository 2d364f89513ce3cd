/*
 * What the disk tier costs: writing objects, keeping them, and a start that
 * finds them again.
 *
 *     bench_disk [OBJECTS [BYTES [FOLDER [FULL]]]]
 *
 * by default 1e6 objects with bodies of 1024 bytes, in a new folder below
 * TMPDIR or /tmp, on a disk that has room for all. FULL is how many times as
 * much is written as the disk has room for, every fourth of them in place of an
 * older one: then segments are cleaned. Times of processors are those of the
 * whole process, and of the disk's threads alone. Memory is what the allocator
 * has given out beside the memory tier, which is empty; so it has the catalog,
 * the policy and the index of keys in it. The start is cache_new(), with the
 * catalog that the first digest is made of.
 */
#include "config.h"

#include <ftw.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "digestd/cache/cache.h"
#include "digestd/disk/cached.h"
#include "digestd/disk/disk.h"
#include "tests/bench/clock.h"
#include "tests/codec/random.h"

enum { AHEAD = 8192 }; /* objects that wait to be written, at most */

static const uint8_t secret[16] = "0123456789abcde";

/* The fields of a small page. */
static const char *const lines[][2] = {
	{ "Date", "Sun, 06 Nov 1994 08:49:37 GMT" },
	{ "Content-Type", "text/html; charset=utf-8" },
	{ "Cache-Control", "public, max-age=3600" },
	{ "ETag", "\"5f3a9c2e-400\"" },
	{ "Last-Modified", "Sat, 05 Nov 1994 07:00:00 GMT" },
};

static struct bench {
	uint64_t objects, body_bytes, disk_bytes;
	char folder[256];
	uint64_t files_bytes; /* of the folder */
} bench;

static void bench_fail(const char *what)
{
	fprintf(stderr, "bench_disk: %s\n", what);
	exit(2);
}

static int bench_visit(const char *path, const struct stat *st, int type,
		       struct FTW *at)
{
	(void)path;
	(void)at;
	if (type == FTW_F)
		bench.files_bytes += (uint64_t)st->st_blocks * 512;
	return 0;
}

static int bench_remove(const char *path, const struct stat *st, int type,
			struct FTW *at)
{
	(void)st;
	(void)type;
	(void)at;
	return remove(path);
}

static struct cache *bench_open(void)
{
	const struct cache_settings settings = {
		.max_bytes = 0,
		.max_variants = 4,
		.policy = "sieve",
		.nbits = 1 << 25,
		.nhash = 3,
		.bits_per_key = 32,
		.max_bits = 1 << 25,
		.disk_path = bench.folder,
		.disk_bytes = bench.disk_bytes,
		.disk_queue_bytes = 256 << 20,
		.hash_secret = secret,
	};
	struct cache *cache;

	if (cache_new(&settings, &cache))
		bench_fail("no cache");
	return cache;
}

static struct cached *bench_response(const char *uri)
{
	const struct freshness freshness = { .lifetime_s = 3600 };
	struct fields fields;
	const struct cached_head head = { uri, &fields, &fields_none, 200,
					  &freshness, .for_disk = true };
	char *body = malloc(bench.body_bytes + 1);
	struct cached *c;

	fields_init(&fields);
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		if (fields_add(&fields, lines[i][0], lines[i][1]))
			bench_fail("no memory");
	}
	c = cached_new(&head);
	fields_free(&fields);
	if (!c || !body)
		bench_fail("no memory");
	memset(body, 'x', bench.body_bytes);
	cached_set_body(c, body, bench.body_bytes);
	c->place = ADMISSION_DISK;
	return c;
}

static void bench_put(struct cache *cache, uint64_t n)
{
	struct cached *c;
	struct scd_key key;
	char uri[64];

	snprintf(uri, sizeof(uri), "http://www.example.com/%llu",
		 (unsigned long long)n);
	scd_key_make(secret, "GET", uri, strlen(uri), &key);
	c = bench_response(uri);
	cache_put(cache,
		  &(struct cache_fill){ &key, &fields_none, 0, NULL }, c);
	cached_unref(&c);
}

/* Those that have been written, or will not be. */
static uint64_t bench_written(struct cache *cache)
{
	struct disk_counters now;
	struct store_stats store;

	if (!cache_disk_stats(cache, &store, &now))
		bench_fail("no disk tier");
	if (now.not_written || now.write_errors)
		bench_fail("some could not be written");
	return now.writes + now.spared;
}

static void bench_wait(struct cache *cache, uint64_t written)
{
	while (bench_written(cache) < written)
		usleep(200);
}

static double bench_process_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static uint64_t bench_number(uint64_t i, uint64_t *random)
{
	return i % 4 || i < 4 ? i : random_below(random, i);
}

/* Returns the bytes of memory that it takes. */
static size_t bench_write(uint64_t total, bool replaces)
{
	size_t before = mallinfo2().uordblks, after;
	struct cache *cache = bench_open();
	double wall = clock_now_s(), process = bench_process_s();
	double mine = clock_used_s();
	uint64_t random = 1;

	for (uint64_t i = 0; i < total; i++) {
		if (i % 1024 == 0 && i > AHEAD)
			bench_wait(cache, i - AHEAD);
		bench_put(cache, replaces ? bench_number(i, &random) : i);
	}
	bench_wait(cache, total);
	wall = clock_now_s() - wall;
	process = bench_process_s() - process;
	mine = clock_used_s() - mine;
	printf("| objects written a second | %.0f |\n", (double)total / wall);
	printf("| us of processor an object, all | %.2f |\n",
	       process / (double)total * 1e6);
	printf("| us of the disk's threads an object | %.2f |\n",
	       (process - mine) / (double)total * 1e6);
	after = mallinfo2().uordblks;
	cache_free(&cache);
	return after - before;
}

static uint64_t bench_start(void)
{
	struct disk_counters counters;
	double wall = clock_now_s(), process = bench_process_s();
	struct cache *cache = bench_open();
	struct store_stats store;

	wall = clock_now_s() - wall;
	process = bench_process_s() - process;
	printf("| ms until a start is ready | %.0f |\n", wall * 1e3);
	printf("| of which ms of processor | %.0f |\n", process * 1e3);
	if (!cache_disk_stats(cache, &store, &counters))
		bench_fail("no disk tier");
	cache_free(&cache);
	return store.entries;
}

static void bench_folder(const char *below)
{
	int len = snprintf(bench.folder, sizeof(bench.folder),
			   "%s/bench-disk-XXXXXX", below ? below : "/tmp");

	if (len >= (int)sizeof(bench.folder) || !mkdtemp(bench.folder))
		bench_fail("no folder");
}

int main(int argc, char **argv)
{
	double full = argc > 4 ? atof(argv[4]) : 0;
	uint64_t each, total, kept;
	size_t memory;

	bench.objects = argc > 1 ? (uint64_t)atof(argv[1]) : 1000000;
	bench.body_bytes = argc > 2 ? (uint64_t)atof(argv[2]) : 1024;
	if (bench.objects < 1 || bench.body_bytes < 1)
		bench_fail("[OBJECTS [BYTES [FOLDER [FULL]]]]");
	bench_folder(argc > 3 ? argv[3] : getenv("TMPDIR"));
	each = bench.body_bytes + 512;
	bench.disk_bytes = full > 0 ? bench.objects * each :
				      8 * bench.objects * (each + 4096);
	total = (uint64_t)((double)bench.objects * (full > 0 ? full : 1));
	printf("| %llu objects of %llu bytes | |\n|---|---:|\n",
	       (unsigned long long)total,
	       (unsigned long long)bench.body_bytes);
	memory = bench_write(total, full > 0);
	nftw(bench.folder, bench_visit, 16, FTW_PHYS);
	kept = bench_start();
	if (full <= 0 && kept != total)
		bench_fail("a start did not find all");
	printf("| bytes of memory an object | %.1f |\n",
	       (double)memory / (double)kept);
	printf("| bytes of disk an object | %.0f |\n",
	       (double)bench.files_bytes / (double)kept);
	nftw(bench.folder, bench_remove, 16, FTW_PHYS | FTW_DEPTH);
	return 0;
}
