/*
 * Trials of whole nodes.
 */
#include "cachesim/advise_nodes.h"

#include <stdio.h>

#include "cachesim/plan.h"
#include "cachesim/whole.h"

enum {
	SHARES = 3, /* that are tried beside the first */
	STEP = 4,   /* each so much smaller than the one before */
};

uint64_t advise_bytes(const struct sim_counters *c)
{
	return c->origin_bytes + c->update_bytes + c->resync_bytes +
	       c->false_hits * ADVISE_FALSE_HIT_BYTES;
}

static int advise_nodes_try(const struct advise_nodes_plan *p,
			    enum placement placement, double share,
			    struct sim_result *out)
{
	char text[32];
	struct plan_row row = { .config = *p->config };
	const struct plan plan = { .rows = &row, .nrows = 1 };

	row.text[PARAMETER_BITS] = p->bits;
	row.text[PARAMETER_HASHES] = p->hashes;
	row.text[PARAMETER_EXPECTED] = p->expected;
	row.text[PARAMETER_PLACEMENT] = placement_names[placement];
	if (share > 0) {
		snprintf(text, sizeof(text), "%.6f", share);
		row.text[PARAMETER_THRESHOLD] = text;
	}
	return whole_simulate(&plan, p->trace, out, p->s);
}

static int advise_nodes_try_placements(const struct advise_nodes_plan *p,
				       struct advice_of_nodes *out)
{
	for (enum placement i = 0; i < PLACEMENTS; i++) {
		int code = advise_nodes_try(p, i, p->share,
					    &out->placements[i]);

		if (code)
			return code;
		if (advise_bytes(&out->placements[i].sum) <
		    advise_bytes(&out->placements[out->placement].sum))
			out->placement = i;
	}
	out->best = out->placements[out->placement];
	return 0;
}

int advise_nodes(const struct advise_nodes_plan *p,
		 struct advice_of_nodes *out)
{
	double share = out->share = p->share;
	int code;

	out->placement = 0;
	code = advise_nodes_try_placements(p, out);
	for (int i = 0; i < SHARES && !code && share > 0; i++) {
		struct sim_result result;

		share /= STEP;
		code = advise_nodes_try(p, out->placement, share, &result);
		if (!code && advise_bytes(&result.sum) <
				     advise_bytes(&out->best.sum)) {
			out->best = result;
			out->share = share;
		}
	}
	return code;
}
