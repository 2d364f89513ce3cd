/*
 * The follower and the health of a peer.
 */
#include "digestd/mesh/peer.h"

enum { RTT_WEIGHT = 8 }; /* a new sample counts for one in so many */

static int64_t peer_max_ms(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

static int64_t peer_min_ms(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

/* first * 2^times, but at most max. */
static int64_t peer_doubled(int64_t first, unsigned times, int64_t max)
{
	int64_t ms = peer_min_ms(first, max);

	while (times-- && ms < max)
		ms = peer_min_ms(ms * 2, max);
	return ms;
}

/* A quarter less or more, from the follower's own numbers: peers that failed
 * together do not come back together. */
static int64_t peer_jittered(struct follower *f, int64_t ms)
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

static struct follower_action peer_succeed(struct follower *f, int64_t due_ms,
					   int64_t now_ms)
{
	f->confirmed_ms = now_ms;
	f->has_digest = true;
	f->failures = 0;
	f->unfits = 0;
	f->want_full = false;
	return (struct follower_action){ .due_ms = due_ms };
}

static struct follower_action
peer_back_off(struct follower *f, const struct follower_policy *policy,
	      int64_t now_ms)
{
	int64_t wait_ms = peer_doubled(policy->backoff_min_ms, f->failures++,
				       policy->backoff_max_ms);

	return (struct follower_action){
		.due_ms = now_ms + peer_jittered(f, wait_ms),
		.full = f->want_full,
	};
}

struct follower_action follower_end(struct follower *f,
				    const struct follower_policy *policy,
				    enum follower_event event, int64_t now_ms)
{
	int64_t soon_ms = peer_max_ms(f->started_ms + FOLLOWER_PACE_MS, now_ms);
	int64_t poll_at_ms = f->started_ms + policy->poll_ms;

	switch (event) {
	case FOLLOWER_NEW_FULL:
	case FOLLOWER_NEW_DELTA:
		return peer_succeed(f, soon_ms, now_ms);
	case FOLLOWER_SAME:
		return peer_succeed(f, peer_max_ms(poll_at_ms, now_ms), now_ms);
	case FOLLOWER_UNFIT:
		/* A whole digest mends it soon, unless that is the fault. */
		f->want_full = true;
		if (f->unfits++ == 0)
			return (struct follower_action){ soon_ms, true };
		return peer_back_off(f, policy, now_ms);
	case FOLLOWER_FAILED:
		return peer_back_off(f, policy, now_ms);
	}
	return peer_back_off(f, policy, now_ms);
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

static void peer_open_breaker(struct health *h,
			      const struct health_policy *policy,
			      int64_t now_ms)
{
	if (h->state == HEALTH_GOOD && now_ms - h->closed_ms >= h->open_ms)
		h->openings = 0;
	h->open_ms = peer_doubled(policy->open_min_ms, h->openings++,
				  policy->open_max_ms);
	h->state = HEALTH_BROKEN;
	h->opened_ms = now_ms;
	h->due_ms = now_ms + h->open_ms;
	h->failures = 0;
}

static void peer_close_breaker(struct health *h,
			       const struct health_policy *policy,
			       int64_t now_ms)
{
	double kept = (HEALTH_TROUBLE - 1.0) * policy->failures;

	h->state = HEALTH_GOOD;
	h->closed_ms = now_ms;
	if (h->trouble > kept)
		h->trouble = kept;
}

static bool peer_too_much(const struct health *h,
			  const struct health_policy *policy)
{
	return h->failures >= policy->failures ||
	       h->trouble >= (double)HEALTH_TROUBLE * policy->failures;
}

static void peer_fail_once(struct health *h, const struct health_policy *policy,
			   int64_t now_ms)
{
	h->failures++;
	if (h->state == HEALTH_GOOD)
		h->trouble++;
	if (h->state == HEALTH_TRIAL ||
	    (h->state == HEALTH_GOOD && peer_too_much(h, policy)))
		peer_open_breaker(h, policy, now_ms);
}

/* It answered, so it is there. */
static void peer_answer(struct health *h, const struct health_policy *policy,
			double rtt_ms, int64_t now_ms)
{
	h->failures = 0;
	h->trouble -= 1.0 / HEALTH_SHARE;
	if (h->trouble < 0)
		h->trouble = 0;
	if (h->state == HEALTH_TRIAL)
		peer_close_breaker(h, policy, now_ms);
	if (rtt_ms >= 0)
		h->rtt_ms += h->rtt_ms > 0 ? (rtt_ms - h->rtt_ms) / RTT_WEIGHT :
					     rtt_ms;
}

static void peer_believe(struct health *h)
{
	if (h->score <= 0)
		return;
	h->score -= HEALTH_HIT_WORTH;
	if (h->score < 0)
		h->score = 0; /* a hit gives no credit */
}

static void peer_doubt(struct health *h, const struct health_policy *policy,
		       int64_t now_ms)
{
	if (h->state == HEALTH_QUARANTINE)
		return;
	h->score++;
	if (h->score < HEALTH_PATIENCE)
		return;
	h->state = HEALTH_QUARANTINE;
	h->due_ms = now_ms + policy->quarantine_ms;
}

/* A second chance, with an empty record. */
static void peer_release(struct health *h)
{
	h->state = HEALTH_GOOD;
	h->score = 0;
	h->failures = 0;
}

bool health_outcome(struct health *h, const struct health_policy *policy,
		    enum peer_outcome event, double rtt_ms, int64_t now_ms)
{
	enum health_state before = h->state;

	switch (event) {
	case OUTCOME_HIT:
		peer_believe(h);
		peer_answer(h, policy, rtt_ms, now_ms);
		break;
	case OUTCOME_STALE: /* the digest told the truth */
	case OUTCOME_VARIANT:
		peer_answer(h, policy, rtt_ms, now_ms);
		break;
	case OUTCOME_FALSE_HIT:
		peer_answer(h, policy, rtt_ms, now_ms);
		peer_doubt(h, policy, now_ms);
		break;
	case OUTCOME_FAILED:
		peer_fail_once(h, policy, now_ms);
		break;
	}
	return h->state != before;
}

void health_lookups(struct health *h, double lookups, double fp)
{
	if (h->state == HEALTH_GOOD || h->state == HEALTH_TRIAL)
		h->score -= HEALTH_ALLOWANCE * lookups * fp;
}

bool health_restarted(struct health *h, const struct health_policy *policy,
		      int64_t now_ms)
{
	if (h->state == HEALTH_BROKEN)
		h->due_ms = peer_min_ms(h->due_ms,
					h->opened_ms + policy->open_min_ms);
	if (h->state != HEALTH_QUARANTINE || now_ms < h->strict_ms)
		return false;
	h->strict_ms = now_ms + policy->quarantine_ms;
	peer_release(h);
	return true;
}

/*
 * Halves the credit at most, however late the tick: after a pause, lookups may
 * just have been told in one go, and their outcomes be next.
 */
static void peer_fade(struct health *h, int64_t now_ms)
{
	double passed_ms =
		(double)peer_min_ms(now_ms - h->faded_ms, HEALTH_FADE_MS);

	h->faded_ms = now_ms;
	if (h->score < 0 && passed_ms > 0)
		h->score /= 1 + passed_ms / HEALTH_FADE_MS;
}

bool health_tick(struct health *h, int64_t now_ms)
{
	peer_fade(h, now_ms);
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
		peer_release(h);
		return true;
	}
	return false;
}

bool health_usable(const struct health *h)
{
	return h->state == HEALTH_GOOD || h->state == HEALTH_TRIAL;
}

bool health_on_trial(const struct health *h)
{
	return h->state == HEALTH_TRIAL;
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
