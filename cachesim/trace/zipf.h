/*
 * Drawing ranks, 1..n, by popularity. The ranks are cut into segments, of
 * which one is drawn from a table of aliases (Walker 1977, Vose 1991), then a
 * rank in it: evenly, or corrected for Zipf's law by rejection, which looks at
 * one draw in a hundred closely. So a draw costs 10 ns for any n, and a table
 * some 20 KiB per ten thousandfold.
 */
#ifndef TRACE_ZIPF_H
#define TRACE_ZIPF_H

#include <stddef.h>

#include "cachesim/trace/random.h"
#include "cachesim/trace/weighted.h"

struct zipf_segment {
	uint64_t first, count;
	double weight;  /* of all its ranks; the segments' sum is 1 */
	double least;   /* probability of the last rank by that of the first */
	uint32_t keep;  /* of 2^32: this segment, and not the other */
	uint32_t other;
};

struct zipf {
	uint64_t n;
	double alpha; /* within segments; 0: they are even */
	size_t segments;
	struct zipf_segment *segment;
};

/*
 * Zipf's law: the weight of rank i is i^-alpha. n: 1..10^15, 0 < alpha < 3.
 * 0 or TRACE_ENOMEM.
 */
int zipf_law(struct zipf *r, uint64_t n, double alpha);

/*
 * Groups of ranks: w->value[i] ranks have w->weight[i] in sum. 0, TRACE_EOPTION
 * (none, no weight, too many) or TRACE_ENOMEM.
 */
int zipf_groups(struct zipf *r, const struct weighted *w);

/* Makes it ready for drawing: fills in the aliases. 0 or TRACE_ENOMEM. */
int zipf_prepare(struct zipf *r);

/* A rank. */
uint64_t zipf_draw(const struct zipf *r, struct trace_random *random);

/* The probability of a rank, 1..n. */
double zipf_p(const struct zipf *r, uint64_t rank);

/*
 * How many different objects `draws` draws are expected to show, when each
 * rank gets another object `churn` times meanwhile, at moments of its own.
 */
double zipf_distinct(const struct zipf *r, double draws, double churn);

/* Accepts an empty one. */
void zipf_free(struct zipf *r);

#endif
