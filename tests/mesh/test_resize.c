/*
 * The size of the catalog's filter: the decision in a table, what happens in
 * time by scripts, and a random walk that must not make it flap.
 */
#include <math.h>

#include "codec/tune.h"
#include "digestd/mesh/resize.h"
#include "tests/codec/random.h"
#include "tests/unit.h"

enum { BITS_PER_KEY = 32, NHASH = 3, SHRINK_MS = 1000, K = 1024 };

static const struct resize_policy policy = {
	.min_bits = 64 * K,
	.max_bits = 4096 * K,
	.bits_per_key = BITS_PER_KEY,
	.shrink_ms = SHRINK_MS,
};

static struct catalog_stats with(uint64_t nkeys, uint64_t nbits)
{
	return (struct catalog_stats){ .nkeys = nkeys, .nbits = nbits,
				       .nhash = NHASH };
}

/* clang-format off */
/* A filter of so many Ki bits is made for 32 times as many keys. At once, and
 * after the same keys for SHRINK_MS, it should have: */
static const struct {
	const char *label;
	uint64_t nkeys, kbits, at_once, later;
} rows[] = {
	{ "what it is made for", 8192, 256, 256, 256 },
	{ "a little more", 9830, 256, 256, 256 },
	{ "just below twice the false positives", 10400, 256, 256, 256 },
	{ "above twice the false positives", 10500, 256, 512, 512 },
	{ "several steps up", 50000, 256, 2048, 2048 },
	{ "what the next size is made for", 32768, 256, 1024, 1024 },
	{ "one more", 32769, 256, 2048, 2048 },
	{ "far more than the largest", 10000000, 256, 4096, 4096 },
	{ "crowded, but at the largest", 10000000, 4096, 4096, 4096 },
	{ "half", 4096, 256, 256, 256 },
	{ "just above 0.4", 3277, 256, 256, 256 },
	{ "0.4", 3276, 256, 256, 128 },
	{ "just above 0.8 of a quarter", 1639, 256, 256, 128 },
	{ "0.8 of a quarter", 1638, 256, 256, 64 },
	{ "several steps down", 4000, 2048, 2048, 256 },
	{ "none, down to the smallest", 0, 2048, 2048, 64 },
	{ "none, at the smallest", 0, 64, 64, 64 },
	{ "few, at the smallest", 100, 64, 64, 64 },
	{ "smaller than the smallest", 10, 32, 64, 64 },
	{ "larger than the largest", 100000, 8192, 4096, 4096 },
	{ "larger than the largest, and sparse", 10, 8192, 64, 64 },
};
/* clang-format on */

static void test_decision(void **state)
{
	(void)state;
	for (size_t i = 0; i < NROWS(rows); i++) {
		struct catalog_stats now = with(rows[i].nkeys,
						rows[i].kbits * K);
		struct resize r = { 0 };
		uint64_t first = resize_wanted(&r, &policy, &now, 0);
		uint64_t early = resize_wanted(&r, &policy, &now,
					       SHRINK_MS - 1);
		uint64_t later = resize_wanted(&r, &policy, &now, SHRINK_MS);

		if (first != rows[i].at_once * K || early != first ||
		    later != rows[i].later * K)
			fail_msg("%s: %ju, %ju, %ju", rows[i].label,
				 (uintmax_t)first / K, (uintmax_t)early / K,
				 (uintmax_t)later / K);
	}
}

/* What decides has no libm, and decides as if it had, but where the two sides
 * are equal but for their last digits. */
static void test_crowded_as_by_libm(void **state)
{
	unsigned crowded = 0, not_crowded = 0;
	uint64_t random = 1;

	(void)state;
	for (int i = 0; i < 100000; i++) {
		struct resize_policy p = policy;
		struct catalog_stats now = {
			.nbits = UINT64_C(64) << random_below(&random, 30),
			.nhash = 1 + (unsigned)random_below(&random, 32),
		};
		double m = (double)now.nbits, ratio;

		p.bits_per_key = 1 + random_below(&random, 64);
		now.nkeys = random_below(&random,
					 2 * now.nbits / p.bits_per_key + 1);
		ratio = scd_tune_fp((double)now.nkeys, m, now.nhash) /
			scd_tune_fp(m / (double)p.bits_per_key, m, now.nhash);
		if (ratio > 2 - 1e-9 && ratio < 2 + 1e-9)
			continue;
		assert_int_equal(resize_is_crowded(&p, &now), ratio > 2);
		crowded += ratio > 2;
		not_crowded += ratio < 2;
	}
	assert_true(crowded > 10000 && not_crowded > 10000);
}

/* Keys at times [ms], of a filter of 256 Ki bits; what is wanted at the end. */
static const struct {
	const char *label;
	struct {
		int64_t ms;
		uint64_t nkeys;
	} steps[6];
	size_t nsteps;
	uint64_t kbits;
} scripts[] = {
	{ "a moment's many keys start the time again",
	  { { 0, 10 }, { 900, 4000 }, { 1000, 10 }, { 1899, 10 } }, 4, 256 },
	{ "and then it has passed",
	  { { 0, 10 }, { 900, 4000 }, { 1000, 10 }, { 1900, 10 } }, 4, 64 },
	{ "the most of the time counts",
	  { { 0, 10 }, { 500, 3000 }, { 1000, 10 } }, 3, 128 },
	{ "the many before the time do not count",
	  { { 0, 8000 }, { 1, 10 }, { 1000, 10 } }, 3, 64 },
};

static void test_time(void **state)
{
	(void)state;
	for (size_t i = 0; i < NROWS(scripts); i++) {
		struct resize r = { 0 };
		uint64_t wanted = 0;

		for (size_t n = 0; n < scripts[i].nsteps; n++) {
			struct catalog_stats now =
				with(scripts[i].steps[n].nkeys, 256 * K);

			if (n)
				assert_int_equal(wanted, 256 * K);
			wanted = resize_wanted(&r, &policy, &now,
					       scripts[i].steps[n].ms);
		}
		if (wanted != scripts[i].kbits * K)
			fail_msg("%s: %ju", scripts[i].label,
				 (uintmax_t)wanted / K);
	}
}

/* What was few for one size is looked at anew for the next. */
static void test_each_size_has_its_time(void **state)
{
	struct catalog_stats now = with(10, 1024 * K);
	struct resize r = { 0 };

	(void)state;
	assert_int_equal(resize_wanted(&r, &policy, &now, 0), 1024 * K);
	assert_int_equal(resize_wanted(&r, &policy, &now, 1000), 64 * K);
	now.nbits = 512 * K; /* somebody had other ideas */
	assert_int_equal(resize_wanted(&r, &policy, &now, 1001), 512 * K);
	assert_int_equal(resize_wanted(&r, &policy, &now, 2000), 512 * K);
	assert_int_equal(resize_wanted(&r, &policy, &now, 2001), 64 * K);
}

static void test_fixed(void **state)
{
	static const uint64_t keys[] = { 0, 1, 1000, 100000, 100000000 };
	static const uint64_t kbits[] = { 64, 256, 1024 };
	struct resize_policy fixed = policy;

	(void)state;
	fixed.min_bits = fixed.max_bits = 256 * K;
	for (size_t i = 0; i < NROWS(keys); i++) {
		for (size_t j = 0; j < NROWS(kbits); j++) {
			struct catalog_stats now = with(keys[i], kbits[j] * K);
			struct resize r = { 0 };

			for (int64_t ms = 0; ms < 10 * SHRINK_MS; ms += 100)
				assert_int_equal(resize_wanted(&r, &fixed, &now,
							       ms), 256 * K);
		}
	}
}

/* Crowded whatever the tuning: also where the false positives cannot double,
 * and where they rise by less than the keys. */
static const struct {
	uint64_t bits_per_key;
	unsigned nhash;
} tunings[] = {
	{ 2, 1 }, { 2, 8 }, { 2, 32 }, { 8, 6 }, { 32, 1 }, { 32, 3 },
	{ 64, 32 }, { 1024, 1 }, { 1024, 32 },
};

/* Keys when a filter of 1 Mi bits is left upwards. */
static uint64_t crowded_at(const struct resize_policy *p, unsigned nhash)
{
	struct catalog_stats now = with(0, 1024 * K);

	now.nhash = nhash;
	while (!resize_is_crowded(p, &now))
		now.nkeys++;
	return now.nkeys;
}

static void test_crowded(void **state)
{
	(void)state;
	for (size_t i = 0; i < NROWS(tunings); i++) {
		struct resize_policy p = policy;
		uint64_t meant, n;

		p.bits_per_key = tunings[i].bits_per_key;
		meant = 1024 * K / p.bits_per_key;
		n = crowded_at(&p, tunings[i].nhash);
		assert_true(n > meant && n <= 2 * meant + 1);
	}
}

/*
 * For every tuning: wherever a move leads, the way back needs at most 4/5 or at
 * least 5/4 of the keys, so the same keys never lead back.
 */
static void test_no_flapping(void **state)
{
	(void)state;
	for (size_t i = 0; i < NROWS(tunings); i++) {
		struct resize_policy p = policy;
		uint64_t random = i, nkeys = 0, last_at = 0, turns = 0;
		bool grew = true;
		struct catalog_stats now = with(0, p.min_bits);
		struct resize r = { 0 };

		p.shrink_ms = 0;
		p.bits_per_key = tunings[i].bits_per_key;
		now.nhash = tunings[i].nhash;
		for (int64_t ms = 0; ms < 100000; ms++) {
			uint64_t step = p.max_bits / p.bits_per_key / 64 + 1;
			uint64_t up = random_below(&random, step);
			uint64_t down = random_below(&random, step);
			uint64_t wanted;

			nkeys = nkeys + up < down ? 0 : nkeys + up - down;
			now.nkeys = nkeys;
			wanted = resize_wanted(&r, &p, &now, ms);
			if (wanted == now.nbits)
				continue;
			if (grew && wanted < now.nbits)
				assert_true(nkeys * 5 <= last_at * 4);
			else if (!grew && wanted > now.nbits)
				assert_true(nkeys * 4 >= last_at * 5);
			assert_true(wanted >= p.min_bits &&
				    wanted <= p.max_bits);
			turns += grew != (wanted > now.nbits);
			grew = wanted > now.nbits;
			last_at = nkeys;
			now.nbits = wanted;
			assert_int_equal(resize_wanted(&r, &p, &now, ms),
					 wanted);
		}
		assert_true(turns > 2);
	}
}

/* When the same keys lead to another size, as of the last look at them. */
static void test_due(void **state)
{
	static const struct {
		const char *label;
		uint64_t nkeys, kbits;
		int64_t due_ms;
	} dues[] = {
		{"few", 10, 256, 500 + SHRINK_MS},
		{"many", 8192, 256, INT64_MAX},
		{"few, at the smallest", 10, 64, INT64_MAX},
	};

	(void)state;
	for (size_t i = 0; i < NROWS(dues); i++) {
		struct catalog_stats now =
			with(dues[i].nkeys, dues[i].kbits * K);
		struct resize r = {0};

		assert_int_equal(resize_due_ms(&r, &policy, &now), INT64_MAX);
		resize_wanted(&r, &policy, &now, 500);
		if (resize_due_ms(&r, &policy, &now) != dues[i].due_ms)
			fail_msg("%s", dues[i].label);
		if (dues[i].due_ms == INT64_MAX)
			continue;
		assert_int_equal(resize_wanted(&r, &policy, &now,
					       dues[i].due_ms - 1),
				 now.nbits);
		assert_true(resize_wanted(&r, &policy, &now, dues[i].due_ms) <
			    now.nbits);
	}
}

/* As its formula says, but where libm rounds to the other side of a number. */
static void test_bits_per_key(void **state)
{
	(void)state;
	for (unsigned nhash = 1; nhash <= 32; nhash++) {
		for (unsigned parts = 1; parts <= 1 << 16; parts += parts) {
			double fp = .01 / parts;
			double bits = -(double)nhash /
				      log1p(-pow(fp, 1. / nhash));
			uint64_t whole = resize_bits_per_key(fp, nhash);

			assert_true((double)whole >= bits - 1e-6 &&
				    (double)whole < bits + 1 + 1e-6);
		}
	}
	/* the defaults: 4 functions, a share of 1 % */
	assert_int_equal(resize_bits_per_key(.01, 4), 11);
	assert_int_equal(resize_bits_per_key(.5, 1), 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_decision),
		cmocka_unit_test(test_due),
		cmocka_unit_test(test_crowded_as_by_libm),
		cmocka_unit_test(test_time),
		cmocka_unit_test(test_each_size_has_its_time),
		cmocka_unit_test(test_fixed),
		cmocka_unit_test(test_crowded),
		cmocka_unit_test(test_no_flapping),
		cmocka_unit_test(test_bits_per_key),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
