/*
 * The room: the policy, and the entries by the slots that it knows them by.
 */
#include "digestd/store/store_room.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "digestd/store/store.h"

enum {
	FIRST_PLACES = 1024, /* for the policy */
	STORE_ROOM_LINE_BYTES = 64,
	EVICTED = sizeof(((struct store_evicted *)0)->at) /
		  sizeof(struct store_entry *),
};

/* An entry; or, with the lowest bit set, the number of the next free place. */
union place {
	struct store_entry *entry;
	uintptr_t next_free;
};

struct store_room {
	struct eviction *eviction; /* readers use its line, which */
	char unused[STORE_ROOM_LINE_BYTES]; /* has none of the counts below */
	union place *places; /* by the policy's slot */
	uint32_t nplaces, free_place;
	struct store_scales scales;
	struct store_room_stats stats;
};

static void store_room_set_free(union place *place, uint32_t next)
{
	place->next_free = (uintptr_t)next << 1 | 1;
}

static uint32_t store_room_next_free(const union place *place)
{
	return (uint32_t)(place->next_free >> 1);
}

/* Readers look at it, see store_touch_shared(). */
static void store_room_set_slot(struct store_entry *e, uint32_t slot)
{
	__atomic_store_n(&e->slot, slot, __ATOMIC_RELEASE);
}

static size_t store_room_weight_of(const struct store_room *room,
				   const struct store_entry *e)
{
	return room->scales.weight(room->scales.arg, e);
}

static bool store_room_is_copy(const struct store_room *room,
			       const struct store_entry *e)
{
	const struct store_scales *s = &room->scales;

	return s->copies.copy && s->copies.copy(s->arg, e);
}

static struct eviction_item store_room_item(void *arg, uint32_t slot)
{
	const struct store_room *room = arg;
	const struct store_entry *e = room->places[slot].entry;

	return (struct eviction_item){e->key.lo, store_room_weight_of(room, e)};
}

static bool store_room_copy(void *arg, uint32_t slot)
{
	const struct store_room *room = arg;

	return store_room_is_copy(room, room->places[slot].entry);
}

static bool store_room_alone(void *arg, uint32_t slot)
{
	const struct store_scales *s =
		&((const struct store_room *)arg)->scales;

	return s->copies.alone(
		s->arg, ((const struct store_room *)arg)->places[slot].entry);
}

/* More places, all of them free. */
static int store_room_add_places(struct store_room *room)
{
	uint32_t n = room->nplaces + room->nplaces / 4 + FIRST_PLACES;
	union place *places;

	if (n < room->nplaces || n > EVICTION_SLOTS)
		return -ENOMEM;
	places = realloc(room->places, (size_t)n * sizeof(*places));
	if (!places)
		return -ENOMEM;
	room->places = places;
	if (eviction_reserve(room->eviction, n))
		return -ENOMEM;
	while (room->nplaces < n) {
		store_room_set_free(&places[room->nplaces], room->free_place);
		room->free_place = room->nplaces++;
	}
	return 0;
}

int store_room_new(struct store_room **out, uint64_t max_weight,
		   const struct eviction_policy *policy,
		   const struct store_scales *scales)
{
	struct store_room *room = calloc(1, sizeof(*room));
	struct eviction_config config = {
		.capacity = max_weight, .item = store_room_item, .arg = room,
		.shared = policy->share_hit};

	assert(policy && scales->weight);
	if (!room)
		return -ENOMEM;
	room->scales = *scales;
	room->free_place = EVICTION_NONE;
	room->stats.max_weight = max_weight;
	if (scales->copies.copy)
		config.copy = store_room_copy;
	if (scales->copies.alone)
		config.alone = store_room_alone;
	if ((scales->copies.copy ? eviction_tiers_new : eviction_new)(
		    &room->eviction, policy, &config) ||
	    store_room_add_places(room)) {
		store_room_free(&room);
		return -ENOMEM;
	}
	*out = room;
	return 0;
}

void store_room_free(struct store_room **room)
{
	if (!*room)
		return;
	eviction_free(&(*room)->eviction);
	free((*room)->places);
	free(*room);
	*room = NULL;
}

uint64_t store_room_max(const struct store_room *room)
{
	return __atomic_load_n(&room->stats.max_weight, __ATOMIC_RELAXED);
}

void store_room_resize(struct store_room *room, uint64_t max_weight)
{
	__atomic_store_n(&room->stats.max_weight, max_weight, __ATOMIC_RELAXED);
	eviction_resize(room->eviction, max_weight);
}

/* The policy does not know it any more. */
static void store_room_drop(struct store_room *room, struct store_entry *e)
{
	room->stats.weight -= store_room_weight_of(room, e);
	store_room_set_free(&room->places[e->slot], room->free_place);
	room->free_place = e->slot;
}

static void store_room_evict_one(struct store_room *room,
				 struct store_evicted *evicted)
{
	uint32_t slot = eviction_evict(room->eviction);
	struct store_entry *e = room->places[slot].entry;

	assert(evicted->n < EVICTED);
	store_room_drop(room, e);
	store_room_set_slot(e, STORE_EVICTED);
	room->stats.evicted++;
	evicted->at[evicted->n++] = e;
}

/* Returns whether so much more fits. */
static bool store_room_make(struct store_room *room, size_t weight,
			    struct store_evicted *evicted)
{
	while (room->stats.weight &&
	       room->stats.weight + weight > room->stats.max_weight) {
		if (evicted->n == EVICTED)
			return false;
		store_room_evict_one(room, evicted);
	}
	return true;
}

void store_room_evict(struct store_room *room, struct store_evicted *evicted)
{
	store_room_make(room, 0, evicted);
}

void store_room_expect(struct store_room *room, const struct store_entry *e)
{
	struct eviction_item expected;

	if (!eviction_expects(room->eviction) || store_room_is_copy(room, e))
		return; /* saves the weighing */
	expected.hash = e->key.lo;
	expected.weight = store_room_weight_of(room, e);
	eviction_expect(room->eviction, expected);
}

/* There is a place for it: one is free, or is made, or those that there are
 * have others in them. Returns whether that is so. */
static bool store_room_make_place(struct store_room *room,
				  struct store_evicted *evicted)
{
	if (room->free_place != EVICTION_NONE || !store_room_add_places(room))
		return true;
	if (evicted->n == EVICTED)
		return false;
	store_room_evict_one(room, evicted);
	return true;
}

static enum store_entering store_room_refuse(struct store_entry *e,
					     struct store_evicted *evicted)
{
	if (evicted->n == EVICTED)
		return STORE_IS_FULL;
	store_room_set_slot(e, STORE_EVICTED);
	evicted->at[evicted->n++] = e;
	return STORE_ENTERED;
}

/* Others go before the policy knows the entry: it cannot be its own victim. */
enum store_entering store_room_enter(struct store_room *room,
				     struct store_entry *e,
				     struct store_evicted *evicted)
{
	size_t weight = store_room_weight_of(room, e);
	uint32_t slot;

	if (e->slot == STORE_REMOVED)
		return STORE_WAS_REMOVED;
	assert(e->slot == EVICTION_NONE);
	if (weight > room->stats.max_weight) /* it fitted when it came */
		return store_room_refuse(e, evicted);
	if (!store_room_make(room, weight, evicted) ||
	    !store_room_make_place(room, evicted))
		return STORE_IS_FULL;
	slot = room->free_place;
	room->free_place = store_room_next_free(&room->places[slot]);
	room->places[slot].entry = e;
	room->stats.weight += weight;
	eviction_insert(room->eviction, slot);
	store_room_set_slot(e, slot);
	return STORE_ENTERED;
}

bool store_room_leave(struct store_room *room, struct store_entry *e)
{
	if (e->slot >= EVICTION_SLOTS) {
		assert(e->slot != STORE_REMOVED);
		store_room_set_slot(e, STORE_REMOVED);
		return false;
	}
	eviction_remove(room->eviction, e->slot);
	store_room_drop(room, e);
	return true;
}

void store_room_touch(struct store_room *room, struct store_entry *e)
{
	if (e->slot < EVICTION_SLOTS)
		eviction_hit(room->eviction, e->slot);
}

struct store_entry *store_room_at(const struct store_room *room, uint32_t slot)
{
	const union place *place = &room->places[slot];

	return slot >= room->nplaces || place->next_free & 1 ? NULL :
							       place->entry;
}

/* The slot first: the policy has room for it since before it was set. Where
 * the entry has left it meanwhile, another one has a use too many. */
void store_room_touch_shared(struct store_room *room,
			     const struct store_entry *e)
{
	uint32_t slot = store_slot(e);

	if (slot < EVICTION_SLOTS)
		eviction_share_hit(room->eviction, slot);
}

/* In the policy's order, or in that of the slots where it has none. */
static uint32_t store_room_recall(const struct store_room *room,
				  uint32_t before)
{
	uint32_t slot = before;

	if (room->eviction->policy->recall)
		return eviction_recall(room->eviction, before);
	do
		slot = slot == EVICTION_NONE ? 0 : slot + 1;
	while (slot < room->nplaces && !store_room_at(room, slot));
	return slot < room->nplaces ? slot : EVICTION_NONE;
}

void store_room_visit_hottest(const struct store_room *room, uint32_t most,
			      bool (*each)(void *arg, struct store_entry *e),
			      void *arg)
{
	for (int used = 1; used >= 0; used--) {
		uint32_t slot = store_room_recall(room, EVICTION_NONE);

		for (uint32_t n = 0; slot != EVICTION_NONE && n < most; n++) {
			if (eviction_was_used(room->eviction, slot) == used &&
			    !each(arg, room->places[slot].entry))
				return;
			slot = store_room_recall(room, slot);
		}
	}
}

/* Whether an entry of this slot is spared, of those that are not ahead of the
 * hand. */
static bool store_room_is_spared(const struct store_room *room,
				 const uint8_t *ahead, uint32_t slot)
{
	return store_room_at(room, slot) &&
	       (!ahead[slot] || eviction_was_used(room->eviction, slot));
}

void store_room_visit_spared(const struct store_room *room,
			     void (*each)(void *arg, struct store_entry *e),
			     void *arg)
{
	uint32_t slot = eviction_foresee(room->eviction, EVICTION_NONE);
	uint8_t *ahead = slot == EVICTION_NONE ?
				 NULL : calloc(room->nplaces, 1);

	if (!ahead)
		return;
	while (slot != EVICTION_NONE && !ahead[slot]) {
		ahead[slot] = 1;
		slot = eviction_foresee(room->eviction, slot);
	}
	for (slot = 0; slot < room->nplaces; slot++) {
		if (store_room_is_spared(room, ahead, slot))
			each(arg, room->places[slot].entry);
	}
	free(ahead);
}

bool store_room_missed(struct store_room *room, const struct tiers_miss *miss)
{
	return eviction_tiers_missed(room->eviction, miss);
}

void store_room_stats(const struct store_room *room,
		      struct store_room_stats *out)
{
	*out = room->stats;
	if (room->scales.copies.copy)
		eviction_tiers_stats(room->eviction, &out->tiers);
}
