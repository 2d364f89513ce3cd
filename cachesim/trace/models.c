/*
 * The presets, and the reading of "PRESET,option=value,...".
 *
 * Requests, clients, groups and the three figures of an infinite cache are
 * those of Table 1 of "Summary Cache: A Scalable Wide-Area Web Cache Sharing
 * Protocol" (Fan, Cao, Almeida, Broder, 2000). The four shares are not in it:
 * they are plausible for web proxies of that time.
 *
 * The CDN's shares are chosen so that three quarters of the objects are asked
 * for once ("Algorithmic Nuggets in Content Delivery", Maggs, Sitaraman, 2015,
 * saw 74 % in two days), and that the others have their time, as news and
 * videos do: each rank of popularity has 8.5 objects in turn. So caches hit as
 * was measured with a CDN's requests: LRU of 0.1, 1, 5, 20 % of the bytes .29,
 * .52, .70, .76 there, .26, .53, .76, .80 here; and what is kept at its second
 * use only +.07, +.04, -.01, -.06 there, +.09, +.07, -.01, -.05 here. Draws
 * from CacheLib's popularities, without time, give .03, .11, .27, .61.
 */
#include "cachesim/trace/generator.h"

#include <stdlib.h>
#include <string.h>

#include "cachesim/trace/scan.h"

static const uint64_t requests_max = 1000000000000;

/*
 * Quantiles of a CDN's object sizes [bytes], as they are published with
 * CacheLib's benchmark.
 */
static const struct {
	double u, size;
} cdn_sizes[] = {
	{ 0, 127 },	    { .18, 159 },      { .19, 447 },
	{ .2, 1791 },	    { .22, 2239 },     { .25, 2783 },
	{ .3, 4031 },	    { .35, 5727 },     { .4, 7615 },
	{ .45, 10143 },	    { .5, 13343 },     { .55, 17151 },
	{ .6, 21567 },	    { .65, 27039 },    { .7, 33599 },
	{ .75, 41343 },	    { .8, 50079 },     { .85, 59839 },
	{ .9, 77631 },	    { .93, 97983 },    { .95, 118495 },
	{ .97, 153887 },    { .98, 189087 },   { .99, 274239 },
	{ .995, 412543 },   { .998, 631199 },  { .999, 827039 },
	{ .9995, 1006911 }, { .9999, 1642367 }, { 1, 4176255 },
};

static double models_cdn_quantile(const void *arg, double u)
{
	size_t i = 1;

	(void)arg;
	while (cdn_sizes[i].u < u)
		i++;
	return cdn_sizes[i - 1].size +
	       (u - cdn_sizes[i - 1].u) /
		       (cdn_sizes[i].u - cdn_sizes[i - 1].u) *
		       (cdn_sizes[i].size - cdn_sizes[i - 1].size);
}

/* The paper's traces: what its table has, and the four shares. */
#define PAPER(bytes, hits, byte_hits)                                       \
	.infinite_bytes = (bytes), .hit_ratio = (hits),                     \
	.byte_hit_ratio = (byte_hits), .rate = 4

/* clang-format off */
const struct trace_model trace_models[] = {
	{ .name = "dec", .about = "Digital Equipment Corporation",
	  .requests = 3543968, .clients = 10089, .groups = 16,
	  PAPER(2.88e10, 0.49, 0.36),
	  .alpha = 0.77, .once = 0.20, .locality = 0.15, .affinity = 0.15 },
	{ .name = "ucb", .about = "University of California, Berkeley",
	  .requests = 1907762, .clients = 5780, .groups = 8,
	  PAPER(1.80e10, 0.30, 0.14),
	  .alpha = 0.74, .once = 0.30, .locality = 0.10, .affinity = 0.15 },
	{ .name = "upisa", .about = "University of Pisa",
	  .requests = 2833624, .clients = 2203, .groups = 8,
	  PAPER(2.07e10, 0.40, 0.27),
	  .alpha = 0.75, .once = 0.25, .locality = 0.15, .affinity = 0.20 },
	{ .name = "questnet", .about = "parents of Questnet, Australia",
	  .requests = 2885285, .clients = 12, .groups = 12,
	  PAPER(2.33e10, 0.30, 0.15),
	  .alpha = 0.70, .once = 0.30, .locality = 0.05, .affinity = 0.10 },
	{ .name = "nlanr", .about = "parents of NLANR",
	  .requests = 1766409, .clients = 4, .groups = 4,
	  PAPER(1.37e10, 0.36, 0.27),
	  .alpha = 0.72, .once = 0.25, .locality = 0.05, .affinity = 0.10 },
	{ .name = "cdn", .about = "a content delivery network",
	  .requests = 12100000, .clients = 100000, .groups = 16, .rate = 1000,
	  .hit_ratio = 0.791, .alpha = 0.82, .once = 0.152, .churn = 7.5,
	  .sizes = models_cdn_quantile },
	{ .name = "zipf", .about = "Zipf's law and nothing else",
	  .requests = 10000000, .clients = 10000, .groups = 16, .rate = 1000,
	  .alpha = 0.9, .objects = 1000000, .mean_bytes = 16384 },
	{ .name = NULL },
};
/* clang-format on */

#undef PAPER

enum kind {
	INTEGER,
	REAL,
	TEXT
};

/* What may be set. */
#define PLAN(field) offsetof(struct trace_plan, field)
/* clang-format off */
static const struct {
	const char *name;
	size_t offset;
	enum kind kind;
	double below; /* of a REAL */
} options[] = {
	{ "seed", PLAN(seed), INTEGER, 0 },
	{ "requests", PLAN(requests), INTEGER, 0 },
	{ "hosts", PLAN(hosts), INTEGER, 0 },
	{ "clients", PLAN(model.clients), INTEGER, 0 },
	{ "groups", PLAN(model.groups), INTEGER, 0 },
	{ "objects", PLAN(model.objects), INTEGER, 0 },
	{ "alpha", PLAN(model.alpha), REAL, 3 },
	{ "once", PLAN(model.once), REAL, 1 },
	{ "locality", PLAN(model.locality), REAL, 1 },
	{ "affinity", PLAN(model.affinity), REAL, 1 },
	{ "home", PLAN(model.home), REAL, 1.000001 },
	{ "churn", PLAN(model.churn), REAL, 1e6 },
	{ "rate", PLAN(model.rate), REAL, 1e9 },
	{ "mean_bytes", PLAN(model.mean_bytes), REAL, 1e9 },
	{ "hit_ratio", PLAN(model.hit_ratio), REAL, 1 },
	{ "byte_hit_ratio", PLAN(model.byte_hit_ratio), REAL, 1 },
	{ "popularity", PLAN(popularity), TEXT, 0 },
	{ "sizes", PLAN(sizes), TEXT, 0 },
};
/* clang-format on */
#undef PLAN

/* A decimal fraction like 0.75; strtod would follow the user's locale. */
static bool models_scan_share(struct trace_text t, double below, double *out)
{
	struct trace_text whole = { "0", 1 };
	uint64_t units, decimals = 0;
	double scale = 1;

	if (!scan_until(&t, '.', &whole)) {
		whole = t;
		t.len = 0;
	}
	if (whole.len == 0 && t.len)
		whole = (struct trace_text){ "0", 1 };
	if (!scan_u64(whole, &units) || t.len > 15 ||
	    (t.len && !scan_u64(t, &decimals)))
		return false;
	for (size_t i = 0; i < t.len; i++)
		scale *= 10;
	*out = (double)units + (double)decimals / scale;
	return *out >= 0 && *out < below;
}

static bool models_set_value(enum kind kind, double below,
			     struct trace_text value, void *at)
{
	switch (kind) {
	case INTEGER:
		return scan_u64(value, at);
	case REAL:
		return models_scan_share(value, below, at);
	case TEXT:
		if (value.len == 0 || value.len >= TRACE_PLAN_FILE_MAX)
			return false;
		memcpy(at, value.at, value.len);
		((char *)at)[value.len] = '\0';
		return true;
	}
	return false;
}

/* A part of the preset's requests. */
static int models_set_scale(struct trace_plan *plan, struct trace_text value)
{
	double scale;

	if (!models_scan_share(value, 1e6, &scale))
		return TRACE_EOPTION;
	plan->requests =
		(uint64_t)((double)plan->model.requests * scale + 0.5);
	return 0;
}

static int models_set_option(struct trace_plan *plan, struct trace_text name,
			     struct trace_text value)
{
	if (scan_is(name, "scale"))
		return models_set_scale(plan, value);
	for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++)
		if (scan_is(name, options[i].name))
			return models_set_value(
				       options[i].kind, options[i].below, value,
				       (char *)plan + options[i].offset)
				       ? 0
				       : TRACE_EOPTION;
	return TRACE_EOPTION;
}

static int models_set_preset(struct trace_plan *plan, struct trace_text name)
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

static int models_check(struct trace_plan *plan)
{
	struct trace_model *m = &plan->model;

	/* a hit ratio is met by the number of objects; so only one is given */
	if (m->hit_ratio > 0 && m->objects)
		m->objects = 0;
	/* a list of objects and their shares leaves nothing to be solved for */
	if (plan->popularity[0])
		m->hit_ratio = 0;
	/* a list of sizes is in bytes */
	if (plan->sizes[0] && m->infinite_bytes <= 0)
		m->mean_bytes = 0;
	if (plan->requests == 0 || plan->requests > requests_max ||
	    m->objects > requests_max || m->rate <= 0 ||
	    (m->alpha <= 0 && !plan->popularity[0]))
		return TRACE_EOPTION;
	return 0;
}

int trace_plan_parse(struct trace_plan *out, const char *spec)
{
	struct trace_text rest = { spec, strlen(spec) }, word, name;
	bool more = scan_until(&rest, ',', &word);
	int err;

	memset(out, 0, sizeof(*out));
	out->seed = 1;
	out->refused = more ? word : rest;
	err = models_set_preset(out, out->refused);
	while (more && !err) {
		more = scan_until(&rest, ',', &word);
		out->refused = word = more ? word : rest;
		err = scan_until(&word, '=', &name)
			      ? models_set_option(out, name, word)
			      : TRACE_EOPTION;
	}
	if (err)
		return err;
	out->refused.len = 0;
	return models_check(out);
}
