/*
 * Lists of peers.
 */
#include "digestd/mesh/peer_table.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "codec/table.h"

enum {
	LINE_ENTRIES = 25, /* that a lookup compares, at most on average */
	LEAST_PEERS = 15,
	CELL_BITS = 16, /* of an entry: the peer's number and its tag */
	MOST_AHEAD = 4, /* times as many entries as there are */
};

/* A view that looks up. */
struct peer_table_use {
	struct peer_table_use *next; /* the loop's: made after it */
	uint64_t turn;               /* counts the uses */
	uint64_t epoch;
	atomic_bool ended;
};

/* A number: the loop's. */
struct peer_table_number {
	bool taken;
	uint64_t left; /* the newest use that may know it */
};

struct peer_table {
	atomic_uint users;
	struct scd_table *table;
	struct peer_table_watcher watcher;
	unsigned npeers;
	/* the decoder's */
	uint64_t entries; /* of all lists */
	uint64_t nlists;
	uint64_t room; /* entries for which there is some, 0: not known */
	/* anybody's */
	atomic_uint nclaimed;
	atomic_size_t lists; /* bytes of them */
	atomic_size_t bytes; /* of the table */
	_Atomic uint64_t epoch;   /* as the decoder left it */
	_Atomic uint64_t reclaim; /* up to which nobody looks up any more */
	/* the loop's */
	uint64_t turn;
	struct peer_table_use *first, **last;
	struct peer_table_number numbers[SCD_TABLE_MAX_PEERS];
};

/* Room for so many peers, and as many as take the same number of bits. */
static unsigned peer_table_capacity(unsigned npeers)
{
	unsigned capacity = LEAST_PEERS;

	while (capacity < npeers && capacity < SCD_TABLE_MAX_PEERS)
		capacity = 2 * capacity + 1;
	return capacity;
}

int peer_table_new(struct peer_table **out, unsigned npeers)
{
	struct peer_table *t = calloc(1, sizeof(*t));

	assert(npeers);
	if (!t)
		return SCD_ENOMEM;
	t->npeers = peer_table_capacity(npeers);
	if (scd_table_new(&t->table, t->npeers)) {
		free(t);
		return SCD_ENOMEM;
	}
	atomic_init(&t->users, 1);
	atomic_init(&t->epoch, scd_table_epoch(t->table));
	atomic_init(&t->bytes, scd_table_memory(t->table));
	t->last = &t->first;
	*out = t;
	return SCD_OK;
}

void peer_table_watch(struct peer_table *t,
		      const struct peer_table_watcher *watcher)
{
	t->watcher = *watcher;
}

struct peer_table *peer_table_ref(struct peer_table *t)
{
	unsigned users = atomic_fetch_add_explicit(&t->users, 1,
						   memory_order_relaxed);

	assert(users);
	(void)users;
	return t;
}

/* Frees the uses that have ended, up to the oldest that has not. */
static void peer_table_sweep_uses(struct peer_table *t)
{
	struct peer_table_use *use;

	while ((use = t->first) != NULL &&
	       atomic_load_explicit(&use->ended, memory_order_acquire)) {
		t->first = use->next;
		if (!t->first)
			t->last = &t->first;
		free(use);
	}
}

void peer_table_unref(struct peer_table *t)
{
	if (!t || atomic_fetch_sub_explicit(&t->users, 1,
					    memory_order_acq_rel) != 1)
		return;
	peer_table_sweep_uses(t);
	assert(!t->first);
	t->watcher.set = NULL;
	for (unsigned i = 0; i < t->npeers; i++)
		peer_table_remove(&(struct peer_slot){ t, i });
	scd_table_free(&t->table);
	free(t);
}

/* Whether no view knows a number any more. */
static bool peer_table_is_free(const struct peer_table *t, unsigned number)
{
	const struct peer_table_number *n = &t->numbers[number];

	return !n->taken && (!t->first || t->first->turn > n->left);
}

bool peer_table_claim(struct peer_table *t, struct peer_slot *out)
{
	peer_table_sweep_uses(t);
	for (unsigned i = 0; i < t->npeers; i++) {
		if (!peer_table_is_free(t, i))
			continue;
		t->numbers[i].taken = true;
		atomic_fetch_add_explicit(&t->nclaimed, 1,
					  memory_order_relaxed);
		*out = (struct peer_slot){ t, i };
		return true;
	}
	return false;
}

void peer_table_leave(const struct peer_slot *slot)
{
	struct peer_table *t = slot->table;

	assert(t->numbers[slot->number].taken);
	t->numbers[slot->number].taken = false;
	t->numbers[slot->number].left = t->turn;
	atomic_fetch_sub_explicit(&t->nclaimed, 1, memory_order_relaxed);
}

struct peer_table_use *peer_table_begin(struct peer_table *t)
{
	struct peer_table_use *use = calloc(1, sizeof(*use));

	if (!use)
		return NULL;
	use->turn = ++t->turn;
	use->epoch = atomic_load_explicit(&t->epoch, memory_order_acquire);
	atomic_init(&use->ended, false);
	*t->last = use;
	t->last = &use->next;
	peer_table_sweep_uses(t);
	atomic_store_explicit(&t->reclaim, t->first->epoch,
			      memory_order_release);
	peer_table_ref(t);
	return use;
}

void peer_table_end(struct peer_table *t, struct peer_table_use *use)
{
	atomic_store_explicit(&use->ended, true, memory_order_release);
	peer_table_unref(t);
}

unsigned peer_table_words(const struct peer_table *t)
{
	return scd_table_words(t->table);
}

bool peer_table_lookup(const struct peer_table *t, const struct scd_key *key,
		       uint64_t *out)
{
	return scd_table_lookup(t->table, key, out);
}

bool peer_table_has(const struct peer_slot *slot, const struct scd_key *key)
{
	struct peer_table_use *use = peer_table_begin(slot->table);
	uint64_t found[PEER_TABLE_WORDS];
	bool has;

	if (!use)
		return false;
	has = peer_table_lookup(slot->table, key, found) &&
	      found[slot->number / 64] >> slot->number % 64 & 1;
	peer_table_end(slot->table, use);
	return has;
}

/* The decoder's */

static uint64_t peer_table_entries_of(const struct scd_list *list)
{
	struct scd_digest_info info;

	scd_list_info(list, &info);
	return info.nones;
}

static void peer_table_reclaim(struct peer_table *t)
{
	scd_table_reclaim(t->table, atomic_load_explicit(&t->reclaim,
							 memory_order_acquire));
}

/* Something has been changed. */
static void peer_table_note(struct peer_table *t)
{
	atomic_store_explicit(&t->epoch, scd_table_epoch(t->table),
			      memory_order_release);
	atomic_store_explicit(&t->bytes, scd_table_memory(t->table),
			      memory_order_relaxed);
}

/* A slot's list is no longer counted, or is again. */
static void peer_table_uncount(struct peer_table *t,
			       const struct scd_list *list)
{
	t->entries -= peer_table_entries_of(list);
	t->nlists--;
	atomic_fetch_sub_explicit(&t->lists, scd_list_memory(list),
				  memory_order_relaxed);
}

static void peer_table_count(struct peer_table *t, const struct scd_list *list)
{
	t->entries += peer_table_entries_of(list);
	t->nlists++;
	atomic_fetch_add_explicit(&t->lists, scd_list_memory(list),
				  memory_order_relaxed);
}

/*
 * Makes room for what peers without a list will bring, if their lists are like
 * those that have come: a table that grows by itself is filled four times over
 * until all have come. For a few times what there is at most, as nobody knows
 * whether they come; without memory, for nothing.
 */
static void peer_table_make_room(struct peer_table *t,
				 const struct scd_list *list)
{
	const uint64_t nclaimed = atomic_load_explicit(&t->nclaimed,
						       memory_order_relaxed);
	const uint64_t entries = t->entries + peer_table_entries_of(list);
	uint64_t expected = entries * nclaimed / (t->nlists + 1);

	if (expected <= entries || entries <= t->room)
		return;
	if (expected > MOST_AHEAD * entries)
		expected = MOST_AHEAD * entries;
	if (!scd_table_reserve(t->table, expected))
		t->room = expected;
}

int peer_table_set(const struct peer_slot *slot, struct scd_list *list)
{
	struct peer_table *t = slot->table;
	struct scd_list *old = scd_table_list(t->table, slot->number);
	int error;

	peer_table_reclaim(t);
	if (old)
		peer_table_uncount(t, old);
	else
		peer_table_make_room(t, list);
	error = scd_table_set(t->table, slot->number, list);
	if (!error && t->watcher.set)
		t->watcher.set(t->watcher.arg, slot->number, old, list);
	if (peer_table_list(slot) != old)
		scd_list_free(&old);
	if (error)
		scd_list_free(&list);
	if (peer_table_list(slot))
		peer_table_count(t, peer_table_list(slot));
	peer_table_note(t);
	return error;
}

int peer_table_change(const struct peer_slot *slot,
		      const struct scd_list_change *change, uint64_t generation)
{
	struct peer_table *t = slot->table;
	const struct scd_list *list = scd_table_list(t->table, slot->number);
	int error;

	if (!list)
		return SCD_EBASE;
	peer_table_reclaim(t);
	peer_table_uncount(t, list);
	error = scd_table_change(t->table, slot->number, change, generation);
	if (!error && t->watcher.set)
		t->watcher.changed(t->watcher.arg, slot->number, list, change);
	peer_table_count(t, list);
	peer_table_note(t);
	return error;
}

int peer_table_set_ages(const struct peer_slot *slot, const uint8_t *in,
			size_t len, size_t *used)
{
	struct peer_table *t = slot->table;
	struct scd_list *list = scd_table_list(t->table, slot->number);
	int error;

	if (!list)
		return SCD_EBASE;
	peer_table_uncount(t, list);
	error = scd_list_has_ages(list)
			? SCD_EBASE
			: scd_list_ages_decode(in, len, list, used);
	peer_table_count(t, list);
	peer_table_note(t);
	return error;
}

void peer_table_remove(const struct peer_slot *slot)
{
	struct peer_table *t = slot->table;
	struct scd_list *list = scd_table_list(t->table, slot->number);

	if (!list)
		return;
	peer_table_reclaim(t);
	peer_table_uncount(t, list);
	scd_table_remove(t->table, slot->number);
	t->room = 0;
	if (t->watcher.set)
		t->watcher.removed(t->watcher.arg, slot->number, list);
	scd_list_free(&list);
	peer_table_note(t);
}

const struct scd_list *peer_table_list(const struct peer_slot *slot)
{
	return scd_table_list(slot->table->table, slot->number);
}

/* Bits of a tag. */
static unsigned peer_table_tag_bits(const struct peer_table *t)
{
	unsigned bits = CELL_BITS;

	for (unsigned n = t->npeers; n; n /= 2)
		bits--;
	return bits;
}

double peer_table_fp(const struct peer_slot *slot)
{
	const struct peer_table *t = slot->table;
	const struct scd_list *list = peer_table_list(slot);
	const double tags = (double)(1 << peer_table_tag_bits(t));
	struct scd_digest_info info;

	if (!list || !t->entries)
		return 0;
	scd_list_info(list, &info);
	return (double)info.nones / (double)info.nbits +
	       LINE_ENTRIES / tags * (double)info.nones / (double)t->entries;
}

size_t peer_table_memory(const struct peer_table *t)
{
	return atomic_load_explicit(&t->lists, memory_order_relaxed) +
	       atomic_load_explicit(&t->bytes, memory_order_relaxed);
}
