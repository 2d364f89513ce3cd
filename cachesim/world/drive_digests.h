/*
 * Digests where a trace goes through nodes: what one node has made of the bytes
 * of a peer's digest, the others are given too, as they would make the same of
 * them. Nodes decide what to fetch, and for which base; decoding is all that is
 * shared. A digest is that of the first by reference, so that filters are in
 * memory once, too.
 */
#ifndef CACHESIM_WORLD_DRIVE_DIGESTS_H
#define CACHESIM_WORLD_DRIVE_DIGESTS_H

/* Forgets all; no node runs. */
void drive_digests_stop(void);

#endif
