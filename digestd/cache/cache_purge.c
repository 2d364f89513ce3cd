/*
 * Purges: of a key at once, and of many, part by part; and what must not come
 * into the cache after them.
 */
#include <assert.h>

#include "digestd/cache/cache_inside.h"
#include "digestd/http/purge_scope.h"

/* What a purge is from before */

bool cache_purge_has(const struct purge_scope *scope, const struct cached *c)
{
	struct fields f;
	bool has;

	if (purge_scope_prefix(scope))
		return purge_scope_has(scope, cached_uri(c), NULL);
	if (cached_fields(c, &f))
		return true; /* without memory: what is gone is right */
	has = purge_scope_has(scope, cached_uri(c), &f);
	fields_free(&f);
	return has;
}

static bool cache_purge_walks_meet(const struct cache *cache, uint64_t stamp,
				   const struct cached *c)
{
	struct fields f;
	bool meet;

	if (cached_fields(c, &f))
		return true;
	meet = purge_walks_meet(&cache->walks, stamp, cached_uri(c), &f);
	fields_free(&f);
	return meet;
}

bool cache_purge_meets(const struct cache *cache, const struct cache_fill *fill,
		       const struct cached *c)
{
	assert(fill->asked <= cache->purges.now);
	if (purgelog_last(&cache->purges, fill->key) > fill->asked)
		return true;
	/* fields are unpacked only where they matter */
	if (!fill->renews || !purge_walks_since(&cache->walks, fill->asked))
		return false;
	return cache_purge_walks_meet(cache, fill->asked, fill->renews) ||
	       cache_purge_walks_meet(cache, fill->asked, c);
}

bool cache_is_purged(struct cache *cache, const struct cache_copy *copy,
		     int64_t now_s)
{
	const struct purge_walks_copy of = { copy->uri, copy->fields,
					     copy->born_s };
	struct cache_shard *shard = cache_shard_of(cache, copy->key);
	bool purged;

	if (!cache_purges(cache))
		return false;
	pthread_mutex_lock(&shard->lock);
	pthread_mutex_lock(&cache->purges_lock);
	purged = purgelog_is_older(&cache->purges, copy->key, copy->born_s);
	pthread_mutex_unlock(&cache->purges_lock);
	purged = purged || purge_walks_meet_copy(&cache->walks, &of, now_s);
	pthread_mutex_unlock(&shard->lock);
	return purged;
}

uint64_t cache_purges(const struct cache *cache)
{
	return cache->purges.now;
}

uint64_t cache_last_purge(const struct cache *cache, const struct scd_key *key)
{
	return purgelog_last(&cache->purges, key);
}

uint64_t cache_last_walk(const struct cache *cache)
{
	return purgelog_last_walked(&cache->purges);
}

/* Of a key */

/* What is on disk of that which is in memory too. */
static void cache_drop_copies(struct cache *cache, const struct scd_key *key)
{
	struct store_entry *e = store_find(cache_main(cache, key)->store, key);

	for (; e; e = store_next(e))
		cache_remove_from_disk(cache, cache_entry_on_disk(
						      (struct cached *)e));
}

static void cache_purge_log(struct cache *cache, const struct scd_key *key,
			    uint64_t *asked, int64_t now_s)
{
	struct purgelog *purges = &cache->purges;
	bool current;

	pthread_mutex_lock(&cache->purges_lock);
	current = asked && purgelog_last(purges, key) <= *asked;
	purgelog_key(purges, key, now_s);
	if (current)
		*asked = purges->now;
	pthread_mutex_unlock(&cache->purges_lock);
}

size_t cache_drop(struct cache *cache, const struct scd_key *key,
		  uint64_t *asked, int64_t now_s)
{
	struct cache_shard *shard = cache_shard_of(cache, key);
	struct cache_batch batch;
	size_t n;

	cache_begin_batch(&batch);
	cache_enter_shard(cache, shard, &batch);
	if (cache->disk)
		cache_drop_copies(cache, key);
	n = store_remove_key(shard->main.store, key);
	if (cache->ram.store)
		n += store_remove_key(cache->ram.store, key);
	if (cache->disk)
		n += cache_drop_from_disk(cache, key);
	/* last: who looks up without the lock, and has read the number of
	 * purges before, must not find what this one removes */
	cache_purge_log(cache, key, asked, now_s);
	cache_leave_shard(cache, shard);
	cache_end_batch(cache, &batch);
	return n;
}

/* Of many */

struct purge_walk *cache_purge_begin(struct cache *cache,
				     struct purge_scope *scope, int64_t now_s)
{
	struct purge_walk *walk;

	cache_enter(cache);
	walk = purge_walks_begin(&cache->walks, scope, now_s);
	if (walk)
		purgelog_all(&cache->purges);
	cache_leave(cache);
	return walk;
}

void cache_purge_end(struct cache *cache, struct purge_walk *walk,
		     int64_t now_s)
{
	cache_enter(cache);
	purge_walks_end(&cache->walks, walk, purgelog_walked(&cache->purges),
			now_s);
	cache_leave(cache);
}

/* What is purged of the tiers in memory, and of the disk with them. */
struct selection {
	struct cache *cache;
	const struct purge_scope *scope;
};

static bool cache_purge_selects(void *arg, struct store_entry *e)
{
	const struct selection *sel = arg;
	struct cached *c = (struct cached *)e;
	bool has = cache_purge_has(sel->scope, c);

	if (has)
		cache_remove_from_disk(sel->cache, cache_entry_on_disk(c));
	return has;
}

size_t cache_purge_part(struct cache *cache, const struct purge_walk *walk,
			const struct keypart *part)
{
	struct selection sel = { cache, walk->scope };
	struct cache_batch batch;
	size_t n = 0;

	assert(part->count && !walk->ended);
	cache_begin_batch(&batch);
	for (unsigned i = 0; i < cache->nshards; i++) {
		struct cache_shard *shard = &cache->shards[i];

		cache_enter_shard(cache, shard, &batch);
		n += store_remove_if(shard->main.store, part,
				     cache_purge_selects, &sel);
		if (cache->ram.store)
			n += store_remove_if(cache->ram.store, part,
					     cache_purge_selects, &sel);
		cache_leave_shard(cache, shard);
	}
	cache_end_batch(cache, &batch);
	if (cache->disk)
		n += cache_purge_disk(cache, part, walk->scope);
	return n;
}
