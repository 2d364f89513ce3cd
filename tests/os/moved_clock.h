/*
 * Clocks that run as they do, and that a test can put forward, where it would
 * have to wait. Link $(moved_clock_sources) with $(clock_ldflags): what asks
 * for the time, and is not a shared library, is told a later one. What waits in
 * the kernel does not notice; a turn of a loop that waits for nothing fires the
 * timers that are due then.
 *
 * still_clock.h is for what has to take no time at all.
 */
#ifndef TESTS_OS_MOVED_CLOCK_H
#define TESTS_OS_MOVED_CLOCK_H

/* From now on all clocks are so much further ahead [ms]. */
void moved_clock_on(unsigned ms);

/* From now on they stand still, unless they are moved: a test that is stopped
 * for seconds does not notice. */
void moved_clock_stop(void);

/* They go on, and are right again. */
void moved_clock_back(void);

#endif
