/*
 * The shards of the main store, and what they share: their room, and what has
 * left them.
 *
 * What is released under a lock is put on a list and given up after it: freeing
 * a large body takes longer than the rest.
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "digestd/cache/cache_inside.h"

int cache_new_shards(struct cache *cache, unsigned n)
{
	cache->shards = aligned_alloc(_Alignof(struct cache_shard),
				      n * sizeof(*cache->shards));
	if (!cache->shards)
		return -ENOMEM;
	memset(cache->shards, 0, n * sizeof(*cache->shards));
	cache->nshards = n;
	for (unsigned i = 0; i < n; i++) {
		cache->shards[i].number = i;
		pthread_mutex_init(&cache->shards[i].lock, NULL);
	}
	return 0;
}

void cache_free_shards(struct cache *cache)
{
	for (unsigned i = 0; i < cache->nshards; i++)
		pthread_mutex_destroy(&cache->shards[i].lock);
	free(cache->shards);
}

/* Locks */

/* Beside the lock of the only shard there is no other. */
void cache_enter_room(struct cache *cache)
{
	if (cache_has_shards(cache))
		pthread_mutex_lock(&cache->room_lock);
	if (cache->notes_touches)
		cache_take_touches(cache);
}

void cache_leave_room(struct cache *cache)
{
	if (cache_has_shards(cache))
		pthread_mutex_unlock(&cache->room_lock);
}

/* With the room. */
void cache_enter_shard(struct cache *cache, struct cache_shard *shard,
			      struct cache_batch *batch)
{
	cache_lock_shard(shard, batch);
	cache_enter_room(cache);
}

void cache_leave_shard(struct cache *cache, struct cache_shard *shard)
{
	cache_leave_room(cache);
	cache_unlock_shard(shard);
}

void cache_enter(struct cache *cache)
{
	for (unsigned i = 0; i < cache->nshards; i++)
		cache_lock_shard(&cache->shards[i], &cache->batch);
	cache_enter_room(cache);
}

void cache_leave(struct cache *cache)
{
	struct cache_batch batch = {
		.changed = cache->batch.changed,
		.gone = cache->batch.gone,
		.gone_last = cache->batch.gone_last,
	};

	assert(!cache->batch.ncoming);
	cache_begin_batch(&cache->batch);
	cache_leave_room(cache);
	for (unsigned i = cache->nshards; i-- > 0;)
		cache_unlock_shard(&cache->shards[i]);
	cache_end_batch(cache, &batch);
}

void cache_hear_touches(struct cache *cache)
{
	if (!cache_has_shards(cache)) {
		cache_enter(cache);
		cache_leave(cache);
		return;
	}
	cache_enter_room(cache);
	cache_leave_room(cache);
}

/* What has been released */

void cache_set_place(struct cached *c, enum admission_decision place)
{
	__atomic_store_n(&c->place, (uint8_t)place, __ATOMIC_RELAXED);
}

static void cache_add_released(struct cache_batch *batch, struct cached *c)
{
	cache_part_from_disk(c);
	cache_set_place(c, ADMISSION_NO);
	store_index_link(&c->entry, batch->gone);
	if (!batch->gone)
		batch->gone_last = &c->entry;
	batch->gone = &c->entry;
}

void cache_released(void *arg, struct store_entry *entry)
{
	const struct tier *t = arg;
	struct cached *c = (struct cached *)entry;

	if (c != t->cache->moving)
		cache_add_released(t->shard->batch, c);
}

void cache_give_up(struct store_entry *gone)
{
	while (gone) {
		struct cached *c = (struct cached *)gone;

		gone = store_index_linked(gone);
		cached_unref(&c);
	}
}

void cache_add_to_released(struct cache *cache, struct cache_batch *batch)
{
	store_index_link(batch->gone_last, cache->released.leaving);
	cache->released.leaving = batch->gone;
	batch->gone = batch->gone_last = NULL;
	__atomic_store_n(&cache->has_left, true, __ATOMIC_RELAXED);
}

void cache_end_batch(struct cache *cache, struct cache_batch *batch)
{
	assert(!batch->ncoming);
	if (batch->changed)
		__atomic_fetch_or(&cache->changed, batch->changed,
				  __ATOMIC_RELAXED);
	if (!batch->gone)
		return;
	pthread_mutex_lock(&cache->released_lock);
	if (cache->domain.readers)
		cache_add_to_released(cache, batch);
	pthread_mutex_unlock(&cache->released_lock);
	cache_give_up(batch->gone);
}

/* The room of shards */

/* Takes what was evicted out of its shards; without locks. */
static void cache_take_out(struct cache *cache, struct cache_batch *batch,
			   struct store_evicted *evicted)
{
	for (unsigned i = 0; i < evicted->n; i++) {
		struct store_entry *e = evicted->at[i];
		struct cache_shard *shard = cache_shard_of(cache, &e->key);

		cache_lock_shard(shard, batch);
		store_take_out(shard->main.store, e);
		cache_unlock_shard(shard);
	}
	evicted->n = 0;
}

/* With the room's lock, which is released now and then. */
static void cache_settle_entry(struct cache *cache, struct cache_batch *batch,
			       struct store_entry *e,
			       struct store_evicted *evicted)
{
	enum store_entering entering;

	store_room_expect(cache->room, e);
	entering = store_room_enter(cache->room, e, evicted);
	while (entering == STORE_IS_FULL) {
		cache_leave_room(cache);
		cache_take_out(cache, batch, evicted);
		cache_enter_room(cache);
		entering = store_room_enter(cache->room, e, evicted);
	}
	if (entering == STORE_WAS_REMOVED)
		cache_add_released(batch, (struct cached *)e);
}

void cache_settle_batch(struct cache *cache, struct cache_batch *batch,
			bool now)
{
	struct store_evicted evicted;

	if (!batch->ncoming)
		return;
	if (!now && pthread_mutex_trylock(&cache->room_lock))
		return;
	if (now)
		pthread_mutex_lock(&cache->room_lock);
	if (cache->notes_touches)
		cache_take_touches(cache);
	evicted.n = 0;
	for (unsigned i = 0; i < batch->ncoming; i++)
		cache_settle_entry(cache, batch, batch->coming[i], &evicted);
	cache_leave_room(cache);
	batch->ncoming = 0;
	batch->coming_bytes = 0;
	cache_take_out(cache, batch, &evicted);
}

/* Another capacity; without locks. */
void cache_limit_room(struct cache *cache, uint64_t max_bytes)
{
	struct cache_batch batch;
	struct store_evicted evicted;
	bool more;

	cache_begin_batch(&batch);
	do {
		evicted.n = 0;
		cache_enter_room(cache);
		store_room_resize(cache->room, max_bytes);
		store_room_evict(cache->room, &evicted);
		cache_leave_room(cache);
		more = evicted.n;
		cache_take_out(cache, &batch, &evicted);
	} while (more);
	cache_end_batch(cache, &batch);
}

/* Life */

/* The main one, in shards. */
int cache_open_shards(struct cache *cache, uint64_t max_bytes,
		      const struct eviction_policy *policy)
{
	/* any of them: what they differ in is nothing of the room's */
	struct store_scales scales = {.arg = &cache->shards[0].main};
	int err;

	for (unsigned i = 0; i < cache->nshards; i++)
		cache_init_tier(cache, &cache->shards[i],
				&cache->shards[i].main);
	scales.weight = cache->shards[0].main.events.weight;
	if (cache->shards[0].main.copies)
		scales.copies = *cache->shards[0].main.copies;
	err = store_room_new(&cache->room, max_bytes, policy, &scales);
	for (unsigned i = 0; i < cache->nshards && !err; i++) {
		struct tier *t = &cache->shards[i].main;

		err = store_new_in(&t->store, cache->room, &t->events);
	}
	return err;
}

/* Of the shards; what their room says is of all of them. */
void cache_stats_of_main(const struct cache *cache, struct store_stats *sum)
{
	struct store_stats t;

	store_stats(cache->shards[0].main.store, sum);
	for (unsigned i = 1; i < cache->nshards; i++) {
		store_stats(cache->shards[i].main.store, &t);
		sum->keys += t.keys;
		sum->entries += t.entries;
		sum->variants_dropped += t.variants_dropped;
	}
}
