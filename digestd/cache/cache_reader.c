/*
 * Lookups without a lock, and what a worker does at the end of its turn.
 *
 * What is found is not counted: it stays until its reader says that it holds
 * nothing (store/quiescent.h). What leaves the stores meanwhile waits in two
 * lists: `leaving`, of the epoch that goes on, and `waiting`, of one that is
 * over. It is in the ledger all the while, as it is not freed yet.
 *
 * Uses are told to the policy at once where it has marks. Where their order
 * counts, or an object on disk has been used with the one in memory, a reader
 * notes them in its own lines; who changes the stores takes them in before, so
 * a single thread does the same as if they had been told at once.
 */
#include "digestd/cache/cache.h"

#include <errno.h>
#include <stdlib.h>

#include "digestd/cache/cache_inside.h"
#include "digestd/http/vary.h"
#include "digestd/os/memory.h"

enum { TOUCHES = 64 }; /* a power of two */

/* A use that the policy has not heard of: by the slot of its entry then. */
struct reader_touch {
	uint64_t hash; /* key.lo */
	uint32_t slot;
	bool probation;
};

struct cache_reader {
	struct quiescent_reader quiescent; /* first: who joins has these */
	struct cache *cache;
	uint32_t pushed; /* by the reader; the first `taken` are free again */
	struct reader_touch touches[TOUCHES];
	struct cache_batch batch; /* of its turn */
	/* written by who has the room */
	_Alignas(QUIESCENT_LINE_BYTES) uint32_t taken;
};

int cache_join(struct cache *cache, struct cache_reader **out)
{
	struct cache_reader *r = aligned_alloc(QUIESCENT_LINE_BYTES,
					       sizeof(*r));

	if (!r)
		return -ENOMEM;
	*r = (struct cache_reader){ .cache = cache };
	cache_enter(cache);
	pthread_mutex_lock(&cache->released_lock);
	quiescent_join(&cache->domain, &r->quiescent);
	__atomic_fetch_add(&cache->nreaders, 1, __ATOMIC_RELAXED);
	pthread_mutex_unlock(&cache->released_lock);
	cache_leave(cache);
	quiescent_wake(&cache->domain, &r->quiescent);
	*out = r;
	return 0;
}

/* Uses */

static void cache_reader_apply(const struct cache *cache,
			       const struct reader_touch *t)
{
	/* shards have one room, and so the same slots */
	const struct tier *tier = t->probation ? &cache->ram :
						 &cache->shards[0].main;
	struct store_entry *e = store_in_slot(tier->store, t->slot, t->hash);
	struct disk_entry *d;

	if (!e)
		return;
	store_touch(tier->store, e);
	d = cache_entry_on_disk((struct cached *)e);
	if (d)
		store_touch(cache->ondisk.store, &d->entry);
}

static void cache_reader_take(struct cache *cache, struct cache_reader *r)
{
	/* what was written before it was pushed is seen */
	uint32_t pushed = __atomic_load_n(&r->pushed, __ATOMIC_ACQUIRE);

	for (uint32_t i = r->taken; i != pushed; i++)
		cache_reader_apply(cache, &r->touches[i % TOUCHES]);
	/* and it has been read before it is written again */
	__atomic_store_n(&r->taken, pushed, __ATOMIC_RELEASE);
}

void cache_take_touches(struct cache *cache)
{
	struct quiescent_reader *r = cache->domain.readers;

	for (; r; r = r->next)
		cache_reader_take(cache, (struct cache_reader *)r);
}

static void cache_reader_note(struct cache_reader *r,
			      const struct store_entry *e, bool probation)
{
	uint32_t slot = store_slot(e);

	if (slot >= EVICTION_SLOTS)
		return; /* it is still coming in, or on its way out */
	if (r->pushed - __atomic_load_n(&r->taken, __ATOMIC_ACQUIRE) ==
	    TOUCHES)
		cache_hear_touches(r->cache);
	r->touches[r->pushed % TOUCHES] =
		(struct reader_touch){ e->key.lo, slot, probation };
	__atomic_store_n(&r->pushed, r->pushed + 1, __ATOMIC_RELEASE);
}

/* Looking up */

static struct cached *cache_reader_match(struct store_entry *e,
					 const struct fields *request,
					 bool *sure)
{
	for (; e; e = store_peek_next(e, sure)) {
		struct cached *c = (struct cached *)e;

		/* the first only saves time: most do not vary */
		if (!c->varies || vary_match(cached_selecting(c), request))
			return c;
	}
	return NULL;
}

/* In memory; null and not *sure: it has to be found out under the lock. */
static struct cached *cache_reader_peek(struct cache_reader *r,
					const struct scd_key *key,
					const struct fields *request,
					bool *sure)
{
	const struct cache *cache = r->cache;
	struct store *store = cache_main(cache, key)->store;
	struct store_entry *e = store_peek(store, key, sure);
	struct cached *c = cache_reader_match(e, request, sure);

	if (c && cache->tells_touches)
		store_touch_shared(store, &c->entry);
	else if (c)
		cache_reader_note(r, &c->entry, false);
	if (c || !cache->ram.store)
		return c;
	e = store_peek(cache->ram.store, key, sure);
	c = cache_reader_match(e, request, sure);
	*sure = false; /* it may have moved from one to the other meanwhile */
	if (c)
		cache_reader_note(r, &c->entry, true);
	return c;
}

void cache_prefetch(const struct cache *cache, const struct scd_key *key)
{
	store_prefetch(cache_main(cache, key)->store, key);
}

void cache_lookup(struct cache_reader *reader, const struct scd_key *key,
		  const struct fields *request, struct cache_found *found)
{
	bool sure;

	*found = (struct cache_found){ .why = CACHESTATUS_URI_MISS };
	found->c = cache_reader_peek(reader, key, request, &sure);
	if (found->c)
		cached_prefetch_body(found->c);
	if (found->c || (sure && !reader->cache->disk))
		return;
	found->c = cache_get(reader->cache, key, request, &found->why);
	found->counted = found->c;
}

void cache_found_release(struct cache_found *found)
{
	if (found->counted)
		cached_unref(&found->c);
	*found = (struct cache_found){0};
}

bool cache_store(struct cache_reader *reader, const struct cache_fill *fill,
		 struct cached *c)
{
	return cache_put_by(reader->cache, &reader->batch, fill, c);
}

/* Rest */

/* What has left and nobody can hold any more is taken off the lists. */
static struct store_entry *cache_reader_passed(struct cache *cache)
{
	struct cache_released *released = &cache->released;
	struct store_entry *gone = released->waiting;

	if (!gone ||
	    !quiescent_has_passed(&cache->domain, released->waiting_for))
		return NULL;
	released->waiting = NULL;
	return gone;
}

/* The readers that sleep, and the caller, hold nothing: so if there are no
 * others, all is given up at once, with what is in a batch (or null). */
static void cache_reader_collect(struct cache *cache, struct cache_batch *batch)
{
	struct cache_released *released = &cache->released;
	struct store_entry *gone, *more = NULL;

	pthread_mutex_lock(&cache->released_lock);
	if (batch)
		cache_add_to_released(cache, batch);
	gone = cache_reader_passed(cache);
	if (!released->waiting) {
		released->waiting = released->leaving;
		released->leaving = NULL;
		released->waiting_for = quiescent_advance(&cache->domain);
		more = cache_reader_passed(cache);
	}
	__atomic_store_n(&cache->has_left, released->waiting, __ATOMIC_RELAXED);
	pthread_mutex_unlock(&cache->released_lock);
	cache_give_up(gone);
	cache_give_up(more);
}

void cache_collect(struct cache *cache)
{
	if (__atomic_load_n(&cache->has_left, __ATOMIC_RELAXED))
		cache_reader_collect(cache, NULL);
}

void cache_rest(struct cache_reader *reader)
{
	struct cache_batch *batch = &reader->batch;
	struct cache *cache = reader->cache;

	cache_settle_batch(cache, batch, false);
	quiescent_sleep(&reader->quiescent);
	if (batch->gone)
		cache_reader_collect(cache, batch);
	else
		cache_collect(cache);
	batch->changed = cache_tell_catalog(cache, batch->changed);
	memory_batch(false);
}

void cache_wake(struct cache_reader *reader)
{
	quiescent_wake(&reader->cache->domain, &reader->quiescent);
	memory_batch(true);
}

void cache_quit(struct cache_reader **reader)
{
	struct cache_reader *r = *reader;
	struct cache *cache;

	if (!r)
		return;
	cache = r->cache;
	cache_settle_batch(cache, &r->batch, true);
	cache_rest(r);
	cache_end_batch(cache, &r->batch);
	cache_enter(cache);
	pthread_mutex_lock(&cache->released_lock);
	quiescent_leave(&cache->domain, &r->quiescent);
	__atomic_fetch_sub(&cache->nreaders, 1, __ATOMIC_RELAXED);
	pthread_mutex_unlock(&cache->released_lock);
	cache_leave(cache);
	cache_reader_collect(cache, NULL); /* it may have been the last one */
	free(r);
	*reader = NULL;
}
