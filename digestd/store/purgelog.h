/*
 * When what was purged last: a clock that a purge advances. A response that
 * was asked for before its key was purged must not be used after that.
 *
 * Keys share PURGELOG_SLOTS slots, so one in so many responses under way is
 * given up for a purge of another key, which costs a fetch. Changes need a
 * lock, and so does purgelog_is_older().
 *
 * Peers have copies that are older than a purge of one key here. The time of
 * that is kept for the last key of each slot: an earlier one is forgotten, as
 * refusing copies of other keys would cost a fetch each time.
 */
#ifndef DIGESTD_STORE_PURGELOG_H
#define DIGESTD_STORE_PURGELOG_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "codec/key.h"

enum { PURGELOG_SLOTS = 4096 }; /* a power of two; 64 KiB */

struct purgelog_time {
	uint32_t key;  /* bits of the key that was purged */
	uint32_t at_s; /* since 1970; 0: no purge */
};

/* All zero at first. */
struct purgelog {
	atomic_uint_fast64_t now; /* purges so far; read at any time */
	uint64_t all; /* the last one of any key, by a walk that began */
	uint64_t walked; /* when the last walk ended */
	uint64_t slots[PURGELOG_SLOTS];
	struct purgelog_time times[PURGELOG_SLOTS];
};

/* Notes a purge of one key, at a time; of whatever a walk will find. */
void purgelog_key(struct purgelog *log, const struct scd_key *key,
		  int64_t now_s);
void purgelog_all(struct purgelog *log);

/* Notes the end of a walk: returns a log->now that is later than all before. */
uint64_t purgelog_walked(struct purgelog *log);

/* When a walk ended last: it may have been of anything that was looked up at a
 * smaller log->now. 0: never. */
uint64_t purgelog_last_walked(const struct purgelog *log);

/* When a key was purged last: later than what was asked for at any smaller
 * log->now. 0: never. */
uint64_t purgelog_last(const struct purgelog *log, const struct scd_key *key);

/* Whether a copy whose age was 0 at born_s may be older than the last purge of
 * its key: an age is a second right at most. */
bool purgelog_is_older(const struct purgelog *log, const struct scd_key *key,
		       int64_t born_s);

#endif
