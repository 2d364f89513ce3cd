/*
 * What a response does to what is stored: whether it may be kept, and where;
 * what a 304 makes of the response that it confirms; and what an unsafe request
 * may have changed.
 */
#ifndef DIGESTD_NODE_NODE_KEEP_H
#define DIGESTD_NODE_NODE_KEEP_H

#include <stdbool.h>
#include <stdint.h>

#include "digestd/admission/admission_policy.h"
#include "digestd/node/not_stored.h"

struct fields;
struct freshness;
struct response_facts;
struct target;

/* A response whose header has come. All pointers are borrowed. */
struct node_keep_response {
	const struct response_facts *facts; /* by the rules of the site */
	const struct fields *request; /* which it is for */
	const struct target *target;  /* of that */
	const struct freshness *freshness;
	bool get, post; /* by its method; a GET without a body */
	int64_t body_len;   /* -1: not said */
	uint64_t max_bytes; /* what is longer is not kept */
};

/* Why it may not be kept for later GETs, or NOT_STORED_YES; those for which it
 * was chosen, see Vary, are another question. Without memory to look it may
 * not. */
enum not_stored node_keep_refuse(const struct node_keep_response *r);

/* Where it is kept: where it is worth a place, and what takes the place of a
 * stale response not below that one. `was` is ADMISSION_NO without. */
enum admission_decision node_keep_place(enum admission_decision worth,
					enum admission_decision was);

/* Where what a 304 has confirmed is kept: where it was; if it has been evicted
 * meanwhile, it was worth its place. */
enum admission_decision node_keep_place_renewed(enum admission_decision was);

enum node_renewed {
	NODE_RENEWED_STORE, /* in place of the stale one */
	NODE_RENEWED_LEAVE, /* that: others may use it still */
	NODE_RENEWED_DROP,  /* both: neither may be stored any more */
};

/* What becomes of a stored response with the fields of a 304, which was for a
 * request. right_variant: it is one for requests like the client's. */
enum node_renewed node_keep_renewed(const struct response_facts *updated,
				    const struct fields *request,
				    bool right_variant);

/* A response from an origin. */
struct node_keep_change {
	unsigned status;
	bool unsafe;	 /* what it answers may have changed something */
	bool head;	 /* it answers HEAD */
	bool validating; /* which asked about what is stored */
	bool same;	 /* and it is of that, see conditional_describes() */
};

enum node_keep_drop {
	NODE_DROP_TARGET = 1, /* what is stored for the request's target */
	NODE_DROP_NAMED = 2, /* and for those of Location, Content-Location */
};

/* What it invalidates (RFC 9111, 4.4), as a set; for HEAD what differs from it
 * (4.3.5): it brings only the header of what would take its place. */
unsigned node_keep_invalidates(const struct node_keep_change *c);

#endif
