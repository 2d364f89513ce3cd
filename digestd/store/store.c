/*
 * The store: its index, and the room that it has, alone or with others.
 */
#include "digestd/store/store.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "digestd/store/store_index.h"

enum { STORE_LINE_BYTES = 64 };

struct store {
	struct store_index index; /* readers use its last line, which */
	char unused[STORE_LINE_BYTES]; /* has none of the counts below */
	struct store_room *room;
	struct store_room *own; /* the same, if it has it alone */
	const struct store_events *events;
	unsigned max_variants;
	struct {
		uint64_t keys, entries, variants_dropped;
	} stats;
};

/* A walk over a part of the keys, to see each of them or to remove entries. */
struct walk {
	const struct store *store;
	struct store *from; /* null: nothing is removed */
	const struct keypart *part;
	void (*each)(void *arg, const struct scd_key *key);
	void (*each_entry)(void *arg, struct store_entry *e);
	bool (*matches)(void *arg, struct store_entry *e);
	void *arg;
	size_t removed;
};

static bool store_same_key(const struct scd_key *a, const struct scd_key *b)
{
	return a->lo == b->lo && a->hi == b->hi;
}

/* A store of a room that others may have, too. */
int store_new_in(struct store **out, struct store_room *room,
		 const struct store_events *events)
{
	struct store *s = calloc(1, sizeof(*s));

	assert(room && events->key_added && events->key_removed);
	assert(events->released);
	if (!s)
		return -ENOMEM;
	s->room = room;
	s->events = events;
	s->max_variants = STORE_VARIANTS;
	*out = s;
	if (!store_index_init(&s->index))
		return 0;
	store_free(out);
	return -ENOMEM;
}

int store_new(struct store **out, uint64_t max_weight,
	      const struct eviction_policy *policy,
	      const struct store_events *events)
{
	return store_new_with_copies(out, max_weight, policy, events, NULL);
}

int store_new_with_copies(struct store **out, uint64_t max_weight,
			  const struct eviction_policy *policy,
			  const struct store_events *events,
			  const struct store_copies *copies)
{
	struct store_scales scales = {.weight = events->weight,
				      .arg = events->arg};
	struct store_room *room;
	int err;

	if (copies)
		scales.copies = *copies;
	err = store_room_new(&room, max_weight, policy, &scales);
	if (err)
		return err;
	err = store_new_in(out, room, events);
	if (err)
		store_room_free(&room);
	else
		(*out)->own = room;
	return err;
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
	store_index_free(&(*s)->index);
	store_room_free(&(*s)->own);
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

static bool store_entry_counts(const struct store *s,
			       const struct store_entry *e)
{
	return !s->events->counts || s->events->counts(s->events->arg, e);
}

/* The newest entry of a key that counts; null: none. */
static struct store_entry *store_find_counted(const struct store *s,
					      const struct scd_key *key)
{
	struct store_entry *e = store_find(s, key);

	while (e && !store_entry_counts(s, e))
		e = store_next(e);
	return e;
}

bool store_counts(const struct store *s, const struct scd_key *key)
{
	return store_find_counted(s, key);
}

void store_prefetch(const struct store *s, const struct scd_key *key)
{
	store_index_prefetch(&s->index, key);
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
	store_room_touch(s->room, e);
}

uint32_t store_slot(const struct store_entry *e)
{
	return __atomic_load_n(&e->slot, __ATOMIC_ACQUIRE);
}

struct store_entry *store_in_slot(const struct store *s, uint32_t slot,
				  uint64_t hash)
{
	struct store_entry *e = store_room_at(s->room, slot);

	return e && e->key.lo == hash ? e : NULL;
}

void store_touch_shared(struct store *s, const struct store_entry *e)
{
	store_room_touch_shared(s->room, e);
}

/* Takes out an entry that is not in the room any more. */
static void store_unlink(struct store *s, struct store_entry *e)
{
	struct scd_key key = e->key;
	bool counted = store_entry_counts(s, e);

	store_index_remove(&s->index, e);
	s->stats.entries--;
	s->stats.keys -= !store_find(s, &key);
	if (counted && !store_counts(s, &key))
		s->events->key_removed(s->events->arg, &key);
}

void store_remove(struct store *s, struct store_entry *e)
{
	bool releases = store_room_leave(s->room, e);

	assert(s->stats.entries);
	store_unlink(s, e);
	if (releases)
		s->events->released(s->events->arg, e);
}

void store_take_out(struct store *s, struct store_entry *e)
{
	if (store_slot(e) != STORE_REMOVED)
		store_unlink(s, e);
	s->events->released(s->events->arg, e);
}

static void store_take_all_out(struct store *s, struct store_evicted *evicted)
{
	for (unsigned i = 0; i < evicted->n; i++)
		store_take_out(s, evicted->at[i]);
	evicted->n = 0;
}

/* The newest variants of a key stay, the others go. */
void store_drop_surplus(struct store *s, const struct scd_key *key)
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
	__atomic_store_n(&e->slot, EVICTION_NONE, __ATOMIC_RELEASE);
}

/* Puts an entry into the index. */
static void store_link_entry(struct store *s, struct store_entry *e,
			     const struct scd_key *key)
{
	bool first = store_entry_counts(s, e) && !store_counts(s, key);

	s->stats.keys += !store_find(s, key);
	store_index_grow(&s->index, s->stats.keys);
	store_init_entry(e, key);
	store_index_add(&s->index, e);
	s->stats.entries++;
	if (first)
		s->events->key_added(s->events->arg, key);
}

int store_link(struct store *s, struct store_entry *e,
	       const struct scd_key *key)
{
	if (s->events->weight(s->events->arg, e) > store_room_max(s->room))
		return -E2BIG;
	store_link_entry(s, e, key);
	return 0;
}

/* The end of an insertion. */
static void store_settle_entry(struct store *s, struct store_entry *e)
{
	struct store_evicted evicted;
	enum store_entering entering;

	evicted.n = 0;
	store_room_expect(s->room, e);
	store_drop_surplus(s, &e->key);
	do {
		entering = store_room_enter(s->room, e, &evicted);
		store_take_all_out(s, &evicted);
	} while (entering == STORE_IS_FULL);
	assert(entering == STORE_ENTERED);
}

int store_insert(struct store *s, struct store_entry *e,
		 const struct scd_key *key)
{
	int err = store_link(s, e, key);

	assert(s->own);
	if (!err)
		store_settle_entry(s, e);
	return err;
}

int store_replace(struct store *s, struct store_entry *old,
		  struct store_entry *e)
{
	assert(old != e && s->own);
	if (s->events->weight(s->events->arg, e) > store_room_max(s->room)) {
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

bool store_missed(struct store *s, const struct tiers_miss *miss)
{
	return store_room_missed(s->room, miss);
}

void store_resize(struct store *s, uint64_t max_weight)
{
	struct store_evicted evicted;

	assert(s->own);
	store_room_resize(s->room, max_weight);
	evicted.n = 0;
	do {
		store_take_all_out(s, &evicted);
		store_room_evict(s->room, &evicted);
	} while (evicted.n);
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

/* Each key that has one at its newest entry that counts. */
static void store_visit_counted(void *arg, struct store_entry *e)
{
	const struct walk *walk = arg;

	if (store_is_in_part(walk, e) &&
	    store_find_counted(walk->store, &e->key) == e)
		walk->each(walk->arg, &e->key);
}

static void store_walk_keys(const struct store *s, const struct walk *how,
			    void (*visit)(void *arg, struct store_entry *e))
{
	struct walk walk = *how;

	assert(how->part->number < how->part->count && how->each);
	walk.store = s;
	store_index_walk(&s->index, how->part, visit, &walk);
}

void store_each_key(const struct store *s, const struct keypart *part,
		    void (*each)(void *arg, const struct scd_key *key),
		    void *arg)
{
	const struct walk how = {.part = part, .each = each, .arg = arg};

	store_walk_keys(s, &how, store_visit_key);
}

void store_each_counted_key(const struct store *s, const struct keypart *part,
			    void (*each)(void *arg, const struct scd_key *key),
			    void *arg)
{
	const struct walk how = {.part = part, .each = each, .arg = arg};

	store_walk_keys(s, &how, store_visit_counted);
}

static void store_visit_entry(void *arg, struct store_entry *e)
{
	const struct walk *walk = arg;

	if (store_is_in_part(walk, e))
		walk->each_entry(walk->arg, e);
}

void store_each_entry(const struct store *s, const struct keypart *part,
		      void (*each)(void *arg, struct store_entry *e),
		      void *arg)
{
	struct walk walk = {
		.store = s, .part = part, .each_entry = each, .arg = arg};

	assert(part->number < part->count && each);
	store_index_walk(&s->index, part, store_visit_entry, &walk);
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

void store_visit_hottest(const struct store *s, uint32_t most,
			 bool (*each)(void *arg, struct store_entry *e),
			 void *arg)
{
	store_room_visit_hottest(s->room, most, each, arg);
}

void store_visit_spared(const struct store *s,
			void (*each)(void *arg, struct store_entry *e),
			void *arg)
{
	store_room_visit_spared(s->room, each, arg);
}

void store_stats(const struct store *s, struct store_stats *out)
{
	struct store_room_stats room;

	store_room_stats(s->room, &room);
	*out = (struct store_stats){
		.keys = s->stats.keys,
		.entries = s->stats.entries,
		.variants_dropped = s->stats.variants_dropped,
		.weight = room.weight,
		.max_weight = room.max_weight,
		.evicted = room.evicted,
		.tiers = room.tiers,
	};
}
