/*
 * The shared index of the digests: who gets a column, when the same index
 * serves on, and what a digest that changes does to those who look up.
 */
#include <stdlib.h>

#include "digestd/mesh/peerindex.h"
#include "tests/codec/alloc.h"
#include "tests/codec/random.h"
#include "tests/unit.h"

enum { MAX_PEERS = 40 };

static struct peerset_peer peers[MAX_PEERS];
static uint16_t columns[MAX_PEERS];

static struct scd_key key_of(uint64_t n)
{
	uint64_t state = n;
	uint64_t lo = random_next(&state);

	return (struct scd_key){ lo, random_next(&state) };
}

/* Gives a peer a digest of one key; nbits = 0: none. */
static void give(size_t peer, uint64_t nbits, unsigned nhash, uint64_t key)
{
	struct scd_key k = key_of(key);
	struct scd_bloom bloom;

	peer_digest_unref(peers[peer].digest);
	peers[peer] = (struct peerset_peer){ .id = (uint32_t)peer };
	if (!nbits)
		return;
	assert_int_equal(scd_bloom_init(&bloom, nbits, nhash), SCD_OK);
	scd_bloom_add(&bloom, &k);
	peers[peer].digest = peer_digest_take(&bloom);
	assert_non_null(peers[peer].digest);
}

static void give_all(size_t n, uint64_t nbits)
{
	for (size_t i = 0; i < n; i++)
		give(i, nbits, 3, i);
}

static int forget(void **state)
{
	(void)state;
	for (size_t i = 0; i < MAX_PEERS; i++)
		give(i, 0, 0, 0);
	return 0;
}

static bool holds(const struct peerindex *x, unsigned column, uint64_t key)
{
	struct scd_key k = key_of(key);
	uint64_t out[PEERSET_MAX_PEERS / 64];

	assert_true(column / 64 < peerindex_words(x));
	peerindex_lookup(x, &k, out);
	return out[column / 64] >> column % 64 & 1;
}

static void few_peers_have_none(void **state)
{
	struct peerindex *x;

	(void)state;
	give_all(PEERINDEX_MIN_PEERS, 4096);
	assert_null(peerindex_update(NULL, peers, 0, columns));
	assert_null(peerindex_update(NULL, peers, PEERINDEX_MIN_PEERS - 1,
				     columns));
	for (size_t i = 0; i < PEERINDEX_MIN_PEERS - 1; i++)
		assert_int_equal(columns[i], PEERINDEX_NONE);
	x = peerindex_update(NULL, peers, PEERINDEX_MIN_PEERS, columns);
	assert_non_null(x);
	for (uint64_t i = 0; i < PEERINDEX_MIN_PEERS; i++)
		assert_true(holds(x, columns[i], i));
	peerindex_unref(x);
	peerindex_unref(NULL);
}

static void what_does_not_fit_has_none(void **state)
{
	static const struct {
		uint64_t nbits;
		enum scd_hashing hashing;
		bool fits;
	} rows[] = {
		{ 4096, SCD_HASHING_DOUBLE, true },
		{ 64, SCD_HASHING_DOUBLE, true },
		{ 1, SCD_HASHING_DOUBLE, true },
		{ 4095, SCD_HASHING_DOUBLE, false },
		{ 4096, SCD_HASHING_SQUID, false },
		/* as large as all others together */
		{ 65536, SCD_HASHING_DOUBLE, false },
		{ 0, SCD_HASHING_DOUBLE, false },
	};
	const size_t odd = 12;

	(void)state;
	give_all(16, 4096);
	for (size_t i = 0; i < NROWS(rows); i++) {
		struct peerindex *x;

		give(odd, rows[i].nbits, 4, 1);
		if (rows[i].nbits)
			peers[odd].digest->bloom.hashing = rows[i].hashing;
		x = peerindex_update(NULL, peers, 16, columns);
		assert_non_null(x);
		assert_int_equal(columns[odd] != PEERINDEX_NONE, rows[i].fits);
		for (size_t j = 0; j < 16; j++)
			assert_true(j == odd || columns[j] < 16);
		peerindex_unref(x);
	}
}

/* One after another, as digests come in; no index of room for all is made
 * before it is worth it. */
static void grows_with_the_peers(void **state)
{
	struct peerindex *x = NULL;
	unsigned made = 0;

	(void)state;
	for (size_t n = 1; n <= MAX_PEERS; n++) {
		struct peerindex *last = x;

		give(n - 1, 1024, 2, n - 1);
		x = peerindex_update(last, peers, MAX_PEERS, columns);
		peerindex_unref(last);
		assert_int_equal(!!x, n >= PEERINDEX_MIN_PEERS);
		made += x && x != last;
		for (size_t i = 0; i < n && x; i++)
			assert_true(holds(x, columns[i], i));
	}
	assert_int_equal(made, 3); /* for 8, for 9..15 and for all */
	peerindex_unref(x);
}

/* A new digest of any shape that fits goes into the same index. */
static void serves_on(void **state)
{
	static const struct {
		uint64_t nbits;
		unsigned nhash;
		bool same;
	} rows[] = {
		{ 1024, 3, true },  { 1024, 5, true }, { 512, 5, true },
		{ 512, 5, true },   { 1024, 1, true }, { 2048, 1, false },
		{ 1024, 1, true },
	};
	struct peerindex *x, *small;

	(void)state;
	give_all(16, 1024);
	x = peerindex_update(NULL, peers, 16, columns);
	for (size_t i = 0; i < NROWS(rows); i++) {
		struct peerindex *last = x;
		uint16_t column = columns[5];

		give(5, rows[i].nbits, rows[i].nhash, 1000 + i);
		x = peerindex_update(last, peers, 16, columns);
		assert_int_equal(x == last, rows[i].same);
		assert_int_equal(columns[5], column);
		assert_true(holds(x, column, 1000 + i));
		for (uint64_t j = 0; j < 16; j++)
			assert_true(j == 5 || holds(x, columns[j], j));
		/* the one before has not been touched, or is the same */
		assert_int_equal(holds(last, column, 1000 + i), rows[i].same);
		peerindex_unref(last);
	}
	/* when all are small, so is the index */
	give_all(16, 256);
	small = peerindex_update(x, peers, 16, columns);
	assert_ptr_not_equal(small, x);
	peerindex_unref(small);
	peerindex_unref(x);
}

/* An update that the index is to survive. */
static void update(struct peerindex *x, size_t n)
{
	struct peerindex *same = peerindex_update(x, peers, n, columns);

	assert_ptr_equal(same, x);
	peerindex_unref(same);
}

/* Who leaves is found as long as a view asks, and nobody gets the column. */
static void a_column_is_left(void **state)
{
	struct peerindex *x;
	uint16_t left;

	(void)state;
	give_all(16, 1024);
	x = peerindex_update(NULL, peers, 15, columns);
	left = columns[3];
	peerindex_hold(x, left);
	give(3, 0, 0, 0);
	for (int i = 0; i < 3; i++) {
		update(x, 16);
		assert_int_equal(columns[3], PEERINDEX_NONE);
		assert_int_not_equal(columns[15], left);
		assert_true(holds(x, left, 3));
	}
	give(3, 1024, 3, 77); /* back again, and gone again */
	update(x, 16);
	assert_int_equal(columns[3], left);
	assert_true(holds(x, left, 77));
	give(3, 0, 0, 0);
	update(x, 16);
	assert_true(holds(x, left, 77));
	peerindex_release(x, left);
	update(x, 16);
	assert_false(holds(x, left, 77));
	give(16, 1024, 3, 88);
	update(x, 17);
	assert_int_equal(columns[16], left);
	peerindex_unref(x);
}

/* More peers than columns: another index, and the old one serves its views. */
static void runs_out_of_columns(void **state)
{
	struct peerindex *x, *next;

	(void)state;
	give_all(9, 1024);
	x = peerindex_update(NULL, peers, 8, columns);
	next = peerindex_update(x, peers, 9, columns);
	assert_ptr_not_equal(next, x);
	for (uint64_t i = 0; i < 9; i++)
		assert_true(holds(next, columns[i], i));
	for (unsigned i = 0; i < 8; i++)
		assert_true(holds(x, i, i));
	peerindex_unref(x);
	peerindex_unref(next);
}

static void no_memory(void **state)
{
	struct peerindex *x = NULL, *same;
	unsigned n = 0;

	(void)state;
	give_all(16, 1024);
	while (!x && n < 10) {
		alloc_fail_at(++n);
		x = peerindex_update(NULL, peers, 16, columns);
		assert_int_equal(!x, alloc_failed());
		for (size_t i = 0; i < 16; i++)
			assert_int_equal(columns[i] == PEERINDEX_NONE, !x);
	}
	assert_int_equal(n, 5);
	/* without memory for the difference the column is set as a whole */
	alloc_fail_at(0);
	give(2, 1024, 3, 99);
	alloc_fail_at(1);
	same = peerindex_update(x, peers, 16, columns);
	assert_true(alloc_failed());
	alloc_fail_at(0);
	assert_ptr_equal(same, x);
	assert_true(holds(x, columns[2], 99));
	peerindex_unref(same);
	peerindex_unref(x);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(few_peers_have_none, forget),
		cmocka_unit_test_teardown(what_does_not_fit_has_none, forget),
		cmocka_unit_test_teardown(grows_with_the_peers, forget),
		cmocka_unit_test_teardown(serves_on, forget),
		cmocka_unit_test_teardown(a_column_is_left, forget),
		cmocka_unit_test_teardown(runs_out_of_columns, forget),
		cmocka_unit_test_teardown(no_memory, forget),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
