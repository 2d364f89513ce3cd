/*
 * What the sections of digestbench coding share.
 */
#include "digestd/bench/bench.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "codec/mix.h"

enum { KEYS_AT_ONCE = 1024 };

static const double least_s = .004; /* to measure for */

/* A number of splitmix64 is a step of its state; a key has two. */
static uint64_t bench_state_before(const struct bench *b, uint64_t key)
{
	return b->seed + 2 * key * SCD__SPLITMIX_STEP;
}

struct scd_key bench_key(const struct bench *b, uint64_t i)
{
	uint64_t state = bench_state_before(b, i);
	uint64_t lo = scd__splitmix64(&state);

	return (struct scd_key){lo, scd__splitmix64(&state)};
}

int bench_filter(const struct bench *b, const struct bench_setup *setup,
		 uint64_t nkeys, uint64_t first, struct scd_bloom *out)
{
	struct scd_key keys[KEYS_AT_ONCE];
	int error = scd_bloom_init(out, nkeys * setup->m10 / 10, setup->nhash);

	if (error)
		return error;
	for (uint64_t i = 0; i < nkeys; i += KEYS_AT_ONCE) {
		size_t n = 0;

		for (; n < KEYS_AT_ONCE && i + n < nkeys; n++)
			keys[n] = bench_key(b, first + i + n);
		scd_bloom_add_many(out, keys, n);
	}
	return SCD_OK;
}

uint64_t bench_replaced(const struct bench_setup *setup, uint64_t nkeys)
{
	return nkeys * setup->churn_pm / 1000;
}

static double bench_now_s(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int bench_time_by(clockid_t clock, int (*work)(void *arg), void *arg,
			 double *s)
{
	const double begin_s = bench_now_s(clock);
	uint64_t calls = 0;
	double over_s;
	int error;

	do {
		error = work(arg);
		calls++;
		over_s = bench_now_s(clock) - begin_s;
	} while (!error && over_s < least_s);
	*s = over_s / (double)calls;
	return error;
}

/* Seconds that the thread has had a processor: other work does not count,
 * though it takes caches and memory. */
int bench_time(int (*work)(void *arg), void *arg, double *s)
{
	return bench_time_by(CLOCK_THREAD_CPUTIME_ID, work, arg, s);
}

int bench_time_clock(int (*work)(void *arg), void *arg, double *s)
{
	return bench_time_by(CLOCK_MONOTONIC, work, arg, s);
}

static int bench_by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

double bench_median(double *x, size_t n)
{
	qsort(x, n, sizeof(*x), bench_by_size);
	return (x[(n - 1) / 2] + x[n / 2]) / 2;
}

void bench_say(const struct bench *b, const char *what, uint64_t nkeys)
{
	if (!b->progress)
		return;
	fprintf(stderr, "\r%" PRIu64 " objects: %s\033[K", nkeys, what);
	fflush(stderr);
}

void bench_clear(const struct bench *b)
{
	if (b->progress)
		fputs("\r\033[K", stderr);
}
