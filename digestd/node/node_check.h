/*
 * Comparing a peer's copy with what its origin has: does it lie?
 *
 * What differs is mostly another version, or another coding, and nobody's
 * fault. So bytes that differ speak against the peer only where the origin says
 * that they should not: by the same strong validator, or by its own hash of a
 * representation (RFC 9530) for which the peer has the same; and less clearly,
 * as many an origin is careless about dates, where it says that nothing has
 * changed since before the copy was made.
 */
#ifndef DIGESTD_NODE_NODE_CHECK_H
#define DIGESTD_NODE_NODE_CHECK_H

#include <stdbool.h>
#include <stdint.h>

struct fields;

enum { NODE_CHECK_HASH = 32 }; /* SHA-256 [bytes] */

/* A response, and what its body hashes to. */
struct node_checked {
	unsigned status;
	const struct fields *fields; /* borrowed */
	uint8_t hash[NODE_CHECK_HASH];
};

enum node_check {
	NODE_CHECK_SAME,  /* the bytes are those of the origin */
	NODE_CHECK_OTHER, /* nothing follows: it may be another version */
	NODE_CHECK_DOUBT, /* by its dates it should be the same */
	NODE_CHECK_WRONG, /* it should be the same */
	/* the origin's own hash is not that of its body */
	NODE_CHECK_ORIGIN,
};

/* What the two come to. made_s: when the copy's age was 0, by its wall clock
 * [since 1970]. */
enum node_check node_check(const struct node_checked *copy,
			   const struct node_checked *origin, int64_t made_s);

/* Whether a body's hash is what its own header says; also where that says
 * nothing. */
bool node_check_is_right(const struct node_checked *r);

#endif
