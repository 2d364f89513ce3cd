/*
 * Counting filters: against an array of plain integers, to which the same
 * random operations are applied.
 */
#include "tests/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "codec/counting.h"
#include "codec/squid.h"
#include "tests/codec/random.h"

enum { NBITS = 997, NHASH = 3, NKEYS = 300 };

/* The dumb twin: a counter saturates at 15 and then stays. */
static unsigned model[NBITS];

static struct scd_key key_number(uint64_t i)
{
	uint64_t seed = i << 20;
	struct scd_key key = { random_next(&seed), random_next(&seed) };

	return key;
}

static void model_change(const struct scd_key *key, bool add)
{
	uint64_t at[NHASH];

	scd_positions(key, NBITS, NHASH, at);
	for (unsigned i = 0; i < NHASH; i++) {
		unsigned *c = &model[at[i]];

		if (*c < 15 && (add || *c > 0))
			*c += add ? 1 : -1u;
	}
}

static void compare(const struct scd_counting *c)
{
	const struct scd_bloom *b = scd_counting_bloom(c);
	uint64_t ones = 0, saturated = 0;

	for (unsigned i = 0; i < NBITS; i++) {
		assert_int_equal(b->bits[i >> 3] >> (i & 7) & 1, model[i] > 0);
		ones += model[i] > 0;
		saturated += model[i] == 15;
	}
	assert_int_equal(scd_counting_ones(c), ones);
	assert_int_equal(scd_bloom_ones(b), ones);
	assert_int_equal(scd_counting_saturated(c), saturated);
}

static void behaves_like_the_model(void **state)
{
	struct scd_counting *c;
	uint64_t seed = 7;

	(void)state;
	memset(model, 0, sizeof(model));
	assert_int_equal(scd_counting_new(&c, NBITS, NHASH), SCD_OK);
	for (unsigned i = 0; i < 20000; i++) {
		uint64_t r = random_next(&seed);
		struct scd_key key = key_number(r % NKEYS);
		/* phases that fill up until counters saturate, and empty */
		bool add = (r >> 32) % 100 < (i / 4000 % 2 ? 20 : 80);

		model_change(&key, add);
		if (add)
			scd_counting_add(c, &key);
		else
			scd_counting_remove(c, &key);
		if (i % 500 == 0)
			compare(c);
	}
	compare(c);
	assert_true(scd_counting_saturated(c) > 0);
	scd_counting_clear(c);
	memset(model, 0, sizeof(model));
	compare(c);
	scd_counting_free(&c);
	assert_null(c);
}

static void what_is_there_is_found(void **state)
{
	struct scd_counting *c;

	(void)state;
	assert_int_equal(scd_counting_new(&c, 1 << 16, 4), SCD_OK);
	for (uint64_t i = 0; i < 4000; i++) {
		struct scd_key key = key_number(i);

		scd_counting_add(c, &key);
		if (i < 2000)
			continue;
		key = key_number(i - 2000);
		scd_counting_remove(c, &key);
	}
	for (uint64_t i = 2000; i < 4000; i++) {
		struct scd_key key = key_number(i);

		assert_true(scd_bloom_has(scd_counting_bloom(c), &key));
		scd_counting_remove(c, &key);
	}
	assert_int_equal(scd_counting_ones(c), 0);
	scd_counting_free(&c);
}

static void shapes_are_checked(void **state)
{
	struct scd_counting *c = NULL;

	(void)state;
	assert_int_equal(scd_counting_new(&c, 0, 1), SCD_EINVAL);
	assert_int_equal(scd_counting_new(&c, 8, 33), SCD_EINVAL);
	assert_null(c);
	scd_counting_free(&c);
}

/* A key of scd_squid_key(). */
static struct scd_key squid_key(unsigned i)
{
	char uri[40];
	struct scd_key key;
	int len = snprintf(uri, sizeof(uri), "http://a.example/%u", i);

	assert_int_equal(scd_squid_key("GET", uri, (size_t)len, &key), SCD_OK);
	return key;
}

/* Coming and going keys, as an adapter has them, leave what a plain filter of
 * those that stayed has; Squid's format takes it. */
static void counts_for_squid(void **state)
{
	const struct scd_squid_info info = { .count = 600 };
	struct scd_bloom twin, read;
	struct scd_counting *c;
	uint8_t *bytes;
	size_t len;

	(void)state;
	assert_int_equal(scd_counting_new(&c, 8000, SCD_SQUID_HASH), SCD_OK);
	assert_int_equal(scd_counting_set_hashing(c, SCD_HASHING_SQUID),
			 SCD_OK);
	assert_int_equal(scd_bloom_init(&twin, 8000, SCD_SQUID_HASH), SCD_OK);
	twin.hashing = SCD_HASHING_SQUID;
	for (unsigned i = 0; i < 1000; i++) {
		struct scd_key key = squid_key(i);

		scd_counting_add(c, &key);
		if (i >= 400)
			scd_bloom_add(&twin, &key);
	}
	for (unsigned i = 0; i < 400; i++) {
		struct scd_key key = squid_key(i);

		scd_counting_remove(c, &key);
	}
	assert_true(scd_bloom_equal(scd_counting_bloom(c), &twin));
	assert_int_equal(scd_squid_encode(scd_counting_bloom(c), &info, &bytes,
					  &len),
			 SCD_OK);
	assert_int_equal(scd_squid_decode(bytes, len, NULL, &read), SCD_OK);
	assert_true(scd_bloom_equal(&read, &twin));
	free(bytes);
	scd_bloom_free(&read);
	scd_bloom_free(&twin);
	scd_counting_free(&c);
}

static void hashing_is_checked(void **state)
{
	static const struct {
		uint64_t nbits;
		unsigned nhash;
		int hashing, error;
	} rows[] = {
		{ 8000, 4, SCD_HASHING_SQUID, SCD_OK },
		{ 8000, 3, SCD_HASHING_SQUID, SCD_EINVAL },
		{ 8001, 4, SCD_HASHING_SQUID, SCD_EINVAL },
		{ 8, 4, SCD_HASHING_SQUID, SCD_OK },
		{ 8000, 3, SCD_HASHING_DOUBLE, SCD_OK },
		{ 8192, 1, SCD_HASHING_PREFIX, SCD_OK },
		{ 2, 1, SCD_HASHING_PREFIX, SCD_OK },
		{ 1, 1, SCD_HASHING_PREFIX, SCD_EINVAL },
		{ 8192, 2, SCD_HASHING_PREFIX, SCD_EINVAL },
		{ 8000, 1, SCD_HASHING_PREFIX, SCD_EINVAL },
		{ 8000, 4, 2, SCD_EINVAL },
	};

	(void)state;
	for (size_t i = 0; i < NROWS(rows); i++) {
		struct scd_counting *c;
		int wanted = rows[i].error ? SCD_HASHING_DOUBLE
					   : rows[i].hashing;

		assert_int_equal(
			scd_counting_new(&c, rows[i].nbits, rows[i].nhash),
			SCD_OK);
		assert_int_equal(
			scd_counting_set_hashing(
				c, (enum scd_hashing)rows[i].hashing),
			rows[i].error);
		assert_int_equal(scd_counting_bloom(c)->hashing, wanted);
		scd_counting_free(&c);
	}
}

/* What is in the filter would be looked for elsewhere. */
static void hashing_is_for_the_empty(void **state)
{
	struct scd_key key = key_number(1);
	struct scd_counting *c;

	(void)state;
	assert_int_equal(scd_counting_new(&c, 8000, SCD_SQUID_HASH), SCD_OK);
	scd_counting_add(c, &key);
	assert_int_equal(scd_counting_set_hashing(c, SCD_HASHING_SQUID),
			 SCD_EINVAL);
	scd_counting_remove(c, &key);
	assert_int_equal(scd_counting_set_hashing(c, SCD_HASHING_SQUID),
			 SCD_OK);
	key = squid_key(1);
	scd_counting_add(c, &key);
	assert_int_equal(scd_counting_set_hashing(c, SCD_HASHING_DOUBLE),
			 SCD_EINVAL);
	scd_counting_clear(c);
	assert_int_equal(scd_counting_bloom(c)->hashing, SCD_HASHING_SQUID);
	scd_counting_free(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(behaves_like_the_model),
		cmocka_unit_test(what_is_there_is_found),
		cmocka_unit_test(shapes_are_checked),
		cmocka_unit_test(counts_for_squid),
		cmocka_unit_test(hashing_is_checked),
		cmocka_unit_test(hashing_is_for_the_empty),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
