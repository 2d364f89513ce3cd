/*
 * When memory that was taken out of a shared structure may be freed, while
 * threads look things up there without a lock: quiescent states.
 *
 * A reader says now and then that it holds nothing: between two turns of its
 * loop, and before it goes to sleep. What was taken out before that, it cannot
 * come upon any more. A writer takes things out, advances the epoch, and frees
 * them once every reader has passed a quiescent state since. Nobody waits for
 * that: what cannot be freed yet stays with the writer until it looks again.
 *
 * The writer's calls need its lock; the reader's take none, and write a cache
 * line of the reader's own.
 *
 * Costs: a pass is a load and a store; a wake and a look of the writer's, for
 * each reader, an atomic exchange.
 *
 * Source: McKenney and Slingwine, "Read-Copy Update: Using Execution History
 * to Solve Concurrency Problems", 1998; Hart, McKenney, Brown, Walpole:
 * "Performance of Memory Reclamation for Lockless Synchronization", 2007.
 */
#ifndef DIGESTD_STORE_QUIESCENT_H
#define DIGESTD_STORE_QUIESCENT_H

#include <stdbool.h>
#include <stdint.h>

enum { QUIESCENT_LINE_BYTES = 64 }; /* a cache line */

/* A reader; asleep at first. It has a cache line, which nobody else writes. */
struct quiescent_reader {
	_Alignas(QUIESCENT_LINE_BYTES)
	uint64_t seen; /* the epoch of its last quiescent state */
	struct quiescent_reader *next;
};

/* All zero at first. */
struct quiescent {
	_Alignas(QUIESCENT_LINE_BYTES) uint64_t epoch;
	struct quiescent_reader *readers;
};

/* The writer's: a reader comes, asleep; one goes, which must be asleep. */
void quiescent_join(struct quiescent *q, struct quiescent_reader *r);
void quiescent_leave(struct quiescent *q, struct quiescent_reader *r);

/* The writer's: what has been taken out so far is of the epoch that it returns;
 * a new one begins. */
uint64_t quiescent_advance(struct quiescent *q);

/* The writer's: whether nobody can hold what is of that epoch. */
bool quiescent_has_passed(struct quiescent *q, uint64_t epoch);

/* The reader's: it holds nothing. It may go on looking things up. */
void quiescent_pass(const struct quiescent *q, struct quiescent_reader *r);

/* The reader's: it holds nothing, and looks nothing up until it wakes. */
void quiescent_sleep(struct quiescent_reader *r);
void quiescent_wake(const struct quiescent *q, struct quiescent_reader *r);

#endif
