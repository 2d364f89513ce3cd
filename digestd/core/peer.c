/*
 * The follower and the health of a peer.
 *
 * Quarantine is a test of the peer's word. Its digest claims a rate of false
 * positives f; among L lookups L * f false hits are expected by chance, with a
 * standard deviation of sqrt(L * f). False hits also come from objects that
 * the peer has evicted since, but then there are hits too. So a peer is in
 * quarantine when the false hits beyond what chance explains (four standard
 * deviations: one honest peer in 30,000 windows) outnumber its hits by
 * HEALTH_PATIENCE. One that never has what it claims is caught after
 * HEALTH_PATIENCE and a few requests; one that has what it claims half of the
 * time, never.
 */
#include "digestd/core/peer.h"

#include <math.h>

enum {
	HEALTH_PATIENCE = 12,
	RTT_WEIGHT = 8, /* a new sample counts for one in so many */
};

static int64_t min_ms(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

/* first * 2^times, but at most max. */
static int64_t doubled(int64_t first, unsigned times, int64_t max)
{
	int64_t ms = min_ms(first, max);

	while (times-- && ms < max)
		ms = min_ms(ms * 2, max);
	return ms;
}

/* A quarter less or more, from the follower's own numbers: peers that failed
 * together do not come back together. */
static int64_t jittered(struct follower *f, int64_t ms)
{
	f->seed = f->seed * UINT64_C(6364136223846793005) + 1442695040888963407;
	return ms - ms / 4 +
	       (int64_t)((f->seed >> 33) % (uint64_t)(ms / 2 + 1));
}

struct follower_action follower_init(struct follower *f, uint64_t seed,
				     int64_t now_ms)
{
	*f = (struct follower){ .seed = seed };
	return (struct follower_action){ .due_ms = now_ms };
}

void follower_begin(struct follower *f, int64_t now_ms)
{
	f->started_ms = now_ms;
}

static struct follower_action succeed(struct follower *f, int64_t due_ms,
				      int64_t now_ms)
{
	f->confirmed_ms = now_ms;
	f->has_digest = true;
	f->failures = 0;
	f->unfits = 0;
	f->want_full = false;
	return (struct follower_action){ .due_ms = due_ms };
}

static struct follower_action back_off(struct follower *f,
				       const struct follower_policy *policy,
				       int64_t now_ms)
{
	int64_t wait_ms = doubled(policy->backoff_min_ms, f->failures++,
				  policy->backoff_max_ms);

	return (struct follower_action){
		.due_ms = now_ms + jittered(f, wait_ms),
		.full = f->want_full,
	};
}

struct follower_action follower_end(struct follower *f,
				    const struct follower_policy *policy,
				    enum follower_event event, int64_t now_ms)
{
	int64_t poll_at_ms = f->started_ms + policy->poll_ms;

	switch (event) {
	case FOLLOWER_NEW_FULL:
	case FOLLOWER_NEW_DELTA:
		return succeed(f, now_ms, now_ms);
	case FOLLOWER_SAME:
		return succeed(f, poll_at_ms > now_ms ? poll_at_ms : now_ms,
			       now_ms);
	case FOLLOWER_UNFIT:
		/* A whole digest mends it at once, unless that is the fault. */
		f->want_full = true;
		if (f->unfits++ == 0)
			return (struct follower_action){ now_ms, true };
		return back_off(f, policy, now_ms);
	case FOLLOWER_FAILED:
		return back_off(f, policy, now_ms);
	}
	return back_off(f, policy, now_ms);
}

bool follower_usable(const struct follower *f,
		     const struct follower_policy *policy, int64_t now_ms)
{
	return f->has_digest && now_ms - f->confirmed_ms <= policy->max_age_ms;
}

int64_t follower_confirmed_ms(const struct follower *f)
{
	return f->confirmed_ms;
}

void health_init(struct health *h)
{
	*h = (struct health){ .state = HEALTH_GOOD };
}

static void open_breaker(struct health *h, const struct health_policy *policy,
			 int64_t now_ms)
{
	h->state = HEALTH_BROKEN;
	h->due_ms = now_ms + doubled(policy->open_min_ms, h->openings++,
				     policy->open_max_ms);
	h->failures = 0;
}

static void fail_once(struct health *h, const struct health_policy *policy,
		      int64_t now_ms)
{
	h->failures++;
	if (h->state == HEALTH_TRIAL ||
	    (h->state == HEALTH_GOOD && h->failures >= policy->failures))
		open_breaker(h, policy, now_ms);
}

/* It answered, so it is there. */
static void answer(struct health *h, double rtt_ms)
{
	h->failures = 0;
	if (h->state == HEALTH_TRIAL)
		h->state = HEALTH_GOOD;
	if (h->state == HEALTH_GOOD)
		h->openings = 0;
	if (rtt_ms >= 0)
		h->rtt_ms += h->rtt_ms > 0 ? (rtt_ms - h->rtt_ms) / RTT_WEIGHT :
					     rtt_ms;
}

static void decay(struct health *h)
{
	if (h->hits + h->false_hits + h->expected < HEALTH_WINDOW)
		return;
	h->hits /= 2;
	h->false_hits /= 2;
	h->expected /= 2;
}

static void judge(struct health *h, const struct health_policy *policy,
		  int64_t now_ms)
{
	double excess = h->false_hits - h->expected - 4 * sqrt(h->expected);

	if (h->state == HEALTH_QUARANTINE ||
	    excess <= h->hits + HEALTH_PATIENCE)
		return;
	h->state = HEALTH_QUARANTINE;
	h->due_ms = now_ms + policy->quarantine_ms;
}

bool health_outcome(struct health *h, const struct health_policy *policy,
		    enum health_event event, double rtt_ms, int64_t now_ms)
{
	enum health_state before = h->state;

	switch (event) {
	case HEALTH_HIT:
		h->hits++;
		answer(h, rtt_ms);
		break;
	case HEALTH_STALE: /* the digest told the truth */
		answer(h, rtt_ms);
		break;
	case HEALTH_FALSE_HIT:
		h->false_hits++;
		answer(h, rtt_ms);
		judge(h, policy, now_ms);
		break;
	case HEALTH_FAILED:
		fail_once(h, policy, now_ms);
		break;
	}
	decay(h);
	return h->state != before;
}

void health_lookups(struct health *h, double lookups, double fp)
{
	if (h->state == HEALTH_GOOD || h->state == HEALTH_TRIAL)
		h->expected += lookups * fp;
	decay(h);
}

bool health_tick(struct health *h, int64_t now_ms)
{
	if (now_ms < h->due_ms)
		return false;
	switch (h->state) {
	case HEALTH_GOOD:
	case HEALTH_TRIAL:
		return false;
	case HEALTH_BROKEN:
		h->state = HEALTH_TRIAL;
		return true;
	case HEALTH_QUARANTINE:
		/* A second chance, with an empty record. */
		h->hits = h->false_hits = h->expected = 0;
		h->state = HEALTH_GOOD;
		return true;
	}
	return false;
}

bool health_usable(const struct health *h)
{
	return h->state == HEALTH_GOOD || h->state == HEALTH_TRIAL;
}

double health_rtt_ms(const struct health *h)
{
	return h->rtt_ms;
}

const char *health_state_text(enum health_state state)
{
	switch (state) {
	case HEALTH_GOOD:
		return "good";
	case HEALTH_BROKEN:
		return "broken";
	case HEALTH_TRIAL:
		return "trial";
	case HEALTH_QUARANTINE:
		return "quarantine";
	}
	return "unknown";
}
