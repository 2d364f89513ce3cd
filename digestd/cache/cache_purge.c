/*
 * Purges: of a key at once, and of many, part by part; and what must not come
 * into the cache after them.
 */
#include <assert.h>
#include <string.h>

#include "digestd/cache/cache_inside.h"

/* What a purge is from before */

/* With the lock of purges: *fields are to be freed, and empty where they do not
 * matter; -1: no memory. */
static int cache_purge_fields(const struct cache *cache, const struct cached *c,
			      struct fields *fields)
{
	fields_init(fields);
	if (!invalidation_log_has_tags(cache->purges))
		return 0;
	return cached_fields(c, fields) ? -1 : 0;
}

bool cache_purge_has(struct cache *cache, const struct purge_walk *walk,
		     const struct cached *c)
{
	struct fields fields;
	struct scd_key key;
	const struct invalidation_subject subject = {&key, cached_uri(c),
						     &fields};
	bool has = true; /* without memory: what is gone is right */

	scd_key_make(cache->hash_secret, "GET", cached_uri(c),
		     strlen(cached_uri(c)), &key);
	pthread_mutex_lock(&cache->purges_lock);
	if (!cache_purge_fields(cache, c, &fields))
		has = invalidation_log_meets(cache->purges, &subject,
					     walk->first, walk->last);
	pthread_mutex_unlock(&cache->purges_lock);
	fields_free(&fields);
	return has;
}

/* The latest of what is of a response; without memory, of whatever. */
static struct invalidation_newest cache_purge_newest(struct cache *cache,
						     const struct scd_key *key,
						     const struct cached *c)
{
	struct fields fields;
	struct invalidation_subject subject = {key, cached_uri(c), &fields};
	struct invalidation_newest newest;

	pthread_mutex_lock(&cache->purges_lock);
	if (cache_purge_fields(cache, c, &fields))
		subject.fields = NULL;
	newest = invalidation_log_newest(cache->purges, &subject);
	pthread_mutex_unlock(&cache->purges_lock);
	fields_free(&fields);
	return newest;
}

bool cache_purge_meets(struct cache *cache, const struct cache_fill *fill,
		       const struct cached *c)
{
	uint64_t now = cache_purges(cache);

	assert(fill->asked <= now);
	if (!now) /* saves time */
		return false;
	if (!fill->renews)
		return fill->asked < now &&
		       cache_purge_newest(cache, fill->key, c).added >
			       fill->asked;
	return cache_purge_newest(cache, fill->key, fill->renews).settled >
		       fill->asked ||
	       cache_purge_newest(cache, fill->key, c).settled > fill->asked;
}

bool cache_is_purged(struct cache *cache, const struct cache_copy *copy)
{
	const struct invalidation_subject subject = {copy->key, copy->uri,
						     copy->fields};
	struct invalidation_newest newest;

	if (!cache_purges(cache))
		return false;
	pthread_mutex_lock(&cache->purges_lock);
	newest = invalidation_log_newest(cache->purges, &subject);
	pthread_mutex_unlock(&cache->purges_lock);
	if (copy->met && newest.added <= copy->asked)
		return newest.local && copy->born_s <= newest.local_at_s + 1;
	return newest.added && copy->born_s <= newest.at_s + 1;
}

uint64_t cache_purges(const struct cache *cache)
{
	return invalidation_log_now(cache->purges);
}

struct invalidation_newest cache_last_purge(struct cache *cache,
					    const struct scd_key *key,
					    const char *uri)
{
	const struct invalidation_subject subject = {key, uri, NULL};
	struct invalidation_newest newest = {0};

	if (!cache_purges(cache))
		return newest;
	pthread_mutex_lock(&cache->purges_lock);
	newest = invalidation_log_newest(cache->purges, &subject);
	pthread_mutex_unlock(&cache->purges_lock);
	return newest;
}

size_t cache_need(struct cache *cache, const struct scd_key *key,
		  const char *uri, struct invalidation_position *need)
{
	const struct invalidation_subject subject = { key, uri, NULL };
	size_t n = 0;

	if (!cache_purges(cache))
		return 0;
	pthread_mutex_lock(&cache->purges_lock);
	n = invalidation_log_need(cache->purges, &subject, need);
	pthread_mutex_unlock(&cache->purges_lock);
	return n;
}

bool cache_has_applied(struct cache *cache,
		       const struct invalidation_position *position)
{
	bool has;

	pthread_mutex_lock(&cache->purges_lock);
	has = invalidation_log_has(cache->purges, position);
	pthread_mutex_unlock(&cache->purges_lock);
	return has;
}

void cache_catch_up(struct cache *cache, bool done)
{
	__atomic_store_n(&cache->behind, !done, __ATOMIC_RELEASE);
}

bool cache_has_caught_up(const struct cache *cache)
{
	return !__atomic_load_n(&cache->behind, __ATOMIC_ACQUIRE);
}

void cache_hear_all(struct cache *cache, bool done)
{
	__atomic_store_n(&cache->unheard, !done, __ATOMIC_RELEASE);
}

bool cache_has_heard_all(const struct cache *cache)
{
	return !__atomic_load_n(&cache->unheard, __ATOMIC_ACQUIRE);
}

void cache_doubt_disk(struct cache *cache, bool doubted)
{
	__atomic_store_n(&cache->doubted, doubted, __ATOMIC_RELEASE);
}

struct invalidation_log *cache_purges_lock(struct cache *cache)
{
	pthread_mutex_lock(&cache->purges_lock);
	return cache->purges;
}

void cache_purges_unlock(struct cache *cache)
{
	pthread_mutex_unlock(&cache->purges_lock);
}

void cache_on_purge(struct cache *cache,
		    void (*on_purge)(void *arg, const struct invalidation *of),
		    void *arg)
{
	cache_purges_lock(cache);
	cache->on_purge = on_purge;
	cache->on_purge_arg = arg;
	cache_purges_unlock(cache);
}

/* With the lock of purges. */
static void cache_purge_tell(const struct cache *cache,
			     const struct invalidation *of)
{
	if (cache->on_purge)
		cache->on_purge(cache->on_purge_arg, of);
}

/* Of a key */

/* What is on disk of that which is in memory too. */
static void cache_drop_copies(struct cache *cache, const struct scd_key *key)
{
	struct store_entry *e = store_find(cache_main(cache, key)->store, key);

	for (; e; e = store_next(e))
		cache_remove_from_disk(cache,
				       cache_entry_on_disk((struct cached *)e));
}

/* Of one key, and by whom; *asked advances with it. */
struct cache_key_purge {
	const struct scd_key *key;
	struct invalidation_position at;
	uint64_t *asked;
	int64_t now_s;
};

static uint64_t cache_purge_log(struct cache *cache,
				const struct cache_key_purge *purge)
{
	const struct invalidation of = invalidation_of_key(purge->key);
	const struct invalidation_subject subject = {purge->key, NULL, NULL};
	struct invalidation_log *log = cache_purges_lock(cache);
	bool current =
		purge->asked &&
		invalidation_log_newest(log, &subject).added <= *purge->asked;
	uint64_t seq = invalidation_log_add(log, &of, &purge->at, purge->now_s);

	cache_purge_tell(cache, &of);
	cache_discard_disk(cache);
	if (current)
		*purge->asked = invalidation_log_now(log);
	cache_purges_unlock(cache);
	return seq;
}

/* Returns how many; the number becomes known. */
static size_t cache_purge_key(struct cache *cache,
			      const struct cache_key_purge *purge,
			      uint64_t *seq)
{
	const struct scd_key *key = purge->key;
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
	*seq = cache_purge_log(cache, purge);
	cache_leave_shard(cache, shard);
	cache_end_batch(cache, &batch);
	return n;
}

size_t cache_drop(struct cache *cache, const struct scd_key *key,
		  uint64_t *asked, int64_t now_s)
{
	const struct cache_key_purge purge = {key, {0, 0}, asked, now_s};
	uint64_t seq;

	return cache_purge_key(cache, &purge, &seq);
}

size_t cache_invalidate(struct cache *cache, const struct scd_key *key,
			uint64_t *asked, int64_t now_s, uint64_t *seq)
{
	const struct cache_key_purge purge = {
		key, {cache->instance, 0}, asked, now_s};

	return cache_purge_key(cache, &purge, seq);
}

/* Of many */

static uint64_t cache_purge_source(struct cache *cache,
				   const struct cache_purge *purge)
{
	if (purge->local)
		return 0;
	return purge->source ? purge->source : cache->instance;
}

/* Notes those from the i-th on that have to be walked for, up to the next key;
 * at once, so that their counts are in one go. Returns which that is. */
static size_t cache_purge_note(struct cache *cache,
			       const struct cache_purge *purge, size_t i,
			       struct purge_walk *walk)
{
	const struct invalidation_entry *e = purge->entries;
	uint64_t source = cache_purge_source(cache, purge);
	struct invalidation_log *log;

	cache_enter(cache);
	log = cache_purges_lock(cache);
	cache_discard_disk(cache);
	if (!walk->walks) {
		invalidation_log_open(log);
		walk->first = invalidation_log_now(log) + 1;
	}
	walk->walks = true;
	for (; i < purge->n && e[i].of.kind != INVALIDATION_KEY; i++) {
		const struct invalidation_position at = {source, e[i].seq};

		cache_purge_tell(cache, &e[i].of);
		walk->seq = invalidation_log_add(log, &e[i].of, &at,
						 purge->now_s);
	}
	walk->last = invalidation_log_now(log);
	cache_purges_unlock(cache);
	cache_leave(cache);
	return i;
}

static void cache_purge_one(struct cache *cache,
			    const struct cache_purge *purge, size_t i,
			    struct purge_walk *walk)
{
	const struct invalidation_entry *e = &purge->entries[i];
	const struct cache_key_purge of = {
		&e->of.hash,
		{cache_purge_source(cache, purge), e->seq},
		NULL,
		purge->now_s};

	walk->removed += cache_purge_key(cache, &of, &walk->seq);
}

/* One after the other, as the log has to have the numbers of an initiator in
 * ascending order. */
void cache_purge_begin(struct cache *cache, const struct cache_purge *purge,
		       struct purge_walk *walk)
{
	size_t i = 0;

	*walk = (struct purge_walk){0};
	while (i < purge->n) {
		if (purge->entries[i].of.kind == INVALIDATION_KEY)
			cache_purge_one(cache, purge, i++, walk);
		else
			i = cache_purge_note(cache, purge, i, walk);
	}
}

void cache_purge_end(struct cache *cache, struct purge_walk *walk)
{
	if (!walk->walks)
		return;
	walk->walks = false;
	cache_enter(cache);
	invalidation_log_settle(cache_purges_lock(cache), walk->first,
				walk->last);
	cache_purges_unlock(cache);
	cache_leave(cache);
}

/* What is purged of the tiers in memory, and of the disk with them. */
struct selection {
	struct cache *cache;
	const struct purge_walk *walk;
};

static bool cache_purge_selects(void *arg, struct store_entry *e)
{
	const struct selection *sel = arg;
	struct cached *c = (struct cached *)e;
	bool has = cache_purge_has(sel->cache, sel->walk, c);

	if (has)
		cache_remove_from_disk(sel->cache, cache_entry_on_disk(c));
	return has;
}

void cache_purge_part(struct cache *cache, struct purge_walk *walk,
		      const struct keypart *part)
{
	struct selection sel = {cache, walk};
	struct cache_batch batch;

	assert(part->count && walk->walks);
	cache_begin_batch(&batch);
	for (unsigned i = 0; i < cache->nshards; i++) {
		struct cache_shard *shard = &cache->shards[i];

		cache_enter_shard(cache, shard, &batch);
		walk->removed += store_remove_if(shard->main.store, part,
						 cache_purge_selects, &sel);
		if (cache->ram.store)
			walk->removed +=
				store_remove_if(cache->ram.store, part,
						cache_purge_selects, &sel);
		cache_leave_shard(cache, shard);
	}
	cache_end_batch(cache, &batch);
	if (cache->disk)
		walk->removed += cache_purge_disk(cache, part, walk);
}

void cache_purge_now(struct cache *cache, const struct invalidation *of,
		     int64_t now_s)
{
	const struct invalidation_entry entry = { .of = *of };
	const struct cache_purge purge = {
		.entries = &entry, .n = 1, .now_s = now_s, .local = true,
	};
	struct keypart part = { .count = cache_parts(cache) };
	struct purge_walk walk;

	cache_purge_begin(cache, &purge, &walk);
	for (; walk.walks && part.number < part.count; part.number++)
		cache_purge_part(cache, &walk, &part);
	cache_purge_end(cache, &walk);
}
