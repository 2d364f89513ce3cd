/*
 * The follower: when a peer's digest is fetched next, and whether it may be
 * consulted. Scripts of events with the action that each must lead to.
 */
#include "digestd/mesh/fetch_schedule.h"
#include "tests/unit.h"

enum { MAX_STEPS = 8, START_MS = 100000 };

static const struct fetch_schedule_policy policy = {
	.poll_ms = 1000,
	.backoff_min_ms = 100,
	.backoff_max_ms = 1600,
	.max_age_ms = 60000,
	.budget = FETCH_BUDGET,
	.price_ms = FETCH_PRICE_MS,
};

/* A fetch that takes so long ends so; the next is due so long after that. */
struct script_step {
	enum fetched event;
	int64_t takes_ms;
	int64_t after_ms; /* before jitter: a back-off may differ by 1/4 */
	bool backoff;
	bool full;
};

/* clang-format off */
static const struct script {
	const char *label;
	size_t nsteps;
	struct script_step steps[MAX_STEPS];
} scripts[] = {
	{ "held answers: again at once", 3, {
		{ FETCHED_FULL, 500, 0, false, false },
		{ FETCHED_DELTA, 500, 0, false, false },
		{ FETCHED_DELTA, 5000, 0, false, false } } },
	{ "quick answers: at a pace", 3, {
		{ FETCHED_FULL, 0, FETCH_PACE_MS, false, false },
		{ FETCHED_DELTA, 30, FETCH_PACE_MS - 30, false, false },
		{ FETCHED_DELTA, FETCH_PACE_MS, 0, false, false } } },
	{ "nothing new: a poll after the last one", 3, {
		{ FETCHED_FULL, 500, 0, false, false },
		{ FETCHED_SAME, 10, 990, false, false },
		{ FETCHED_SAME, 30000, 0, false, false } } },
	{ "failures: back off, up to the limit", 7, {
		{ FETCHED_FAILED, 10, 100, true, false },
		{ FETCHED_FAILED, 10, 200, true, false },
		{ FETCHED_FAILED, 10, 400, true, false },
		{ FETCHED_FAILED, 10, 800, true, false },
		{ FETCHED_FAILED, 10, 1600, true, false },
		{ FETCHED_FAILED, 10, 1600, true, false },
		{ FETCHED_FAILED, 10, 1600, true, false } } },
	{ "a success ends the back-off", 4, {
		{ FETCHED_FAILED, 10, 100, true, false },
		{ FETCHED_FAILED, 10, 200, true, false },
		{ FETCHED_SAME, 10, 990, false, false },
		{ FETCHED_FAILED, 10, 100, true, false } } },
	{ "a delta that does not fit: whole, at a pace", 3, {
		{ FETCHED_FULL, 500, 0, false, false },
		{ FETCHED_UNFIT, 500, 0, false, true },
		{ FETCHED_FULL, 10, FETCH_PACE_MS - 10, false,
		  false } } },
	{ "what comes whole does not fit: back off", 4, {
		{ FETCHED_UNFIT, 10, FETCH_PACE_MS - 10, false, true },
		{ FETCHED_UNFIT, 10, 100, true, true },
		{ FETCHED_UNFIT, 10, 200, true, true },
		{ FETCHED_FAILED, 10, 400, true, true } } },
	{ "the whole one is wanted until it is there", 6, {
		{ FETCHED_UNFIT, 500, 0, false, true },
		{ FETCHED_FAILED, 10, 100, true, true },
		{ FETCHED_FAILED, 10, 200, true, true },
		{ FETCHED_FULL, 500, 0, false, false },
		{ FETCHED_FAILED, 10, 100, true, false },
		{ FETCHED_UNFIT, 10, 200, true, true } } },
	{ "nothing fits full digests that are good: back off", 7, {
		{ FETCHED_UNFIT, 10, FETCH_PACE_MS - 10, false, true },
		{ FETCHED_FULL, 10, FETCH_PACE_MS - 10, false, false },
		{ FETCHED_UNFIT, 10, 100, true, true },
		{ FETCHED_FULL, 10, FETCH_PACE_MS - 10, false, false },
		{ FETCHED_UNFIT, 10, 200, true, true },
		{ FETCHED_DELTA, 10, FETCH_PACE_MS - 10, false, false },
		{ FETCHED_UNFIT, 500, 0, false, true } } },
};

static const struct script polled = {
	"a peer that never waits: a poll after the last one", 4, {
		{ FETCHED_FULL, 500, 500, false, false },
		{ FETCHED_FULL, 10, 990, false, false },
		{ FETCHED_SAME, 10, 990, false, false },
		{ FETCHED_FULL, 5000, 0, false, false } },
};
/* clang-format on */

static bool due_right(const struct script_step *step, int64_t wait_ms)
{
	if (!step->backoff)
		return wait_ms == step->after_ms;
	return wait_ms >= step->after_ms - step->after_ms / 4 &&
	       wait_ms <= step->after_ms + step->after_ms / 4 + 1;
}

static void run_script(const struct script *s, uint64_t seed,
		       const struct fetch_schedule_policy *p)
{
	struct fetch_schedule f;
	struct next_fetch action = fetch_schedule_init(&f, seed, START_MS);

	assert_int_equal(action.due_ms, START_MS);
	assert_false(action.full);
	for (size_t n = 0; n < s->nsteps; n++) {
		const struct script_step *step = &s->steps[n];
		int64_t end_ms = action.due_ms + step->takes_ms;

		fetch_schedule_begin(&f, action.due_ms);
		action = fetch_schedule_end(&f, p, step->event, end_ms);
		if (!due_right(step, action.due_ms - end_ms) ||
		    action.full != step->full)
			fail_msg("%s: step %zu: in %d ms, full: %d", s->label,
				 n, (int)(action.due_ms - end_ms),
				 action.full);
	}
}

static void test_scripts(void **state)
{
	struct fetch_schedule_policy p = policy;

	(void)state;
	for (size_t i = 0; i < NROWS(scripts); i++)
		run_script(&scripts[i], i, &policy);
	p.polled = true;
	run_script(&polled, 0, &p);
}

/* What a peer may answer for ever, at once: it must not keep a node busy. */
static const struct busy_row {
	const char *label;
	enum fetched events[2];
	bool confirms; /* a frame that fits comes before the end */
	unsigned most; /* fetches in the first ten seconds, */
	unsigned most_a_minute; /* ... and in a minute, later */
} busy_rows[] = {
	{"always news", {FETCHED_DELTA, FETCHED_DELTA}, false, 101, 600},
	{"always a full digest", {FETCHED_FULL, FETCHED_FULL}, false, 35, 30},
	{"flips between two states", {FETCHED_UNFIT, FETCHED_FULL}, false,
	 20, 75},
	{"a frame that fits, and one that does not",
	 {FETCHED_UNFIT, FETCHED_FULL}, true, 35, 30},
	{"news, then a full digest", {FETCHED_DELTA, FETCHED_FULL}, false,
	 70, 60},
	{"streams that end", {FETCHED_STREAM, FETCHED_STREAM}, true, 35, 30},
	{"streams that break off", {FETCHED_FAILED, FETCHED_FAILED}, true,
	 35, 30},
	{"always unfit", {FETCHED_UNFIT, FETCHED_UNFIT}, false, 16, 40},
	{"nothing new", {FETCHED_SAME, FETCHED_SAME}, false, 11, 60},
	{"dead", {FETCHED_FAILED, FETCHED_FAILED}, false, 16, 40},
};

/* Fetches that begin before a time, of all that have come so far. */
static unsigned busy_until(struct fetch_schedule *f, struct next_fetch *next,
			   const struct busy_row *row, unsigned n,
			   int64_t until_ms)
{
	const unsigned before = n;

	while (next->due_ms < until_ms && n < before + 10000) {
		const int64_t now_ms = next->due_ms;

		fetch_schedule_begin(f, now_ms);
		if (row->confirms && row->events[n % 2] != FETCHED_FULL)
			fetch_schedule_confirm(f, now_ms);
		*next = fetch_schedule_end(f, &policy, row->events[n % 2],
					   now_ms);
		n++;
	}
	return n - before;
}

static void test_never_busy(void **state)
{
	(void)state;
	for (size_t i = 0; i < NROWS(busy_rows); i++) {
		const struct busy_row *row = &busy_rows[i];
		struct fetch_schedule f;
		struct next_fetch next = fetch_schedule_init(&f, i, START_MS);
		unsigned n = busy_until(&f, &next, row, 0, START_MS + 10000);
		unsigned m;

		if (n > row->most)
			fail_msg("%s: %u fetches", row->label, n);
		for (int64_t minute = 1; minute < 5; minute++) {
			m = busy_until(&f, &next, row, n,
				       START_MS + 10000 + minute * 60000);
			if (minute > 2 && m > row->most_a_minute)
				fail_msg("%s: %u fetches in minute %d",
					 row->label, m, (int)minute);
			n += m;
		}
	}
}

/* A fetch that ends at once; *now_ms is then the time of the next. */
static struct next_fetch at_once(struct fetch_schedule *f, enum fetched event,
				 int64_t *now_ms)
{
	struct next_fetch next;

	fetch_schedule_begin(f, *now_ms);
	next = fetch_schedule_end(f, &policy, event, *now_ms);
	*now_ms = next.due_ms;
	return next;
}

/* Who has cost too much is said to once, until half of the budget is back; and
 * who has cost much at once has the whole of it again in a minute. */
static void test_budget(void **state)
{
	struct fetch_schedule f;
	int64_t now_ms = START_MS;
	unsigned told = 0, spent = 0;

	(void)state;
	fetch_schedule_init(&f, 1, START_MS);
	while (now_ms < START_MS + 20000) {
		const struct next_fetch next =
			at_once(&f, FETCHED_FULL, &now_ms);

		assert_true(next.put_off || !next.overspent);
		told += next.overspent;
		spent += !told;
	}
	assert_int_equal(told, 1);
	assert_in_range(spent, FETCH_BUDGET, FETCH_BUDGET + 2);
	now_ms += FETCH_BUDGET * FETCH_PRICE_MS;
	for (unsigned i = 0; i < FETCH_BUDGET; i++)
		assert_false(at_once(&f, FETCHED_FULL, &now_ms).put_off);
	while (!at_once(&f, FETCHED_FULL, &now_ms).put_off)
		;
	now_ms += FETCH_PRICE_MS;
	assert_false(at_once(&f, FETCHED_DELTA, &now_ms).put_off);
}

/* Who is heard of is asked at once after failures; but each tenth of a second
 * at most, and within its budget. */
static void test_wake(void **state)
{
	struct fetch_schedule f;
	struct next_fetch next;
	int64_t now_ms = START_MS;
	unsigned n = 0;

	(void)state;
	fetch_schedule_init(&f, 1, START_MS);
	while (now_ms < START_MS + 60000) {
		const int64_t began_ms = now_ms;

		fetch_schedule_begin(&f, now_ms);
		next = fetch_schedule_end(&f, &policy, FETCHED_FAILED, now_ms);
		now_ms = fetch_schedule_wake(&f, &policy, next.due_ms, now_ms);
		assert_true(now_ms <= next.due_ms);
		assert_true(now_ms >= began_ms + policy.backoff_min_ms * 3 / 4);
		n++;
	}
	assert_in_range(n, FETCH_BUDGET, 3 * FETCH_BUDGET);
	next = fetch_schedule_end(&f, &policy, FETCHED_SAME, now_ms);
	assert_int_equal(fetch_schedule_wake(&f, &policy, next.due_ms, now_ms),
			 next.due_ms);
}

/* Peers that fail together do not come back together; each is repeatable. */
static void test_jitter(void **state)
{
	enum { SEEDS = 64 };
	int64_t due_ms[SEEDS];
	unsigned distinct = 0;

	(void)state;
	for (uint64_t seed = 0; seed < SEEDS; seed++) {
		for (int round = 0; round < 2; round++) {
			struct fetch_schedule f;
			struct next_fetch a = fetch_schedule_init(&f, seed, 0);

			for (int n = 0; n < 6; n++) {
				fetch_schedule_begin(&f, a.due_ms);
				a = fetch_schedule_end(
					&f, &policy, FETCHED_FAILED, a.due_ms);
			}
			if (round)
				assert_int_equal(a.due_ms, due_ms[seed]);
			due_ms[seed] = a.due_ms;
		}
	}
	for (int i = 0; i < SEEDS; i++) {
		bool first = true;

		for (int j = 0; j < i; j++)
			first = first && due_ms[j] != due_ms[i];
		distinct += first;
	}
	assert_true(distinct > SEEDS / 2);
}

static void test_usable(void **state)
{
	struct fetch_schedule f;

	(void)state;
	fetch_schedule_init(&f, 1, 1000);
	assert_false(fetch_schedule_usable(&f, &policy, 1000));
	fetch_schedule_begin(&f, 1000);
	fetch_schedule_end(&f, &policy, FETCHED_UNFIT, 1010);
	fetch_schedule_end(&f, &policy, FETCHED_FAILED, 1020);
	assert_false(fetch_schedule_usable(&f, &policy, 1020));
	fetch_schedule_end(&f, &policy, FETCHED_FULL, 2000);
	assert_int_equal(fetch_schedule_confirmed_ms(&f), 2000);
	assert_true(fetch_schedule_usable(&f, &policy, 2000));
	/* The peer is gone: its digest is good for max_age_ms. */
	fetch_schedule_end(&f, &policy, FETCHED_FAILED, 30000);
	fetch_schedule_end(&f, &policy, FETCHED_UNFIT, 31000);
	assert_true(fetch_schedule_usable(&f, &policy, 62000));
	assert_false(fetch_schedule_usable(&f, &policy, 62001));
	/* It is back, and nothing has changed. */
	fetch_schedule_end(&f, &policy, FETCHED_SAME, 70000);
	assert_true(fetch_schedule_usable(&f, &policy, 130000));
	assert_int_equal(fetch_schedule_confirmed_ms(&f), 70000);
}

/* A stream that has no news keeps the digest, but does not make up for frames
 * that did not fit. */
static void test_stays(void **state)
{
	struct fetch_schedule f;

	(void)state;
	fetch_schedule_init(&f, 1, 0);
	fetch_schedule_end(&f, &policy, FETCHED_FULL, 1000);
	fetch_schedule_end(&f, &policy, FETCHED_UNFIT, 2000);
	fetch_schedule_end(&f, &policy, FETCHED_FULL, 3000);
	fetch_schedule_stays(&f, 4000);
	assert_int_equal(fetch_schedule_confirmed_ms(&f), 4000);
	fetch_schedule_end(&f, &policy, FETCHED_UNFIT, 5000);
	fetch_schedule_begin(&f, 6000);
	fetch_schedule_end(&f, &policy, FETCHED_FULL, 6000);
	fetch_schedule_stays(&f, 6000);
	assert_true(fetch_schedule_end(&f, &policy, FETCHED_UNFIT, 6000).due_ms
		    >= 6000 + policy.backoff_min_ms * 3 / 2);
}

static void test_wait(void **state)
{
	static const struct {
		int64_t wait_s;
		size_t npeers;
		int64_t max_age_ms, wanted_s;
	} rows[] = {
		{ 30, 1, 120000, 30 },	 { 30, 31, 120000, 30 },
		{ 30, 32, 120000, 60 },	 { 30, 1000, 120000, 60 },
		{ 30, 100, 600000, 120 }, { 30, 100, 59000, 30 },
		{ 300, 100, 120000, 300 }, { 0, 100, 120000, 0 },
	};

	(void)state;
	for (size_t i = 0; i < NROWS(rows); i++)
		assert_int_equal(fetch_schedule_wait_s(rows[i].wait_s,
						       rows[i].npeers,
						       rows[i].max_age_ms),
				 rows[i].wanted_s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_scripts),
		cmocka_unit_test(test_never_busy),
		cmocka_unit_test(test_budget),
		cmocka_unit_test(test_wake),
		cmocka_unit_test(test_jitter),
		cmocka_unit_test(test_usable),
		cmocka_unit_test(test_stays),
		cmocka_unit_test(test_wait),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
