/*
 * The health of a peer: the breaker as scripts, and quarantine as what it is,
 * a statistical test: honest peers of all kinds over millions of lookups, and
 * liars of all kinds.
 */
#include "digestd/mesh/peer_health.h"
#include "tests/codec/random.h"
#include "tests/unit.h"

enum { MAX_WASTED = 50 }; /* requests to a liar, until it is not asked */

static const struct peer_health_policy policy = {
	.failures = 3,
	.open_min_ms = 1000,
	.open_max_ms = 8000,
	.quarantine_ms = 300000,
};

/* The breaker: what happens, when, and the state after it. */
struct script_step {
	char what; /* f(ail), h(it), 5(04), s(tale), t(ick) */
	int64_t now_ms;
	enum peer_health_state after;
};

/* clang-format off */
static const struct {
	const char *label;
	size_t nsteps;
	struct script_step steps[12];
} scripts[] = {
	{ "a failure or two are nothing", 5, {
		{ 'f', 1, HEALTH_GOOD }, { 'f', 2, HEALTH_GOOD },
		{ 'h', 3, HEALTH_GOOD }, { 'f', 4, HEALTH_GOOD },
		{ 'f', 5, HEALTH_GOOD } } },
	{ "failures in a row open it", 5, {
		{ 'f', 1, HEALTH_GOOD }, { 'f', 2, HEALTH_GOOD },
		{ 'f', 3, HEALTH_BROKEN }, { 't', 1002, HEALTH_BROKEN },
		{ 't', 1003, HEALTH_HALF_OPEN } } },
	{ "any answer is a life sign", 5, {
		{ 'f', 1, HEALTH_GOOD }, { 'f', 2, HEALTH_GOOD },
		{ '5', 3, HEALTH_GOOD }, { 'f', 4, HEALTH_GOOD },
		{ 'f', 5, HEALTH_GOOD } } },
	{ "a stale object too", 5, {
		{ 'f', 1, HEALTH_GOOD }, { 'f', 2, HEALTH_GOOD },
		{ 's', 3, HEALTH_GOOD }, { 'f', 4, HEALTH_GOOD },
		{ 'f', 5, HEALTH_GOOD } } },
	{ "the probe's answer closes it", 6, {
		{ 'f', 1, HEALTH_GOOD }, { 'f', 1, HEALTH_GOOD },
		{ 'f', 1, HEALTH_BROKEN }, { 't', 1001, HEALTH_HALF_OPEN },
		{ 'h', 1010, HEALTH_GOOD }, { 't', 99999, HEALTH_GOOD } } },
	{ "the probe's failure opens it for longer", 9, {
		{ 'f', 1, HEALTH_GOOD }, { 'f', 1, HEALTH_GOOD },
		{ 'f', 0, HEALTH_BROKEN }, { 't', 1000, HEALTH_HALF_OPEN },
		{ 'f', 1000, HEALTH_BROKEN }, { 't', 2999, HEALTH_BROKEN },
		{ 't', 3000, HEALTH_HALF_OPEN }, { 'f', 3000, HEALTH_BROKEN },
		{ 't', 6999, HEALTH_BROKEN } } },
	{ "late failures while it is open change nothing", 6, {
		{ 'f', 0, HEALTH_GOOD }, { 'f', 0, HEALTH_GOOD },
		{ 'f', 0, HEALTH_BROKEN }, { 'f', 500, HEALTH_BROKEN },
		{ 't', 999, HEALTH_BROKEN }, { 't', 1000, HEALTH_HALF_OPEN } } },
	{ "a late answer while it is open does not close it", 5, {
		{ 'f', 0, HEALTH_GOOD }, { 'f', 0, HEALTH_GOOD },
		{ 'f', 0, HEALTH_BROKEN }, { 'h', 500, HEALTH_BROKEN },
		{ 't', 999, HEALTH_BROKEN } } },
};
/* clang-format on */

static bool take_step(struct peer_health *h, const struct script_step *step)
{
	switch (step->what) {
	case 'f':
		return peer_health_outcome(h, &policy, OUTCOME_FAILED, -1,
					   step->now_ms);
	case 'h':
		return peer_health_outcome(h, &policy, OUTCOME_HIT, 1,
					   step->now_ms);
	case '5':
		return peer_health_outcome(h, &policy, OUTCOME_FALSE_HIT, 1,
					   step->now_ms);
	case 's':
		return peer_health_outcome(h, &policy, OUTCOME_STALE, 1,
					   step->now_ms);
	}
	return peer_health_tick(h, step->now_ms);
}

static void test_breaker(void **state)
{
	(void)state;
	for (size_t i = 0; i < NROWS(scripts); i++) {
		struct peer_health h;

		peer_health_init(&h);
		for (size_t n = 0; n < scripts[i].nsteps; n++) {
			const struct script_step *step = &scripts[i].steps[n];
			enum peer_health_state before = h.state;
			bool changed = take_step(&h, step);

			if (h.state != step->after)
				fail_msg("%s: step %zu: %s", scripts[i].label,
					 n, peer_health_state_text(h.state));
			assert_int_equal(changed, h.state != before);
			assert_int_equal(peer_health_usable(&h),
					 h.state == HEALTH_GOOD ||
						 h.state == HEALTH_HALF_OPEN);
		}
	}
}

/* All that can happen to a peer, in each state. */
enum what {
	HIT,
	FALSE_HIT,
	STALE,
	VARIANT,
	FAILED,
	DOUBT,
	WRONG,
	FALSE_HITS, /* as many as are too many */
	EARLY,      /* a tick before it is due */
	DUE,        /* a tick when it is */
	RESTARTED,
	WHATS,
};

/* clang-format off */
static const enum peer_health_state matrix[][4] = {
	/* in:           GOOD    BROKEN    HALF_OPEN    QUARANTINE */
#define ROW(what, a, b, c, d) \
	[what] = { HEALTH_##a, HEALTH_##b, HEALTH_##c, HEALTH_##d },
	ROW(HIT,         GOOD,       BROKEN,     GOOD,       QUARANTINE)
	ROW(FALSE_HIT,   GOOD,       BROKEN,     GOOD,       QUARANTINE)
	ROW(STALE,       GOOD,       BROKEN,     GOOD,       QUARANTINE)
	ROW(VARIANT,     GOOD,       BROKEN,     GOOD,       QUARANTINE)
	ROW(FAILED,      GOOD,       BROKEN,     BROKEN,     QUARANTINE)
	ROW(DOUBT,       GOOD,       BROKEN,     HALF_OPEN,  QUARANTINE)
	ROW(WRONG,       QUARANTINE, QUARANTINE, QUARANTINE, QUARANTINE)
	ROW(FALSE_HITS,  QUARANTINE, QUARANTINE, QUARANTINE, QUARANTINE)
	ROW(EARLY,       GOOD,       BROKEN,     HALF_OPEN,  QUARANTINE)
	ROW(DUE,         GOOD,       HALF_OPEN,  HALF_OPEN,  GOOD)
	ROW(RESTARTED,   GOOD,       BROKEN,     HALF_OPEN,  GOOD)
#undef ROW
};
/* clang-format on */

static void convict(struct peer_health *h, int64_t now_ms);

static struct peer_health peer_in(enum peer_health_state state)
{
	struct peer_health h;

	peer_health_init(&h);
	if (state == HEALTH_QUARANTINE)
		convict(&h, 1000);
	if (state == HEALTH_BROKEN || state == HEALTH_HALF_OPEN)
		for (int i = 0; i < 3; i++)
			peer_health_outcome(&h, &policy, OUTCOME_FAILED, -1,
					    1000);
	if (state == HEALTH_HALF_OPEN)
		peer_health_tick(&h, 2000);
	assert_int_equal(h.state, state);
	return h;
}

/* Returns whether it says that the state has changed. */
static bool happen(struct peer_health *h, enum what what)
{
	static const enum peer_outcome outcomes[] = {
		[HIT] = OUTCOME_HIT,       [FALSE_HIT] = OUTCOME_FALSE_HIT,
		[STALE] = OUTCOME_STALE,   [VARIANT] = OUTCOME_VARIANT,
		[FAILED] = OUTCOME_FAILED, [DOUBT] = OUTCOME_DOUBT,
		[WRONG] = OUTCOME_WRONG,
	};
	bool changed = false;

	switch (what) {
	case HIT:
	case FALSE_HIT:
	case STALE:
	case VARIANT:
	case FAILED:
	case DOUBT:
	case WRONG:
		return peer_health_outcome(h, &policy, outcomes[what],
					   what == FAILED ? -1 : 1, 1500);
	case FALSE_HITS:
		for (int i = 0; i < HEALTH_PATIENCE; i++)
			changed |= peer_health_outcome(
				h, &policy, OUTCOME_FALSE_HIT, 1, 1500);
		return changed;
	case EARLY:
		return peer_health_tick(h, 1999);
	case DUE:
		return peer_health_tick(h, 301000);
	case RESTARTED:
		return peer_health_restarted(h, &policy, 1500);
	case WHATS:
		break;
	}
	return false;
}

static void test_matrix(void **state)
{
	(void)state;
	assert_int_equal(NROWS(matrix), WHATS);
	for (unsigned what = 0; what < WHATS; what++) {
		for (unsigned in = 0; in < NROWS(matrix[0]); in++) {
			struct peer_health h = peer_in(in);
			bool changed = happen(&h, what);

			if (h.state != matrix[what][in])
				fail_msg("%s, event %u: %s",
					 peer_health_state_text(in), what,
					 peer_health_state_text(h.state));
			assert_int_equal(changed, h.state != in);
			assert_int_equal(peer_health_due_ms(&h) == INT64_MAX,
					 peer_health_usable(&h));
		}
	}
}

/* A peer that is dead for good is tried less and less, and then regularly. */
static void test_breaker_limit(void **state)
{
	int64_t now_ms = 0;
	unsigned trials = 0;
	struct peer_health h;

	(void)state;
	peer_health_init(&h);
	for (; now_ms < 100000; now_ms += 50) {
		if (peer_health_tick(&h, now_ms))
			trials++;
		if (peer_health_usable(&h))
			peer_health_outcome(&h, &policy, OUTCOME_FAILED, -1,
					    now_ms);
	}
	/* After 1, 3, 7 s, and every 8 s. */
	assert_in_range(trials, 13, 15);
	/* One answer is not enough; as long a time as it was open, is. */
	for (int64_t good_ms = 7999; good_ms <= 8000; good_ms++) {
		peer_health_tick(&h, now_ms += 8000);
		peer_health_outcome(&h, &policy, OUTCOME_HIT, 1, now_ms);
		now_ms += good_ms;
		for (int i = 0; i < 3; i++)
			peer_health_outcome(&h, &policy, OUTCOME_FAILED, -1,
					    now_ms);
		peer_health_tick(&h, now_ms + 1000);
		assert_int_equal(h.state, good_ms < 8000 ? HEALTH_BROKEN
							 : HEALTH_HALF_OPEN);
	}
}

/* A peer that is never well for long is asked by fewer and fewer requests. One
 * request a millisecond; each that fails is held up. */
static const struct {
	const char *label;
	unsigned of_1000;      /* fail */
	unsigned held_at_most; /* of 100,000 */
	unsigned held_at_least;
} flakes[] = {
	{"dead", 1000, 3, 3},
	{"every other one", 500, 60, 10},
	{"one of ten", 100, 150, 20},
	{"one of fifty", 20, 1000, 40},
	{"one of 200: it is worth to ask", 5, 600, 400},
	{"one of 1000", 1, 140, 60},
};

static void test_now_and_then(void **state)
{
	(void)state;
	for (size_t i = 0; i < NROWS(flakes); i++) {
		uint64_t random = i + 1;
		unsigned held = 0;
		struct peer_health h;

		peer_health_init(&h);
		for (int64_t now_ms = 0; now_ms < 100000; now_ms++) {
			bool fails =
				random_below(&random, 1000) < flakes[i].of_1000;
			bool probe;

			peer_health_tick(&h, now_ms);
			if (!peer_health_usable(&h))
				continue;
			probe = h.state == HEALTH_HALF_OPEN;
			peer_health_outcome(&h, &policy,
					    fails ? OUTCOME_FAILED
						  : OUTCOME_HIT,
					    fails ? -1 : 1, now_ms);
			held += fails && !probe;
		}
		if (held < flakes[i].held_at_least ||
		    held > flakes[i].held_at_most)
			fail_msg("%s: %u", flakes[i].label, held);
	}
}

static void test_rtt(void **state)
{
	struct peer_health h;

	(void)state;
	peer_health_init(&h);
	assert_float_equal(peer_health_rtt_ms(&h), 0, 0);
	peer_health_outcome(&h, &policy, OUTCOME_HIT, 8, 0);
	assert_float_equal(peer_health_rtt_ms(&h), 8, 0);
	peer_health_outcome(&h, &policy, OUTCOME_FALSE_HIT, 16, 0);
	assert_float_equal(peer_health_rtt_ms(&h), 9, 0);
	peer_health_outcome(&h, &policy, OUTCOME_FAILED, -1, 0);
	peer_health_outcome(&h, &policy, OUTCOME_STALE, -1, 0);
	assert_float_equal(peer_health_rtt_ms(&h), 9, 0);
	for (int i = 0; i < 100; i++)
		peer_health_outcome(&h, &policy, OUTCOME_HIT, 40, 0);
	assert_float_equal(peer_health_rtt_ms(&h), 40, .1);
}

/*
 * A peer as the data path meets it. Of the lookups, a share `has` is for
 * objects in its digest, of which a share `gone` is not there any more; of the
 * others, a share `f` is found nevertheless.
 */
struct peer_model {
	double has, gone, f;
	double fp;           /* what its digest's fill predicts */
	unsigned per_second; /* lookups */
	unsigned batch;      /* lookups told, and then their outcomes */
};

static bool chance(uint64_t *random, double p)
{
	return (double)(random_next(random) >> 11) * 0x1p-53 < p;
}

/* One lookup: whether the peer is asked, and then whether it has the object. */
static bool asks(const struct peer_model *m, uint64_t *random, bool *hit)
{
	bool has = chance(random, m->has);

	*hit = has && !chance(random, m->gone);
	return has || chance(random, m->f);
}

struct verdict {
	unsigned wasted; /* false hits until quarantine, or in all */
	bool quarantine;
};

/* Lets so many lookups pass, or as many as it takes. Their outcomes come as
 * late as they may. */
static struct verdict meet(struct peer_health *h, const struct peer_model *m,
			   uint64_t lookups, uint64_t *random, double *now_ms)
{
	double each_ms = 1000.0 * m->batch / m->per_second;
	double late_ms = each_ms < HEALTH_FADE_MS ? each_ms : HEALTH_FADE_MS;
	struct verdict v = {0, false};

	for (uint64_t n = 0; n < lookups && !v.quarantine; n += m->batch) {
		*now_ms += each_ms;
		peer_health_lookups(h, m->batch, m->fp,
				    (int64_t)(*now_ms - late_ms));
		for (unsigned i = 0; i < m->batch && !v.quarantine; i++) {
			bool hit;

			if (!asks(m, random, &hit))
				continue;
			v.wasted += !hit;
			peer_health_outcome(h, &policy,
					    hit ? OUTCOME_HIT
						: OUTCOME_FALSE_HIT,
					    1, (int64_t)*now_ms);
			v.quarantine = h->state == HEALTH_QUARANTINE;
		}
	}
	return v;
}

static const struct {
	const char *label;
	struct peer_model m;
} honest[] = {
	{"f 2 %, nothing in common", {0, 0, .02, .02, 1000, 1}},
	{"f 2 %, little in common", {.01, 0, .02, .02, 1000, 1}},
	{"f 2 %, much in common", {.3, 0, .02, .02, 1000, 1}},
	{"f 5 %, nothing in common", {0, 0, .05, .05, 1000, 1}},
	{"f 0.1 %, nothing in common", {0, 0, .001, .001, 1000, 1}},
	{"f half as much again as predicted", {0, 0, .03, .02, 1000, 1}},
	{"told late, a busy node", {.1, 0, .02, .02, 50000, 2500}},
	{"told late, nothing in common", {0, 0, .02, .02, 50000, 2500}},
	{"told very late", {0, 0, .05, .05, 30000, 15000}},
	{"a slow node", {.1, 0, .02, .02, 1, 1}},
	{"a tenth is gone", {.3, .1, .001, .001, 1000, 1}},
	{"half of it is gone", {.3, .5, .001, .001, 1000, 1}},
	{"half of it is gone, told late", {.3, .5, .02, .02, 20000, 1000}},
};

static void test_honest(void **state)
{
	enum { SEEDS = 4, LOOKUPS = 1000000 };

	(void)state;
	for (size_t i = 0; i < NROWS(honest); i++) {
		for (uint64_t seed = 1; seed <= SEEDS; seed++) {
			uint64_t random = seed;
			double now_ms = 0;
			struct peer_health h;

			peer_health_init(&h);
			if (meet(&h, &honest[i].m, LOOKUPS, &random, &now_ms)
				    .quarantine)
				fail_msg("%s: quarantine", honest[i].label);
		}
	}
}

static const struct {
	const char *label;
	struct peer_model m;
} liars[] = {
	{"claims everything", {1, 1, 0, .001, 1000, 1}},
	{"claims everything, as full as may be", {1, 1, 0, .05, 1000, 1}},
	{"claims a tenth of what is asked", {.1, 1, 0, .001, 1000, 1}},
	{"claims a quarter, f 2 %", {.25, 1, .02, .02, 1000, 1}},
	{"claims everything, a slow node", {1, 1, 0, .02, 1, 1}},
	{"claims everything, told late", {1, 1, 0, .02, 1000, 50}},
	{"has one in fifty", {1, .98, 0, .001, 1000, 1}},
};

static void test_liars(void **state)
{
	(void)state;
	for (size_t i = 0; i < NROWS(liars); i++) {
		for (uint64_t seed = 1; seed <= 100; seed++) {
			uint64_t random = seed;
			double now_ms = 0;
			struct verdict v;
			struct peer_health h;

			peer_health_init(&h);
			v = meet(&h, &liars[i].m, 100000, &random, &now_ms);
			if (!v.quarantine || v.wasted > MAX_WASTED)
				fail_msg("%s: %u wasted", liars[i].label,
					 v.wasted);
			assert_false(peer_health_usable(&h));
		}
	}
}

/* A good record is no credit: a peer that turns bad is caught as soon. */
static void test_turncoats(void **state)
{
	static const struct peer_model good = {.3, 0, .001, .001, 1000, 1};
	static const struct peer_model chatty = {0, 0, .02, .02, 1000, 1};
	static const struct peer_model *const before[] = {&good, &chatty};
	static const struct peer_model bad = {1, 1, 0, .02, 1000, 1};

	(void)state;
	for (size_t i = 0; i < NROWS(before); i++) {
		for (uint64_t seed = 1; seed <= 20; seed++) {
			uint64_t random = seed;
			double now_ms = 0;
			struct verdict v;
			struct peer_health h;

			peer_health_init(&h);
			v = meet(&h, before[i], 100000, &random, &now_ms);
			assert_false(v.quarantine);
			v = meet(&h, &bad, 100000, &random, &now_ms);
			if (!v.quarantine || v.wasted > MAX_WASTED)
				fail_msg("row %zu: %u wasted", i, v.wasted);
		}
	}
}

/* Brings a peer without a record into quarantine at a time. */
static void convict(struct peer_health *h, int64_t now_ms)
{
	for (int i = 1; i < HEALTH_PATIENCE; i++)
		assert_false(peer_health_outcome(h, &policy, OUTCOME_FALSE_HIT,
						 1, now_ms));
	assert_true(
		peer_health_outcome(h, &policy, OUTCOME_FALSE_HIT, 1, now_ms));
	assert_int_equal(h->state, HEALTH_QUARANTINE);
}

/* Hits make up for false hits that were, not for those to come. */
static void test_hits_give_no_credit(void **state)
{
	struct peer_health h;

	(void)state;
	peer_health_init(&h);
	for (int i = 0; i < 100; i++)
		peer_health_outcome(&h, &policy, OUTCOME_HIT, 1, 1000);
	peer_health_outcome(&h, &policy, OUTCOME_FALSE_HIT, 1, 1000);
	peer_health_outcome(&h, &policy, OUTCOME_HIT, 1, 1000);
	convict(&h, 1000);
}

/* What has gone stale was there, as the digest said, and what is for other
 * requests too: no number of such answers is a lie, and none makes up for
 * one. */
static void test_of_no_use_is_no_lie(void **state)
{
	static const enum peer_outcome events[] = {OUTCOME_STALE,
						   OUTCOME_VARIANT};

	(void)state;
	for (size_t e = 0; e < NROWS(events); e++) {
		struct peer_health h;

		peer_health_init(&h);
		for (int i = 0; i < 100 * HEALTH_PATIENCE; i++)
			assert_false(peer_health_outcome(&h, &policy, events[e],
							 1, 1000));
		for (int i = 1; i < HEALTH_PATIENCE; i++) {
			peer_health_outcome(&h, &policy, OUTCOME_FALSE_HIT, 1,
					    1000);
			peer_health_outcome(&h, &policy, events[e], 1, 1000);
		}
		assert_int_equal(h.state, HEALTH_GOOD);
		peer_health_outcome(&h, &policy, OUTCOME_FALSE_HIT, 1, 1000);
		assert_int_equal(h.state, HEALTH_QUARANTINE);
	}
}

/* Credit that nobody uses is halved again and again, however often it is looked
 * at. */
static void test_credit_fades(void **state)
{
	static const struct {
		int64_t after_ms, every_ms;
		double most, least;
	} rows[] = {
		{0, 1, 1000, 1000},
		{HEALTH_FADE_MS, HEALTH_FADE_MS, 500, 500},
		{HEALTH_FADE_MS, 50, 410, 400},
		{HEALTH_FADE_MS, 1, 370, 365},
		{4 * HEALTH_FADE_MS, 4 * HEALTH_FADE_MS, 62.5, 62.5},
		{3600000, 3600000, 0, 0},
	};

	(void)state;
	for (size_t i = 0; i < NROWS(rows); i++) {
		struct peer_health h;

		peer_health_init(&h);
		peer_health_lookups(&h, 1000, 1. / HEALTH_ALLOWANCE, 1000);
		for (int64_t ms = rows[i].every_ms; ms <= rows[i].after_ms;
		     ms += rows[i].every_ms)
			peer_health_lookups(&h, 0, 0, 1000 + ms);
		if (-h.score > rows[i].most + 1e-9 ||
		    -h.score < rows[i].least - 1e-9)
			fail_msg("row %zu: %g", i, -h.score);
	}
}

/* It is due when a tick changes it, and not before. */
static void test_due(void **state)
{
	struct peer_health h;

	(void)state;
	peer_health_init(&h);
	assert_int_equal(peer_health_due_ms(&h), INT64_MAX);
	for (int i = 0; i < 3; i++)
		peer_health_outcome(&h, &policy, OUTCOME_FAILED, -1, 1000);
	assert_int_equal(peer_health_due_ms(&h), 2000);
	assert_false(peer_health_tick(&h, 1999));
	assert_true(peer_health_tick(&h, 2000));
	assert_int_equal(peer_health_due_ms(&h), INT64_MAX);
	peer_health_outcome(&h, &policy, OUTCOME_HIT, 1, 2000);
	assert_int_equal(peer_health_due_ms(&h), INT64_MAX);
	convict(&h, 2000);
	assert_int_equal(peer_health_due_ms(&h), 302000);
}

/* It ends, with an empty record; and begins again if nothing is better. */
static void test_release(void **state)
{
	struct peer_health h;

	(void)state;
	peer_health_init(&h);
	convict(&h, 1000);
	/* What was under way changes nothing. */
	assert_false(peer_health_outcome(&h, &policy, OUTCOME_HIT, 1, 1001));
	assert_false(peer_health_outcome(&h, &policy, OUTCOME_FAILED, 1, 1001));
	assert_false(peer_health_tick(&h, 300999));
	assert_false(peer_health_usable(&h));
	assert_true(peer_health_tick(&h, 301000));
	assert_int_equal(h.state, HEALTH_GOOD);
	convict(&h, 301001);
	assert_false(peer_health_tick(&h, 601000));
	assert_true(peer_health_tick(&h, 601001));
}

/* A digest of a new start is another digest; but not an endless excuse. */
static void test_restart(void **state)
{
	struct peer_health h;

	(void)state;
	peer_health_init(&h);
	convict(&h, 1000);
	assert_true(peer_health_restarted(&h, &policy, 5000));
	assert_int_equal(h.state, HEALTH_GOOD);
	assert_false(peer_health_restarted(&h, &policy, 5001));
	convict(&h, 6000);
	assert_false(peer_health_restarted(&h, &policy, 7000));
	assert_false(peer_health_restarted(&h, &policy, 304999));
	assert_true(peer_health_restarted(&h, &policy, 305000));
	/* A breaker is not closed by it, but a probe is not far. */
	for (int i = 0; i < 3; i++)
		peer_health_outcome(&h, &policy, OUTCOME_FAILED, -1, 400000);
	peer_health_tick(&h, 401000);
	peer_health_outcome(&h, &policy, OUTCOME_FAILED, -1, 401000);
	for (int64_t ms = 401000; ms < 402000; ms += 100)
		assert_false(peer_health_restarted(&h, &policy, ms));
	assert_false(peer_health_tick(&h, 401999));
	assert_true(peer_health_tick(&h, 402000));
	assert_int_equal(h.state, HEALTH_HALF_OPEN);
	assert_false(peer_health_restarted(&h, &policy, 402000));
}

/* What is wrong ends it at once, and a restart is no excuse; what seems so does
 * the third time, whatever comes between. */
static void test_lies(void **state)
{
	struct peer_health h;

	(void)state;
	peer_health_init(&h);
	peer_health_outcome(&h, &policy, OUTCOME_WRONG, -1, 1000);
	assert_int_equal(h.state, HEALTH_QUARANTINE);
	assert_true(peer_health_lies(&h));
	assert_false(peer_health_restarted(&h, &policy, 2000));
	assert_int_equal(h.state, HEALTH_QUARANTINE);
	assert_true(peer_health_tick(&h, 1000 + policy.quarantine_ms));
	assert_int_equal(h.state, HEALTH_GOOD);
	assert_false(peer_health_lies(&h));
	for (unsigned i = 0; i < HEALTH_WRONG; i++) {
		assert_int_equal(h.state, HEALTH_GOOD);
		peer_health_outcome(&h, &policy, OUTCOME_DOUBT, -1, 500000);
		for (int n = 0; n < 100; n++)
			peer_health_outcome(&h, &policy, OUTCOME_HIT, 1,
					    500000);
	}
	assert_int_equal(h.state, HEALTH_QUARANTINE);
	peer_health_init(&h);
	convict(&h, 1000);
	assert_false(peer_health_lies(&h)); /* its digest does */
}

static void test_texts(void **state)
{
	(void)state;
	assert_string_equal(peer_health_state_text(HEALTH_GOOD), "good");
	assert_string_equal(peer_health_state_text(HEALTH_BROKEN), "broken");
	assert_string_equal(peer_health_state_text(HEALTH_HALF_OPEN),
			    "half open");
	assert_string_equal(peer_health_state_text(HEALTH_QUARANTINE),
			    "quarantine");
	assert_string_equal(peer_outcome_text(OUTCOME_HIT), "hit");
	assert_string_equal(peer_outcome_text(OUTCOME_FALSE_HIT), "false hit");
	assert_string_equal(peer_outcome_text(OUTCOME_STALE), "stale hit");
	assert_string_equal(peer_outcome_text(OUTCOME_VARIANT), "variant miss");
	assert_string_equal(peer_outcome_text(OUTCOME_FAILED), "failed");
	assert_string_equal(peer_outcome_text(OUTCOME_DOUBT), "doubtful");
	assert_string_equal(peer_outcome_text(OUTCOME_WRONG), "wrong");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_breaker),
		cmocka_unit_test(test_matrix),
		cmocka_unit_test(test_breaker_limit),
		cmocka_unit_test(test_now_and_then),
		cmocka_unit_test(test_rtt),
		cmocka_unit_test(test_honest),
		cmocka_unit_test(test_liars),
		cmocka_unit_test(test_turncoats),
		cmocka_unit_test(test_hits_give_no_credit),
		cmocka_unit_test(test_of_no_use_is_no_lie),
		cmocka_unit_test(test_lies),
		cmocka_unit_test(test_credit_fades),
		cmocka_unit_test(test_due),
		cmocka_unit_test(test_release),
		cmocka_unit_test(test_restart),
		cmocka_unit_test(test_texts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
