/*
 * When what was purged last: a clock that a purge advances. A response that
 * was asked for before its key was purged must not be used after that.
 *
 * Keys share KEYS slots, so one in KEYS responses under way is given up for a
 * purge of another key, which costs a fetch. Changes need a lock.
 */
#ifndef DIGESTD_CORE_PURGELOG_H
#define DIGESTD_CORE_PURGELOG_H

#include <stdatomic.h>
#include <stdint.h>

#include "codec/key.h"

enum { PURGELOG_SLOTS = 4096 }; /* a power of two; 32 KiB */

/* All zero at first. */
struct purgelog {
	atomic_uint_fast64_t now; /* purges so far; read at any time */
	uint64_t all; /* the last one of any key, by a walk */
	uint64_t slots[PURGELOG_SLOTS];
};

/* Notes a purge of one key; of whatever a walk will find. */
void purgelog_key(struct purgelog *log, const struct scd_key *key);
void purgelog_all(struct purgelog *log);

/* When a key was purged last: later than what was asked for at any smaller
 * log->now. 0: never. */
uint64_t purgelog_last(const struct purgelog *log, const struct scd_key *key);

#endif
