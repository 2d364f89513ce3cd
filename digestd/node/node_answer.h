/*
 * What the header of a response comes to, for the request that it is for.
 */
#ifndef DIGESTD_NODE_NODE_ANSWER_H
#define DIGESTD_NODE_NODE_ANSWER_H

#include <stdbool.h>
#include <stdint.h>

#include "digestd/http/fetch_result.h"
#include "digestd/mesh/origin_set.h"
#include "digestd/mesh/peer_outcome.h"
#include "digestd/node/node_fill.h"

struct cachecontrol;
struct fields;
struct freshness;
struct response_facts;

/* A peer's response, and what is known about it. All pointers are borrowed. */
struct node_answer {
	unsigned status;
	const struct fields *fields;
	const struct response_facts *facts; /* by the rules of the site */
	const struct freshness *freshness;
	const struct fields *request; /* which it is for */
	const struct cachecontrol *cc; /* of that */
	bool right_variant; /* chosen by what the client has sent, too */
	bool invalidated;   /* it may be older than a purge here */
	bool on_error;	    /* the origin has failed: a stale one will do, for
			       so long where it does not say so itself: */
	unsigned on_disconnect_s;
	const struct freshness *known; /* of what is stored here, and has gone
					  stale; null: nothing is */
	int64_t now_s;
};

/*
 * A peer's answer is judged as an origin's would be, and must be fresh, or, if
 * the origin fails, usable meanwhile. A 504 says itself why: its digest is
 * about keys, so that what it holds has gone stale, or is for other requests,
 * does not make it a liar.
 */
enum peer_outcome node_answer_of_peer(const struct node_answer *a);

/*
 * A peer's 304 about what is stored here (a->known), which makes it what `a`
 * describes otherwise: confirmed for the peer before, by the origin. It counts
 * as that if it is fresh, and no older than what was known.
 */
enum peer_outcome node_answer_of_peer_304(const struct node_answer *a);

/* What there is in place of an origin's answer. */
struct node_stale {
	const struct freshness *freshness; /* of what is stored; null: nothing
					      is. Borrowed */
	bool client; /* is there, and could get it */
	int64_t now_s;
	unsigned on_disconnect_s; /* how long it is good, if it does not say so
				     itself, while the origin is not there */
};

/* An origin's response. */
struct node_origin_answer {
	unsigned status;
	bool validating; /* it was asked about what is stored */
	bool confirms;	 /* and says that this is still so */
	struct node_stale stale;
};

/* Whether an origin that answers so fails, so that what is stale may be used
 * (RFC 5861, 4). */
bool node_answer_is_failure(unsigned status);

/* What it comes to, if there is memory for it. An origin that answers with an
 * error is there: only what says so itself is used instead. */
enum node_head node_answer_of_origin(const struct node_origin_answer *a);

/* What a fetch comes to that has failed; the rest, if it was from an origin,
 * and has brought nothing. */
struct node_failure {
	bool own_fault;	   /* it was this node that failed */
	bool stale_usable; /* the client gets what is stored */
	unsigned status;   /* or, if it does not, an error */
};

/* `result` is not FETCH_COMPLETE. */
struct node_failure node_answer_of_failure(enum fetch_result result,
					   const struct node_stale *stale);

/* Whether the origin is not there, as opposed to one that is there and must
 * not be used, and to what is this node's own fault. */
bool node_answer_is_disconnect(enum fetch_result result);

/* Whether a client that has waited for as long as it should gets what is
 * stored: to it this is an origin that does not answer in time. */
bool node_answer_of_delay(const struct node_stale *stale);

/* Whether it gets that without any waiting, as all its origins are known to
 * fail; if they still say something, only by its own word, as above. */
bool node_answer_of_outage(const struct node_stale *stale,
			   enum origin_condition condition);

/* A header, which says what its body is. */
struct node_described {
	unsigned status;
	const struct fields *fields; /* borrowed */
	int64_t body_len; /* -1: not said */
};

/*
 * Whether an origin goes on for a peer that broke off: what it sends must be
 * the same representation as what the peer has begun to send, by a strong
 * entity tag, or else by all that describes its body. That the bytes are the
 * same as far as they have come is another question, see node_fill_compares().
 */
enum node_head node_answer_of_rejoin(const struct node_described *begun,
				     const struct node_described *origin);

#endif
