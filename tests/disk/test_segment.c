/*
 * What a segment is made of, without files: records, tables, and the choice of
 * the segment that is cleaned.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "digestd/disk/cached.h"
#include "digestd/disk/disk_body.h"
#include "digestd/disk/segment_record.h"
#include "digestd/disk/segment_space.h"
#include "digestd/disk/segment_table.h"
#include "tests/codec/alloc.h"
#include "tests/disk/disk_folder.h"
#include "tests/unit.h"

enum { SEED = 12345, RECORDS = 5 };

/* Records */

static uint8_t *make_record(struct cached *c, const uint8_t *sums, size_t *len)
{
	uint8_t *bytes;

	*len = segment_record_bytes(c, sums);
	assert_int_equal(*len % SEGMENT_UNIT, 0);
	bytes = malloc(*len);
	assert_non_null(bytes);
	segment_record_write(c, 77, sums, SEED, bytes);
	return bytes;
}

static void assert_same(struct cached *a, struct cached *b)
{
	struct fields f, g;
	const char *text, *other;
	size_t len, other_len;

	text = cached_text(a, &len);
	other = cached_text(b, &other_len);
	assert_int_equal(len, other_len);
	assert_memory_equal(text, other, len);
	assert_int_equal(a->status, b->status);
	assert_memory_equal(&a->freshness, &b->freshness, sizeof(a->freshness));
	f = *cached_selecting(a);
	g = *cached_selecting(b);
	assert_int_equal(fields_count(&f), fields_count(&g));
	for (size_t i = 0; i < fields_count(&f); i++)
		assert_string_equal(fields_at(&f, i)->value,
				    fields_at(&g, i)->value);
}

static void records_there_and_back(void **state)
{
	static const size_t sizes[] = { 0, 1, 15, 16, 1000, SEGMENT_BODY_MAX };

	(void)state;
	for (unsigned i = 0; i < NROWS(sizes); i++) {
		struct cached *c = disk_response(i, sizes[i]), *back;
		struct segment_record r;
		size_t len;
		uint8_t *bytes = make_record(c, NULL, &len);

		assert_int_equal(segment_record_read(bytes, len, SEED, &r), 0);
		assert_int_equal(r.kind, SEGMENT_OBJECT);
		assert_int_equal(r.bytes, len);
		assert_int_equal(segment_record_measure(bytes, 8), len);
		assert_int_equal(r.id, 77);
		assert_false(r.in_file);
		assert_int_equal(r.body_len, sizes[i]);
		assert_memory_equal(r.body, cached_body(c), sizes[i]);
		assert_int_equal(segment_record_response(&r, &back), 0);
		assert_same(c, back);
		assert_int_equal(segment_record_read(bytes, len, SEED + 1, &r),
				 -EBADMSG);
		cached_unref(&back);
		cached_unref(&c);
		free(bytes);
	}
}

static void records_of_files(void **state)
{
	struct cached *c = disk_response(1, 200000);
	uint8_t *sums = disk_body_sums(77, cached_body(c), 200000);
	struct segment_record r;
	size_t len;
	uint8_t *bytes = make_record(c, sums, &len);

	(void)state;
	assert_true(len < 1000);
	assert_int_equal(segment_record_read(bytes, len, SEED, &r), 0);
	assert_true(r.in_file);
	assert_int_equal(r.body_len, 200000);
	assert_memory_equal(r.sums, sums, 8 * disk_blocks(200000));
	free(sums);
	free(bytes);
	cached_unref(&c);
}

/* Any cut and any flipped bit is found. */
static void records_that_are_damaged(void **state)
{
	struct cached *c = disk_response(3, 100);
	struct segment_record r;
	size_t len, content;
	uint8_t *bytes = make_record(c, NULL, &len), *copy;

	(void)state;
	content = bytes[4] + 256u * bytes[5]; /* without its padding */
	for (size_t n = 0; n < content; n++) {
		copy = malloc(n + 1); /* for sanitizers */
		memcpy(copy, bytes, n);
		assert_int_equal(segment_record_read(copy, n, SEED, &r),
				 -EBADMSG);
		free(copy);
	}
	for (size_t bit = 0; bit < 8 * content; bit++) {
		bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
		assert_int_equal(segment_record_read(bytes, len, SEED, &r),
				 -EBADMSG);
		bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
	}
	assert_int_equal(segment_record_read(bytes, len, SEED, &r), 0);
	free(bytes);
	cached_unref(&c);
}

/* What is in a record, as in docs/DISK.md. */
enum { AT_SUM = 8, AT_KIND = 16, AT_VERSION = 17, AT_FLAGS = 18, AT_ID = 24,
       AT_BODY_LEN = 32, AT_SELECTING_LEN = 60 };

/* A number in little-endian bytes. */
static void set_number(uint8_t *at, uint64_t number, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++)
		at[i] = (uint8_t)(number >> 8 * i);
}

static const struct {
	const char *label;
	size_t at, bytes;
	uint64_t number;
	bool in_file;
} wrong[] = {
	{ "a kind that there is not", AT_KIND, 1, 3, false },
	{ "another version", AT_VERSION, 1, 255, false },
	{ "no number", AT_ID, 8, 0, false },
	{ "a body that belongs in a file", AT_BODY_LEN, 8,
	  SEGMENT_BODY_MAX + 1, false },
	{ "a body that is longer than the record", AT_BODY_LEN, 8, 1000,
	  false },
	{ "a body in a file, without its checksums", AT_BODY_LEN, 8, 1 << 20,
	  true },
	{ "a body that no file has", AT_BODY_LEN, 8, UINT64_MAX, true },
	{ "fields that are longer than the record", AT_SELECTING_LEN, 4,
	  UINT32_MAX, false },
};

/* The checksum is right, and what it is of is not: nothing is believed. */
static void records_that_were_written_wrong(void **state)
{
	(void)state;
	for (size_t i = 0; i < NROWS(wrong); i++) {
		struct cached *c = disk_response(3, 100);
		struct segment_record r;
		size_t len, content;
		uint8_t *bytes = make_record(c, NULL, &len);

		content = bytes[4] + 256u * bytes[5];
		set_number(bytes + wrong[i].at, wrong[i].number,
			   wrong[i].bytes);
		bytes[AT_FLAGS] |= wrong[i].in_file;
		set_number(bytes + AT_SUM,
			   XXH3_64bits_withSeed(bytes + AT_KIND,
						content - AT_KIND, SEED), 8);
		if (segment_record_read(bytes, len, SEED, &r) != -EBADMSG)
			fail_msg("%s", wrong[i].label);
		free(bytes);
		cached_unref(&c);
	}
}

/* Without its first bytes nobody knows how long it is. */
static void records_that_cannot_be_measured(void **state)
{
	struct cached *c = disk_response(3, 100);
	size_t len;
	uint8_t *bytes = make_record(c, NULL, &len);

	(void)state;
	assert_int_equal(segment_record_measure(bytes, 8), len);
	assert_int_equal(segment_record_measure(bytes, 7), 0);
	bytes[0] ^= 1;
	assert_int_equal(segment_record_measure(bytes, 8), 0);
	free(bytes);
	cached_unref(&c);
}

static void records_without_memory(void **state)
{
	struct cached *c = disk_response(1, 10), *back;
	struct segment_record r;
	unsigned n = 0;
	size_t len;
	uint8_t *bytes = make_record(c, NULL, &len);
	int err;

	(void)state;
	assert_int_equal(segment_record_read(bytes, len, SEED, &r), 0);
	while (alloc_fail_at(++n), err = segment_record_response(&r, &back),
	       alloc_failed()) {
		/* what only saves memory may fail */
		assert_true(err == -ENOMEM || !err);
		if (!err)
			cached_unref(&back);
	}
	alloc_fail_at(0);
	assert_int_equal(err, 0);
	cached_unref(&back);
	free(bytes);
	cached_unref(&c);
}

struct seen {
	unsigned objects, removals;
	uint32_t last;
};

static void see(void *arg, uint32_t at, const struct segment_record *r)
{
	struct seen *seen = arg;

	seen->objects += r->kind == SEGMENT_OBJECT;
	seen->removals += (unsigned)r->nremovals;
	seen->last = at;
}

/* Some records in a row; and removals. */
static uint8_t *make_segment(size_t *len)
{
	const struct disk_place gone[3] = { { 1, 2 }, { 3, 4 }, { 5, 6 } };
	uint8_t *all = calloc(1, 4096);
	struct cached *c;

	assert_non_null(all);
	*len = 0;
	for (unsigned i = 0; i < RECORDS; i++) {
		c = disk_response(i, 50 * i);
		segment_record_write(c, i + 1, NULL, SEED, all + *len);
		*len += segment_record_bytes(c, false);
		cached_unref(&c);
	}
	segment_removals_write(gone, 3, SEED, all + *len);
	*len += segment_removals_bytes(3);
	return all;
}

static void one_damaged_record_costs_no_other(void **state)
{
	struct seen all = { 0 };
	size_t len;
	uint8_t *bytes = make_segment(&len);

	(void)state;
	assert_int_equal(segment_scan(bytes, len, SEED, see, &all), len);
	assert_int_equal(all.objects, RECORDS);
	assert_int_equal(all.removals, 3);
	for (size_t at = 0; at < len; at++) {
		struct seen seen = { 0 };

		bytes[at] ^= 0x10;
		segment_scan(bytes, len, SEED, see, &seen);
		assert_true(seen.objects + seen.removals / 3 >= RECORDS);
		bytes[at] ^= 0x10;
	}
	for (size_t cut = 0; cut <= len; cut++) {
		struct seen seen = { 0 };

		assert_true(segment_scan(bytes, cut, SEED, see, &seen) <= len);
		assert_true(cut < len || seen.removals == 3);
	}
	free(bytes);
}

/* A body that looks like a record, where the one around it is damaged. */
static void what_is_in_a_body_is_no_record(void **state)
{
	size_t len, inner_len;
	uint8_t *inner, *outer;
	struct cached *c = disk_response(1, 100), *around;
	struct seen seen = { 0 };
	char *body;

	(void)state;
	inner = make_record(c, NULL, &inner_len);
	around = disk_response(2, 2 * inner_len);
	body = (char *)(uintptr_t)cached_body(around);
	for (size_t shift = 0; shift < SEGMENT_UNIT; shift++) {
		/* as one would make it who does not know the seed */
		segment_record_write(c, 5, NULL, 0, inner);
		memcpy(body + shift, inner, inner_len);
		outer = make_record(around, NULL, &len);
		outer[8] ^= 1;
		segment_scan(outer, len, SEED, see, &seen);
		assert_int_equal(seen.objects, 0);
		free(outer);
	}
	free(inner);
	cached_unref(&c);
	cached_unref(&around);
}

/* Tables */

static void fill_table(struct segment_table *t)
{
	for (uint32_t i = 0; i < 100; i++) {
		const struct segment_entry e = {
			.key = { i, i + 1 },
			.id = i + 1,
			.at = 10 * i,
			.units = 7,
			.file_bytes = i % 3 ? 0 : 100000,
			.selecting = (const uint8_t *)"abcdefgh",
			.selecting_len = i % 4 ? 0 : 8,
		};

		assert_int_equal(segment_table_add(t, &e), 0);
	}
	for (uint32_t i = 0; i < 10; i++)
		assert_int_equal(segment_table_add_removal(
			t, (struct disk_place){ i, i }), 0);
	t->secret = 99;
}

static int check_entry(void *arg, const struct segment_entry *e)
{
	uint32_t *i = arg;

	while (*i % 10 == 5) /* these are left out */
		++*i;
	assert_int_equal(e->key.lo, *i);
	assert_int_equal(e->key.hi, *i + 1);
	assert_int_equal(e->id, *i + 1);
	assert_int_equal(e->at, 10 * *i);
	assert_int_equal(e->units, 7);
	assert_int_equal(e->file_bytes, *i % 3 ? 0 : 100000);
	assert_int_equal(e->selecting_len, *i % 4 ? 0 : 8);
	if (e->selecting_len)
		assert_memory_equal(e->selecting, "abcdefgh", 8);
	++*i;
	return 0;
}

static void tables_there_and_back(void **state)
{
	struct segment_table t = { 0 }, back = { 0 };
	uint8_t *bytes;
	uint32_t i = 0;
	size_t len;

	(void)state;
	fill_table(&t);
	len = segment_table_bytes(&t);
	bytes = malloc(len);
	assert_non_null(bytes);
	segment_table_write(&t, SEED, bytes);
	assert_int_equal(segment_table_measure(bytes + len -
					       SEGMENT_FOOT_BYTES), len);
	assert_int_equal(segment_table_read(&back, bytes, len, SEED), 0);
	for (uint32_t n = 5; n < 100; n += 10)
		segment_table_drop(&back, 10 * n);
	segment_table_drop(&back, 11);
	assert_int_equal(segment_table_each(&back, check_entry, &i), 0);
	assert_int_equal(i, 100);
	assert_int_equal(back.nremovals, 10);
	assert_int_equal(back.removals[9].segment, 9);
	assert_int_equal(back.secret, 99);
	segment_table_free(&back);
	for (size_t bit = 0; bit < 8 * len; bit += 3) {
		bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
		assert_int_equal(segment_table_read(&back, bytes, len, SEED),
				 -EBADMSG);
		bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
	}
	for (size_t n = 0; n < len; n++)
		assert_int_equal(segment_table_read(&back, bytes, n, SEED),
				 -EBADMSG);
	for (unsigned n = 1; alloc_fail_at(n),
	     segment_table_read(&back, bytes, len, SEED); n++)
		assert_null(back.entries);
	alloc_fail_at(0);
	segment_table_free(&back);
	segment_table_free(&t);
	free(bytes);
}

/* One that was read has no room to spare. */
static void tables_grow_after_they_were_read(void **state)
{
	const struct segment_entry one = { .id = 1, .at = 2, .units = 7 };
	struct segment_table t = { 0 }, back = { 0 };
	uint8_t bytes[256];
	size_t len;

	(void)state;
	assert_int_equal(segment_table_add(&t, &one), 0);
	len = segment_table_bytes(&t);
	assert_true(len <= sizeof(bytes));
	segment_table_write(&t, SEED, bytes);
	assert_int_equal(segment_table_read(&back, bytes, len, SEED), 0);
	for (int i = 0; i < 3; i++)
		assert_int_equal(segment_table_add(&back, &one), 0);
	assert_int_equal(back.nentries, 4);
	segment_table_free(&back);
	segment_table_free(&t);
}

/* Space */

static void the_emptiest_is_cleaned(void **state)
{
	struct segment_space s = { 0 };
	struct segment_info *i;

	(void)state;
	assert_null(segment_space_victim(&s));
	for (uint32_t n = 1; n <= 40; n++) {
		assert_int_equal(segment_space_add(&s, 2 * n), 0);
		i = segment_space_find(&s, 2 * n);
		segment_space_set_bytes(&s, i, 1000);
		i->live = 990 - n;
	}
	assert_int_equal(s.bytes, 40000);
	assert_null(segment_space_find(&s, 3));
	assert_null(segment_space_victim(&s)); /* none is sealed */
	for (uint32_t n = 1; n <= 20; n++)
		segment_space_find(&s, 2 * n)->sealed = true;
	assert_null(segment_space_victim(&s)); /* 970: not worth it */
	segment_space_find(&s, 22)->sealed = true;
	segment_space_find(&s, 22)->live = 968;
	assert_int_equal(segment_space_victim(&s)->number, 22);
	/* a small one, of which less is wanted */
	segment_space_set_bytes(&s, segment_space_find(&s, 8), 100);
	segment_space_find(&s, 8)->live = 50;
	assert_int_equal(segment_space_victim(&s)->number, 8);
	segment_space_remove(&s, 8);
	segment_space_remove(&s, 9);
	assert_null(segment_space_find(&s, 8));
	assert_int_equal(segment_space_victim(&s)->number, 22);
	assert_int_equal(s.bytes, 39000);
	segment_space_free(&s);
}

static void sizes_follow_the_disk(void **state)
{
	static const struct {
		uint64_t disk, segment, objects;
	} rows[] = {
		{ 0, 4096, 0 },
		{ 10000, 4096, 0 },
		{ 1 << 20, 16384, 917504 },
		{ (uint64_t)1 << 32, 64 << 20, (uint64_t)7 << 29 },
		{ (uint64_t)1 << 40, 64 << 20, (uint64_t)7 << 37 },
	};

	(void)state;
	for (size_t i = 0; i < NROWS(rows); i++) {
		assert_int_equal(segment_space_segment_bytes(rows[i].disk),
				 rows[i].segment);
		assert_int_equal(segment_space_for_objects(rows[i].disk),
				 rows[i].objects);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(records_there_and_back),
		cmocka_unit_test(records_of_files),
		cmocka_unit_test(records_that_are_damaged),
		cmocka_unit_test(records_that_were_written_wrong),
		cmocka_unit_test(records_that_cannot_be_measured),
		cmocka_unit_test(records_without_memory),
		cmocka_unit_test(one_damaged_record_costs_no_other),
		cmocka_unit_test(what_is_in_a_body_is_no_record),
		cmocka_unit_test(tables_there_and_back),
		cmocka_unit_test(tables_grow_after_they_were_read),
		cmocka_unit_test(the_emptiest_is_cleaned),
		cmocka_unit_test(sizes_follow_the_disk),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
