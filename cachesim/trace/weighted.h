/*
 * Values with weights, as a distribution is published: sizes and how many
 * objects have them, or numbers of objects and how often they are asked for.
 */
#ifndef TRACE_WEIGHTED_H
#define TRACE_WEIGHTED_H

#include <stddef.h>

struct weighted {
	size_t n;
	const double *value;  /* >= 0 */
	const double *weight; /* >= 0, their sum > 0 */
	const double *upto;   /* share of the weight up to each; null: unknown,
				 then there is no weighted_quantile() */
};

/* The arrays of that name in a JSON file. */
struct weighted_names {
	const char *value, *weight;
};

/*
 * Reads a JSON object with two arrays of numbers of one length, such as the
 * distribution files of CacheLib's benchmark. 0; TRACE_EIO (errno);
 * TRACE_EOPTION: not such a file; TRACE_ENOMEM. The caller ends it with
 * weighted_free().
 */
int weighted_load(struct weighted *w, const char *path,
		  const struct weighted_names *names);

/* The value below which a share u of the weight lies, 0 <= u < 1. */
double weighted_quantile(const struct weighted *w, double u);

/* Of what was loaded. Accepts an empty one. */
void weighted_free(struct weighted *w);

#endif
