/*
 * The number of uses of each key, exactly: an object is written at its
 * min_uses-th use. Keys are remembered for ever, or as many as the window, of
 * which those go that were not used for longest.
 *
 * Entries in an array, linked in the order of use, and found through a table
 * of their numbers, at most half full: 32 to 64 bytes a key. When there is no
 * memory for more keys, the oldest go.
 */
#include <stdlib.h>

#include "cachesim/admission/policies.h"
#include "codec/error.h"

enum { FIRST_ROOM = 1024 };

static const uint32_t none = UINT32_MAX;

struct entry {
	uint64_t hash;
	uint32_t uses;
	uint32_t newer, older;
};

struct exact {
	struct admission base;
	struct entry *entries;
	uint32_t *table; /* 2 * room places */
	uint32_t n, room;
	uint32_t newest, oldest;
};

static const struct exact *exact_const_exact(const struct admission *a)
{
	return (const struct exact *)a;
}

/* The place of a key in the table, or the empty one where it would be. */
static uint32_t exact_place_of(const struct exact *x, uint64_t hash)
{
	uint32_t mask = 2 * x->room - 1;
	uint32_t at = (uint32_t)(scd__mix64(hash) >> 32) & mask;

	while (x->table[at] != none && x->entries[x->table[at]].hash != hash)
		at = (at + 1) & mask;
	return at;
}

/* A table for so many entries; whether there was memory for it. */
static bool exact_make_table(struct exact *x, uint32_t room)
{
	uint32_t *table = malloc((size_t)room * 2 * sizeof(*table));

	if (!table)
		return false;
	free(x->table);
	x->table = table;
	x->room = room;
	for (uint32_t i = 0; i < 2 * room; i++)
		table[i] = none;
	for (uint32_t i = 0; i < x->n; i++)
		table[exact_place_of(x, x->entries[i].hash)] = i;
	return true;
}

/* Room for more entries; whether there is. */
static bool exact_grow(struct exact *x)
{
	uint32_t room = x->room ? x->room * 2 : FIRST_ROOM;
	struct entry *entries;

	if (x->room >= UINT32_C(1) << 30)
		return false;
	entries = realloc(x->entries, room * sizeof(*entries));
	if (!entries)
		return false;
	x->entries = entries;
	return exact_make_table(x, room);
}

static void exact_unlink_entry(struct exact *x, uint32_t i)
{
	struct entry *e = &x->entries[i];

	if (e->newer != none)
		x->entries[e->newer].older = e->older;
	else
		x->newest = e->older;
	if (e->older != none)
		x->entries[e->older].newer = e->newer;
	else
		x->oldest = e->newer;
}

static void exact_link_newest(struct exact *x, uint32_t i)
{
	x->entries[i].newer = none;
	x->entries[i].older = x->newest;
	if (x->newest != none)
		x->entries[x->newest].newer = i;
	else
		x->oldest = i;
	x->newest = i;
}

/* Empties a place and moves up those behind it that would not be found. */
static void exact_close_place(struct exact *x, uint32_t at)
{
	uint32_t mask = 2 * x->room - 1;

	for (uint32_t next = (at + 1) & mask; x->table[next] != none;
	     next = (next + 1) & mask) {
		uint64_t hash = x->entries[x->table[next]].hash;
		uint32_t home = (uint32_t)(scd__mix64(hash) >> 32) & mask;

		if (((next - home) & mask) < ((next - at) & mask))
			continue;
		x->table[at] = x->table[next];
		at = next;
	}
	x->table[at] = none;
}

/* An entry for a new key: a further one, or the oldest. */
static uint32_t exact_entry_for(struct exact *x)
{
	bool full = x->base.config.window && x->n >= x->base.config.window;
	uint32_t i;

	if (!full && (x->n < x->room || exact_grow(x)))
		return x->n++;
	i = x->oldest;
	exact_close_place(x, exact_place_of(x, x->entries[i].hash));
	exact_unlink_entry(x, i);
	return i;
}

/* Its uses, with this one. */
static uint32_t exact_use(struct exact *x, uint64_t hash)
{
	uint32_t i = x->table[exact_place_of(x, hash)];

	if (i != none) {
		exact_unlink_entry(x, i);
	} else {
		i = exact_entry_for(x);
		x->entries[i] = (struct entry){ .hash = hash };
		x->table[exact_place_of(x, hash)] = i;
	}
	exact_link_newest(x, i);
	if (x->entries[i].uses < UINT32_MAX)
		x->entries[i].uses++;
	return x->entries[i].uses;
}

static int exact_init(struct admission *a)
{
	struct exact *x = (struct exact *)a;

	x->newest = x->oldest = none;
	return exact_grow(x) ? 0 : SCD_ENOMEM;
}

static void exact_release(struct admission *a)
{
	struct exact *x = (struct exact *)a;

	free(x->entries);
	free(x->table);
}

static size_t exact_memory(const struct admission *a)
{
	return exact_const_exact(a)->room *
	       (sizeof(struct entry) + 2 * sizeof(uint32_t));
}

static uint64_t exact_tracked(const struct admission *a)
{
	return exact_const_exact(a)->n;
}

static enum admission_decision exact_decide(struct admission *a,
					    const struct admission_item *r)
{
	return exact_use((struct exact *)a, r->hash) >= a->config.min_uses
		       ? ADMISSION_DISK
		       : ADMISSION_NO;
}

static void exact_note(struct admission *a, uint64_t hash)
{
	exact_use((struct exact *)a, hash);
}

static bool exact_seen(const struct admission *a, uint64_t hash)
{
	const struct exact *x = exact_const_exact(a);
	uint32_t i = x->table[exact_place_of(x, hash)];

	return i != none && x->entries[i].uses + 1 >= a->config.min_uses;
}

const struct admission_policy admission_exact = {
	.name = "exact",
	.about = "after min-uses uses, counted exactly, never forgotten",
	.options = "min-uses window",
	.size = sizeof(struct exact),
	.for_ever = true,
	.init = exact_init,
	.release = exact_release,
	.memory = exact_memory,
	.tracked = exact_tracked,
	.decide = exact_decide,
	.note = exact_note,
	.seen = exact_seen,
};
