/*
 * This node's part in serving leases (mesh/serving_lease.h), for all workers:
 * its own lease, and those of others that it has granted. A null desk is that
 * of a node whose purges are not strict: it always serves.
 */
#ifndef DIGESTD_PEERS_SERVING_DESK_H
#define DIGESTD_PEERS_SERVING_DESK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SERVING_GRANTS_MAX = 128 }; /* as many as a mesh has nodes, twice */

struct serving_desk;

/* Makes one of a node that has just started. Returns 0 or -ENOMEM. */
int serving_desk_new(struct serving_desk **out);

/* *d becomes null; null is allowed. */
void serving_desk_free(struct serving_desk **d);

/*
 * Whether what is stored may answer a request that has come before this call.
 * Reads the clock: a thread that stood still does not take its lease for one
 * that still runs.
 */
bool serving_desk_may_serve(const struct serving_desk *d);

/* When the own lease ends, on loop_clock_ms()'s clock; INT64_MIN: there is
 * none. */
void serving_desk_set_end(struct serving_desk *d, int64_t end_ms);

/* Whether its log is whole: it is not at a start. */
void serving_desk_recover(struct serving_desk *d);
bool serving_desk_has_recovered(const struct serving_desk *d);

/*
 * Renews the lease of a node of that instance, before the log is read for it.
 * False: not now.
 */
bool serving_desk_grant(struct serving_desk *d, uint64_t instance);

/*
 * To whom there are grants; for after an entry has come into the log. False: to
 * anybody, as a life before this one may have given some. `to` has room for
 * SERVING_GRANTS_MAX.
 */
bool serving_desk_grants(struct serving_desk *d, uint64_t *to, size_t *n);

#endif
