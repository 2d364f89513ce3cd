/*
 * Serving leases: what lets a node answer from its store when purges are
 * strict, so that one which cannot be told of a purge stops before the purge is
 * acknowledged. (Not those of leases.h, which say who fetches what.)
 *
 * Each node asks all others to renew its lease, three times a term. Who renews
 * it notes that as a grant, and answers with the entries that the node lacks.
 * A node serves for a term from when it has sent the requests that a majority,
 * itself included, has renewed; a grant lasts longer, by more than clocks
 * drift.
 *
 * A purge is acknowledged when each member has applied it or has no lease:
 * when a majority has it in its logs, so that whoever renews from then on hears
 * of it, and when that majority has no grants that run to others, or a grant's
 * time has passed since. So only the first purge after a node has failed waits.
 *
 * A node that starts has no lease, has lost its log, and does not know what it
 * has granted. It is in no majority until so many others, whose logs are whole,
 * have told it what they know that one of them was in any majority it was in.
 * If there are not so many, a majority may have lost something: the node purges
 * all there is, and is back when a majority has that in its logs.
 *
 * Source: Gray and Cheriton, "Leases", 1989; the rules are those of
 * tests/mesh/test_serving_search.c, which shows that none can go.
 */
#ifndef DIGESTD_MESH_SERVING_LEASE_H
#define DIGESTD_MESH_SERVING_LEASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	SERVING_TERM_MS = 1800,
	SERVING_RENEW_MS = 600,
	SERVING_DRIFT = 50, /* two clocks differ by less than one in 50 */
	SERVING_EPOCH_MS = 1500, /* a start takes so long before it gives up to
				    hear from enough others */
};

/* What purges promise; the words of the configuration. */
enum invalidation_mode { INVALIDATION_AVAILABLE, INVALIDATION_STRICT };
enum { INVALIDATION_MODES = INVALIDATION_STRICT + 1 };
extern const char *const invalidation_mode_names[INVALIDATION_MODES + 1];

/* Members that are a majority of so many. */
unsigned serving_majority(unsigned members);

/* So many others, with whole logs, must have told a node what they know that
 * has lost its own: one of them at least is in each majority it was in. */
unsigned serving_recovery(unsigned members);

/* When a lease ends: `renewed_ms` is when each of n peers was asked to renew
 * it, of those that have; INT64_MIN for others, and if there is no lease. */
int64_t serving_lease_end_ms(const int64_t *renewed_ms, size_t n);

/* When a grant that is given now has ended, for whoever has it. */
int64_t serving_grant_end_ms(int64_t now_ms);

/* What a member, or the node that purges, has come to. */
struct serving_ack {
	bool applied;
	bool logged; /* and its log is whole */
	bool clear;  /* by then its grants were to such as have applied it */
};

enum serving_fence {
	SERVING_FENCE_OPEN,
	SERVING_FENCE_LOGGED, /* a grant's time from now it is closed */
	SERVING_FENCE_CLOSED, /* who serves has applied it */
};

/* Of all members. */
enum serving_fence serving_fence(const struct serving_ack *acks,
				 unsigned members);

#endif
