/*
 * Peers that have the key and lie: digests and deltas, right, mutated and
 * repaired, with the wrong names; objects, right for good URLs or visibly
 * broken, and anything for the others.
 */
#ifndef TEST_STORM_PEER_H
#define TEST_STORM_PEER_H

#include "tests/storm/storm_link.h"

extern const struct storm_role storm_peer_role;

/* New filters of all peers, as after a restart. */
void storm_peer_begin(uint64_t seed);
void storm_peer_end(void);

#endif
