/*
 * A histogram of times, as Prometheus has them: how many were at most so long,
 * for bounds of 100 us to 10 s by steps of 1, 2.5 and 5.
 *
 * One thread adds, any thread reads. Adding takes some ten instructions for the
 * shortest times, and two more for each bound that a time is above.
 */
#ifndef DIGESTD_OS_HISTOGRAM_H
#define DIGESTD_OS_HISTOGRAM_H

#include <stdint.h>

/* X(bound [us], the same in seconds, as a label) */
/* clang-format off */
#define HISTOGRAM_BOUNDS(X) \
	X(100,      "0.0001") \
	X(250,      "0.00025") \
	X(500,      "0.0005") \
	X(1000,     "0.001") \
	X(2500,     "0.0025") \
	X(5000,     "0.005") \
	X(10000,    "0.01") \
	X(25000,    "0.025") \
	X(50000,    "0.05") \
	X(100000,   "0.1") \
	X(250000,   "0.25") \
	X(500000,   "0.5") \
	X(1000000,  "1") \
	X(2500000,  "2.5") \
	X(5000000,  "5") \
	X(10000000, "10")
/* clang-format on */

enum {
#define X(us, label) +1
	HISTOGRAM_BOUND_COUNT = 0 HISTOGRAM_BOUNDS(X),
#undef X
	HISTOGRAM_CELLS = HISTOGRAM_BOUND_COUNT + 1, /* the last: above all */
};

struct histogram {
	uint64_t cells[HISTOGRAM_CELLS]; /* above the bound before, each */
	uint64_t sum_us;
};

/* The bounds [us], in ascending order. */
extern const int64_t histogram_bounds_us[HISTOGRAM_BOUND_COUNT];

/* Adds a time; a negative one counts as 0. */
static inline void histogram_add(struct histogram *h, int64_t us)
{
	uint64_t *cell = h->cells, sum;

	if (us < 0)
		us = 0;
	for (const int64_t *bound = histogram_bounds_us;
	     cell < h->cells + HISTOGRAM_BOUND_COUNT && us > *bound; bound++)
		cell++;
	sum = __atomic_load_n(&h->sum_us, __ATOMIC_RELAXED);
	__atomic_store_n(&h->sum_us, sum + (uint64_t)us, __ATOMIC_RELAXED);
	__atomic_store_n(cell, __atomic_load_n(cell, __ATOMIC_RELAXED) + 1,
			 __ATOMIC_RELAXED);
}

/* Adds what another one has, as it stands, to *sum, which is the caller's. */
void histogram_merge(struct histogram *sum, const struct histogram *from);

/* How many times there are. */
uint64_t histogram_count(const struct histogram *h);

#endif
