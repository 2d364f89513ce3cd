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
static const struct {
	const char *label;
	enum fetched events[2];
	unsigned most; /* fetches in ten seconds */
} busy_rows[] = {
	{"always news", {FETCHED_FULL, FETCHED_FULL}, 101},
	{"flips between two states", {FETCHED_UNFIT, FETCHED_FULL}, 20},
	{"always unfit", {FETCHED_UNFIT, FETCHED_UNFIT}, 16},
	{"nothing new", {FETCHED_SAME, FETCHED_SAME}, 11},
	{"dead", {FETCHED_FAILED, FETCHED_FAILED}, 16},
};

static void test_never_busy(void **state)
{
	(void)state;
	for (size_t i = 0; i < NROWS(busy_rows); i++) {
		struct fetch_schedule f;
		struct next_fetch action = fetch_schedule_init(&f, i, START_MS);
		unsigned n = 0;

		while (action.due_ms <= START_MS + 10000 && n < 10000) {
			fetch_schedule_begin(&f, action.due_ms);
			action = fetch_schedule_end(&f, &policy,
						    busy_rows[i].events[n % 2],
						    action.due_ms);
			n++;
		}
		if (n > busy_rows[i].most)
			fail_msg("%s: %u fetches", busy_rows[i].label, n);
	}
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
		cmocka_unit_test(test_jitter),
		cmocka_unit_test(test_usable),
		cmocka_unit_test(test_stays),
		cmocka_unit_test(test_wait),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
