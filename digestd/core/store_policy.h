/*
 * The queue that eviction policies share, and the policies; one file each.
 */
#ifndef DIGESTD_CORE_STORE_POLICY_H
#define DIGESTD_CORE_STORE_POLICY_H

#include "digestd/core/store.h"

/* Least recently used goes first. */
extern const struct store_policy store_policy_lru;

/*
 * SIEVE: a hand goes from old to new, spares what was used since it last came
 * by, and takes the first that was not; nothing ever moves.
 * Source: Zhang et al., "SIEVE is Simpler than LRU", NSDI 2024.
 */
extern const struct store_policy store_policy_sieve;

/* Links an entry in as the newest. */
void store_queue_push(struct store_queue *q, struct store_entry *e);

/* Unlinks an entry; a hand on it moves to the next newer. */
void store_queue_unlink(struct store_queue *q, struct store_entry *e);

#endif
