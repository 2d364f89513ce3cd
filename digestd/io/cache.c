/*
 * The shared cache. What leaves the store under the lock is put on a list and
 * given up after it: freeing a large body takes longer than the rest.
 */
#include "digestd/io/cache.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "digestd/core/catalog.h"
#include "digestd/core/vary.h"
#include "digestd/io/flight.h"

/* What an entry weighs beside its fields and body. */
enum { CACHED_OVERHEAD = sizeof(struct cached) + 32 };

struct cache {
	pthread_mutex_t lock; /* guards store, catalog, leaving */
	struct store *store;
	struct catalog *catalog;
	struct cached *leaving;
	struct flights *flights;
	struct store_events events;
	uint64_t purges; /* changed atomically */
};

struct cached *cached_new(void)
{
	struct cached *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->refs = 1;
	fields_init(&c->fields);
	fields_init(&c->selecting);
	return c;
}

struct cached *cached_ref(struct cached *c)
{
	__atomic_add_fetch(&c->refs, 1, __ATOMIC_RELAXED);
	return c;
}

void cached_unref(struct cached **c)
{
	struct cached *gone = *c;

	*c = NULL;
	if (!gone || __atomic_sub_fetch(&gone->refs, 1, __ATOMIC_ACQ_REL))
		return;
	if (gone->body_of)
		cached_unref(&gone->body_of);
	else
		free(gone->body);
	free(gone->uri);
	fields_free(&gone->fields);
	fields_free(&gone->selecting);
	free(gone);
}

static void key_added(void *arg, const struct scd_key *key)
{
	catalog_add(((struct cache *)arg)->catalog, key);
}

static void key_removed(void *arg, const struct scd_key *key)
{
	catalog_remove(((struct cache *)arg)->catalog, key);
}

static void released(void *arg, struct store_entry *entry)
{
	struct cache *cache = arg;
	struct cached *c = (struct cached *)entry;

	c->next = cache->leaving;
	cache->leaving = c;
}

/* Unlocks, and gives up what has left the store meanwhile. */
static void unlock(struct cache *cache)
{
	struct cached *leaving = cache->leaving;

	cache->leaving = NULL;
	pthread_mutex_unlock(&cache->lock);
	while (leaving) {
		struct cached *c = leaving;

		leaving = c->next;
		cached_unref(&c);
	}
}

static int fill(struct cache *cache, const struct cache_settings *settings)
{
	const struct eviction_policy *policy =
		eviction_policy_find(settings->policy);
	int err;

	if (!policy)
		return -EINVAL;
	err = flights_new(&cache->flights);
	if (!err)
		err = store_new(&cache->store, settings->max_bytes, policy,
				&cache->events);
	if (err)
		return err;
	store_limit_variants(cache->store, settings->max_variants);
	return catalog_new(&cache->catalog, settings->nbits, settings->nhash) ?
		-EINVAL : 0;
}

int cache_new(const struct cache_settings *settings, struct cache **out)
{
	struct cache *cache = calloc(1, sizeof(*cache));
	int err;

	if (!cache)
		return -ENOMEM;
	pthread_mutex_init(&cache->lock, NULL);
	cache->events = (struct store_events){ key_added, key_removed, released,
					       cache };
	err = fill(cache, settings);
	if (err) {
		cache_free(&cache);
		return err;
	}
	*out = cache;
	return 0;
}

void cache_free(struct cache **cache)
{
	struct cache *c = *cache;

	if (!c)
		return;
	pthread_mutex_lock(&c->lock);
	store_free(&c->store);
	unlock(c);
	catalog_free(&c->catalog);
	flights_free(&c->flights);
	pthread_mutex_destroy(&c->lock);
	free(c);
	*cache = NULL;
}

void cache_limit(struct cache *cache, uint64_t max_bytes, unsigned max_variants)
{
	pthread_mutex_lock(&cache->lock);
	store_resize(cache->store, max_bytes);
	store_limit_variants(cache->store, max_variants);
	unlock(cache);
}

struct catalog *cache_lock(struct cache *cache)
{
	pthread_mutex_lock(&cache->lock);
	return cache->catalog;
}

void cache_unlock(struct cache *cache)
{
	unlock(cache);
}

int cache_rebuild(struct cache *cache, uint64_t nbits)
{
	struct catalog_stats now;
	struct scd_counting *next;
	int error;

	catalog_stats(cache_lock(cache), &now);
	cache_unlock(cache);
	error = scd_counting_new(&next, nbits, now.nhash);
	if (error)
		return error;
	/* touches all pages: under the lock they would cost milliseconds */
	scd_counting_clear(next);
	pthread_mutex_lock(&cache->lock);
	catalog_rebuild(cache->catalog, next, store_parts(cache->store));
	unlock(cache);
	return SCD_OK;
}

static void rebuild_key(void *arg, const struct scd_key *key)
{
	catalog_rebuild_key(arg, key);
}

bool cache_rebuild_part(struct cache *cache)
{
	struct scd_counting *old;
	bool last;

	pthread_mutex_lock(&cache->lock);
	store_each_key(cache->store, catalog_rebuild_part(cache->catalog),
		       rebuild_key, cache->catalog);
	old = catalog_rebuild_next(cache->catalog);
	unlock(cache);
	last = old;
	scd_counting_free(&old);
	return last;
}

int cache_snapshot(struct cache *cache)
{
	struct catalog_stats now;
	struct scd_bloom copy;
	int error;

	catalog_stats(cache_lock(cache), &now);
	cache_unlock(cache);
	error = scd_bloom_init(&copy, now.nbits, now.nhash);
	if (error)
		return error;
	/* touches all pages: that takes longer than the copy */
	scd_bloom_clear(&copy);
	catalog_snapshot_begin(cache_lock(cache), &copy);
	cache_unlock(cache);
	return SCD_OK;
}

bool cache_snapshot_slice(struct cache *cache, int64_t now_ms,
			  struct catalog_snapshot *out)
{
	bool last = catalog_snapshot_slice(cache_lock(cache), now_ms, out);

	cache_unlock(cache);
	return last;
}

void cache_stats(struct cache *cache, struct store_stats *store,
		 struct catalog_stats *catalog)
{
	pthread_mutex_lock(&cache->lock);
	store_stats(cache->store, store);
	catalog_stats(cache->catalog, catalog);
	unlock(cache);
}

static struct cached *find(struct cache *cache, const struct scd_key *key,
			   const struct fields *request,
			   enum cachestatus_fwd *why)
{
	struct store_entry *e = store_find(cache->store, key);

	*why = e ? CACHESTATUS_VARY_MISS : CACHESTATUS_URI_MISS;
	for (; e; e = store_next(e)) {
		struct cached *c = (struct cached *)e;

		if (vary_match(&c->selecting, request))
			return c;
	}
	return NULL;
}

struct cached *cache_get(struct cache *cache, const struct scd_key *key,
			 const struct fields *request,
			 enum cachestatus_fwd *why)
{
	struct cached *c;

	pthread_mutex_lock(&cache->lock);
	c = find(cache, key, request, why);
	if (c) {
		store_touch(cache->store, &c->entry);
		cached_ref(c);
	}
	unlock(cache);
	return c;
}

bool cache_put(struct cache *cache, const struct scd_key *key,
	       const struct fields *request, struct cached *c)
{
	size_t weight = CACHED_OVERHEAD + fields_memory(&c->fields) +
			fields_memory(&c->selecting) + c->body_len +
			(c->uri ? strlen(c->uri) + 1 : 0);
	enum cachestatus_fwd why;
	struct cached *old;
	int err;

	pthread_mutex_lock(&cache->lock);
	old = find(cache, key, request, &why);
	err = old ? store_replace(cache->store, &old->entry, &c->entry,
				  weight) :
		    store_insert(cache->store, &c->entry, key, weight);
	if (!err)
		cached_ref(c);
	unlock(cache);
	return !err;
}

size_t cache_drop(struct cache *cache, const struct scd_key *key)
{
	size_t n;

	pthread_mutex_lock(&cache->lock);
	n = store_remove_key(cache->store, key);
	unlock(cache);
	return n;
}

void cache_purge_begin(struct cache *cache)
{
	__atomic_add_fetch(&cache->purges, 1, __ATOMIC_ACQ_REL);
}

uint64_t cache_purges(const struct cache *cache)
{
	return __atomic_load_n(&cache->purges, __ATOMIC_ACQUIRE);
}

uint64_t cache_parts(struct cache *cache)
{
	uint64_t n;

	pthread_mutex_lock(&cache->lock);
	n = store_parts(cache->store);
	unlock(cache);
	return n;
}

/* A walk over a part, and what it has found, by `next`: nothing may be removed
 * while it is under way. */
struct selection {
	const struct store *store;
	bool (*matches)(void *arg, const struct cached *c);
	void *arg;
	struct cached *found;
};

static void select_key(void *arg, const struct scd_key *key)
{
	struct selection *sel = arg;

	for (struct store_entry *e = store_find(sel->store, key); e;
	     e = store_next(e)) {
		struct cached *c = (struct cached *)e;

		if (!sel->matches(sel->arg, c))
			continue;
		c->next = sel->found;
		sel->found = c;
	}
}

size_t cache_purge_part(struct cache *cache, const struct keypart *part,
			bool (*matches)(void *arg, const struct cached *c),
			void *arg)
{
	struct selection sel = { cache->store, matches, arg, NULL };
	size_t n = 0;

	pthread_mutex_lock(&cache->lock);
	store_each_key(cache->store, part, select_key, &sel);
	for (; sel.found; n++) {
		struct cached *c = sel.found;

		sel.found = c->next;
		store_remove(cache->store, &c->entry);
	}
	unlock(cache);
	return n;
}

struct flights *cache_flights(struct cache *cache)
{
	return cache->flights;
}
