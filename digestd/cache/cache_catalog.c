/*
 * The catalog, and what it is told by the cache: which keys have come and gone.
 *
 * A change of a filter is a dozen cache misses, several times as much as the
 * change of the store that it belongs to. So while there are several workers,
 * who changes a shard only writes the key down there, and all that has been
 * written down is told at once, when a worker rests or somebody wants the
 * catalog; by one thread at a time, for each key in the order in which it was
 * written down, which is that of the changes under its shard's lock. A worker
 * remembers in which shards it has written something down, so that it asks no
 * others. A single worker's changes are told one by one, when they happen.
 */
#include <assert.h>
#include <errno.h>

#include "digestd/cache/cache_inside.h"

static bool cache_catalog_has_key(const struct tier *t,
				  const struct scd_key *key)
{
	return t->store && store_counts(t->store, key);
}

/* Whether another tier has a variant of it: then the catalog has the key,
 * whatever happens in this one. */
static bool cache_catalog_is_elsewhere(const struct tier *t,
				       const struct scd_key *key)
{
	const struct cache *c = t->cache;

	const struct tier *main = cache_main(c, key);

	return (t != main && cache_catalog_has_key(main, key)) ||
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

/* With the catalog's lock. Others may write down more meanwhile. */
static void cache_catalog_tell_shard(struct cache *cache,
				     struct cache_shard *shard)
{
	struct cache_changes *changes = &shard->changes;
	uint32_t written = __atomic_load_n(&changes->written, __ATOMIC_ACQUIRE);

	if (changes->told == written)
		return;
	for (uint32_t i = changes->told; i != written; i++)
		cache_catalog_tell(cache, &changes->at[i % CACHE_CHANGES]);
	__atomic_store_n(&changes->told, written, __ATOMIC_RELEASE);
}

struct catalog *cache_lock(struct cache *cache)
{
	pthread_mutex_lock(&cache->catalog_lock);
	for (unsigned i = 0; i < cache->nshards; i++)
		cache_catalog_tell_shard(cache, &cache->shards[i]);
	return cache->catalog;
}

void cache_unlock(struct cache *cache)
{
	pthread_mutex_unlock(&cache->catalog_lock);
}

/* If somebody has the catalog, there is a next time. */
uint64_t cache_tell_catalog(struct cache *cache, uint64_t changed)
{
	if (__atomic_load_n(&cache->changed, __ATOMIC_RELAXED))
		changed |= __atomic_exchange_n(&cache->changed, 0,
					       __ATOMIC_RELAXED);
	if (!changed || pthread_mutex_trylock(&cache->catalog_lock))
		return changed;
	for (; changed; changed &= changed - 1) {
		unsigned number = (unsigned)__builtin_ctzll(changed);

		cache_catalog_tell_shard(cache, &cache->shards[number]);
	}
	cache_unlock(cache);
	return 0;
}

/* Changes; with the shard's lock */

static bool cache_catalog_has_workers(const struct cache *cache)
{
	return __atomic_load_n(&cache->nreaders, __ATOMIC_RELAXED) > 1;
}

/* False: there is no room. */
static bool cache_catalog_write(struct cache_shard *shard,
				const struct cache_change *change)
{
	struct cache_changes *changes = &shard->changes;
	uint32_t told = __atomic_load_n(&changes->told, __ATOMIC_ACQUIRE);

	if (changes->written - told == CACHE_CHANGES)
		return false;
	changes->at[changes->written % CACHE_CHANGES] = *change;
	__atomic_store_n(&changes->written, changes->written + 1,
			 __ATOMIC_RELEASE);
	shard->batch->changed |= UINT64_C(1) << shard->number;
	return true;
}

static void cache_catalog_change(const struct tier *t,
				 const struct scd_key *key, bool came)
{
	const struct cache_change change = { *key, came };
	struct cache *cache = t->cache;

	if (cache_catalog_has_workers(cache) &&
	    cache_catalog_write(t->shard, &change))
		return;
	pthread_mutex_lock(&cache->catalog_lock);
	cache_catalog_tell_shard(cache, t->shard);
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
		cache_catalog_change(t, key, came);
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
	return cache_catalog_has_key(cache_main(cache, key), key) ||
	       cache_catalog_has_key(&cache->ram, key) ||
	       cache_catalog_has_key(&cache->ondisk, key);
}

bool cache_offers(struct cache *cache, const struct scd_key *key)
{
	struct cache_shard *shard = cache_shard_of(cache, key);
	bool offers;

	pthread_mutex_lock(&shard->lock);
	offers = cache_catalog_is_anywhere(cache, key);
	pthread_mutex_unlock(&shard->lock);
	return offers;
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
		cache_catalog_change(cache_main(cache, key), key, has);
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
	/* with lists, there is a filter when somebody asks for an array */
	err = catalog_new(&cache->catalog, settings->lists ? 0 : nbits,
			  settings->nhash);
	if (err)
		return err == SCD_ENOMEM ? -ENOMEM : -EINVAL;
	if (settings->lists)
		catalog_note_changes(cache->catalog);
	if (cache->ondisk.store)
		store_each_counted_key(cache->ondisk.store, &all,
				       cache_catalog_add_key, cache->catalog);
	return 0;
}

/* For walks over all tiers: as the largest one wants it. */
static uint64_t cache_catalog_parts(const struct cache *cache)
{
	uint64_t n = 0, ondisk;

	for (unsigned i = 0; i < cache->nshards; i++) {
		uint64_t parts = store_parts(cache->shards[i].main.store);

		n = parts > n ? parts : n;
	}
	n *= cache->nshards;
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
	if ((t->store != cache_main(cache, key)->store &&
	     cache_catalog_has_key(cache_main(cache, key), key)) ||
	    (t == &cache->ondisk && cache_catalog_has_key(&cache->ram, key)))
		return;
	catalog_rebuild_key(cache->catalog, key);
}

static void cache_catalog_rebuild_tier(struct tier *t)
{
	if (t->store)
		store_each_counted_key(t->store,
				       catalog_rebuild_part(t->cache->catalog),
				       cache_catalog_rebuild_key, t);
}

/* With all locks: the part is as the stores are, and all else has been told. */
bool cache_rebuild_part(struct cache *cache)
{
	struct scd_counting *old;
	bool last;

	cache_enter(cache);
	cache_lock(cache);
	for (unsigned i = 0; i < cache->nshards; i++)
		cache_catalog_rebuild_tier(&cache->shards[i].main);
	cache_catalog_rebuild_tier(&cache->ram);
	cache_catalog_rebuild_tier(&cache->ondisk);
	last = catalog_rebuild_next(cache->catalog, &old);
	cache_unlock(cache);
	cache_leave(cache);
	scd_counting_free(&old);
	return last;
}
