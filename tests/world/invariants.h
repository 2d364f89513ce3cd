/*
 * What holds in every world, whatever fails in it, looked at from inside of the
 * nodes: their caches, catalogs, digests and the ledger of their memory.
 *
 * The linker hands us the calls by which nodes make and change these; so what
 * is compared with a store is a sum of our own, and nothing in the daemon knows
 * that it is watched.
 */
#ifndef TESTS_WORLD_INVARIANTS_H
#define TESTS_WORLD_INVARIANTS_H

#include <stdint.h>

#include "digestd/peers/peer_follower.h"

/*
 * After each step: the ledger adds up and is within its limit. Now and then, so
 * that it costs as much for each step however large the stores are: each
 * catalog has the keys of which its stores have something that other nodes may
 * have, and stores are within their sizes. What a peer has sent, no other node
 * gets; unless it was handed over.
 */
void invariants_step(void);

/* At the end of a world: all of it, whatever it costs. */
void invariants_walk(void);

/*
 * After faults have ended, and the time to heal: each node has of each peer
 * the digest that this has published last, and may ask it. others: peers that
 * each has beside the nodes, of which nothing is asked.
 */
void invariants_healed(unsigned others);

/* How a peer stands with a node, by its name. */
struct peer_follower_status invariants_peer(unsigned node, const char *name);

/* Says of which kinds of lists none was compared, in all worlds so far; returns
 * how many. */
unsigned invariants_report(void);

#endif
