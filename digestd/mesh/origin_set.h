/*
 * Several origins that serve the same site: to which of them a request goes,
 * and whether it is repeated at another. A machine without I/O: outcomes, time
 * and randomness go in, the number of an origin comes out.
 *
 * Balancing: the least load of all, or of two drawn at random where there are
 * more than ORIGIN_EXACT. The load of an origin is what it is owed, and one
 * more, times how long it takes to answer. A time that was measured a while ago
 * counts less and less: else an origin that was slow once, when it was cold,
 * would never be asked again.
 *
 * Health: the breaker is that of peers (peer_health.h); after too many failures
 * an origin is out, and later one request, which can be repeated elsewhere,
 * tries it. Active checks take it out and bring it back, too. One that comes
 * back gets a share that grows from nothing within slow_start_ms. If all are
 * out, all are asked: an error of theirs is better than one of ours. What may
 * be answered with a stale copy needs none of them then, but for one request in
 * ORIGIN_TRIAL_MS, which finds out when one is back.
 *
 * Silence: an origin has said nothing since before a request that it left
 * unanswered; any answer, an error too, ends it. One that is alone need not be
 * out for that: of several another one is asked first. What nobody has tried
 * again for ORIGIN_KNOWN_MS is not known any more, of each by itself, but by
 * checks.
 *
 * What an origin answers to one request says little: a page may be broken, or
 * slow, at all of them. So an error or a delay is an outcome only when another
 * origin did better (ORIGIN_ERROR, ORIGIN_LATE).
 *
 * Retries cost the origins that are left a request each: they are a share of
 * the requests, and ORIGIN_RETRY_BURST at once. Some each second are free, for
 * where there are few requests, and one that is out is tried again and again.
 *
 * Costs: 6 KB; a choice looks at each origin once.
 *
 * Source: Mitzenmacher, "The Power of Two Choices in Randomized Load
 * Balancing", 2001; Dean and Barroso, "The Tail at Scale", CACM 56(2), 2013.
 */
#ifndef DIGESTD_MESH_ORIGIN_SET_H
#define DIGESTD_MESH_ORIGIN_SET_H

#include <stdbool.h>
#include <stdint.h>

#include "digestd/mesh/answer_times.h"
#include "digestd/mesh/peer_health.h"

enum {
	ORIGIN_SET_MAX = 32, /* origins of a site; bits of origin_ask.tried */
	ORIGIN_EXACT = 4,    /* so many are all compared */
	ORIGIN_TRIAL_MS = 1000, /* between two tries of one that was out */
	ORIGIN_KNOWN_MS = 30000, /* that none of them serves; see above */
	ORIGIN_NEAR_MS = 5,  /* within which all are as good */
	ORIGIN_FADE_MS = 200,	/* an old time counts half after each */
	ORIGIN_SHARE = 256,	/* all of what an origin may get */
	ORIGIN_TIME_UNIT = 16,	/* of a measured time: parts of 1 ms */
	/* checks in a row that take an origin out, or bring it back */
	ORIGIN_CHECKS_BAD = 2,
	ORIGIN_CHECKS_GOOD = 2,
	ORIGIN_RETRY_PERCENT = 20, /* of the requests may be repeated */
	ORIGIN_RETRY_BURST = 64,
	ORIGIN_RETRY_FREE_MS = 200, /* one in so long */
	/* An answer is late after so many times what all but one in a hundred
	 * of the last minute's took; before there are enough, after a time
	 * within which a person hardly minds to wait twice. */
	ORIGIN_LATE_TIMES = 3,
	ORIGIN_LATE_ENOUGH = 32,
	ORIGIN_LATE_UNKNOWN_MS = 400,
	ORIGIN_LATE_MIN_MS = 200,
	ORIGIN_LATE_MAX_MS = 30000,
};

/* What came of asking. */
enum origin_outcome {
	ORIGIN_ANSWERED,
	ORIGIN_ERROR,  /* 500, 502 to 504, where another had an answer */
	ORIGIN_LATE,   /* given up, and another was in time */
	ORIGIN_FAILED, /* no connection, no answer, or it broke off */
};

struct origin_policy {
	unsigned failures;   /* in a row take it out; see peer_health.h */
	int64_t out_min_ms;  /* for so long at first, */
	int64_t out_max_ms;  /* doubling up to this */
	int64_t slow_start_ms; /* 0: all at once */
};

enum origin_state {
	ORIGIN_STATE_UP,
	ORIGIN_STATE_STARTING, /* up, with a share that grows */
	ORIGIN_STATE_TRIED,    /* out, and the next request tries it */
	ORIGIN_STATE_OUT,
};

/* All fields are private. */
struct origin_member {
	bool there;  /* false: has left, and is not chosen */
	bool backup; /* asked if no other is up */
	struct peer_health health;
	bool down;   /* by its checks */
	bool silent; /* see above */
	unsigned good_checks, bad_checks; /* in a row */
	bool was_out; /* since up_ms it is back */
	int64_t up_ms, trial_ms;
	int64_t trouble_ms; /* the last failure, or trial of all */
	unsigned outstanding;
	uint32_t time; /* smoothed, in ORIGIN_TIME_UNIT; 0: none yet */
	int64_t measured_ms;
};

/* All zero: no origins. All fields are private. */
struct origin_set {
	struct origin_member at[ORIGIN_SET_MAX];
	unsigned end; /* no number is above it */
	struct answer_times times;
	int64_t latest_ms;
	int64_t retries_spent; /* in hundredths, not yet earned back */
	int64_t earned_ms;     /* up to here */
	int64_t trial_ms;      /* while none of them serves; 0: none yet */
};

/* What is known of all of them together. */
enum origin_condition {
	ORIGIN_SERVES, /* at least one of them, as far as is known */
	ORIGIN_FAILS,  /* all are out, and of one something is heard */
	ORIGIN_SILENT, /* nothing is heard of any */
};

struct origin_ask {
	uint32_t tried;	 /* bits of those that are not to be asked */
	bool repeatable; /* it can be sent to another if nothing comes of it */
	int64_t now_ms;
	uint64_t random;
};

/* Puts an origin of which nothing is known at a free number below
 * ORIGIN_SET_MAX: it is up. */
void origin_set_add(struct origin_set *s, unsigned i, bool backup);

/* It is chosen no more; what it owes is still counted. */
void origin_set_remove(struct origin_set *s, unsigned i);

/*
 * To which origin a request goes; it counts as outstanding there from now on.
 * -1: all have been tried. The clocks of callers may differ by some
 * milliseconds.
 */
int origin_set_choose(struct origin_set *s, const struct origin_policy *policy,
		      const struct origin_ask *ask);

/* A request to it has ended, however it did. */
void origin_set_end(struct origin_set *s, unsigned i);

/* The header of an answer has come after so long [ms], >= 0. */
void origin_set_timed(struct origin_set *s, unsigned i, int64_t ms,
		      int64_t now_ms);

/* An answer has not come within so long [ms]. */
void origin_set_late(struct origin_set *s, int64_t ms, int64_t now_ms);

/* What came of a request. Returns whether it is up or out, and was not
 * before. */
bool origin_set_outcome(struct origin_set *s, unsigned i,
			const struct origin_policy *policy,
			enum origin_outcome outcome, int64_t now_ms);

/* What came of a check of it; returns the same. */
bool origin_set_checked(struct origin_set *s, unsigned i,
			const struct origin_policy *policy, bool good,
			int64_t now_ms);

/* It was asked at asked_ms, in vain, as has been found out now, and has last
 * answered anything at answered_ms (0: never): it is silent if that was no
 * later. */
void origin_set_unanswered(struct origin_set *s, unsigned i, int64_t asked_ms,
			   int64_t answered_ms, int64_t now_ms);

/* Checks have been switched off: what they said counts no more. */
void origin_set_unchecked(struct origin_set *s, unsigned i);

/* When an answer is late [ms]: another origin is asked then. */
int64_t origin_set_late_ms(const struct origin_set *s);

/*
 * Whether a request may be repeated at one that has not been tried, and, if
 * `up`, is up. If the last one was `asked`, that is more work for all of them:
 * it counts, and there are limits. One that could not be reached had no work.
 */
bool origin_set_take_retry(struct origin_set *s, uint32_t tried, bool up,
			   bool asked);

/* How they do; one that has left does not count. */
enum origin_condition origin_set_condition(const struct origin_set *s,
					   int64_t now_ms);

/* While none serves: whether one may be asked all the same, though nobody waits
 * for the answer; once in ORIGIN_TRIAL_MS. */
bool origin_set_take_trial(struct origin_set *s, int64_t now_ms);

/* How an origin does; a word for that. */
enum origin_state origin_set_state(const struct origin_set *s, unsigned i,
				   const struct origin_policy *policy,
				   int64_t now_ms);
const char *origin_state_text(enum origin_state state);

/* Of those that are there, how many are up. */
unsigned origin_set_up(const struct origin_set *s);

#endif
