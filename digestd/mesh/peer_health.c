/*
 * The health of a peer.
 */
#include "digestd/mesh/peer_health.h"

#include "digestd/mesh/backoff.h"

enum { RTT_WEIGHT = 8 }; /* a new sample counts for one in so many */

static int64_t peer_sooner_ms(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

void peer_health_init(struct peer_health *h)
{
	*h = (struct peer_health){.state = HEALTH_GOOD};
}

static void peer_open_breaker(struct peer_health *h,
			      const struct peer_health_policy *policy,
			      int64_t now_ms)
{
	if (h->state == HEALTH_GOOD && now_ms - h->closed_ms >= h->open_ms)
		h->openings = 0;
	h->open_ms = backoff_ms(policy->open_min_ms, h->openings++,
				policy->open_max_ms);
	h->state = HEALTH_BROKEN;
	h->opened_ms = now_ms;
	h->due_ms = now_ms + h->open_ms;
	h->failures = 0;
}

static void peer_close_breaker(struct peer_health *h,
			       const struct peer_health_policy *policy,
			       int64_t now_ms)
{
	double kept = (HEALTH_TROUBLE - 1.0) * policy->failures;

	h->state = HEALTH_GOOD;
	h->closed_ms = now_ms;
	if (h->trouble > kept)
		h->trouble = kept;
}

static bool peer_too_much(const struct peer_health *h,
			  const struct peer_health_policy *policy)
{
	return h->failures >= policy->failures ||
	       h->trouble >= (double)HEALTH_TROUBLE * policy->failures;
}

static void peer_fail_once(struct peer_health *h,
			   const struct peer_health_policy *policy,
			   int64_t now_ms)
{
	h->failures++;
	if (h->state == HEALTH_GOOD)
		h->trouble++;
	if (h->state == HEALTH_HALF_OPEN ||
	    (h->state == HEALTH_GOOD && peer_too_much(h, policy)))
		peer_open_breaker(h, policy, now_ms);
}

/* It answered, so it is there. */
static void peer_answer(struct peer_health *h,
			const struct peer_health_policy *policy, double rtt_ms,
			int64_t now_ms)
{
	h->failures = 0;
	h->trouble -= 1.0 / HEALTH_SHARE;
	if (h->trouble < 0)
		h->trouble = 0;
	if (h->state == HEALTH_HALF_OPEN)
		peer_close_breaker(h, policy, now_ms);
	if (rtt_ms >= 0)
		h->rtt_ms += h->rtt_ms > 0 ? (rtt_ms - h->rtt_ms) / RTT_WEIGHT
					   : rtt_ms;
}

static void peer_believe(struct peer_health *h)
{
	if (h->score <= 0)
		return;
	h->score -= HEALTH_HIT_WORTH;
	if (h->score < 0)
		h->score = 0; /* a hit gives no credit */
}

static void peer_convict(struct peer_health *h,
			 const struct peer_health_policy *policy,
			 int64_t now_ms)
{
	h->state = HEALTH_QUARANTINE;
	h->due_ms = now_ms + policy->quarantine_ms;
}

/* What it has sent was wrong: so much. */
static void peer_catch(struct peer_health *h,
		       const struct peer_health_policy *policy, unsigned wrong,
		       int64_t now_ms)
{
	h->wrong += wrong;
	if (h->wrong < HEALTH_WRONG)
		return;
	h->wrong = 0;
	h->lies = true;
	h->strict_ms = now_ms + policy->quarantine_ms; /* no excuse */
	peer_convict(h, policy, now_ms);
}

static void peer_doubt(struct peer_health *h,
		       const struct peer_health_policy *policy, int64_t now_ms)
{
	if (h->state == HEALTH_QUARANTINE)
		return;
	h->score++;
	if (h->score < HEALTH_PATIENCE)
		return;
	peer_convict(h, policy, now_ms);
}

/* A second chance, with an empty record. */
static void peer_release(struct peer_health *h)
{
	h->state = HEALTH_GOOD;
	h->score = 0;
	h->failures = 0;
	h->wrong = 0;
	h->lies = false;
	h->held = false;
}

/* Halves unused credit for each HEALTH_FADE_MS; divided, not raised to a power:
 * what decides has to be the same on all processors. */
static void peer_fade(struct peer_health *h, int64_t now_ms)
{
	enum { NOTHING_LEFT = 64 }; /* halvings */
	int64_t passed_ms = now_ms - h->faded_ms;

	h->faded_ms = now_ms;
	if (h->score >= 0 || passed_ms <= 0)
		return;
	if (passed_ms >= (int64_t)NOTHING_LEFT * HEALTH_FADE_MS) {
		h->score = 0;
		return;
	}
	for (; passed_ms >= HEALTH_FADE_MS; passed_ms -= HEALTH_FADE_MS)
		h->score /= 2;
	h->score /= 1 + (double)passed_ms / HEALTH_FADE_MS;
}

bool peer_health_outcome(struct peer_health *h,
			 const struct peer_health_policy *policy,
			 enum peer_outcome event, double rtt_ms, int64_t now_ms)
{
	enum peer_health_state before = h->state;

	peer_fade(h, now_ms);
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
	case OUTCOME_DOUBT:
		peer_catch(h, policy, 1, now_ms);
		break;
	case OUTCOME_WRONG:
		peer_catch(h, policy, HEALTH_WRONG, now_ms);
		break;
	}
	return h->state != before;
}

void peer_health_lookups(struct peer_health *h, double lookups, double fp,
			 int64_t now_ms)
{
	peer_fade(h, now_ms);
	if (peer_health_usable(h))
		h->score -= HEALTH_ALLOWANCE * lookups * fp;
}

bool peer_health_restarted(struct peer_health *h,
			   const struct peer_health_policy *policy,
			   int64_t now_ms)
{
	if (h->state == HEALTH_BROKEN)
		h->due_ms = peer_sooner_ms(h->due_ms,
					   h->opened_ms + policy->open_min_ms);
	if (h->state != HEALTH_QUARANTINE || h->held ||
	    now_ms < h->strict_ms)
		return false;
	h->strict_ms = now_ms + policy->quarantine_ms;
	peer_release(h);
	return true;
}

bool peer_health_hold(struct peer_health *h)
{
	bool was = h->held;

	h->state = HEALTH_QUARANTINE;
	h->held = true;
	return !was;
}

bool peer_health_release(struct peer_health *h)
{
	if (h->state != HEALTH_QUARANTINE)
		return false;
	h->strict_ms = 0;
	peer_release(h);
	return true;
}

int64_t peer_health_due_ms(const struct peer_health *h)
{
	return peer_health_usable(h) || h->held ? INT64_MAX : h->due_ms;
}

bool peer_health_tick(struct peer_health *h, int64_t now_ms)
{
	if (now_ms < h->due_ms || h->held)
		return false;
	switch (h->state) {
	case HEALTH_GOOD:
	case HEALTH_HALF_OPEN:
		return false;
	case HEALTH_BROKEN:
		h->state = HEALTH_HALF_OPEN;
		return true;
	case HEALTH_QUARANTINE:
		peer_release(h);
		return true;
	}
	return false;
}

bool peer_health_usable(const struct peer_health *h)
{
	return h->state == HEALTH_GOOD || h->state == HEALTH_HALF_OPEN;
}

bool peer_health_is_half_open(const struct peer_health *h)
{
	return h->state == HEALTH_HALF_OPEN;
}

bool peer_health_lies(const struct peer_health *h)
{
	return h->lies;
}

bool peer_health_is_held(const struct peer_health *h)
{
	return h->held;
}

double peer_health_rtt_ms(const struct peer_health *h)
{
	return h->rtt_ms;
}

const char *peer_health_state_text(enum peer_health_state state)
{
	switch (state) {
	case HEALTH_GOOD:
		return "good";
	case HEALTH_BROKEN:
		return "broken";
	case HEALTH_HALF_OPEN:
		return "half open";
	case HEALTH_QUARANTINE:
		return "quarantine";
	}
	return "unknown";
}
