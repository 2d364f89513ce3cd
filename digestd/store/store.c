/*
 * The store: its index, and the entries by the slots that the policy knows
 * them by.
 */
#include "digestd/store/store.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "digestd/store/store_index.h"

enum {
	FIRST_PLACES = 1024, /* for the policy */
};

struct store {
	struct store_index index;
	unsigned max_variants;
	struct eviction *eviction;
	union place *places; /* by the policy's slot */
	uint32_t nplaces, free_place;
	const struct store_events *events;
	struct store_stats stats;
};

/* An entry; or, with the lowest bit set, the number of the next free place. */
union place {
	struct store_entry *entry;
	uintptr_t next_free;
};

static void store_set_free(union place *place, uint32_t next)
{
	place->next_free = (uintptr_t)next << 1 | 1;
}

static uint32_t store_next_free(const union place *place)
{
	return (uint32_t)(place->next_free >> 1);
}

/* A walk over a part of the keys, to see each of them or to remove entries. */
struct walk {
	const struct store *store;
	struct store *from; /* null: nothing is removed */
	const struct keypart *part;
	void (*each)(void *arg, const struct scd_key *key);
	bool (*matches)(void *arg, struct store_entry *e);
	void *arg;
	size_t removed;
};

static bool store_same_key(const struct scd_key *a, const struct scd_key *b)
{
	return a->lo == b->lo && a->hi == b->hi;
}

/* Readers look at it, see store_touch_shared(). */
static void store_set_slot(struct store_entry *e, uint32_t slot)
{
	__atomic_store_n(&e->slot, slot, __ATOMIC_RELEASE);
}

static size_t store_weight_of(const struct store *s,
			      const struct store_entry *e)
{
	return s->events->weight(s->events->arg, e);
}

static struct eviction_item store_item(void *arg, uint32_t slot)
{
	const struct store *s = arg;
	const struct store_entry *e = s->places[slot].entry;

	return (struct eviction_item){e->key.lo, store_weight_of(s, e)};
}

/* More places, all of them free. */
static int store_add_places(struct store *s)
{
	uint32_t n = s->nplaces + s->nplaces / 4 + FIRST_PLACES;
	union place *places;

	if (n < s->nplaces || n > EVICTION_SLOTS)
		return -ENOMEM;
	places = realloc(s->places, (size_t)n * sizeof(*places));
	if (!places)
		return -ENOMEM;
	s->places = places;
	if (eviction_reserve(s->eviction, n))
		return -ENOMEM;
	while (s->nplaces < n) {
		store_set_free(&places[s->nplaces], s->free_place);
		s->free_place = s->nplaces++;
	}
	return 0;
}

int store_new(struct store **out, uint64_t max_weight,
	      const struct eviction_policy *policy,
	      const struct store_events *events)
{
	struct store *s = calloc(1, sizeof(*s));
	struct eviction_config config = {
		.capacity = max_weight, .item = store_item, .arg = s,
		.shared = policy->share_hit};

	assert(policy && events->key_added && events->key_removed);
	assert(events->released && events->weight);
	if (!s)
		return -ENOMEM;
	s->events = events;
	s->free_place = EVICTION_NONE;
	s->stats.max_weight = max_weight;
	s->max_variants = STORE_VARIANTS;
	if (store_index_init(&s->index) ||
	    eviction_new(&s->eviction, policy, &config) ||
	    store_add_places(s)) {
		store_free(&s);
		return -ENOMEM;
	}
	*out = s;
	return 0;
}

static void store_release_all(void *arg, struct store_entry *e)
{
	const struct store *s = arg;

	s->events->released(s->events->arg, e);
}

void store_free(struct store **s)
{
	const struct keypart all = { .number = 0, .count = 1 };

	if (!*s)
		return;
	store_index_walk(&(*s)->index, &all, store_release_all, *s);
	eviction_free(&(*s)->eviction);
	free((*s)->places);
	store_index_free(&(*s)->index);
	free(*s);
	*s = NULL;
}

struct store_entry *store_find(const struct store *s, const struct scd_key *key)
{
	return store_index_find(&s->index, key);
}

struct store_entry *store_next(const struct store_entry *e)
{
	return store_index_next(e);
}

struct store_entry *store_peek(const struct store *s, const struct scd_key *key,
			       bool *sure)
{
	return store_index_peek(&s->index, key, sure);
}

struct store_entry *store_peek_next(const struct store_entry *e, bool *sure)
{
	return store_index_peek_next(e, sure);
}

void store_touch(struct store *s, struct store_entry *e)
{
	eviction_hit(s->eviction, e->slot);
}

uint32_t store_slot(const struct store_entry *e)
{
	return __atomic_load_n(&e->slot, __ATOMIC_ACQUIRE);
}

struct store_entry *store_in_slot(const struct store *s, uint32_t slot,
				  uint64_t hash)
{
	const union place *place = &s->places[slot];

	if (slot >= s->nplaces || place->next_free & 1 ||
	    place->entry->key.lo != hash)
		return NULL;
	return place->entry;
}

bool store_shares_touches(const struct store *s)
{
	return eviction_shares_hits(s->eviction);
}

/* The slot first: the policy has room for it since before it was set. Where
 * the entry has left it meanwhile, another one has a use too many. */
void store_touch_shared(struct store *s, const struct store_entry *e)
{
	uint32_t slot = store_slot(e);

	if (slot != EVICTION_NONE)
		eviction_share_hit(s->eviction, slot);
}

/* Takes an entry out that the policy does not know any more. */
static void store_release_entry(struct store *s, struct store_entry *e)
{
	struct scd_key key = e->key;

	store_index_remove(&s->index, e);
	s->stats.entries--;
	s->stats.weight -= store_weight_of(s, e);
	store_set_free(&s->places[e->slot], s->free_place);
	s->free_place = e->slot;
	if (!store_find(s, &key)) {
		s->stats.keys--;
		s->events->key_removed(s->events->arg, &key);
	}
	s->events->released(s->events->arg, e);
}

void store_remove(struct store *s, struct store_entry *e)
{
	assert(s->stats.entries);
	eviction_remove(s->eviction, e->slot);
	store_release_entry(s, e);
}

static void store_evict_one(struct store *s)
{
	uint32_t slot = eviction_evict(s->eviction);

	store_release_entry(s, s->places[slot].entry);
	s->stats.evicted++;
}

static void store_make_room(struct store *s)
{
	while (s->stats.weight > s->stats.max_weight)
		store_evict_one(s);
}

/* The newest variants of a key stay, the others go. */
static void store_drop_surplus(struct store *s, const struct scd_key *key)
{
	struct store_entry *e = store_find(s, key);

	for (unsigned n = 0; e && n < s->max_variants; n++)
		e = store_next(e);
	while (e) {
		struct store_entry *next = store_next(e);

		store_remove(s, e);
		s->stats.variants_dropped++;
		e = next;
	}
}

/* A reader may stand on an entry that moves from another store, with its key:
 * that is not written again. */
static void store_init_entry(struct store_entry *e, const struct scd_key *key)
{
	if (!store_same_key(&e->key, key))
		e->key = *key;
	store_set_slot(e, EVICTION_NONE);
}

/* Puts an entry into the index. Returns whether its key is new. */
static bool store_link_entry(struct store *s, struct store_entry *e,
			     const struct scd_key *key)
{
	bool first = !store_find(s, key);

	store_index_grow(&s->index, s->stats.keys);
	store_init_entry(e, key);
	store_index_add(&s->index, e);
	s->stats.entries++;
	s->stats.weight += store_weight_of(s, e);
	return first;
}

/* The end of an insertion. Others go before the policy knows the entry: it
 * cannot be its own victim. There is a place for it: one is free, or is made,
 * or those that there are have others in them. */
static void store_settle_entry(struct store *s, struct store_entry *e)
{
	struct eviction_item expected = {e->key.lo, store_weight_of(s, e)};
	uint32_t slot;

	eviction_expect(s->eviction, expected);
	store_drop_surplus(s, &e->key);
	store_make_room(s);
	if (s->free_place == EVICTION_NONE && store_add_places(s))
		store_evict_one(s);
	slot = s->free_place;
	s->free_place = store_next_free(&s->places[slot]);
	s->places[slot].entry = e;
	eviction_insert(s->eviction, slot);
	store_set_slot(e, slot);
}

int store_insert(struct store *s, struct store_entry *e,
		 const struct scd_key *key)
{
	if (store_weight_of(s, e) > s->stats.max_weight)
		return -E2BIG;
	if (store_link_entry(s, e, key)) {
		s->stats.keys++;
		s->events->key_added(s->events->arg, key);
	}
	store_settle_entry(s, e);
	return 0;
}

int store_replace(struct store *s, struct store_entry *old,
		  struct store_entry *e)
{
	assert(old != e);
	if (store_weight_of(s, e) > s->stats.max_weight) {
		store_remove(s, old);
		return -E2BIG;
	}
	/* first the new one: the key is never gone */
	store_link_entry(s, e, &old->key);
	store_remove(s, old);
	store_settle_entry(s, e);
	return 0;
}

void store_limit_variants(struct store *s, unsigned limit)
{
	assert(limit > 0 && limit <= STORE_VARIANTS_MAX);
	s->max_variants = limit;
}

size_t store_remove_key(struct store *s, const struct scd_key *key)
{
	const struct scd_key copy = *key; /* may be an entry's own */
	struct store_entry *e = store_find(s, &copy);
	size_t n = 0;

	while (e) {
		struct store_entry *next = store_next(e);

		store_remove(s, e);
		e = next;
		n++;
	}
	return n;
}

void store_resize(struct store *s, uint64_t max_weight)
{
	s->stats.max_weight = max_weight;
	eviction_resize(s->eviction, max_weight);
	store_make_room(s);
}

uint64_t store_parts(const struct store *s)
{
	return store_index_parts(&s->index);
}

static bool store_is_in_part(const struct walk *walk,
			     const struct store_entry *e)
{
	return keypart_of(&e->key, walk->part->count) == walk->part->number;
}

/* Each key at its newest entry. */
static void store_visit_key(void *arg, struct store_entry *e)
{
	const struct walk *walk = arg;

	if (store_is_in_part(walk, e) && store_find(walk->store, &e->key) == e)
		walk->each(walk->arg, &e->key);
}

void store_each_key(const struct store *s, const struct keypart *part,
		    void (*each)(void *arg, const struct scd_key *key),
		    void *arg)
{
	struct walk walk = {
		.store = s, .part = part, .each = each, .arg = arg};

	assert(part->number < part->count && each);
	store_index_walk(&s->index, part, store_visit_key, &walk);
}

static void store_remove_matching(void *arg, struct store_entry *e)
{
	struct walk *walk = arg;

	if (!store_is_in_part(walk, e) || !walk->matches(walk->arg, e))
		return;
	store_remove(walk->from, e);
	walk->removed++;
}

size_t store_remove_if(struct store *s, const struct keypart *part,
		       bool (*matches)(void *arg, struct store_entry *e),
		       void *arg)
{
	struct walk walk = {
		.from = s, .part = part, .matches = matches, .arg = arg};

	assert(part->number < part->count && matches);
	store_index_walk(&s->index, part, store_remove_matching, &walk);
	return walk.removed;
}

void store_stats(const struct store *s, struct store_stats *out)
{
	*out = s->stats;
}
