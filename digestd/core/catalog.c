/*
 * The catalog.
 */
#include "digestd/core/catalog.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

struct catalog {
	struct scd_counting *filter;
	struct scd_counting *next; /* null: no rebuild */
	struct keypart part;       /* of the rebuild: those below are in next */
	uint64_t nkeys;
	uint64_t changed;
	uint64_t generation;
	int64_t published_ms;
	bool resized; /* since the last generation */
	uint64_t grown, shrunk;
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
	scd_counting_free(&(*c)->next);
	free(*c);
	*c = NULL;
}

/* Whether the next filter is to have a key already, if it is there. */
static bool is_in_next(const struct catalog *c, const struct scd_key *key)
{
	return c->next && keypart_of(key, c->part.count) < c->part.number;
}

void catalog_add(struct catalog *c, const struct scd_key *key)
{
	scd_counting_add(c->filter, key);
	if (is_in_next(c, key))
		scd_counting_add(c->next, key);
	c->nkeys++;
	c->changed++;
}

void catalog_remove(struct catalog *c, const struct scd_key *key)
{
	scd_counting_remove(c->filter, key);
	if (is_in_next(c, key))
		scd_counting_remove(c->next, key);
	c->nkeys--;
	c->changed++;
}

static uint64_t bits_of(const struct scd_counting *filter)
{
	return scd_counting_bloom(filter)->nbits;
}

/* The rate of false positives to expect of the filter as it is. */
static double fp_of(const struct scd_counting *filter)
{
	double fill = (double)scd_counting_ones(filter) /
		      (double)bits_of(filter);

	return pow(fill, scd_counting_bloom(filter)->nhash);
}

/* Whether it is better to wait for a larger filter than to publish this. */
static bool is_too_full(const struct catalog *c)
{
	return c->next && bits_of(c->next) > bits_of(c->filter) &&
	       fp_of(c->filter) > CATALOG_MAX_FP;
}

bool catalog_due(const struct catalog *c, const struct publish_policy *policy,
		 int64_t now_ms)
{
	int64_t since_ms = now_ms - c->published_ms;

	if (!c->generation)
		return true;
	if ((!c->changed && !c->resized) || since_ms < policy->min_ms ||
	    is_too_full(c))
		return false;
	if (c->resized || since_ms >= policy->max_ms)
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
	c->resized = false;
	c->published_ms = now_ms;
	out->generation = ++c->generation;
	out->nkeys = c->nkeys;
	return SCD_OK;
}

void catalog_rebuild(struct catalog *c, struct scd_counting *next,
		     uint64_t nparts)
{
	assert(!c->next && nparts && !(nparts & (nparts - 1)));
	assert(scd_counting_bloom(next)->nhash ==
	       scd_counting_bloom(c->filter)->nhash);
	assert(!scd_counting_ones(next));
	c->part = (struct keypart){ 0, nparts };
	c->next = next;
}

const struct keypart *catalog_rebuild_part(const struct catalog *c)
{
	return c->next ? &c->part : NULL;
}

void catalog_rebuild_key(struct catalog *c, const struct scd_key *key)
{
	assert(c->next && keypart_of(key, c->part.count) == c->part.number);
	scd_counting_add(c->next, key);
}

struct scd_counting *catalog_rebuild_next(struct catalog *c)
{
	struct scd_counting *old = c->filter;

	assert(c->next);
	if (++c->part.number < c->part.count)
		return NULL;
	if (bits_of(c->next) > bits_of(old))
		c->grown++;
	else
		c->shrunk++;
	c->filter = c->next;
	c->next = NULL;
	c->resized = true;
	return old;
}

void catalog_stats(const struct catalog *c, struct catalog_stats *out)
{
	const struct scd_bloom *b = scd_counting_bloom(c->filter);

	*out = (struct catalog_stats){
		.nbits = b->nbits,
		.nhash = b->nhash,
		.nkeys = c->nkeys,
		.nones = scd_counting_ones(c->filter),
		.saturated = scd_counting_saturated(c->filter),
		.changed = c->changed,
		.generation = c->generation,
		.fp = fp_of(c->filter),
		.next_nbits = c->next ? bits_of(c->next) : 0,
		.grown = c->grown,
		.shrunk = c->shrunk,
	};
}
