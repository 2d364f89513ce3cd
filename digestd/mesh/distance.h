/*
 * How far a peer or an origin is, by what it has answered, and what follows:
 * whether a peer is asked at all, and for how long it is waited for.
 *
 * A distance is the time from a request on a connection that is open to the
 * answer's header: its median of the last minute, and what all but
 * DISTANCE_SLOW in a thousand took. What was known last holds until there is
 * something newer. Of a peer that has not answered yet, the round trip to it
 * counts (trip_ms below), which connecting to it for its digest has taken; 0
 * where that is not known either.
 *
 * A packet that is lost comes again after DISTANCE_AGAIN_MS. Where one in a
 * hundred is, a peer that is asked now and then has lost none yet, and its
 * times look as if it never would. So a far one that has answered fewer than
 * DISTANCE_KNOWN times in the last minute is given the time for a second try.
 *
 * A peer is asked where that is expected to save time. It has a usable answer
 * with probability p, which takes R in place of the origin's O; otherwise R was
 * spent for nothing. So p (O - R) > (1 - p) R, which is p O > R. What is within
 * DISTANCE_NEAR_MS is asked whatever the origin takes: it costs hardly
 * anything, and spares the origin. So is what has not answered DISTANCE_ENOUGH
 * times yet, or is compared with such an origin.
 *
 * Costs: 1.5 KB for each peer and origin; quantiles are computed anew when an
 * eighth of the times is newer, or one was too late.
 */
#ifndef DIGESTD_MESH_DISTANCE_H
#define DIGESTD_MESH_DISTANCE_H

#include <stdbool.h>
#include <stdint.h>

#include "digestd/mesh/answer_times.h"
#include "digestd/mesh/peer_outcome.h"

enum {
	DISTANCE_NEAR_MS = 5,
	/* answers before a peer can be too far: the first ones are slow */
	DISTANCE_ENOUGH = 8,
	/* one in so many requests for which a peer is too far measures it, */
	DISTANCE_PASSED_OVER = 256,
	/* and one after so long, as it may have been busy only */
	DISTANCE_AGED_MS = TIMES_SLICES * TIMES_SLICE_MS,
	/* p before there are outcomes: 9 of 10 asked have it */
	DISTANCE_PRIOR_HITS = 9,
	DISTANCE_PRIOR_ASKS = 10,
	/* the same of questions about what has gone stale: 1 of 2 */
	DISTANCE_PRIOR_RENEWED = 1,
	DISTANCE_PRIOR_RENEWALS = 2,
	/* outcomes beyond so many count half, again and again */
	DISTANCE_ASKS_MAX = 256,
	/* in a thousand: those that are given up may be so many. Where 1 % is
	 * lost either way TCP repeats 2 % of answers; of 500 there are hardly
	 * ever fewer than 1, of 100 often */
	DISTANCE_SLOW = 2,
	/* what a peer has at least, as it may be busy for a moment; and a near
	 * one in all */
	DISTANCE_WAIT_MIN_MS = 100,
	/* and at most while nothing is known of the origin */
	DISTANCE_WAIT_MAX_MS = 1000,
	/* it is slow after all but so many in a thousand of its answers, so
	 * that 99 % of what it has still comes from there; not before */
	DISTANCE_HEDGE = 10,
	DISTANCE_HEDGE_MIN_MS = 10,
	/* or, if nothing is known of it, after */
	DISTANCE_HEDGE_UNKNOWN_MS = 50,
	/* it stands still while so many of its answers are owed for which
	 * another's was taken */
	DISTANCE_OWED = 3,
	/* a second try of TCP takes as long, and round trips: of the first one,
	 * of the second, and what the waiting grows by where times vary */
	DISTANCE_AGAIN_MS = 200,
	DISTANCE_AGAIN_TRIPS = 3,
	/* so many answers of late tell whether there are any */
	DISTANCE_KNOWN = 1000 / DISTANCE_SLOW,
	/* that is how long a peer is waited for in which no client waits */
	DISTANCE_PROBE_MS = 1000,
	/* and connected to; TCP repeats what it has lost there after as long */
	DISTANCE_CONNECT_MS = 1000,
	DISTANCE_CONNECT_TRIPS = 3,
	/* a peer's body that is collected comes within so many round trips,
	 * while TCP finds out how fast the path is */
	DISTANCE_BODY_TRIPS = 5,
};

/* All zero: nothing is known. All fields are private. */
struct distance {
	struct answer_times times;
	unsigned answers; /* ever, up to DISTANCE_ENOUGH */
	int64_t measured_ms;
	int64_t median_ms, slow_ms; /* as computed last; 0: never */
	int64_t hedge_ms;
	unsigned uncomputed;	   /* times since then */
	unsigned hits, asks;	   /* of a peer; faded */
	unsigned renewed, renewals; /* the same */
	unsigned passed_over;
	unsigned owed; /* answers that nobody waits for any more */
};

/* An answer's header has come so long after the request was sent [ms]. */
void distance_answered(struct distance *d, int64_t ms, int64_t now_ms);

/* There was no answer within so long; it counts as one that took this. */
void distance_late(struct distance *d, int64_t ms, int64_t now_ms);

/* What an answer of the peer was worth. Failures are its health's business. */
void distance_outcome(struct distance *d, enum peer_outcome outcome);

/* The peer was asked about something that has gone stale: whether it had what
 * is fresh. */
void distance_renewal(struct distance *d, bool renewed);

/* The median [ms]; 0: there never was an answer. */
int64_t distance_median_ms(const struct distance *d);

/* Whether it has answered, and not within DISTANCE_NEAR_MS. Null: no. */
bool distance_is_far(const struct distance *d);

/*
 * Whether asking the peer is expected to save time, or it has to be found out.
 * Null: nothing is known, as is what never answered.
 */
bool distance_pays(const struct distance *peer, const struct distance *origin);

/* The same of questions about what has gone stale. */
bool distance_renewal_pays(const struct distance *peer,
			   const struct distance *origin);

/* The peer had the key, and was not asked because that does not pay. Returns
 * whether it is to be measured now. */
bool distance_pass_over(struct distance *peer, int64_t now_ms);

/*
 * How long the peer may take to answer [ms]: DISTANCE_WAIT_MIN_MS if it is
 * near; else a quarter more than all but DISTANCE_SLOW in a thousand of its
 * answers took, or a second try would, and a round trip to connect. It is
 * waited for no longer than three of the origin's answers mostly take, or than
 * its slow ones. Null as above.
 */
int64_t distance_timeout_ms(const struct distance *peer, int64_t trip_ms,
			    const struct distance *origin);

/* After how long an answer is slow enough to ask another for it [ms]; of a far
 * peer no sooner than a second try would be here, if it is waited for so long.
 * Null as above. */
int64_t distance_hedge_ms(const struct distance *peer, int64_t trip_ms,
			  const struct distance *origin);

/* Another's answer was taken, as the peer was slow; and that answer has come
 * after all, or it is clear that it will not. */
void distance_owes(struct distance *peer);
void distance_paid(struct distance *peer);

/* Whether it owes so many that nobody should ask it more. Null as above. */
bool distance_stands_still(const struct distance *peer);

/* How long it may take to connect where no client waits for it [ms]: a second,
 * or three round trips, which are those of TLS. Null as above. */
int64_t distance_connect_ms(const struct distance *d);

/* What peers may cost a request [ms], the farthest of which may take so long:
 * enough for a second one to be asked. */
int64_t distance_budget_ms(int64_t timeout_ms);

/* How long a peer of that timeout may take until a body of NODE_COLLECT_PEER_
 * BYTES is here, or stand still in the midst of a larger one [ms]. */
int64_t distance_pace_ms(const struct distance *peer, int64_t trip_ms,
			 int64_t timeout_ms);

#endif
