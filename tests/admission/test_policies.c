/*
 * Each admission policy against an obvious twin, and what all have in common.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cachesim/admission/admission_table.h"
#include "codec/error.h"
#include "tests/codec/alloc.h"
#include "tests/codec/random.h"
#include "tests/unit.h"

static struct admission *make(const char *text, struct admission_config *with)
{
	const struct admission_policy *policy;
	struct admission_config c;
	struct admission *a;

	admission_defaults(&c);
	if (with)
		c = *with;
	assert_int_equal(admission_parse(text, &policy, &c), 0);
	assert_int_equal(admission_new(&a, policy, &c), 0);
	return a;
}

static uint64_t hash_of(uint64_t number)
{
	return random_next(&number);
}

/* A request for an object that is nowhere, and its fetching. */
static enum admission_decision miss(struct admission *a, uint64_t number)
{
	const struct admission_item item = { hash_of(number), 1 };

	admission_request(a, &item, false);
	return admission_decide(a, &item);
}

/* exact: the twin keeps keys in an array, the one used last in front. */
struct listed {
	uint64_t number;
	unsigned uses;
};

struct list {
	struct listed rows[3000];
	unsigned n, most;
};

static unsigned list_use(struct list *l, uint64_t number)
{
	struct listed row = { number, 0 };
	unsigned at = 0;

	while (at < l->n && l->rows[at].number != number)
		at++;
	if (at < l->n)
		row = l->rows[at];
	else if (l->n < l->most)
		l->n++;
	else
		at--;
	row.uses++;
	memmove(&l->rows[1], &l->rows[0], at * sizeof(row));
	l->rows[0] = row;
	return row.uses;
}

/* clang-format off */
static const struct {
	const char *text;
	unsigned most, min_uses;
} exacts[] = {
	{ "exact", 3000, 2 },
	{ "exact,min-uses=3", 3000, 3 },
	{ "exact,window=1", 1, 2 },
	{ "exact,window=50", 50, 2 },
	{ "exact,window=1500,min-uses=5", 1500, 5 },
};
/* clang-format on */

static void exact_is_the_list(void **state)
{
	(void)state;
	for (size_t i = 0; i < NROWS(exacts); i++) {
		struct admission *a = make(exacts[i].text, NULL);
		struct list l = { .most = exacts[i].most };
		struct admission_stats stats;
		uint64_t seed = i;

		for (int n = 0; n < 20000; n++) {
			uint64_t number = random_below(
				&seed, random_below(&seed, 3000) + 1);
			bool admit = list_use(&l, number) >= exacts[i].min_uses;

			if (n % 5 == 0)
				admission_note(a, hash_of(number));
			else
				assert_int_equal(miss(a, number),
						 admit ? ADMISSION_DISK
						       : ADMISSION_NO);
		}
		admission_stats(a, &stats);
		assert_int_equal(stats.tracked, l.n);
		admission_free(&a);
	}
}

/* pair: what was used within a window is seen, and what never was is not. */
static void pair_keeps_a_window(void **state)
{
	enum { KEYS = 60000, WINDOW = 1000, NEVER = -WINDOW };
	static int last[KEYS];
	struct admission *a = make("pair,window=1000", NULL);
	unsigned nmust = 0, nfalse = 0, nabsent = 0;
	uint64_t seed = 3;

	(void)state;
	for (unsigned k = 0; k < KEYS; k++)
		last[k] = NEVER;
	for (int i = 0; i < 200000; i++) {
		unsigned k = (unsigned)random_below(
			&seed, random_below(&seed, KEYS) + 1);
		bool seen = miss(a, k) == ADMISSION_DISK;

		if (i - last[k] < WINDOW) {
			assert_true(seen);
			nmust++;
		}
		nabsent += last[k] == NEVER;
		nfalse += last[k] == NEVER && seen;
		last[k] = i;
	}
	assert_true(nmust > 5000 && nabsent > 30000);
	assert_true(nfalse < nabsent / 100);
	admission_free(&a);
}

/* A key, then others; is it seen? For policies with a window of 2400. */
static bool remembered(struct admission *a, uint64_t *next, unsigned others)
{
	uint64_t number = (*next)++;

	miss(a, number);
	for (unsigned i = 0; i < others; i++)
		miss(a, (*next)++);
	return admission_seen(a, hash_of(number));
}

/* clang-format off */
static const struct {
	const char *text;
	unsigned others, least, most; /* of a hundred */
} windows[] = {
	{ "aged,window=2400", 2350, 100, 100 },
	{ "aged,window=2400", 3300, 0, 4 },
	{ "probation,window=2400", 2350, 100, 100 },
	{ "probation,window=2400", 3300, 0, 4 },
	{ "pair,window=2400", 2350, 100, 100 },
	{ "pair,window=2400", 4900, 0, 4 },
	{ "stable,window=2400", 0, 100, 100 },
	{ "stable,window=2400", 2400, 38, 62 },
	{ "stable,window=2400", 12000, 0, 4 },
	{ "exact,window=2400", 2399, 100, 100 },
	{ "exact,window=2400", 2400, 0, 0 },
	{ "exact", 5000, 100, 100 },
};
/* clang-format on */

static void windows_are_kept(void **state)
{
	(void)state;
	for (size_t i = 0; i < NROWS(windows); i++) {
		struct admission *a = make(windows[i].text, NULL);
		uint64_t next = 0;
		unsigned n = 0;

		for (int warm = 0; warm < 8; warm++)
			remembered(a, &next, 2400);
		for (int round = 0; round < 100; round++)
			n += remembered(a, &next, windows[i].others);
		if (n < windows[i].least || n > windows[i].most)
			fail_msg("%s after %u: %u", windows[i].text,
				 windows[i].others, n);
		admission_free(&a);
	}
}

/* Decisions by the number of the use, where nothing is falsely seen. */
/* clang-format off */
static const struct {
	const char *text;
	enum admission_decision uses[4];
} decisions[] = {
#define NO ADMISSION_NO
#define RAM ADMISSION_RAM
#define DISK ADMISSION_DISK
	{ "none", { DISK, DISK, DISK, DISK } },
	{ "exact", { NO, DISK, DISK, DISK } },
	{ "exact,min-uses=4", { NO, NO, NO, DISK } },
	{ "pair,window=100", { NO, DISK, DISK, DISK } },
	{ "aged,window=100", { NO, DISK, DISK, DISK } },
	{ "stable,window=100", { NO, DISK, DISK, DISK } },
	{ "probation,window=100", { RAM, DISK, DISK, DISK } },
};
/* clang-format on */

static void uses_decide(void **state)
{
	(void)state;
	for (size_t i = 0; i < NROWS(decisions); i++) {
		const char *text = decisions[i].text;
		struct admission *a = make(text, NULL);

		for (int use = 0; use < 4; use++)
			if (miss(a, 5) != decisions[i].uses[use])
				fail_msg("%s, use %d", text, use + 1);
		assert_int_equal(admission_seen(a, hash_of(5)),
				 strcmp(text, "none") != 0);
		assert_false(admission_seen(a, hash_of(6)));
		admission_note(a, hash_of(7));
		assert_int_equal(admission_seen(a, hash_of(7)),
				 decisions[i].uses[1] == DISK &&
					 decisions[i].uses[0] != DISK);
		admission_free(&a);
	}
}

/* size: shares of admitted as the formula has them, the same each time. */
static void size_is_the_formula(void **state)
{
	enum { TRIES = 20000 };
	static const uint64_t sizes[] = { 1, 500, 1000, 3000, 20000 };

	(void)state;
	for (size_t i = 0; i < NROWS(sizes); i++) {
		struct admission *a = make("size,size=1000", NULL);
		struct admission *b = make("size,size=1000,seed=2", NULL);
		const double p = exp(-(double)sizes[i] / 1000);
		unsigned n = 0, differ = 0;

		for (uint64_t k = 0; k < TRIES; k++) {
			const struct admission_item item = { k, sizes[i] };
			enum admission_decision d = admission_decide(a, &item);

			n += d == ADMISSION_DISK;
			differ += d != admission_decide(b, &item);
		}
		assert_true(fabs(n - TRIES * p) <=
			    4 * sqrt(TRIES * p * (1 - p)) + 1);
		assert_int_equal(differ > 0, p > .001 && p < .9999);
		admission_free(&a);
		admission_free(&b);
	}
}

/* tinylfu: with few keys the sketch is exact, and so is its twin. Most uses are
 * of one key, so that the counts of the others stay small. */
enum { LFU_KEYS = 200, LFU_WINDOW = 5000 };

struct lfu {
	unsigned count[LFU_KEYS], door[LFU_KEYS];
	unsigned victims[8], nevicted, uses;
};

static void lfu_use(struct lfu *t, unsigned k)
{
	if (t->door[k])
		t->count[k] += t->count[k] < 15;
	t->door[k] = 1;
	if (++t->uses < LFU_WINDOW * 4)
		return;
	for (unsigned i = 0; i < LFU_KEYS; i++) {
		t->count[i] /= 2;
		t->door[i] = 0;
	}
	t->uses /= 2;
}

static bool lfu_admits(const struct lfu *t, unsigned k)
{
	unsigned n = t->nevicted < 8 ? t->nevicted : 8, sum = 0;

	for (unsigned i = 0; i < n; i++)
		sum += t->count[t->victims[i]] + t->door[t->victims[i]];
	return n == 0 || (t->count[k] + t->door[k]) * n > sum;
}

static void tinylfu_is_exact_of_few(void **state)
{
	struct admission *a = make("tinylfu,window=5000", NULL);
	struct lfu t = { .uses = 0 };
	uint64_t seed = 9;
	unsigned n = 0;

	(void)state;
	for (int i = 0; i < 300000; i++) {
		unsigned k = (unsigned)random_below(&seed, LFU_KEYS);
		bool admits;

		if (random_below(&seed, 30))
			k = 0;
		if (random_below(&seed, 10) == 0) {
			admission_evicted(a, hash_of(k));
			t.victims[t.nevicted++ % 8] = k;
			continue;
		}
		lfu_use(&t, k);
		admits = lfu_admits(&t, k);
		n += admits;
		assert_int_equal(miss(a, k), admits ? ADMISSION_DISK
						    : ADMISSION_NO);
	}
	assert_true(n > 1000 && n < 299000);
	admission_free(&a);
}

/* What each remembers with, and how often it is wrong about strangers. */
/* clang-format off */
static const struct {
	const char *text;
	double most_bytes;	     /* a key of the window */
	double least_rate, most_rate; /* [%] */
} costs[] = {
	{ "exact", 56, 0, 0 },
	{ "pair", 2.8, .3, 1 },
	{ "pair,false-seen=0.1%", 4, .03, .1 },
	{ "aged", 2.7, .5, 1 },
	{ "probation", 2.7, .5, 1 },
	{ "stable", 5.5, .2, 1 },
	{ "tinylfu", 6, 0, 5 },
};
/* clang-format on */

static void costs_are_as_stated(void **state)
{
	enum { WINDOW = 1 << 16 };

	(void)state;
	for (size_t i = 0; i < NROWS(costs); i++) {
		struct admission_config c;
		struct admission_stats s;
		struct admission *a;
		double rate;

		admission_defaults(&c);
		c.measure = true;
		c.capacity = WINDOW * 2000 / 3;
		c.mean_size = 1000;
		a = make(costs[i].text, &c);
		for (uint64_t k = 0; k < 4 * WINDOW; k++) {
			miss(a, k);
			if (k % 4 == 0)
				miss(a, k / 2);
		}
		admission_stats(a, &s);
		assert_int_equal(s.fresh, 4 * WINDOW);
		rate = 100. * (double)s.false_seen / (double)s.fresh;
		if (rate < costs[i].least_rate || rate > costs[i].most_rate)
			fail_msg("%s: %.3f %%", costs[i].text, rate);
		if ((double)s.bytes / (double)s.tracked > costs[i].most_bytes)
			fail_msg("%s: %zu bytes", costs[i].text, s.bytes);
		admission_free(&a);
	}
}

static void no_memory_no_policy(void **state)
{
	(void)state;
	for (size_t i = 0; admission_policies[i]; i++) {
		struct admission_config c;
		unsigned n = 0;

		admission_defaults(&c);
		c.capacity = 100;
		c.measure = true;
		do {
			struct admission *a = NULL;
			int err;

			alloc_fail_at(++n);
			err = admission_new(&a, admission_policies[i], &c);
			assert_int_equal(err, alloc_failed() ? SCD_ENOMEM : 0);
			assert_int_equal(a != NULL, !alloc_failed());
			admission_free(&a);
		} while (alloc_failed());
		alloc_fail_at(0);
		assert_true(n > 1);
	}
}

/* Memory that runs out later: exact forgets its oldest keys, and the
 * measurement stops, but all go on. */
static void memory_may_run_out(void **state)
{
	struct admission_config c;
	struct admission_stats s;
	struct admission *a;

	(void)state;
	admission_defaults(&c);
	c.measure = true;
	a = make("exact", &c);
	for (uint64_t k = 0; k < 3000; k++) {
		alloc_fail_at(1);
		miss(a, k);
	}
	alloc_fail_at(0);
	assert_int_equal(miss(a, 2999), ADMISSION_DISK);
	admission_stats(a, &s);
	assert_true(s.tracked < 3000 && s.fresh < 3000);
	admission_free(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(exact_is_the_list),
		cmocka_unit_test(pair_keeps_a_window),
		cmocka_unit_test(windows_are_kept),
		cmocka_unit_test(uses_decide),
		cmocka_unit_test(size_is_the_formula),
		cmocka_unit_test(tinylfu_is_exact_of_few),
		cmocka_unit_test(costs_are_as_stated),
		cmocka_unit_test(no_memory_no_policy),
		cmocka_unit_test(memory_may_run_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
