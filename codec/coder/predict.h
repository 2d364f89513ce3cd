/*
 * Predictions: what a digest of a given shape would be like, under a goal. The
 * model and its sources are in tune.h; tune.c searches, explain.c compares.
 */
#ifndef SCD_PREDICT_H
#define SCD_PREDICT_H

#include <stdbool.h>
#include <stdint.h>

#include "codec/tune.h"

/* Arrays are of 2^6 to 2^40 bits. */
enum { SCD__MIN_BITS_LOG2 = 6, SCD__MAX_BITS_LOG2 = 40 };

/* A goal, checked, with what it leaves open filled in. */
struct scd__plan {
	double n;          /* keys to be ready for */
	double n_now;      /* keys there now */
	unsigned peers;    /* nodes, >= 2 */
	double links;      /* peers - 1 */
	double churn;      /* c; 0: to be chosen, if replaced > 0 */
	double replaced;   /* keys, an interval; 0: an interval is an update */
	double seconds;    /* of an interval; 0: not known */
	double false_hits; /* bytes a link, an interval, at f = 1 */
	double staleness;  /* the same, at c = 1 */
	double deltas;     /* for each full digest; 0: deltas only */
	enum scd_update max_update;
	bool min_fp; /* what is to be small is f, not the bytes */
};

/* What is tried: an array, a number of functions, the most that is sent. */
struct scd__choice {
	unsigned log2_bits;
	unsigned nhash;
	enum scd_update max_update;
};

/* Check a goal. SCD_EINVAL as scd_tune(). */
int scd__plan_init(struct scd__plan *p, const struct scd_goal *goal);

/* Predict. All members of the answer are set but bound. Cannot fail. */
struct scd_tuning scd__predict(const struct scd__plan *p,
			       const struct scd__choice *choice);

/* The number that is to be small. */
double scd__objective(const struct scd__plan *p, const struct scd_tuning *t);

#endif
