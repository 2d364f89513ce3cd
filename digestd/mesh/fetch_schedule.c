/*
 * When to fetch a peer's digest next.
 */
#include "digestd/mesh/fetch_schedule.h"

#include "digestd/mesh/backoff.h"

static int64_t fetch_later_ms(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

/* A quarter less or more, from the schedule's own numbers: peers that failed
 * together do not come back together. */
static int64_t fetch_jittered(struct fetch_schedule *f, int64_t ms)
{
	f->seed = f->seed * UINT64_C(6364136223846793005) + 1442695040888963407;
	return ms - ms / 4 +
	       (int64_t)((f->seed >> 33) % (uint64_t)(ms / 2 + 1));
}

struct next_fetch fetch_schedule_init(struct fetch_schedule *f, uint64_t seed,
				      int64_t now_ms)
{
	*f = (struct fetch_schedule){.seed = seed};
	return (struct next_fetch){.due_ms = now_ms};
}

int64_t fetch_schedule_wait_s(int64_t wait_s, size_t npeers,
			      int64_t max_age_ms)
{
	const int64_t most_s = max_age_ms / 2000;
	const int64_t long_s =
		wait_s * (int64_t)(1 + npeers / FETCH_PEERS_OF_A_WAIT);

	if (wait_s >= most_s)
		return wait_s;
	return long_s < most_s ? long_s : most_s;
}

void fetch_schedule_begin(struct fetch_schedule *f, int64_t now_ms)
{
	f->started_ms = now_ms;
}

void fetch_schedule_stays(struct fetch_schedule *f, int64_t now_ms)
{
	f->confirmed_ms = now_ms;
}

static void fetch_succeed(struct fetch_schedule *f, int64_t now_ms)
{
	f->confirmed_ms = now_ms;
	f->has_digest = true;
	f->failures = 0;
	f->unfit = false;
	f->want_full = false;
}

void fetch_schedule_confirm(struct fetch_schedule *f, int64_t now_ms)
{
	fetch_succeed(f, now_ms);
	f->misfits = 0;
}

static struct next_fetch
fetch_back_off(struct fetch_schedule *f,
	       const struct fetch_schedule_policy *policy, int64_t now_ms)
{
	const unsigned times = f->failures + (f->misfits ? f->misfits - 1 : 0);
	int64_t wait_ms = backoff_ms(policy->backoff_min_ms, times,
				     policy->backoff_max_ms);

	return (struct next_fetch){
		.due_ms = now_ms + fetch_jittered(f, wait_ms),
		.full = f->want_full,
	};
}

/* When a peer whose budget is spent may cost something again. */
static int64_t
fetch_affordable_ms(const struct fetch_schedule *f,
		    const struct fetch_schedule_policy *policy)
{
	return f->paid_ms - (int64_t)policy->budget * policy->price_ms;
}

static void fetch_pay(struct fetch_schedule *f,
		      const struct fetch_schedule_policy *policy,
		      int64_t now_ms)
{
	f->paid_ms = fetch_later_ms(f->paid_ms, now_ms) + policy->price_ms;
}

/* Whether a fetch that ends so is paid for: not one that brings news or has
 * none to bring, nor one from which on the peer is backed off from. */
static bool fetch_costs(const struct fetch_schedule *f, enum fetched event)
{
	switch (event) {
	case FETCHED_FULL:
	case FETCHED_STREAM:
		return true;
	case FETCHED_UNFIT:
		return !f->misfits;
	case FETCHED_FAILED:
		return !f->failures;
	case FETCHED_DELTA:
	case FETCHED_SAME:
		break;
	}
	return false;
}

/* Keeps the next fetch within the peer's budget. */
static struct next_fetch
fetch_afford(struct fetch_schedule *f,
	     const struct fetch_schedule_policy *policy, struct next_fetch next,
	     int64_t now_ms)
{
	const int64_t least_ms = fetch_affordable_ms(f, policy);
	const int64_t half_ms = policy->budget * policy->price_ms / 2;

	next.put_off = next.due_ms < least_ms;
	next.overspent = next.put_off && !f->overspent;
	next.due_ms = fetch_later_ms(next.due_ms, least_ms);
	f->overspent = next.put_off ||
		       (f->overspent && f->paid_ms - now_ms > half_ms);
	return next;
}

static struct next_fetch fetch_next(struct fetch_schedule *f,
				    const struct fetch_schedule_policy *policy,
				    enum fetched event, int64_t now_ms)
{
	int64_t soon_ms = fetch_later_ms(f->started_ms + FETCH_PACE_MS, now_ms);
	int64_t poll_at_ms =
		fetch_later_ms(f->started_ms + policy->poll_ms, now_ms);
	int64_t news_ms = policy->polled ? poll_at_ms : soon_ms;
	struct next_fetch next;

	switch (event) {
	case FETCHED_FULL:
		/* It always fits: what is built on it has to fit, too, before
		 * what did not is forgotten. */
		fetch_succeed(f, now_ms);
		return (struct next_fetch){ .due_ms = news_ms };
	case FETCHED_DELTA:
		fetch_schedule_confirm(f, now_ms);
		return (struct next_fetch){ .due_ms = news_ms };
	case FETCHED_SAME:
		fetch_schedule_confirm(f, now_ms);
		return (struct next_fetch){ .due_ms = poll_at_ms };
	case FETCHED_STREAM:
		fetch_schedule_confirm(f, now_ms);
		return (struct next_fetch){ .due_ms = soon_ms };
	case FETCHED_UNFIT:
		/* A whole digest mends it soon, unless that is the fault. */
		f->want_full = f->unfit = true;
		next = f->misfits ? fetch_back_off(f, policy, now_ms) :
				    (struct next_fetch){ .due_ms = soon_ms,
							 .full = true };
		f->misfits++;
		return next;
	case FETCHED_FAILED:
		break;
	}
	next = fetch_back_off(f, policy, now_ms);
	f->failures++;
	return next;
}

struct next_fetch fetch_schedule_end(struct fetch_schedule *f,
				     const struct fetch_schedule_policy *policy,
				     enum fetched event, int64_t now_ms)
{
	const bool costs = fetch_costs(f, event);
	const struct next_fetch next = fetch_next(f, policy, event, now_ms);

	if (costs)
		fetch_pay(f, policy, now_ms);
	return fetch_afford(f, policy, next, now_ms);
}

bool fetch_schedule_usable(const struct fetch_schedule *f,
			   const struct fetch_schedule_policy *policy,
			   int64_t now_ms)
{
	return f->has_digest && now_ms - f->confirmed_ms <= policy->max_age_ms;
}

int64_t fetch_schedule_wake(struct fetch_schedule *f,
			    const struct fetch_schedule_policy *policy,
			    int64_t due_ms, int64_t now_ms)
{
	int64_t soon_ms = fetch_later_ms(f->started_ms + FETCH_PACE_MS, now_ms);

	soon_ms = fetch_later_ms(soon_ms, fetch_affordable_ms(f, policy));
	if ((!f->failures && !f->unfit) || soon_ms >= due_ms)
		return due_ms;
	fetch_pay(f, policy, now_ms);
	return soon_ms;
}

int64_t fetch_schedule_confirmed_ms(const struct fetch_schedule *f)
{
	return f->confirmed_ms;
}
