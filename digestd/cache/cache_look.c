/*
 * What is stored under a key, for people: not on the way of any request.
 */
#include "digestd/cache/cache_inside.h"

static void cache_look_at(const struct store *store, const struct scd_key *key,
			  struct cache_held *out)
{
	struct store_entry *e = store ? store_find(store, key) : NULL;

	for (; e; e = store_next(e)) {
		if (out->n < CACHE_HELD_MAX)
			out->variants[out->n++] =
				cached_ref((struct cached *)e);
		out->in_memory++;
	}
}

void cache_look(struct cache *cache, const struct scd_key *key,
		struct cache_held *out)
{
	struct cache_shard *shard = cache_shard_of(cache, key);
	struct store_entry *e = NULL;

	*out = (struct cache_held){ .n = 0 };
	pthread_mutex_lock(&shard->lock);
	cache_look_at(shard->main.store, key, out);
	cache_look_at(cache->ram.store, key, out);
	if (cache->disk)
		e = store_find(cache->ondisk.store, key);
	for (; e; e = store_next(e))
		out->on_disk++;
	pthread_mutex_unlock(&shard->lock);
}
