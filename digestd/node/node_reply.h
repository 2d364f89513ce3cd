/*
 * Which reply a stored response makes: all of it, a part, that the client has
 * it already, or that there is no such part.
 *
 * The order is that of RFC 9110, 13.2.2, as far as it is a cache's: If-Match
 * and If-Unmodified-Since are for origins (RFC 9111, 4.3.2) and not looked at;
 * If-None-Match comes before If-Modified-Since, both before Range, and that is
 * looked at only where If-Range agrees. All this is about a stored 200
 * (13.2.1); any other response is sent as it is. Only GET wants parts.
 */
#ifndef DIGESTD_NODE_NODE_REPLY_H
#define DIGESTD_NODE_NODE_REPLY_H

#include <stdbool.h>
#include <stdint.h>

#include "digestd/http/range.h"

struct fields;

/* A request, and what is stored for it. All pointers are borrowed. */
struct node_reply_facts {
	const struct fields *request; /* as it came */
	bool get;		      /* by the method */
	bool cacheable; /* GET or HEAD that the store may answer */
	unsigned status;	      /* of what is stored: */
	const struct fields *stored;
	uint64_t len; /* of its body [bytes] */
	int64_t wall_s;
};

enum node_reply_kind {
	NODE_SENDS_ALL,		 /* with the stored status */
	NODE_SENDS_PART,	 /* 206 */
	NODE_SENDS_NOT_MODIFIED, /* 304 */
	NODE_SENDS_NO_PART,	 /* 416: there is no such part */
};

struct node_reply {
	enum node_reply_kind kind;
	unsigned status;
	struct range part; /* ALL: the whole; PART. Else of no meaning */
};

/* Cannot fail; what is malformed in a request counts as absent. */
struct node_reply node_reply_of(const struct node_reply_facts *facts);

/* Of a large object whose slices are stored one by one: what matters beside
 * that. */
struct node_reply_slices {
	bool head;    /* by the method: no bytes are sent */
	bool fetched; /* it has just come from elsewhere */
	bool alone;   /* nobody may be asked for what is missing */
};

enum node_reply_rest {
	NODE_REST_NONE,	   /* no slice has to be looked for */
	NODE_REST_FETCHED, /* those that are missing */
	NODE_REST_REFUSED, /* if one is missing: 504 */
};

/* What happens to slices that are missing. */
enum node_reply_rest node_reply_rest_of(const struct node_reply *reply,
					const struct node_reply_slices *slices);

#endif
