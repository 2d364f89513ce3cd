/*
 * Conditional deltas: splitting a change and joining it again, by each engine
 * and against the dumbest twin; the whole way from filter to filter; sizes
 * beside XOR deltas; damaged input; no memory.
 */
#include <stdlib.h>
#include <string.h>

#include "codec/coder/conditional_coder.h"
#include "codec/delta.h"
#include "codec/wire/frame.h"
#include "tests/codec/alloc.h"
#include "tests/codec/sample.h"
#include "tests/rounds.h"
#include "tests/unit.h"

static bool bit(const uint8_t *bits, uint64_t at)
{
	return bits[at / 8] >> at % 8 & 1;
}

/* What an engine has split, looked at place by place. */
static void check_split(const struct scd_bloom *base,
			const struct scd_bloom *next,
			const struct scd__changes *c)
{
	uint64_t one = 0, zero = 0;

	for (uint64_t at = 0; at < base->nbits; at++) {
		const bool changed =
			bit(base->bits, at) != bit(next->bits, at);

		if (bit(base->bits, at))
			assert_int_equal(bit(c->cleared_bits, one++), changed);
		else
			assert_int_equal(bit(c->set_bits, zero++), changed);
	}
}

static void check_engine(const struct scd__change_engine *engine,
			 const struct scd_bloom *base,
			 const struct scd_bloom *next)
{
	struct scd__changes c = {0};
	struct scd_bloom back;

	c.cleared.nbits = scd_bloom_ones(base);
	c.set.nbits = base->nbits - c.cleared.nbits;
	assert_int_equal(scd__changes_new(&c), SCD_OK);
	engine->split(base->bits, next->bits, base->nbits, &c);
	check_split(base, next, &c);
	assert_int_equal(scd_bloom_copy(base, &back), SCD_OK);
	engine->join(back.bits, back.bits, base->nbits, &c);
	assert_true(scd_bloom_equal(&back, next));
	scd_bloom_free(&back);
	scd__changes_free(&c);
}

static void engines_split_and_join(void **state)
{
	const int n = rounds_of(2000, 100000);
	uint64_t seed = 1;

	(void)state;
	for (int i = 0; i < n; i++) {
		const uint64_t nbits = 1 + random_below(&seed, 1000);
		struct scd_bloom base =
			sample_bloom(random_next(&seed), nbits,
				     random_below(&seed, nbits + 1));
		struct scd_bloom next =
			sample_bloom(random_next(&seed), nbits,
				     random_below(&seed, nbits + 1));

		for (size_t e = 0; e < scd__change_nengines; e++) {
			if (!scd__change_engines[e]->available())
				continue;
			check_engine(scd__change_engines[e], &base, &next);
			check_engine(scd__change_engines[e], &base, &base);
		}
		scd_bloom_free(&base);
		scd_bloom_free(&next);
	}
}

static struct scd_delta encode(const struct scd_bloom *base,
			       const struct scd_bloom *next)
{
	struct scd_digest_info ids = sample_ids(2, 1);
	struct scd_delta delta = {0};
	uint8_t *out = NULL;

	ids.nkeys = 0;
	assert_int_equal(scd_delta_encode_conditional(base, next, &ids, &out,
						      &delta.len),
			 SCD_OK);
	delta.bytes = out;
	return delta;
}

static void release(struct scd_delta *delta)
{
	free((void *)(uintptr_t)delta->bytes);
}

static int apply(const struct scd_bloom *base, const uint8_t *bytes,
		 size_t len, struct scd_bloom *out)
{
	const struct scd_base from = {.bloom = base,
				      .instance = SAMPLE_INSTANCE,
				      .generation = 1};
	struct scd_limits limits;

	scd_limits_init(&limits);
	limits.max_fp_ppm = 1000000;
	return scd_delta_apply(bytes, len, &limits, &from, NULL, out);
}

static const struct {
	const char *label;
	uint64_t nbits, before;
	unsigned flips;
} changes[] = {
	/* clang-format off */
	{ "one place, set", 1, 0, 1 },
	{ "from nothing", 1000, 0, 50 },
	{ "nothing changes", 1000, 130, 0 },
	{ "full before", 1000, 1000, 30 },
	{ "paper's", 14000, 1864, 40 },
	{ "odd", 1003, 130, 300 },
	{ "all of it", 64, 20, 4000 },
	{ "gaps in both parts", 1 << 20, 140000, 3000 },
	{ "stored parts", 70000, 35000, 200000 },
	/* clang-format on */
};

static void filters_come_back(void **state)
{
	(void)state;
	for (size_t i = 0; i < NROWS(changes); i++) {
		struct scd_bloom base = sample_bloom(i, changes[i].nbits,
						     changes[i].before);
		struct scd_bloom next =
			sample_next(&base, i, changes[i].flips);
		struct scd_delta delta = encode(&base, &next);
		struct scd_bloom back;

		assert_int_equal(apply(&base, delta.bytes, delta.len, &back),
				 SCD_OK);
		sample_same(&back, &next);
		scd_bloom_free(&back);
		assert_true(delta.len <= SCD_DIGEST_HEADER_BYTES +
						 scd_bloom_bytes(&base) + 16);
		release(&delta);
		scd_bloom_free(&base);
		scd_bloom_free(&next);
	}
}

/* n objects, m / n = 14, k = 2, 1 % of them replaced: some 7 % less. */
static void smaller_than_xor(void **state)
{
	enum { KEYS = 20000 };
	struct scd_digest_info ids = sample_ids(2, 1);
	struct scd_bloom base, next;
	struct scd_delta delta;
	uint8_t *xor_delta;
	size_t xor_len;

	(void)state;
	scd_bloom_init(&base, 14 * KEYS, 2);
	scd_bloom_init(&next, 14 * KEYS, 2);
	for (uint64_t i = 0; i < KEYS + KEYS / 100; i++) {
		uint64_t seed = i;
		struct scd_key key = {random_next(&seed), random_next(&seed)};

		if (i < KEYS)
			scd_bloom_add(&base, &key);
		if (i >= KEYS / 100)
			scd_bloom_add(&next, &key);
	}
	delta = encode(&base, &next);
	assert_int_equal(
		scd_delta_encode(&base, &next, &ids, &xor_delta, &xor_len),
		SCD_OK);
	assert_true((double)(delta.len - 96) < 0.95 * (double)(xor_len - 96));
	free(xor_delta);
	release(&delta);
	scd_bloom_free(&base);
	scd_bloom_free(&next);
}

/* With the header's own checksum right. */
static int apply_forged(const struct scd_bloom *base, uint8_t *bytes,
			size_t len)
{
	struct scd_bloom out = {0};
	uint64_t sum = scd__frame_checksum(bytes);
	int error;

	for (int i = 0; i < 8; i++)
		bytes[88 + i] = (uint8_t)(sum >> 8 * i);
	error = apply(base, bytes, len, &out);
	scd_bloom_free(&out);
	return error;
}

static void damage_installs_nothing(void **state)
{
	struct scd_bloom base = sample_bloom(1, 14000, 1864);
	struct scd_bloom next = sample_next(&base, 2, 40);
	struct scd_delta delta = encode(&base, &next);
	uint8_t *bad = malloc(delta.len);
	uint64_t seed = 3;

	(void)state;
	assert_non_null(bad);
	for (size_t len = 0; len < delta.len; len++) {
		struct scd_bloom out;

		assert_int_not_equal(apply(&base, delta.bytes, len, &out),
				     SCD_OK);
	}
	for (int i = 0; i < 20000; i++) {
		/* ncoded, nones, payload: not what only describes */
		size_t at = i % 3 == 0	 ? 72 + random_below(&seed, 8)
			    : i % 3 == 1 ? 24 + random_below(&seed, 8)
					 : 96 + random_below(&seed,
							     delta.len - 96);
		uint8_t flip = (uint8_t)(1u << random_below(&seed, 8));
		int error;

		memcpy(bad, delta.bytes, delta.len);
		bad[at] ^= flip;
		error = apply_forged(&base, bad, delta.len);
		/* A flip in a part of coding 2 may mean the same array. */
		assert_true(error == SCD_EFORMAT || error == SCD_ECHECKSUM ||
			    error == SCD_ELIMIT || error == SCD_OK);
		if (at < 96)
			assert_int_not_equal(error, SCD_OK);
	}
	free(bad);
	release(&delta);
	scd_bloom_free(&base);
	scd_bloom_free(&next);
}

static void wrong_bases_are_refused(void **state)
{
	struct scd_bloom base = sample_bloom(1, 14000, 1864);
	struct scd_bloom other = sample_bloom(2, 14000, 1864);
	struct scd_bloom next = sample_next(&base, 2, 40);
	struct scd_delta delta = encode(&base, &next);
	uint8_t *out;
	size_t len;
	struct scd_bloom bloom;

	(void)state;
	assert_int_equal(apply(&other, delta.bytes, delta.len, &bloom),
			 SCD_EBASE);
	assert_int_equal(scd_delta_compose(&delta, &delta, NULL, &out, &len),
			 SCD_EBASE);
	assert_int_equal(scd_digest_decode(delta.bytes, delta.len, NULL, NULL,
					   &bloom),
			 SCD_EBASE);
	release(&delta);
	scd_bloom_free(&base);
	scd_bloom_free(&other);
	scd_bloom_free(&next);
}

static void no_memory_is_survived(void **state)
{
	struct scd_bloom base = sample_bloom(1, 14000, 1864);
	struct scd_bloom next = sample_next(&base, 2, 40);
	struct scd_delta delta = encode(&base, &next);
	struct scd_digest_info ids = sample_ids(2, 1);
	struct scd_bloom bloom;
	uint8_t *out;
	size_t len;
	unsigned n = 0;
	int error;

	(void)state;
	do {
		alloc_fail_at(++n);
		error = scd_delta_encode_conditional(&base, &next, &ids, &out,
						     &len);
		if (error)
			assert_int_equal(error, SCD_ENOMEM);
		else
			free(out);
	} while (alloc_failed());
	n = 0;
	do {
		alloc_fail_at(++n);
		error = apply(&base, delta.bytes, delta.len, &bloom);
		if (error)
			assert_int_equal(error, SCD_ENOMEM);
		else
			scd_bloom_free(&bloom);
	} while (alloc_failed());
	alloc_fail_at(0);
	release(&delta);
	scd_bloom_free(&base);
	scd_bloom_free(&next);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(engines_split_and_join),
		cmocka_unit_test(filters_come_back),
		cmocka_unit_test(smaller_than_xor),
		cmocka_unit_test(damage_installs_nothing),
		cmocka_unit_test(wrong_bases_are_refused),
		cmocka_unit_test(no_memory_is_survived),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
