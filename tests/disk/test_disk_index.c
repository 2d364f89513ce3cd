/*
 * Records and index of the disk tier: what was written is read, and nothing
 * else, whatever becomes of the bytes.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "codec/cursor.h"
#include "digestd/disk/cached.h"
#include "digestd/disk/disk_index.h"
#include "digestd/disk/disk_record.h"
#include "tests/disk/disk_folder.h"
#include "tests/rounds.h"
#include "tests/unit.h"

enum { MAP_BYTES = 1 << 22 };

/* Bodies of 1, 2 and more blocks. */
static uint64_t len_of(unsigned n)
{
	return n % 4 * 60000 + 1000;
}

static void make_record(unsigned n, uint8_t **bytes, size_t *len)
{
	uint8_t sums[8 * 8] = { (uint8_t)(n * 77) };
	struct disk_body body = { .id = n, .len = len_of(n), .sums = sums };
	struct cached *c = disk_response(n, 0);

	assert_int_equal(disk_record_write(c, &body, bytes, len), 0);
	cached_unref(&c);
}

static void records_round_trip(void **state)
{
	(void)state;
	for (unsigned n = 1; n < 4; n++) {
		struct disk_body body = { .id = n };
		struct cached *c, *before = disk_response(n, 0);
		struct fields fields;
		uint8_t *bytes;
		size_t len;

		make_record(n, &bytes, &len);
		assert_int_equal(disk_record_read(bytes, len, &body, &c), 0);
		assert_int_equal(body.len, len_of(n));
		assert_int_equal(disk_body_sum(&body, 0), n * 77 & 0xff);
		if (n > 1)
			assert_int_equal(disk_body_sum(&body, 1), 0);
		assert_string_equal(cached_uri(c), cached_uri(before));
		assert_int_equal(c->status, 200);
		/* no bits of it are unused */
		assert_memory_equal(&c->freshness, &before->freshness,
				    sizeof(c->freshness));
		assert_int_equal(cached_fields(c, &fields), 0);
		assert_int_equal(fields_count(&fields), 2);
		assert_string_equal(fields_get(&fields, "content-type"),
				    "a/b");
		assert_string_equal(fields_get(&fields, "x-empty"), "");
		fields_free(&fields);
		assert_int_equal(fields_count(cached_selecting(c)), n % 2);
		assert_null(cached_body(c));
		cached_unref(&c);
		cached_unref(&before);
		free(bytes);
	}
}

/* They have when the response came, and its age then; and longer lifetimes. */
static void older_records_are_read(void **state)
{
	enum { CAME = 32, V1 = 0x31445353 };
	struct disk_body body = { .id = 4 };
	struct cached *c;
	struct scd__writer w;
	uint8_t *bytes;
	size_t len;

	(void)state;
	make_record(4, &bytes, &len); /* of one block */
	w = scd__writer(bytes, 4);
	scd__write_u32(&w, V1);
	w = scd__writer(bytes + CAME, 24);
	scd__write_u64(&w, 5000);
	scd__write_u64(&w, 300);
	scd__write_u64(&w, INT64_MAX);
	w = scd__writer(bytes + len - 8, 8);
	scd__write_u64(&w, disk_sum(4, bytes, len - 8));
	assert_int_equal(disk_record_read(bytes, len, &body, &c), 0);
	assert_int_equal(disk_body_sum(&body, 0), 4 * 77 & 0xff);
	assert_int_equal(freshness_age(&c->freshness, 5001), 301);
	assert_int_equal(c->freshness.lifetime_s, INT32_MAX);
	assert_true(c->freshness.explicit);
	cached_unref(&c);
	free(bytes);
}

/* Its one checksum says nothing of the blocks. */
static void older_records_of_large_bodies_are_refused(void **state)
{
	enum { V1 = 0x31445353 };
	struct disk_body body = { .id = 2 };
	struct cached *c = NULL;
	struct scd__writer w;
	uint8_t *bytes;
	size_t len;

	(void)state;
	make_record(2, &bytes, &len);
	w = scd__writer(bytes, 4);
	scd__write_u32(&w, V1);
	w = scd__writer(bytes + len - 8, 8);
	scd__write_u64(&w, disk_sum(2, bytes, len - 8));
	assert_int_equal(disk_record_read(bytes, len, &body, &c), -EBADMSG);
	assert_null(c);
	free(bytes);
}

/* The first block's sum is what the whole body's was; no two blocks of the same
 * bytes have the same. */
static void bodies_are_summed_by_blocks(void **state)
{
	static const uint64_t lens[] = { 0, 1, 65535, 65536, 65537, 200000 };
	char *bytes = calloc(1, 200000);

	(void)state;
	assert_non_null(bytes);
	for (size_t i = 0; i < NROWS(lens); i++) {
		struct disk_body body = { .id = 7, .len = lens[i] };
		uint8_t *sums = disk_body_sums(7, lens[i] ? bytes : NULL,
					       lens[i]);
		uint64_t n = disk_blocks(lens[i]), sum = 0;

		assert_non_null(sums);
		body.sums = sums;
		for (uint64_t b = 0; b < n; b++)
			sum += disk_block_bytes(lens[i], b);
		assert_int_equal(sum, lens[i]);
		assert_int_equal(n, lens[i] ? (lens[i] + 65535) / 65536 : 1);
		assert_true(disk_body_sum(&body, 0) ==
			    disk_sum(7, bytes, disk_block_bytes(lens[i], 0)));
		for (uint64_t b = 1; b < n; b++)
			assert_true(disk_body_sum(&body, b) !=
				    disk_body_sum(&body, b - 1));
		free(sums);
	}
	free(bytes);
}

static void damaged_records_are_refused(void **state)
{
	struct disk_body body = { .id = 1 };
	struct cached *c = NULL;
	uint8_t *bytes;
	size_t len;

	(void)state;
	make_record(1, &bytes, &len);
	for (size_t cut = 0; cut < len; cut++)
		assert_int_equal(disk_record_read(bytes, cut, &body, &c),
				 -EBADMSG);
	for (size_t bit = 0; bit < 8 * len; bit++) {
		bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
		assert_int_equal(disk_record_read(bytes, len, &body, &c),
				 -EBADMSG);
		bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
	}
	body.id = 2; /* it is another object's */
	assert_int_equal(disk_record_read(bytes, len, &body, &c), -EBADMSG);
	assert_null(c);
	free(bytes);
}

static struct disk_index *open_index(void)
{
	struct disk_index *index;

	assert_int_equal(disk_index_open(disk_folder(), MAP_BYTES, &index), 0);
	return index;
}

static int put(struct disk_index *index, unsigned n)
{
	uint8_t *bytes;
	size_t len;
	int err;

	make_record(n, &bytes, &len);
	err = disk_index_put(index, n, bytes, len);
	free(bytes);
	return err;
}

static void fill(struct disk_index *index, unsigned first, unsigned end)
{
	assert_int_equal(disk_index_begin(index), 0);
	for (unsigned n = first; n < end; n++)
		assert_int_equal(put(index, n), 0);
	assert_int_equal(disk_index_commit(index), 0);
}

/* Counts, and holds each against what it should be. */
static int check_one(void *arg, uint64_t id, const uint8_t *bytes, size_t len)
{
	uint8_t *right;
	size_t right_len;

	make_record((unsigned)id, &right, &right_len);
	assert_int_equal(len, right_len);
	assert_memory_equal(bytes, right, len);
	free(right);
	++*(unsigned *)arg;
	return 0;
}

static unsigned count(struct disk_index *index)
{
	unsigned n = 0;

	assert_int_equal(disk_index_each(index, check_one, &n), 0);
	return n;
}

static void batches_are_whole(void **state)
{
	struct disk_index *index;
	uint8_t *bytes;
	size_t len;

	(void)state;
	disk_folder_empty();
	index = open_index();
	fill(index, 1, 301);
	assert_int_equal(count(index), 300);
	assert_int_equal(disk_index_get(index, 301, &bytes, &len), -ENOENT);
	assert_int_equal(disk_index_get(index, 300, &bytes, &len), 0);
	assert_true(disk_record_is_good(300, bytes, len));
	free(bytes);
	assert_int_equal(disk_index_begin(index), 0);
	assert_int_equal(disk_index_remove_id(index, 7), 0);
	assert_int_equal(disk_index_remove_id(index, 999), 0);
	assert_int_equal(put(index, 301), 0);
	disk_index_give_up(index);
	assert_int_equal(count(index), 300);
	disk_index_close(&index);
	index = open_index();
	assert_int_equal(count(index), 300);
	disk_index_close(&index);
}

/* Puts in records from 1 on until there is no room. Returns how many. */
static unsigned fill_whole(struct disk_index *index)
{
	unsigned n = 1, i;
	int err = 0;

	while (!err) {
		assert_int_equal(disk_index_begin(index), 0);
		for (i = 0; i < 100 && !err; i++)
			err = put(index, n + i);
		if (!err)
			err = disk_index_commit(index);
		disk_index_give_up(index);
		if (!err)
			n += i;
	}
	assert_int_equal(err, -ENOSPC);
	return n - 1;
}

static void a_full_index_keeps_what_it_has(void **state)
{
	struct disk_index *index;
	unsigned n, had;

	(void)state;
	disk_folder_empty();
	index = open_index();
	had = fill_whole(index);
	n = had + 1;
	assert_true(had > 1000);
	assert_int_equal(count(index), had);
	disk_index_close(&index);
	/* a start with more room takes all of it along */
	assert_int_equal(disk_index_heal(disk_folder(), 2 * MAP_BYTES), 0);
	assert_int_equal(disk_index_open(disk_folder(), 2 * MAP_BYTES, &index),
			 0);
	fill(index, n, n + 100);
	assert_int_equal(count(index), had + 100);
	disk_index_close(&index);
}

struct reads {
	struct disk_index *index;
	unsigned done; /* changed atomically */
	bool end;      /* likewise */
};

/* Reads the first record, until it is told to end. */
static void *read_on(void *arg)
{
	struct reads *r = arg;

	while (!__atomic_load_n(&r->end, __ATOMIC_RELAXED)) {
		uint8_t *bytes;
		size_t len;

		if (disk_index_get(r->index, 1, &bytes, &len))
			break;
		if (disk_record_is_good(1, bytes, len))
			__atomic_add_fetch(&r->done, 1, __ATOMIC_RELAXED);
		free(bytes);
	}
	return NULL;
}

/* Waits for some more reads. */
static void let_read(const struct reads *r)
{
	unsigned before = __atomic_load_n(&r->done, __ATOMIC_RELAXED);

	while (__atomic_load_n(&r->done, __ATOMIC_RELAXED) < before + 10)
		usleep(1000);
}

static void a_full_one_grows_while_it_is_read(void **state)
{
	struct disk_index *index;
	struct reads reads = { .done = 0 };
	pthread_t reader;
	unsigned had;

	(void)state;
	disk_folder_empty();
	index = open_index();
	had = fill_whole(index);
	reads.index = index;
	assert_int_equal(pthread_create(&reader, NULL, read_on, &reads), 0);
	for (unsigned i = 1; i < 8; i++) {
		let_read(&reads);
		assert_int_equal(disk_index_grow(index, (i + 1) * MAP_BYTES),
				 0);
		fill(index, had + 100 * i, had + 100 * (i + 1));
	}
	let_read(&reads);
	assert_int_equal(disk_index_grow(index, MAP_BYTES), 0); /* stays */
	fill(index, had + 800, had + 900);
	__atomic_store_n(&reads.end, true, __ATOMIC_RELAXED);
	pthread_join(reader, NULL);
	assert_int_equal(count(index), had + 800);
	disk_index_close(&index);
}

/* A new file of the same records takes the place of the old one. */
static void healing_a_good_one_changes_nothing(void **state)
{
	struct disk_index *index;
	struct stat before, after;

	(void)state;
	disk_folder_empty();
	assert_int_equal(disk_index_heal(disk_folder(), MAP_BYTES), 0);
	index = open_index();
	fill(index, 1, 10001);
	disk_index_close(&index);
	assert_int_equal(stat(disk_folder_path("index.mdb"), &before), 0);
	assert_int_equal(disk_index_heal(disk_folder(), MAP_BYTES), 0);
	assert_int_equal(stat(disk_folder_path("index.mdb"), &after), 0);
	assert_int_not_equal(before.st_ino, after.st_ino);
	assert_int_not_equal(access(disk_folder_path("index.mdb.new"), F_OK),
			     0);
	index = open_index();
	assert_int_equal(count(index), 10000);
	disk_index_close(&index);
}

/* One that has no room for its copy stays as it is. */
static void no_room_to_heal(void **state)
{
	struct disk_index *index;

	(void)state;
	disk_folder_empty();
	index = open_index();
	fill(index, 1, 3001);
	disk_index_close(&index);
	assert_int_equal(disk_index_heal(disk_folder(), 1 << 16), -ENOSPC);
	index = open_index();
	assert_int_equal(count(index), 3000);
	disk_index_close(&index);
}

static size_t read_file(uint8_t **bytes)
{
	FILE *f = fopen(disk_folder_path("index.mdb"), "rb");
	struct stat st;

	assert_non_null(f);
	assert_int_equal(fstat(fileno(f), &st), 0);
	*bytes = malloc((size_t)st.st_size);
	assert_int_equal(fread(*bytes, 1, (size_t)st.st_size, f), st.st_size);
	fclose(f);
	return (size_t)st.st_size;
}

static void write_file(const uint8_t *bytes, size_t len)
{
	FILE *f = fopen(disk_folder_path("index.mdb"), "wb");

	assert_non_null(f);
	assert_int_equal(fwrite(bytes, 1, len, f), len);
	fclose(f);
}

/* Opened as a start does. Returns how many records there are. */
static unsigned start(void)
{
	struct disk_index *index;
	unsigned n;
	int err = disk_index_heal(disk_folder(), MAP_BYTES);

	assert_in_range(err + 1, 1, 2);
	index = open_index();
	n = count(index);
	fill(index, 20000, 20010);
	assert_int_equal(count(index), n + 10);
	disk_index_close(&index);
	return n;
}

static void damage_never_crashes_a_start(void **state)
{
	const int rounds = rounds_of(60, 3000);
	unsigned kept = 0;
	struct disk_index *index;
	uint8_t *good, *bad;
	size_t len;

	(void)state;
	disk_folder_empty();
	index = open_index();
	fill(index, 1, 201);
	disk_index_close(&index);
	len = read_file(&good);
	bad = malloc(len);
	srandom(1);
	for (int i = 0; i < rounds; i++) {
		size_t left = i % 3 ? len : (size_t)random() % len;

		memcpy(bad, good, len);
		for (int flips = i % 5; flips; flips--)
			bad[(size_t)random() % len] ^=
				(uint8_t)(1 << random() % 8);
		write_file(bad, left);
		kept += start();
	}
	/* one flip costs one record, or a page of them */
	assert_true(kept > 20 * (unsigned)rounds);
	free(bad);
	free(good);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(records_round_trip),
		cmocka_unit_test(older_records_are_read),
		cmocka_unit_test(older_records_of_large_bodies_are_refused),
		cmocka_unit_test(bodies_are_summed_by_blocks),
		cmocka_unit_test(damaged_records_are_refused),
		cmocka_unit_test(batches_are_whole),
		cmocka_unit_test(a_full_index_keeps_what_it_has),
		cmocka_unit_test(a_full_one_grows_while_it_is_read),
		cmocka_unit_test(healing_a_good_one_changes_nothing),
		cmocka_unit_test(no_room_to_heal),
		cmocka_unit_test(damage_never_crashes_a_start),
	};
	return cmocka_run_group_tests(tests, disk_folder_make,
				      disk_folder_remove);
}
