/*
 * What came of asking a peer for an object: found out by who asked, counted,
 * and held for or against the peer's health.
 */
#ifndef DIGESTD_MESH_PEER_OUTCOME_H
#define DIGESTD_MESH_PEER_OUTCOME_H

enum peer_outcome {
	OUTCOME_HIT,       /* a response that could be used */
	OUTCOME_FALSE_HIT, /* 504: it had nothing, though its digest said yes */
	OUTCOME_STALE,     /* it held the object, but not fresh: 504 or 200 */
	OUTCOME_VARIANT,   /* 504: it held other variants of the object */
	OUTCOME_FAILED,    /* unreachable, too slow, refused, or nonsense */
	OUTCOME_DOUBT,     /* an earlier response was not what the origin has,
			      by its dates; see node/node_check.h */
	OUTCOME_WRONG,     /* it certainly was not */
};

enum { PEER_OUTCOMES = OUTCOME_WRONG + 1 };

/* A word or two for it, for the log. Static, never null. */
const char *peer_outcome_text(enum peer_outcome outcome);

#endif
