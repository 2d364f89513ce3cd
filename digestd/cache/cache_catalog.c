/*
 * The catalog, and what it is told by the cache: which keys have come and gone.
 *
 * A change of a filter is a dozen cache misses, several times as much as the
 * change of the store that it belongs to. So while there are several workers,
 * who changes the store only writes the key down, and all that has been written
 * down is told at once, when a worker rests or somebody wants the catalog; by
 * one thread at a time, in the order in which it was written down, which is
 * that of the changes under the cache's lock. A single worker's changes are
 * told one by one, when they happen.
 *
 * Locks are taken in this order: the cache's, the catalog's, that of what has
 * been written down. The last one is held for some instructions only.
 */
#include <assert.h>
#include <errno.h>

#include "digestd/cache/cache_inside.h"

static bool cache_catalog_has_key(const struct tier *t,
				  const struct scd_key *key)
{
	return t->store && store_find(t->store, key);
}

/* Whether another tier has a variant of it: then the catalog has the key,
 * whatever happens in this one. */
static bool cache_catalog_is_elsewhere(const struct tier *t,
				       const struct scd_key *key)
{
	const struct cache *c = t->cache;

	return (t != &c->main && cache_catalog_has_key(&c->main, key)) ||
	       (t != &c->ram && cache_catalog_has_key(&c->ram, key)) ||
	       (t != &c->ondisk && cache_catalog_has_key(&c->ondisk, key));
}

/* Telling */

static void cache_catalog_tell(struct cache *cache,
			       const struct cache_change *change)
{
	if (change->came)
		catalog_add(cache->catalog, &change->key);
	else
		catalog_remove(cache->catalog, &change->key);
}

/* Takes what has been written down by now; an empty list takes its place. */
static struct cache_changes *cache_catalog_take(struct cache *cache)
{
	struct cache_changes *taken;

	pthread_mutex_lock(&cache->changes_lock);
	taken = cache->written;
	cache->written = taken == &cache->changes[0] ? &cache->changes[1] :
						       &cache->changes[0];
	assert(!cache->written->n);
	pthread_mutex_unlock(&cache->changes_lock);
	return taken;
}

/* With the catalog's lock. Others may write down more meanwhile. */
static void cache_catalog_tell_all(struct cache *cache)
{
	struct cache_changes *taken;

	if (!__atomic_load_n(&cache->has_changes, __ATOMIC_RELAXED))
		return;
	__atomic_store_n(&cache->has_changes, false, __ATOMIC_RELAXED);
	taken = cache_catalog_take(cache);
	for (unsigned i = 0; i < taken->n; i++)
		cache_catalog_tell(cache, &taken->at[i]);
	taken->n = 0;
}

struct catalog *cache_lock(struct cache *cache)
{
	pthread_mutex_lock(&cache->catalog_lock);
	cache_catalog_tell_all(cache);
	return cache->catalog;
}

void cache_unlock(struct cache *cache)
{
	pthread_mutex_unlock(&cache->catalog_lock);
}

/* If somebody has the catalog, there is a next time. */
void cache_tell_catalog(struct cache *cache)
{
	if (!__atomic_load_n(&cache->has_changes, __ATOMIC_RELAXED) ||
	    pthread_mutex_trylock(&cache->catalog_lock))
		return;
	cache_catalog_tell_all(cache);
	cache_unlock(cache);
}

/* Changes; with the cache's lock */

static bool cache_catalog_has_workers(const struct cache *cache)
{
	return cache->domain.readers && cache->domain.readers->next;
}

/* False: there is no room. */
static bool cache_catalog_write(struct cache *cache,
				const struct cache_change *change)
{
	struct cache_changes *written;
	bool room;

	pthread_mutex_lock(&cache->changes_lock);
	written = cache->written;
	room = written->n < CACHE_CHANGES;
	if (room)
		written->at[written->n++] = *change;
	__atomic_store_n(&cache->has_changes, true, __ATOMIC_RELAXED);
	pthread_mutex_unlock(&cache->changes_lock);
	return room;
}

static void cache_catalog_change(struct cache *cache,
				 const struct scd_key *key, bool came)
{
	const struct cache_change change = { *key, came };

	if (cache_catalog_has_workers(cache) &&
	    cache_catalog_write(cache, &change))
		return;
	cache_lock(cache);
	cache_catalog_tell(cache, &change);
	cache_unlock(cache);
}

static bool cache_catalog_is_held(const struct cache *cache,
				  const struct scd_key *key)
{
	return cache->held && cache->held->lo == key->lo &&
	       cache->held->hi == key->hi;
}

static void cache_catalog_hear(const struct tier *t, const struct scd_key *key,
			       bool came)
{
	/* while the disk is loaded there is no catalog yet */
	if (t->cache->catalog && !cache_catalog_is_held(t->cache, key) &&
	    !cache_catalog_is_elsewhere(t, key))
		cache_catalog_change(t->cache, key, came);
}

void cache_key_added(void *arg, const struct scd_key *key)
{
	cache_catalog_hear(arg, key, true);
}

void cache_key_removed(void *arg, const struct scd_key *key)
{
	cache_catalog_hear(arg, key, false);
}

static bool cache_catalog_is_anywhere(const struct cache *cache,
				      const struct scd_key *key)
{
	return cache_catalog_has_key(&cache->main, key) ||
	       cache_catalog_has_key(&cache->ram, key) ||
	       cache_catalog_has_key(&cache->ondisk, key);
}

void cache_hold_key(struct cache *cache, const struct scd_key *key)
{
	assert(!cache->held);
	cache->held = key;
	cache->had_held = cache_catalog_is_anywhere(cache, key);
}

void cache_let_key_go(struct cache *cache)
{
	const struct scd_key *key = cache->held;
	bool has;

	assert(key);
	cache->held = NULL;
	has = cache_catalog_is_anywhere(cache, key);
	if (has != cache->had_held)
		cache_catalog_change(cache, key, has);
}

/* Making it, and moving it to another size */

static void cache_catalog_add_key(void *arg, const struct scd_key *key)
{
	catalog_add(arg, key);
}

int cache_make_catalog(struct cache *cache,
		       const struct cache_settings *settings)
{
	const struct keypart all = { .number = 0, .count = 1 };
	struct store_stats disk = { .keys = 0 };
	uint64_t nbits = settings->nbits;
	int err;

	if (cache->ondisk.store)
		store_stats(cache->ondisk.store, &disk);
	while (nbits < settings->max_bits &&
	       nbits / settings->bits_per_key < disk.keys)
		nbits *= 2;
	err = catalog_new(&cache->catalog, nbits, settings->nhash);
	if (err)
		return err == SCD_ENOMEM ? -ENOMEM : -EINVAL;
	if (cache->ondisk.store)
		store_each_key(cache->ondisk.store, &all, cache_catalog_add_key,
			       cache->catalog);
	return 0;
}

/* For walks over all tiers: as the largest one wants it. */
static uint64_t cache_catalog_parts(const struct cache *cache)
{
	uint64_t n = store_parts(cache->main.store), ondisk;

	if (!cache->ondisk.store)
		return n;
	ondisk = store_parts(cache->ondisk.store);
	return ondisk > n ? ondisk : n;
}

uint64_t cache_parts(struct cache *cache)
{
	uint64_t n;

	cache_enter(cache);
	n = cache_catalog_parts(cache);
	cache_leave(cache);
	return n;
}

int cache_rebuild(struct cache *cache, uint64_t nbits)
{
	uint64_t nparts = cache_parts(cache);
	struct catalog_stats now;
	struct scd_counting *next;
	int error;

	assert(nbits);
	catalog_stats(cache_lock(cache), &now);
	cache_unlock(cache);
	error = scd_counting_new(&next, nbits, now.nhash);
	if (error)
		return error;
	/* touches all pages: under the lock they would cost milliseconds */
	scd_counting_clear(next);
	catalog_rebuild(cache_lock(cache), next, nparts);
	cache_unlock(cache);
	return SCD_OK;
}

static void cache_catalog_rebuild_key(void *arg, const struct scd_key *key)
{
	const struct tier *t = arg;
	const struct cache *cache = t->cache;

	/* what is in several comes once: in the first of them */
	if ((t != &cache->main && cache_catalog_has_key(&cache->main, key)) ||
	    (t == &cache->ondisk && cache_catalog_has_key(&cache->ram, key)))
		return;
	catalog_rebuild_key(cache->catalog, key);
}

static void cache_catalog_rebuild_tier(struct tier *t)
{
	if (t->store)
		store_each_key(t->store,
			       catalog_rebuild_part(t->cache->catalog),
			       cache_catalog_rebuild_key, t);
}

/* With both locks: the part is as the store is, and all else has been told. */
bool cache_rebuild_part(struct cache *cache)
{
	struct scd_counting *old;
	bool last;

	cache_enter(cache);
	cache_lock(cache);
	cache_catalog_rebuild_tier(&cache->main);
	cache_catalog_rebuild_tier(&cache->ram);
	cache_catalog_rebuild_tier(&cache->ondisk);
	old = catalog_rebuild_next(cache->catalog);
	cache_unlock(cache);
	cache_leave(cache);
	last = old;
	scd_counting_free(&old);
	return last;
}
