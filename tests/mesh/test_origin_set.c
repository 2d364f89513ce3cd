/*
 * Several origins of a site: a table of what happens to them, step by step, and
 * what must hold for any such story.
 */
#include "digestd/mesh/origin_set.h"

#include <string.h>

#include "tests/codec/random.h"
#include "tests/unit.h"

enum { FAILURES = 3, OUT_MS = 1000, SLOW_MS = 10000, BEGIN_MS = 100000 };

static const struct origin_policy policy = {
	.failures = FAILURES,
	.out_min_ms = OUT_MS,
	.out_max_ms = 8 * OUT_MS,
	.slow_start_ms = SLOW_MS,
};

/* A step of a story: what happens to origin i, and what it is then. */
enum deed {
	END, /* of a story */
	FAILS,
	ANSWERS,
	ERRS,
	IS_LATE,
	CHECK_FAILS,
	CHECK_IS_GOOD,
	WAITS,	/* n ms */
	LEAVES,
	IS_ASKED, /* the next request goes there, if it can be repeated */
	IS_NOT_ASKED, /* nor does it if it cannot */
};

/* clang-format off */
static const struct {
	const char *label;
	unsigned origins, backups; /* a bit each */
	struct { enum deed deed; unsigned i, n; enum origin_state state; }
		steps[12];
} stories[] = {
	{ "failures in a row take it out, then one request tries it", 3, 0, {
		{ FAILS, 0, FAILURES - 1, ORIGIN_STATE_UP },
		{ FAILS, 0, 1, ORIGIN_STATE_OUT },
		{ IS_NOT_ASKED, 0, 100, ORIGIN_STATE_OUT },
		{ WAITS, 0, OUT_MS, ORIGIN_STATE_OUT },
		{ IS_ASKED, 0, 1, ORIGIN_STATE_TRIED },
		{ IS_NOT_ASKED, 0, 1, ORIGIN_STATE_TRIED },
		{ ANSWERS, 0, 1, ORIGIN_STATE_STARTING },
		{ WAITS, 0, SLOW_MS, ORIGIN_STATE_UP } } },
	{ "one that fails when it is tried is out for longer", 2, 0, {
		{ FAILS, 1, FAILURES, ORIGIN_STATE_OUT },
		{ WAITS, 1, OUT_MS, ORIGIN_STATE_OUT },
		{ IS_ASKED, 1, 1, ORIGIN_STATE_TRIED },
		{ FAILS, 1, 1, ORIGIN_STATE_OUT },
		{ WAITS, 1, OUT_MS, ORIGIN_STATE_OUT },
		{ IS_NOT_ASKED, 1, 20, ORIGIN_STATE_OUT },
		{ WAITS, 1, OUT_MS, ORIGIN_STATE_OUT },
		{ IS_ASKED, 1, 1, ORIGIN_STATE_TRIED } } },
	{ "errors and delays count as failures do", 2, 0, {
		{ ERRS, 0, 1, ORIGIN_STATE_UP },
		{ IS_LATE, 0, 1, ORIGIN_STATE_UP },
		{ FAILS, 0, 1, ORIGIN_STATE_OUT } } },
	{ "an answer between failures", 2, 0, {
		{ FAILS, 0, FAILURES - 1, ORIGIN_STATE_UP },
		{ ANSWERS, 0, 1, ORIGIN_STATE_UP },
		{ FAILS, 0, FAILURES - 1, ORIGIN_STATE_UP } } },
	{ "checks take it out, and bring it back", 2, 0, {
		{ CHECK_FAILS, 0, ORIGIN_CHECKS_BAD - 1, ORIGIN_STATE_UP },
		{ CHECK_FAILS, 0, 1, ORIGIN_STATE_OUT },
		{ WAITS, 0, 60000, ORIGIN_STATE_OUT },
		{ IS_NOT_ASKED, 0, 100, ORIGIN_STATE_OUT },
		{ CHECK_IS_GOOD, 0, ORIGIN_CHECKS_GOOD - 1, ORIGIN_STATE_OUT },
		{ CHECK_IS_GOOD, 0, 1, ORIGIN_STATE_STARTING },
		{ WAITS, 0, SLOW_MS, ORIGIN_STATE_UP } } },
	{ "a good check between bad ones", 2, 0, {
		{ CHECK_FAILS, 0, ORIGIN_CHECKS_BAD - 1, ORIGIN_STATE_UP },
		{ CHECK_IS_GOOD, 0, 1, ORIGIN_STATE_UP },
		{ CHECK_FAILS, 0, ORIGIN_CHECKS_BAD - 1, ORIGIN_STATE_UP } } },
	{ "good checks do not hide failures", 2, 0, {
		{ FAILS, 0, FAILURES - 1, ORIGIN_STATE_UP },
		{ CHECK_IS_GOOD, 0, 5, ORIGIN_STATE_UP },
		{ FAILS, 0, 1, ORIGIN_STATE_OUT },
		{ CHECK_IS_GOOD, 0, 5, ORIGIN_STATE_OUT } } },
	{ "a backup is asked while no other is up", 3, 1 << 2, {
		{ IS_NOT_ASKED, 2, 100, ORIGIN_STATE_UP },
		{ FAILS, 0, FAILURES, ORIGIN_STATE_OUT },
		{ IS_NOT_ASKED, 2, 100, ORIGIN_STATE_UP },
		{ FAILS, 1, FAILURES, ORIGIN_STATE_OUT },
		{ IS_ASKED, 2, 1, ORIGIN_STATE_UP } } },
	{ "one alone is asked although it is out", 1, 0, {
		{ FAILS, 0, FAILURES, ORIGIN_STATE_OUT },
		{ IS_ASKED, 0, 5, ORIGIN_STATE_OUT } } },
	{ "one that answers although it is out is back soon", 1, 0, {
		{ FAILS, 0, FAILURES, ORIGIN_STATE_OUT },
		{ WAITS, 0, OUT_MS, ORIGIN_STATE_OUT },
		{ IS_ASKED, 0, 1, ORIGIN_STATE_TRIED },
		{ FAILS, 0, 1, ORIGIN_STATE_OUT },
		{ WAITS, 0, OUT_MS, ORIGIN_STATE_OUT },
		{ ANSWERS, 0, 1, ORIGIN_STATE_STARTING } } },
	{ "one that has left is not asked", 2, 0, {
		{ LEAVES, 0, 1, ORIGIN_STATE_OUT },
		{ IS_NOT_ASKED, 0, 100, ORIGIN_STATE_OUT } } },
};
/* clang-format on */

static uint64_t random_state;

static int ask(struct origin_set *s, bool repeatable, int64_t now_ms)
{
	const struct origin_ask how = {
		.repeatable = repeatable,
		.now_ms = now_ms,
		.random = random_next(&random_state),
	};
	int i = origin_set_choose(s, &policy, &how);

	assert_true(i >= 0);
	origin_set_end(s, (unsigned)i);
	return i;
}

static void happen(struct origin_set *s, enum deed deed, unsigned i,
		   int64_t *now_ms)
{
	switch (deed) {
	case FAILS:
		origin_set_outcome(s, i, &policy, ORIGIN_FAILED, *now_ms);
		break;
	case ANSWERS:
		origin_set_outcome(s, i, &policy, ORIGIN_ANSWERED, *now_ms);
		break;
	case ERRS:
		origin_set_outcome(s, i, &policy, ORIGIN_ERROR, *now_ms);
		break;
	case IS_LATE:
		origin_set_outcome(s, i, &policy, ORIGIN_LATE, *now_ms);
		break;
	case CHECK_FAILS:
	case CHECK_IS_GOOD:
		origin_set_checked(s, i, &policy, deed == CHECK_IS_GOOD,
				   *now_ms);
		break;
	case WAITS:
		++*now_ms;
		break;
	case LEAVES:
		origin_set_remove(s, i);
		break;
	case IS_ASKED:
		assert_int_equal(ask(s, true, *now_ms), i);
		break;
	case IS_NOT_ASKED:
		assert_int_not_equal(ask(s, false, *now_ms), i);
		assert_int_not_equal(ask(s, true, *now_ms), i);
		break;
	case END:
		break;
	}
}

static void fill(struct origin_set *s, unsigned n, unsigned backups)
{
	memset(s, 0, sizeof(*s));
	for (unsigned i = 0; i < n; i++)
		origin_set_add(s, i, backups >> i & 1);
}

static void test_stories(void **state)
{
	static struct origin_set s;

	(void)state;
	for (size_t k = 0; k < sizeof(stories) / sizeof(stories[0]); k++) {
		int64_t now_ms = BEGIN_MS;

		fill(&s, stories[k].origins, stories[k].backups);
		for (size_t j = 0; stories[k].steps[j].deed != END; j++) {
			enum origin_state is;

			for (unsigned t = 0; t < stories[k].steps[j].n; t++)
				happen(&s, stories[k].steps[j].deed,
				       stories[k].steps[j].i, &now_ms);
			is = origin_set_state(&s, stories[k].steps[j].i,
					      &policy, now_ms);
			if (is != stories[k].steps[j].state)
				fail_msg("%s, step %zu: is %s",
					 stories[k].label, j + 1,
					 origin_state_text(is));
		}
	}
}

/* A change is reported once. */
static void test_change_is_told(void **state)
{
	static struct origin_set s;
	unsigned told = 0;

	(void)state;
	fill(&s, 2, 0);
	for (int i = 0; i < 3 * FAILURES; i++)
		told += origin_set_outcome(&s, 0, &policy, ORIGIN_FAILED,
					   BEGIN_MS);
	assert_int_equal(told, 1);
	assert_int_equal(origin_set_up(&s), 1);
	assert_int_equal(ask(&s, true, BEGIN_MS + OUT_MS), 0);
	assert_true(origin_set_outcome(&s, 0, &policy, ORIGIN_ANSWERED,
				       BEGIN_MS + OUT_MS));
	assert_int_equal(origin_set_up(&s), 2);
}

/* Asks n times, without ever an answer; how often each was. */
static void count(struct origin_set *s, unsigned n, int64_t now_ms,
		  unsigned counts[ORIGIN_SET_MAX])
{
	memset(counts, 0, ORIGIN_SET_MAX * sizeof(*counts));
	for (unsigned k = 0; k < n; k++) {
		const struct origin_ask how = {
			.now_ms = now_ms,
			.random = random_next(&random_state),
		};

		counts[origin_set_choose(s, &policy, &how)]++;
	}
}

static void test_least_load(void **state)
{
	static struct origin_set s;
	unsigned counts[ORIGIN_SET_MAX];

	(void)state;
	fill(&s, 3, 0); /* one hangs: all others answer at once */
	for (unsigned k = 0; k < 3000; k++) {
		const struct origin_ask how = {
			.now_ms = BEGIN_MS,
			.random = random_next(&random_state),
		};
		int i = origin_set_choose(&s, &policy, &how);

		if (i)
			origin_set_end(&s, (unsigned)i);
	}
	assert_int_equal(s.at[0].outstanding, 1);
	fill(&s, 3, 0); /* one takes three times as long */
	for (unsigned i = 0; i < 3; i++)
		origin_set_timed(&s, i, i ? 10 : 30, BEGIN_MS);
	count(&s, 700, BEGIN_MS, counts);
	assert_in_range(counts[0], 98, 102);
	/* which is forgotten while nobody measures it */
	fill(&s, 2, 0);
	origin_set_timed(&s, 0, 1000, BEGIN_MS);
	origin_set_timed(&s, 1, 1, BEGIN_MS);
	count(&s, 10, BEGIN_MS, counts);
	assert_int_equal(counts[0], 0);
	count(&s, 990, BEGIN_MS + 60 * ORIGIN_FADE_MS, counts);
	assert_in_range(counts[0], 450, 550);
}

/* Of many, the one with the least load of all is not always found, but the
 * difference stays small. */
static void test_two_choices(void **state)
{
	static struct origin_set s;
	unsigned counts[ORIGIN_SET_MAX];

	(void)state;
	fill(&s, ORIGIN_SET_MAX, 0);
	count(&s, 32 * 1000, BEGIN_MS, counts);
	for (unsigned i = 0; i < ORIGIN_SET_MAX; i++)
		assert_in_range(counts[i], 990, 1010);
}

static void test_slow_start(void **state)
{
	static struct origin_set s;
	static const struct { int64_t after_ms; unsigned least, most; } at[] = {
		{ 0, 0, 40 },
		{ SLOW_MS / 10, 100, 360 },
		{ SLOW_MS, 980, 1020 },
	};
	unsigned counts[ORIGIN_SET_MAX];

	(void)state;
	for (size_t k = 0; k < sizeof(at) / sizeof(at[0]); k++) {
		fill(&s, 3, 0);
		for (int c = 0; c < ORIGIN_CHECKS_BAD; c++)
			origin_set_checked(&s, 1, &policy, false, BEGIN_MS);
		for (int c = 0; c < ORIGIN_CHECKS_GOOD; c++)
			origin_set_checked(&s, 1, &policy, true, BEGIN_MS);
		count(&s, 3000, BEGIN_MS + at[k].after_ms, counts);
		assert_in_range(counts[1], at[k].least, at[k].most);
	}
}

static void test_late(void **state)
{
	static struct origin_set s;
	unsigned given_up = 0;

	(void)state;
	fill(&s, 2, 0);
	assert_int_equal(origin_set_late_ms(&s), ORIGIN_LATE_UNKNOWN_MS);
	for (int k = 0; k < 100; k++)
		origin_set_timed(&s, 0, 2, BEGIN_MS);
	assert_int_equal(origin_set_late_ms(&s), ORIGIN_LATE_MIN_MS);
	/* pages that all take five seconds are not given up for long */
	while (origin_set_late_ms(&s) < 5000) {
		origin_set_late(&s, origin_set_late_ms(&s), BEGIN_MS);
		given_up++;
	}
	assert_in_range(given_up, 2, 12);
}

static void test_retries(void **state)
{
	static struct origin_set s;
	unsigned burst = 0, share = 0;

	(void)state;
	fill(&s, 2, 0);
	assert_false(origin_set_take_retry(&s, 3, false, true));
	while (origin_set_take_retry(&s, 1, true, true))
		burst++;
	assert_int_equal(burst, ORIGIN_RETRY_BURST);
	(void)ask(&s, true, BEGIN_MS);
	while (origin_set_take_retry(&s, 1, true, true))
		share++;
	assert_int_equal(share, ORIGIN_RETRY_BURST);
	share = 0;
	for (int k = 0; k < 1000; k++) {
		(void)ask(&s, true, BEGIN_MS);
		share += origin_set_take_retry(&s, 2, true, true);
	}
	assert_int_equal(share, 1000 * ORIGIN_RETRY_PERCENT / 100);
	/* and some without any request to speak of */
	(void)ask(&s, true, BEGIN_MS + 10 * ORIGIN_RETRY_FREE_MS);
	for (share = 0; origin_set_take_retry(&s, 1, true, true);)
		share++;
	assert_int_equal(share, 10);
	/* what is late stays where it is rather than go to one that is out */
	for (int k = 0; k < FAILURES; k++)
		origin_set_outcome(&s, 1, &policy, ORIGIN_FAILED, BEGIN_MS);
	for (int k = 0; k < 1000; k++)
		(void)ask(&s, false, BEGIN_MS);
	assert_false(origin_set_take_retry(&s, 1, true, true));
	assert_true(origin_set_take_retry(&s, 1, false, true));
}

/* Of three origins two refuse, and many requests are late at the third: those
 * that were refused go on to it all the same. */
static void test_retries_of_what_nobody_got(void **state)
{
	static struct origin_set s;

	(void)state;
	fill(&s, 3, 0);
	while (origin_set_take_retry(&s, 1, false, true))
		;
	for (int k = 0; k < 1000; k++)
		assert_true(origin_set_take_retry(&s, 1, false, false));
	assert_false(origin_set_take_retry(&s, 1, false, true));
	assert_false(origin_set_take_retry(&s, 7, false, false));
}

/* What happens to them, step by step, and what is known then of all of them
 * together. */
/* clang-format off */
static const struct {
	const char *label;
	unsigned origins;
	struct {
		enum { NO_MORE, ANSWER, ERROR, FAILURE, SILENCE, EARLIER,
		       BAD_CHECK, GOOD_CHECK, LEAVING } what;
		unsigned i, n;
		enum origin_condition condition;
	} steps[8];
} conditions[] = {
	{ "one that leaves a request unanswered", 1, {
		{ SILENCE, 0, 1, ORIGIN_SILENT }, { FAILURE, 0, 9, ORIGIN_SILENT },
		{ ANSWER, 0, 1, ORIGIN_FAILS } } },
	{ "and answers", 1, {
		{ SILENCE, 0, 1, ORIGIN_SILENT }, { ANSWER, 0, 1, ORIGIN_SERVES } } },
	{ "an error is an answer", 1, {
		{ SILENCE, 0, 1, ORIGIN_SILENT }, { ERROR, 0, 1, ORIGIN_SERVES },
		{ ERROR, 0, FAILURES, ORIGIN_FAILS } } },
	{ "a page that is not answered while others are", 1, {
		{ EARLIER, 0, 1, ORIGIN_SERVES } } },
	{ "one of two", 2, {
		{ SILENCE, 0, 1, ORIGIN_SERVES }, { FAILURE, 0, FAILURES, ORIGIN_SERVES },
		{ SILENCE, 1, 1, ORIGIN_SERVES }, { FAILURE, 1, FAILURES, ORIGIN_SILENT },
		{ ERROR, 1, 1, ORIGIN_FAILS } } },
	{ "one has left", 2, {
		{ SILENCE, 0, 1, ORIGIN_SERVES }, { LEAVING, 1, 1, ORIGIN_SILENT },
		{ LEAVING, 0, 1, ORIGIN_SERVES } } },
	{ "checks", 1, {
		{ BAD_CHECK, 0, ORIGIN_CHECKS_BAD, ORIGIN_FAILS },
		{ SILENCE, 0, 1, ORIGIN_SILENT },
		{ GOOD_CHECK, 0, 1, ORIGIN_FAILS },
		{ GOOD_CHECK, 0, ORIGIN_CHECKS_GOOD, ORIGIN_SERVES } } },
};
/* clang-format on */

static void happen_to(struct origin_set *s, unsigned row, unsigned step)
{
	const unsigned i = conditions[row].steps[step].i;

	switch (conditions[row].steps[step].what) {
	case ANSWER:
		origin_set_outcome(s, i, &policy, ORIGIN_ANSWERED, BEGIN_MS);
		break;
	case ERROR:
		origin_set_outcome(s, i, &policy, ORIGIN_ERROR, BEGIN_MS);
		break;
	case FAILURE:
		origin_set_outcome(s, i, &policy, ORIGIN_FAILED, BEGIN_MS);
		break;
	case SILENCE:
		origin_set_unanswered(s, i, BEGIN_MS, BEGIN_MS,
				      BEGIN_MS);
		break;
	case EARLIER:
		origin_set_unanswered(s, i, BEGIN_MS, BEGIN_MS + 1,
				      BEGIN_MS);
		break;
	case BAD_CHECK:
	case GOOD_CHECK:
		origin_set_checked(s, i, &policy,
				   conditions[row].steps[step].what ==
					   GOOD_CHECK, BEGIN_MS);
		break;
	case LEAVING:
		origin_set_remove(s, i);
		break;
	case NO_MORE:
		break;
	}
}

static void test_conditions(void **state)
{
	static struct origin_set s;

	(void)state;
	for (unsigned k = 0; k < NROWS(conditions); k++) {
		fill(&s, conditions[k].origins, 0);
		assert_int_equal(origin_set_condition(&s, BEGIN_MS),
				 ORIGIN_SERVES);
		for (unsigned j = 0; conditions[k].steps[j].what != NO_MORE;
		     j++) {
			for (unsigned t = 0; t < conditions[k].steps[j].n; t++)
				happen_to(&s, k, j);
			if (origin_set_condition(&s, BEGIN_MS) !=
			    conditions[k].steps[j].condition)
				fail_msg("%s, step %u: %d", conditions[k].label,
					 j + 1,
					 origin_set_condition(&s, BEGIN_MS));
		}
	}
}

/* It is known for as long as somebody tries, or by checks. */
static void test_what_is_not_known_any_more(void **state)
{
	const int64_t late_ms = BEGIN_MS + ORIGIN_KNOWN_MS;
	static struct origin_set s;

	(void)state;
	fill(&s, 1, 0);
	origin_set_unanswered(&s, 0, BEGIN_MS, 0, BEGIN_MS);
	assert_int_equal(origin_set_condition(&s, late_ms - 1), ORIGIN_SILENT);
	assert_int_equal(origin_set_condition(&s, late_ms), ORIGIN_SERVES);
	assert_true(origin_set_take_trial(&s, late_ms - 1));
	assert_int_equal(origin_set_condition(&s, late_ms), ORIGIN_SILENT);
	for (int k = 0; k < ORIGIN_CHECKS_BAD; k++)
		origin_set_checked(&s, 0, &policy, false, BEGIN_MS);
	assert_int_equal(origin_set_condition(&s, 10 * late_ms), ORIGIN_SILENT);
}

/* What one comes to says nothing of another. */
static void test_each_is_known_by_itself(void **state)
{
	const int64_t late_ms = BEGIN_MS + ORIGIN_KNOWN_MS;
	static struct origin_set s;

	(void)state;
	fill(&s, 2, 0);
	for (unsigned i = 0; i < 2; i++) {
		for (unsigned k = 0; k < policy.failures; k++)
			origin_set_outcome(&s, i, &policy, ORIGIN_FAILED,
					   BEGIN_MS);
		origin_set_unanswered(&s, i, BEGIN_MS, 0, BEGIN_MS);
	}
	assert_int_equal(origin_set_condition(&s, BEGIN_MS), ORIGIN_SILENT);
	origin_set_outcome(&s, 1, &policy, ORIGIN_FAILED, late_ms);
	origin_set_unanswered(&s, 1, late_ms, 0, late_ms);
	assert_int_equal(origin_set_condition(&s, late_ms), ORIGIN_SERVES);
	origin_set_unanswered(&s, 0, late_ms, 0, late_ms);
	assert_int_equal(origin_set_condition(&s, late_ms), ORIGIN_SILENT);
}

/* While they fail, one request in a second asks them. */
static void test_trials(void **state)
{
	static struct origin_set s;
	unsigned taken = 0;

	(void)state;
	fill(&s, 1, 0);
	for (int64_t ms = 0; ms < 10 * ORIGIN_TRIAL_MS; ms++)
		taken += origin_set_take_trial(&s, BEGIN_MS + ms);
	assert_int_equal(taken, 10);
	/* by a clock that is behind, too */
	assert_false(origin_set_take_trial(&s, BEGIN_MS));
}

/* Whatever happens: no origin is chosen that has been tried or has left, one is
 * chosen as long as there is one, and one that is up before one that is out. */
static void test_any_story(void **state)
{
	static struct origin_set s;
	int64_t now_ms = BEGIN_MS;

	(void)state;
	fill(&s, 8, 1 << 7);
	for (unsigned k = 0; k < 200000; k++) {
		uint64_t r = random_next(&random_state);
		struct origin_ask how = {
			.tried = (uint32_t)(r >> 8 & 0xff & r >> 16),
			.repeatable = r >> 40 & 1,
			.now_ms = now_ms,
			.random = random_next(&random_state),
		};
		unsigned i = r & 7, left = 0, up = 0;
		enum origin_state was;
		int chosen;

		now_ms += (int64_t)(r >> 32 & 63);
		if (s.at[i].there && r >> 50 == 0)
			origin_set_remove(&s, i);
		else if (!s.at[i].there)
			origin_set_add(&s, i, i == 7);
		(void)origin_set_outcome(&s, i, &policy,
					 r >> 60 & 1 ? ORIGIN_ANSWERED
						     : ORIGIN_FAILED, now_ms);
		(void)origin_set_checked(&s, r >> 20 & 7, &policy, r >> 62,
					 now_ms);
		for (unsigned j = 0; j < 8; j++) {
			bool open = s.at[j].there && !(how.tried >> j & 1);

			was = origin_set_state(&s, j, &policy, now_ms);
			left += open;
			up += open && was <= ORIGIN_STATE_STARTING;
		}
		chosen = origin_set_choose(&s, &policy, &how);
		assert_int_equal(chosen >= 0, left > 0);
		if (chosen < 0)
			continue;
		assert_true(s.at[chosen].there);
		assert_false(how.tried >> chosen & 1);
		was = origin_set_state(&s, (unsigned)chosen, &policy, now_ms);
		assert_true(!up || was <= ORIGIN_STATE_STARTING ||
			    (was == ORIGIN_STATE_TRIED && how.repeatable));
		origin_set_end(&s, (unsigned)chosen);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_stories),
		cmocka_unit_test(test_change_is_told),
		cmocka_unit_test(test_least_load),
		cmocka_unit_test(test_two_choices),
		cmocka_unit_test(test_slow_start),
		cmocka_unit_test(test_late),
		cmocka_unit_test(test_retries),
		cmocka_unit_test(test_retries_of_what_nobody_got),
		cmocka_unit_test(test_conditions),
		cmocka_unit_test(test_each_is_known_by_itself),
		cmocka_unit_test(test_what_is_not_known_any_more),
		cmocka_unit_test(test_trials),
		cmocka_unit_test(test_any_story),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
