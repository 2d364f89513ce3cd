/*
 * What tune.c and explain.c share: bounds, and which of two is better.
 */
#ifndef SCD_SEARCH_H
#define SCD_SEARCH_H

#include <stdbool.h>

#include "codec/coder/predict.h"

/* What no answer may exceed. */
struct scd__tune_bounds {
	double n;          /* keys to be ready for */
	unsigned max_log2; /* of the array's bits */
	double fp;         /* of one digest */
	bool has_fp;       /* the goal says it; else readers do */
	double full_bytes; /* of a full digest; infinite: anything */
};

/* The bounds that a goal sets; p is its plan. */
void scd__tune_bounds_init(struct scd__tune_bounds *l,
			   const struct scd_goal *goal,
			   const struct scd__plan *p);

/* The power of two that an array's size is. */
unsigned scd__log2_of(uint64_t nbits);

/* Whether a is better than b, beyond rounding. */
bool scd__beats(const struct scd__plan *p, const struct scd_tuning *a,
		const struct scd_tuning *b);

/* The best array of 2^log2_bits bits within bounds; false: there is none. */
bool scd__search_size(const struct scd__plan *p,
		      const struct scd__tune_bounds *l, unsigned log2_bits,
		      struct scd_tuning *best);

#endif
