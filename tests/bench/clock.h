/*
 * The clock of the benchmarks.
 */
#ifndef TESTS_BENCH_CLOCK_H
#define TESTS_BENCH_CLOCK_H

#include <time.h>

/* Seconds since some moment. */
static inline double clock_now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Seconds that this thread has had a processor: other work does not count. */
static inline double clock_used_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Keeps the smaller of a time used and that since `begin`. */
static inline void clock_best(double *best_s, double begin_s)
{
	double s = clock_used_s() - begin_s;

	if (*best_s <= 0 || s < *best_s)
		*best_s = s;
}

#endif
