/*
 * Digests where a trace goes through nodes: what a node publishes, those that
 * follow it are given as it is, in place of decoding it. They decide what to
 * fetch, and for which base, and bodies are coded, as their lengths count. All
 * share one array, so that it is in memory once, too.
 */
#ifndef CACHESIM_WORLD_DRIVE_DIGESTS_H
#define CACHESIM_WORLD_DRIVE_DIGESTS_H

/* Forgets all; no node runs. */
void drive_digests_stop(void);

#endif
