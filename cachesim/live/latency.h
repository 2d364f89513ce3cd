/*
 * A histogram of times with a relative error below 1/64 from 1 us to 19 hours,
 * in 16 KiB, after Tene's HdrHistogram.
 */
#ifndef LIVE_LATENCY_H
#define LIVE_LATENCY_H

#include <stdint.h>

enum { LATENCY_STEPS = 64, LATENCY_BUCKETS = 32 * LATENCY_STEPS };

struct latency {
	uint64_t total, max_us;
	uint64_t count[LATENCY_BUCKETS];
};

/* Counts one more. */
void latency_add(struct latency *l, uint64_t us);

/* Adds all of one histogram to another. */
void latency_merge(struct latency *into, const struct latency *from);

/* The time that a share q, 0..1, of the requests did not exceed; 0: none. */
uint64_t latency_quantile(const struct latency *l, double q);

#endif
