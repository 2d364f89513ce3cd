/*
 * Tuning: a search over all powers of two and numbers of functions, of which
 * there are a thousand.
 */
#include "codec/tune.h"

#include <math.h>
#include <stdbool.h>

#include "codec/bloom.h"
#include "codec/coder/predict.h"
#include "codec/tune/search.h"

/* What scd_limits_init() lets a reader accept. */
static const double readers_fp = .05;

/*
 * An array that is fuller is sent in a few bytes less, but takes up to 32
 * accesses to memory for each lookup that finds something, where an emptier one
 * takes two or three; and what comes beyond what it was made for is worse.
 */
static const double most_fill = .6;

/* Costs within a millionth of each other are equal. */
static const double same = 1 + 1e-6;

void scd__tune_bounds_init(struct scd__tune_bounds *l, const struct scd_goal *g,
			   const struct scd__plan *p)
{
	double max = g->max_memory > 0 ? (double)g->max_memory
				       : fmax(8, p->n * SCD_TUNE_BYTES);
	unsigned i = SCD__MIN_BITS_LOG2 - 1;

	while (i < SCD__MAX_BITS_LOG2) {
		double m = ldexp(1, (int)i + 1);
		double used = g->max_memory > 0 ? scd_tune_memory(m, p->peers)
						: m / 8;

		if (used > max)
			break;
		i++;
	}
	l->max_log2 = i;
	l->n = p->n;
	l->has_fp = g->fp > 0;
	l->fp = g->fp > 0 ? fmin(g->fp / p->links, readers_fp) : readers_fp;
	l->full_bytes = g->wire_bits > 0 ? g->wire_bits * p->n / 8 : INFINITY;
}

unsigned scd__log2_of(uint64_t nbits)
{
	unsigned i = 0;

	while (nbits >>= 1)
		i++;
	return i;
}

/* Whether all bounds are kept. */
static bool tune_is_within(const struct scd__tune_bounds *l,
			   const struct scd_tuning *t)
{
	const double m = (double)t->nbits;

	return t->fp <= l->fp && t->full_bytes <= l->full_bytes &&
	       scd_tune_zero(l->n, m, t->nhash) >= 1 - most_fill &&
	       t->nbits <= UINT64_C(1) << l->max_log2;
}

bool scd__beats(const struct scd__plan *p, const struct scd_tuning *a,
		const struct scd_tuning *b)
{
	return scd__objective(p, a) * same < scd__objective(p, b);
}

bool scd__search_size(const struct scd__plan *p,
		      const struct scd__tune_bounds *l, unsigned log2_bits,
		      struct scd_tuning *best)
{
	struct scd__choice choice = {.log2_bits = log2_bits,
				     .max_update = p->max_update};
	bool found = false;

	for (unsigned k = 1; k <= SCD_MAX_HASH; k++) {
		struct scd_tuning t;

		choice.nhash = k;
		t = scd__predict(p, &choice);
		if (!tune_is_within(l, &t) ||
		    (found && !scd__beats(p, &t, best)))
			continue;
		*best = t;
		found = true;
	}
	return found;
}

/* The best of all; false: there is none. */
static bool tune_search(const struct scd__plan *p,
			const struct scd__tune_bounds *l,
			struct scd_tuning *best)
{
	bool found = false;

	for (unsigned i = SCD__MIN_BITS_LOG2; i <= l->max_log2; i++) {
		struct scd_tuning t;

		if (!scd__search_size(p, l, i, &t) ||
		    (found && !scd__beats(p, &t, best)))
			continue;
		*best = t;
		found = true;
	}
	return found;
}

/* Whether other bounds would allow for something better. */
static bool tune_would_help(const struct scd__plan *p,
			    const struct scd__tune_bounds *l,
			    const struct scd_tuning *t)
{
	struct scd_tuning other;

	return tune_search(p, l, &other) && scd__beats(p, &other, t);
}

/* What is in the way: lift one limit after the other. */
static enum scd_bound tune_find_bound(const struct scd__plan *p,
				      const struct scd__tune_bounds *l,
				      const struct scd_tuning *t)
{
	struct scd__tune_bounds lifted = *l;

	lifted.max_log2 = SCD__MAX_BITS_LOG2;
	if (tune_would_help(p, &lifted, t))
		return SCD_BOUND_MEMORY;
	lifted = *l;
	lifted.full_bytes = INFINITY;
	if (isfinite(l->full_bytes) && tune_would_help(p, &lifted, t))
		return SCD_BOUND_WIRE;
	lifted = *l;
	lifted.fp = 1;
	if (l->has_fp && tune_would_help(p, &lifted, t))
		return SCD_BOUND_FP;
	return SCD_BOUND_COST;
}

/* Of those of its size that cost hardly more, the one with fewest functions. */
static void tune_prefer_fewer(const struct scd__plan *p,
			      const struct scd__tune_bounds *l,
			      struct scd_tuning *best)
{
	const double most =
		scd__objective(p, best) * (1 + SCD_TUNE_TIE_PERCENT / 100.);
	struct scd__choice choice = {
		.log2_bits = scd__log2_of(best->nbits),
		.nhash = 1,
		.max_update = p->max_update,
	};

	for (; choice.nhash < best->nhash && !p->min_fp; choice.nhash++) {
		struct scd_tuning t = scd__predict(p, &choice);

		if (!tune_is_within(l, &t) || scd__objective(p, &t) > most)
			continue;
		t.bound = best->bound;
		*best = t;
		return;
	}
}

int scd_tune(const struct scd_goal *goal, struct scd_tuning *out)
{
	struct scd__tune_bounds bounds;
	struct scd__plan plan;
	struct scd_tuning best;
	int error = scd__plan_init(&plan, goal);

	if (error)
		return error;
	scd__tune_bounds_init(&bounds, goal, &plan);
	if (!tune_search(&plan, &bounds, &best))
		return SCD_EGOAL;
	best.bound = tune_find_bound(&plan, &bounds, &best);
	tune_prefer_fewer(&plan, &bounds, &best);
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
	case SCD_BOUND_COST:
		return "the balance of bytes and false hits";
	}
	return "unknown";
}

const char *scd_update_text(enum scd_update update)
{
	switch (update) {
	case SCD_UPDATE_STORED:
		return "stored";
	case SCD_UPDATE_FULL:
		return "full";
	case SCD_UPDATE_XOR:
		return "xor";
	case SCD_UPDATE_CONDITIONAL:
		return "conditional";
	}
	return "unknown";
}
