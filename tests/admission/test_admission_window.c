/*
 * A window of keys that becomes another one.
 */

#include "tests/unit.h"

#include "codec/admission.h"
#include "codec/error.h"
#include "digestd/admission/admission_policy.h"
#include "digestd/admission/admission_window.h"
#include "digestd/store/eviction.h"
#include "tests/codec/alloc.h"
#include "tests/codec/random.h"

enum { WINDOW = 2400, SOME = 200 };

/* How many of the keys first.. are seen. */
static unsigned seen_of(const struct admission_window *w, uint64_t first)
{
	unsigned n = 0;

	for (uint64_t i = first; i < first + SOME; i++) {
		uint64_t state = i;

		n += admission_window_seen(w, random_next(&state));
	}
	return n;
}

static void note(struct admission_window *w, uint64_t first, uint64_t n)
{
	for (uint64_t i = first; i < first + n; i++) {
		uint64_t state = i;

		admission_window_use(w, random_next(&state));
	}
}

static void a_change_forgets_nothing(void **state)
{
	static const uint64_t windows[] = { WINDOW / 4, WINDOW, 4 * WINDOW };

	(void)state;
	for (size_t i = 0; i < NROWS(windows); i++) {
		struct admission_window w;
		uint64_t smaller = windows[i] < WINDOW ? windows[i] : WINDOW;

		assert_int_equal(admission_window_new(&w, WINDOW), 0);
		note(&w, 1, SOME);
		assert_int_equal(admission_window_resize(&w, windows[i]), 0);
		admission_window_settle(&w);
		assert_non_null(w.before);
		assert_in_range(admission_window_keys(&w), windows[i],
				windows[i] + 23);
		assert_int_equal(seen_of(&w, 1), SOME);
		/* nothing is noted in the one before */
		note(&w, 100000, SOME);
		assert_int_equal(seen_of(&w, 100000), SOME);
		assert_int_equal(scd_admission_noted(w.before), SOME);
		/* and it goes when as much is known without it */
		note(&w, 200000, smaller + smaller / 10);
		admission_window_settle(&w);
		assert_null(w.before);
		admission_window_free(&w);
	}
}

static struct admission *make(const struct admission_policy *policy,
			      uint64_t capacity, uint64_t mean)
{
	struct admission_config c;
	struct admission *a;

	admission_defaults(&c);
	c.capacity = capacity;
	c.mean_size = mean;
	c.sample_min = 100;
	c.eviction = eviction_policy_find("lru");
	assert_int_equal(admission_new(&a, policy, &c), 0);
	return a;
}

static uint64_t window_of(const struct admission *a)
{
	struct admission_stats stats;

	admission_stats(a, &stats);
	return stats.tracked;
}

/* Is it off by a block of 24 at most? */
#define assert_window(a, keys) \
	assert_in_range(window_of(a), keys, (keys) + 23)

static void policies_follow(void **state)
{
	const struct admission_policy *const policies[] = {
		&admission_aged, &admission_probation, &admission_auto,
	};

	(void)state;
	for (size_t i = 0; i < NROWS(policies); i++) {
		struct admission *a = make(policies[i], 1000000, 100);

		admission_note(a, 77);
		assert_window(a, 15000);
		/* a little off is left alone, and so is what is given */
		assert_int_equal(admission_resize(a, 1000000, 12000), 0);
		assert_int_equal(admission_resize(a, 1000000, 0), 0);
		assert_window(a, 15000);
		assert_int_equal(admission_resize(a, 1000000, 20000), 0);
		assert_window(a, 30000);
		/* another capacity: auto's miniatures are made anew */
		assert_int_equal(admission_resize(a, 100000, 2000), 0);
		assert_window(a, 3000);
		/* two changes ago: not known any more, and not needed */
		assert_false(admission_seen(a, 77));
		admission_note(a, 78);
		assert_int_equal(admission_resize(a, 100000, 0), 0);
		assert_true(admission_seen(a, 78));
		admission_free(&a);
	}
}

/* What remembers no keys has no window. */
static void none_has_nothing_to_follow(void **state)
{
	struct admission *a = make(&admission_none, 1000, 1);

	(void)state;
	assert_int_equal(admission_resize(a, 10, 1000), 0);
	assert_int_equal(window_of(a), 0);
	admission_free(&a);
}

static void without_memory(void **state)
{
	bool failed = true;

	(void)state;
	for (unsigned n = 1; failed; n++) {
		struct admission *a = make(&admission_auto, 1000000, 100);
		int err;

		admission_note(a, 77);
		alloc_fail_at(n);
		err = admission_resize(a, 2000000, 40000);
		failed = alloc_failed();
		alloc_fail_at(0);
		assert_int_equal(err, failed ? SCD_ENOMEM : 0);
		assert_true(admission_seen(a, 77));
		/* the next call does it */
		assert_int_equal(admission_resize(a, 2000000, 40000), 0);
		assert_window(a, 60000);
		admission_free(&a);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_change_forgets_nothing),
		cmocka_unit_test(policies_follow),
		cmocka_unit_test(none_has_nothing_to_follow),
		cmocka_unit_test(without_memory),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
