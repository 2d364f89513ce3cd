/*
 * The presets, and the reading of "PRESET,option=value,...".
 *
 * Requests, clients, groups and the three figures of an infinite cache are
 * those of Table 1 of "Summary Cache: A Scalable Wide-Area Web Cache Sharing
 * Protocol" (Fan, Cao, Almeida, Broder, 2000). The four shares are not in it:
 * they are plausible for web proxies of that time.
 */
#include "cachesim/trace/generator.h"

#include <stdlib.h>
#include <string.h>

#include "cachesim/trace/scan.h"

/* clang-format off */
const struct trace_model trace_models[] = {
	/* name, about, requests, clients, groups,
	   bytes, hits, byte hits, alpha, once, locality, affinity */
	{ "dec", "Digital Equipment Corporation", 3543968, 10089, 16,
	  2.88e10, 0.49, 0.36, 0.77, 0.20, 0.15, 0.15 },
	{ "ucb", "University of California, Berkeley", 1907762, 5780, 8,
	  1.80e10, 0.30, 0.14, 0.74, 0.30, 0.10, 0.15 },
	{ "upisa", "University of Pisa", 2833624, 2203, 8,
	  2.07e10, 0.40, 0.27, 0.75, 0.25, 0.15, 0.20 },
	{ "questnet", "parents of Questnet, Australia", 2885285, 12, 12,
	  2.33e10, 0.30, 0.15, 0.70, 0.30, 0.05, 0.10 },
	{ "nlanr", "parents of NLANR", 1766409, 4, 4,
	  1.37e10, 0.36, 0.27, 0.72, 0.25, 0.05, 0.10 },
	{ .name = NULL },
};
/* clang-format on */

/* What may be set, as an integer or a share. */
static const struct {
	const char *name;
	size_t offset;
	double below; /* of a share; 0: the option is an integer */
} options[] = {
	{ "seed", offsetof(struct trace_plan, seed), 0 },
	{ "requests", offsetof(struct trace_plan, requests), 0 },
	{ "hosts", offsetof(struct trace_plan, hosts), 0 },
	{ "alpha", offsetof(struct trace_plan, model.alpha), 3 },
	{ "once", offsetof(struct trace_plan, model.once), 1 },
	{ "locality", offsetof(struct trace_plan, model.locality), 1 },
	{ "affinity", offsetof(struct trace_plan, model.affinity), 1 },
	{ "hit_ratio", offsetof(struct trace_plan, model.hit_ratio), 1 },
	{ "byte_hit_ratio", offsetof(struct trace_plan, model.byte_hit_ratio),
	  1 },
};

/* A decimal fraction like 0.75; strtod would follow the user's locale. */
static bool scan_share(struct trace_text t, double below, double *out)
{
	struct trace_text whole = { "0", 1 };
	uint64_t units, decimals = 0;
	double scale = 1;

	if (!scan_until(&t, '.', &whole)) {
		whole = t;
		t.len = 0;
	}
	if (!scan_u64(whole, &units) || t.len > 15 ||
	    (t.len && !scan_u64(t, &decimals)))
		return false;
	for (size_t i = 0; i < t.len; i++)
		scale *= 10;
	*out = (double)units + (double)decimals / scale;
	return *out >= 0 && *out < below;
}

static int set_option(struct trace_plan *plan, struct trace_text name,
		      struct trace_text value)
{
	for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++) {
		char *at = (char *)plan + options[i].offset;

		if (!scan_is(name, options[i].name))
			continue;
		if (options[i].below > 0)
			return scan_share(value, options[i].below,
					  (double *)(void *)at)
				       ? 0
				       : TRACE_EOPTION;
		return scan_u64(value, (uint64_t *)(void *)at) ? 0
							       : TRACE_EOPTION;
	}
	return TRACE_EOPTION;
}

static int set_preset(struct trace_plan *plan, struct trace_text name)
{
	for (const struct trace_model *m = trace_models; m->name; m++) {
		if (!scan_is(name, m->name))
			continue;
		plan->model = *m;
		plan->requests = m->requests;
		return 0;
	}
	return TRACE_EOPTION;
}

int trace_plan_parse(struct trace_plan *out, const char *spec)
{
	struct trace_text rest = { spec, strlen(spec) }, word, name;
	bool more = scan_until(&rest, ',', &word);
	int err;

	memset(out, 0, sizeof(*out));
	out->seed = 1;
	err = set_preset(out, more ? word : rest);
	while (more && !err) {
		more = scan_until(&rest, ',', &word);
		if (!more)
			word = rest;
		err = scan_until(&word, '=', &name)
			      ? set_option(out, name, word)
			      : TRACE_EOPTION;
	}
	if (!err && (out->requests == 0 || out->requests > 1000000000000u))
		err = TRACE_EOPTION;
	return err;
}
