/*
 * What the sections of digestbench coding share: filters of random keys, a
 * clock, medians, and a line on stderr that says what is being done.
 *
 * Numbers of a machine that does other things beside are noisy, so all that
 * are to be compared are measured in turns, in one run, and the median of the
 * repetitions is taken.
 */
#ifndef DIGESTD_BENCH_BENCH_H
#define DIGESTD_BENCH_BENCH_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "codec/bloom.h"

enum {
	BENCH_MIN_KEYS = 1000,
	BENCH_MAX_KEYS = 100000000,
	BENCH_MAX_SIZES = 8,
	BENCH_MAX_REPETITIONS = 99,
};

struct bench {
	uint64_t nkeys[BENCH_MAX_SIZES]; /* filters have so many, in turn */
	size_t nsizes;
	uint64_t seed;
	unsigned repetitions;
	unsigned nthreads; /* where several share the work */
	json_t *list;  /* of what was measured; null: it is printed */
	bool progress; /* on stderr, which is a terminal then */
};

/* A filter, and what of it is replaced. */
struct bench_setup {
	unsigned m10; /* bits an object, in tenths */
	unsigned nhash;
	unsigned churn_pm; /* objects replaced, of a thousand; 0: none */
};

/* A section: runs, and tells. Returns an SCD_ error. */
typedef int bench_section(const struct bench *b);

bench_section bench_coders;
bench_section bench_digests;
bench_section bench_conditional;
bench_section bench_whole;

/* The i-th of all keys; each is used once. */
struct scd_key bench_key(const struct bench *b, uint64_t i);

/*
 * The filter of keys first .. first + nkeys - 1, which the caller releases.
 * SCD_ENOMEM.
 */
int bench_filter(const struct bench *b, const struct bench_setup *setup,
		 uint64_t nkeys, uint64_t first, struct scd_bloom *out);

/* How many of nkeys a setup replaces: those that a filter's first must be. */
uint64_t bench_replaced(const struct bench_setup *setup, uint64_t nkeys);

/*
 * Seconds that a call of work takes; it is called until it has taken some
 * milliseconds. The error of a call ends it.
 */
int bench_time(int (*work)(void *arg), void *arg, double *s);

/* The same by the clock, for work that threads share: other work counts. */
int bench_time_clock(int (*work)(void *arg), void *arg, double *s);

/* The median of n numbers (at least one), which are sorted by that. */
double bench_median(double *x, size_t n);

/* Tells what is being done, if somebody is there to read it. */
void bench_say(const struct bench *b, const char *what, uint64_t nkeys);

/* Takes that away, for results to be printed. */
void bench_clear(const struct bench *b);

#endif
