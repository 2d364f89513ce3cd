/*
 * Explaining a choice: its neighbours, and why each of them lost.
 */
#include "codec/bloom.h"
#include "codec/coder/predict.h"
#include "codec/tune/search.h"
#include "codec/tune.h"

/* What one explanation works with. */
struct comparison {
	struct scd__plan plan;
	struct scd__tune_bounds bounds;
	struct scd_candidate *list; /* the first is what was chosen */
	size_t n;
};

/* Why it is not the answer. */
static enum scd_verdict explain_judge(const struct comparison *c,
				      const struct scd_tuning *t)
{
	const struct scd_tuning *chosen = &c->list[0].tuning;

	if (t->nbits > UINT64_C(1) << c->bounds.max_log2)
		return SCD_LOST_MEMORY;
	if (t->fp > c->bounds.fp)
		return SCD_LOST_FP;
	if (t->full_bytes > c->bounds.full_bytes)
		return SCD_LOST_WIRE;
	if (t->update > c->plan.max_update)
		return SCD_LOST_UNWANTED;
	if (scd__beats(&c->plan, t, chosen))
		return SCD_LOST_LITTLE;
	if (!scd__beats(&c->plan, chosen, t))
		return SCD_LOST_EQUAL;
	if (c->plan.min_fp)
		return SCD_LOST_WORSE_FP;
	return t->update_cost > chosen->update_cost ? SCD_LOST_BYTES
						    : SCD_LOST_COST;
}

static void explain_add(struct comparison *c, const struct scd_tuning *t)
{
	for (size_t i = 0; i < c->n; i++) {
		const struct scd_tuning *u = &c->list[i].tuning;

		if (u->nbits == t->nbits && u->nhash == t->nhash &&
		    u->update == t->update)
			return;
	}
	c->list[c->n++] = (struct scd_candidate){
		.tuning = *t,
		.verdict = explain_judge(c, t),
	};
}

/* An array of some size: with as many functions, and with the best number. */
static void explain_add_size(struct comparison *c, unsigned log2_bits)
{
	struct scd__choice choice = {
		.log2_bits = log2_bits,
		.nhash = c->list[0].tuning.nhash,
		.max_update = c->plan.max_update,
	};
	struct scd__tune_bounds bounds = c->bounds;
	struct scd_tuning t;

	if (log2_bits < SCD__MIN_BITS_LOG2 || log2_bits > SCD__MAX_BITS_LOG2)
		return;
	t = scd__predict(&c->plan, &choice);
	explain_add(c, &t);
	bounds.max_log2 = log2_bits;
	if (scd__search_size(&c->plan, &bounds, log2_bits, &t))
		explain_add(c, &t);
}

static void explain_add_choice(struct comparison *c, struct scd__choice choice)
{
	struct scd_tuning t;

	if (choice.nhash < 1 || choice.nhash > SCD_MAX_HASH)
		return;
	t = scd__predict(&c->plan, &choice);
	explain_add(c, &t);
}

static void explain_add_neighbours(struct comparison *c)
{
	const struct scd_tuning *chosen = &c->list[0].tuning;
	struct scd__choice choice = {
		.log2_bits = scd__log2_of(chosen->nbits),
		.nhash = chosen->nhash,
		.max_update = c->plan.max_update,
	};

	explain_add_size(c, choice.log2_bits);
	explain_add_size(c, choice.log2_bits - 1);
	explain_add_size(c, choice.log2_bits + 1);
	choice.nhash--;
	explain_add_choice(c, choice);
	choice.nhash += 2;
	explain_add_choice(c, choice);
	choice.nhash--;
	for (choice.max_update = SCD_UPDATE_FULL;
	     choice.max_update <= SCD_UPDATE_CONDITIONAL; choice.max_update++)
		explain_add_choice(c, choice);
}

int scd_tune_explain(const struct scd_goal *goal,
		     struct scd_candidate list[SCD_CANDIDATES], size_t *n)
{
	struct comparison c = {.list = list, .n = 1};
	struct scd_tuning best;
	int error = scd_tune(goal, &best);

	if (!error)
		error = scd__plan_init(&c.plan, goal);
	if (error)
		return error;
	scd__tune_bounds_init(&c.bounds, goal, &c.plan);
	list[0] = (struct scd_candidate){
		.tuning = best,
		.verdict = SCD_CHOSEN,
	};
	explain_add_neighbours(&c);
	*n = c.n;
	return SCD_OK;
}

const char *scd_verdict_text(enum scd_verdict verdict)
{
	switch (verdict) {
	case SCD_CHOSEN:
		return "chosen";
	case SCD_LOST_FP:
		return "more false positives than the goal";
	case SCD_LOST_WIRE:
		return "too large on the wire";
	case SCD_LOST_MEMORY:
		return "too much memory";
	case SCD_LOST_UNWANTED:
		return "deltas of a kind not to be sent";
	case SCD_LOST_BYTES:
		return "updates take more bytes";
	case SCD_LOST_COST:
		return "false hits cost more than is saved";
	case SCD_LOST_WORSE_FP:
		return "more false positives";
	case SCD_LOST_EQUAL:
		return "no better, and larger";
	case SCD_LOST_LITTLE:
		return "saves less than 2 %, for more functions or memory";
	}
	return "unknown";
}
