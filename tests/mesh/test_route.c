/*
 * Routing one request: in which order candidates are asked, for how long, and
 * when it is the origin's turn. Each row is a cluster and what a request does.
 */
#include <stdio.h>
#include <string.h>

#include "codec/mix.h"
#include "digestd/mesh/route.h"
#include "tests/unit.h"

enum {
	MAX_PEERS = 12,
	ORIGIN = -1,
	PROBE = -2, /* less the peer's number */
	SPREAD_PEERS = 64,
	SPREAD_KEYS = 64 * 400,
};

static const struct scd_key key = { 12345, 67891 };
static const struct peerset_keys keys = { .own = &key };

/* A peer that has the key (or not), and how full its digest is. */
struct place {
	bool has;
	double rtt_ms;
	double fp;
	enum { USUAL, UNUSABLE, HALF_OPEN } state;
	int64_t trip_ms;
};

static const struct route_policy usual = {
	.budget_ms = 150, .peer_ms = 100, .tries = 3,
};

static struct peerset *view_of(const struct place *places, size_t n)
{
	struct peerset_peer peers[MAX_PEERS] = { { 0 } };
	struct peerset *view;

	for (uint32_t i = 0; i < n; i++) {
		struct scd_bloom bloom;

		assert_int_equal(scd_bloom_init(&bloom, 4096, 3), SCD_OK);
		if (places[i].has)
			scd_bloom_add(&bloom, &key);
		peers[i] = (struct peerset_peer){
			.id = i, .usable = places[i].state != UNUSABLE,
			.half_open = places[i].state == HALF_OPEN,
			.rtt_ms = places[i].rtt_ms, .name = "", .url = "",
			.trip_ms = places[i].trip_ms,
			.digest = peer_digest_take(&bloom),
		};
		peers[i].digest->fp = places[i].fp;
	}
	view = peerset_new(peers, n);
	for (size_t i = 0; i < n; i++)
		peer_digest_unref(peers[i].digest);
	return view;
}

/* Who is asked, in order, when each answers 504 at once. */
static const struct {
	const char *label;
	struct place places[MAX_PEERS];
	size_t nplaces;
	unsigned tries;
	unsigned candidates;
	int order[MAX_PEERS];
} orders[] = {
	{ "no peers", { { 0 } }, 0, 3, 0, { ORIGIN } },
	{ "nobody has it", { { 0 }, { 0 } }, 2, 3, 0, { ORIGIN } },
	{ "one has it", { { 0 }, { .has = true } }, 2, 3, 1, { 1, ORIGIN } },
	{ "one has it, but may not be asked",
	  { { 0 }, { .has = true, .state = UNUSABLE } }, 2, 3, 0, { ORIGIN } },
	{ "near first",
	  { { true, 30, 0, USUAL, 0 }, { true, 2, 0, USUAL, 0 },
	    { true, 20, 0, USUAL, 0 } }, 3, 3, 3, { 1, 2, 0, ORIGIN } },
	{ "few false positives first",
	  { { true, 5, .04, USUAL, 0 }, { true, 5, .001, USUAL, 0 } }, 2, 3, 2,
	  { 1, 0, ORIGIN } },
	{ "nearness outweighs a few false positives",
	  { { true, 5, .04, USUAL, 0 }, { true, 50, .001, USUAL, 0 } }, 2, 3, 2,
	  { 0, 1, ORIGIN } },
	{ "not yet measured is in the middle",
	  { { true, 0, 0, USUAL, 0 }, { true, 100, 0, USUAL, 0 },
	    { true, 1, 0, USUAL, 0 } }, 3, 3, 3, { 2, 0, 1, ORIGIN } },
	{ "a full digest is last, not a fault",
	  { { true, 5, 1, USUAL, 0 }, { true, 50, .01, USUAL, 0 } }, 2, 3, 2,
	  { 1, 0, ORIGIN } },
	{ "equals of one name in the order of the view",
	  { { true, 5, 0, USUAL, 0 }, { true, 5, 0, USUAL, 0 } }, 2, 3, 2,
	  { 0, 1, ORIGIN } },
	{ "within 5 ms all are equals",
	  { { true, 4.9, 0, USUAL, 0 }, { true, .1, 0, USUAL, 0 } }, 2, 3, 2,
	  { 0, 1, ORIGIN } },
	{ "no more than the tries",
	  { { true, 30, 0, USUAL, 0 }, { true, 20, 0, USUAL, 0 },
	    { true, 10, 0, USUAL, 0 } }, 3, 2, 3, { 2, 1, ORIGIN } },
	{ "no tries", { { true, 3, 0, USUAL, 0 } }, 1, 0, 1, { ORIGIN } },
	{ "the best of many, wherever they are in the view",
	  { { true, 110, 0, USUAL, 0 }, { true, 100, 0, USUAL, 0 },
	    { true, 90, 0, USUAL, 0 }, { true, 80, 0, USUAL, 0 },
	    { true, 70, 0, USUAL, 0 }, { true, 60, 0, USUAL, 0 },
	    { true, 50, 0, USUAL, 0 }, { true, 40, 0, USUAL, 0 },
	    { true, 30, 0, USUAL, 0 }, { true, 20, 0, USUAL, 0 },
	    { true, 120, 0, USUAL, 0 }, { true, 10, 0, USUAL, 0 } },
	  12, 4, ROUTE_MAX_PEERS, { 11, 9, 8, 7, ORIGIN } },
};

/* The peer asked first for each of so many keys that all of n equals have. */
static void ask_equals(unsigned n, uint64_t spread, unsigned nkeys,
		       unsigned *first)
{
	struct route_policy policy = usual;
	struct peerset_peer peers[SPREAD_PEERS] = { { 0 } };
	char names[SPREAD_PEERS][16];
	struct peerset *view;

	for (uint32_t i = 0; i < n; i++) {
		struct scd_bloom bloom;

		snprintf(names[i], sizeof(names[i]), "cache%u", i);
		assert_int_equal(scd_bloom_init(&bloom, 64, 1), SCD_OK);
		memset(bloom.bits, 255, 8);
		peers[i] = (struct peerset_peer){
			.id = i, .usable = true, .name = names[i], .url = "",
			.digest = peer_digest_take(&bloom) };
		assert_non_null(peers[i].digest);
	}
	view = peerset_new(peers, n);
	for (unsigned k = 0; k < nkeys; k++) {
		const struct scd_key uniform = scd__key_of_hash(k);
		const struct peerset_keys one = { .own = &uniform };
		struct route_step step;
		struct route r;

		policy.spread = spread;
		route_init(&r, view, &one, &policy, 0);
		step = route_next(&r, &policy, 0);
		assert_false(step.origin);
		first[k] = step.peer;
	}
	for (size_t i = 0; i < n; i++)
		peer_digest_unref(peers[i].digest);
	peerset_unref(view);
}

/* Each node has an order of its own, if it spreads: for one key that all have,
 * most are asked by somebody, and by no many. */
static void test_spread_of_one_key(void **state)
{
	static unsigned first[SPREAD_PEERS];
	unsigned load[SPREAD_PEERS] = {0}, asked = 0, most = 0;

	(void)state;
	for (unsigned node = 0; node < SPREAD_PEERS; node++) {
		ask_equals(SPREAD_PEERS, scd__mix64(node + 1), 1, first);
		load[first[0]]++;
	}
	for (unsigned i = 0; i < SPREAD_PEERS; i++) {
		asked += load[i] > 0;
		most = load[i] > most ? load[i] : most;
	}
	assert_true(asked > SPREAD_PEERS / 2);
	assert_true(most < 8);
}

/* Of equal peers the one with the highest weight is asked. */
static void test_weights(void **state)
{
	static unsigned first[SPREAD_KEYS];

	(void)state;
	ask_equals(SPREAD_PEERS, 0, SPREAD_KEYS, first);
	for (unsigned k = 0; k < SPREAD_KEYS; k++) {
		uint64_t lo = scd__key_of_hash(k).lo, most = 0;
		unsigned best = 0;

		for (unsigned i = 0; i < SPREAD_PEERS; i++) {
			char name[16];
			uint64_t weight;

			snprintf(name, sizeof(name), "cache%u", i);
			weight = route_weight(lo, peerset_hash_name(name));
			best = weight > most ? i : best;
			most = weight > most ? weight : most;
		}
		assert_int_equal(first[k], best);
	}
}

/* No peer is asked for much more than its share, and the same one each time;
 * when one leaves, only its keys move. */
static void test_spread(void **state)
{
	static unsigned first[SPREAD_KEYS], again[SPREAD_KEYS];
	unsigned load[SPREAD_PEERS] = { 0 };

	(void)state;
	ask_equals(SPREAD_PEERS, 0, SPREAD_KEYS, first);
	ask_equals(SPREAD_PEERS, 0, SPREAD_KEYS, again);
	assert_memory_equal(first, again, sizeof(first));
	for (size_t i = 0; i < SPREAD_KEYS; i++)
		load[first[i]]++;
	for (size_t i = 0; i < SPREAD_PEERS; i++) {
		if (load[i] * 10 > SPREAD_KEYS / SPREAD_PEERS * 13)
			fail_msg("peer %zu is asked %u times", i, load[i]);
	}
	ask_equals(SPREAD_PEERS - 1, 0, SPREAD_KEYS, again);
	for (size_t i = 0; i < SPREAD_KEYS; i++)
		assert_true(again[i] == first[i] ||
			    first[i] == SPREAD_PEERS - 1);
}

static void test_order(void **state)
{
	(void)state;
	for (size_t i = 0; i < NROWS(orders); i++) {
		struct peerset *view = view_of(orders[i].places,
					       orders[i].nplaces);
		struct route_policy policy = usual;
		struct route r;
		const int *order = orders[i].order;

		policy.tries = orders[i].tries;
		route_init(&r, view, &keys, &policy, 0);
		assert_int_equal(route_candidates(&r), orders[i].candidates);
		for (;; order++) {
			struct route_step step = route_next(&r, &policy, 0);
			int got = step.origin ? ORIGIN : (int)step.peer;

			if (got != *order)
				fail_msg("%s: step %d goes to %d, not %d",
					 orders[i].label,
					 (int)(order - orders[i].order), got,
					 *order);
			if (step.origin)
				break;
			assert_true(step.timeout_ms > 0);
		}
		assert_true(route_next(&r, &policy, 0).origin);
		peerset_unref(view);
	}
}

/* Four equal peers; each takes so long to be of no help. */
static const struct {
	const char *label;
	struct { int64_t budget_ms, peer_ms; unsigned tries; } policy;
	int64_t takes_ms;
	int64_t timeouts_ms[5]; /* 0: the origin */
} budgets[] = {
	{ "each its own time", { 1000, 100, 4 }, 100,
	  { 100, 100, 100, 100, 0 } },
	{ "the last gets what is left", { 250, 100, 4 }, 100,
	  { 100, 100, 50, 0 } },
	{ "the budget is spent", { 200, 100, 4 }, 100, { 100, 100, 0 } },
	{ "one takes more than it may", { 200, 100, 4 }, 500, { 100, 0 } },
	{ "a peer may take it all", { 100, 500, 4 }, 1, { 100, 99, 98, 97,
	  0 } },
	{ "the budget by what each may take", { 0, 100, 4 }, 100,
	  { 100, 40, 0 } },
	{ "what each may take by its distance", { 250, 0, 4 }, 100,
	  { 100, 100, 50, 0 } },
	{ "both", { 0, 0, 4 }, 100, { 100, 40, 0 } },
};

static void test_budget(void **state)
{
	static const struct place places[] = {
		{ .has = true }, { .has = true }, { .has = true },
		{ .has = true },
	};
	struct peerset *view = view_of(places, NROWS(places));

	(void)state;
	for (size_t i = 0; i < NROWS(budgets); i++) {
		const struct route_policy policy = {
			.budget_ms = budgets[i].policy.budget_ms,
			.peer_ms = budgets[i].policy.peer_ms,
			.tries = budgets[i].policy.tries,
		};
		int64_t now_ms = 1000000;
		struct route r;

		route_init(&r, view, &keys, &policy, now_ms);
		for (const int64_t *t = budgets[i].timeouts_ms;; t++) {
			struct route_step step =
				route_next(&r, &policy, now_ms);

			if (step.origin != (*t == 0) ||
			    (*t && step.timeout_ms != *t))
				fail_msg("%s", budgets[i].label);
			if (step.origin)
				break;
			now_ms += budgets[i].takes_ms;
		}
	}
	peerset_unref(view);
}

/* Whom the next request asks first. */
static int first_asked(struct peerset *view, int64_t now_ms)
{
	struct route_step step;
	struct route r;

	route_init(&r, view, &keys, &usual, now_ms);
	step = route_next(&r, &usual, now_ms);
	if (!step.probe)
		return step.origin ? ORIGIN : (int)step.peer;
	assert_int_equal(step.timeout_ms, usual.peer_ms);
	return PROBE - (int)step.peer;
}

/* A peer that failed is probed beside one request; none waits for it. */
static void test_half_open(void **state)
{
	static const struct place places[] = {
		{ .has = true, .state = HALF_OPEN }, { .has = true },
	};
	struct peerset *view = view_of(places, 2);

	(void)state;
	assert_int_equal(first_asked(view, 0), PROBE - 0);
	assert_int_equal(first_asked(view, 0), 1);
	assert_int_equal(first_asked(view, PEERSET_PROBE_MS - 1), 1);
	assert_int_equal(first_asked(view, PEERSET_PROBE_MS), PROBE - 0);
	assert_int_equal(first_asked(view, PEERSET_PROBE_MS), 1);
	peerset_unref(view);
	view = view_of(places, 1);
	assert_int_equal(first_asked(view, 0), PROBE - 0);
	assert_int_equal(first_asked(view, 0), ORIGIN);
	peerset_unref(view);
}

/* After probes the request has its tries still; without tries nobody is
 * asked at all. */
static void test_probes_are_no_tries(void **state)
{
	static const struct place places[] = {
		{ .has = true, .state = HALF_OPEN }, { .has = true },
		{ .has = true, .state = HALF_OPEN }, { .has = true },
		{ .has = true, .state = HALF_OPEN },
	};
	static const int order[] = { PROBE - 0, 1, PROBE - 2, 3, ORIGIN };
	const struct route_policy two = { .budget_ms = 150, .peer_ms = 100,
					  .tries = 2 };
	const struct route_policy none = { .budget_ms = 150, .peer_ms = 100 };
	struct peerset *view = view_of(places, NROWS(places));
	struct route r;

	(void)state;
	route_init(&r, view, &keys, &none, 0);
	assert_true(route_next(&r, &none, 0).origin);
	route_init(&r, view, &keys, &two, 0);
	for (size_t i = 0; i < NROWS(order); i++) {
		struct route_step step = route_next(&r, &two, 100);

		if (step.origin)
			assert_int_equal(order[i], ORIGIN);
		else if (step.probe)
			assert_int_equal(order[i], PROBE - (int)step.peer);
		else
			assert_int_equal(order[i], step.peer);
		if (!step.origin)
			assert_int_equal(step.timeout_ms,
					 step.probe ? 100 : 50);
	}
	peerset_unref(view);
}

/* What has been measured of peer i; 0: nothing. */
static void measure_peer(struct distance_table *peers, uint64_t i, int64_t ms)
{
	struct distance *d = distance_table_use(peers, i);

	assert_non_null(d);
	for (int k = 0; ms && k < 20; k++)
		distance_answered(d, ms, 1);
}

/* Peers that are farther than the origin are not asked, whatever the view says
 * of them; near ones first, by what has been measured. */
static void test_distances(void **state)
{
	static const struct place places[] = {
		{ .has = true, .rtt_ms = 1 }, { .has = true, .rtt_ms = 2 },
		{ .has = true }, { .has = true }, { .rtt_ms = 1 },
	};
	static const int order[] = { 3, 0, ORIGIN };
	struct peerset *view = view_of(places, NROWS(places));
	static struct distance_table peers;
	struct distance origin = { 0 };
	struct route_policy policy = { .tries = 3, .peers = &peers };
	struct route r;

	(void)state;
	for (int k = 0; k < 20; k++)
		distance_answered(&origin, 63, 1);
	policy.origin = &origin;
	measure_peer(&peers, 0, 47);
	measure_peer(&peers, 1, 79);
	measure_peer(&peers, 2, 63);
	measure_peer(&peers, 4, 3);
	route_init(&r, view, &keys, &policy, 0);
	assert_int_equal(route_candidates(&r), 2);
	assert_int_equal(route_too_far(&r), 2);
	for (size_t i = 0; i < NROWS(order); i++) {
		struct route_step step = route_next(&r, &policy, 0);

		assert_false(step.probe);
		assert_int_equal(step.origin ? ORIGIN : (int)step.peer,
				 order[i]);
	}
	peerset_unref(view);
	distance_table_free(&peers);
}

/* Who has not answered yet is as far as the way to it, and waited for by that.
 */
static void test_first_questions(void **state)
{
	static const struct place places[] = {
		{ .has = true, .trip_ms = 60 },
		{ .has = true, .trip_ms = 40 },
		{ .has = true, .rtt_ms = 50, .trip_ms = 1 },
	};
	static const unsigned order[] = { 1, 2, 0 };
	static const int64_t trip_ms[] = { 40, 1, 60 };
	struct peerset *view = view_of(places, NROWS(places));
	static struct distance_table peers;
	const struct route_policy policy = { .tries = 3, .peers = &peers };
	struct route r;

	(void)state;
	route_init(&r, view, &keys, &policy, 0);
	for (size_t i = 0; i < NROWS(order); i++) {
		const struct route_step step = route_next(&r, &policy, 0);

		assert_int_equal(step.peer, order[i]);
		assert_int_equal(step.timeout_ms,
				 distance_timeout_ms(NULL, trip_ms[i], NULL));
	}
	peerset_unref(view);
}

/* The farthest that is asked makes the budget. */
static void test_budget_grows(void **state)
{
	static const struct place places[] = { { .has = true },
					       { .has = true } };
	struct peerset *view = view_of(places, NROWS(places));
	static struct distance_table peers;
	const struct route_policy policy = { .tries = 3, .peers = &peers };
	struct route r;

	(void)state;
	measure_peer(&peers, 0, 3);
	measure_peer(&peers, 1, 255);
	route_init(&r, view, &keys, &policy, 0);
	assert_int_equal(route_next(&r, &policy, 0).timeout_ms, 100);
	assert_int_equal(route_next(&r, &policy, 100).timeout_ms,
			 DISTANCE_WAIT_MAX_MS + 255);
	peerset_unref(view);
	distance_table_free(&peers);
}

/* One request in so many measures a peer that is too far, and does not wait. */
static void test_too_far_is_measured(void **state)
{
	static const struct place places[] = { { .has = true } };
	struct peerset *view = view_of(places, 1);
	static struct distance_table peers;
	struct distance origin = { 0 };
	struct route_policy policy = { .tries = 1, .peers = &peers };
	unsigned probes = 0;

	(void)state;
	for (int k = 0; k < 20; k++)
		distance_answered(&origin, 15, 1);
	policy.origin = &origin;
	measure_peer(&peers, 0, 47);
	for (int i = 0; i < 10 * DISTANCE_PASSED_OVER; i++) {
		struct route_step step;
		struct route r;

		route_init(&r, view, &keys, &policy, i);
		step = route_next(&r, &policy, i);
		if (step.probe) {
			assert_int_equal(step.peer, 0);
			assert_int_equal(step.timeout_ms, DISTANCE_PROBE_MS);
			probes++;
			step = route_next(&r, &policy, i);
		}
		assert_true(step.origin);
	}
	assert_int_equal(probes, 10);
	peerset_unref(view);
	distance_table_free(&peers);
}

static void test_no_view(void **state)
{
	struct route r;

	(void)state;
	route_init(&r, NULL, &keys, &usual, 0);
	assert_int_equal(route_candidates(&r), 0);
	assert_true(route_next(&r, &usual, 0).origin);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_spread),
		cmocka_unit_test(test_spread_of_one_key),
		cmocka_unit_test(test_weights),
		cmocka_unit_test(test_budget),
		cmocka_unit_test(test_half_open),
		cmocka_unit_test(test_probes_are_no_tries),
		cmocka_unit_test(test_distances),
		cmocka_unit_test(test_first_questions),
		cmocka_unit_test(test_budget_grows),
		cmocka_unit_test(test_too_far_is_measured),
		cmocka_unit_test(test_no_view),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
