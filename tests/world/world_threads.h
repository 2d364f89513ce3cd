/*
 * Threads of a world. Those of the disk are real ones, of which none runs while
 * the world or another one does: a thread that waits for a condition, or for
 * the disk, hands over. Which of them is woken when is the seed's choice. All
 * other threads are loops, which the world turns itself.
 */
#ifndef TESTS_WORLD_WORLD_THREADS_H
#define TESTS_WORLD_WORLD_THREADS_H

#include <stdint.h>

/* In such a thread: time passes. Else nothing happens. */
void world_thread_pause(int64_t for_us);

#endif
