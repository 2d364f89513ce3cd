/*
 * See info.h. Requests of an object are counted up to two.
 */
#include "cachesim/sim/info.h"

#include <stdlib.h>

static double info_share(uint64_t part, uint64_t whole)
{
	return whole ? (double)part / (double)whole : 0;
}

/* The objects with one request. False: no memory. */
static bool info_count_one_hit(const struct sim_trace *t, uint64_t *out)
{
	uint8_t *seen = calloc(t->nobjects ? t->nobjects : 1, 1);
	uint64_t once = t->nobjects;

	if (!seen)
		return false;
	for (uint64_t i = 0; i < t->nrequests; i++) {
		uint8_t *s = &seen[t->object[i]];

		once -= *s == 1;
		*s = (uint8_t)(*s + (*s < 2));
	}
	free(seen);
	*out = once;
	return true;
}

static uint32_t info_latest(const struct sim_trace *t)
{
	uint32_t last = 0;

	for (uint64_t i = 0; t->time && i < t->nrequests; i++)
		last = t->time[i] > last ? t->time[i] : last;
	return last;
}

int sim_trace_info(const struct sim_trace *t, struct sim_info *out)
{
	uint64_t n = t->nrequests + t->npasses, passed = 0;
	uint64_t hits = t->nrequests - t->nobjects;

	for (uint64_t i = 0; i < t->npasses; i++)
		passed += t->pass_size[i];
	*out = (struct sim_info){
		.requests = n,
		.uncacheable = t->npasses,
		.objects = t->nobjects,
		.clients = t->nclients,
		.changes = t->nchanges,
		.bad = t->totals.bad,
		.bytes = t->totals.bytes + passed,
		.infinite = t->totals.unique_bytes,
		.first_ms = t->totals.first_ms,
		.seconds = info_latest(t),
		.hit_ratio = info_share(hits, n),
		.fresh_hit_ratio = info_share(hits - t->nchanges, n),
	};
	if (t->totals.bytes > out->infinite)
		out->byte_hit_ratio =
			info_share(t->totals.bytes - out->infinite, out->bytes);
	if (!info_count_one_hit(t, &out->one_hit))
		return TRACE_ENOMEM;
	out->one_hit_objects = info_share(out->one_hit, t->nobjects);
	out->one_hit_requests = info_share(out->one_hit, n);
	return 0;
}
