/*
 * Why responses were not stored, of late: for operators who ask why one is not
 * in the cache. A few thousand keys, each in the place that its hash decides,
 * where another key may take its own: a store or two of what was decided
 * anyway, on the way of a miss.
 *
 * From any thread, without a lock. Two that meet in one place may leave the
 * reason of one beside the time of the other.
 */
#ifndef DIGESTD_PROXY_UNSTORED_H
#define DIGESTD_PROXY_UNSTORED_H

#include <stdbool.h>
#include <stdint.h>

#include "digestd/node/not_stored.h"

struct unstored;

/* What was noted last. */
struct unstored_note {
	enum not_stored reason;
	bool from_peer;	 /* it was a peer's response, or else an origin's */
	int64_t time_s;	 /* on the clock of who noted it */
};

/* Makes one. Returns 0 or -ENOMEM. */
int unstored_new(struct unstored **out);
void unstored_free(struct unstored **u);

/* Notes what became of a key's response, by scd_key.lo. Null u: nowhere. */
void unstored_note(struct unstored *u, uint64_t hash,
		   const struct unstored_note *note);

/* What was noted of a key last; false: nothing, or it was forgotten. */
bool unstored_find(const struct unstored *u, uint64_t hash,
		   struct unstored_note *out);

#endif
