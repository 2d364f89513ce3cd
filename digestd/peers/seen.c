/*
 * The set: the store's index, with entries that are nothing but their keys and
 * weigh 1 each.
 */
#include "digestd/peers/seen.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "codec/error.h"
#include "digestd/mesh/catalog.h"
#include "digestd/store/eviction.h"
#include "digestd/store/store.h"

struct seen {
	pthread_mutex_t lock; /* guards all below */
	struct store *store;
	struct catalog *catalog;
	struct store_events events;
};

static void seen_key_added(void *arg, const struct scd_key *key)
{
	catalog_add(((struct seen *)arg)->catalog, key);
}

static void seen_key_removed(void *arg, const struct scd_key *key)
{
	catalog_remove(((struct seen *)arg)->catalog, key);
}

static void seen_released(void *arg, struct store_entry *entry)
{
	(void)arg;
	free(entry);
}

static size_t seen_weight(void *arg, const struct store_entry *entry)
{
	(void)arg;
	(void)entry;
	return 1;
}

static int seen_fill(struct seen *s, const struct seen_settings *settings)
{
	int err;

	s->events = (struct store_events){seen_key_added, seen_key_removed,
					  seen_released, seen_weight, NULL, s};
	err = store_new(&s->store, settings->window,
			eviction_policy_find("lru"), &s->events);
	if (err)
		return err;
	if (!settings->nbits) /* what is seen is published as an array */
		return -EINVAL;
	err = catalog_new(&s->catalog, settings->nbits, settings->nhash);
	if (err)
		return err == SCD_ENOMEM ? -ENOMEM : -EINVAL;
	return 0;
}

int seen_new(const struct seen_settings *settings, struct seen **out)
{
	struct seen *s = calloc(1, sizeof(*s));
	int err;

	assert(settings->window > 0);
	if (!s)
		return -ENOMEM;
	pthread_mutex_init(&s->lock, NULL);
	err = seen_fill(s, settings);
	if (err) {
		seen_free(&s);
		return err;
	}
	*out = s;
	return 0;
}

void seen_free(struct seen **s)
{
	if (!*s)
		return;
	store_free(&(*s)->store);
	catalog_free(&(*s)->catalog);
	pthread_mutex_destroy(&(*s)->lock);
	free(*s);
	*s = NULL;
}

bool seen_use(struct seen *s, const struct scd_key *key)
{
	struct store_entry *e;
	bool was_in;

	pthread_mutex_lock(&s->lock);
	e = store_find(s->store, key);
	was_in = e;
	if (e) {
		store_touch(s->store, e);
	} else {
		e = calloc(1, sizeof(*e));
		if (e && store_insert(s->store, e, key))
			free(e);
	}
	pthread_mutex_unlock(&s->lock);
	return was_in;
}

static struct catalog *seen_lock(void *arg)
{
	struct seen *s = arg;

	pthread_mutex_lock(&s->lock);
	return s->catalog;
}

static void seen_unlock(void *arg)
{
	pthread_mutex_unlock(&((struct seen *)arg)->lock);
}

struct publisher_source seen_source(struct seen *s)
{
	return (struct publisher_source){s, seen_lock, seen_unlock, NULL, NULL};
}
