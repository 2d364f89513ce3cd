/*
 * Which threads faults are not for: a test may define this where its other
 * threads play what is around the code that it tests. Without it the calls of
 * all threads may fail.
 */
#ifndef TESTS_SPARED_H
#define TESTS_SPARED_H

#include <stdbool.h>

/* Whether no call of this thread fails, or is counted. */
bool spared_thread(void) __attribute__((weak));

static inline bool spared(void)
{
	return spared_thread && spared_thread();
}

#endif
