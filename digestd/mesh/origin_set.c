/*
 * Choosing among the origins of a site.
 */
#include "digestd/mesh/origin_set.h"

#include <assert.h>

enum {
	HUNDREDTHS = 100,
	TIME_WEIGHT = 8,   /* a new time counts for one in so many */
	HALVINGS_MAX = 31, /* of a difference of 32 bits */
};

static struct origin_member *origin_set_at(struct origin_set *s, unsigned i)
{
	assert(i < ORIGIN_SET_MAX);
	return &s->at[i];
}

/* What seems to be in the future happened just now, on another clock. */
static int64_t origin_set_since(int64_t then_ms, int64_t now_ms)
{
	return now_ms > then_ms ? now_ms - then_ms : 0;
}

void origin_set_add(struct origin_set *s, unsigned i, bool backup)
{
	struct origin_member *m = origin_set_at(s, i);

	assert(!m->there && !m->outstanding);
	*m = (struct origin_member){ .there = true, .backup = backup };
	peer_health_init(&m->health);
	if (s->end <= i)
		s->end = i + 1;
}

void origin_set_remove(struct origin_set *s, unsigned i)
{
	origin_set_at(s, i)->there = false;
}

/* Health */

static bool origin_member_is_up(const struct origin_member *m)
{
	return m->there && !m->down && m->health.state == HEALTH_GOOD;
}

/* Of ORIGIN_SHARE. */
static unsigned origin_member_share(const struct origin_member *m,
				    const struct origin_policy *policy,
				    int64_t now_ms)
{
	int64_t up_ms = origin_set_since(m->up_ms, now_ms);

	if (!m->was_out || up_ms >= policy->slow_start_ms)
		return ORIGIN_SHARE;
	return (unsigned)(1 + up_ms * (ORIGIN_SHARE - 1) /
				      policy->slow_start_ms);
}

/* Notes when it comes back; returns whether it is up, and was not, or the
 * other way round. */
static bool origin_member_changed(struct origin_member *m, bool was_up,
				  int64_t now_ms)
{
	bool up = origin_member_is_up(m);

	if (up && !was_up) {
		m->was_out = true;
		m->up_ms = now_ms;
		m->time = 0; /* it may be another machine by now */
	}
	return up != was_up;
}

static struct peer_health_policy
origin_set_breaker(const struct origin_policy *policy)
{
	return (struct peer_health_policy){
		.failures = policy->failures,
		.open_min_ms = policy->out_min_ms,
		.open_max_ms = policy->out_max_ms,
	};
}

bool origin_set_outcome(struct origin_set *s, unsigned i,
			const struct origin_policy *policy,
			enum origin_outcome outcome, int64_t now_ms)
{
	const struct peer_health_policy breaker = origin_set_breaker(policy);
	struct origin_member *m = origin_set_at(s, i);
	bool was_up = origin_member_is_up(m);

	if (outcome == ORIGIN_ANSWERED || outcome == ORIGIN_ERROR)
		m->silent = false;
	if (outcome != ORIGIN_ANSWERED)
		m->trouble_ms = now_ms;
	/* it was asked as all are out: it is tried soon, however often it has
	 * failed before */
	if (outcome == ORIGIN_ANSWERED)
		(void)peer_health_restarted(&m->health, &breaker, now_ms);
	(void)peer_health_tick(&m->health, now_ms);
	(void)peer_health_outcome(&m->health, &breaker,
				  outcome == ORIGIN_ANSWERED ? OUTCOME_HIT
							     : OUTCOME_FAILED,
				  -1, now_ms);
	return origin_member_changed(m, was_up, now_ms);
}

bool origin_set_checked(struct origin_set *s, unsigned i,
			const struct origin_policy *policy, bool good,
			int64_t now_ms)
{
	const struct peer_health_policy breaker = origin_set_breaker(policy);
	struct origin_member *m = origin_set_at(s, i);
	bool was_up = origin_member_is_up(m);

	m->good_checks = good ? m->good_checks + 1 : 0;
	m->bad_checks = good ? 0 : m->bad_checks + 1;
	if (good)
		m->silent = false;
	if (m->bad_checks >= ORIGIN_CHECKS_BAD)
		m->down = true;
	if (m->down && m->good_checks >= ORIGIN_CHECKS_GOOD) {
		m->down = false;
		/* what has failed before is to be tried soon */
		(void)peer_health_restarted(&m->health, &breaker, now_ms);
	}
	return origin_member_changed(m, was_up, now_ms);
}

void origin_set_unchecked(struct origin_set *s, unsigned i)
{
	struct origin_member *m = origin_set_at(s, i);

	m->down = false;
	m->good_checks = m->bad_checks = 0;
}

void origin_set_unanswered(struct origin_set *s, unsigned i, int64_t asked_ms,
			   int64_t answered_ms, int64_t now_ms)
{
	/* in the same millisecond it has mostly answered another one first */
	if (answered_ms > asked_ms)
		return;
	origin_set_at(s, i)->silent = true;
	origin_set_at(s, i)->trouble_ms = now_ms;
}

/* Whether what its last request came to still says something of the next. */
static bool origin_member_is_known(const struct origin_member *m,
				   int64_t now_ms)
{
	return m->down ||
	       origin_set_since(m->trouble_ms, now_ms) < ORIGIN_KNOWN_MS;
}

enum origin_condition origin_set_condition(const struct origin_set *s,
					   int64_t now_ms)
{
	unsigned there = 0, up = 0, silent = 0, known = 0;

	for (unsigned i = 0; i < s->end; i++) {
		const struct origin_member *m = &s->at[i];

		there += m->there;
		up += origin_member_is_up(m);
		silent += m->there && m->silent;
		known += m->there && origin_member_is_known(m, now_ms);
	}
	/* one of several, which has failed once, may serve by now */
	if (!there || up > (there == 1 && silent) || known < there)
		return ORIGIN_SERVES;
	return silent == there ? ORIGIN_SILENT : ORIGIN_FAILS;
}

bool origin_set_take_trial(struct origin_set *s, int64_t now_ms)
{
	if (s->trial_ms && now_ms - s->trial_ms < ORIGIN_TRIAL_MS)
		return false;
	s->trial_ms = now_ms;
	for (unsigned i = 0; i < s->end; i++)
		s->at[i].trouble_ms = now_ms; /* it asks all of them */
	return true;
}

/* Load */

void origin_set_end(struct origin_set *s, unsigned i)
{
	struct origin_member *m = origin_set_at(s, i);

	assert(m->outstanding);
	m->outstanding--;
}

void origin_set_late(struct origin_set *s, int64_t ms, int64_t now_ms)
{
	if (now_ms > s->latest_ms) /* of all clocks */
		s->latest_ms = now_ms;
	answer_times_add(&s->times, ms, s->latest_ms);
}

void origin_set_timed(struct origin_set *s, unsigned i, int64_t ms,
		      int64_t now_ms)
{
	struct origin_member *m = origin_set_at(s, i);
	int64_t time = ms * ORIGIN_TIME_UNIT + 1;

	assert(ms >= 0);
	origin_set_late(s, ms, now_ms);
	if (m->time)
		time = m->time + (time - (int64_t)m->time) / TIME_WEIGHT;
	m->time = time > 0 && time < UINT32_MAX ? (uint32_t)time : 1;
	m->measured_ms = now_ms;
}

int64_t origin_set_late_ms(const struct origin_set *s)
{
	int64_t ms;

	if (answer_times_count(&s->times) < ORIGIN_LATE_ENOUGH)
		return ORIGIN_LATE_UNKNOWN_MS;
	ms = ORIGIN_LATE_TIMES * answer_times_quantile(&s->times, 990);
	if (ms < ORIGIN_LATE_MIN_MS)
		return ORIGIN_LATE_MIN_MS;
	return ms < ORIGIN_LATE_MAX_MS ? ms : ORIGIN_LATE_MAX_MS;
}

/* The shortest time of all that are up; what is near, is as good. */
static uint32_t origin_set_best_time(const struct origin_set *s)
{
	uint32_t best = UINT32_MAX;

	for (unsigned i = 0; i < s->end; i++) {
		const struct origin_member *m = &s->at[i];

		if (origin_member_is_up(m) && m->time && m->time < best)
			best = m->time;
	}
	if (best == UINT32_MAX || best < ORIGIN_NEAR_MS * ORIGIN_TIME_UNIT)
		return ORIGIN_NEAR_MS * ORIGIN_TIME_UNIT;
	return best;
}

/* What an origin is owed, and one more, times how long it takes: in quarters of
 * what the best takes, so that hardly slower ones get as much. */
static uint64_t origin_set_load(const struct origin_set *s, unsigned i,
				uint32_t best, int64_t now_ms)
{
	const struct origin_member *m = &s->at[i];
	int64_t halvings = origin_set_since(m->measured_ms, now_ms) /
			   ORIGIN_FADE_MS;
	uint32_t quarters = 4;

	if (halvings > HALVINGS_MAX)
		halvings = HALVINGS_MAX;
	if (m->time > best)
		quarters += ((m->time - best) >> halvings) / (best / 4);
	return (uint64_t)quarters * (m->outstanding + 1);
}

/* Choosing */

/* A number from 0 to n - 1; *random becomes another. */
static unsigned origin_set_draw(uint64_t *random, unsigned n)
{
	*random = *random * UINT64_C(6364136223846793005) +
		  UINT64_C(1442695040888963407);
	return (unsigned)((*random >> 32) * n >> 32);
}

/* One of the bits that are set. */
static uint32_t origin_set_draw_bit(uint32_t mask, uint64_t *random)
{
	unsigned skip = origin_set_draw(random,
					(unsigned)__builtin_popcount(mask));

	while (skip--)
		mask &= mask - 1;
	return mask & -mask;
}

/* Those that are up and on one side, as far as each has its share now; if that
 * leaves none, all of them. */
static uint32_t origin_set_candidates(const struct origin_set *s,
				      const struct origin_policy *policy,
				      const struct origin_ask *ask, bool backup,
				      uint64_t *random)
{
	uint32_t up = 0, sharing = 0;

	for (unsigned i = 0; i < s->end; i++) {
		const struct origin_member *m = &s->at[i];
		unsigned share;

		if (!origin_member_is_up(m) || m->backup != backup ||
		    ask->tried & UINT32_C(1) << i)
			continue;
		up |= UINT32_C(1) << i;
		share = origin_member_share(m, policy, ask->now_ms);
		if (share == ORIGIN_SHARE ||
		    origin_set_draw(random, ORIGIN_SHARE) < share)
			sharing |= UINT32_C(1) << i;
	}
	return sharing ? sharing : up;
}

/* All that are there, whatever is known of them. */
static uint32_t origin_set_any(const struct origin_set *s, uint32_t tried)
{
	uint32_t mask = 0;

	for (unsigned i = 0; i < s->end; i++) {
		if (s->at[i].there)
			mask |= UINT32_C(1) << i;
	}
	return mask & ~tried;
}

/* The one with the least load; of equals any. */
static int origin_set_least(const struct origin_set *s, uint32_t mask,
			    int64_t now_ms, uint64_t *random)
{
	const uint32_t best_time = origin_set_best_time(s);
	uint64_t least = UINT64_MAX;
	uint32_t equal = 0;

	if (__builtin_popcount(mask) > ORIGIN_EXACT) {
		uint32_t one = origin_set_draw_bit(mask, random);

		mask = one | origin_set_draw_bit(mask & ~one, random);
	}
	for (uint32_t left = mask; left; left &= left - 1) {
		unsigned i = (unsigned)__builtin_ctz(left);
		uint64_t load = origin_set_load(s, i, best_time, now_ms);

		if (load < least)
			equal = 0;
		if (load <= least) {
			least = load;
			equal |= left & -left;
		}
	}
	return __builtin_ctz(origin_set_draw_bit(equal, random));
}

/* One that was out, and is due; -1: none is. */
static int origin_set_due(struct origin_set *s, const struct origin_ask *ask)
{
	for (unsigned i = 0; i < s->end; i++) {
		struct origin_member *m = &s->at[i];

		if (!m->there || m->down || ask->tried & UINT32_C(1) << i)
			continue;
		(void)peer_health_tick(&m->health, ask->now_ms);
		if (!peer_health_is_half_open(&m->health) ||
		    (m->trial_ms &&
		     ask->now_ms - m->trial_ms < ORIGIN_TRIAL_MS))
			continue;
		m->trial_ms = ask->now_ms;
		return (int)i;
	}
	return -1;
}

static int origin_set_pick(struct origin_set *s,
			   const struct origin_policy *policy,
			   const struct origin_ask *ask)
{
	uint64_t random = ask->random;
	uint32_t mask;
	int due = ask->repeatable ? origin_set_due(s, ask) : -1;

	if (due >= 0)
		return due;
	mask = origin_set_candidates(s, policy, ask, false, &random);
	if (!mask)
		mask = origin_set_candidates(s, policy, ask, true, &random);
	if (!mask)
		mask = origin_set_any(s, ask->tried);
	return mask ? origin_set_least(s, mask, ask->now_ms, &random) : -1;
}

/* There is one request more. */
static void origin_set_earn(struct origin_set *s, int64_t now_ms)
{
	s->retries_spent -= ORIGIN_RETRY_PERCENT +
			    origin_set_since(s->earned_ms, now_ms) *
				    HUNDREDTHS / ORIGIN_RETRY_FREE_MS;
	if (s->retries_spent < 0)
		s->retries_spent = 0;
	s->earned_ms = now_ms;
}

int origin_set_choose(struct origin_set *s, const struct origin_policy *policy,
		      const struct origin_ask *ask)
{
	int i = origin_set_pick(s, policy, ask);

	if (i >= 0)
		s->at[i].outstanding++;
	if (!ask->tried)
		origin_set_earn(s, ask->now_ms);
	return i;
}

static bool origin_set_has_other(const struct origin_set *s, uint32_t tried,
				 bool up)
{
	for (unsigned i = 0; i < s->end; i++) {
		if (!(tried & UINT32_C(1) << i) &&
		    (up ? origin_member_is_up(&s->at[i]) : s->at[i].there))
			return true;
	}
	return false;
}

bool origin_set_take_retry(struct origin_set *s, uint32_t tried, bool up,
			   bool asked)
{
	if (!origin_set_has_other(s, tried, up))
		return false;
	if (!asked)
		return true;
	if (s->retries_spent + HUNDREDTHS > ORIGIN_RETRY_BURST * HUNDREDTHS)
		return false;
	s->retries_spent += HUNDREDTHS;
	return true;
}

/* What is told of it */

enum origin_state origin_set_state(const struct origin_set *s, unsigned i,
				   const struct origin_policy *policy,
				   int64_t now_ms)
{
	const struct origin_member *m = &s->at[i];

	if (!origin_member_is_up(m))
		return !m->down && peer_health_is_half_open(&m->health) ?
			       ORIGIN_STATE_TRIED :
			       ORIGIN_STATE_OUT;
	return origin_member_share(m, policy, now_ms) < ORIGIN_SHARE ?
		       ORIGIN_STATE_STARTING :
		       ORIGIN_STATE_UP;
}

const char *origin_state_text(enum origin_state state)
{
	switch (state) {
	case ORIGIN_STATE_UP:
		return "up";
	case ORIGIN_STATE_STARTING:
		return "starting";
	case ORIGIN_STATE_TRIED:
		return "tried";
	case ORIGIN_STATE_OUT:
		return "out";
	}
	return "unknown";
}

unsigned origin_set_up(const struct origin_set *s)
{
	unsigned n = 0;

	for (unsigned i = 0; i < s->end; i++)
		n += origin_member_is_up(&s->at[i]);
	return n;
}
