/*
 * Lists in memory and as full digests: against an array that is sorted anew,
 * sizes against the entropy, damaged input.
 */
#include <math.h>
#include <string.h>

#include "codec/bloom.h"
#include "tests/codec/list_sample.h"
#include "tests/rounds.h"

static void width_by_rate(void **state)
{
	static const struct {
		uint64_t nkeys;
		double fp;
		unsigned width;
	} rows[] = {
		/* clang-format off */
		{ 1, .99, 5 },
		{ 1, .03, 6 },
		{ 1000, .001, 20 },
		{ 1000, 1000. / (1 << 20), 20 },
		{ 1000000, .001, 30 },
		{ 1000000, .0007, 31 },
		{ 1000000, .9, 25 },
		{ 33554432, .03125, 30 },
		{ 33554433, .03125, 31 },
		{ 1, 1e-12, 40 },
		{ 2, 1e-12, 0 },
		{ UINT64_MAX, .5, 0 },
		/* clang-format on */
	};

	(void)state;
	for (size_t i = 0; i < NROWS(rows); i++)
		assert_int_equal(scd_list_width(rows[i].nkeys, rows[i].fp),
				 rows[i].width);
}

static void bad_shapes_are_refused(void **state)
{
	struct scd_list *list = NULL;

	(void)state;
	assert_int_equal(scd_list_new(&list, 4, 1), SCD_EINVAL);
	assert_int_equal(scd_list_new(&list, 41, 1), SCD_EINVAL);
	assert_int_equal(scd_list_new(&list, 20, 0), SCD_EINVAL);
	assert_null(list);
	scd_list_free(&list);
}

/* A list is what a Bloom filter of this hashing has, but for twins. */
static void list_is_a_bloom_filter(void **state)
{
	enum { WIDTH = 16, N = 1500 };
	struct scd_list *list = list_sample(WIDTH, N, 1);
	uint64_t *entries = list_sample_entries(list), seed = 2, yes = 0;
	struct scd_bloom bloom;

	(void)state;
	assert_int_equal(scd_bloom_init(&bloom, 1 << WIDTH, 1), SCD_OK);
	bloom.hashing = SCD_HASHING_PREFIX;
	for (size_t i = 0; i < N; i++) {
		const struct scd_key key = {entries[i] << (64 - WIDTH) | i, i};

		scd_bloom_add(&bloom, &key);
	}
	for (unsigned i = 0; i < 20000; i++) {
		const struct scd_key key = {random_next(&seed), 0};

		assert_int_equal(scd_list_has(list, &key),
				 scd_bloom_has(&bloom, &key));
		yes += scd_list_has(list, &key);
	}
	assert_true(yes > 300 && yes < 600); /* 458 of 20000 by n / 2^w */
	free(entries);
	scd_bloom_free(&bloom);
	scd_list_free(&list);
}

/* The twin: a sorted array, copied for each change. */
struct twin {
	uint64_t *entries;
	size_t n;
};

static int twin_compare(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static void twin_apply(struct twin *t, const struct scd_list_change *c)
{
	size_t left = 0, gone = 0;

	for (size_t i = 0; i < t->n; i++) {
		if (gone < c->nremoved && t->entries[i] == c->removed[gone])
			gone++;
		else
			t->entries[left++] = t->entries[i];
	}
	assert_int_equal(gone, c->nremoved);
	memcpy(t->entries + left, c->added, c->nadded * sizeof(*c->added));
	t->n = left + c->nadded;
	qsort(t->entries, t->n, sizeof(*t->entries), twin_compare);
}

static void twin_check(const struct twin *t, const struct scd_list *list,
		       uint64_t *seed)
{
	uint64_t *entries = list_sample_entries(list), got[5];
	const uint64_t first = random_below(seed, t->n + 2);
	const uint64_t left = first < t->n ? t->n - first : 0;
	const size_t n = scd_list_entries(list, first, 5, got);

	assert_int_equal(list_sample_count(list), t->n);
	assert_memory_equal(entries, t->entries, t->n * sizeof(*entries));
	assert_int_equal(n, left < 5 ? left : 5);
	assert_memory_equal(got, t->entries + (n ? first : 0),
			    n * sizeof(*got));
	free(entries);
}

/* Random changes; where crowded, entries are in one bucket, and often twins. */
static void check_changes(unsigned width, size_t most, bool crowded)
{
	struct twin twin = {list_sample_numbers(most + 64), 0};
	struct scd_list *list = list_sample(width, 0, 1), *fresh;
	uint64_t seed = width + most;
	const int rounds = rounds_of(60, 600);

	for (int i = 0; i < rounds; i++) {
		const size_t go = random_below(&seed, twin.n + 1) *
				  random_below(&seed, 4) / 4;
		const size_t room = most - (twin.n - go);
		const size_t come =
			random_below(&seed, room < 64 ? room + 1 : 64);
		struct scd_list_change c = list_sample_change(
			list, random_next(&seed), go, i < 9 ? room : come);

		for (size_t j = 0; crowded && j < c.nadded; j++)
			c.added[j] = c.added[j] >> width / 2 |
				     UINT64_C(1) << (width - 1);
		assert_int_equal(scd_list_change_sort(&c), SCD_OK);
		assert_int_equal(scd_list_change(list, &c, 2 + (uint64_t)i),
				 SCD_OK);
		twin_apply(&twin, &c);
		twin_check(&twin, list, &seed);
		scd_list_change_free(&c);
	}
	fresh = list_sample(width, 0, 1);
	assert_int_equal(scd_list_change(fresh,
					 &(struct scd_list_change){
						 .added = twin.entries,
						 .nadded = twin.n,
					 },
					 2),
			 SCD_OK);
	list_sample_same(list, fresh); /* whatever the way there */
	scd_list_free(&fresh);
	scd_list_free(&list);
	free(twin.entries);
}

static void changes_are_those_of_an_array(void **state)
{
	(void)state;
	check_changes(5, 1, false);
	check_changes(10, 32, false);
	check_changes(16, 900, false);
	check_changes(16, 900, true);
	check_changes(36, 1500, false);
	check_changes(40, 300, true);
	/* several buckets, and cells in them */
	check_changes(18, 8000, false);
	check_changes(20, 6000, true);
	/* with large words at first; and as they stay */
	check_changes(26, 9000, false);
	check_changes(26, 9000, true);
	check_changes(32, 5000, false);
}

/* What cannot be applied leaves the list as it is. */
static void bad_changes_are_refused(void **state)
{
	uint64_t down[] = {9, 8}, large[] = {1 << 16}, none[] = {1, 2, 3};
	uint64_t some[3000] = {0};
	struct scd_list *list = list_sample(16, 2000, 3);
	struct scd_list *before = list_sample(16, 2000, 3);
	uint64_t *held = list_sample_entries(list), twice[2], absent = 0;
	const struct {
		struct scd_list_change change;
		int error;
	} rows[] = {
		{{.removed = down, .nremoved = 2}, SCD_EINVAL},
		{{.added = down, .nadded = 2}, SCD_EINVAL},
		{{.removed = large, .nremoved = 1}, SCD_EINVAL},
		{{.added = large, .nadded = 1}, SCD_EINVAL},
		{{.removed = &absent, .nremoved = 1}, SCD_EINVAL},
		{{.removed = twice, .nremoved = 2, .added = none, .nadded = 3},
		 SCD_EINVAL},
		{{.removed = some, .nremoved = 2001}, SCD_EINVAL},
		{{.added = some, .nadded = 49}, SCD_ELIMIT},
		{{.added = some, .nadded = 3000}, SCD_ELIMIT},
	};
	uint8_t *out = NULL;
	size_t len = 0;

	(void)state;
	twice[0] = twice[1] = held[1999]; /* it is there once */
	assert_true(held[1998] != held[1999]);
	for (size_t i = 0; i < 2000 && held[i] <= absent; i++)
		absent = held[i] + 1;
	for (size_t i = 0; i < NROWS(rows); i++) {
		const struct scd_list_change *c = &rows[i].change;

		assert_int_equal(scd_list_change(list, c, 2), rows[i].error);
		assert_int_equal(scd_list_delta_encode(list, c, 2, &out, &len),
				 rows[i].error);
		list_sample_same(list, before);
	}
	assert_null(out);
	free(held);
	scd_list_free(&before);
	scd_list_free(&list);
}

/* What comes and goes alike cancels, and twins count. */
static void changes_cancel(void **state)
{
	const uint64_t removed[] = {5, 9, 5, 1, 5}, added[] = {5, 7, 9, 5, 2};
	struct scd_list_change c = {.removed = list_sample_numbers(5),
				    .added = list_sample_numbers(5),
				    .nremoved = 5,
				    .nadded = 5};

	(void)state;
	memcpy(c.removed, removed, sizeof(removed));
	memcpy(c.added, added, sizeof(added));
	assert_int_equal(scd_list_change_sort(&c), SCD_OK);
	assert_int_equal(c.nremoved, 2);
	assert_int_equal(c.nadded, 2);
	assert_true(c.removed[0] == 1 && c.removed[1] == 5);
	assert_true(c.added[0] == 2 && c.added[1] == 7);
	scd_list_change_free(&c);
	assert_null(c.removed);
	assert_int_equal(scd_list_change_sort(&c), SCD_OK);
}

/* log2 of the multisets of n entries below 2^width, as bytes. */
static double entropy(unsigned width, double n)
{
	const double all = ldexp(1, (int)width) + n - 1;

	return (lgamma(all + 1) - lgamma(n + 1) - lgamma(all - n + 1)) /
	       log(2) / 8;
}

/* Payloads to the byte, which are the same on every machine. */
static void sizes_are_those_of_the_entropy(void **state)
{
	static const struct {
		unsigned width;
		size_t n, bytes;
	} rows[] = {
		/* clang-format off */
		{ 20, 0, 0 },
		{ 5, 1, 2 },
		{ 30, 1, 4 },
		{ 40, 1, 6 },
		{ 12, 128, 104 },
		{ 20, 1000, 1435 },
		{ 40, 1000, 3936 },
		{ 15, 1024, 829 },
		{ 24, 10000, 15195 },
		{ 27, 100000, 147928 },
		{ 22, 100000, 85629 },
		/* clang-format on */
	};

	(void)state;
	for (size_t i = 0; i < NROWS(rows); i++) {
		struct scd_list *list =
			list_sample(rows[i].width, rows[i].n, i);
		const double least = entropy(rows[i].width, (double)rows[i].n);
		struct scd_list *back;
		uint8_t *out;
		size_t len;

		assert_int_equal(scd_list_encode(list, &out, &len), SCD_OK);
		len -= SCD_DIGEST_HEADER_BYTES;
		if (len != rows[i].bytes)
			fail_msg("width %u, %zu entries: %zu bytes, not %zu",
				 rows[i].width, rows[i].n, len, rows[i].bytes);
		assert_true((double)len <= 1.001 * least + 2);
		assert_int_equal(scd_list_decode(out,
						 len + SCD_DIGEST_HEADER_BYTES,
						 NULL, NULL, &back),
				 SCD_OK);
		list_sample_same(list, back);
		free(out);
		scd_list_free(&back);
		scd_list_free(&list);
	}
}

/* Any set of entries comes back, however unlikely. */
static void patterns_come_back(void **state)
{
	static const uint64_t steps[] = {0, 1, 2, 7, 1000, 131071};

	(void)state;
	for (size_t i = 0; i < 2 * NROWS(steps); i++) {
		struct scd_list *list = list_sample(27, 0, 1), *back;
		struct scd_list_change c = {.added = list_sample_numbers(999),
					    .nadded = 999};
		uint8_t *out;
		size_t len;

		for (uint64_t j = 0; j < c.nadded; j++)
			c.added[j] = steps[i / 2] * j;
		for (size_t j = 0; i % 2 && j < c.nadded; j++)
			c.added[j] += (1 << 27) - 1 - 998 * steps[i / 2];
		assert_int_equal(scd_list_change(list, &c, 1), SCD_OK);
		assert_int_equal(scd_list_encode(list, &out, &len), SCD_OK);
		assert_int_equal(scd_list_decode(out, len, NULL, NULL, &back),
				 SCD_OK);
		list_sample_same(list, back);
		free(out);
		scd_list_change_free(&c);
		scd_list_free(&back);
		scd_list_free(&list);
	}
}

/* A header's fields, as they were given and as they are read. */
static void headers_say_what_is_there(void **state)
{
	struct scd_list *list = list_sample(20, 777, 5), *back;
	struct scd_digest_info said, parsed, read;
	uint8_t *out;
	size_t len;

	(void)state;
	scd_list_info(list, &said);
	assert_int_equal(said.kind, SCD_LIST);
	assert_int_equal(said.nbits, 1 << 20);
	assert_int_equal(said.nones, 777);
	assert_int_equal(said.nkeys, 777);
	assert_int_equal(said.generation, 1);
	assert_int_equal(said.instance, LIST_INSTANCE);
	assert_int_equal(scd_list_encode(list, &out, &len), SCD_OK);
	assert_int_equal(scd_digest_judge(out, NULL, &parsed), SCD_OK);
	assert_int_equal(scd_list_decode(out, len, NULL, &read, &back), SCD_OK);
	said.payload_bytes = len - SCD_DIGEST_HEADER_BYTES;
	assert_memory_equal(&said, &parsed, sizeof(said));
	assert_memory_equal(&said, &read, sizeof(said));
	assert_true(scd_list_memory(back) < 8 * 777);
	free(out);
	scd_list_free(&back);
	scd_list_free(&list);
}

/* At every length, and with every bit another: refused, or the same list. */
static void damage_is_found(void **state)
{
	struct scd_list *list = list_sample(20, 300, 6);
	struct scd_list *back = NULL;
	uint8_t *out;
	size_t len;

	(void)state;
	assert_int_equal(scd_list_encode(list, &out, &len), SCD_OK);
	for (size_t i = 0; i < len; i++) {
		assert_int_not_equal(scd_list_decode(out, i, NULL, NULL, &back),
				     SCD_OK);
		assert_null(back);
	}
	for (size_t bit = 0; bit < 8 * len; bit++) {
		int error;

		out[bit / 8] ^= (uint8_t)(1u << bit % 8);
		error = scd_list_decode(out, len, NULL, NULL, &back);
		assert_true(error == SCD_EFORMAT || error == SCD_ECHECKSUM ||
			    error == SCD_EVERSION);
		out[bit / 8] ^= (uint8_t)(1u << bit % 8);
	}
	assert_null(back);
	free(out);
	scd_list_free(&list);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(width_by_rate),
		cmocka_unit_test(bad_shapes_are_refused),
		cmocka_unit_test(list_is_a_bloom_filter),
		cmocka_unit_test(changes_are_those_of_an_array),
		cmocka_unit_test(bad_changes_are_refused),
		cmocka_unit_test(changes_cancel),
		cmocka_unit_test(sizes_are_those_of_the_entropy),
		cmocka_unit_test(patterns_come_back),
		cmocka_unit_test(headers_say_what_is_there),
		cmocka_unit_test(damage_is_found),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
