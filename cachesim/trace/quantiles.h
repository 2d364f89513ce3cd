/*
 * A quantile function as a table: between 4096 places it is interpolated;
 * near 0 and 1, where it may be steep, it is asked itself. 32 KiB.
 */
#ifndef TRACE_QUANTILES_H
#define TRACE_QUANTILES_H

enum { QUANTILES = 4096 };

/* The value below which a share u lies, 0 <= u < 1. */
typedef double quantile_function(const void *arg, double u);

struct quantiles {
	quantile_function *exact;
	const void *arg; /* borrowed */
	double at[QUANTILES];
};

static inline void quantiles_init(struct quantiles *q,
				  quantile_function *exact, const void *arg)
{
	q->exact = exact;
	q->arg = arg;
	for (int i = 0; i < QUANTILES; i++)
		q->at[i] = exact(arg, (double)i / QUANTILES);
}

static inline double quantiles_at(const struct quantiles *q, double u)
{
	double x = u * QUANTILES;
	int i = (int)x;

	if (i == 0 || i >= QUANTILES - 1)
		return q->exact(q->arg, u);
	return q->at[i] + (x - i) * (q->at[i + 1] - q->at[i]);
}

#endif
