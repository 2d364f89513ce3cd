/*
 * Peer indexes: against an array of filters that are asked one by one, to
 * which the same random changes are made; and what is refused.
 */
#include "tests/unit.h"

#include <stdlib.h>
#include <string.h>

#include "codec/index.h"
#include "tests/codec/alloc.h"
#include "tests/codec/random.h"

enum { MAX_COLUMNS = 700, NKEYS = 400, MAX_HASH = 6 };

/* The dumb twin; a column without an array is absent. */
struct twin {
	struct scd_bloom columns[MAX_COLUMNS];
	uint64_t nrows;
	unsigned ncolumns;
};

static struct scd_key key_number(uint64_t i)
{
	uint64_t seed = i << 20;
	struct scd_key key = { random_next(&seed), random_next(&seed) };

	return key;
}

/* A filter of a random shape that fits, with some of the keys. */
static struct scd_bloom random_bloom(uint64_t *seed, uint64_t max_bits)
{
	struct scd_bloom bloom;
	uint64_t nbits = 1;

	while (nbits < max_bits && random_below(seed, 12))
		nbits *= 2;
	assert_int_equal(
		scd_bloom_init(&bloom, nbits,
			       1 + (unsigned)random_below(seed, MAX_HASH)),
		SCD_OK);
	for (uint64_t n = random_below(seed, NKEYS / 4); n > 0; n--) {
		struct scd_key key = key_number(random_below(seed, NKEYS));

		scd_bloom_add(&bloom, &key);
	}
	return bloom;
}

static void change_set(struct twin *t, struct scd_index *x, unsigned column,
		       uint64_t *seed)
{
	scd_bloom_free(&t->columns[column]);
	t->columns[column] = random_bloom(seed, t->nrows);
	assert_int_equal(scd_index_set(x, column, &t->columns[column]), SCD_OK);
}

/* Some of the columns at once, of which some are left out. */
static void change_fill(struct twin *t, struct scd_index *x, uint64_t *seed)
{
	const struct scd_bloom *filters[MAX_COLUMNS] = { NULL };
	unsigned n = (unsigned)random_below(seed, t->ncolumns + 1);

	for (unsigned c = 0; c < n; c++) {
		if (random_below(seed, 4) == 0)
			continue;
		scd_bloom_free(&t->columns[c]);
		t->columns[c] = random_bloom(seed, t->nrows);
		filters[c] = &t->columns[c];
	}
	assert_int_equal(scd_index_fill(x, filters, n), SCD_OK);
}

/* A list of the ones of a filter; at has room for all. */
static size_t list(const struct scd_bloom *b, uint64_t *at)
{
	size_t n = 0;

	for (uint64_t i = 0; i < b->nbits; i++) {
		if (b->bits[i >> 3] >> (i & 7) & 1)
			at[n++] = i;
	}
	return n;
}

static void change_flip(struct twin *t, struct scd_index *x, unsigned column,
			uint64_t *seed)
{
	struct scd_bloom *b = &t->columns[column], flips;
	uint64_t *at;

	if (!b->bits)
		return;
	assert_int_equal(scd_bloom_init(&flips, b->nbits, b->nhash), SCD_OK);
	random_bits(seed, flips.bits, b->nbits,
		    random_below(seed, b->nbits + 1));
	assert_int_equal(scd_bloom_xor(b, &flips), SCD_OK);
	at = calloc(b->nbits, sizeof(*at));
	assert_non_null(at);
	if (random_below(seed, 2))
		assert_int_equal(scd_index_flip(x, column, &flips), SCD_OK);
	else
		assert_int_equal(scd_index_flip_at(x, column, at,
						   list(&flips, at)),
				 SCD_OK);
	free(at);
	scd_bloom_free(&flips);
}

static void change_remove(struct twin *t, struct scd_index *x, unsigned column)
{
	scd_bloom_free(&t->columns[column]);
	scd_index_remove(x, column);
}

static void compare_answer(const struct twin *t, const struct scd_key *key,
			   const uint64_t *out, bool any)
{
	bool expected = false;

	for (unsigned c = 0; c < (t->ncolumns + 63) / 64 * 64; c++) {
		bool has = c < t->ncolumns && t->columns[c].bits &&
			   scd_bloom_has(&t->columns[c], key);

		assert_int_equal(out[c >> 6] >> (c & 63) & 1, has);
		expected = expected || has;
	}
	assert_int_equal(any, expected);
}

static void compare(const struct twin *t, const struct scd_index *x,
		    size_t nkeys)
{
	struct scd_key *keys = calloc(nkeys, sizeof(*keys));
	unsigned words = scd_index_words(x);
	uint64_t one[(MAX_COLUMNS + 511) / 512 * 8];
	uint64_t *many = calloc(nkeys, words * sizeof(*many));

	assert_non_null(keys);
	assert_non_null(many);
	for (size_t i = 0; i < nkeys; i++)
		keys[i] = key_number(i);
	scd_index_lookup_many(x, keys, nkeys, many);
	for (size_t i = 0; i < nkeys; i++) {
		bool any = scd_index_lookup(x, &keys[i], one);

		compare_answer(t, &keys[i], one, any);
		assert_memory_equal(one, many + i * words,
				    words * sizeof(*one));
	}
	for (unsigned c = 0; c < t->ncolumns; c++)
		assert_int_equal(scd_index_has(x, c), !!t->columns[c].bits);
	free(keys);
	free(many);
}

static void random_change(struct twin *t, struct scd_index *x, uint64_t *seed)
{
	unsigned column = (unsigned)random_below(seed, t->ncolumns);

	switch (random_below(seed, 8)) {
	case 0:
		change_remove(t, x, column);
		return;
	case 1:
	case 2:
	case 3:
		change_flip(t, x, column, seed);
		return;
	default:
		change_set(t, x, column, seed);
	}
}

static void run_model(unsigned ncolumns, uint64_t nrows, unsigned row_bytes)
{
	struct twin *t = calloc(1, sizeof(*t));
	struct scd_index *x;
	uint64_t seed = ncolumns;

	assert_non_null(t);
	t->nrows = nrows;
	t->ncolumns = ncolumns;
	assert_int_equal(scd_index_new(&x, nrows, ncolumns), SCD_OK);
	assert_int_equal(scd_index_rows(x), nrows);
	assert_int_equal(scd_index_columns(x), row_bytes * 8);
	assert_int_equal(scd_index_bytes(nrows, ncolumns), nrows * row_bytes);
	compare(t, x, 3);
	for (unsigned c = 0; c < ncolumns; c++)
		change_set(t, x, c, &seed);
	for (unsigned i = 0; i < 60; i++) {
		if (i % 6 == 5)
			change_fill(t, x, &seed);
		for (unsigned n = 0; n < 1 + ncolumns / 10; n++)
			random_change(t, x, &seed);
		compare(t, x, i % 10 ? 9 : NKEYS + 5);
	}
	for (unsigned c = 0; c < ncolumns; c++)
		change_remove(t, x, c);
	compare(t, x, 20);
	scd_index_free(&x);
	assert_null(x);
	free(t);
}

static void behaves_like_the_model(void **state)
{
	static const struct {
		unsigned ncolumns, row_bytes;
		uint64_t nrows;
	} rows[] = {
		{ 1, 1, 1024 },  { 8, 1, 2048 },   { 9, 2, 64 },
		{ 16, 2, 1024 }, { 17, 4, 128 },   { 32, 4, 1024 },
		{ 33, 8, 2048 }, { 64, 8, 1024 },  { 65, 16, 1024 },
		{ 129, 32, 64 }, { 300, 64, 512 }, { 700, 128, 256 },
	};

	(void)state;
	for (size_t i = 0; i < NROWS(rows); i++)
		run_model(rows[i].ncolumns, rows[i].nrows, rows[i].row_bytes);
}

static void sizes_are_checked(void **state)
{
	static const struct {
		uint64_t nrows;
		unsigned ncolumns;
	} bad[] = {
		{ 0, 8 },
		{ 32, 8 },
		{ 96, 8 },
		{ SCD_BLOOM_MAX_BITS * 2, 8 },
		{ 64, 0 },
		{ 64, SCD_INDEX_MAX_COLUMNS + 1 },
	};
	struct scd_index *x = NULL;

	(void)state;
	for (size_t i = 0; i < NROWS(bad); i++) {
		assert_int_equal(
			scd_index_new(&x, bad[i].nrows, bad[i].ncolumns),
			SCD_EINVAL);
		assert_null(x);
	}
	scd_index_free(&x);
	assert_true(scd_index_bytes(UINT64_MAX / 64, 4096) == SIZE_MAX);
	assert_int_equal(scd_index_new(&x, 64, SCD_INDEX_MAX_COLUMNS), SCD_OK);
	assert_int_equal(scd_index_words(x), SCD_INDEX_MAX_COLUMNS / 64);
	scd_index_free(&x);
}

static void memory_is_aligned(void **state)
{
	(void)state;
	for (unsigned ncolumns = 1; ncolumns < 600; ncolumns += 37) {
		struct scd_index *x;
		size_t bytes;
		void *rows;

		assert_int_equal(scd_index_new(&x, 128, ncolumns), SCD_OK);
		rows = scd_index_memory(x, &bytes);
		assert_int_equal((uintptr_t)rows % 64, 0);
		assert_int_equal(bytes, scd_index_bytes(128, ncolumns));
		scd_index_free(&x);
	}
}

/* What does not fit is refused, and what is there stays. */
static void shapes_are_checked(void **state)
{
	static const struct {
		uint64_t nbits;
		unsigned nhash;
		enum scd_hashing hashing;
		bool fits, flips;
	} rows[] = {
		{ 128, 4, SCD_HASHING_DOUBLE, true, true },
		{ 128, 3, SCD_HASHING_DOUBLE, true, false },
		{ 256, 4, SCD_HASHING_DOUBLE, true, false },
		{ 64, 4, SCD_HASHING_DOUBLE, true, false },
		{ 1, 4, SCD_HASHING_DOUBLE, true, false },
		{ 100, 4, SCD_HASHING_DOUBLE, false, false },
		{ 512, 4, SCD_HASHING_DOUBLE, false, false },
		{ 128, 4, SCD_HASHING_SQUID, false, false },
	};
	struct scd_bloom held = { 0 }, other, large;
	const struct scd_bloom *const filters[8] = {
		NULL, NULL, &other, NULL, &other, &other, &other, &large,
	};
	struct scd_key key = key_number(1);
	uint64_t outside[] = { 5, 128 }, out[1], seed = 3;
	struct scd_index *x;

	(void)state;
	assert_int_equal(scd_index_new(&x, 256, 3), SCD_OK);
	assert_int_equal(scd_bloom_init(&held, 128, 4), SCD_OK);
	scd_bloom_add(&held, &key);
	assert_int_equal(scd_index_flip(x, 2, &held), SCD_EMISMATCH);
	assert_int_equal(scd_index_flip_at(x, 2, outside, 1), SCD_EMISMATCH);
	assert_int_equal(scd_index_set(x, 2, &held), SCD_OK);
	for (size_t i = 0; i < NROWS(rows); i++) {
		assert_int_equal(scd_bloom_init(&other, rows[i].nbits,
						rows[i].nhash),
				 SCD_OK);
		other.hashing = rows[i].hashing;
		assert_int_equal(scd_index_fits(x, &other), rows[i].fits);
		if (!rows[i].fits)
			assert_int_equal(scd_index_set(x, 2, &other),
					 SCD_EMISMATCH);
		if (!rows[i].flips) {
			random_bits(&seed, other.bits, other.nbits,
				    other.nbits);
			assert_int_equal(scd_index_flip(x, 2, &other),
					 SCD_EMISMATCH);
		}
		scd_bloom_free(&other);
	}
	assert_int_equal(scd_index_flip_at(x, 2, outside, 2), SCD_EINVAL);
	assert_int_equal(scd_bloom_init(&other, 128, 1), SCD_OK);
	assert_int_equal(scd_bloom_init(&large, 512, 1), SCD_OK);
	assert_int_equal(scd_index_fill(x, filters, 8), SCD_EMISMATCH);
	scd_bloom_free(&other);
	scd_bloom_free(&large);
	for (uint64_t i = 0; i < 200; i++) {
		key = key_number(i);
		scd_index_lookup(x, &key, out);
		assert_int_equal(out[0], scd_bloom_has(&held, &key) ? 4 : 0);
	}
	scd_bloom_free(&held);
	scd_index_free(&x);
}

static void no_memory(void **state)
{
	struct scd_index *x = NULL;
	unsigned n = 0;

	(void)state;
	do {
		int error;

		alloc_fail_at(++n);
		error = scd_index_new(&x, 1024, 64);
		if (!alloc_failed())
			break;
		assert_int_equal(error, SCD_ENOMEM);
		assert_null(x);
	} while (n < 10);
	alloc_fail_at(0);
	assert_int_equal(n, 4); /* three allocations */
	assert_non_null(x);
	scd_index_free(&x);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(behaves_like_the_model),
		cmocka_unit_test(sizes_are_checked),
		cmocka_unit_test(memory_is_aligned),
		cmocka_unit_test(shapes_are_checked),
		cmocka_unit_test(no_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
