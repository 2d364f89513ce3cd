/*
 * Published generations: every full digest and every delta leads to the array
 * that was published, whatever the peer had before; and failing allocations.
 */
#include <stdlib.h>
#include <string.h>

#include "codec/delta.h"
#include "codec/digest.h"
#include "digestd/mesh/generations.h"
#include "tests/codec/alloc.h"
#include "tests/codec/random.h"
#include "tests/unit.h"

enum { INSTANCE = 9, NBITS = 1 << 15, NHASH = 3, ROUNDS = 12 };

/* A few keys more in the array, and it as a snapshot. */
static struct catalog_snapshot next_snapshot(struct scd_bloom *array,
					     uint64_t generation,
					     unsigned nkeys)
{
	struct catalog_snapshot snapshot = { .generation = generation,
					     .nkeys = 1 };
	uint64_t random = generation;

	for (unsigned i = 0; i < nkeys; i++) {
		uint64_t lo = random_next(&random);
		struct scd_key key = { lo, random_next(&random) };

		scd_bloom_add(array, &key);
	}
	assert_int_equal(scd_bloom_copy(array, &snapshot.bloom), SCD_OK);
	return snapshot;
}

static void check_full(const struct publication *p,
		       const struct scd_bloom *array)
{
	struct scd_digest_info info;
	struct scd_bloom bloom;

	assert_int_equal(scd_digest_decode(p->full->bytes, p->full->len, NULL,
					   &info, &bloom), SCD_OK);
	assert_true(scd_bloom_equal(&bloom, array));
	assert_int_equal(info.instance, INSTANCE);
	assert_int_equal(info.generation, p->generation);
	scd_bloom_free(&bloom);
}

static void check_blob(const struct blob *delta, const struct scd_base *base,
		       const struct scd_bloom *array)
{
	struct scd_bloom bloom;

	assert_int_equal(scd_delta_apply(delta->bytes, delta->len, NULL, base,
					 NULL, &bloom), SCD_OK);
	assert_true(scd_bloom_equal(&bloom, array));
	scd_bloom_free(&bloom);
}

static void check_delta(const struct publication *p, uint64_t from,
			const struct scd_bloom *had,
			const struct scd_bloom *array)
{
	static const struct delta_forms none = { false, false };
	static const struct delta_forms xor = { true, false };
	static const struct delta_forms both = { true, true };
	const struct publication_delta *delta =
		publication_delta(p, INSTANCE, from);
	struct scd_base base = {.bloom = had,
				.instance = INSTANCE,
				.generation = from};
	const struct blob *smallest;

	assert_non_null(delta);
	smallest = publication_smallest(delta, both);
	assert_null(publication_smallest(delta, none));
	assert_ptr_equal(publication_smallest(delta, xor), delta->xor);
	assert_true(delta->xor->len < p->full->len);
	assert_true(smallest->len <= delta->xor->len);
	check_blob(delta->xor, &base, array);
	check_blob(smallest, &base, array);
}

/* Publishes ROUNDS generations and checks what each of them offers. */
static void run_history(unsigned keep)
{
	struct scd_bloom arrays[ROUNDS + 1] = { { 0 } };
	struct generations *g;

	assert_int_equal(generations_new(&g, INSTANCE, keep), SCD_OK);
	assert_int_equal(scd_bloom_init(&arrays[0], NBITS, NHASH), SCD_OK);
	for (uint64_t now = 1; now <= ROUNDS; now++) {
		struct publication *p;
		struct catalog_snapshot s;

		assert_int_equal(scd_bloom_copy(&arrays[now - 1],
						&arrays[now]), SCD_OK);
		s = next_snapshot(&arrays[now], now, now == 1 ? 2000 : 20);
		assert_int_equal(generations_publish(g, &s, &p), SCD_OK);
		assert_null(s.bloom.bits);
		check_full(p, &arrays[now]);
		assert_int_equal(p->ndeltas, now - 1 < keep ? now - 1 : keep);
		for (uint64_t i = 1; i <= p->ndeltas; i++) {
			assert_int_equal(p->deltas[i - 1].from, now - i);
			assert_true(i == 1 || !p->deltas[i - 1].conditional);
			check_delta(p, now - i, &arrays[now - i],
				    &arrays[now]);
		}
		assert_null(publication_delta(p, INSTANCE, now));
		assert_null(publication_delta(p, INSTANCE, now + 1));
		assert_null(publication_delta(p, INSTANCE, now - p->ndeltas -
						 1));
		assert_null(publication_delta(p, INSTANCE + 1, now - 1));
		publication_held(p);
		publication_unref(p);
	}
	for (size_t i = 0; i <= ROUNDS; i++)
		scd_bloom_free(&arrays[i]);
	generations_free(&g);
	assert_null(g);
}

static void test_history(void **state)
{
	static const unsigned keeps[] = { 0, 1, 4, GENERATIONS_KEEP_MAX };

	(void)state;
	for (size_t i = 0; i < NROWS(keeps); i++)
		run_history(keeps[i]);
}

/* The next generation, with a few keys more; every caller's to release. */
static struct publication *publish(struct generations *g,
				   struct scd_bloom *array, uint64_t generation,
				   unsigned nkeys)
{
	struct catalog_snapshot s = next_snapshot(array, generation, nkeys);
	struct publication *p;

	assert_int_equal(generations_publish(g, &s, &p), SCD_OK);
	return p;
}

enum { MANY = 200, KEEP = 4 };

/* What should be kept, the newest first; all other generations are 0. */
struct kept {
	uint64_t generations[KEEP];
	bool held[MANY + 1];
};

static void keep_twin(struct kept *k, uint64_t now)
{
	uint64_t kept[KEEP + 1] = { now };
	unsigned n = 1;

	for (unsigned i = 0; i < KEEP; i++) {
		if (i == 0 || k->held[k->generations[i]])
			kept[n++] = k->generations[i];
	}
	memset(k->generations, 0, sizeof(k->generations));
	memcpy(k->generations, kept, (n < KEEP ? n : KEEP) * sizeof(kept[0]));
}

static void check_offered(const struct publication *p, const struct kept *k)
{
	unsigned offered = 0;

	for (unsigned i = 0; i < KEEP; i++) {
		uint64_t from = k->generations[i];
		bool is = publication_delta(p, INSTANCE, from);

		assert_int_equal(is, k->held[from]);
		offered += is;
	}
	assert_int_equal(p->ndeltas, offered);
}

/* Deltas lead from what somebody was sent, the newest or the one before, in any
 * order; and what nobody was sent takes the place of none of these. */
static void test_holders(void **state)
{
	struct publication *older = NULL;
	struct kept twin = { 0 };
	struct scd_bloom array;
	struct generations *g;
	uint64_t random = 7;

	(void)state;
	assert_int_equal(generations_new(&g, INSTANCE, KEEP), SCD_OK);
	assert_int_equal(scd_bloom_init(&array, NBITS, NHASH), SCD_OK);
	for (uint64_t now = 1; now <= MANY; now++) {
		struct publication *p = publish(g, &array, now,
						now == 1 ? 2000 : 1);

		check_offered(p, &twin);
		keep_twin(&twin, now);
		if (random_next(&random) % 4 == 0) {
			publication_held(p);
			twin.held[now] = true;
		}
		if (older && random_next(&random) % 4 == 0) {
			publication_held(older);
			twin.held[now - 1] = true;
		}
		publication_unref(older);
		older = p;
	}
	publication_unref(older);
	generations_free(&g);
	scd_bloom_free(&array);
}

/* A generation whose delta is no smaller than the full digest is kept no
 * longer: there is none from it to the same array again. */
static void test_useless(void **state)
{
	struct scd_bloom array;
	struct catalog_snapshot first;
	struct publication *p;
	struct generations *g;

	(void)state;
	assert_int_equal(generations_new(&g, INSTANCE, KEEP), SCD_OK);
	assert_int_equal(scd_bloom_init(&array, NBITS, NHASH), SCD_OK);
	p = publish(g, &array, 1, 300);
	publication_held(p);
	publication_unref(p);
	first = next_snapshot(&array, 4, 0);
	for (uint64_t now = 2; now <= 3; now++) {
		scd_bloom_clear(&array);
		p = publish(g, &array, now, 300);
		assert_int_equal(p->ndeltas, 0);
		publication_unref(p);
	}
	assert_int_equal(generations_publish(g, &first, &p), SCD_OK);
	assert_int_equal(p->ndeltas, 0);
	publication_unref(p);
	generations_free(&g);
	scd_bloom_free(&array);
}

/* Two publications; the second one's array is what differs. */
static const struct {
	const char *label;
	uint64_t nbits;
	bool cleared;
	unsigned nkeys;
	unsigned ndeltas;
} second_rows[] = {
	{ "a few keys", NBITS, false, 5, 1 },
	{ "nothing new", NBITS, false, 0, 1 },
	{ "all other keys: the full digest is smaller", NBITS, true, 300, 0 },
	{ "another size: no delta leads there", NBITS * 2, true, 300, 0 },
};

static void test_second(void **state)
{
	(void)state;
	for (size_t i = 0; i < NROWS(second_rows); i++) {
		struct scd_bloom array;
		struct publication *p;
		struct generations *g;

		assert_int_equal(generations_new(&g, INSTANCE, 4), SCD_OK);
		assert_int_equal(scd_bloom_init(&array, NBITS, NHASH), SCD_OK);
		p = publish(g, &array, 1, 3000);
		publication_held(p);
		publication_unref(p);
		if (second_rows[i].cleared) {
			scd_bloom_free(&array);
			assert_int_equal(scd_bloom_init(&array,
							second_rows[i].nbits,
							NHASH), SCD_OK);
		}
		p = publish(g, &array, 2, second_rows[i].nkeys);
		if (p->ndeltas != second_rows[i].ndeltas)
			fail_msg("%s: %u deltas", second_rows[i].label,
				 p->ndeltas);
		publication_unref(p);
		generations_free(&g);
		scd_bloom_free(&array);
	}
}

/*
 * A new size is a new beginning: no deltas from before, then deltas as ever;
 * nor are there any from before after going back.
 */
static void test_size_changes(void **state)
{
	static const struct {
		uint64_t nbits;
		int like; /* a few keys more than in this row; -1: other keys */
		unsigned ndeltas;
	} rows[] = {
		{ NBITS, -1, 0 },    { NBITS, 0, 1 },     { NBITS * 2, -1, 0 },
		{ NBITS * 2, 2, 1 }, { NBITS * 2, 3, 2 }, { NBITS, 1, 0 },
		{ NBITS, 5, 1 },     { NBITS / 2, -1, 0 }, { NBITS, 6, 0 },
	};
	struct scd_bloom arrays[NROWS(rows)];
	struct generations *g;
	struct publication *p;

	(void)state;
	assert_int_equal(generations_new(&g, INSTANCE, 4), SCD_OK);
	for (size_t i = 0; i < NROWS(rows); i++) {
		bool fresh = rows[i].like < 0;

		if (!fresh)
			assert_int_equal(scd_bloom_copy(&arrays[rows[i].like],
							&arrays[i]), SCD_OK);
		else
			assert_int_equal(scd_bloom_init(&arrays[i],
							rows[i].nbits, NHASH),
					 SCD_OK);
		p = publish(g, &arrays[i], i + 1, fresh ? 2000 : 5);
		publication_held(p);
		assert_int_equal(p->ndeltas, rows[i].ndeltas);
		check_full(p, &arrays[i]);
		for (uint64_t n = 1; n <= p->ndeltas; n++)
			check_delta(p, i + 1 - n, &arrays[i - n], &arrays[i]);
		publication_unref(p);
	}
	generations_free(&g);
	for (size_t i = 0; i < NROWS(rows); i++)
		scd_bloom_free(&arrays[i]);
}

/*
 * A large filter that fills from nothing: each generation is one that readers
 * take, and has all keys; its size grows step by step, and a few keys less do
 * not move it back.
 */
static void test_folded(void **state)
{
	enum { FULL_BITS = 1 << 25, STEPS = 40 };
	const struct scd_key key = { 5, 77 };
	struct scd_bloom array;
	struct generations *g;
	uint64_t nbits = 0;
	unsigned sizes = 0;

	(void)state;
	assert_int_equal(generations_new(&g, INSTANCE, 1), SCD_OK);
	assert_int_equal(scd_bloom_init(&array, FULL_BITS, NHASH), SCD_OK);
	for (uint64_t now = 1; now <= STEPS; now++) {
		struct publication *p =
			publish(g, &array, now, now > 1 ? 400 : 1);
		struct scd_digest_info info;
		struct scd_bloom got;

		assert_int_equal(scd_digest_decode(p->full->bytes, p->full->len,
						   NULL, &info, &got), SCD_OK);
		assert_int_equal(scd_bloom_has(&got, &key), now > 1);
		assert_true(info.nbits >= nbits);
		sizes += info.nbits != nbits;
		nbits = info.nbits;
		publication_unref(p);
		scd_bloom_free(&got);
		scd_bloom_add(&array, &key);
	}
	assert_int_equal(sizes, 4); /* 2^22 .. 2^25 */
	assert_int_equal(nbits, FULL_BITS);
	generations_free(&g);
	scd_bloom_free(&array);
}

/* Around the number of ones at which it would change, the size stays. */
static void test_folded_steadily(void **state)
{
	enum { FULL_BITS = 1 << 24, AT = FULL_BITS / 2048 };
	struct generations *g;
	uint64_t nbits = 0;

	(void)state;
	assert_int_equal(generations_new(&g, INSTANCE, 1), SCD_OK);
	for (uint64_t now = 1; now <= 6; now++) {
		struct catalog_snapshot s = { .generation = now, .nkeys = 1 };
		struct scd_digest_info info;
		struct publication *p;

		assert_int_equal(scd_bloom_init(&s.bloom, FULL_BITS, NHASH),
				 SCD_OK);
		memset(s.bloom.bits, 255,
		       now % 2 ? AT / 8 + 8 : AT / 8 - 8);
		assert_int_equal(generations_publish(g, &s, &p), SCD_OK);
		assert_int_equal(scd_digest_parse(p->full->bytes, p->full->len,
						  NULL, &info), SCD_OK);
		assert_true(now == 1 || info.nbits == nbits);
		nbits = info.nbits;
		publication_unref(p);
	}
	assert_int_equal(nbits, FULL_BITS);
	generations_free(&g);
}

/* What was published stays as it was, whatever comes after it. */
static void test_users(void **state)
{
	struct scd_bloom array, first;
	struct publication *p, *later;
	struct generations *g;
	struct blob *full;

	(void)state;
	assert_int_equal(generations_new(&g, INSTANCE, 1), SCD_OK);
	assert_int_equal(scd_bloom_init(&array, NBITS, NHASH), SCD_OK);
	p = publish(g, &array, 1, 100);
	assert_int_equal(scd_bloom_copy(&array, &first), SCD_OK);
	assert_ptr_equal(publication_ref(p), p);
	publication_unref(p);
	later = publish(g, &array, 2, 100);
	publication_unref(later);
	generations_free(&g);
	check_full(p, &first);
	full = blob_ref(p->full); /* outlives its publication */
	publication_unref(p);
	assert_int_equal(scd_digest_parse(full->bytes, full->len, NULL,
					  &(struct scd_digest_info){ 0 }),
			 SCD_OK);
	blob_unref(full);
	blob_unref(NULL);
	publication_unref(NULL);
	scd_bloom_free(&array);
	scd_bloom_free(&first);
}

/*
 * The n-th allocation of the third publication fails: the fourth is whole.
 * *refused: it mattered (a buffer that cannot shrink does not). Returns false
 * when there was no n-th allocation.
 */
static bool fail_nth(unsigned n, bool *refused)
{
	struct scd_bloom array;
	struct catalog_snapshot s;
	struct publication *p;
	struct generations *g;
	bool failed;
	int error;

	assert_int_equal(generations_new(&g, INSTANCE, 4), SCD_OK);
	assert_int_equal(scd_bloom_init(&array, NBITS, NHASH), SCD_OK);
	for (uint64_t now = 1; now <= 2; now++) {
		p = publish(g, &array, now, 500);
		publication_held(p);
		publication_unref(p);
	}
	s = next_snapshot(&array, 3, 20);
	alloc_fail_at(n);
	error = generations_publish(g, &s, &p);
	failed = alloc_failed();
	alloc_fail_at(0);
	assert_true(error == SCD_OK || (failed && error == SCD_ENOMEM));
	*refused = error != SCD_OK;
	assert_null(s.bloom.bits);
	if (!error) {
		publication_held(p);
		publication_unref(p);
	}
	p = publish(g, &array, 4, 20);
	assert_int_equal(p->ndeltas, *refused ? 2 : 3);
	check_full(p, &array);
	publication_unref(p);
	generations_free(&g);
	scd_bloom_free(&array);
	return failed;
}

static void test_no_memory(void **state)
{
	struct generations *g = NULL;
	unsigned refusals = 0;
	bool refused;

	(void)state;
	for (unsigned n = 1; fail_nth(n, &refused); n++)
		refusals += refused;
	/* The publication, its holders; bytes and blob of the full digest; of
	 * two deltas the XOR, bytes and blob; and of the newer one two arrays
	 * and bytes of the conditional form. */
	assert_int_equal(refusals, 2 + 2 + 2 * 3 + 3);
	alloc_fail_at(1);
	assert_int_equal(generations_new(&g, INSTANCE, 1), SCD_ENOMEM);
	alloc_fail_at(0);
	generations_free(&g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_history),
		cmocka_unit_test(test_holders),
		cmocka_unit_test(test_useless),
		cmocka_unit_test(test_second),
		cmocka_unit_test(test_size_changes),
		cmocka_unit_test(test_folded),
		cmocka_unit_test(test_folded_steadily),
		cmocka_unit_test(test_users),
		cmocka_unit_test(test_no_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
