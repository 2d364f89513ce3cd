/*
 * Snapshots that are taken slice by slice, while keys come and go: what comes
 * out is the filter's array at one moment, that of the last slice.
 *
 * The twin keeps every change and can make the array of each moment. A copy
 * that is made in the same slices, but not told of the changes, is the planted
 * fault: it is the array of no moment.
 */
#include <stdlib.h>
#include <string.h>

#include "digestd/mesh/catalog.h"
#include "tests/codec/alloc.h"
#include "tests/codec/random.h"
#include "tests/unit.h"

enum {
	NHASH = 4,
	NKEYS = 4000,
	SLICE_BITS = CATALOG_SLICE_BYTES * 8,
	NONE = -1,
};

enum kind { ADDS, REMOVES, BOTH };

static const struct {
	const char *label;
	uint64_t nbits;
	size_t slices;
	size_t changes; /* between two slices */
	enum kind kind;
} rows[] = {
	{ "one slice", 1 << 14, 1, 100, BOTH },
	{ "one slice, full", SLICE_BITS, 1, 100, BOTH },
	{ "one byte more", SLICE_BITS + 8, 2, 100, BOTH },
	{ "one bit more", SLICE_BITS + 1, 2, 100, BOTH },
	{ "nothing happens", 4 * SLICE_BITS, 4, 0, BOTH },
	{ "one key between slices", 4 * SLICE_BITS, 4, 1, BOTH },
	{ "many come and go", 4 * SLICE_BITS, 4, 40, BOTH },
	{ "many come", 4 * SLICE_BITS, 4, 40, ADDS },
	{ "many go", 4 * SLICE_BITS, 4, 40, REMOVES },
	{ "an odd size", 3 * SLICE_BITS - 5, 3, 60, BOTH },
	{ "more than a few slices", 16 * SLICE_BITS, 16, 5, BOTH },
};

/* The twin. */
struct history {
	bool in[NKEYS], first[NKEYS]; /* now; when the snapshot began */
	uint16_t changed[NKEYS];      /* keys that came or went since then */
	size_t nchanged;
	uint64_t random;
};

static struct scd_key key_of(uint64_t n)
{
	uint64_t state = n;
	uint64_t lo = random_next(&state);

	return (struct scd_key){ lo, random_next(&state) };
}

static void begin_history(struct history *h)
{
	memcpy(h->first, h->in, sizeof(h->in));
	h->nchanged = 0;
}

/* A key comes or goes, in the catalog and in a filter beside it. */
static void change(struct history *h, enum kind kind, struct catalog *c,
		   struct scd_counting *beside)
{
	uint64_t at = random_below(&h->random, NKEYS);
	struct scd_key key = key_of(at);

	if ((kind == ADDS && h->in[at]) || (kind == REMOVES && !h->in[at]))
		return;
	if (h->in[at]) {
		catalog_remove(c, &key);
		scd_counting_remove(beside, &key);
	} else {
		catalog_add(c, &key);
		scd_counting_add(beside, &key);
	}
	h->in[at] = !h->in[at];
	h->changed[h->nchanged++] = (uint16_t)at;
}

static struct scd_counting *filter_at_first(const struct history *h,
					    uint64_t nbits)
{
	struct scd_counting *filter;

	assert_int_equal(scd_counting_new(&filter, nbits, NHASH), SCD_OK);
	for (size_t i = 0; i < NKEYS; i++) {
		struct scd_key key = key_of(i);

		if (h->first[i])
			scd_counting_add(filter, &key);
	}
	return filter;
}

/*
 * The last moment at which the array was this one, counted in changes since the
 * snapshot began; NONE: it never was.
 */
static int moment_of(const struct history *h, const struct scd_bloom *array)
{
	struct scd_counting *filter = filter_at_first(h, array->nbits);
	bool in[NKEYS];
	int moment = NONE;

	memcpy(in, h->first, sizeof(in));
	for (size_t i = 0; i <= h->nchanged; i++) {
		struct scd_key key;

		if (scd_bloom_equal(scd_counting_bloom(filter), array))
			moment = (int)i;
		if (i == h->nchanged)
			break;
		key = key_of(h->changed[i]);
		if (in[h->changed[i]])
			scd_counting_remove(filter, &key);
		else
			scd_counting_add(filter, &key);
		in[h->changed[i]] = !in[h->changed[i]];
	}
	scd_counting_free(&filter);
	return moment;
}

/* Each key that was there all the time is in the snapshot. */
static bool has_all_that_stayed(const struct history *h,
				const struct scd_bloom *array)
{
	bool stayed[NKEYS];

	memcpy(stayed, h->first, sizeof(stayed));
	for (size_t i = 0; i < h->nchanged; i++)
		stayed[h->changed[i]] = false;
	for (size_t i = 0; i < NKEYS; i++) {
		struct scd_key key = key_of(i);

		if (stayed[i] && !scd_bloom_has(array, &key))
			return false;
	}
	return true;
}

static struct scd_bloom array_of(uint64_t nbits)
{
	struct scd_bloom b;

	assert_int_equal(scd_bloom_init(&b, nbits, NHASH), SCD_OK);
	return b;
}

/* The planted fault: slice `at` as it is now, and no word of it later. */
static void copy_naively(const struct scd_bloom *from, size_t at,
			 struct scd_bloom *to)
{
	size_t begin = at * CATALOG_SLICE_BYTES;
	size_t left = scd_bloom_bytes(from) - begin;

	memcpy(to->bits + begin, from->bits + begin,
	       left < CATALOG_SLICE_BYTES ? left : CATALOG_SLICE_BYTES);
}

/* Takes a snapshot of a row, and beside it a faulty one. */
static void take(struct history *h, struct catalog *c, size_t row,
		 struct catalog_snapshot *out, struct scd_bloom *faulty)
{
	struct scd_counting *beside;
	struct scd_bloom copy = array_of(rows[row].nbits);
	size_t slice = 0;
	bool last;

	begin_history(h);
	beside = filter_at_first(h, rows[row].nbits);
	catalog_snapshot_begin(c, &copy);
	assert_null(copy.bits);
	do {
		/* also before the first: nothing is in the copy yet */
		for (size_t i = 0; i < rows[row].changes; i++)
			change(h, rows[row].kind, c, beside);
		copy_naively(scd_counting_bloom(beside), slice++, faulty);
		last = catalog_snapshot_slice(c, 1000, out);
	} while (!last);
	assert_int_equal(slice, rows[row].slices);
	scd_counting_free(&beside);
}

static struct catalog *half_full(struct history *h, uint64_t nbits)
{
	struct catalog *c;

	assert_int_equal(catalog_new(&c, nbits, NHASH), SCD_OK);
	for (size_t i = 0; i < NKEYS; i++) {
		struct scd_key key = key_of(i);

		h->in[i] = random_below(&h->random, 2);
		if (h->in[i])
			catalog_add(c, &key);
	}
	return c;
}

static void test_is_of_one_moment(void **state)
{
	(void)state;
	for (size_t row = 0; row < NROWS(rows); row++) {
		struct history h = { .random = row };
		struct catalog *c = half_full(&h, rows[row].nbits);
		struct catalog_snapshot snapshot;

		for (uint64_t generation = 1; generation < 4; generation++) {
			struct scd_bloom faulty = array_of(rows[row].nbits);

			take(&h, c, row, &snapshot, &faulty);
			if (moment_of(&h, &snapshot.bloom) != (int)h.nchanged)
				fail_msg("%s: not of the end", rows[row].label);
			if (!has_all_that_stayed(&h, &snapshot.bloom))
				fail_msg("%s: a key lacks", rows[row].label);
			assert_int_equal(snapshot.generation, generation);
			scd_bloom_free(&snapshot.bloom);
			scd_bloom_free(&faulty);
		}
		catalog_free(&c);
	}
}

/* The test above can fail: it tells such a copy from a good one. */
static void test_planted_fault_is_found(void **state)
{
	size_t found = 0;

	(void)state;
	for (size_t row = 0; row < NROWS(rows); row++) {
		struct history h = { .random = row };
		struct catalog *c = half_full(&h, rows[row].nbits);
		struct scd_bloom faulty = array_of(rows[row].nbits);
		struct catalog_snapshot snapshot;
		/* a single change need not touch what was copied */
		bool torn = rows[row].slices > 2 && rows[row].changes > 1;

		take(&h, c, row, &snapshot, &faulty);
		if (torn && moment_of(&h, &faulty) != NONE)
			fail_msg("%s", rows[row].label);
		found += torn;
		scd_bloom_free(&snapshot.bloom);
		scd_bloom_free(&faulty);
		catalog_free(&c);
	}
	assert_int_equal(found, 5);
}

/* Until the last slice the generation before is the last one. */
static void test_happens_at_the_last_slice(void **state)
{
	static const struct publish_policy policy = { .01, 100, 10000, 0 };
	struct history h = { .random = 1 };
	struct catalog *c = half_full(&h, 2 * SLICE_BITS);
	struct scd_bloom copy = array_of(2 * SLICE_BITS);
	struct catalog_snapshot snapshot;
	struct catalog_stats before, now;
	struct scd_key late = key_of(NKEYS);

	(void)state;
	catalog_stats(c, &before);
	catalog_snapshot_begin(c, &copy);
	assert_false(catalog_snapshot_slice(c, 500, &snapshot));
	catalog_stats(c, &now);
	assert_int_equal(now.generation, 0);
	assert_int_equal(now.changed, before.changed);
	assert_true(catalog_due(c, &policy, 500));
	assert_true(catalog_snapshot_slice(c, 600, &snapshot));
	catalog_stats(c, &now);
	assert_int_equal(now.generation, 1);
	assert_int_equal(now.changed, 0);
	assert_int_equal(snapshot.nkeys, before.nkeys);
	catalog_add(c, &late);
	assert_false(catalog_due(c, &policy, 10599));
	assert_true(catalog_due(c, &policy, 10600));
	scd_bloom_free(&snapshot.bloom);
	catalog_free(&c);
}

/* The old filter is what is copied, while its keys move to a new one. */
static void test_while_rebuilding(void **state)
{
	struct history h = { .random = 2 };
	struct catalog *c = half_full(&h, 4 * SLICE_BITS);
	struct scd_counting *beside, *next, *old;
	struct scd_bloom copy = array_of(4 * SLICE_BITS);
	struct catalog_snapshot snapshot;

	(void)state;
	begin_history(&h);
	beside = filter_at_first(&h, 4 * SLICE_BITS);
	assert_int_equal(scd_counting_new(&next, SLICE_BITS, NHASH), SCD_OK);
	catalog_rebuild(c, next, 4);
	catalog_snapshot_begin(c, &copy);
	for (size_t part = 0; part < 3; part++) {
		assert_false(catalog_snapshot_slice(c, 0, &snapshot));
		for (size_t i = 0; i < NKEYS; i++) {
			struct scd_key key = key_of(i);

			if (h.in[i] && keypart_of(&key, 4) == part)
				catalog_rebuild_key(c, &key);
		}
		assert_false(catalog_rebuild_next(c, &old));
		for (size_t i = 0; i < 20; i++)
			change(&h, BOTH, c, beside);
	}
	assert_true(catalog_snapshot_slice(c, 0, &snapshot));
	assert_int_equal(moment_of(&h, &snapshot.bloom), h.nchanged);
	scd_bloom_free(&snapshot.bloom);
	scd_counting_free(&beside);
	catalog_free(&c);
}

/* What is done under the lock asks for no memory; and a catalog that ends in
 * the middle of a snapshot leaks none. */
static void test_allocates_nothing(void **state)
{
	struct history h = { .random = 3 };
	struct catalog *c = half_full(&h, 3 * SLICE_BITS);
	struct scd_bloom copy = array_of(3 * SLICE_BITS);
	struct catalog_snapshot snapshot;

	(void)state;
	alloc_bytes();
	catalog_snapshot_begin(c, &copy);
	assert_false(catalog_snapshot_slice(c, 0, &snapshot));
	assert_false(catalog_snapshot_slice(c, 0, &snapshot));
	assert_int_equal(alloc_bytes(), 0);
	catalog_free(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_is_of_one_moment),
		cmocka_unit_test(test_planted_fault_is_found),
		cmocka_unit_test(test_happens_at_the_last_slice),
		cmocka_unit_test(test_while_rebuilding),
		cmocka_unit_test(test_allocates_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
