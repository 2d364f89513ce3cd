/*
 * The store's index: a hash table with chains, and the entries by the slots
 * that the policy knows them by.
 */
#include "digestd/store/store.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

enum {
	FIRST_SLOTS = 1024, /* a power of two */
	MOVE_SLOTS = 4,     /* old slots moved with each insertion */
	FIRST_PLACES = 1024, /* for the policy */
	PART_SLOTS = 1024,  /* in a part; each costs a cache miss or two */
};

/*
 * While the table grows, the old half of it is still there: slots below
 * `moved` have been emptied into the new table.
 */
struct store {
	struct store_entry **slots, **old_slots;
	size_t nslots, old_nslots, moved;
	unsigned max_variants;
	struct eviction *eviction;
	union place *places; /* by the policy's slot */
	uint32_t nplaces, free_place;
	const struct store_events *events;
	struct store_stats stats;
};

/* An entry, or the number of the next free place. */
union place {
	struct store_entry *entry;
	uint32_t next_free;
};

/* A walk over a part of the keys, to see each of them or to remove entries. */
struct walk {
	const struct keypart *part;
	void (*chain)(const struct store *s, struct walk *walk,
		      struct store_entry *e);
	void (*each)(void *arg, const struct scd_key *key);
	bool (*matches)(void *arg, struct store_entry *e);
	void *arg;
	struct store *from; /* what is removed from */
	size_t removed;
};

static bool store_same_key(const struct scd_key *a, const struct scd_key *b)
{
	return a->lo == b->lo && a->hi == b->hi;
}

/* The slot where a key's chain hangs now. */
static struct store_entry **store_slot_of(const struct store *s,
					  const struct scd_key *key)
{
	size_t old = s->old_slots ? key->hi & (s->old_nslots - 1) : 0;

	if (s->old_slots && old >= s->moved)
		return &s->old_slots[old];
	return &s->slots[key->hi & (s->nslots - 1)];
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
		places[s->nplaces].next_free = s->free_place;
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
		.capacity = max_weight, .item = store_item, .arg = s};

	assert(policy && events->key_added && events->key_removed);
	assert(events->released && events->weight);
	if (!s)
		return -ENOMEM;
	s->events = events;
	s->nslots = FIRST_SLOTS;
	s->slots = calloc(s->nslots, sizeof(*s->slots));
	s->free_place = EVICTION_NONE;
	s->stats.max_weight = max_weight;
	s->max_variants = STORE_VARIANTS;
	if (!s->slots || eviction_new(&s->eviction, policy, &config) ||
	    store_add_places(s)) {
		store_free(&s);
		return -ENOMEM;
	}
	*out = s;
	return 0;
}

static void store_release_chains(struct store *s, struct store_entry **slots,
				 size_t nslots)
{
	for (size_t i = 0; slots && i < nslots; i++) {
		struct store_entry *e = slots[i];

		while (e) {
			struct store_entry *next = e->chain;

			s->events->released(s->events->arg, e);
			e = next;
		}
	}
}

void store_free(struct store **s)
{
	if (!*s)
		return;
	store_release_chains(*s, (*s)->slots, (*s)->nslots);
	store_release_chains(*s, (*s)->old_slots, (*s)->old_nslots);
	eviction_free(&(*s)->eviction);
	free((*s)->places);
	free((*s)->slots);
	free((*s)->old_slots);
	free(*s);
	*s = NULL;
}

struct store_entry *store_find(const struct store *s, const struct scd_key *key)
{
	struct store_entry *e = *store_slot_of(s, key);

	while (e && !store_same_key(&e->key, key))
		e = e->chain;
	return e;
}

struct store_entry *store_next(const struct store_entry *e)
{
	struct store_entry *next = e->chain;

	while (next && !store_same_key(&next->key, &e->key))
		next = next->chain;
	return next;
}

void store_touch(struct store *s, struct store_entry *e)
{
	eviction_hit(s->eviction, e->slot);
}

static void store_move_slot(struct store *s)
{
	struct store_entry *e = s->old_slots[s->moved];
	struct store_entry *reversed = NULL;

	/* Pushed in reverse, so that variants keep their order. */
	while (e) {
		struct store_entry *next = e->chain;

		e->chain = reversed;
		reversed = e;
		e = next;
	}
	s->old_slots[s->moved++] = NULL;
	while (reversed) {
		struct store_entry *next = reversed->chain;
		struct store_entry **slot =
			&s->slots[reversed->key.hi & (s->nslots - 1)];

		reversed->chain = *slot;
		*slot = reversed;
		reversed = next;
	}
	if (s->moved < s->old_nslots)
		return;
	free(s->old_slots);
	s->old_slots = NULL;
}

/* Starts to grow, or goes on. No memory only means longer chains. */
static void store_grow(struct store *s)
{
	struct store_entry **slots;

	if (!s->old_slots && s->stats.keys > s->nslots) {
		slots = calloc(s->nslots * 2, sizeof(*slots));
		if (!slots)
			return;
		s->old_slots = s->slots;
		s->old_nslots = s->nslots;
		s->moved = 0;
		s->slots = slots;
		s->nslots *= 2;
	}
	for (int i = 0; i < MOVE_SLOTS && s->old_slots; i++)
		store_move_slot(s);
}

/* Takes an entry out that the policy does not know any more. */
static void store_release_entry(struct store *s, struct store_entry *e)
{
	struct store_entry **link = store_slot_of(s, &e->key);
	struct scd_key key = e->key;

	while (*link != e) {
		assert(*link);
		link = &(*link)->chain;
	}
	*link = e->chain;
	s->stats.entries--;
	s->stats.weight -= store_weight_of(s, e);
	s->places[e->slot].next_free = s->free_place;
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

/* Hangs an entry into its chain. Returns whether its key is new. */
static bool store_link_entry(struct store *s, struct store_entry *e,
			     const struct scd_key *key)
{
	bool first = !store_find(s, key);
	struct store_entry **slot;

	store_grow(s);
	slot = store_slot_of(s, key);
	*e = (struct store_entry){ .key = *key, .chain = *slot };
	*slot = e;
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

	eviction_expect(s->eviction, expected);
	store_drop_surplus(s, &e->key);
	store_make_room(s);
	if (s->free_place == EVICTION_NONE && store_add_places(s))
		store_evict_one(s);
	e->slot = s->free_place;
	s->free_place = s->places[e->slot].next_free;
	s->places[e->slot].entry = e;
	eviction_insert(s->eviction, e->slot);
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
	return s->nslots > PART_SLOTS ? s->nslots / PART_SLOTS : 1;
}

/* In a table with fewer slots than parts, several parts share a slot. */
static void store_walk_table(const struct store *s, struct walk *walk,
			     struct store_entry *const *slots, size_t nslots)
{
	uint64_t step = walk->part->count < nslots ? walk->part->count : nslots;

	for (uint64_t i = walk->part->number & (step - 1); i < nslots;
	     i += step)
		walk->chain(s, walk, slots[i]);
}

static void store_walk_part(const struct store *s, struct walk *walk)
{
	store_walk_table(s, walk, s->slots, s->nslots);
	if (s->old_slots)
		store_walk_table(s, walk, s->old_slots, s->old_nslots);
}

static bool store_is_in_part(const struct walk *walk,
			     const struct store_entry *e)
{
	return keypart_of(&e->key, walk->part->count) == walk->part->number;
}

/* A chain's keys, as far as they are in the part, each at its newest entry. */
static void store_store_each_key(const struct store *s, struct walk *walk,
				 struct store_entry *e)
{
	for (; e; e = e->chain) {
		if (store_is_in_part(walk, e) && store_find(s, &e->key) == e)
			walk->each(walk->arg, &e->key);
	}
}

void store_each_key(const struct store *s, const struct keypart *part,
		    void (*each)(void *arg, const struct scd_key *key),
		    void *arg)
{
	struct walk walk = {.part = part,
			    .chain = store_store_each_key,
			    .each = each,
			    .arg = arg};

	assert(part->number < part->count && each);
	store_walk_part(s, &walk);
}

static void store_remove_matching(const struct store *s, struct walk *walk,
				  struct store_entry *e)
{
	(void)s;
	while (e) {
		struct store_entry *next = e->chain;

		if (store_is_in_part(walk, e) && walk->matches(walk->arg, e)) {
			store_remove(walk->from, e);
			walk->removed++;
		}
		e = next;
	}
}

size_t store_remove_if(struct store *s, const struct keypart *part,
		       bool (*matches)(void *arg, struct store_entry *e),
		       void *arg)
{
	struct walk walk = {.part = part,
			    .chain = store_remove_matching,
			    .matches = matches,
			    .arg = arg,
			    .from = s};

	assert(part->number < part->count && matches);
	store_walk_part(s, &walk);
	return walk.removed;
}

void store_stats(const struct store *s, struct store_stats *out)
{
	*out = s->stats;
}
