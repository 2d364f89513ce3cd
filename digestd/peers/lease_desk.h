/*
 * This node's leases (mesh/leases.h), for all workers: those that it grants as
 * the owner of keys, and what it knows not to be shared.
 */
#ifndef DIGESTD_PEERS_LEASE_DESK_H
#define DIGESTD_PEERS_LEASE_DESK_H

#include <stdbool.h>
#include <stdint.h>

#include "digestd/mesh/leases.h"

enum { LEASE_DESK_LEASES = 65536 };

struct lease_desk;

/* Makes one for a node of this instance, not 0. Returns 0 or -ENOMEM. */
int lease_desk_new(uint64_t instance, struct lease_desk **out);

/* *d becomes null; null is allowed. */
void lease_desk_free(struct lease_desk **d);

/* Of this node. */
uint64_t lease_desk_instance(const struct lease_desk *d);

/* As leases_ask(), leases_set_alone() or leases_set_shared(), and
 * leases_is_alone(); from any thread. */
struct lease_answer lease_desk_ask(struct lease_desk *d,
				   const struct scd_key *key,
				   const struct lease_wish *wish,
				   int64_t now_ms);
void lease_desk_set_alone(struct lease_desk *d, const struct scd_key *key,
			  bool alone, int64_t now_ms);
bool lease_desk_is_alone(struct lease_desk *d, const struct scd_key *key,
			 int64_t now_ms);

#endif
