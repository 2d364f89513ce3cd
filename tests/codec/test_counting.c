/*
 * Counting filters: against an array of plain integers, to which the same
 * random operations are applied.
 */
#include "tests/unit.h"

#include <string.h>

#include "codec/counting.h"
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(behaves_like_the_model),
		cmocka_unit_test(what_is_there_is_found),
		cmocka_unit_test(shapes_are_checked),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
