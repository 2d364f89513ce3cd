/*
 * Admission: which policies a node can have, and what all of them share: making
 * one, and measuring it.
 */
#include "digestd/admission/admission_policy.h"

#include <stdlib.h>

#include "codec/error.h"
#include "digestd/admission/admission_twin.h"

const struct admission_policy *const admission_offered[] = {
	&admission_none,
	&admission_aged,
	&admission_probation,
	&admission_auto,
	NULL,
};

/* Objects that the cache holds, or one. */
static uint64_t admission_objects_held(const struct admission_config *c)
{
	uint64_t n = c->capacity / (c->mean_size ? c->mean_size : 1);

	return n ? n : 1;
}

int admission_new(struct admission **out, const struct admission_policy *policy,
		  const struct admission_config *c)
{
	struct admission *a = calloc(1, policy->size);
	int err = 0;

	if (!a)
		return SCD_ENOMEM;
	a->policy = policy;
	a->config = *c;
	if (!c->window && !policy->for_ever)
		a->config.window = admission_objects_held(c) +
				   admission_objects_held(c) / 2;
	if (c->measure)
		err = admission_twin_new(&a->twin);
	if (!err && policy->init)
		err = policy->init(a);
	if (err) {
		admission_free(&a);
		return err;
	}
	*out = a;
	return 0;
}

/* Not for each object more or less: a new window costs memory for a while. */
static bool admission_is_about(uint64_t window, uint64_t wanted)
{
	return window <= wanted + wanted / 2 && wanted <= window + window / 2;
}

int admission_resize(struct admission *a, uint64_t capacity, uint64_t objects)
{
	struct admission_config next = a->config;
	int err;

	if (a->policy->settle)
		a->policy->settle(a);
	next.capacity = capacity;
	if (objects) {
		next.mean_size = capacity / objects;
		next.window = objects + objects / 2;
	}
	if (admission_is_about(a->config.window, next.window))
		next.window = a->config.window;
	if (!a->policy->resize || (next.window == a->config.window &&
				   next.capacity == a->config.capacity))
		return 0;
	err = a->policy->resize(a, &next);
	if (!err)
		a->config = next;
	return err;
}

void admission_free(struct admission **a)
{
	if (!*a)
		return;
	if ((*a)->policy->release)
		(*a)->policy->release(*a);
	admission_twin_free(&(*a)->twin);
	free(*a);
	*a = NULL;
}

/* Keys that were never used say how often a filter is wrong. */
static void admission_measure(struct admission *a, uint64_t hash)
{
	if (!admission_twin_add(a->twin, hash))
		return;
	a->twin->fresh++;
	a->twin->false_seen += admission_seen(a, hash);
}

enum admission_decision admission_decide(struct admission *a,
					 const struct admission_item *r)
{
	if (a->twin)
		admission_measure(a, r->hash);
	return a->policy->decide(a, r);
}

void admission_note(struct admission *a, uint64_t hash)
{
	if (a->twin)
		admission_twin_add(a->twin, hash);
	if (a->policy->note)
		a->policy->note(a, hash);
}

bool admission_seen(const struct admission *a, uint64_t hash)
{
	return a->policy->seen && a->policy->seen(a, hash);
}

struct scd_admission **admission_filter(struct admission *a)
{
	return a->policy->filter ? a->policy->filter(a) : NULL;
}

bool admission_admits_all(const struct admission *a)
{
	return a->policy->admits_all && a->policy->admits_all(a);
}

void admission_stats(const struct admission *a, struct admission_stats *out)
{
	*out = (struct admission_stats){ .bytes = a->policy->size };
	if (a->policy->memory)
		out->bytes += a->policy->memory(a);
	if (a->policy->tracked)
		out->tracked = a->policy->tracked(a);
	if (a->twin) {
		out->fresh = a->twin->fresh;
		out->false_seen = a->twin->false_seen;
	}
}
