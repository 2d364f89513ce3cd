/*
 * Deltas: they lead from their base to the next generation, compose, and
 * refuse everything else.
 */
#include <stdlib.h>

#include "codec/delta.h"
#include "tests/codec/alloc.h"
#include "tests/codec/sample.h"
#include "tests/rounds.h"

enum {
	FLIPS = 100000,
	FLIPS_LONG = 1000000, /* with SCD_TEST_LONG in the environment */
	NBITS = 3003,
	NONES = 400,
};

static struct scd_delta encode(const struct scd_bloom *base,
			       const struct scd_bloom *next, uint64_t from,
			       uint64_t to)
{
	struct scd_digest_info ids = sample_ids(to, from);
	uint8_t *bytes;
	size_t len;

	assert_int_equal(scd_delta_encode(base, next, &ids, &bytes, &len),
			 SCD_OK);
	return (struct scd_delta){bytes, len};
}

static void release(struct scd_delta *delta)
{
	free((void *)(uintptr_t)delta->bytes);
	delta->bytes = NULL;
}

static int apply(const struct scd_delta *delta, const struct scd_bloom *base,
		 uint64_t generation, struct scd_bloom *out)
{
	const struct scd_base from = {.bloom = base,
				      .instance = SAMPLE_INSTANCE,
				      .generation = generation};
	struct scd_digest_info info = {.nbits = 5};
	int error;

	*out = (struct scd_bloom){.nbits = 5};
	error = scd_delta_apply(delta->bytes, delta->len, NULL, &from, &info,
				out);
	if (error)
		assert_true(out->nbits == 5 && info.nbits == 5);
	else
		assert_true(info.checksum == scd_digest_checksum(out));
	return error;
}

/* From no flip to more than there are bits; the base stays as it was. */
static void leads_to_the_next_generation(void **state)
{
	static const unsigned flips[] = {0, 1, 2, 30, 500, 4000};

	(void)state;
	for (size_t i = 0; i < NROWS(flips); i++) {
		struct scd_bloom base = sample_bloom(i, NBITS, NONES);
		struct scd_bloom same = sample_next(&base, 0, 0);
		struct scd_bloom next = sample_next(&base, i, flips[i]);
		struct scd_bloom out;
		struct scd_delta delta = encode(&base, &next, 1, 2);
		struct scd_delta again = encode(&base, &next, 1, 2);

		assert_int_equal(delta.len, again.len);
		assert_memory_equal(delta.bytes, again.bytes, delta.len);
		if (apply(&delta, &base, 1, &out) == SCD_OK) {
			sample_same(&next, &out);
			scd_bloom_free(&out);
		} else {
			assert_true(flips[i] == 4000); /* 5 % */
		}
		sample_same(&same, &base);
		release(&delta);
		release(&again);
		scd_bloom_free(&base);
		scd_bloom_free(&same);
		scd_bloom_free(&next);
	}
}

static void sparse_deltas_are_small(void **state)
{
	struct scd_bloom base = sample_bloom(1, 140000, 18632);
	struct scd_bloom next = sample_next(&base, 2, 340);
	struct scd_delta delta = encode(&base, &next, 1, 2);

	(void)state;
	assert_true(delta.len < SCD_DIGEST_HEADER_BYTES + 436);
	release(&delta);
	scd_bloom_free(&base);
	scd_bloom_free(&next);
}

/* A run of generations; any two deltas that meet compose to the direct one. */
static void compose_to_the_direct_delta(void **state)
{
	enum { GENERATIONS = 8 };
	struct scd_bloom at[GENERATIONS];

	(void)state;
	at[0] = sample_bloom(1, NBITS, NONES);
	for (uint64_t g = 1; g < GENERATIONS; g++)
		at[g] = sample_next(&at[g - 1], g, 20);
	for (uint64_t a = 0; a < GENERATIONS - 2; a++) {
		for (uint64_t b = a + 1; b < GENERATIONS - 1; b++) {
			uint64_t c = GENERATIONS - 1;
			struct scd_delta ab = encode(&at[a], &at[b], a, b);
			struct scd_delta bc = encode(&at[b], &at[c], b, c);
			struct scd_delta ac = encode(&at[a], &at[c], a, c);
			uint8_t *out;
			size_t len;

			assert_int_equal(
				scd_delta_compose(&ab, &bc, NULL, &out, &len),
				SCD_OK);
			assert_int_equal(len, ac.len);
			assert_memory_equal(out, ac.bytes, len);
			free(out);
			release(&ab);
			release(&bc);
			release(&ac);
		}
	}
	for (uint64_t g = 0; g < GENERATIONS; g++)
		scd_bloom_free(&at[g]);
}

/* Three generations, and the deltas and the digest that go with them. */
struct chain {
	struct scd_bloom a, b, c;
	struct scd_delta ab, bc, full;
};

static struct chain chain_new(void)
{
	struct scd_digest_info ids = sample_ids(1, 0);
	struct chain x;
	uint8_t *bytes;

	x.a = sample_bloom(1, NBITS, NONES);
	x.b = sample_next(&x.a, 2, 30);
	x.c = sample_next(&x.b, 3, 30);
	x.ab = encode(&x.a, &x.b, 1, 2);
	x.bc = encode(&x.b, &x.c, 2, 3);
	assert_int_equal(scd_digest_encode(&x.a, &ids, &bytes, &x.full.len),
			 SCD_OK);
	x.full.bytes = bytes;
	return x;
}

static void chain_free(struct chain *x)
{
	scd_bloom_free(&x->a);
	scd_bloom_free(&x->b);
	scd_bloom_free(&x->c);
	release(&x->ab);
	release(&x->bc);
	release(&x->full);
}

static void wrong_bases_are_refused(void **state)
{
	struct chain x = chain_new();
	struct scd_bloom odd = sample_bloom(1, NBITS + 1, NONES);
	struct scd_bloom hashes = sample_next(&x.a, 0, 0);
	struct scd_bloom out;
	const struct {
		const struct scd_delta *delta;
		const struct scd_bloom *base;
		uint64_t generation;
		int expected;
	} rows[] = {
		{&x.ab, &x.a, 1, SCD_OK},       {&x.ab, &x.a, 2, SCD_EBASE},
		{&x.ab, &x.b, 1, SCD_EBASE},    {&x.bc, &x.a, 1, SCD_EBASE},
		{&x.bc, &x.a, 2, SCD_EBASE},    {&x.ab, &odd, 1, SCD_EBASE},
		{&x.ab, &hashes, 1, SCD_EBASE}, {&x.full, &x.a, 1, SCD_EBASE},
	};

	(void)state;
	hashes.nhash++;
	for (size_t i = 0; i < NROWS(rows); i++) {
		int error = apply(rows[i].delta, rows[i].base,
				  rows[i].generation, &out);

		assert_int_equal(error, rows[i].expected);
		if (!error)
			scd_bloom_free(&out);
	}
	scd_bloom_free(&odd);
	scd_bloom_free(&hashes);
	chain_free(&x);
}

static void strangers_do_not_compose(void **state)
{
	struct chain x = chain_new();
	const struct {
		const struct scd_delta *first, *second;
	} rows[] = {
		{&x.bc, &x.ab},   {&x.ab, &x.ab},     {&x.full, &x.ab},
		{&x.ab, &x.full}, {&x.full, &x.full},
	};
	uint8_t *out = NULL;
	size_t len = 0;

	(void)state;
	for (size_t i = 0; i < NROWS(rows); i++)
		assert_int_equal(scd_delta_compose(rows[i].first,
						   rows[i].second, NULL, &out,
						   &len),
				 SCD_EBASE);
	assert_null(out);
	chain_free(&x);
}

static void truncated_is_refused(void **state)
{
	struct chain x = chain_new();
	struct scd_bloom out;

	(void)state;
	for (size_t len = 0; len < x.ab.len; len++) {
		uint8_t *bytes = malloc(len ? len : 1);
		struct scd_delta cut = {bytes, len};

		assert_non_null(bytes);
		memcpy(bytes, x.ab.bytes, len);
		assert_int_equal(apply(&cut, &x.a, 1, &out), SCD_ETRUNC);
		free(bytes);
	}
	chain_free(&x);
}

static void flipped_bits_install_nothing_wrong(void **state)
{
	int flips = rounds_of(FLIPS, FLIPS_LONG);
	struct chain x = chain_new();
	uint8_t *bytes = malloc(x.ab.len);
	struct scd_delta flipped = {bytes, x.ab.len};
	struct scd_bloom out;
	uint64_t seed = 5;

	(void)state;
	assert_non_null(bytes);
	memcpy(bytes, x.ab.bytes, x.ab.len);
	for (int i = 0; i < flips; i++) {
		uint64_t at = random_below(&seed, 8 * x.ab.len);
		uint8_t bit = (uint8_t)(1u << at % 8);

		bytes[at / 8] ^= bit;
		if (apply(&flipped, &x.a, 1, &out) == SCD_OK) {
			/* the last bits of a coder's output are free */
			sample_same(&x.b, &out);
			scd_bloom_free(&out);
		}
		bytes[at / 8] ^= bit;
	}
	free(bytes);
	chain_free(&x);
}

static void bad_arguments_are_refused(void **state)
{
	struct chain x = chain_new();
	struct scd_bloom odd = sample_bloom(1, NBITS + 1, NONES);
	struct scd_bloom none = sample_bloom(1, NBITS, 0);
	const struct {
		const struct scd_bloom *base, *next;
		uint64_t from, to, instance;
		int expected;
	} rows[] = {
		{&x.a, &odd, 1, 2, 1, SCD_EMISMATCH},
		{&x.a, &x.b, 1, 2, 0, SCD_EINVAL},
		{&x.a, &x.b, 2, 2, 1, SCD_EINVAL},
		{&x.a, &x.b, 3, 2, 1, SCD_EINVAL},
		{&x.a, &none, 1, 2, 1, SCD_EINVAL},
	};
	uint8_t *out = NULL;
	size_t len = 0;

	(void)state;
	for (size_t i = 0; i < NROWS(rows); i++) {
		struct scd_digest_info ids =
			sample_ids(rows[i].to, rows[i].from);

		ids.instance = rows[i].instance;
		assert_int_equal(scd_delta_encode(rows[i].base, rows[i].next,
						  &ids, &out, &len),
				 rows[i].expected);
	}
	assert_null(out);
	scd_bloom_free(&odd);
	scd_bloom_free(&none);
	chain_free(&x);
}

/* What is tried with the n-th allocation failing. */
static int try_encode(struct chain *x)
{
	struct scd_digest_info ids = sample_ids(2, 1);
	uint8_t *out = NULL;
	size_t len = 0;
	int error = scd_delta_encode(&x->a, &x->b, &ids, &out, &len);

	assert_true(!error == !!out);
	free(out);
	return error;
}

static int try_apply(struct chain *x)
{
	struct scd_bloom out;
	int error = apply(&x->ab, &x->a, 1, &out);

	if (!error)
		scd_bloom_free(&out);
	return error;
}

static int try_compose(struct chain *x)
{
	uint8_t *out = NULL;
	size_t len = 0;
	int error = scd_delta_compose(&x->ab, &x->bc, NULL, &out, &len);

	assert_true(!error == !!out);
	free(out);
	return error;
}

static void no_memory_is_survived(void **state)
{
	int (*const tries[])(struct chain *) = {try_encode, try_apply,
						try_compose};
	struct chain x = chain_new();

	(void)state;
	for (size_t i = 0; i < NROWS(tries); i++) {
		unsigned n = 0;
		int error;

		do {
			alloc_fail_at(++n);
			error = tries[i](&x);
			assert_true(error == SCD_OK || error == SCD_ENOMEM);
		} while (alloc_failed());
		alloc_fail_at(0);
		assert_true(n > 1);
		assert_int_equal(error, SCD_OK);
	}
	chain_free(&x);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(leads_to_the_next_generation),
		cmocka_unit_test(sparse_deltas_are_small),
		cmocka_unit_test(compose_to_the_direct_delta),
		cmocka_unit_test(wrong_bases_are_refused),
		cmocka_unit_test(strangers_do_not_compose),
		cmocka_unit_test(truncated_is_refused),
		cmocka_unit_test(flipped_bits_install_nothing_wrong),
		cmocka_unit_test(bad_arguments_are_refused),
		cmocka_unit_test(no_memory_is_survived),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
