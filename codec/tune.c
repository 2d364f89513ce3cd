/*
 * Tuning: the formulas of "Compressed Bloom Filters", and a search over all
 * powers of two and numbers of functions, of which there are a thousand.
 */
#include "codec/tune.h"

#include <math.h>
#include <stdbool.h>

#include "codec/bloom.h"

enum { MIN_BITS_LOG2 = 6, MAX_BITS_LOG2 = 40 };

/* Sizes within a millionth of each other are equal. */
static const double same = 1 + 1e-6;

static double entropy(double p)
{
	if (p <= 0 || p >= 1)
		return 0;
	return -p * log2(p) - (1 - p) * log2(1 - p);
}

double scd_tune_zero(double n, double m, unsigned k)
{
	return exp(-(double)k * n / m);
}

double scd_tune_fp(double n, double m, unsigned k)
{
	return pow(1 - scd_tune_zero(n, m, k), k);
}

double scd_tune_full_bits(double n, double m, unsigned k)
{
	return m * entropy(scd_tune_zero(n, m, k));
}

double scd_tune_delta_bits(double n, double m, unsigned k, double c)
{
	double p0 = scd_tune_zero(n, m, k);

	return m * entropy(2 * p0 * (1 - pow(p0, c)));
}

static bool goal_is_valid(const struct scd_goal *g)
{
	return g->objects > 0 && g->objects <= SCD_BLOOM_MAX_BITS &&
	       (g->fp > 0 || g->wire_bits > 0) && g->fp >= 0 && g->fp < 1 &&
	       g->wire_bits >= 0 && g->churn >= 0 && g->churn <= 1 &&
	       g->deltas >= 0;
}

/* What one digest may have of the cluster's false positives; 1: anything. */
static double fp_of_one(const struct scd_goal *g)
{
	if (g->fp <= 0)
		return 1;
	return g->peers > 2 ? g->fp / (g->peers - 1) : g->fp;
}

static struct scd_tuning predict(const struct scd_goal *g, unsigned log2_bits,
				 unsigned k)
{
	double n = (double)g->objects;
	double m = ldexp(1, (int)log2_bits);
	struct scd_tuning t = {
		.nbits = UINT64_C(1) << log2_bits,
		.nhash = k,
		.fp = scd_tune_fp(n, m, k),
		.full_bytes = scd_tune_full_bits(n, m, k) / 8,
		.delta_bytes = scd_tune_delta_bits(n, m, k, g->churn) / 8,
		.array_bytes = m / 8,
		.own_bytes = m * 5 / 8,
	};

	t.update_bytes = (t.full_bytes + g->deltas * t.delta_bytes) /
			 (1 + g->deltas);
	return t;
}

static bool reaches(const struct scd_goal *g, const struct scd_tuning *t)
{
	if (t->fp > fp_of_one(g))
		return false;
	return g->wire_bits <= 0 ||
	       t->full_bytes * 8 <= g->wire_bits * (double)g->objects;
}

/* The number that is to be small. */
static double cost(const struct scd_goal *g, const struct scd_tuning *t)
{
	return g->fp > 0 ? t->update_bytes : t->fp;
}

/* The best of arrays of up to max_log2 bits; nbits is 0 when there is none. */
static struct scd_tuning search(const struct scd_goal *g, unsigned max_log2)
{
	struct scd_tuning best = { .nbits = 0 };

	for (unsigned i = MIN_BITS_LOG2; i <= max_log2; i++) {
		for (unsigned k = 1; k <= SCD_MAX_HASH; k++) {
			struct scd_tuning t = predict(g, i, k);

			if (!reaches(g, &t))
				continue;
			if (!best.nbits ||
			    cost(g, &t) * same < cost(g, &best))
				best = t;
		}
	}
	return best;
}

static unsigned memory_log2(const struct scd_goal *g)
{
	uint64_t bytes = g->max_memory ? g->max_memory :
					 g->objects * SCD_TUNE_BYTES;
	unsigned i = MIN_BITS_LOG2;

	while (i < MAX_BITS_LOG2 && UINT64_C(1) << (i + 1 - 3) <= bytes)
		i++;
	return i;
}

static enum scd_bound find_bound(const struct scd_goal *g,
				 const struct scd_tuning *t, unsigned max_log2)
{
	struct scd_tuning larger;

	if (max_log2 < MAX_BITS_LOG2) {
		larger = search(g, max_log2 + 1);
		if (cost(g, &larger) * same < cost(g, t))
			return SCD_BOUND_MEMORY;
	}
	return g->fp > 0 ? SCD_BOUND_FP : SCD_BOUND_WIRE;
}

int scd_tune(const struct scd_goal *goal, struct scd_tuning *out)
{
	struct scd_tuning best;
	unsigned max_log2;

	if (!goal_is_valid(goal))
		return SCD_EINVAL;
	max_log2 = memory_log2(goal);
	best = search(goal, max_log2);
	if (!best.nbits)
		return SCD_EGOAL;
	best.bound = find_bound(goal, &best, max_log2);
	*out = best;
	return SCD_OK;
}

const char *scd_bound_text(enum scd_bound bound)
{
	switch (bound) {
	case SCD_BOUND_FP:
		return "the false-positive goal";
	case SCD_BOUND_WIRE:
		return "the size on the wire";
	case SCD_BOUND_MEMORY:
		return "the memory";
	}
	return "unknown";
}
