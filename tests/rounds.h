/*
 * How often a test repeats what it does at random: more often with
 * SCD_TEST_LONG (make check-long), and less often in a build that SCD_TEST_SLOW
 * calls so many times as slow as others, as those with sanitizers are. They
 * look at what is executed, and rounds only make a rare case likelier.
 */
#ifndef TESTS_ROUNDS_H
#define TESTS_ROUNDS_H

#include <stdbool.h>
#include <stdlib.h>

/* 1, or how many times as slow as others this build is. */
static inline int rounds_slowness(void)
{
	const char *slow = getenv("SCD_TEST_SLOW");
	int times = slow ? atoi(slow) : 1;

	return times > 1 ? times : 1;
}

/* Whether this is make check-long, with time for whatever a test can do. */
static inline bool rounds_are_long(void)
{
	return getenv("SCD_TEST_LONG") != NULL;
}

/* `some` in make check, `many` in make check-long; at least one. */
static inline int rounds_of(int some, int many)
{
	int n = rounds_are_long() ? many : some / rounds_slowness();

	return n > 0 ? n : 1;
}

#endif
