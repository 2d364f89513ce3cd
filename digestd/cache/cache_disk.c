/*
 * The cache's disk tier: which objects are there, and which of them go.
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "digestd/cache/cache_inside.h"
#include "digestd/disk/disk_used.h"
#include "digestd/http/vary.h"
#include "digestd/os/log.h"

static size_t cache_disk_weight(void *arg, const struct store_entry *entry)
{
	(void)arg;
	return disk_entry_weight((const struct disk_entry *)entry);
}

static const struct fields *
cache_disk_selecting_of(const struct store_entry *entry)
{
	return disk_entry_selecting((const struct disk_entry *)entry);
}

static bool cache_disk_counts(void *arg, const struct store_entry *entry)
{
	(void)arg;
	return !((const struct disk_entry *)entry)->unvouched;
}

/* An entry has left the store. What it has on disk goes, but not when the node
 * ends. */
static void cache_disk_released(void *arg, struct store_entry *entry)
{
	struct cache *cache = ((struct tier *)arg)->cache;
	struct disk_entry *e = (struct disk_entry *)entry;

	if (e->memory)
		cached_disk(e->memory)->entry = NULL;
	e->memory = NULL;
	if (cache->closing)
		disk_entry_free(e);
	else if (e->pending) /* cache_disk_written() comes, and removes it */
		disk_spare(e);
	else
		disk_remove(cache->disk, e);
}

struct disk_entry *cache_entry_on_disk(struct cached *c)
{
	return cached_disk(c) ? cached_disk(c)->entry : NULL;
}

void cache_part_from_disk(struct cached *c)
{
	struct disk_entry *e = cache_entry_on_disk(c);

	assert(!e || e->memory == c);
	if (!e)
		return;
	e->memory = NULL;
	cached_disk(c)->entry = NULL;
}

static void cache_disk_tie(struct disk_entry *e, struct cached *c)
{
	cache_part_from_disk(c);
	if (e->memory)
		cached_disk(e->memory)->entry = NULL;
	e->memory = c;
	*cached_disk(c) = (struct cached_disk){ e->id, e };
}

/* Finding */

struct disk_entry *cache_match_disk(const struct cache *cache,
				    const struct scd_key *key,
				    const struct fields *request)
{
	struct store_entry *e;

	assert(cache->ondisk.store);
	e = store_find(cache->ondisk.store, key);
	for (; e; e = store_next(e)) {
		if (vary_match(cache_disk_selecting_of(e), request))
			return (struct disk_entry *)e;
	}
	return NULL;
}

/* The object of that number; null: it is gone. */
static struct disk_entry *cache_disk_find_id(const struct cache *cache,
					     const struct scd_key *key,
					     uint64_t id)
{
	struct store_entry *e = store_find(cache->ondisk.store, key);

	while (e && ((struct disk_entry *)e)->id != id)
		e = store_next(e);
	return (struct disk_entry *)e;
}

/* Writing */

/* Gives the entry to the writer and to the store, or frees it. */
static bool cache_disk_enter(struct cache *cache, const struct scd_key *key,
			     struct disk_entry *old, struct disk_entry *e,
			     struct cached *c)
{
	struct store_stats now;

	disk_entry_measure(e, c);
	store_stats(cache->ondisk.store, &now);
	if (disk_entry_weight(e) > now.max_weight ||
	    !disk_write(cache->disk, key, e, c)) {
		disk_entry_free(e);
		cache_remove_from_disk(cache, old);
		return false;
	}
	cache_disk_tie(e, c);
	/* neither fails: it fits */
	if (old)
		store_replace(cache->ondisk.store, &old->entry, &e->entry);
	else
		store_insert(cache->ondisk.store, &e->entry, key);
	return true;
}

bool cache_write_to_disk(struct cache *cache, const struct scd_key *key,
			 struct disk_entry *old, struct cached *c)
{
	struct disk_entry *e;

	assert(cache->disk);
	assert(!cached_file(c));
	e = disk_entry_new(disk_next_id(cache->disk), cached_selecting(c));
	if (!e) {
		cache_remove_from_disk(cache, old);
		return false;
	}
	e->copy = c->copy;
	e->unvouched = c->unvouched;
	return cache_disk_enter(cache, key, old, e, c);
}

void cache_remove_from_disk(struct cache *cache, struct disk_entry *old)
{
	if (old)
		store_remove(cache->ondisk.store, &old->entry);
}

static bool cache_disk_same_variant(const struct fields *a,
				    const struct fields *b)
{
	return fields_count(a) == fields_count(b) && vary_match(a, b);
}

bool cache_renew_on_disk(struct cache *cache, struct disk_entry *old,
			 struct cached *c)
{
	struct cached *of = cached_shares(c);

	assert(cache->disk);
	/* small ones are written anew with their bodies */
	if (!old || old->pending || !old->blocks || !of ||
	    cached_disk(of)->id != old->id ||
	    !cache_disk_same_variant(cache_disk_selecting_of(&old->entry),
				     cached_selecting(c)))
		return false;
	old->early = false; /* its origin has just confirmed it */
	disk_renew(cache->disk, &old->entry.key, old->id, c);
	if (!cached_file(c))
		cache_disk_tie(old, c);
	return true;
}

/* In the disk's thread, as all that follow. */
static void cache_disk_written(void *arg, struct disk_writing *w)
{
	struct cache *cache = arg;
	struct disk_entry *e = w->e;

	cache_enter(cache);
	e->pending = false;
	e->checked = true;
	e->place = w->error ? (struct disk_place){ 0 } : w->place;
	if (w->gone)
		disk_remove(cache->disk, e);
	else if (w->error)
		store_remove(cache->ondisk.store, &e->entry);
	cache_leave(cache);
}

static bool cache_disk_where(void *arg, const struct scd_key *key, uint64_t id,
			     struct disk_where *out)
{
	struct cache *cache = arg;
	struct disk_entry *e;
	bool there;

	cache_enter(cache);
	e = cache_disk_find_id(cache, key, id);
	there = e && !e->pending;
	if (there)
		*out = disk_entry_where(e);
	cache_leave(cache);
	return there;
}

static bool cache_disk_moved(void *arg, const struct scd_key *key, uint64_t id,
			     const struct disk_place *from,
			     const struct disk_place *to)
{
	struct cache *cache = arg;
	struct disk_entry *e;
	bool moved;

	cache_enter(cache);
	e = cache_disk_find_id(cache, key, id);
	moved = e && !e->pending && e->place.segment == from->segment &&
		e->place.at == from->at;
	if (moved)
		e->place = *to;
	cache_leave(cache);
	return moved;
}

static void cache_disk_lost(void *arg, const struct scd_key *key, uint64_t id)
{
	struct cache *cache = arg;
	struct disk_entry *e;

	cache_enter(cache);
	e = cache_disk_find_id(cache, key, id);
	if (e)
		store_remove(cache->ondisk.store, &e->entry);
	cache_leave(cache);
}

/* Reading */

bool cache_read(struct cache *cache, const struct scd_key *key,
		const struct fields *request, struct disk_read *read)
{
	struct disk_entry *e;
	bool reads = false;

	if (!cache->disk || !cache_has_caught_up(cache))
		return false;
	assert(read->loop && read->call.run);
	cache_enter(cache);
	e = cache_match_disk(cache, key, request);
	if (e && !e->pending) {
		store_touch(cache->ondisk.store, &e->entry);
		read->key = *key;
		read->id = e->id;
		read->place = e->place;
		read->units = e->units;
		read->check = !e->checked;
		read->of = NULL;
		read->found = NULL;
		reads = disk_read(cache->disk, read);
	}
	cache_leave(cache);
	return reads;
}

void cache_read_blocks(struct cache *cache, struct disk_read *read)
{
	assert(cache->disk);
	assert(read->of && cached_file(read->of));
	read->id = cached_file(read->of)->id;
	read->found = NULL;
	disk_read_blocks(cache->disk, read);
}

void cache_read_cancel(struct cache *cache, struct disk_read *read)
{
	assert(cache->disk);
	disk_read_cancel(cache->disk, read);
	cached_unref(&read->found);
}

/* Whether it is the object that is bad, and not only this moment. */
static bool cache_disk_is_lost(int error)
{
	return error == -EBADMSG || error == -EIO || error == -ENOENT;
}

static void cache_disk_was_lost(struct cache *cache, struct disk_entry *e,
				const struct disk_read *read)
{
	disk_count_error(cache->disk, read);
	if (cache_disk_is_lost(read->error))
		store_remove(cache->ondisk.store, &e->entry);
}

static void cache_disk_was_found(struct cache *cache, struct disk_entry *e,
				 const struct disk_read *read)
{
	struct cached *c = read->found;

	c->copy = e->copy;
	c->doubted = e->early &&
		     __atomic_load_n(&cache->doubted, __ATOMIC_ACQUIRE);
	e->checked = true;
	if (!cached_file(c) && !e->memory &&
	    !cache_insert(cache, &read->key, c))
		cache_disk_tie(e, c);
}

/* In one of the disk's threads. What is gone meanwhile may answer who has asked
 * for it before, and nobody else. */
static void cache_disk_was_read(void *arg, struct disk_read *read)
{
	struct cache *cache = arg;
	struct disk_entry *e;

	cache_enter(cache);
	e = cache_disk_find_id(cache, &read->key, read->id);
	if (read->found) /* purged meanwhile, it is nowhere */
		read->found->place = e ? ADMISSION_DISK : ADMISSION_NO;
	if (e && read->found)
		cache_disk_was_found(cache, e, read);
	else if (e && read->error)
		cache_disk_was_lost(cache, e, read);
	cache_leave(cache);
}

/* Purging */

size_t cache_drop_from_disk(struct cache *cache, const struct scd_key *key)
{
	assert(cache->ondisk.store);
	return store_remove_key(cache->ondisk.store, key);
}

struct purge_id {
	struct scd_key key;
	uint64_t id;
};

/* What is on disk only, of a part. */
struct purge_list {
	struct cache *cache;
	struct purge_id *at;
	size_t n, cap;
	bool no_memory;
};

static void cache_disk_list_key(void *arg, const struct scd_key *key)
{
	struct purge_list *l = arg;
	struct store_entry *e = store_find(l->cache->ondisk.store, key);

	for (; e && !l->no_memory; e = store_next(e)) {
		if (l->n == l->cap) {
			size_t cap = l->cap ? 2 * l->cap : 256;
			void *at = realloc(l->at, cap * sizeof(*l->at));

			if (!at) {
				l->no_memory = true;
				return;
			}
			l->at = at;
			l->cap = cap;
		}
		l->at[l->n++] = (struct purge_id){
			*key, ((struct disk_entry *)e)->id };
	}
}

/* The response of that number, with one user, or where it is. False: it is
 * gone. */
static bool cache_disk_look_up(struct cache *cache, const struct purge_id *p,
			       struct cached **c, struct disk_where *where)
{
	struct disk_entry *e;

	*c = NULL;
	cache_enter(cache);
	e = cache_disk_find_id(cache, &p->key, p->id);
	if (e && e->pending)
		*c = cached_ref(disk_entry_pending(e));
	else if (e)
		*where = disk_entry_where(e);
	cache_leave(cache);
	return e;
}

/* The same without its place: null, it is unknown. Its segment may go while it
 * is read: then it is in another one. */
static struct cached *cache_disk_head_of(struct cache *cache,
					 const struct purge_id *p)
{
	struct disk_where where, before = { .units = 0 };
	struct cached *c;

	while (cache_disk_look_up(cache, p, &c, &where) && !c &&
	       (where.place.segment != before.place.segment ||
		where.place.at != before.place.at)) {
		c = disk_head(cache->disk, p->id, &where);
		if (c)
			return c;
		before = where;
	}
	return c;
}

static size_t cache_disk_purge_id(struct cache *cache, const struct purge_id *p)
{
	struct disk_entry *e;
	bool there;

	cache_enter(cache);
	e = cache_disk_find_id(cache, &p->key, p->id);
	there = e;
	if (there && e->memory) /* came into memory meanwhile */
		store_remove(cache_main(cache, &p->key)->store,
			     &e->memory->entry);
	cache_remove_from_disk(cache, e);
	cache_leave(cache);
	return there;
}

/* One that is found out to be unreadable goes too. */
size_t cache_purge_disk(struct cache *cache, const struct keypart *part,
			const struct purge_walk *walk)
{
	struct purge_list l = { .cache = cache };
	size_t n = 0;

	assert(cache->ondisk.store && walk);
	cache_enter(cache);
	store_each_key(cache->ondisk.store, part, cache_disk_list_key, &l);
	cache_leave(cache);
	for (size_t i = 0; i < l.n; i++) {
		struct cached *c = cache_disk_head_of(cache, &l.at[i]);

		if (!c || cache_purge_has(cache, walk, c))
			n += cache_disk_purge_id(cache, &l.at[i]);
		cached_unref(&c);
	}
	free(l.at);
	return n;
}

bool cache_sync(struct cache *cache, struct disk_sync *sync)
{
	if (cache->disk)
		disk_sync(cache->disk, sync);
	return cache->disk;
}

void cache_sync_wait(struct cache *cache, struct disk_sync *sync)
{
	if (cache->disk)
		disk_sync_wait(cache->disk, sync);
}

/* Life */

/* The other one for the same requests; null: none. */
static struct disk_entry *cache_disk_find_twin(struct cache *cache,
					       const struct scd_key *key,
					       const struct disk_entry *of)
{
	struct store_entry *e = store_find(cache->ondisk.store, key);

	while (e && !cache_disk_same_variant(cache_disk_selecting_of(e),
					     disk_entry_selecting(of)))
		e = store_next(e);
	return (struct disk_entry *)e;
}

/* Of one object, what is thought to be its record is the later one. */
static void cache_disk_keep_later(struct disk_entry *twin, struct disk_entry *e)
{
	struct disk_place place = twin->place;
	uint32_t units = twin->units;

	twin->place = e->place;
	twin->units = e->units;
	e->place = place;
	e->units = units;
	e->blocks = 0;
}

static void cache_disk_load_entry(void *arg, struct disk_entry *e,
				  const struct scd_key *key)
{
	struct cache *cache = arg;
	struct disk_entry *twin = cache_disk_find_twin(cache, key, e);

	e->early = true;
	if (twin && twin->id == e->id)
		cache_disk_keep_later(twin, e);
	if (twin && twin->id >= e->id) {
		disk_remove(cache->disk, e);
		return;
	}
	cache_remove_from_disk(cache, twin);
	if (store_insert(cache->ondisk.store, &e->entry, key))
		disk_remove(cache->disk, e);
	else if (e->used)
		store_touch(cache->ondisk.store, &e->entry);
}

static bool cache_disk_is_copy(void *arg, const struct store_entry *entry)
{
	(void)arg;
	return ((const struct disk_entry *)entry)->copy;
}

static const struct store_copies cache_disk_copies = {cache_disk_is_copy,
						      cache_is_alone};

/* A disk that has no room, or fails, is done without; it is not the node's
 * fault, and not its operator's. */
static int cache_disk_give_up(struct cache *cache, const char *path, int err)
{
	if (err != -ENOSPC && err != -EDQUOT && err != -EIO && err != -EROFS)
		return err;
	log_write(LOG_ERROR, "disk", "%s: nothing is kept there", path);
	cache_close_disk(cache);
	cache->given_up = strdup(path);
	return cache->given_up ? 0 : -ENOMEM;
}

void cache_discard_disk(struct cache *cache)
{
	int err = cache->given_up ? disk_discard(cache->given_up) : 0;

	if (err)
		log_write(LOG_ERROR, "disk",
			  "%s: %s: what is purged may be back at the next "
			  "start",
			  cache->given_up, strerror(-err));
	free(cache->given_up);
	cache->given_up = NULL;
}

void cache_give_up_disk(struct cache *cache, const char *path, bool purged)
{
	cache_purges_lock(cache);
	cache->on_purge = NULL;
	assert(!cache->given_up);
	cache->given_up = strdup(path);
	if (purged)
		cache_discard_disk(cache);
	else if (!cache->given_up)
		(void)disk_discard(path); /* rather than what was purged */
	cache_purges_unlock(cache);
}

int cache_open_disk(struct cache *cache, const struct cache_settings *settings)
{
	struct disk_settings disk = {
		.path = settings->disk_path,
		.secret = settings->hash_secret,
		.max_bytes = settings->disk_bytes,
		.max_queue_bytes = settings->disk_queue_bytes,
		.troubles = settings->troubles,
		.events = {cache_disk_written, cache_disk_was_read,
			   cache_disk_where, cache_disk_moved, cache_disk_lost,
			   cache},
	};
	int err;

	assert(settings->disk_path && !cache->disk);
	err = disk_open(&disk, &cache->disk);
	if (err) {
		log_write(LOG_ERROR, "disk", "%s: %s", settings->disk_path,
			  err == -EBUSY ? "another process uses it" :
					  strerror(-err));
		return cache_disk_give_up(cache, settings->disk_path, err);
	}
	cache->disk_bytes = settings->disk_bytes;
	cache->ondisk.events.released = cache_disk_released;
	cache->ondisk.events.weight = cache_disk_weight;
	cache->ondisk.events.counts = cache_disk_counts;
	if (settings->tiers)
		cache->ondisk.copies = &cache_disk_copies;
	err = cache_open_tier(cache, &cache->ondisk,
			      disk_for_objects(settings->disk_bytes),
			      eviction_policy_find(settings->policy));
	if (!err)
		err = disk_load(cache->disk, cache_disk_load_entry, cache);
	if (!err)
		return 0;
	log_write(LOG_ERROR, "disk", "%s: what is stored there cannot be "
		  "read: %s%s", settings->disk_path, strerror(-err),
		  err == -EACCES ? " (it must be the user's of this process)"
				 : "");
	return cache_disk_give_up(cache, settings->disk_path, err);
}

static void cache_disk_note_used(void *arg, struct store_entry *entry)
{
	disk_used_add(arg, ((const struct disk_entry *)entry)->id);
}

void cache_retire_disk(struct cache *cache)
{
	struct disk_used used = { .n = 0 };

	if (!cache->disk)
		return;
	cache_enter(cache);
	store_visit_spared(cache->ondisk.store, cache_disk_note_used, &used);
	cache_leave(cache);
	disk_retire(cache->disk, &used);
	disk_used_free(&used);
}

void cache_close_disk(struct cache *cache)
{
	struct disk_used used = { .n = 0 };

	if (cache->disk && cache->ondisk.store) {
		disk_stop(cache->disk);
		store_visit_spared(cache->ondisk.store, cache_disk_note_used,
				   &used);
		disk_save_used(cache->disk, &used);
	}
	disk_used_free(&used);
	disk_close(&cache->disk);
	cache->closing = true;
	store_free(&cache->ondisk.store);
	cache->closing = false;
}

bool cache_disk_stats(struct cache *cache, struct store_stats *store,
		      struct disk_counters *counters)
{
	if (!cache->disk)
		return false;
	cache_enter(cache);
	store_stats(cache->ondisk.store, store);
	store->max_weight = cache->disk_bytes;
	cache_leave(cache);
	disk_count(cache->disk, counters);
	return true;
}
