/*
 * Predictions against reality: counting filters with random keys, of which a
 * share is replaced, digests and deltas as libscd encodes them. Everything
 * that is predicted has to come out within 2 %; the samples are so large that
 * their own error is 0.7 % at most (one standard deviation).
 *
 * Conditional deltas are measured as what they are made of: the array of the
 * ones that were cleared and that of the zeros that were set, both coded.
 */
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "codec/bloom.h"
#include "codec/coder/coder.h"
#include "codec/counting.h"
#include "codec/delta.h"
#include "codec/digest.h"
#include "codec/coder/predict.h"
#include "tests/codec/random.h"
#include "tests/rounds.h"
#include "tests/unit.h"

enum {
	LOG2_BITS = 21,
	BITS = 1 << LOG2_BITS,
	BYTES = BITS / 8,
	FLIPS = 20000,    /* sampled for each size of a delta: 0.7 % */
	MOST_ROUNDS = 30, /* of conditional deltas, which take longer */
	PROBES = 2000000,
};

static const double tolerance = .02;

static const struct {
	unsigned ratio; /* m/n */
	unsigned k;
} shapes[] = {
	{4, 1},  {4, 2},  {4, 3},  {8, 1},  {8, 4},  {8, 6},
	{16, 2}, {16, 8}, {32, 3}, {32, 5}, {64, 1}, {64, 8},
};

static const double churns[] = {.001, .01, .05, .2};

/* A cache: its keys, the oldest of which go first, and its filter. */
struct cache {
	struct scd_key *keys;
	size_t n, oldest;
	uint64_t seed;
	struct scd_counting *filter;
	struct scd_bloom base; /* as it was at the last update */
};

static struct scd_key random_key(uint64_t *seed)
{
	uint64_t lo = random_next(seed);

	return (struct scd_key){lo, random_next(seed)};
}

static void take_base(struct cache *c)
{
	scd_bloom_free(&c->base);
	assert_int_equal(
		scd_bloom_copy(scd_counting_bloom(c->filter), &c->base),
		SCD_OK);
}

static struct cache cache_new(size_t n, unsigned k)
{
	struct cache c = {.n = n, .seed = n * 32 + k};

	c.keys = malloc(n * sizeof(*c.keys));
	assert_non_null(c.keys);
	assert_int_equal(scd_counting_new(&c.filter, BITS, k), SCD_OK);
	for (size_t i = 0; i < n; i++) {
		c.keys[i] = random_key(&c.seed);
		scd_counting_add(c.filter, &c.keys[i]);
	}
	take_base(&c);
	return c;
}

static void cache_free(struct cache *c)
{
	scd_counting_free(&c->filter);
	scd_bloom_free(&c->base);
	free(c->keys);
}

static void replace(struct cache *c, size_t count)
{
	while (count-- > 0) {
		struct scd_key *key = &c->keys[c->oldest];

		scd_counting_remove(c->filter, key);
		*key = random_key(&c->seed);
		scd_counting_add(c->filter, key);
		c->oldest = (c->oldest + 1) % c->n;
	}
}

static void within(const char *what, double measured, double predicted)
{
	if (fabs(measured - predicted) > tolerance * predicted)
		fail_msg("%s: measured %g, predicted %g (%+.2f %%)", what,
			 measured, predicted, (measured / predicted - 1) * 100);
}

static double full_size(const struct cache *c)
{
	struct scd_digest_info ids = {.instance = 1, .nkeys = c->n};
	uint8_t *bytes;
	size_t len;

	assert_int_equal(scd_digest_encode(scd_counting_bloom(c->filter), &ids,
					   &bytes, &len),
			 SCD_OK);
	free(bytes);
	return (double)len;
}

static double xor_size(const struct cache *c)
{
	struct scd_digest_info ids = {.instance = 1,
				      .generation = 2,
				      .base_generation = 1,
				      .nkeys = c->n};
	uint8_t *bytes;
	size_t len;

	assert_int_equal(scd_delta_encode(&c->base,
					  scd_counting_bloom(c->filter), &ids,
					  &bytes, &len),
			 SCD_OK);
	free(bytes);
	return (double)len;
}

/* Coded: at which of the places that were `was` there is another bit now. */
static double part_size(const struct cache *c, bool was)
{
	const uint8_t *now = scd_counting_bloom(c->filter)->bits;
	static uint8_t ranks[BYTES + 1], out[BYTES];
	struct scd__writer w = scd__writer(out, sizeof(out));
	struct scd__shape shape = {0};
	enum scd_coding id;

	memset(ranks, 0, sizeof(ranks));
	for (size_t i = 0; i < BYTES; i++) {
		unsigned before = c->base.bits[i];
		unsigned counts = was ? before : before ^ 0xff;
		unsigned flipped = counts & (before ^ now[i]);

		for (; flipped; flipped &= flipped - 1) {
			unsigned lower = (flipped & -flipped) - 1;
			uint64_t rank = shape.nbits +
				(unsigned)__builtin_popcount(counts & lower);

			ranks[rank / 8] |= (uint8_t)(1u << rank % 8);
			shape.nones++;
		}
		shape.nbits += (unsigned)__builtin_popcount(counts);
	}
	assert_int_equal(scd__coder_encode(&shape, ranks, &w, NULL, &id),
			 SCD_OK);
	return (double)scd__writer_len(&w);
}

static double conditional_size(const struct cache *c)
{
	return SCD_DIGEST_HEADER_BYTES + part_size(c, true) +
	       part_size(c, false);
}

/* What is predicted for this cache, if updates may go in a certain way. */
static struct scd_tuning predicted(const struct cache *c, double churn,
				   enum scd_update most)
{
	unsigned k = scd_counting_bloom(c->filter)->nhash;
	struct scd_goal goal = {
		.objects = c->n, .churn = churn, .fp = .5, .max_update = most};
	struct scd__choice choice = {LOG2_BITS, k, most};
	struct scd__plan plan;

	assert_int_equal(scd__plan_init(&plan, &goal), SCD_OK);
	return scd__predict(&plan, &choice);
}

static void check_full(const struct cache *c)
{
	struct scd_tuning t = predicted(c, 0, SCD_UPDATE_FULL);

	within("full digest", full_size(c), t.full_bytes);
	within("false positives", scd_bloom_fp(scd_counting_bloom(c->filter)),
	       t.fp);
	assert_int_equal(t.update == SCD_UPDATE_STORED,
			 full_size(c) - SCD_DIGEST_HEADER_BYTES >
				 .9995 * BYTES);
}

/* Mean sizes over as many updates as make FLIPS flips. */
static void check_deltas(struct cache *c, double churn)
{
	struct scd_tuning x = predicted(c, churn, SCD_UPDATE_XOR);
	struct scd_tuning y = predicted(c, churn, SCD_UPDATE_CONDITIONAL);
	size_t count = (size_t)(churn * (double)c->n + .5);
	unsigned k = c->base.nhash;
	double p0 = scd_tune_zero((double)c->n, BITS, k);
	int rounds = (int)(FLIPS / (2.0 * k * (double)count * p0)) + 1;
	double xored = 0, conditional = 0;

	for (int i = 0; i < rounds; i++) {
		take_base(c);
		replace(c, count);
		xored += xor_size(c) / rounds;
		if (rounds <= MOST_ROUNDS)
			conditional += conditional_size(c) / rounds;
	}
	if (x.update == SCD_UPDATE_XOR)
		within("XOR delta", xored, x.delta_bytes);
	else
		assert_true(xored > full_size(c) * (1 - tolerance));
	if (y.update == SCD_UPDATE_CONDITIONAL && rounds <= MOST_ROUNDS)
		within("conditional delta", conditional, y.delta_bytes);
}

/* Every shape takes a second: some of them are looked at in make check. */
static size_t shapes_step(void)
{
	return rounds_are_long() ? 1 : rounds_slowness() > 1 ? 5 : 3;
}

static void digests_and_deltas(void **state)
{
	const size_t step = shapes_step();

	(void)state;
	for (size_t i = 0; i < NROWS(shapes); i += step) {
		struct cache c = cache_new(BITS / shapes[i].ratio, shapes[i].k);

		print_message("m/n %u, k %u\n", shapes[i].ratio, shapes[i].k);
		check_full(&c);
		for (size_t j = 0; j < NROWS(churns); j++)
			check_deltas(&c, churns[j]);
		check_full(&c);
		cache_free(&c);
	}
}

/* Keys that were never added, where enough of them are found. */
static void probes_find_what_is_predicted(void **state)
{
	const size_t step = shapes_step();

	(void)state;
	for (size_t i = 0; i < NROWS(shapes); i += step) {
		struct cache c = cache_new(BITS / shapes[i].ratio, shapes[i].k);
		double f = predicted(&c, 0, SCD_UPDATE_FULL).fp;
		int found = 0;

		for (int j = 0; j < PROBES && f * PROBES > FLIPS; j++) {
			struct scd_key key = random_key(&c.seed);

			found += scd_bloom_has(scd_counting_bloom(c.filter),
					       &key);
		}
		if (f * PROBES > FLIPS)
			within("found", (double)found / PROBES, f);
		cache_free(&c);
	}
}

/* Half the share: of the keys there now, the digest misses so many; of those
 * it has, so many are gone. The oldest go first, as the model has it. */
static void staleness_is_half_the_share(void **state)
{
	const double churn = .1;
	struct cache c = cache_new(BITS / 64, 2);
	size_t count = (size_t)(churn * (double)c.n), missed = 0;
	const int lookups = 500;
	double tried = (double)count * lookups;

	(void)state;
	for (size_t i = 0; i < count; i++) {
		replace(&c, 1);
		for (int j = 0; j < lookups; j++) {
			uint64_t at = random_below(&c.seed, c.n);

			missed += !scd_bloom_has(&c.base, &c.keys[at]);
		}
	}
	within("missed", (double)missed / tried, churn / 2);
	cache_free(&c);
}

/* From the goal to the bytes: what scd_tune() answers is what one gets. */
static void goals_come_true(void **state)
{
	struct scd_goal goal = {.objects = 100000,
				.fp = .01,
				.peers = 5,
				.churn = .01,
				.deltas = 9,
				.max_update = SCD_UPDATE_XOR,
				.max_memory = BITS / 8 * 9};
	struct scd_tuning t;
	struct cache c;

	(void)state;
	assert_int_equal(scd_tune(&goal, &t), SCD_OK);
	assert_int_equal(t.nbits, BITS);
	c = cache_new(goal.objects, t.nhash);
	replace(&c, 1000);
	within("full", full_size(&c), t.full_bytes);
	within("delta", xor_size(&c), t.delta_bytes);
	within("update", (full_size(&c) + 9 * xor_size(&c)) / 10,
	       t.update_bytes);
	assert_true(scd_bloom_fp(scd_counting_bloom(c.filter)) * 4 < .01);
	cache_free(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(digests_and_deltas),
		cmocka_unit_test(probes_find_what_is_predicted),
		cmocka_unit_test(staleness_is_half_the_share),
		cmocka_unit_test(goals_come_true),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
