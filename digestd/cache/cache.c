/*
 * The shared cache: what is done to its tiers, whose locks are those of
 * cache_shards.c.
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
#include "digestd/mesh/peerset.h"
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

enum admission_decision cached_place(const struct cached *c)
{
	return (enum admission_decision)__atomic_load_n(&c->place,
							__ATOMIC_RELAXED);
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

/* What is not to be given to other nodes is not in the catalog. */
static bool cache_counts(void *arg, const struct store_entry *entry)
{
	(void)arg;
	return !((const struct cached *)entry)->unvouched;
}

static bool cache_is_copy(void *arg, const struct store_entry *entry)
{
	(void)arg;
	return ((const struct cached *)entry)->copy;
}

bool cache_is_alone(void *arg, const struct store_entry *entry)
{
	const struct peerset *view = ((const struct tier *)arg)->cache->view;
	const struct peerset_keys keys = {.own = &entry->key};
	uint32_t one;

	return !view || !peerset_lookup(view, &keys, &one, 1);
}

const struct store_copies cache_copies = {cache_is_copy, cache_is_alone};

/* How much of the memory is for what is on probation, as things stand. */
static uint64_t cache_ram_share(const struct cache *cache)
{
	return cache->admitter ?
		       admitter_ram_bytes(cache->admitter, cache->max_bytes) :
		       0;
}

void cache_init_tier(struct cache *cache, struct cache_shard *shard,
			    struct tier *t)
{
	t->cache = cache;
	t->shard = shard;
	t->events.key_added = cache_key_added;
	t->events.key_removed = cache_key_removed;
	if (!t->events.released)
		t->events.released = cache_released;
	if (!t->events.weight)
		t->events.weight = cache_weight;
	if (!t->events.counts)
		t->events.counts = cache_counts;
	t->events.arg = t;
}

int cache_open_tier(struct cache *cache, struct tier *t, uint64_t max_bytes,
		    const struct eviction_policy *policy)
{
	assert(!t->store && policy);
	cache_init_tier(cache, &cache->shards[0], t);
	return store_new_with_copies(&t->store, max_bytes, policy, &t->events,
				     t->copies);
}

static int cache_open_tiers(struct cache *cache,
			    const struct eviction_policy *policy)
{
	uint64_t max_bytes;
	int err;

	cache->ram_bytes = cache_ram_share(cache);
	max_bytes = cache->max_bytes - cache->ram_bytes;
	if (cache_has_shards(cache))
		return cache_open_shards(cache, max_bytes, policy);
	err = cache_open_tier(cache, &cache->shards[0].main, max_bytes, policy);
	if (err || !cache->admitter || !admitter_wants_ram(cache->admitter))
		return err;
	return cache_open_tier(cache, &cache->ram, cache->ram_bytes,
			       eviction_policy_find("lru"));
}

/* All of them, for what is done to each. */
static void cache_limit_tiers(struct cache *cache, unsigned max_variants)
{
	for (unsigned i = 0; i < cache->nshards; i++)
		store_limit_variants(cache->shards[i].main.store, max_variants);
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
	if (!cache_has_shards(cache))
		store_resize(cache->shards[0].main.store,
			     cache->max_bytes - ram);
}

/* Into how many shards the main store goes. Those that take part in other
 * tiers' business have one lock with them. */
static unsigned cache_shards_for(const struct cache_settings *settings)
{
	unsigned n = 1;

	if (settings->disk_path ||
	    (settings->admitter && admitter_wants_ram(settings->admitter)))
		return 1;
	while (n < settings->shards && n < CACHE_SHARDS_MAX)
		n *= 2;
	return n;
}

static int cache_cache_fill(struct cache *cache,
			    const struct cache_settings *settings)
{
	const struct eviction_policy *policy =
		eviction_policy_find(settings->policy);
	int err;

	if (!policy)
		return -EINVAL;
	err = cache_new_shards(cache, cache_shards_for(settings));
	/* memory in front of a disk has what is used, whoever else has it */
	if (!err && settings->tiers && !settings->disk_path)
		cache->shards[0].main.copies = &cache_copies;
	if (!err)
		err = cache_open_tiers(cache, policy);
	if (!err && settings->disk_path)
		err = cache_open_disk(cache, settings);
	if (err)
		return err;
	cache->tells_touches = !cache->disk && policy->share_hit;
	cache->notes_touches = cache->ram.store || !cache->tells_touches;
	cache_limit_tiers(cache, settings->max_variants);
	return cache_make_catalog(cache, settings);
}

static int cache_make_log(struct cache *cache,
			  const struct cache_settings *settings)
{
	if (settings->hash_secret)
		memcpy(cache->hash_secret, settings->hash_secret,
		       sizeof(cache->hash_secret));
	cache->instance = settings->instance ? settings->instance : 1;
	return invalidation_log_new(
		cache->instance, cache->hash_secret,
		settings->max_purges ? settings->max_purges :
				       INVALIDATION_LOG_MAX,
		&cache->purges) ? -ENOMEM : 0;
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
	pthread_mutex_init(&cache->room_lock, NULL);
	pthread_mutex_init(&cache->catalog_lock, NULL);
	pthread_mutex_init(&cache->released_lock, NULL);
	pthread_mutex_init(&cache->purges_lock, NULL);
	cache->max_bytes = settings->max_bytes;
	cache->admitter = settings->admitter;
	err = cache_make_log(cache, settings);
	if (!err)
		err = cache_cache_fill(cache, settings);
	if (err) {
		cache_free(&cache);
		return err;
	}
	*out = cache;
	return 0;
}

/* Those of a half-made cache, too. */
static void cache_free_tiers(struct cache *cache)
{
	struct cache_batch batch;

	cache_begin_batch(&batch);
	for (unsigned i = 0; i < cache->nshards; i++) {
		cache->shards[i].batch = &batch;
		store_free(&cache->shards[i].main.store);
	}
	store_free(&cache->ram.store);
	store_room_free(&cache->room);
	cache_give_up(batch.gone);
}

void cache_free(struct cache **cache)
{
	struct cache *c = *cache;

	if (!c)
		return;
	assert(!c->moving && !c->domain.readers);
	cache_close_disk(c);
	cache_free_tiers(c);
	cache_give_up(c->released.leaving);
	cache_give_up(c->released.waiting);
	peerset_unref(c->view);
	invalidation_log_free(&c->purges);
	catalog_free(&c->catalog);
	cache_free_shards(c);
	free(c->given_up);
	pthread_mutex_destroy(&c->room_lock);
	pthread_mutex_destroy(&c->catalog_lock);
	pthread_mutex_destroy(&c->released_lock);
	pthread_mutex_destroy(&c->purges_lock);
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
	if (cache->ondisk.store) {
		cache->disk_bytes = disk_bytes;
		store_resize(cache->ondisk.store, disk_for_objects(disk_bytes));
	}
	cache_limit_tiers(cache, max_variants);
	cache_leave(cache);
	if (cache_has_shards(cache))
		cache_limit_room(cache, max_bytes);
	if (cache->disk)
		disk_limit(cache->disk, disk_bytes);
}

static bool cache_has_tiers(const struct cache *cache)
{
	return cache->shards[0].main.copies || cache->ondisk.copies;
}

void cache_set_view(struct cache *cache, struct peerset *view)
{
	struct peerset *last;

	if (!cache_has_tiers(cache))
		return;
	cache_enter(cache);
	last = cache->view;
	cache->view = view ? peerset_ref(view) : NULL;
	cache_leave(cache);
	peerset_unref(last);
}

bool cache_missed(struct cache *cache, const struct tiers_miss *miss)
{
	const struct tier *main = &cache->shards[0].main;
	const struct tier *t = main->copies ? main : &cache->ondisk;
	bool worthy;

	if (!t->copies || !t->store)
		return !miss->remote;
	if (cache_has_shards(cache)) {
		cache_enter_room(cache);
		worthy = store_room_missed(cache->room, miss);
		cache_leave_room(cache);
		return worthy;
	}
	cache_enter(cache);
	worthy = store_missed(t->store, miss);
	cache_leave(cache);
	return worthy;
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
	cache_stats_of_main(cache, store);
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
	struct store_entry *e = store_find(cache_main(cache, key)->store, key);
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
static struct tier *cache_tier_of(struct cache *cache,
				  const struct scd_key *key,
				  const struct cached *c)
{
	return cached_place(c) == ADMISSION_RAM ? &cache->ram :
						  cache_main(cache, key);
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
	return disk_entry_pending(e);
}

struct cached *cache_get(struct cache *cache, const struct scd_key *key,
			 const struct fields *request,
			 enum cachestatus_fwd *why)
{
	struct cache_shard *shard = cache_shard_of(cache, key);
	struct cache_batch batch;
	struct disk_entry *e;
	struct cached *c;

	cache_begin_batch(&batch);
	cache_enter_shard(cache, shard, &batch);
	c = cache_find(cache, key, request, why);
	if (c) {
		store_touch(cache_tier_of(cache, key, c)->store, &c->entry);
		e = cache_entry_on_disk(c);
		if (e)
			store_touch(cache->ondisk.store, &e->entry);
	} else if (cache->disk) {
		c = cache_find_pending(cache, key, request, why);
	}
	if (c)
		cached_ref(c);
	cache_leave_shard(cache, shard);
	cache_end_batch(cache, &batch);
	return c;
}

bool cache_holds(struct cache *cache, const struct scd_key *key)
{
	struct cache_shard *shard = cache_shard_of(cache, key);
	enum cachestatus_fwd why;
	bool holds;

	pthread_mutex_lock(&shard->lock);
	holds = cache_find(cache, key, &fields_none, &why);
	pthread_mutex_unlock(&shard->lock);
	return holds;
}

bool cache_has(struct cache *cache, const struct scd_key *key,
	       const struct fields *request)
{
	struct cache_shard *shard = cache_shard_of(cache, key);
	enum cachestatus_fwd why;
	bool has;

	pthread_mutex_lock(&shard->lock);
	has = cache_find(cache, key, request, &why) ||
	      (cache->disk && cache_match_disk(cache, key, request));
	pthread_mutex_unlock(&shard->lock);
	return has;
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
		if (store_insert(cache_main(cache, key)->store, &c->entry, key))
			cache_released(cache_main(cache, key), &c->entry);
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
	int err = store_insert(cache_main(cache, key)->store, &c->entry, key);

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
	struct tier *t = cache_tier_of(cache, key, c);
	enum cachestatus_fwd why;
	struct cached *old;
	int err;

	old = cache_find(cache, key, request, &why);
	if (old && (cache_tier_of(cache, key, old) != t || !cached_place(c))) {
		store_remove(cache_tier_of(cache, key, old)->store,
			     &old->entry);
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

/* The same in a shard, with its lock: the policy hears of it later, but of what
 * is removed for it at once. */
static bool cache_put_in_shard(struct cache *cache, struct cache_shard *shard,
			       const struct cache_fill *fill, struct cached *c)
{
	struct store *s = shard->main.store;
	struct cache_batch *batch = shard->batch;
	struct store_entry *others = store_find(s, fill->key);
	bool stored = cached_place(c) && !store_link(s, &c->entry, fill->key);
	struct cached *old;

	if (stored) {
		batch->coming[batch->ncoming++] = &cached_ref(c)->entry;
		batch->coming_bytes += c->body_len;
	} else {
		cache_set_place(c, ADMISSION_NO);
	}
	if (!others)
		return stored;
	cache_enter_room(cache);
	old = cache_match(others, fill->request);
	if (old)
		store_remove(s, &old->entry);
	store_drop_surplus(s, fill->key);
	cache_leave_room(cache);
	return stored;
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

static bool cache_put_locked(struct cache *cache, struct cache_shard *shard,
			     const struct cache_fill *fill, struct cached *c)
{
	if (cache_purge_meets(cache, fill, c)) {
		cache_set_place(c, ADMISSION_NO);
		return false;
	}
	if (cache_has_shards(cache))
		return cache_put_in_shard(cache, shard, fill, c);
	return cache_put_in_tiers(cache, fill->key, fill->request, c);
}

bool cache_put_by(struct cache *cache, struct cache_batch *batch,
		  const struct cache_fill *fill, struct cached *c)
{
	struct cache_shard *shard = cache_shard_of(cache, fill->key);
	bool stored;

	assert(fill->key && fill->request);
	assert(batch->ncoming < CACHE_COMING);
	cache_lock_shard(shard, batch);
	if (!cache_has_shards(cache))
		cache_enter_room(cache);
	stored = cache_put_locked(cache, shard, fill, c);
	cache_unlock_shard(shard);
	if (batch->ncoming == CACHE_COMING ||
	    batch->coming_bytes > CACHE_COMING_BYTES)
		cache_settle_batch(cache, batch, true);
	return stored;
}

bool cache_put(struct cache *cache, const struct cache_fill *fill,
	       struct cached *c)
{
	struct cache_batch batch;
	bool stored;

	cache_begin_batch(&batch);
	stored = cache_put_by(cache, &batch, fill, c);
	cache_settle_batch(cache, &batch, true);
	cache_end_batch(cache, &batch);
	return stored;
}

bool cache_has_disk(const struct cache *cache)
{
	return cache->disk;
}
