/*
 * Who may be asked for what a client wants, and under which conditions.
 */
#ifndef DIGESTD_NODE_NODE_ASK_H
#define DIGESTD_NODE_NODE_ASK_H

#include <stdbool.h>
#include <stdint.h>

#include "digestd/http/slices.h"

struct cachecontrol;
struct fields;
struct freshness;

/* A request that nothing here has answered. All pointers are borrowed. */
struct node_ask {
	const struct fields *request;  /* as it came */
	const struct cachecontrol *cc; /* of that */
	bool get;                      /* by the method */
	bool cacheable;       /* GET or HEAD that the store may answer */
	bool ranged; /* it has a Range */
	uint64_t slice_bytes; /* of large objects; 0: there are no slices */
	bool for_slices; /* of an object whose head is here */
	bool unheard;    /* what peers bring may not be kept */
};

enum { NODE_ASK_SLICES = 8 }; /* that are asked for at a time */

/* Whether its range, of an object that nothing is known of, can be asked for in
 * whole slices, which may be stored: by that Range. */
bool node_ask_align(const struct node_ask *a, char range[SLICES_RANGE]);

/* Whether a peer's part is the answer, as it comes, and nobody else's: its
 * range is as the client asks for it, of whatever version is there. */
bool node_ask_may_pass_on_part(const struct node_ask *a);

/* Whether one response may answer several requests like this one. */
bool node_ask_is_shareable(const struct node_ask *a);

/*
 * Whether peers may be asked. What only origins can do, they are not asked for:
 * to confirm what is stale here (has_stale), to answer anew or for one client,
 * to send a range of this version only, unless in whole slices. Nor are they
 * for slices that may not be kept: those are sent from the store.
 */
bool node_ask_may_be_at_peers(const struct node_ask *a, bool has_stale);

/*
 * Whether peers may be asked about a response that is stored here, and that
 * does not do for the request, in place of the origin: one of them may have
 * had it confirmed. What is never fresh each node asks the origin about.
 */
bool node_ask_may_renew_at_peers(const struct node_ask *a,
				 const struct freshness *stored);

/* Makes the conditions of that question, in place of those in `out`, which asks
 * about all of it, and *validating as below. Returns 0 or -ENOMEM. */
int node_ask_conditions_of_peer(const struct fields *stored,
				struct fields *out, bool *validating);

/*
 * Makes the conditions of what is sent to an origin, `out`, which are the
 * request's so far. Where the answer may be stored there are none but this
 * node's own, so that it is whole: those of a stale response (`stored`, its
 * fields; null: there is none) if it has a validator, and *validating becomes
 * true. A range stays, under its condition: the origin looks at both when it
 * does not confirm.
 *
 * A range of what is not stored, or has no validator, and HEAD go out under the
 * client's conditions: what comes back is its answer alone.
 *
 * Returns 0 or -ENOMEM.
 */
int node_ask_conditions(const struct node_ask *a, const struct fields *stored,
			struct fields *out, bool *validating);

#endif
