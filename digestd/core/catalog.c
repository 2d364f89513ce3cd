/*
 * The catalog.
 */
#include "digestd/core/catalog.h"

#include <math.h>
#include <stdlib.h>

#include "codec/counting.h"

struct catalog {
	struct scd_counting *filter;
	uint64_t nkeys;
	uint64_t changed;
	uint64_t generation;
	int64_t published_ms;
};

int catalog_new(struct catalog **out, uint64_t nbits, unsigned nhash)
{
	struct catalog *c = calloc(1, sizeof(*c));
	int error = SCD_ENOMEM;

	if (c)
		error = scd_counting_new(&c->filter, nbits, nhash);
	if (error) {
		free(c);
		return error;
	}
	*out = c;
	return SCD_OK;
}

void catalog_free(struct catalog **c)
{
	if (!*c)
		return;
	scd_counting_free(&(*c)->filter);
	free(*c);
	*c = NULL;
}

void catalog_add(struct catalog *c, const struct scd_key *key)
{
	scd_counting_add(c->filter, key);
	c->nkeys++;
	c->changed++;
}

void catalog_remove(struct catalog *c, const struct scd_key *key)
{
	scd_counting_remove(c->filter, key);
	c->nkeys--;
	c->changed++;
}

bool catalog_due(const struct catalog *c, const struct publish_policy *policy,
		 int64_t now_ms)
{
	int64_t since_ms = now_ms - c->published_ms;

	if (!c->generation)
		return true;
	if (!c->changed || since_ms < policy->min_ms)
		return false;
	if (since_ms >= policy->max_ms)
		return true;
	return (double)c->changed >= policy->share * (double)c->nkeys;
}

int catalog_snapshot(struct catalog *c, int64_t now_ms,
		     struct catalog_snapshot *out)
{
	int error = scd_bloom_copy(scd_counting_bloom(c->filter), &out->bloom);

	if (error)
		return error;
	c->changed = 0;
	c->published_ms = now_ms;
	out->generation = ++c->generation;
	out->nkeys = c->nkeys;
	return SCD_OK;
}

void catalog_stats(const struct catalog *c, struct catalog_stats *out)
{
	const struct scd_bloom *b = scd_counting_bloom(c->filter);
	double fill;

	*out = (struct catalog_stats){
		.nbits = b->nbits,
		.nhash = b->nhash,
		.nkeys = c->nkeys,
		.nones = scd_counting_ones(c->filter),
		.saturated = scd_counting_saturated(c->filter),
		.changed = c->changed,
		.generation = c->generation,
	};
	fill = (double)out->nones / (double)out->nbits;
	out->fp = pow(fill, out->nhash);
}
