/*
 * Distances: what is measured, and the rules.
 */
#include "digestd/mesh/distance.h"

enum {
	RECOMPUTED = 8,    /* once one of so many times is newer */
	ORIGIN_ANSWERS = 3, /* a peer may take as long as these */
};

static int64_t distance_longer_ms(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

static int64_t distance_shorter_ms(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static void distance_add(struct distance *d, int64_t ms, int64_t now_ms)
{
	answer_times_add(&d->times, ms, now_ms);
	d->measured_ms = now_ms;
	d->uncomputed++;
}

static void distance_compute(struct distance *d)
{
	d->uncomputed = 0;
	d->median_ms = answer_times_quantile(&d->times, 500);
	d->slow_ms = answer_times_quantile(&d->times, 1000 - DISTANCE_SLOW);
	d->hedge_ms = answer_times_quantile(&d->times, 1000 - DISTANCE_HEDGE);
}

void distance_answered(struct distance *d, int64_t ms, int64_t now_ms)
{
	if (d->answers < DISTANCE_ENOUGH)
		d->answers++;
	distance_add(d, ms, now_ms);
	if (d->uncomputed * RECOMPUTED >= answer_times_count(&d->times))
		distance_compute(d);
}

/* The next one is to have more time. */
void distance_late(struct distance *d, int64_t ms, int64_t now_ms)
{
	distance_add(d, ms, now_ms);
	distance_compute(d);
}

void distance_outcome(struct distance *d, enum peer_outcome outcome)
{
	switch (outcome) {
	case OUTCOME_FAILED:
	case OUTCOME_DOUBT: /* of an answer that was counted as a hit */
	case OUTCOME_WRONG:
		return;
	case OUTCOME_HIT:
		d->hits++;
		break;
	case OUTCOME_FALSE_HIT:
	case OUTCOME_STALE:
	case OUTCOME_VARIANT:
		break;
	}
	if (++d->asks <= DISTANCE_ASKS_MAX)
		return;
	d->asks /= 2;
	d->hits /= 2;
}

void distance_renewal(struct distance *d, bool renewed)
{
	d->renewed += renewed;
	if (++d->renewals <= DISTANCE_ASKS_MAX)
		return;
	d->renewals /= 2;
	d->renewed /= 2;
}

int64_t distance_median_ms(const struct distance *d)
{
	/* only times that it did not answer within say nothing of those in
	 * which it does */
	return d && d->answers ? distance_longer_ms(d->median_ms, 1) : 0;
}

bool distance_is_far(const struct distance *d)
{
	return distance_median_ms(d) > DISTANCE_NEAR_MS;
}

int64_t distance_connect_ms(const struct distance *d)
{
	return distance_longer_ms(DISTANCE_CONNECT_MS,
				  DISTANCE_CONNECT_TRIPS *
					  distance_median_ms(d));
}

/* Whether both are known well enough to be compared. */
static bool distance_is_comparable(const struct distance *peer,
				   const struct distance *origin)
{
	return distance_is_far(peer) && origin &&
	       peer->answers >= DISTANCE_ENOUGH &&
	       origin->answers >= DISTANCE_ENOUGH;
}

bool distance_pays(const struct distance *peer, const struct distance *origin)
{
	if (!distance_is_comparable(peer, origin))
		return true;
	return (peer->hits + DISTANCE_PRIOR_HITS) * distance_median_ms(origin) >
	       (peer->asks + DISTANCE_PRIOR_ASKS) * distance_median_ms(peer);
}

bool distance_renewal_pays(const struct distance *peer,
			   const struct distance *origin)
{
	if (!distance_is_comparable(peer, origin))
		return true;
	return (peer->renewed + DISTANCE_PRIOR_RENEWED) *
		       distance_median_ms(origin) >
	       (peer->renewals + DISTANCE_PRIOR_RENEWALS) *
		       distance_median_ms(peer);
}

bool distance_pass_over(struct distance *peer, int64_t now_ms)
{
	if (++peer->passed_over < DISTANCE_PASSED_OVER &&
	    now_ms - peer->measured_ms < DISTANCE_AGED_MS)
		return false;
	peer->passed_over = 0;
	peer->measured_ms = now_ms; /* it is being done */
	return true;
}

static int64_t distance_most_ms(const struct distance *origin)
{
	int64_t median_ms = distance_median_ms(origin);

	if (!median_ms)
		return DISTANCE_WAIT_MAX_MS;
	return distance_longer_ms(ORIGIN_ANSWERS * median_ms, origin->slow_ms);
}

/* Its own answers count for more than what else has found the way to it. */
static int64_t distance_trip_ms(const struct distance *peer, int64_t trip_ms)
{
	int64_t median_ms = distance_median_ms(peer);

	return median_ms ? median_ms : trip_ms;
}

/* When a second try is here, of a peer of which it has to be expected; else 0.
 */
static int64_t distance_again_ms(const struct distance *peer, int64_t trip_ms)
{
	if (trip_ms <= DISTANCE_NEAR_MS ||
	    (peer && answer_times_count(&peer->times) >= DISTANCE_KNOWN))
		return 0;
	return DISTANCE_AGAIN_MS + DISTANCE_AGAIN_TRIPS * trip_ms;
}

int64_t distance_timeout_ms(const struct distance *peer, int64_t trip_ms,
			    const struct distance *origin)
{
	const int64_t here_ms = distance_trip_ms(peer, trip_ms);
	const int64_t slow_ms =
		distance_longer_ms(peer ? peer->slow_ms : 0,
				   distance_again_ms(peer, here_ms));
	int64_t ms = distance_shorter_ms(slow_ms + slow_ms / 4,
					 distance_most_ms(origin)) + here_ms;

	if (here_ms && here_ms <= DISTANCE_NEAR_MS)
		return DISTANCE_WAIT_MIN_MS;
	return distance_longer_ms(ms, DISTANCE_WAIT_MIN_MS);
}

int64_t distance_hedge_ms(const struct distance *peer, int64_t trip_ms,
			  const struct distance *origin)
{
	const int64_t again_ms = distance_shorter_ms(
		distance_again_ms(peer, distance_trip_ms(peer, trip_ms)),
		distance_most_ms(origin));
	int64_t ms = DISTANCE_HEDGE_UNKNOWN_MS;

	if (distance_median_ms(peer))
		ms = distance_longer_ms(peer->hedge_ms, DISTANCE_HEDGE_MIN_MS);
	return distance_longer_ms(ms, again_ms);
}

void distance_owes(struct distance *peer)
{
	peer->owed++;
}

/* What is known of it may have been forgotten meanwhile. */
void distance_paid(struct distance *peer)
{
	if (peer->owed)
		peer->owed--;
}

bool distance_stands_still(const struct distance *peer)
{
	return peer && peer->owed >= DISTANCE_OWED;
}

int64_t distance_budget_ms(int64_t timeout_ms)
{
	return timeout_ms + timeout_ms * 2 / 5;
}

int64_t distance_pace_ms(const struct distance *peer, int64_t trip_ms,
			 int64_t timeout_ms)
{
	return distance_budget_ms(timeout_ms) +
	       DISTANCE_BODY_TRIPS * distance_trip_ms(peer, trip_ms);
}
