/*
 * Inside the cache: its tiers, which one lock guards against changes; memory is
 * looked up without it (cache_reader.c).
 *
 * An object is in memory, on disk, or both; then each knows the other, until
 * one of them goes. The catalog has a key as long as any tier does.
 */
#ifndef DIGESTD_CACHE_CACHE_INSIDE_H
#define DIGESTD_CACHE_CACHE_INSIDE_H

#include <pthread.h>

#include "digestd/cache/cache.h"
#include "digestd/mesh/catalog.h"
#include "digestd/store/purge_walks.h"
#include "digestd/store/purgelog.h"
#include "digestd/store/quiescent.h"
#include "digestd/store/store_index.h"
#include "digestd/disk/disk.h"

/* A store, and what hears of it. */
struct tier {
	struct cache *cache;
	struct store *store; /* null: there is none */
	struct store_events events;
};

/* A key that came or went, see cache_catalog.c. */
struct cache_change {
	struct scd_key key;
	bool came;
};

enum { CACHE_CHANGES = 1024 }; /* some turns of all workers */

struct cache_changes {
	unsigned n;
	struct cache_change at[CACHE_CHANGES];
};

struct cache {
	pthread_mutex_t lock; /* guards stores, purges, leaving */
	pthread_mutex_t catalog_lock; /* guards the catalog */
	pthread_mutex_t changes_lock; /* guards which list is `written` */
	struct tier main;
	struct tier ram;	     /* of what is on probation */
	struct tier ondisk;	     /* of struct disk_entry */
	uint64_t max_bytes, ram_bytes; /* of the first two, and of that */
	struct cached *moving;	     /* from one to the other */
	const struct scd_key *held;  /* see cache_hold_key(); null: none */
	bool had_held;
	struct admitter *admitter;   /* null: all goes to the main one */
	struct catalog *catalog;
	struct cache_changes changes[2]; /* one is written, one is told */
	struct cache_changes *written;
	bool has_changes;
	/* of struct cached, linked by store_index_link(): see cache_reader.c */
	struct store_entry *leaving, *waiting;
	uint64_t waiting_for; /* to pass, an epoch */
	bool has_left;	      /* one of both lists has something */
	struct disk *disk; /* null: there is none */
	uint8_t hash_secret[16]; /* for the keys of what is on disk */
	bool closing;
	struct purgelog purges;
	struct purge_walks walks;
	struct quiescent domain; /* of those who look up without the lock */
};

/* Makes a tier's store. */
int cache_open_tier(struct cache *cache, struct tier *t, uint64_t max_bytes,
		    const struct eviction_policy *policy);

/* Makes the catalog, large enough for what the disk has, and with all of it:
 * the first digest is right at once. 0, -EINVAL or -ENOMEM. */
int cache_make_catalog(struct cache *cache,
		       const struct cache_settings *settings);

/* Tells the catalog what has changed, unless somebody else is about to. */
void cache_tell_catalog(struct cache *cache);

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

/* Locks, and tells the policies of the uses that readers have noted. */
void cache_enter(struct cache *cache);

/* Unlocks. What has left the stores meanwhile is given up; later, if there are
 * readers. */
void cache_leave(struct cache *cache);

/* Drops the references to a list of what has left; without the lock. */
void cache_give_up(struct store_entry *gone);

/* Whether readers note uses at all, which never changes; what they have noted
 * is told, with the lock. */
bool cache_notes_touches(const struct cache *cache);
void cache_take_touches(struct cache *cache);

/* Puts a response into the main store; with the lock. Returns 0 or -E2BIG. */
int cache_insert(struct cache *cache, const struct scd_key *key,
		 struct cached *c);

/*
 * The disk tier, in cache_disk.c; with the lock, unless said otherwise. All but
 * the first three need one.
 */

/* Opens it, and finds what is there; without the lock. */
int cache_open_disk(struct cache *cache, const struct cache_settings *settings);

/* To how many bytes the index of so much on disk may grow; of anything. */
uint64_t cache_index_bytes(uint64_t disk_bytes);

/* Writes what is waiting, and closes; without the lock. */
void cache_close_disk(struct cache *cache);

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

/* Removes what a purge is of in a part of what is on disk only; without the
 * lock. */
size_t cache_purge_disk(struct cache *cache, const struct keypart *part,
			const struct purge_scope *scope);

/* Purges, in cache_purge.c. */

/* Whether a purge is of a response. */
bool cache_purge_has(const struct purge_scope *scope, const struct cached *c);

/* Whether what a fill has brought is from before a purge, or derives from what
 * is; with the lock. */
bool cache_purge_meets(const struct cache *cache, const struct cache_fill *fill,
		       const struct cached *c);

#endif
