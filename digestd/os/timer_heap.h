/*
 * A heap of timers, the next one due at its root: a pairing heap that is linked
 * through the timers themselves, so that arming one allocates nothing.
 *
 * Inserting costs O(1), removing O(log n) amortised.
 * Source: Fredman, Sedgewick, Sleator, Tarjan, "The Pairing Heap" (1986).
 */
#ifndef DIGESTD_OS_TIMER_HEAP_H
#define DIGESTD_OS_TIMER_HEAP_H

#include "digestd/os/loop.h"

/* Adds a timer that is in no heap, with its due_ms set. *root may be null. */
void timer_heap_insert(struct loop_timer **root, struct loop_timer *t);

/* Removes a timer; nothing happens when it is in no heap. */
void timer_heap_remove(struct loop_timer **root, struct loop_timer *t);

#endif
