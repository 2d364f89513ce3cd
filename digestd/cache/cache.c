/*
 * The shared cache. What leaves the store under the lock is put on a list and
 * given up after it: freeing a large body takes longer than the rest.
 */
#include "digestd/cache/cache.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "digestd/cache/admitter.h"
#include "digestd/cache/cache_inside.h"
#include "digestd/mesh/catalog.h"
#include "digestd/http/vary.h"

/*
 * What an entry weighs beside what it takes itself: its places in tables, and
 * what the allocator rounds up. So that 10^5 objects of 1 KiB weigh what they
 * were measured to take.
 */
enum { CACHED_OVERHEAD = 96 };

static bool cache_has_key(const struct tier *t, const struct scd_key *key)
{
	return t->store && store_find(t->store, key);
}

static void cache_set_place(struct cached *c, enum admission_decision place)
{
	__atomic_store_n(&c->place, (uint8_t)place, __ATOMIC_RELAXED);
}

enum admission_decision cached_place(const struct cached *c)
{
	return (enum admission_decision)__atomic_load_n(&c->place,
							__ATOMIC_RELAXED);
}

static void cache_released(void *arg, struct store_entry *entry)
{
	struct cache *cache = ((struct tier *)arg)->cache;
	struct cached *c = (struct cached *)entry;

	if (c == cache->moving)
		return;
	cache_part_from_disk(c);
	cache_set_place(c, ADMISSION_NO);
	store_index_link(entry, cache->leaving);
	cache->leaving = entry;
}

size_t cache_head_weight(const struct cached *c)
{
	return CACHED_OVERHEAD + cached_memory(c);
}

static size_t cache_weight_of(const struct cached *c)
{
	return cache_head_weight(c) + c->body_len;
}

static size_t cache_weight(void *arg, const struct store_entry *entry)
{
	(void)arg;
	return cache_weight_of((const struct cached *)entry);
}

void cache_enter(struct cache *cache)
{
	pthread_mutex_lock(&cache->lock);
	if (cache_notes_touches(cache))
		cache_take_touches(cache);
}

void cache_leave(struct cache *cache)
{
	struct store_entry *gone = NULL;

	if (!cache->domain.readers) {
		gone = cache->leaving;
		cache->leaving = NULL;
	} else if (cache->leaving) {
		__atomic_store_n(&cache->has_left, true, __ATOMIC_RELAXED);
	}
	pthread_mutex_unlock(&cache->lock);
	cache_give_up(gone);
}

void cache_give_up(struct store_entry *gone)
{
	while (gone) {
		struct cached *c = (struct cached *)gone;

		gone = store_index_linked(gone);
		cached_unref(&c);
	}
}

/* How much of the memory is for what is on probation, as things stand. */
static uint64_t cache_ram_share(const struct cache *cache)
{
	return cache->admitter ?
		       admitter_ram_bytes(cache->admitter, cache->max_bytes) :
		       0;
}

int cache_open_tier(struct cache *cache, struct tier *t, uint64_t max_bytes,
		    const struct eviction_policy *policy)
{
	assert(!t->store && policy);
	t->cache = cache;
	t->events.key_added = cache_key_added;
	t->events.key_removed = cache_key_removed;
	if (!t->events.released)
		t->events.released = cache_released;
	if (!t->events.weight)
		t->events.weight = cache_weight;
	t->events.arg = t;
	return store_new(&t->store, max_bytes, policy, &t->events);
}

static int cache_open_tiers(struct cache *cache,
			    const struct eviction_policy *policy)
{
	int err;

	cache->ram_bytes = cache_ram_share(cache);
	err = cache_open_tier(cache, &cache->main,
			      cache->max_bytes - cache->ram_bytes, policy);
	if (err || !cache->admitter || !admitter_wants_ram(cache->admitter))
		return err;
	return cache_open_tier(cache, &cache->ram, cache->ram_bytes,
			       eviction_policy_find("lru"));
}

/* All of them, for what is done to each. */
static void cache_limit_tiers(struct cache *cache, unsigned max_variants)
{
	store_limit_variants(cache->main.store, max_variants);
	if (cache->ram.store)
		store_limit_variants(cache->ram.store, max_variants);
	if (cache->ondisk.store)
		store_limit_variants(cache->ondisk.store, max_variants);
}

/* Gives each its part of the memory; what does not fit is evicted. */
static void cache_share_memory(struct cache *cache)
{
	uint64_t ram = cache_ram_share(cache);

	cache->ram_bytes = ram;
	if (cache->ram.store)
		store_resize(cache->ram.store, ram);
	store_resize(cache->main.store, cache->max_bytes - ram);
}

static int cache_cache_fill(struct cache *cache,
			    const struct cache_settings *settings)
{
	const struct eviction_policy *policy =
		eviction_policy_find(settings->policy);
	int err;

	if (!policy)
		return -EINVAL;
	err = cache_open_tiers(cache, policy);
	if (!err && settings->disk_path)
		err = cache_open_disk(cache, settings);
	if (err)
		return err;
	cache_limit_tiers(cache, settings->max_variants);
	return cache_make_catalog(cache, settings);
}

int cache_new(const struct cache_settings *settings, struct cache **out)
{
	struct cache *cache = aligned_alloc(QUIESCENT_LINE_BYTES,
					    sizeof(*cache));
	int err;

	assert(settings->policy && settings->nbits);
	assert(settings->max_variants);
	assert(settings->bits_per_key ||
	       settings->nbits >= settings->max_bits);
	if (!cache)
		return -ENOMEM;
	memset(cache, 0, sizeof(*cache));
	pthread_mutex_init(&cache->lock, NULL);
	pthread_mutex_init(&cache->catalog_lock, NULL);
	pthread_mutex_init(&cache->changes_lock, NULL);
	cache->written = &cache->changes[0];
	cache->max_bytes = settings->max_bytes;
	cache->admitter = settings->admitter;
	err = cache_cache_fill(cache, settings);
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
	assert(!c->moving && !c->domain.readers);
	cache_close_disk(c);
	pthread_mutex_lock(&c->lock);
	store_free(&c->main.store);
	store_free(&c->ram.store);
	cache_leave(c);
	cache_give_up(c->waiting);
	purge_walks_free(&c->walks);
	catalog_free(&c->catalog);
	pthread_mutex_destroy(&c->lock);
	pthread_mutex_destroy(&c->catalog_lock);
	pthread_mutex_destroy(&c->changes_lock);
	free(c);
	*cache = NULL;
}

void cache_limit(struct cache *cache, uint64_t max_bytes, uint64_t disk_bytes,
		 unsigned max_variants)
{
	assert(max_variants);
	cache_enter(cache);
	cache->max_bytes = max_bytes;
	cache_share_memory(cache);
	if (cache->ondisk.store)
		store_resize(cache->ondisk.store, disk_bytes);
	cache_limit_tiers(cache, max_variants);
	cache_leave(cache);
	if (cache->disk)
		disk_grow(cache->disk, cache_index_bytes(disk_bytes));
}

static void cache_add_stats(const struct store *s, struct store_stats *sum)
{
	struct store_stats t;

	store_stats(s, &t);
	sum->keys += t.keys;
	sum->entries += t.entries;
	sum->weight += t.weight;
	sum->max_weight += t.max_weight;
	sum->evicted += t.evicted;
	sum->variants_dropped += t.variants_dropped;
}

void cache_stats(struct cache *cache, struct store_stats *store,
		 struct catalog_stats *catalog)
{
	cache_enter(cache);
	store_stats(cache->main.store, store);
	if (cache->ram.store)
		cache_add_stats(cache->ram.store, store);
	catalog_stats(cache_lock(cache), catalog);
	cache_unlock(cache);
	cache_leave(cache);
}

static struct cached *cache_match(struct store_entry *e,
				  const struct fields *request)
{
	for (; e; e = store_next(e)) {
		struct cached *c = (struct cached *)e;

		if (vary_match(cached_selecting(c), request))
			return c;
	}
	return NULL;
}

static struct cached *cache_find(struct cache *cache, const struct scd_key *key,
				 const struct fields *request,
				 enum cachestatus_fwd *why)
{
	struct store_entry *e = store_find(cache->main.store, key);
	struct cached *c = cache_match(e, request);

	*why = e ? CACHESTATUS_VARY_MISS : CACHESTATUS_URI_MISS;
	if (c || !cache->ram.store)
		return c;
	e = store_find(cache->ram.store, key);
	if (e)
		*why = CACHESTATUS_VARY_MISS;
	return cache_match(e, request);
}

/* The tier of what is stored. */
static struct tier *cache_tier_of(struct cache *cache, const struct cached *c)
{
	return cached_place(c) == ADMISSION_RAM ? &cache->ram : &cache->main;
}

/* What has left memory before it was written. */
static struct cached *cache_find_pending(struct cache *cache,
					 const struct scd_key *key,
					 const struct fields *request,
					 enum cachestatus_fwd *why)
{
	struct disk_entry *e = cache_match_disk(cache, key, request);

	if (!e && cache_has_key(&cache->ondisk, key))
		*why = CACHESTATUS_VARY_MISS;
	if (!e || !e->pending)
		return NULL; /* cache_read() is its use */
	store_touch(cache->ondisk.store, &e->entry);
	return e->pending;
}

struct cached *cache_get(struct cache *cache, const struct scd_key *key,
			 const struct fields *request,
			 enum cachestatus_fwd *why)
{
	struct disk_entry *e;
	struct cached *c;

	cache_enter(cache);
	c = cache_find(cache, key, request, why);
	if (c) {
		store_touch(cache_tier_of(cache, c)->store, &c->entry);
		e = cache_entry_on_disk(c);
		if (e)
			store_touch(cache->ondisk.store, &e->entry);
	} else if (cache->disk) {
		c = cache_find_pending(cache, key, request, why);
	}
	if (c)
		cached_ref(c);
	cache_leave(cache);
	return c;
}

bool cache_holds(struct cache *cache, const struct scd_key *key)
{
	enum cachestatus_fwd why;
	bool holds;

	pthread_mutex_lock(&cache->lock);
	holds = cache_find(cache, key, &fields_none, &why);
	cache_leave(cache);
	return holds;
}

/* What was worth it is in the main store, and goes to the disk. */
static void cache_settle(struct cache *cache, const struct scd_key *key,
			 struct cached *c)
{
	cache_set_place(c, ADMISSION_DISK);
	if (cache->disk)
		cache_write_to_disk(cache, key, NULL, c);
}

/* Whether a response is on probation: one that was never stored is not,
 * though its place may say where it was meant for. */
static bool cache_has_on_probation(const struct cache *cache,
				   const struct scd_key *key,
				   const struct cached *c)
{
	const struct store_entry *e;

	if (cached_place(c) != ADMISSION_RAM || !cache->ram.store)
		return false;
	e = store_find(cache->ram.store, key);
	while (e && e != &c->entry)
		e = store_next(e);
	return e;
}

/* Out of probation, if it is still there and has room where it goes. */
static void cache_promote(struct cache *cache, const struct scd_key *key,
			  struct cached *c)
{
	cache_enter(cache);
	if (cache_has_on_probation(cache, key, c)) {
		cache_hold_key(cache, key);
		cache->moving = c;
		store_remove(cache->ram.store, &c->entry);
		cache->moving = NULL;
		if (store_insert(cache->main.store, &c->entry, key))
			cache_released(&cache->main, &c->entry);
		else
			cache_settle(cache, key, c);
		cache_let_key_go(cache);
	}
	cache_leave(cache);
}

void cache_use(struct cache *cache, const struct scd_key *key,
	       struct cached *c, int64_t now_ms)
{
	struct admitter *a = cache->admitter;
	size_t weight;

	if (!a || !admitter_hears_hits(a))
		return;
	weight = cache_weight_of(c);
	if (cached_place(c) == ADMISSION_RAM &&
	    admitter_decide(a, key, weight, now_ms) == ADMISSION_DISK)
		cache_promote(cache, key, c);
	admitter_request(a, key, weight, true);
}

enum admission_decision cache_admit(struct cache *cache,
				    const struct scd_key *key, uint64_t weight,
				    int64_t now_ms)
{
	struct admitter *a = cache->admitter;

	if (!a)
		return ADMISSION_DISK;
	admitter_request(a, key, weight, false);
	if (cache->ram.store) {
		cache_enter(cache);
		if (cache_ram_share(cache) != cache->ram_bytes)
			cache_share_memory(cache);
		cache_leave(cache);
	}
	return admitter_decide(a, key, weight, now_ms);
}

void cache_note(struct cache *cache, const struct scd_key *key)
{
	if (cache->admitter)
		admitter_note(cache->admitter, key);
}

int cache_insert(struct cache *cache, const struct scd_key *key,
		 struct cached *c)
{
	int err = store_insert(cache->main.store, &c->entry, key);

	if (err)
		return err;
	cached_ref(c);
	cache_set_place(c, ADMISSION_DISK);
	return 0;
}

/* In place of what there is for the same requests. */
static bool cache_put_in_memory(struct cache *cache, const struct scd_key *key,
				const struct fields *request, struct cached *c)
{
	struct tier *t = cache_tier_of(cache, c);
	enum cachestatus_fwd why;
	struct cached *old;
	int err;

	old = cache_find(cache, key, request, &why);
	if (old && (cache_tier_of(cache, old) != t || !cached_place(c))) {
		store_remove(cache_tier_of(cache, old)->store, &old->entry);
		old = NULL;
	}
	if (!t->store || !cached_place(c))
		err = -E2BIG;
	else
		err = old ? store_replace(t->store, &old->entry, &c->entry) :
			    store_insert(t->store, &c->entry, key);
	if (!err) {
		cached_ref(c);
	} else {
		cache_part_from_disk(c);
		cache_set_place(c, ADMISSION_NO);
	}
	return !err;
}

/* The same on disk: the new one, or none any more. */
static bool cache_put_on_disk(struct cache *cache, const struct scd_key *key,
			      const struct fields *request, struct cached *c)
{
	struct disk_entry *old = cache_match_disk(cache, key, request);

	if (cached_place(c) == ADMISSION_DISK) {
		if (cache_renew_on_disk(cache, old, c))
			return true;
		if (!cached_file(c))
			return cache_write_to_disk(cache, key, old, c);
	}
	cache_remove_from_disk(cache, old);
	return false;
}

static bool cache_put_in_tiers(struct cache *cache, const struct scd_key *key,
			       const struct fields *request, struct cached *c)
{
	bool stored;

	cache_hold_key(cache, key);
	stored = cache->disk && cache_put_on_disk(cache, key, request, c);
	if (!cached_file(c))
		stored |= cache_put_in_memory(cache, key, request, c);
	cache_let_key_go(cache);
	return stored;
}

bool cache_put(struct cache *cache, const struct cache_fill *fill,
	       struct cached *c)
{
	bool stored = false;

	assert(fill->key && fill->request);
	cache_enter(cache);
	if (cache_purge_meets(cache, fill, c))
		cache_set_place(c, ADMISSION_NO);
	else
		stored = cache_put_in_tiers(cache, fill->key, fill->request, c);
	cache_leave(cache);
	return stored;
}

bool cache_has_disk(const struct cache *cache)
{
	return cache->disk;
}
