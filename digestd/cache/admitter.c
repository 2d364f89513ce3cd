/*
 * The policy behind a lock.
 */
#include "digestd/cache/admitter.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "codec/admission.h"
#include "codec/error.h"
#include "digestd/admission/admission_rate.h"
#include "digestd/store/eviction.h"

/* Fewer objects say too little about how many there will be. */
enum { ENOUGH_OBJECTS = 1000 };

struct admitter {
	pthread_mutex_t lock; /* guards all below */
	struct admission *admission;
	struct admission_rate rate;
	double memory_share; /* for what is on probation */
	uint64_t memory, capacity;
	bool fixed; /* the window; never changes */
	struct admitter_stats count;
};

const struct admission_policy *admitter_policy(const char *name)
{
	for (size_t i = 0; admission_offered[i]; i++)
		if (!strcmp(admission_offered[i]->name, name))
			return admission_offered[i];
	return NULL;
}

/* auto's miniatures have it of the whole. */
static double admitter_ram_share(double memory_share, uint64_t memory,
				 uint64_t capacity)
{
	return memory_share * (double)memory / (double)capacity;
}

static int admitter_make(const struct admitter_settings *settings,
			 struct admission **out)
{
	const struct admission_policy *p = admitter_policy(settings->policy);
	struct admission_config c;

	if (!p)
		return -EINVAL;
	admission_defaults(&c);
	c.window = settings->window;
	c.ram_share = admitter_ram_share(settings->memory_share,
					 settings->memory, settings->capacity);
	c.lambda = settings->write_cost;
	c.capacity = settings->capacity;
	c.mean_size = settings->mean_size;
	c.eviction = eviction_policy_find(settings->eviction);
	switch (admission_new(out, p, &c)) {
	case SCD_OK:
		return 0;
	case SCD_ENOMEM:
		return -ENOMEM;
	default:
		return -EINVAL;
	}
}

int admitter_new(const struct admitter_settings *settings, int64_t now_ms,
		 struct admitter **out)
{
	struct admitter *a = calloc(1, sizeof(*a));
	int err;

	assert(settings->policy && settings->eviction);
	assert(settings->memory_share >= 0 && settings->memory_share < 1);
	if (!a)
		return -ENOMEM;
	pthread_mutex_init(&a->lock, NULL);
	admission_rate_set(&a->rate, settings->max_rate, now_ms);
	a->memory_share = settings->memory_share;
	a->memory = settings->memory;
	a->capacity = settings->capacity;
	a->fixed = settings->window;
	err = admitter_make(settings, &a->admission);
	if (err)
		admitter_free(&a);
	*out = a;
	return err;
}

void admitter_free(struct admitter **a)
{
	if (!*a)
		return;
	admission_free(&(*a)->admission);
	pthread_mutex_destroy(&(*a)->lock);
	free(*a);
	*a = NULL;
}

/* What the policy says, as far as the cap allows. */
static enum admission_decision admitter_capped(struct admitter *a,
					       enum admission_decision d,
					       uint64_t size, int64_t now_ms)
{
	if (d != ADMISSION_DISK ||
	    admission_rate_take(&a->rate, size, now_ms))
		return d;
	a->count.capped++;
	return a->admission->policy->ram ? ADMISSION_RAM : ADMISSION_NO;
}

static void admitter_count(struct admitter *a, enum admission_decision d,
			   uint64_t size)
{
	switch (d) {
	case ADMISSION_NO:
		a->count.refused++;
		break;
	case ADMISSION_RAM:
		a->count.on_probation++;
		break;
	case ADMISSION_DISK:
		a->count.admitted++;
		a->count.admitted_bytes += size;
		break;
	}
}

enum admission_decision admitter_decide(struct admitter *a,
					const struct scd_key *key,
					uint64_t size, int64_t now_ms)
{
	const struct admission_item item = { key->lo, size };
	enum admission_decision d;

	pthread_mutex_lock(&a->lock);
	d = admitter_capped(a, admission_decide(a->admission, &item), size,
			    now_ms);
	admitter_count(a, d, size);
	pthread_mutex_unlock(&a->lock);
	return d;
}

/* What it would say now, if asked for good. */
static enum admission_decision admitter_foretell(const struct admitter *a,
						 uint64_t hash)
{
	if (admission_admits_all(a->admission) ||
	    admission_seen(a->admission, hash))
		return ADMISSION_DISK;
	return a->admission->policy->ram ? ADMISSION_RAM : ADMISSION_NO;
}

enum admission_decision admitter_answer(struct admitter *a,
					const struct scd_key *key,
					uint64_t size, bool note,
					int64_t now_ms)
{
	enum admission_decision d = ADMISSION_NO;

	if (note)
		d = admitter_decide(a, key, size, now_ms);
	pthread_mutex_lock(&a->lock);
	if (!note)
		d = admitter_foretell(a, key->lo);
	a->count.questions++;
	pthread_mutex_unlock(&a->lock);
	return d;
}

bool admitter_wants_ram(const struct admitter *a)
{
	return a->admission->policy->ram;
}

bool admitter_hears_hits(const struct admitter *a)
{
	return a->admission->policy->ram || a->admission->policy->request;
}

uint64_t admitter_ram_bytes(struct admitter *a, uint64_t memory)
{
	uint64_t bytes = 0;

	if (!admitter_wants_ram(a))
		return 0;
	pthread_mutex_lock(&a->lock);
	if (!admission_admits_all(a->admission))
		bytes = (uint64_t)((double)memory * a->memory_share);
	pthread_mutex_unlock(&a->lock);
	return bytes;
}

void admitter_note(struct admitter *a, const struct scd_key *key)
{
	pthread_mutex_lock(&a->lock);
	admission_note(a->admission, key->lo);
	pthread_mutex_unlock(&a->lock);
}

void admitter_request(struct admitter *a, const struct scd_key *key,
		      uint64_t size, bool hit)
{
	const struct admission_item item = { key->lo, size };

	if (!a->admission->policy->request)
		return;
	pthread_mutex_lock(&a->lock);
	admission_request(a->admission, &item, hit);
	pthread_mutex_unlock(&a->lock);
}

const struct scd_admission *admitter_seen(struct admitter *a)
{
	struct scd_admission **at = admission_filter(a->admission);

	return at ? *at : NULL;
}

void admitter_take(struct admitter *a, struct scd_admission *seen)
{
	struct scd_admission **at = admission_filter(a->admission);

	assert(at && seen);
	pthread_mutex_lock(&a->lock);
	scd_admission_free(at);
	*at = seen;
	a->admission->config.window = scd_admission_window(seen);
	pthread_mutex_unlock(&a->lock);
}

void admitter_follow(struct admitter *a, const struct store_stats *held)
{
	uint64_t objects = 0;

	pthread_mutex_lock(&a->lock);
	/* entries that the policy has not been told of weigh nothing yet */
	if (!a->fixed && held->weight && held->entries >= ENOUGH_OBJECTS)
		objects = (uint64_t)((double)a->capacity /
				     (double)held->weight *
				     (double)held->entries);
	a->admission->config.ram_share =
		admitter_ram_share(a->memory_share, a->memory, a->capacity);
	/* without memory: at the next call */
	(void)admission_resize(a->admission, a->capacity, objects);
	pthread_mutex_unlock(&a->lock);
}

bool admitter_is_fixed(const struct admitter *a)
{
	return a->fixed;
}

void admitter_set(struct admitter *a, const struct admitter_settings *settings,
		  int64_t now_ms)
{
	pthread_mutex_lock(&a->lock);
	a->memory = settings->memory;
	a->capacity = settings->capacity;
	a->admission->config.lambda = settings->write_cost;
	admission_rate_set(&a->rate, settings->max_rate, now_ms);
	pthread_mutex_unlock(&a->lock);
}

void admitter_stats(struct admitter *a, struct admitter_stats *out)
{
	struct admission_stats now;

	pthread_mutex_lock(&a->lock);
	*out = a->count;
	admission_stats(a->admission, &now);
	out->window = now.tracked;
	out->bytes = now.bytes;
	out->admits_all = admission_admits_all(a->admission);
	pthread_mutex_unlock(&a->lock);
}
