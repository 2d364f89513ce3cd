/*
 * Admission filters against a twin that remembers all keys exactly: what must
 * be seen is, what must be forgotten is seen at the stated rate only.
 */
#include <stdlib.h>

#include "codec/admission.h"
#include "tests/codec/alloc.h"
#include "tests/codec/random.h"
#include "tests/unit.h"

static struct scd_key key_of(uint64_t number)
{
	uint64_t seed = number;
	uint64_t lo = random_next(&seed);

	return (struct scd_key){ lo, random_next(&seed) };
}

static struct scd_admission *make(uint64_t window)
{
	struct scd_admission *a;

	assert_int_equal(scd_admission_new(&a, window), SCD_OK);
	return a;
}

/* clang-format off */
static const struct {
	const char *label;
	uint64_t window;
	int expect;
	uint64_t rounded;
} windows[] = {
	{ "none", 0, SCD_EINVAL, 0 },
	{ "one key", 1, SCD_OK, 24 },
	{ "a block", 24, SCD_OK, 24 },
	{ "a block and a key", 25, SCD_OK, 48 },
	{ "some", 1000, SCD_OK, 1008 },
	{ "too many", SCD_ADMISSION_MAX_WINDOW + 1, SCD_EINVAL, 0 },
	{ "all there are", UINT64_MAX, SCD_EINVAL, 0 },
};
/* clang-format on */

static void windows_are_rounded(void **state)
{
	(void)state;
	for (size_t i = 0; i < NROWS(windows); i++) {
		struct scd_admission *a = NULL;
		size_t bytes;

		assert_int_equal(scd_admission_new(&a, windows[i].window),
				 windows[i].expect);
		if (!a)
			continue;
		assert_int_equal(scd_admission_window(a), windows[i].rounded);
		assert_int_equal((uintptr_t)scd_admission_memory(a, &bytes) %
					 SCD_ADMISSION_BLOCK_BYTES,
				 0);
		assert_int_equal(bytes, windows[i].rounded / 24 * 64);
		scd_admission_free(&a);
		assert_null(a);
		scd_admission_free(&a);
	}
}

static void no_memory_no_filter(void **state)
{
	unsigned n = 1;

	(void)state;
	for (;; n++) {
		struct scd_admission *a = NULL;
		int error;

		alloc_fail_at(n);
		error = scd_admission_new(&a, 1000);
		scd_admission_free(&a);
		if (!alloc_failed()) {
			assert_int_equal(error, SCD_OK);
			break;
		}
		assert_int_equal(error, SCD_ENOMEM);
		assert_null(a);
	}
	alloc_fail_at(0);
	assert_int_equal(n, 3);
}

/* Notes `many` keys that change something, and nothing else. */
static void note_others(struct scd_admission *a, uint64_t *next, uint64_t many)
{
	uint64_t end = scd_admission_noted(a) + many;

	while (scd_admission_noted(a) < end) {
		struct scd_key key = key_of((*next)++);

		scd_admission_note(a, &key);
	}
}

/*
 * A key stays to the very last note of its window, wherever its block is and
 * whenever it came, is forgotten at 7/6 of it, but for what is left in one of
 * its slices, and has left nothing at 8/6.
 */
static void window_is_exact(void **state)
{
	const uint64_t window = 240, tries = 2000;
	struct scd_admission *a = make(window);
	uint64_t next = 1 << 20, nlate = 0, nfalse = 0;

	(void)state;
	for (uint64_t i = 0; i < tries; i++) {
		struct scd_key key = key_of(i);

		scd_admission_note(a, &key);
		note_others(a, &next, window - 1);
		assert_true(scd_admission_seen(a, &key));
		note_others(a, &next, window / 6 + 1);
		nlate += scd_admission_seen(a, &key);
		note_others(a, &next, window / 6 + 1);
		nfalse += scd_admission_seen(a, &key);
		note_others(a, &next, i % 7);
	}
	assert_in_range(nlate, 0, tries / 20);
	assert_in_range(nfalse, 0, tries / 66);
	scd_admission_free(&a);
}

/* The twin: when a key was noted last, by the filter's own count. */
enum { NEVER = -1, UNIVERSE = 4096, STEPS = 400000 };

struct twin {
	struct scd_admission *a;
	int64_t noted[UNIVERSE];
	uint64_t nmust, nabsent, nfalse;
};

static void ask_one(struct twin *t, unsigned number, bool seen)
{
	int64_t window = (int64_t)scd_admission_window(t->a);
	int64_t now = (int64_t)scd_admission_noted(t->a);
	int64_t then = t->noted[number];

	if (then != NEVER && now - then < window) {
		assert_true(seen);
		t->nmust++;
	} else if (then == NEVER || now - then > window * 8 / 6) {
		t->nabsent++;
		t->nfalse += seen;
	}
}

static void step(struct twin *t, uint64_t *seed)
{
	unsigned range = random_below(seed, 2) ? UNIVERSE : UNIVERSE / 16;
	unsigned number = (unsigned)random_below(seed, range);
	struct scd_key key = key_of(number);
	bool seen;

	switch (random_below(seed, 4)) {
	case 0:
		ask_one(t, number, scd_admission_seen(t->a, &key));
		return;
	case 1:
		scd_admission_note(t->a, &key);
		break;
	default:
		seen = scd_admission_seen(t->a, &key);
		ask_one(t, number, seen);
		assert_int_equal(scd_admission_use(t->a, &key), seen);
	}
	t->noted[number] = (int64_t)scd_admission_noted(t->a);
}

static void twin_agrees(void **state)
{
	static const uint64_t sizes[] = { 24, 96, 480, 2400 };

	(void)state;
	for (size_t i = 0; i < NROWS(sizes); i++) {
		static struct twin t;
		uint64_t seed = i;

		t = (struct twin){ .a = make(sizes[i]) };
		for (unsigned n = 0; n < UNIVERSE; n++)
			t.noted[n] = NEVER;
		for (unsigned n = 0; n < STEPS; n++)
			step(&t, &seed);
		assert_true(t.nmust > STEPS / 200);
		assert_true(t.nabsent > STEPS / 200);
		assert_true(t.nfalse * 60 < t.nabsent);
		scd_admission_free(&t.a);
	}
}

/* At any time of a generation no more than 1 %, and what the filter says of
 * itself is about that. */
static void rate_is_kept(void **state)
{
	const uint64_t window = 240000, asked = 200000;
	struct scd_admission *a = make(window);
	uint64_t next = 0, absent = UINT64_C(1) << 40;

	(void)state;
	note_others(a, &next, 2 * window);
	for (unsigned phase = 0; phase < 4; phase++) {
		double rate, said = scd_admission_rate(a);
		uint64_t nfalse = 0;

		for (uint64_t i = 0; i < asked; i++) {
			struct scd_key key = key_of(absent++);

			nfalse += scd_admission_seen(a, &key);
		}
		rate = (double)nfalse / (double)asked;
		assert_true(rate > .005 && rate < .01);
		assert_true(said > rate * .8 && said < rate * 1.25);
		note_others(a, &next, window / 24);
	}
	scd_admission_clear(a);
	assert_true(scd_admission_rate(a) <= 0);
	assert_int_equal(scd_admission_noted(a), 0);
	scd_admission_free(&a);
}

/* Memory that the contract promises: at most 2.7 bytes a key. */
static void memory_is_kept(void **state)
{
	struct scd_admission *a;

	(void)state;
	alloc_bytes();
	a = make(1000000);
	assert_in_range(alloc_bytes(), 2600000, 2700000);
	scd_admission_free(&a);
}

static void again_is_not_counted(void **state)
{
	struct scd_admission *a = make(1000);
	struct scd_key key = key_of(1);

	(void)state;
	assert_false(scd_admission_use(a, &key));
	for (int i = 0; i < 100; i++)
		assert_true(scd_admission_use(a, &key));
	assert_int_equal(scd_admission_noted(a), 1);
	scd_admission_free(&a);
}

static void many_are_as_one_by_one(void **state)
{
	enum { MANY = 1000 };
	struct scd_admission *a = make(500), *b = make(500);
	static struct scd_key keys[MANY];
	static bool seen[MANY];
	static const size_t lengths[] = { 0, 1, 15, 16, 17, MANY };
	uint64_t seed = 7;

	(void)state;
	for (size_t l = 0; l < NROWS(lengths); l++) {
		for (size_t i = 0; i < lengths[l]; i++)
			keys[i] = key_of(random_below(&seed, 2000));
		scd_admission_use_many(a, keys, lengths[l], seen);
		for (size_t i = 0; i < lengths[l]; i++)
			assert_int_equal(seen[i],
					 scd_admission_use(b, &keys[i]));
	}
	scd_admission_free(&a);
	scd_admission_free(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(windows_are_rounded),
		cmocka_unit_test(no_memory_no_filter),
		cmocka_unit_test(window_is_exact),
		cmocka_unit_test(twin_agrees),
		cmocka_unit_test(rate_is_kept),
		cmocka_unit_test(memory_is_kept),
		cmocka_unit_test(again_is_not_counted),
		cmocka_unit_test(many_are_as_one_by_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
