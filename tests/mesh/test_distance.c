/*
 * Distances: which peers are asked, and how long they are waited for; each row
 * says what was measured. And the table of them, with a twin.
 */
#include "digestd/mesh/distance_table.h"

#include <string.h>

#include "codec/mix.h"
#include "tests/codec/random.h"
#include "tests/unit.h"

enum { MEASURED = 40, NUMBERS = 1000, ROUNDS = 20000 };

/* A distance of so many answers, one in so many of which takes as long as the
 * slow ones. 0: none. */
static void measure(struct distance *d, int64_t ms, int64_t slow_ms,
		    unsigned slow)
{
	*d = (struct distance){ 0 };
	for (unsigned i = 1; ms && i <= MEASURED * (slow ? slow : 1); i++)
		distance_answered(d, slow && i % slow == 0 ? slow_ms : ms, 1);
}

static void judge(struct distance *d, unsigned hits, unsigned false_hits,
		  unsigned stale_hits)
{
	while (hits--)
		distance_outcome(d, OUTCOME_HIT);
	while (false_hits--)
		distance_outcome(d, OUTCOME_FALSE_HIT);
	while (stale_hits--)
		distance_outcome(d, OUTCOME_STALE);
}

/* clang-format off */
static const struct {
	const char *label;
	int64_t peer_ms, origin_ms;
	unsigned hits, false_hits, stale_hits;
	bool pays;
} cases[] = {
	{ "nothing is known", 0, 0, 0, 0, 0, true },
	{ "a peer that was not measured", 0, 1, 0, 0, 0, true },
	{ "an origin that was not measured", 500, 0, 0, 0, 0, true },
	{ "in a LAN, with an origin there", 1, 1, 0, 0, 0, true },
	{ "near, and mostly wrong", 5, 1, 0, 200, 0, true },
	{ "not near any more", 6, 6, 100, 0, 0, false },
	{ "half as far as the origin", 50, 100, 0, 0, 0, true },
	{ "half as far, nearly always right", 50, 100, 190, 10, 0, true },
	{ "half as far, right in three of four", 50, 100, 150, 50, 0, true },
	{ "half as far, right in one of four", 50, 100, 50, 150, 0, false },
	{ "stale counts as false does", 50, 100, 50, 0, 150, false },
	{ "a bit nearer than the origin", 95, 100, 0, 0, 0, false },
	{ "a bit nearer, and always right", 88, 100, 200, 0, 0, true },
	{ "as far as the origin", 100, 100, 200, 0, 0, false },
	{ "farther", 120, 100, 200, 0, 0, false },
	{ "an origin that takes its time", 120, 1000, 20, 100, 0, true },
};
/* clang-format on */

static void test_pays(void **state)
{
	(void)state;
	for (size_t i = 0; i < NROWS(cases); i++) {
		struct distance peer, origin;

		measure(&peer, cases[i].peer_ms, 0, 0);
		measure(&origin, cases[i].origin_ms, 0, 0);
		judge(&peer, cases[i].hits, cases[i].false_hits,
		      cases[i].stale_hits);
		if (distance_pays(&peer, &origin) != cases[i].pays)
			fail_msg("%s", cases[i].label);
	}
	assert_true(distance_pays(NULL, NULL));
}

/* Of questions about what is stale half are of use, until it is known. */
static void test_renewals_pay(void **state)
{
	struct distance peer, origin;

	(void)state;
	measure(&peer, 50, 0, 0);
	measure(&origin, 90, 0, 0);
	assert_false(distance_renewal_pays(&peer, &origin));
	for (int i = 0; i < 10; i++)
		distance_renewal(&peer, i > 1);
	assert_true(distance_renewal_pays(&peer, &origin));
	for (int i = 0; i < 10000; i++)
		distance_renewal(&peer, false);
	assert_false(distance_renewal_pays(&peer, &origin));
	assert_true(distance_pays(&peer, &origin)); /* others are others */
	measure(&peer, 5, 0, 0);
	assert_true(distance_renewal_pays(&peer, &origin));
	assert_true(distance_renewal_pays(NULL, &origin));
}

/* Slow is what one in a hundred exceed, and never before some time. */
static void test_what_is_hedged(void **state)
{
	struct distance peer = { 0 };

	(void)state;
	assert_int_equal(distance_hedge_ms(NULL, 0, NULL),
			 DISTANCE_HEDGE_UNKNOWN_MS);
	distance_late(&peer, 100, 1); /* that says only what it is not */
	assert_int_equal(distance_hedge_ms(&peer, 0, NULL),
			 DISTANCE_HEDGE_UNKNOWN_MS);
	measure(&peer, 1, 0, 0);
	assert_int_equal(distance_hedge_ms(&peer, 0, NULL),
			 DISTANCE_HEDGE_MIN_MS);
	measure(&peer, 47, 255, 20);
	assert_int_equal(distance_hedge_ms(&peer, 0, NULL), 255);
	measure(&peer, 47, 255, 400);
	assert_int_equal(distance_hedge_ms(&peer, 0, NULL), 47);
}

/* Who is far and is asked now and then has lost no packet yet: it is given the
 * time to send one again, but not more than the origin takes. */
static void test_second_tries_are_waited_for(void **state)
{
	struct distance peer = { 0 }, origin;

	(void)state;
	measure(&origin, 111, 0, 0);
	assert_int_equal(distance_hedge_ms(&peer, 5, &origin),
			 DISTANCE_HEDGE_UNKNOWN_MS);
	assert_int_equal(distance_hedge_ms(&peer, 39, &origin), 200 + 117);
	assert_int_equal(distance_hedge_ms(&peer, 50, &origin), 333);
	assert_int_equal(distance_hedge_ms(&peer, 100, NULL), 200 + 300);
	measure(&peer, 39, 0, 0); /* its own answers count for more */
	assert_int_equal(distance_hedge_ms(&peer, 5, &origin), 200 + 117);
	while (answer_times_count(&peer.times) < DISTANCE_KNOWN - 1)
		distance_answered(&peer, 39, 1);
	assert_int_equal(distance_hedge_ms(&peer, 39, &origin), 200 + 117);
	distance_answered(&peer, 39, 1); /* it has hardly ever to do so */
	assert_int_equal(distance_hedge_ms(&peer, 39, &origin), 39);
}

/* Before it has answered: what connecting to it for its digest has taken. */
static void test_first_questions(void **state)
{
	struct distance peer = { 0 }, origin;

	(void)state;
	measure(&origin, 111, 0, 0);
	assert_int_equal(distance_timeout_ms(NULL, 5, &origin), 100);
	assert_int_equal(distance_timeout_ms(NULL, 10, &origin),
			 230 + 57 + 10);
	assert_int_equal(distance_timeout_ms(NULL, 50, &origin), 333 + 50);
	assert_int_equal(distance_timeout_ms(NULL, 50, NULL), 350 + 87 + 50);
	assert_int_equal(distance_pace_ms(NULL, 50, 100), 140 + 5 * 50);
	distance_late(&peer, 300, 1);
	assert_int_equal(distance_timeout_ms(&peer, 50, &origin), 333 + 50);
}

static void test_who_owes_answers(void **state)
{
	struct distance peer = { 0 };

	(void)state;
	assert_false(distance_stands_still(NULL));
	distance_paid(&peer);
	for (int i = 0; i < DISTANCE_OWED; i++) {
		assert_false(distance_stands_still(&peer));
		distance_owes(&peer);
	}
	assert_true(distance_stands_still(&peer));
	distance_paid(&peer);
	assert_false(distance_stands_still(&peer));
}

/* Old outcomes fade, failures are none. */
static void test_outcomes_fade(void **state)
{
	struct distance peer, origin;

	(void)state;
	measure(&peer, 50, 0, 0);
	measure(&origin, 100, 0, 0);
	judge(&peer, 0, 10000, 0);
	assert_false(distance_pays(&peer, &origin));
	judge(&peer, 600, 0, 0);
	assert_true(distance_pays(&peer, &origin));
	for (int i = 0; i < 10000; i++)
		distance_outcome(&peer, OUTCOME_FAILED);
	assert_true(distance_pays(&peer, &origin));
}

static void test_one_in_so_many_measures(void **state)
{
	struct distance peer = { 0 };
	unsigned measured = 0;

	(void)state;
	for (int i = 1; i <= 3 * DISTANCE_PASSED_OVER; i++) {
		bool now = distance_pass_over(&peer, i);

		assert_int_equal(now, i % DISTANCE_PASSED_OVER == 0);
		measured += now;
	}
	assert_int_equal(measured, 3);
	/* or once in a minute */
	distance_answered(&peer, 50, 1000);
	assert_false(distance_pass_over(&peer, 1000 + DISTANCE_AGED_MS - 1));
	assert_true(distance_pass_over(&peer, 1000 + DISTANCE_AGED_MS));
	assert_false(distance_pass_over(&peer, 1001 + DISTANCE_AGED_MS));
}

/* A few slow answers at first say nothing; one minute's say nothing of the
 * next. */
static void test_what_was_slow(void **state)
{
	struct distance peer = { 0 }, origin;

	(void)state;
	measure(&origin, 1, 0, 0);
	for (int i = 1; i < DISTANCE_ENOUGH; i++) {
		distance_answered(&peer, 10, 1);
		assert_true(distance_pays(&peer, &origin));
	}
	distance_answered(&peer, 10, 1);
	assert_false(distance_pays(&peer, &origin));
	distance_answered(&peer, 1, 1);
	assert_false(distance_pays(&peer, &origin));
	distance_answered(&peer, 1, DISTANCE_AGED_MS);
	assert_true(distance_pays(&peer, &origin));
	origin = (struct distance){ 0 };
	measure(&peer, 10, 0, 0);
	distance_answered(&origin, 1, 1);
	assert_true(distance_pays(&peer, &origin));
}

/* clang-format off */
static const struct {
	const char *label;
	int64_t peer_ms, peer_slow_ms, origin_ms, origin_slow_ms;
	unsigned slow; /* one answer in so many */
	int64_t timeout_ms;
} timeouts[] = {
	{ "nothing is known", 0, 0, 0, 0, 0, 100 },
	{ "in a LAN", 1, 0, 30, 0, 0, 100 },
	{ "in a LAN, with an origin there", 1, 0, 1, 0, 0, 100 },
	{ "far, of an even pace", 47, 0, 100, 0, 600, 47 + 47 + 11 },
	{ "far, and asked now and then", 47, 0, 200, 0, 0, 47 + 341 + 85 },
	{ "lost packets come again", 47, 255, 100, 0, 50, 47 + 255 + 63 - 9 },
	{ "fewer than two in a thousand", 47, 255, 100, 0, 600, 47 + 47 + 11 },
	{ "near, with slow answers", 5, 255, 100, 0, 50, 100 },
	{ "no longer than three answers", 47, 3000, 60, 0, 50, 47 + 3 * 63 },
	{ "or than the origin's slow ones", 47, 3000, 60, 511, 50, 47 + 511 },
	{ "an origin of which nothing is known", 47, 3000, 0, 0, 50,
	  47 + 1000 },
};
/* clang-format on */

static void test_timeouts(void **state)
{
	(void)state;
	for (size_t i = 0; i < NROWS(timeouts); i++) {
		struct distance peer, origin;
		int64_t got;

		measure(&peer, timeouts[i].peer_ms, timeouts[i].peer_slow_ms,
			timeouts[i].slow);
		measure(&origin, timeouts[i].origin_ms,
			timeouts[i].origin_slow_ms,
			timeouts[i].origin_slow_ms ? timeouts[i].slow : 0);
		got = distance_timeout_ms(&peer, 0, &origin);
		if (got != timeouts[i].timeout_ms)
			fail_msg("%s: %d", timeouts[i].label, (int)got);
		assert_int_equal(distance_budget_ms(got), got + got * 2 / 5);
		assert_int_equal(distance_pace_ms(&peer, 0, got),
				 got + got * 2 / 5 + 5 * timeouts[i].peer_ms);
	}
	assert_int_equal(distance_timeout_ms(NULL, 0, NULL), 100);
}

/* A peer that has only been waited for in vain is not known, but it is given
 * more time; one that stands still does not get more and more. */
static void test_late(void **state)
{
	struct distance peer = { 0 }, origin;
	int64_t ms = 0;

	(void)state;
	measure(&origin, 63, 0, 0);
	for (int i = 0; i < 50; i++) {
		int64_t now_ms = distance_timeout_ms(&peer, 0, &origin);

		assert_true(now_ms >= ms);
		ms = now_ms;
		distance_late(&peer, ms, i);
		assert_int_equal(distance_median_ms(&peer), 0);
		assert_true(distance_pays(&peer, &origin));
	}
	assert_int_equal(ms, 3 * 63);
	distance_answered(&peer, 40, 50);
	assert_true(distance_median_ms(&peer) > 100);
}

static void test_connecting(void **state)
{
	struct distance d;

	(void)state;
	assert_false(distance_is_far(NULL));
	assert_int_equal(distance_connect_ms(NULL), 1000);
	measure(&d, 5, 0, 0);
	assert_false(distance_is_far(&d));
	measure(&d, 6, 0, 0);
	assert_true(distance_is_far(&d));
	assert_int_equal(distance_connect_ms(&d), 1000);
	measure(&d, 447, 0, 0);
	assert_int_equal(distance_connect_ms(&d), 3 * 447);
}

/* What was known last holds. */
static void test_holds(void **state)
{
	struct distance d = { 0 };

	(void)state;
	distance_answered(&d, 9, 1000);
	assert_int_equal(distance_median_ms(&d), 9);
	distance_late(&d, 15, 1000000);
	assert_int_equal(distance_median_ms(&d), 15);
	for (int i = 0; i < 1000; i++)
		distance_answered(&d, i < 950 ? 3 : 12, 1000001 + i);
	assert_int_equal(distance_median_ms(&d), 3);
}

/* The table has what was measured last; a number finds its own. */
static void test_table(void **state)
{
	static struct distance_table t;
	static int64_t last[NUMBERS];
	uint64_t random = 7;
	unsigned kept = 0;

	(void)state;
	memset(last, 0, sizeof(last));
	for (int64_t i = 1; i <= ROUNDS; i++) {
		uint64_t number = random_below(&random, NUMBERS);
		struct distance *d = distance_table_use(&t, number);

		assert_non_null(d);
		assert_ptr_equal(d, distance_table_find(&t, number));
		distance_answered(d, 1 + (int64_t)(number % 15), i);
		assert_int_equal(distance_median_ms(d), 1 + number % 15);
		last[number] = i;
	}
	for (unsigned n = 0; n < NUMBERS; n++) {
		unsigned later = 0;

		for (unsigned k = 0; k < NUMBERS; k++)
			later += scd__mix64(k) % DISTANCE_SETS ==
					 scd__mix64(n) % DISTANCE_SETS &&
				 last[k] > last[n];
		assert_int_equal(!distance_table_find(&t, n),
				 later >= DISTANCE_WAYS);
		kept += later < DISTANCE_WAYS;
	}
	assert_true(kept > NUMBERS / 2 && kept < NUMBERS);
	distance_table_free(&t);
	assert_null(distance_table_find(&t, 1));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pays),
		cmocka_unit_test(test_renewals_pay),
		cmocka_unit_test(test_what_is_hedged),
		cmocka_unit_test(test_second_tries_are_waited_for),
		cmocka_unit_test(test_first_questions),
		cmocka_unit_test(test_who_owes_answers),
		cmocka_unit_test(test_outcomes_fade),
		cmocka_unit_test(test_one_in_so_many_measures),
		cmocka_unit_test(test_what_was_slow),
		cmocka_unit_test(test_timeouts),
		cmocka_unit_test(test_late),
		cmocka_unit_test(test_connecting),
		cmocka_unit_test(test_holds),
		cmocka_unit_test(test_table),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
