/*
 * A walk over what can be offered to caches that know objects by their URIs.
 */
#include <assert.h>

#include "digestd/cache/cache_inside.h"
#include "digestd/http/freshness.h"

/* A walk, and what it calls. */
struct cache_fresh {
	int64_t now_s;
	void (*each)(void *arg, const char *uri);
	void *arg;
};

static void cache_fresh_visit(void *arg, struct store_entry *e)
{
	const struct cache_fresh *walk = arg;
	const struct cached *c = (const struct cached *)e;

	if (!c->unvouched && freshness_left(&c->freshness, walk->now_s) > 0)
		walk->each(walk->arg, cached_uri(c));
}

void cache_each_fresh(struct cache *cache, const struct keypart *part,
		      int64_t now_s, void (*each)(void *arg, const char *uri),
		      void *arg)
{
	struct cache_fresh walk = { now_s, each, arg };
	struct cache_batch batch;

	assert(part->count && each);
	cache_begin_batch(&batch);
	for (unsigned i = 0; i < cache->nshards; i++) {
		struct cache_shard *shard = &cache->shards[i];

		cache_enter_shard(cache, shard, &batch);
		store_each_entry(shard->main.store, part, cache_fresh_visit,
				 &walk);
		if (cache->ram.store && !i)
			store_each_entry(cache->ram.store, part,
					 cache_fresh_visit, &walk);
		cache_leave_shard(cache, shard);
	}
	cache_end_batch(cache, &batch);
}
