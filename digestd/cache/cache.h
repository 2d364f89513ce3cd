/*
 * What all workers share: the store and its catalog. Changes are behind locks,
 * which are held for short sections only; workers look up without one.
 *
 * With an admission policy that wants it, a share of the memory is a store of
 * its own, of what waits for its second use and is evicted as LRU; the catalog
 * is of both.
 *
 * A stored response is immutable and counted by its users, so its body goes to
 * clients without a copy and without the lock.
 */
#ifndef DIGESTD_CACHE_CACHE_H
#define DIGESTD_CACHE_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "codec/key.h"
#include "digestd/admission/admission_policy.h"
#include "digestd/http/cachestatus.h"
#include "digestd/http/fields.h"
#include "digestd/store/store.h"
#include "digestd/disk/cached.h"

struct admitter;
struct cache;
struct cache_reader;
struct catalog;
struct catalog_stats;
struct disk_counters;
struct disk_entry;
struct disk_read;
struct disk_sync;
struct invalidation_entry;
struct invalidation;
struct invalidation_log;
struct invalidation_newest;
struct invalidation_position;
struct keypart;
struct peerset;

enum { CACHE_HELD_MAX = 32 };

struct cache_settings {
	uint64_t max_bytes;
	unsigned max_variants; /* of a key, see store_limit_variants() */
	const char *policy; /* of eviction, see eviction_policy_find() */
	unsigned shards; /* of memory, for as many who store at a time; 0: 1 */
	uint64_t nbits;     /* the catalog's shape; larger, up to max_bits, */
	unsigned nhash;     /* when there is more on disk than it is for */
	uint64_t bits_per_key, max_bits;
	bool lists; /* the catalog notes its changes, which somebody takes */
	const char *disk_path; /* null: no disk tier, and the next count not */
	uint64_t disk_bytes;
	uint64_t disk_queue_bytes;  /* that may wait to be written */
	const uint8_t *hash_secret; /* of the keys; 16 bytes */
	struct admitter *admitter; /* borrowed; null: all is worth keeping */
	bool tiers;          /* of what is held for all, and of hot copies */
	uint64_t instance;   /* of the node, which numbers purges; 0: 1 */
	uint32_t max_purges; /* that are known; 0: INVALIDATION_LOG_MAX */
	struct troubles *troubles; /* of the disk; borrowed; null: not told */
};

/*
 * Makes an empty cache. Returns 0, -EINVAL for an unknown policy or an
 * impossible shape, -ENOMEM.
 */
int cache_new(const struct cache_settings *settings, struct cache **out);

/* Frees it, when no worker uses it any more; *cache becomes null. */
void cache_free(struct cache **cache);

/* Changes how much it may hold in memory and on disk, and how many variants of
 * a key; evicts what does not fit. */
void cache_limit(struct cache *cache, uint64_t max_bytes, uint64_t disk_bytes,
		 unsigned max_variants);

/*
 * Locks the catalog and returns it. It has been told of all changes so far, and
 * is told of no more until cache_unlock(). Workers may wait meanwhile, so hold
 * it only briefly.
 */
struct catalog *cache_lock(struct cache *cache);
void cache_unlock(struct cache *cache);

/* Takes a reference to what peers have, from now on; null: nothing. For
 * tiers, which keep the last copy of all; a cache without any takes none. */
void cache_set_view(struct cache *cache, struct peerset *view);

/* A request that memory and disk could not answer: see eviction_tiers_missed(),
 * which says whether what came is worth a place. Without tiers, yes if it is of
 * the origin. */
bool cache_missed(struct cache *cache, const struct tiers_miss *miss);

/*
 * Begins to move the catalog to a filter of nbits, see catalog_rebuild().
 * Returns 0 or an SCD_ error.
 */
int cache_rebuild(struct cache *cache, uint64_t nbits);

/*
 * Does the next part of a rebuild that is under way, with the lock held for it.
 * Returns whether that was the last.
 */
bool cache_rebuild_part(struct cache *cache);

/* What is stored. */
void cache_stats(struct cache *cache, struct store_stats *store,
		 struct catalog_stats *catalog);

/*
 * The stored response that a request with these fields would get, fresh or
 * not, with one user more; null when there is none, and then *why is
 * CACHESTATUS_URI_MISS or CACHESTATUS_VARY_MISS.
 */
struct cached *cache_get(struct cache *cache, const struct scd_key *key,
			 const struct fields *request,
			 enum cachestatus_fwd *why);

/* Whether memory has a response that a request without any fields would get.
 * For who watches a node: it is no use of the response. */
bool cache_holds(struct cache *cache, const struct scd_key *key);

/* Whether memory or disk has the response that a request with these fields
 * would get, which is no use of it. */
bool cache_has(struct cache *cache, const struct scd_key *key,
	       const struct fields *request);

/* Whether memory or disk has something of a key that other nodes may have. */
bool cache_offers(struct cache *cache, const struct scd_key *key);

/* What is stored under a key, for who explains it. */
struct cache_held {
	size_t in_memory, on_disk; /* variants */
	/* The first of those in memory, each with one user more: */
	struct cached *variants[CACHE_HELD_MAX];
	size_t n;
};

/* Looks at it without using it. */
void cache_look(struct cache *cache, const struct scd_key *key,
		struct cache_held *out);

/*
 * A thread's way to look things up without a lock, and without counting what it
 * finds. It is awake from the beginning; whoever is awake for long has others
 * keep what they have removed, so a reader rests once a turn of its loop.
 */

/* 0 or -ENOMEM. And its end; *reader becomes null, null is allowed. */
int cache_join(struct cache *cache, struct cache_reader **out);
void cache_quit(struct cache_reader **reader);

/*
 * cache_rest(): the reader no longer holds anything that cache_lookup() has
 * found, and looks nothing up before cache_wake(). Frees what has been removed
 * and nobody holds, and tells the catalog and the ledger of changes that they
 * have not been told of. Both are called by the reader's thread.
 */
void cache_rest(struct cache_reader *reader);
void cache_wake(struct cache_reader *reader);

/*
 * Frees what has been removed and nobody holds, whoever has removed it, unless
 * there is nothing. For a thread that holds nothing itself, several times a
 * second: where all readers sleep nobody else does.
 */
void cache_collect(struct cache *cache);

/* What was found. */
struct cache_found {
	struct cached *c; /* null: nothing, and: */
	enum cachestatus_fwd why;
	bool counted; /* with one user more; else lent until cache_rest() */
};

/* Drops that user, if there is one; nothing is found then. */
void cache_found_release(struct cache_found *found);

/* Has the processor load what cache_lookup() begins with; only saves time,
 * where something else is done before. */
void cache_prefetch(const struct cache *cache, const struct scd_key *key);

/* As cache_get(), by a reader that is awake. */
void cache_lookup(struct cache_reader *reader, const struct scd_key *key,
		  const struct fields *request, struct cache_found *found);

/*
 * The hottest responses in memory, as far as the policy of eviction can tell,
 * hottest first, each with one user more: up to `n`, and up to so many bytes
 * of bodies. Of all that is there for long it looks at CACHE_HOTTEST. Those of
 * large objects and of slices are left out, what is on probation, and what
 * other nodes may not have. Returns how many there are.
 */
enum { CACHE_HOTTEST = 65536 };
size_t cache_hottest(struct cache *cache, struct cached **out, size_t n,
		     uint64_t bytes);

/*
 * When cache_get() found nothing: whether it is on disk, and is being read now;
 * the read's loop and call are the caller's to set, and read->found its result.
 * Small bodies come into memory, and stay there as long as others let them;
 * larger ones are open files, see cache_read_blocks().
 */
bool cache_read(struct cache *cache, const struct scd_key *key,
		const struct fields *request, struct disk_read *read);

/*
 * Has the call posted when what has been dropped and purged so far cannot come
 * back, whatever becomes of the process; or false: it cannot already.
 */
bool cache_sync(struct cache *cache, struct disk_sync *sync);

/* Waits until the call of a sync has been posted, if there is one. */
void cache_sync_wait(struct cache *cache, struct disk_sync *sync);

/*
 * Has blocks of a body that cache_read() has found in a file read and checked:
 * loop, call, key, of, block, nblocks and to are the caller's to set. An object
 * of which one is damaged is removed, logged and counted.
 */
void cache_read_blocks(struct cache *cache, struct disk_read *read);

/* Takes a read back whose loop is over. */
void cache_read_cancel(struct cache *cache, struct disk_read *read);

/* Whether what it holds may be written to a disk; always the same. */
bool cache_has_disk(const struct cache *cache);

/* What is on disk; false: there is no such tier. */
bool cache_disk_stats(struct cache *cache, struct store_stats *store,
		      struct disk_counters *counters);

/* What a response weighs in a store, but for its body. */
size_t cache_head_weight(const struct cached *c);

/* Where a stored response is at this moment; ADMISSION_NO: gone again. */
enum admission_decision cached_place(const struct cached *c);

/*
 * A stored response answers a request for this key: tells the admission
 * policy, and moves it out of the probation store if that makes it worth it.
 */
void cache_use(struct cache *cache, const struct scd_key *key,
	       struct cached *c, int64_t now_ms);

/*
 * A response of that weight has been asked for and was not here: where is it
 * to be put? Counts as a use of the key.
 */
enum admission_decision cache_admit(struct cache *cache,
				    const struct scd_key *key, uint64_t weight,
				    int64_t now_ms);

/* Somebody else waits for the response that is under way: another use. */
void cache_note(struct cache *cache, const struct scd_key *key);

/* What a response is stored for. */
struct cache_fill {
	const struct scd_key *key;
	const struct fields *request; /* one of those that it is for */
	uint64_t asked; /* cache_purges() before the origin was asked, or, */
	const struct cached *renews; /* of what a 304 has confirmed (else null),
					before that was found */
};

/*
 * Stores a response where c->place says (ADMISSION_NO: nowhere), in place of
 * one for the same requests; the cache becomes a user of its own.
 * Returns whether it was stored: not if the key has been purged since it was
 * asked for, if it is larger than all that there is room for, or without
 * memory. No purge comes between that look and the storing.
 */
bool cache_put(struct cache *cache, const struct cache_fill *fill,
	       struct cached *c);

/*
 * As cache_put(), by a reader that is awake. When the reader rests, or sooner,
 * objects are evicted for it, and the policy and the catalog are told.
 */
bool cache_store(struct cache_reader *reader, const struct cache_fill *fill,
		 struct cached *c);

/*
 * Purges a key, here only: removes all that is stored under it, and what was
 * asked for before is never stored. But for one response, whose *asked (null:
 * none) advances with the purge, unless an earlier one has met it already.
 * Returns how many there were.
 */
size_t cache_drop(struct cache *cache, const struct scd_key *key,
		  uint64_t *asked, int64_t now_s);

/* The same for the cluster: gives the purge this node's next number, *seq. */
size_t cache_invalidate(struct cache *cache, const struct scd_key *key,
			uint64_t *asked, int64_t now_s, uint64_t *seq);

/* A peer's copy, with its fields. */
struct cache_copy {
	const struct scd_key *key;
	const char *uri;
	const struct fields *fields;
	int64_t born_s; /* when its age was 0, a second right at most */
	uint64_t asked; /* cache_purges() before the peer was */
	bool met;	/* the peer knew of all that peers are told of, and
			   that was known here then */
};

/* Whether it may be older than a purge that is of it. */
bool cache_is_purged(struct cache *cache, const struct cache_copy *copy);

/* How many purges there were, of whatever key: to be noted before an origin
 * or a peer is asked, and before what is stored is looked up. */
uint64_t cache_purges(const struct cache *cache);

/*
 * The latest purge that is of a key and its URI, or may be: what was asked for
 * before it was added, and what renews a response that was found before it was
 * settled, is not to be used for who comes now.
 */
struct invalidation_newest cache_last_purge(struct cache *cache,
					    const struct scd_key *key,
					    const char *uri);

/* Calls back with the canonical URIs of what is in memory, fresh, and may be
 * given to others, of a part of all keys, under a lock; variants have the
 * same. */
void cache_each_fresh(struct cache *cache, const struct keypart *part,
		      int64_t now_s, void (*each)(void *arg, const char *uri),
		      void *arg);

/* Into how many parts to divide a walk over the store, see store_parts(). */
uint64_t cache_parts(struct cache *cache);

/* Invalidations that an initiator has numbered (`source`: its instance), or
 * that are to be numbered as this node's (source 0). */
struct cache_purge {
	const struct invalidation_entry *entries;
	size_t n;
	uint64_t source;
	int64_t now_s;
	bool local; /* no peer will hear of it; instead of a source */
};

/* A purge that has begun. */
struct purge_walk {
	uint64_t first, last; /* counts of cache_purges() */
	uint64_t seq;	      /* the last number */
	size_t removed;	      /* objects, so far */
	bool walks; /* if not it is done: all of its entries were of keys */
};

/*
 * A purge begins. Nothing that was asked for before it, and that it is of, is
 * stored any more; nor, before it ends, what renews such a response. What keys
 * it names are removed now, the rest by the walk.
 */
void cache_purge_begin(struct cache *cache, const struct cache_purge *purge,
		       struct purge_walk *walk);

/* Removes what it is of in one part, with the lock held. */
void cache_purge_part(struct cache *cache, struct purge_walk *walk,
		      const struct keypart *part);

/* All parts are done, or will never be. */
void cache_purge_end(struct cache *cache, struct purge_walk *walk);

/*
 * Has on_purge(arg, of) called for each purge that begins from now on, whoever
 * has asked for it, before that has any effect elsewhere; from any thread, with
 * a lock: it calls nothing of the cache.
 */
void cache_on_purge(struct cache *cache,
		    void (*on_purge)(void *arg, const struct invalidation *of),
		    void *arg);

/*
 * Purges at once, in one go, what another process that had the same disk has
 * purged: no peer is told of it by this one.
 */
void cache_purge_now(struct cache *cache, const struct invalidation *of,
		     int64_t now_s);

/*
 * Leaves the disk, if there is one, to another process, see disk_retire().
 * From the service's thread.
 */
void cache_retire_disk(struct cache *cache);

/*
 * After cache_retire_disk(), where the other process has not come to serve:
 * this one goes on without a disk, and nobody is told of purges any more. What
 * is on the disk, at `path`, may be had at the next start, unless something is
 * purged until then, or has been since (`purged`): then it is removed.
 */
void cache_give_up_disk(struct cache *cache, const char *path, bool purged);

/*
 * What a peer must have applied before its copy of a key is as new as what is
 * known here, see invalidation_log_need(); and whether that is so here.
 */
size_t cache_need(struct cache *cache, const struct scd_key *key,
		  const char *uri, struct invalidation_position *need);
bool cache_has_applied(struct cache *cache,
		       const struct invalidation_position *position);

/*
 * A node that starts may have missed purges: until it has caught up, nothing is
 * found on disk, and peers are neither asked nor answered. It is so until
 * cache_catch_up() says otherwise.
 */
void cache_catch_up(struct cache *cache, bool done);
bool cache_has_caught_up(const struct cache *cache);

/*
 * And until it has heard from all of its peers, nothing that comes from a peer
 * may be kept, or shared: who purged it while this node was away may tell
 * another peer, from which it came, later than it would have told this one.
 */
void cache_hear_all(struct cache *cache, bool done);
bool cache_has_heard_all(const struct cache *cache);

/*
 * What was on disk at the start may have been purged while this node was away,
 * by peers of which nobody knows any more: what is read of it from now on is
 * marked, to be used once its origin has confirmed it.
 */
void cache_doubt_disk(struct cache *cache, bool doubted);

/*
 * Locks the log of purges and returns it, to those who send purges to peers and
 * apply theirs. Nobody else changes it until cache_purges_unlock(), so hold it
 * only briefly.
 */
struct invalidation_log *cache_purges_lock(struct cache *cache);
void cache_purges_unlock(struct cache *cache);

#endif
