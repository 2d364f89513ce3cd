/*
 * Following one peer: what to fetch of its digest and when, what to do with an
 * answer, and whether the peer may be asked for objects. A machine without I/O,
 * made of the times of its fetches (fetch_schedule.h) and its health
 * (peer_health.h): an event and the time go in, what to do and when the machine
 * is due again comes out.
 *
 *   state      event     what follows
 *   WAITING    DUE       fetch it: FETCHING
 *   FETCHING   ENDED     a whole 200 or 226: decode it: DECODING
 *                        304: what is here is confirmed: WAITING
 *                        anything else: a failure: WAITING; and if a
 *                        stream was asked for, and its time has passed, none
 *                        is any more: something between the two may collect it
 *              STREAM    frames will come, as the peer publishes them:
 *                        STREAMING
 *   DECODING   DECODED   it takes the place of the old one: WAITING
 *   STREAMING  FRAMES    decode them, at most each FETCH_PACE_MS: APPLYING
 *              QUIET     there are none: what is here is confirmed
 *              ENDED     whole: fetch again: WAITING; else a failure: WAITING
 *              DUE       nothing came for too long: the same
 *   APPLYING   DECODED   it takes the place of the old one: STREAMING, or,
 *                        after ENDED, as above: WAITING
 *              QUIET     somebody is there
 *              ENDED     is remembered
 *   all but    REFUSED   the next fetch is for a full digest: WAITING
 *   WAITING    UNABLE    a failure: back off: WAITING
 *
 * A peer that FOLLOWING_GONE requests in a row do not reach is not asked for
 * objects either, until one does: it has ended, or its machine has, and each
 * object asked for would find out anew.
 *
 * A peer that says with an answer that it drains is not asked for objects from
 * then on, and owns no keys, until an answer comes that does not say so: it is
 * there again, or another instance.
 *
 * An operator may have it left alone (HELD) and asked again (FREED).
 *
 * In each state, DUE may also be the end of a breaker's or a quarantine's time,
 * or a digest's that has become too old; OUTCOME, LOOKUPS, HELD and FREED
 * are about the peer's health.
 */
#ifndef DIGESTD_MESH_FOLLOWING_H
#define DIGESTD_MESH_FOLLOWING_H

#include <stdbool.h>
#include <stdint.h>

#include "digestd/mesh/fetch_schedule.h"
#include "digestd/mesh/peer_health.h"
#include "digestd/mesh/peer_outcome.h"

enum { FOLLOWING_GONE = 2 };

enum following_state {
	FOLLOWING_WAITING,  /* for the time of the next fetch */
	FOLLOWING_FETCHING, /* a request for the digest is under way */
	FOLLOWING_DECODING, /* what it has brought is being decoded */
	FOLLOWING_STREAMING, /* the request brings frames as they are published
			      */
	FOLLOWING_APPLYING, /* ... and some of them are being decoded */
};

enum { FOLLOWING_STATES = FOLLOWING_APPLYING + 1 };

enum following_event_kind {
	FOLLOWING_DUE,     /* due_ms has come; or there is a new policy */
	FOLLOWING_ENDED,   /* the request has: `answer` */
	FOLLOWING_STREAM,  /* the answer's header is one of a stream: `answer`
			    */
	FOLLOWING_FRAMES,  /* whole frames of it are here */
	FOLLOWING_QUIET,   /* it says that there is no news */
	FOLLOWING_REFUSED, /* the body is none that can be used */
	FOLLOWING_UNABLE,  /* to ask, or to decode: no memory, or no room */
	FOLLOWING_DECODED, /* into `digest` */
	FOLLOWING_OUTCOME, /* of asking the peer for an object: `outcome` */
	FOLLOWING_LOOKUPS, /* the digest was consulted for so many more keys */
	FOLLOWING_HELD,    /* an operator puts it into quarantine */
	FOLLOWING_FREED,   /* an operator ends its quarantine */
};

enum { FOLLOWING_EVENTS = FOLLOWING_FREED + 1 };

struct following_policy {
	struct fetch_schedule_policy fetch;
	struct peer_health_policy health;
};

struct following_event {
	enum following_event_kind kind;
	union {
		struct {
			bool reached; /* there was a connection */
			bool whole;   /* with all of its body */
			bool late;    /* not, as a time limit passed */
			unsigned status;
			bool drains; /* it says that it is about to end */
		} answer;
		struct {
			bool delta;
			bool in_place; /* the list that views have is now this
					*/
			uint64_t instance;
			double fp; /* false positives that its fill predicts */
		} digest;
		struct {
			enum peer_outcome kind;
			double rtt_ms; /* negative: there was no answer */
		} outcome;
		uint64_t lookups;
	};
};

/* What to do, all of it, in this order; and when the machine is due. */
struct following_actions {
	bool install;      /* the decoded digest takes the old one's place */
	bool ended;        /* the update has: drop what is left of it, and */
	enum fetched with; /* ... count what came of it */
	bool put_off;   /* ... and that the next one waits, as the peer has
			 * cost too much, */
	bool overspent; /* ... which is new */
	bool fetch;        /* ask for the digest */
	bool conditional;  /* ... and offer the one that is here as a base */
	bool stream;       /* ... and to take the frames that follow, too */
	bool decode;       /* what has come */
	bool drains;       /* the peer does, which is new */
	bool restarted;    /* the peer was, and its health knows */
	bool health;       /* it has changed */
	bool reach;        /* so has following_is_gone() */
	bool view;         /* of the peers: this one looks different now */
	int64_t due_ms;
};

/* All fields are private. */
struct following {
	enum following_state state;
	struct fetch_schedule schedule;
	struct peer_health health;
	struct next_fetch next;
	bool conditional; /* the fetch under way has offered a base */
	bool has_digest;
	uint64_t instance; /* of the digest that is here */
	double fp;
	unsigned unreached; /* requests in a row that found nobody */
	bool drains; /* as it said last */
	bool answered; /* by now it has a digest here, or never will soon */
	bool stream; /* the fetch under way has asked for one */
	bool collected; /* one was silent: none is asked for any more */
	bool waits; /* STREAMING: frames do, for apply_ms */
	bool over, over_whole; /* APPLYING: the stream is */
	int64_t apply_ms; /* not before that */
	int64_t heard_ms; /* something of the stream */
	double viewed_fp, viewed_rtt_ms; /* as of the last action `view` */
	bool usable; /* as of the last step */
};

/* A peer of which nothing is known yet: due at now_ms. `seed` differs between
 * peers; it spreads their fetches after failures. */
void following_init(struct following *f, uint64_t seed, int64_t now_ms);

/* Whether an event can come in a state: the machine asserts it. */
bool following_expects(enum following_state state,
		       enum following_event_kind event);

/* What follows from an event. */
struct following_actions following_step(struct following *f,
					const struct following_policy *policy,
					const struct following_event *event,
					int64_t now_ms);

/* Whether the peer may be asked, and its digest counts, as of the last step. */
bool following_usable(const struct following *f);

/* Whether nobody was found there of late. */
bool following_is_gone(const struct following *f);

/* Whether it is about to end, as it said last. */
bool following_drains(const struct following *f);

/*
 * Whether there is nothing to wait for before this node begins its work: its
 * digest is in place, or nobody has answered FOLLOWING_GONE times, or it has
 * refused, as one does whose cluster key is another. Once so it stays so. One
 * that has no digest to give yet (503) will.
 */
bool following_has_settled(const struct following *f);

/* The peer has been heard of just now: what waits after failures is due at
 * once, see fetch_schedule_wake(). To be followed by DUE. */
void following_wake(struct following *f, const struct following_policy *policy,
		    int64_t now_ms);

/* Its health, and when its digest was last known to be current; for views,
 * metrics and status. */
const struct peer_health *following_health(const struct following *f);
int64_t following_confirmed_ms(const struct following *f);

#endif
