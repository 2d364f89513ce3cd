/*
 * Bloom filters: no false negative, the predicted rate of false positives, set
 * operations, and estimates.
 */
#include "tests/unit.h"

#include <math.h>

#include "codec/bloom.h"
#include "codec/coder/bits.h"
#include "codec/array_memory.h"
#include "tests/codec/alloc.h"
#include "tests/codec/random.h"

static void make(struct scd_bloom *b, uint64_t nbits, unsigned nhash)
{
	assert_int_equal(scd_bloom_init(b, nbits, nhash), SCD_OK);
}

/* Keys number first..last - 1; the same number always gives the same key. */
static void add_keys(struct scd_bloom *b, uint64_t first, uint64_t last)
{
	for (uint64_t i = first; i < last; i++) {
		uint64_t seed = i << 20;
		struct scd_key key = { random_next(&seed), random_next(&seed) };

		scd_bloom_add(b, &key);
	}
}

static uint64_t count_keys(const struct scd_bloom *b, uint64_t first,
			   uint64_t last)
{
	uint64_t found = 0;

	for (uint64_t i = first; i < last; i++) {
		uint64_t seed = i << 20;
		struct scd_key key = { random_next(&seed), random_next(&seed) };

		found += scd_bloom_has(b, &key);
	}
	return found;
}

static void shapes_are_checked(void **state)
{
	struct scd_bloom b = { 0 };

	(void)state;
	assert_int_equal(scd_bloom_init(&b, 0, 1), SCD_EINVAL);
	assert_int_equal(scd_bloom_init(&b, UINT64_MAX, 1), SCD_EINVAL);
	assert_int_equal(scd_bloom_init(&b, 8, 0), SCD_EINVAL);
	assert_int_equal(scd_bloom_init(&b, 8, 33), SCD_EINVAL);
	assert_null(b.bits);
	scd_bloom_free(&b);
}

static void found_as_predicted(void **state)
{
	static const struct {
		uint64_t nbits;
		unsigned nhash;
	} rows[] = {
		{ 160000, 11 }, { 140000, 2 }, { 80000, 6 },
		{ 1 << 17, 3 }, { 460001, 1 }, { 1 << 19, 4 },
	};

	(void)state;
	for (size_t i = 0; i < NROWS(rows); i++) {
		const uint64_t tries = 200000;
		struct scd_bloom b;
		double expected, sd, found;

		make(&b, rows[i].nbits, rows[i].nhash);
		add_keys(&b, 0, 10000);
		assert_int_equal(count_keys(&b, 0, 10000), 10000);
		expected = scd_bloom_fp(&b) * (double)tries;
		sd = sqrt(expected + 1);
		found = (double)count_keys(&b, 10000, 10000 + tries);
		if (fabs(found - expected) > 5 * sd)
			fail_msg("m %lu k %u: %g found, %g expected",
				 (unsigned long)rows[i].nbits, rows[i].nhash,
				 found, expected);
		scd_bloom_free(&b);
	}
}

/* As has() and add() one by one, repeated keys and keys of a group too. */
static void many_are_added_as_one_by_one(void **state)
{
	static const uint64_t sizes[] = { 1, 63, 4099, 1 << 16 };
	struct scd_key keys[100];

	(void)state;
	for (unsigned round = 0; round < 400; round++) {
		uint64_t seed = round, expected = 0;
		uint64_t nbits = sizes[round % NROWS(sizes)];
		unsigned nhash = 1 + round % SCD_MAX_HASH;
		size_t n = random_next(&seed) % (NROWS(keys) + 1);
		struct scd_bloom one, many;

		make(&one, nbits, nhash);
		make(&many, nbits, nhash);
		for (size_t i = 0; i < n; i++) {
			keys[i].lo = random_next(&seed) % 60;
			keys[i].hi = random_next(&seed) % 2;
			expected += !scd_bloom_has(&one, &keys[i]);
			scd_bloom_add(&one, &keys[i]);
		}
		assert_int_equal(scd_bloom_add_many(&many, keys, n), expected);
		assert_true(scd_bloom_equal(&one, &many));
		scd_bloom_free(&one);
		scd_bloom_free(&many);
	}
}

static void spare_bits_stay_zero(void **state)
{
	(void)state;
	for (uint64_t nbits = 1; nbits < 20; nbits++) {
		struct scd_bloom b;

		make(&b, nbits, 3);
		add_keys(&b, 0, 200);
		assert_int_equal(scd_bloom_ones(&b), nbits);
		assert_true(scd_bloom_fill(&b) == 1.0);
		assert_true(isinf(scd_bloom_cardinality(&b)));
		scd_bloom_clear(&b);
		assert_int_equal(scd_bloom_ones(&b), 0);
		scd_bloom_free(&b);
	}
}

static void sets_combine(void **state)
{
	struct scd_bloom a, b, both, copy;

	(void)state;
	make(&a, 99991, 3);
	make(&b, 99991, 3);
	make(&both, 99991, 3);
	add_keys(&a, 0, 3000);
	add_keys(&b, 2000, 5000);
	add_keys(&both, 0, 5000);
	assert_int_equal(scd_bloom_copy(&a, &copy), SCD_OK);
	assert_true(scd_bloom_equal(&a, &copy));
	assert_int_equal(scd_bloom_union(&copy, &b), SCD_OK);
	assert_true(scd_bloom_equal(&copy, &both));
	assert_int_equal(scd_bloom_xor(&copy, &a), SCD_OK);
	assert_int_equal(scd_bloom_xor(&copy, &a), SCD_OK);
	assert_true(scd_bloom_equal(&copy, &both));
	assert_int_equal(scd_bloom_intersect(&copy, &a), SCD_OK);
	assert_true(scd_bloom_equal(&copy, &a));
	assert_int_equal(scd_bloom_intersect(&copy, &b), SCD_OK);
	assert_int_equal(count_keys(&copy, 2000, 3000), 1000);
	assert_false(scd_bloom_equal(&copy, &a));
	scd_bloom_free(&a);
	scd_bloom_free(&b);
	scd_bloom_free(&both);
	scd_bloom_free(&copy);
}

/* Bit by bit, with arrays of every length that blocks and words leave over. */
static void all_lengths_combine(void **state)
{
	static int (*const combine[])(struct scd_bloom *,
				      const struct scd_bloom *) = {
		scd_bloom_union, scd_bloom_intersect, scd_bloom_xor};
	uint64_t random = 11;

	(void)state;
	for (uint64_t nbits = 1; nbits < 800; nbits += 1 + nbits / 100) {
		struct scd_bloom a, b, c;

		make(&a, nbits, 2);
		make(&b, nbits, 2);
		random_bits(&random, a.bits, nbits, nbits / 2);
		random_bits(&random, b.bits, nbits, nbits / 3);
		for (size_t op = 0; op < NROWS(combine); op++) {
			assert_int_equal(scd_bloom_copy(&a, &c), SCD_OK);
			assert_int_equal(combine[op](&c, &b), SCD_OK);
			for (size_t i = 0; i < scd_bloom_bytes(&a); i++) {
				const unsigned x = a.bits[i], y = b.bits[i];
				const unsigned want[] = {x | y, x & y, x ^ y};

				assert_int_equal(c.bits[i], want[op]);
			}
			scd_bloom_free(&c);
		}
		scd_bloom_free(&a);
		scd_bloom_free(&b);
	}
}

static void different_shapes_do_not_combine(void **state)
{
	struct scd_bloom a, m, k, hashing;
	double nkeys = -1;

	(void)state;
	make(&a, 1000, 3);
	make(&m, 1001, 3);
	make(&k, 1000, 4);
	make(&hashing, 1000, 4);
	hashing.hashing = SCD_HASHING_SQUID;
	assert_int_equal(scd_bloom_union(&a, &m), SCD_EMISMATCH);
	assert_int_equal(scd_bloom_intersect(&a, &k), SCD_EMISMATCH);
	assert_int_equal(scd_bloom_xor(&a, &m), SCD_EMISMATCH);
	assert_int_equal(scd_bloom_overlap(&a, &k, &nkeys), SCD_EMISMATCH);
	assert_int_equal(scd_bloom_union(&k, &hashing), SCD_EMISMATCH);
	assert_false(scd_bloom_equal(&k, &hashing));
	assert_true(nkeys == -1);
	assert_false(scd_bloom_equal(&a, &m));
	scd_bloom_free(&a);
	scd_bloom_free(&m);
	scd_bloom_free(&k);
	scd_bloom_free(&hashing);
}

/* A key's bits are those of its words modulo the size. */
static void hashing_of_squid(void **state)
{
	const struct scd_key key = { UINT64_C(0x0000000300000011),
				     UINT64_C(0x0000001500000f3c) };
	struct scd_bloom b;

	(void)state;
	make(&b, 1000, 4);
	b.hashing = SCD_HASHING_SQUID;
	assert_false(scd_bloom_has(&b, &key));
	scd_bloom_add(&b, &key);
	assert_true(scd_bloom_has(&b, &key));
	assert_int_equal(scd_bloom_ones(&b), 4);
	assert_int_equal(b.bits[0], 1 << 3);
	assert_int_equal(b.bits[2], 1 << 1 | 1 << 5);
	assert_int_equal(b.bits[900 / 8], 1 << 900 % 8); /* f3c is 3900 */
	scd_bloom_free(&b);
}

/* From every size to every smaller one: what the same keys make there. */
static void folded_as_if_built_small(void **state)
{
	(void)state;
	for (unsigned from = 0; from <= 14; from++) {
		unsigned nhash = 1 + from * 7 % SCD_MAX_HASH;
		uint64_t last = 1 + (UINT64_C(1) << from) / nhash;
		struct scd_bloom large, small, folded;

		make(&large, UINT64_C(1) << from, nhash);
		add_keys(&large, 0, last);
		for (unsigned to = 0; to <= from; to++) {
			make(&small, UINT64_C(1) << to, nhash);
			add_keys(&small, 0, last);
			assert_int_equal(
				scd_bloom_fold(&large, small.nbits, &folded),
				SCD_OK);
			assert_true(scd_bloom_equal(&folded, &small));
			assert_ptr_not_equal(folded.bits, large.bits);
			scd_bloom_free(&small);
			scd_bloom_free(&folded);
		}
		scd_bloom_free(&large);
	}
}

static void only_powers_of_two_fold(void **state)
{
	static const struct {
		uint64_t from, to;
		enum scd_hashing hashing;
	} rows[] = {
		{ 1024, 0, SCD_HASHING_DOUBLE },
		{ 1024, 2048, SCD_HASHING_DOUBLE },
		{ 1024, 96, SCD_HASHING_DOUBLE },
		{ 1024, UINT64_MAX, SCD_HASHING_DOUBLE },
		{ 96, 32, SCD_HASHING_DOUBLE },
		{ 1024, 512, SCD_HASHING_SQUID },
	};
	struct scd_bloom out = { .nbits = 77 };

	(void)state;
	for (size_t i = 0; i < NROWS(rows); i++) {
		struct scd_bloom b;

		make(&b, rows[i].from, SCD_SQUID_HASH);
		b.hashing = rows[i].hashing;
		assert_int_equal(scd_bloom_fold(&b, rows[i].to, &out),
				 SCD_EINVAL);
		assert_int_equal(out.nbits, 77);
		scd_bloom_free(&b);
	}
}

static void folding_without_memory(void **state)
{
	struct scd_bloom b, out = { .nbits = 77 };

	(void)state;
	make(&b, 1024, 3);
	alloc_fail_at(1);
	assert_int_equal(scd_bloom_fold(&b, 512, &out), SCD_ENOMEM);
	assert_true(alloc_failed());
	assert_int_equal(out.nbits, 77);
	scd_bloom_free(&b);
}

static void estimates_are_close(void **state)
{
	struct scd_bloom a, b;
	double nkeys;

	(void)state;
	make(&a, 1 << 18, 3);
	make(&b, 1 << 18, 3);
	add_keys(&a, 0, 10000);
	add_keys(&b, 7000, 19000);
	assert_true(fabs(scd_bloom_cardinality(&a) / 10000 - 1) < 0.01);
	assert_true(fabs(scd_bloom_cardinality(&b) / 12000 - 1) < 0.01);
	assert_int_equal(scd_bloom_overlap(&a, &b, &nkeys), SCD_OK);
	assert_true(fabs(nkeys / 3000 - 1) < 0.05);
	scd_bloom_clear(&b);
	assert_int_equal(scd_bloom_overlap(&a, &b, &nkeys), SCD_OK);
	assert_true(nkeys >= 0 && nkeys < 1e-6);
	assert_true(scd_bloom_estimate(1000, 0, 3) == 0);
	scd_bloom_free(&a);
	scd_bloom_free(&b);
}

/* Bytes [from, to) of an array, for all of the ends that vectors may have. */
static void ones_are_counted_anywhere(void **state)
{
	uint8_t bytes[400];
	uint64_t seed = 7;

	(void)state;
	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)random_next(&seed);
	for (size_t from = 0; from < 70; from++) {
		uint64_t ones = 0;

		for (size_t to = from; to <= sizeof(bytes); to++) {
			assert_int_equal(scd__count_ones(bytes + from,
							 to - from),
					 ones);
			if (to < sizeof(bytes))
				ones += (unsigned)__builtin_popcount(bytes[to]);
		}
	}
}

/* Whole huge pages, where that takes a quarter more at most. */
static void large_arrays_fill_huge_pages(void **state)
{
	const size_t page = SCD__HUGE_PAGE, below = page / 5 * 4 - 9;

	(void)state;
	assert_int_equal(scd__array_memory_size(1), 1);
	assert_int_equal(scd__array_memory_size(page / 2), page / 2);
	assert_int_equal(scd__array_memory_size(below), below);
	assert_int_equal(scd__array_memory_size(below + 18), page);
	assert_int_equal(scd__array_memory_size(page), page);
	assert_int_equal(scd__array_memory_size(page + 1), page + 1);
	assert_int_equal(scd__array_memory_size(9 * page - 1), 9 * page);
	assert_int_equal(scd__array_memory_size(SIZE_MAX), SIZE_MAX);
}

/* Also where the memory was in use before. */
static void large_filters_are_empty(void **state)
{
	const uint64_t nbits = UINT64_C(8) * SCD__HUGE_PAGE + 9;
	struct scd_bloom b;

	(void)state;
	for (int round = 0; round < 3; round++) {
		make(&b, nbits, 2);
		assert_int_equal(scd_bloom_ones(&b), 0);
		memset(b.bits, 0xff, scd_bloom_bytes(&b));
		scd_bloom_free(&b);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(shapes_are_checked),
		cmocka_unit_test(found_as_predicted),
		cmocka_unit_test(many_are_added_as_one_by_one),
		cmocka_unit_test(spare_bits_stay_zero),
		cmocka_unit_test(sets_combine),
		cmocka_unit_test(all_lengths_combine),
		cmocka_unit_test(different_shapes_do_not_combine),
		cmocka_unit_test(hashing_of_squid),
		cmocka_unit_test(folded_as_if_built_small),
		cmocka_unit_test(only_powers_of_two_fold),
		cmocka_unit_test(folding_without_memory),
		cmocka_unit_test(estimates_are_close),
		cmocka_unit_test(ones_are_counted_anywhere),
		cmocka_unit_test(large_arrays_fill_huge_pages),
		cmocka_unit_test(large_filters_are_empty),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
