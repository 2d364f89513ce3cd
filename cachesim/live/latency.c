/*
 * The first 128 buckets are 1 us wide; from there on each power of two has 64.
 */
#include "cachesim/live/latency.h"

static unsigned latency_bucket_of(uint64_t us)
{
	unsigned shift = 0;

	while (us >> shift >= 2 * LATENCY_STEPS)
		shift++;
	if (shift > 30)
		return LATENCY_BUCKETS - 1;
	return shift * LATENCY_STEPS + (unsigned)(us >> shift);
}

/* The largest time that falls into a bucket. */
static uint64_t latency_bucket_top(unsigned b)
{
	unsigned shift;

	if (b < 2 * LATENCY_STEPS)
		return b;
	shift = b / LATENCY_STEPS - 1;
	return ((uint64_t)(b - shift * LATENCY_STEPS + 1) << shift) - 1;
}

void latency_add(struct latency *l, uint64_t us)
{
	l->count[latency_bucket_of(us)]++;
	l->total++;
	if (us > l->max_us)
		l->max_us = us;
}

void latency_merge(struct latency *into, const struct latency *from)
{
	for (unsigned b = 0; b < LATENCY_BUCKETS; b++)
		into->count[b] += from->count[b];
	into->total += from->total;
	if (from->max_us > into->max_us)
		into->max_us = from->max_us;
}

uint64_t latency_quantile(const struct latency *l, double q)
{
	uint64_t seen = 0;

	for (unsigned b = 0; b < LATENCY_BUCKETS; b++) {
		seen += l->count[b];
		if (seen && (double)seen >= q * (double)l->total)
			return latency_bucket_top(b) < l->max_us
				       ? latency_bucket_top(b)
				       : l->max_us;
	}
	return 0;
}
