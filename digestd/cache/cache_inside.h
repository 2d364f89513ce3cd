/*
 * Inside the cache: its tiers, which are changed under locks; memory is looked
 * up without them (cache_reader.c).
 *
 * An object is in memory, on disk, or both; then each knows the other, until
 * one of them goes. The catalog has a key as long as any tier does.
 *
 * The main store is divided into shards by key, each with a lock, so that
 * workers seldom want the same one. They share the room (store/store_room.h),
 * which has a lock of its own: whoever stores tells the policy of a batch of
 * insertions at a time, and what has to go for them leaves its shards after
 * that. So there is one policy and one capacity, as if there were no shards.
 * With a tier beside the main one, there is one shard, and its lock guards all.
 *
 * Locks are taken in this order: shards by their numbers, the room's, the
 * catalog's; that of what has been released; that of purges.
 */
#ifndef DIGESTD_CACHE_CACHE_INSIDE_H
#define DIGESTD_CACHE_CACHE_INSIDE_H

#include <pthread.h>

#include "digestd/cache/cache.h"
#include "digestd/mesh/catalog.h"
#include "digestd/mesh/invalidation_log.h"
#include "digestd/store/quiescent.h"
#include "digestd/store/store_index.h"
#include "digestd/store/store_room.h"
#include "digestd/disk/disk.h"

/* A store, with what is told of its changes. */
struct tier {
	struct cache *cache;
	struct cache_shard *shard;
	struct store *store; /* null: there is none */
	struct store_events events;
	const struct store_copies *copies; /* null: without tiers */
};

/* A key that came or went, see cache_catalog.c. */
struct cache_change {
	struct scd_key key;
	bool came;
};

enum {
	CACHE_SHARDS_MAX = 32, /* all may be locked at once */
	CACHE_CHANGES = 256,   /* a power of two; some turns of all workers */
	CACHE_COMING = 32,     /* a turn of a worker, or two */
	CACHE_COMING_BYTES = 1 << 20,
};

/* A ring: who has the shard's lock writes, who has the catalog's tells. */
struct cache_changes {
	_Alignas(QUIESCENT_LINE_BYTES) uint32_t written; /* so far */
	struct cache_change at[CACHE_CHANGES];
	_Alignas(QUIESCENT_LINE_BYTES) uint32_t told; /* the same */
};

/* What has left the stores, of struct cached, linked by store_index_link(). */
struct cache_released {
	struct store_entry *leaving, *waiting;
	uint64_t waiting_for; /* to pass, an epoch */
};

/*
 * What a thread has done to the stores, and not told others yet: what is in a
 * shard and is still to enter the room; what has been released; and in which
 * shards keys came and went. A worker has one for the turn of its loop, others
 * one for what they do now.
 */
struct cache_batch {
	unsigned ncoming;
	uint64_t coming_bytes;
	uint64_t changed; /* a bit a shard */
	struct store_entry *gone, *gone_last;
	struct store_entry *coming[CACHE_COMING];
};

/* Its first line is only read. */
struct cache_shard {
	_Alignas(QUIESCENT_LINE_BYTES) struct tier main;
	unsigned number;
	_Alignas(QUIESCENT_LINE_BYTES) pthread_mutex_t lock;
	struct cache_batch *batch; /* of who has the lock */
	struct cache_changes changes;
};

struct cache {
	struct cache_shard *shards;
	unsigned nshards; /* a power of two */
	/* the main policy hears of uses at once; readers note some, at least */
	bool tells_touches, notes_touches;
	struct store_room *room; /* of the shards; null: of the only one */
	pthread_mutex_t room_lock; /* if there are several */
	pthread_mutex_t catalog_lock; /* guards the catalog */
	pthread_mutex_t released_lock; /* guards `released`, the domain */
	pthread_mutex_t purges_lock; /* of who does more than count them */
	struct cache_batch batch; /* of who has all shards */
	struct tier ram;	  /* of what is on probation */
	struct tier ondisk;	  /* of struct disk_entry */
	uint64_t max_bytes, ram_bytes; /* of the main one and that, of that */
	struct cached *moving;	     /* from one to the other */
	const struct scd_key *held;  /* see cache_hold_key(); null: none */
	bool had_held;
	struct admitter *admitter;   /* null: all goes to the main one */
	struct catalog *catalog;
	uint64_t changed; /* shards, as in struct cache_batch, of any thread */
	struct cache_released released; /* of threads that are no readers */
	bool has_left;	      /* that has something */
	struct disk *disk; /* null: there is none */
	uint64_t disk_bytes;
	char *given_up; /* the path of a disk that could not be used, with what
			   it had; under purges_lock */
	uint8_t hash_secret[16]; /* of the keys */
	bool closing;
	struct peerset *view;    /* what peers have, for tiers; null: nothing */
	uint64_t instance;	 /* of the node, for its purges */
	struct invalidation_log *purges;
	/* who is told of purges; null: nobody. Under purges_lock */
	void (*on_purge)(void *arg, const struct invalidation *of);
	void *on_purge_arg;
	bool behind; /* see cache_catch_up(); changed atomically */
	bool unheard; /* see cache_hear_all(); the same */
	bool doubted; /* see cache_doubt_disk(); the same */
	unsigned nreaders; /* of the domain */
	struct quiescent domain; /* of those who look up without the lock */
};

static inline struct cache_shard *cache_shard_of(const struct cache *cache,
						 const struct scd_key *key)
{
	/* bits that neither the index nor its tags use, nor parts of keys */
	return &cache->shards[key->hi >> 40 & (cache->nshards - 1)];
}

/* The tier that a key is in when it is not on probation. */
static inline struct tier *cache_main(const struct cache *cache,
				      const struct scd_key *key)
{
	return &cache_shard_of(cache, key)->main;
}

/*
 * The shards, in cache_shards.c.
 */

/* Makes so many, a power of two, without stores; and frees them. 0 or
 * -ENOMEM. */
int cache_new_shards(struct cache *cache, unsigned n);
void cache_free_shards(struct cache *cache);

/* Makes their stores, with one room for all. 0 or -ENOMEM. */
int cache_open_shards(struct cache *cache, uint64_t max_bytes,
		      const struct eviction_policy *policy);

static inline bool cache_has_shards(const struct cache *cache)
{
	return cache->nshards > 1;
}

/* Locks all of them, and tells the policies of the uses that readers have
 * noted. And unlocks. What has left the stores meanwhile is given up; later, if
 * there are readers. */
void cache_enter(struct cache *cache);
void cache_leave(struct cache *cache);

/* The lock of one, for a batch. */
static inline void cache_lock_shard(struct cache_shard *shard,
				    struct cache_batch *batch)
{
	pthread_mutex_lock(&shard->lock);
	shard->batch = batch;
}

static inline void cache_unlock_shard(struct cache_shard *shard)
{
	pthread_mutex_unlock(&shard->lock);
}

/* The same with the room's, see below. */
void cache_enter_shard(struct cache *cache, struct cache_shard *shard,
		       struct cache_batch *batch);
/* And the end of that. */
void cache_leave_shard(struct cache *cache, struct cache_shard *shard);

/* The room's lock alone. Beside the only shard's there is none, so that it has
 * to be held. Tells of noted uses, too. */
void cache_enter_room(struct cache *cache);
void cache_leave_room(struct cache *cache);

/* Tells the policies of noted uses, without locks. */
void cache_hear_touches(struct cache *cache);

/* Changes the capacity of the shards' room, and evicts what does not fit any
 * more; without locks. */
void cache_limit_room(struct cache *cache, uint64_t max_bytes);

static inline void cache_begin_batch(struct cache_batch *batch)
{
	batch->ncoming = 0;
	batch->coming_bytes = 0;
	batch->changed = 0;
	batch->gone = batch->gone_last = NULL;
}

/* Has what is coming enter the room, without locks; if it need not be now, not
 * while somebody else has the room. */
void cache_settle_batch(struct cache *cache, struct cache_batch *batch,
			bool now);

/* Others are to do what is left to do of a batch; without locks. */
void cache_end_batch(struct cache *cache, struct cache_batch *batch);

/* cache_put() for a batch that outlives it; without locks. */
bool cache_put_by(struct cache *cache, struct cache_batch *batch,
		  const struct cache_fill *fill, struct cached *c);

/* An object has left memory: that is an event of stores. */
void cache_released(void *arg, struct store_entry *entry);
void cache_set_place(struct cached *c, enum admission_decision place);

/* Whether no peer shows that it has what an entry of a tier (arg) is of; with
 * the lock of the tier's room. */
bool cache_is_alone(void *arg, const struct store_entry *entry);

/* Of what is in memory. */
extern const struct store_copies cache_copies;

/* Adds what a batch has to what has been released; with its lock, while there
 * are readers. */
void cache_add_to_released(struct cache *cache, struct cache_batch *batch);

/* Drops the references to a list of what has left; without locks. */
void cache_give_up(struct store_entry *gone);

/* Of all shards. */
void cache_stats_of_main(const struct cache *cache, struct store_stats *sum);

/* Tells the policy of uses that readers have noted. With the room's lock. */
void cache_take_touches(struct cache *cache);

/* Sets what is told of the changes of a tier in memory. */
void cache_init_tier(struct cache *cache, struct cache_shard *shard,
		     struct tier *t);

/* Makes a tier's store. */
int cache_open_tier(struct cache *cache, struct tier *t, uint64_t max_bytes,
		    const struct eviction_policy *policy);

/* Makes the catalog, large enough for what the disk has, and with all of it:
 * the first digest is right at once. 0, -EINVAL or -ENOMEM. */
int cache_make_catalog(struct cache *cache,
		       const struct cache_settings *settings);

/* Tells the catalog what has changed in these shards, and in those that are on
 * no worker's list, unless another thread has the catalog. Returns the shards
 * of which it was not told. */
uint64_t cache_tell_catalog(struct cache *cache, uint64_t changed);

/* For the catalog, which hears of a key once. */
void cache_key_added(void *arg, const struct scd_key *key);
void cache_key_removed(void *arg, const struct scd_key *key);

/*
 * What happens to a key is one change, if any, from here until it is let go:
 * what moves from tier to tier, or is replaced, is never gone for who has the
 * catalog. With the lock; the key stays the caller's.
 */
void cache_hold_key(struct cache *cache, const struct scd_key *key);
void cache_let_key_go(struct cache *cache);

/* Puts a response into the main store; with the lock. Returns 0 or -E2BIG. */
int cache_insert(struct cache *cache, const struct scd_key *key,
		 struct cached *c);

/*
 * The disk tier, in cache_disk.c; with the lock, unless said otherwise. All but
 * the first three need one.
 */

/* Opens it, and finds what is there; without the lock. */
int cache_open_disk(struct cache *cache, const struct cache_settings *settings);

/* Writes what is waiting, and closes; without the lock. */
void cache_close_disk(struct cache *cache);

/* Something is removed: a disk that was given up must not have it at the next
 * start, so all that is there goes. With the lock of purges. */
void cache_discard_disk(struct cache *cache);

/* The variant on disk that is for a request; null: none. */
struct disk_entry *cache_match_disk(const struct cache *cache,
				    const struct scd_key *key,
				    const struct fields *request);

/*
 * Writes an object to the disk, where it was found worth it, in place of `old`
 * (null: nothing). Returns whether that will be tried; if not, `old` is gone.
 */
bool cache_write_to_disk(struct cache *cache, const struct scd_key *key,
			 struct disk_entry *old, struct cached *c);

/* Removes `old` (null is allowed) from the disk: it is out of date. */
void cache_remove_from_disk(struct cache *cache, struct disk_entry *old);

/*
 * A response that a 304 has confirmed: when its body is that of `old`, and it
 * is for the same requests, only the record is written. Returns whether that
 * is so.
 */
bool cache_renew_on_disk(struct cache *cache, struct disk_entry *old,
			 struct cached *c);

/* The same on disk of what is in memory; null: it is not there. */
struct disk_entry *cache_entry_on_disk(struct cached *c);

/* What leaves memory is on disk only. */
void cache_part_from_disk(struct cached *c);

/* Removes all of a key that is on disk only; returns how many. */
size_t cache_drop_from_disk(struct cache *cache, const struct scd_key *key);

/* Removes what a walk is of in a part of what is on disk only; without the
 * lock. */
size_t cache_purge_disk(struct cache *cache, const struct keypart *part,
			const struct purge_walk *walk);

/* Purges, in cache_purge.c. */

/* Whether a walk is of a response. */
bool cache_purge_has(struct cache *cache, const struct purge_walk *walk,
		     const struct cached *c);

/* Whether what a fill has brought is from before a purge, or derives from what
 * is; with the lock. */
bool cache_purge_meets(struct cache *cache, const struct cache_fill *fill,
		       const struct cached *c);

#endif
