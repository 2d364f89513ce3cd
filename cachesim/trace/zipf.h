/*
 * Zipf's law over ranks 1..n: p(i) = i^-alpha / Z. Sampling is exact and costs
 * the same for every n: rejection-inversion (Hoermann and Derflinger, 1996),
 * 1.1 tries on average, no tables.
 */
#ifndef TRACE_ZIPF_H
#define TRACE_ZIPF_H

#include "cachesim/trace/random.h"

struct zipf {
	double n, alpha;
	double z;	    /* sum of i^-alpha */
	double top, bottom; /* the range that is sampled uniformly */
	double shortcut;    /* x this near below a rank needs no test */
};

/* n >= 1, a whole number up to 10^15; 0 < alpha < 3, not within 10^-6 of 1. */
void zipf_init(struct zipf *z, double n, double alpha);

/* A rank, 1..n. */
uint64_t zipf_draw(const struct zipf *z, struct trace_random *r);

/* The probability of a rank. */
double zipf_p(const struct zipf *z, double rank);

/*
 * How many different ranks `draws` draws are expected to show: the sum of
 * 1 - exp(-draws p(i)), the first ranks one by one, the others in steps of
 * half a per cent; error below 10^-4.
 */
double zipf_distinct(const struct zipf *z, double draws);

#endif
