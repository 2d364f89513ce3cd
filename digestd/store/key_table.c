/*
 * The table of keys.
 */
#include "digestd/store/key_table.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "codec/error.h"

enum {
	KEY_TABLE_FIRST_SLOTS = 64,
	KEY_TABLE_PART_SLOTS = 4096,
};

/* One slot; its value follows. */
struct key_table_slot {
	struct scd_key key;
	uint64_t value[];
};

struct key_table {
	char *slots;
	uint64_t *used; /* a bit a slot */
	uint64_t nslots; /* a power of two; 0: nothing is allocated */
	uint64_t nkeys, max_keys;
	size_t slot_bytes;
};

/* The bits of a word from the other end. */
static uint64_t key_table_reverse(uint64_t x)
{
	x = (x >> 1 & 0x5555555555555555u) | (x & 0x5555555555555555u) << 1;
	x = (x >> 2 & 0x3333333333333333u) | (x & 0x3333333333333333u) << 2;
	x = (x >> 4 & 0x0f0f0f0f0f0f0f0fu) | (x & 0x0f0f0f0f0f0f0f0fu) << 4;
	return __builtin_bswap64(x);
}

/* Where the keys begin whose hi has these low bits. */
static uint64_t key_table_home_of(const struct key_table *t, uint64_t hi)
{
	return key_table_reverse(hi) >>
	       (64 - (unsigned)__builtin_ctzll(t->nslots));
}

static struct key_table_slot *key_table_slot(const struct key_table *t,
					     uint64_t at)
{
	return (void *)(t->slots + at * t->slot_bytes);
}

static bool key_table_is_used(const struct key_table *t, uint64_t at)
{
	return t->used[at / 64] >> (at % 64) & 1;
}

static void key_table_set_used(struct key_table *t, uint64_t at)
{
	t->used[at / 64] |= UINT64_C(1) << (at % 64);
}

static void key_table_set_free(struct key_table *t, uint64_t at)
{
	t->used[at / 64] &= ~(UINT64_C(1) << (at % 64));
}

/* Where a key is, or the free slot where it would be. */
static uint64_t key_table_probe(const struct key_table *t,
				const struct scd_key *key)
{
	uint64_t at = key_table_home_of(t, key->hi);

	while (key_table_is_used(t, at)) {
		const struct key_table_slot *s = key_table_slot(t, at);

		if (s->key.lo == key->lo && s->key.hi == key->hi)
			break;
		at = (at + 1) & (t->nslots - 1);
	}
	return at;
}

int key_table_new(struct key_table **out, size_t value_bytes, uint64_t max_keys)
{
	struct key_table *t = calloc(1, sizeof(*t));

	assert(max_keys && value_bytes % sizeof(uint64_t) == 0);
	if (!t)
		return SCD_ENOMEM;
	t->max_keys = max_keys;
	t->slot_bytes = sizeof(struct key_table_slot) + value_bytes;
	*out = t;
	return SCD_OK;
}

void key_table_clear(struct key_table *t)
{
	free(t->slots);
	free(t->used);
	t->slots = NULL;
	t->used = NULL;
	t->nslots = t->nkeys = 0;
}

void key_table_free(struct key_table **t)
{
	if (!*t)
		return;
	key_table_clear(*t);
	free(*t);
	*t = NULL;
}

void *key_table_find(const struct key_table *t, const struct scd_key *key)
{
	uint64_t at;

	if (!t->nslots)
		return NULL;
	at = key_table_probe(t, key);
	return key_table_is_used(t, at) ? key_table_slot(t, at)->value : NULL;
}

/* Moves all to twice as many slots. Returns 0 or SCD_ENOMEM. */
static int key_table_grow(struct key_table *t)
{
	struct key_table more = *t;

	more.nslots = t->nslots ? 2 * t->nslots : KEY_TABLE_FIRST_SLOTS;
	more.slots = calloc(more.nslots, t->slot_bytes);
	more.used = calloc(more.nslots / 64, sizeof(*more.used));
	if (!more.slots || !more.used) {
		free(more.slots);
		free(more.used);
		return SCD_ENOMEM;
	}
	for (uint64_t i = 0; i < t->nslots; i++) {
		const struct key_table_slot *s = key_table_slot(t, i);
		uint64_t to;

		if (!key_table_is_used(t, i))
			continue;
		to = key_table_probe(&more, &s->key);
		memcpy(key_table_slot(&more, to), s, t->slot_bytes);
		key_table_set_used(&more, to);
	}
	free(t->slots);
	free(t->used);
	*t = more;
	return SCD_OK;
}

int key_table_add(struct key_table *t, const struct scd_key *key, void **value)
{
	struct key_table_slot *s;
	uint64_t at;

	if (t->nkeys == t->max_keys)
		return SCD_ELIMIT;
	if ((t->nkeys + 1) * 4 > t->nslots * 3 && key_table_grow(t))
		return SCD_ENOMEM;
	at = key_table_probe(t, key);
	assert(!key_table_is_used(t, at));
	s = key_table_slot(t, at);
	memset(s, 0, t->slot_bytes);
	s->key = *key;
	key_table_set_used(t, at);
	t->nkeys++;
	*value = s->value;
	return SCD_OK;
}

/* Whether a key whose home is `home`, in slot `at`, may move to the free slot
 * before it: not if that would be before its home. */
static bool key_table_may_move(const struct key_table *t, uint64_t home,
			       uint64_t at, uint64_t to)
{
	const uint64_t mask = t->nslots - 1;

	return ((at - home) & mask) >= ((at - to) & mask);
}

bool key_table_remove(struct key_table *t, const struct scd_key *key)
{
	const uint64_t mask = t->nslots - 1;
	uint64_t hole, at;

	if (!t->nslots)
		return false;
	hole = key_table_probe(t, key);
	if (!key_table_is_used(t, hole))
		return false;
	for (at = (hole + 1) & mask; key_table_is_used(t, at);
	     at = (at + 1) & mask) {
		const struct key_table_slot *s = key_table_slot(t, at);
		uint64_t home = key_table_home_of(t, s->key.hi);

		if (!key_table_may_move(t, home, at, hole))
			continue;
		memcpy(key_table_slot(t, hole), s, t->slot_bytes);
		hole = at;
	}
	key_table_set_free(t, hole);
	t->nkeys--;
	return true;
}

uint64_t key_table_count(const struct key_table *t)
{
	return t->nkeys;
}

size_t key_table_bytes(const struct key_table *t)
{
	return (size_t)(t->nslots * t->slot_bytes + t->nslots / 8);
}

uint64_t key_table_parts(const struct key_table *t)
{
	return t->nslots > KEY_TABLE_PART_SLOTS ?
		       t->nslots / KEY_TABLE_PART_SLOTS : 1;
}

void key_table_walk(const struct key_table *t, const struct keypart *part,
		    void (*each)(void *arg, const struct scd_key *key,
				 void *value),
		    void *arg)
{
	uint64_t at, n, seen;

	if (!t->nslots)
		return;
	/* more parts than slots: several begin in one */
	n = part->count < t->nslots ? t->nslots / part->count : 1;
	at = key_table_home_of(t, part->number);
	/* those that did not find room in the stretch are behind it */
	for (seen = 0; seen < t->nslots; seen++) {
		struct key_table_slot *s = key_table_slot(t, at);

		if (key_table_is_used(t, at)) {
			if (keypart_of(&s->key, part->count) == part->number)
				each(arg, &s->key, s->value);
		} else if (seen >= n) {
			break;
		}
		at = (at + 1) & (t->nslots - 1);
	}
}
