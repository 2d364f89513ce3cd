/*
 * The room that one store has, or several share: how much it may weigh in all,
 * and the policy that says who goes. It knows entries by the policy's slots.
 *
 * Stores that share a room have a lock each, and the room has another. Who puts
 * an entry into a store need not have the room's lock: the entry is found from
 * then on, and enters the room later, with others. Who makes room has no
 * store's lock: what the policy evicts leaves its store later. So for a while
 * an entry is in one of both only:
 *
 * | its slot says | it is             | and who has it in mind          |
 * |---------------|-------------------|---------------------------------|
 * | EVICTION_NONE | in the store only | lets it enter                   |
 * | STORE_EVICTED | in the store only | takes it out of there           |
 * | STORE_REMOVED | in neither        | finds this when it comes, and   |
 * |               |                   | releases it                     |
 *
 * The first two change with the room's lock, the last comes about with both
 * locks. An entry that is in both is released by who removes it.
 */
#ifndef DIGESTD_STORE_STORE_ROOM_H
#define DIGESTD_STORE_STORE_ROOM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "digestd/store/eviction_tiers.h"

struct store_entry;
struct store_room;

/* In place of a slot, beside EVICTION_NONE; see above. */
static const uint32_t STORE_EVICTED = UINT32_MAX - 1;
static const uint32_t STORE_REMOVED = UINT32_MAX - 2;

/* What has been evicted, and is still to be taken out of its store. */
struct store_evicted {
	unsigned n;
	struct store_entry *at[64];
};

/* What came of an entry that was to enter. */
enum store_entering {
	STORE_ENTERED,
	STORE_IS_FULL, /* of those that are evicted: once more without them */
	STORE_WAS_REMOVED, /* meanwhile; it is to be released */
};

/* For a room with tiers: whether an entry is a hot copy, the same as long as it
 * is in; and whether no other node has its key. */
struct store_copies {
	bool (*copy)(void *arg, const struct store_entry *entry);
	bool (*alone)(void *arg, const struct store_entry *entry);
};

/* What an entry weighs, see struct store_events. */
struct store_scales {
	size_t (*weight)(void *arg, const struct store_entry *entry);
	void *arg;
	struct store_copies copies; /* null: there are no tiers */
};

/* An empty room; with tiers (eviction_tiers.h) if scales has copies. Returns 0
 * or -ENOMEM. And its end, after its stores'. */
int store_room_new(struct store_room **out, uint64_t max_weight,
		   const struct eviction_policy *policy,
		   const struct store_scales *scales);
void store_room_free(struct store_room **room);

/* How much it may weigh; read by any thread. */
uint64_t store_room_max(const struct store_room *room);

/* Changes that; what does not fit any more is to be evicted. */
void store_room_resize(struct store_room *room, uint64_t max_weight);

/*
 * An entry that is in a store enters: the first call tells the policy that it
 * is expected; the others evict until there is room for it, and let it in.
 * Without memory for more slots one is evicted.
 */
void store_room_expect(struct store_room *room, const struct store_entry *e);
enum store_entering store_room_enter(struct store_room *room,
				     struct store_entry *e,
				     struct store_evicted *evicted);

/* Evicts what there is too much of, until that is full. */
void store_room_evict(struct store_room *room, struct store_evicted *evicted);

/* An entry is being removed from its store, whose lock is held, too. Returns
 * whether the caller releases it; else somebody has it in mind. */
bool store_room_leave(struct store_room *room, struct store_entry *e);

/* Tells the policy that an entry was used. */
void store_room_touch(struct store_room *room, struct store_entry *e);

/* The entry in a slot; null: none. */
struct store_entry *store_room_at(const struct store_room *room, uint32_t slot);

/* See store_touch_shared(). */
void store_room_touch_shared(struct store_room *room,
			     const struct store_entry *e);

/*
 * Calls back for entries, the hottest ones first as far as the policy can tell:
 * those that were used of late, then the others, each from the newest to the
 * oldest. Ends when it is told false, or has looked at `most` entries, twice.
 */
void store_room_visit_hottest(const struct store_room *room, uint32_t most,
			      bool (*each)(void *arg, struct store_entry *e),
			      void *arg);

/*
 * Calls back for entries that the policy would spare in its next turn: those
 * that were used of late, and those that its hand has passed already. Without
 * memory, or where the policy does not tell what goes next, for none.
 */
void store_room_visit_spared(const struct store_room *room,
			     void (*each)(void *arg, struct store_entry *e),
			     void *arg);

/* Of a room with tiers, see eviction_tiers_missed(). */
bool store_room_missed(struct store_room *room, const struct tiers_miss *miss);

/* How things stand. */
struct store_room_stats {
	uint64_t weight, max_weight, evicted;
	struct tiers_stats tiers; /* 0 without */
};
void store_room_stats(const struct store_room *room,
		      struct store_room_stats *out);

#endif
