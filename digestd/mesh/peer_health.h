/*
 * The health of a peer: whether it is asked for objects. A machine without I/O:
 * outcomes and time go in, its state comes out.
 */
#ifndef DIGESTD_MESH_PEER_HEALTH_H
#define DIGESTD_MESH_PEER_HEALTH_H

#include <stdbool.h>
#include <stdint.h>

#include "digestd/mesh/peer_outcome.h"

struct peer_health_policy {
	unsigned failures;     /* in a row open the breaker; see below */
	int64_t open_min_ms;   /* closed to requests for so long at first */
	int64_t open_max_ms;   /* doubling up to this */
	int64_t quarantine_ms; /* after too many false hits */
};

enum peer_health_state {
	HEALTH_GOOD,
	HEALTH_BROKEN,     /* failures: not asked until due */
	HEALTH_HALF_OPEN,  /* to be probed; the first outcome decides */
	HEALTH_QUARANTINE, /* false hits: not asked until due */
};

/*
 * The breaker opens after some failures in a row, or HEALTH_TROUBLE times as
 * many beyond one in HEALTH_SHARE answers: a peer that fails now and then would
 * hold up more than one request of a hundred for ever, and never three in a
 * row. A peer whose failures are one in 200 is closed off by chance once in
 * 10^5 of these (e^(-th), h = 9, where e^t - 1 = 2t), if at all.
 *
 * After a probe that went well, HEALTH_TROUBLE - 1 times as many are kept in
 * mind, so that the next opening takes fewer; and each one takes twice as long
 * as the one before, unless the peer has been good for as long meanwhile.
 */
enum {
	HEALTH_SHARE = 100,
	HEALTH_TROUBLE = 3,
};

/*
 * Quarantine is a test of the peer's word, made after every answer. False hits
 * are seen only among the keys that the digest claims, and their share of the
 * answers says nothing: a peer with nothing in common with this node has false
 * hits only, and is honest. So they are held against all the keys that the
 * digest was consulted for: of L lookups, at most L * fp may be false hits by
 * chance. A score is kept (a CUSUM, Page's test of when a process goes bad):
 *
 *   a lookup      - HEALTH_ALLOWANCE * fp
 *   a false hit   + 1
 *   a hit         - HEALTH_HIT_WORTH, as far as the score is above 0
 *
 * and HEALTH_PATIENCE is too much. Below 0 it is a credit, for outcomes come
 * later than their lookups; it halves within HEALTH_FADE_MS, so that no good
 * record, however long, lets a peer that turns bad go on.
 *
 * An honest peer's score drifts down. By Wald's bound it reaches h with
 * probability e^(-th) each time that it rises from 0, where e^t - 1 = 3t:
 * t = 1.9, so once in 10^24; at twice the predicted rate t = 0.76, once in
 * 10^9. A peer that has what it claims half of the time (it has evicted the
 * rest): t = 0.66, once in 10^8. One that claims a share c of all keys in vain
 * is caught after HEALTH_PATIENCE / (1 - 3 fp / c) requests, 36 at most if it
 * claims everything (fp <= 5 %, or its digest is refused), and those under way.
 * The credit of a peer that turns bad adds about as many as chance brings in
 * half a second (10 at fp 2 % and 1000 lookups a second).
 *
 * Source: Page, "Continuous Inspection Schemes", 1954.
 */
enum {
	HEALTH_ALLOWANCE = 3, /* times what is predicted, is no fault */
	HEALTH_HIT_WORTH = 4, /* false hits that a hit makes up for */
	HEALTH_PATIENCE = 30, /* false hits beyond that: quarantine */
	HEALTH_FADE_MS = 250, /* of unused credit; an outcome comes sooner */
};

/*
 * A response that is not what the origin has puts a peer into quarantine, too;
 * one that only seems so counts for a third of that. How often responses are
 * compared is not decided here; so it is no rate, and hits do not make up for
 * it.
 */
enum { HEALTH_WRONG = 3 };

/* All fields are private. */
struct peer_health {
	enum peer_health_state state;
	int64_t due_ms;
	unsigned failures; /* in a row */
	double trouble;    /* failures beyond one in HEALTH_SHARE */
	unsigned openings; /* of which none was followed by as good a time */
	int64_t opened_ms; /* the last one */
	int64_t open_ms;   /* for so long */
	int64_t closed_ms; /* and then it closed */
	double score;
	unsigned wrong;    /* up to HEALTH_WRONG */
	bool lies;	   /* that is why it is in quarantine */
	bool held;	   /* in quarantine, by an operator's word */
	int64_t faded_ms;  /* the credit has faded up to here */
	int64_t strict_ms; /* until then a restart is no excuse */
	double rtt_ms;
};

/* A peer of which nothing is known yet: good. */
void peer_health_init(struct peer_health *h);

/*
 * An answer, or none, came from the peer; rtt_ms is the time to its header,
 * or negative when there was none. Returns whether the state has changed.
 */
bool peer_health_outcome(struct peer_health *h,
			 const struct peer_health_policy *policy,
			 enum peer_outcome event, double rtt_ms,
			 int64_t now_ms);

/*
 * The peer's digest was consulted for `lookups` more keys up to now; fp is the
 * rate of false positives that its fill predicts. To be called before the
 * outcomes of these lookups.
 */
void peer_health_lookups(struct peer_health *h, double lookups, double fp,
			 int64_t now_ms);

/*
 * A digest of another instance is in place: the peer was restarted, and what
 * the old digest claimed was no lie. Ends a quarantine, but only once in
 * quarantine_ms, or a liar would restart for ever. An open breaker stays open
 * for no longer than if it were the first time. Returns whether the state has
 * changed.
 */
bool peer_health_restarted(struct peer_health *h,
			   const struct peer_health_policy *policy,
			   int64_t now_ms);

/*
 * An operator puts the peer into quarantine: neither time nor a restart ends
 * it, only peer_health_release(). Returns whether it was not held before.
 */
bool peer_health_hold(struct peer_health *h);

/* An operator ends a quarantine, whatever it is for, with an empty record.
 * Returns whether there was one. */
bool peer_health_release(struct peer_health *h);

/* When peer_health_tick() is to be called next [ms], if nothing else happens
 * before; INT64_MAX: never. */
int64_t peer_health_due_ms(const struct peer_health *h);

/* Time has passed. Returns whether the state has changed. */
bool peer_health_tick(struct peer_health *h, int64_t now_ms);

/* Whether the peer may be asked now. */
bool peer_health_usable(const struct peer_health *h);

/* Whether one outcome will decide that: one is enough to ask, and no client
 * should wait for it. */
bool peer_health_is_half_open(const struct peer_health *h);

/* Whether it is in quarantine for what it has sent, and not for its digest. */
bool peer_health_lies(const struct peer_health *h);

/* Whether it is in quarantine by an operator's word. */
bool peer_health_is_held(const struct peer_health *h);

/* Smoothed time to an answer's header [ms]; 0: none yet. */
double peer_health_rtt_ms(const struct peer_health *h);

/* A word for it, for metrics, status and log. Static, never null. */
const char *peer_health_state_text(enum peer_health_state state);

#endif
