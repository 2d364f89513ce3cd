/*
 * What is hot, in memory: found by the policy of eviction, whose order it is.
 *
 * The room's lock is held for the walk: CACHE_HOTTEST entries take some
 * milliseconds, so it is for who starts or ends, and not for requests.
 */
#include <string.h>

#include "digestd/cache/cache_inside.h"

struct cache_hot {
	struct cached **out;
	size_t n, cap;
	uint64_t bytes, max_bytes;
};

/* A slice has a name that no URI has. */
static bool cache_hottest_is_for_others(const struct cached *c)
{
	return !c->unvouched && !c->sliced && !strchr(cached_uri(c), '#');
}

static bool cache_hottest_take(void *arg, struct store_entry *e)
{
	struct cached *c = (struct cached *)e;
	struct cache_hot *hot = arg;

	if (!cache_hottest_is_for_others(c) ||
	    hot->bytes + c->body_len > hot->max_bytes)
		return true;
	hot->bytes += c->body_len;
	hot->out[hot->n++] = cached_ref(c);
	return hot->n < hot->cap;
}

size_t cache_hottest(struct cache *cache, struct cached **out, size_t n,
		     uint64_t bytes)
{
	struct cache_hot hot = { .out = out, .cap = n, .max_bytes = bytes };
	const struct store *main = cache->shards[0].main.store;
	bool shards = cache_has_shards(cache);

	if (!n)
		return 0;
	if (shards)
		cache_enter_room(cache);
	else
		cache_enter(cache);
	store_visit_hottest(main, CACHE_HOTTEST, cache_hottest_take, &hot);
	if (shards)
		cache_leave_room(cache);
	else
		cache_leave(cache);
	return hot.n;
}
