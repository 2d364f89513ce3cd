/*
 * The store's index: which objects are held, which of them go when there is
 * no room. It knows nothing of HTTP or of bodies: an object is an entry
 * embedded in the caller's structure, with a key. What it weighs, the owner
 * knows anyway, and is asked.
 *
 * A key may have several entries, the variants of one resource. The set of
 * keys that have any which counts, as the owner says, is what a digest
 * describes, so the first and the last such one of a key are reported to the
 * owner. Who varies a header gets a variant for each request, so their number
 * is limited: the oldest makes room.
 *
 * Changes need the owner's lock; if several stores share a room, that of the
 * store and, but for store_link(), store_take_out() and store_find(), that of
 * the room. Readers may look keys up without it, if the
 * owner frees what was released only when they cannot hold it any more, see
 * quiescent.h.
 *
 * Costs: a lookup is two cache lines, see store_index.h for the table. The
 * policy's memory grows by a quarter at a time, with 8 bytes an entry here. An
 * entry is 32 bytes, which each object pays for.
 */
#ifndef DIGESTD_STORE_STORE_H
#define DIGESTD_STORE_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "codec/key.h"
#include "digestd/store/eviction.h"
#include "digestd/store/keypart.h"
#include "digestd/store/store_room.h"

struct store;

/*
 * Variants of a key that are kept, unless store_limit_variants() says
 * otherwise: languages times codings are seldom more than two dozen. And the
 * most that it may say: a lookup walks over them, under the owner's lock.
 */
enum { STORE_VARIANTS = 32, STORE_VARIANTS_MAX = 1000 };

/* All fields are the store's while the entry is in it. */
struct store_entry {
	struct scd_key key;
	struct store_entry *chain; /* next in the index, see store_index.h */
	uint32_t slot;		   /* see store_room.h */
};

/* What the owner hears of, and is asked. Called inside store_* functions; must
 * not call them. */
struct store_events {
	void (*key_added)(void *arg, const struct scd_key *key);
	void (*key_removed)(void *arg, const struct scd_key *key);
	/* The entry has left the store; its memory is the owner's again, once
	 * no reader can hold it. */
	void (*released)(void *arg, struct store_entry *entry);
	/* Bytes that an entry counts for: the same as long as it is in. */
	size_t (*weight)(void *arg, const struct store_entry *entry);
	/* Whether an entry counts for key_added and key_removed: the same as
	 * long as it is in. Null: all do. */
	bool (*counts)(void *arg, const struct store_entry *entry);
	void *arg;
};

/*
 * Makes an empty store for max_weight bytes in all. `policy` and `events` are
 * borrowed. Returns 0 or -ENOMEM.
 */
int store_new(struct store **out, uint64_t max_weight,
	      const struct eviction_policy *policy,
	      const struct store_events *events);

/* The same with tiers, see eviction_tiers.h; null: without. */
int store_new_with_copies(struct store **out, uint64_t max_weight,
			  const struct eviction_policy *policy,
			  const struct store_events *events,
			  const struct store_copies *copies);

/* The same with a room that other stores may have, too, see there; it outlives
 * them. Returns 0 or -ENOMEM. */
int store_new_in(struct store **out, struct store_room *room,
		 const struct store_events *events);

/* Releases all entries (key_removed is not called) and the store. */
void store_free(struct store **s);

/* The newest variant of a key; null: none. Not a use: see store_touch(). */
struct store_entry *store_find(const struct store *s,
			       const struct scd_key *key);

/* Whether a key has an entry that counts, see struct store_events. */
bool store_counts(const struct store *s, const struct scd_key *key);

/* The next variant of the same key; null: no more. */
struct store_entry *store_next(const struct store_entry *e);

/* Before store_peek(), where something else is done first: see
 * store_index_prefetch(). */
void store_prefetch(const struct store *s, const struct scd_key *key);

/*
 * Both without the owner's lock, by a reader that is awake. If null, *sure says
 * whether there is none; or whether that has to be found out under the lock.
 */
struct store_entry *store_peek(const struct store *s, const struct scd_key *key,
			       bool *sure);
struct store_entry *store_peek_next(const struct store_entry *e, bool *sure);

/* Tells the policy that an entry was used. */
void store_touch(struct store *s, struct store_entry *e);

/*
 * The slot of an entry that was peeked at, by which it can be found later,
 * under the lock; EVICTION_NONE: it is not in yet. And the entry in that slot;
 * null: there is none with this key.lo any more.
 */
uint32_t store_slot(const struct store_entry *e);
struct store_entry *store_in_slot(const struct store *s, uint32_t slot,
				  uint64_t hash);

/* Tells the policy, without the owner's lock, that an entry was used that was
 * peeked at. For policies with a `share_hit` (eviction.h). */
void store_touch_shared(struct store *s, const struct store_entry *e);

/*
 * Inserts an entry with this key; drops the key's oldest variants beyond the
 * limit, then evicts others until all fit. Returns 0; or -E2BIG when it alone
 * is too heavy: then it is not in the store, nothing was dropped or evicted,
 * released() is not called. Allocates nothing but larger tables; does without
 * when there is no memory for them, and evicts one entry when it cannot have
 * more.
 */
int store_insert(struct store *s, struct store_entry *e,
		 const struct scd_key *key);

/*
 * The same with the key of `old`, which is removed: one variant is as many as
 * before, and the key stays. Also with -E2BIG: `old` is removed.
 */
int store_replace(struct store *s, struct store_entry *old,
		  struct store_entry *e);

/*
 * Insertion into a store that shares its room, of which the rest is
 * store_room_enter(). Returns 0, or -E2BIG as above. The room's lock is needed
 * only for what may remove others: the key's oldest variants beyond the limit.
 */
int store_link(struct store *s, struct store_entry *e,
	       const struct scd_key *key);
void store_drop_surplus(struct store *s, const struct scd_key *key);

/* Takes out an entry that the room has evicted. */
void store_take_out(struct store *s, struct store_entry *e);

/* How many variants of a key may be kept, 1..STORE_VARIANTS_MAX; those that
 * there are too many of go with the next insertion of the key. */
void store_limit_variants(struct store *s, unsigned limit);

/* Removes one entry. */
void store_remove(struct store *s, struct store_entry *e);

/* Removes all variants of a key; returns how many there were. */
size_t store_remove_key(struct store *s, const struct scd_key *key);

/* Of the store's room, which has tiers: see eviction_tiers_missed(). */
bool store_missed(struct store *s, const struct tiers_miss *miss);

/* Changes the limit of a room of its own; evicts what does not fit any more. */
void store_resize(struct store *s, uint64_t max_weight);

/*
 * Into how many parts to divide the keys, for a walk that takes some 0.1 ms a
 * part: a power of two. Any other may be taken.
 */
uint64_t store_parts(const struct store *s);

/* Calls back for every key of a part, once. */
void store_each_key(const struct store *s, const struct keypart *part,
		    void (*each)(void *arg, const struct scd_key *key),
		    void *arg);

/* The same for those that have an entry which counts; for rebuilding a
 * catalog. */
void store_each_counted_key(const struct store *s, const struct keypart *part,
			    void (*each)(void *arg, const struct scd_key *key),
			    void *arg);

/* Calls back for every entry of a part, each variant of a key. */
void store_each_entry(const struct store *s, const struct keypart *part,
		      void (*each)(void *arg, struct store_entry *e),
		      void *arg);

/* Removes the entries of a part that match; returns how many there were. */
size_t store_remove_if(struct store *s, const struct keypart *part,
		       bool (*matches)(void *arg, struct store_entry *e),
		       void *arg);

/* As store_room_visit_spared(), of its room; with the lock of that. */
void store_visit_spared(const struct store *s,
			void (*each)(void *arg, struct store_entry *e),
			void *arg);

/* As store_room_visit_hottest(), of its room; with the lock of that. */
void store_visit_hottest(const struct store *s, uint32_t most,
			 bool (*each)(void *arg, struct store_entry *e),
			 void *arg);

/* Keys and entries; since the start: entries that were dropped because their
 * key had too many variants. And of its room: the weight of all that is in it,
 * and how many were evicted. */
struct store_stats {
	uint64_t keys, entries, weight, max_weight, evicted;
	uint64_t variants_dropped;
	struct tiers_stats tiers; /* of its room; 0 without */
};

/* How things stand. */
void store_stats(const struct store *s, struct store_stats *out);

#endif
