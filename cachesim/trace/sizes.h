/*
 * Sizes of web objects, as a quantile function: a lognormal body and, above
 * its 93rd percentile, a Pareto tail. The median is 1; callers scale.
 * Source of the shape: Barford and Crovella, "Generating Representative Web
 * Workloads" (SURGE), 1998.
 */
#ifndef TRACE_SIZES_H
#define TRACE_SIZES_H

#include <stdint.h>

/* The size below which a share u of the objects lies, 0 <= u < 1. */
double sizes_quantile(double u);

/*
 * The i-th term of a sequence that fills [0,1) evenly (the multiples of the
 * golden ratio, from a start that follows from the seed): any run of n terms
 * has a mean close to the distribution's, which random ones have not.
 */
double sizes_even(uint64_t i, uint64_t seed);

#endif
