/*
 * A miniature cache: slots, a table from hashes to slots that is at most half
 * full, and an eviction policy.
 */
#include "digestd/admission/admission_mini.h"

#include <assert.h>
#include <stdlib.h>

#include "codec/error.h"
#include "digestd/store/eviction.h"

enum { FIRST_SLOTS = 128, MAX_SLOTS = 1 << 30 };

struct object {
	uint64_t hash, size;
	uint32_t next_free;
};

struct mini {
	struct eviction *eviction;
	struct object *objects; /* by slot */
	uint32_t *table;	/* 2 * nslots places */
	uint32_t nslots, n, free_slot;
	uint64_t capacity, used;
	bool full; /* something had to go */
};

static struct eviction_item admission_mini_item(void *arg, uint32_t slot)
{
	const struct object *o = &((const struct mini *)arg)->objects[slot];

	return (struct eviction_item){ o->hash, o->size };
}

static uint32_t admission_mini_home_of(const struct mini *m, uint64_t hash)
{
	return (uint32_t)(hash * UINT64_C(0x9e3779b97f4a7c15) >> 32) &
	       (2 * m->nslots - 1);
}

/* The place of a hash in the table, or the empty one where it would be. */
static uint32_t admission_mini_place_of(const struct mini *m, uint64_t hash)
{
	uint32_t at = admission_mini_home_of(m, hash);

	while (m->table[at] != EVICTION_NONE &&
	       m->objects[m->table[at]].hash != hash)
		at = (at + 1) & (2 * m->nslots - 1);
	return at;
}

/* Fills a new table for so many slots from the old one's. */
static int admission_mini_make_table(struct mini *m, uint32_t nslots)
{
	uint32_t *old = m->table, old_places = 2 * m->nslots;
	uint32_t *table = malloc((size_t)nslots * 2 * sizeof(*table));

	if (!table)
		return SCD_ENOMEM;
	for (uint32_t i = 0; i < 2 * nslots; i++)
		table[i] = EVICTION_NONE;
	m->table = table;
	m->nslots = nslots;
	for (uint32_t i = 0; old && i < old_places; i++)
		if (old[i] != EVICTION_NONE)
			table[admission_mini_place_of(
				m, m->objects[old[i]].hash)] = old[i];
	free(old);
	return 0;
}

/* More slots, all free; called when none is. */
static int admission_mini_grow(struct mini *m)
{
	uint32_t had = m->nslots;
	uint32_t nslots = had ? had * 2 : FIRST_SLOTS;
	struct object *objects;
	int err;

	if (nslots > MAX_SLOTS)
		return SCD_ENOMEM;
	objects = realloc(m->objects, nslots * sizeof(*objects));
	if (!objects)
		return SCD_ENOMEM;
	m->objects = objects;
	err = eviction_reserve(m->eviction, nslots);
	if (!err)
		err = admission_mini_make_table(m, nslots);
	if (err)
		return err;
	for (uint32_t i = nslots; i-- > had;) {
		objects[i].next_free = m->free_slot;
		m->free_slot = i;
	}
	return 0;
}

int mini_new(struct mini **out, const struct eviction_policy *policy,
	     uint64_t capacity)
{
	struct mini *m = calloc(1, sizeof(*m));
	struct eviction_config c = {
		.capacity = capacity,
		.item = admission_mini_item,
		.arg = m,
	};
	int err;

	if (!m)
		return SCD_ENOMEM;
	m->capacity = capacity;
	m->free_slot = EVICTION_NONE;
	err = eviction_new(&m->eviction, policy, &c);
	if (!err)
		err = admission_mini_grow(m);
	if (err) {
		mini_free(&m);
		return err;
	}
	*out = m;
	return 0;
}

void mini_free(struct mini **m)
{
	if (!*m)
		return;
	eviction_free(&(*m)->eviction);
	free((*m)->objects);
	free((*m)->table);
	free(*m);
	*m = NULL;
}

bool mini_get(struct mini *m, uint64_t hash)
{
	uint32_t slot = m->table[admission_mini_place_of(m, hash)];

	if (slot == EVICTION_NONE)
		return false;
	eviction_hit(m->eviction, slot);
	return true;
}

/* Empties a place and moves up those behind it that would not be found. */
static void admission_mini_close_place(struct mini *m, uint32_t at)
{
	uint32_t mask = 2 * m->nslots - 1;

	for (uint32_t next = (at + 1) & mask;
	     m->table[next] != EVICTION_NONE; next = (next + 1) & mask) {
		uint32_t home = admission_mini_home_of(
			m, m->objects[m->table[next]].hash);

		if (((next - home) & mask) < ((next - at) & mask))
			continue;
		m->table[at] = m->table[next];
		at = next;
	}
	m->table[at] = EVICTION_NONE;
}

/* A slot that the policy does not know any more becomes free. */
static void admission_mini_empty_slot(struct mini *m, uint32_t slot)
{
	struct object *o = &m->objects[slot];

	admission_mini_close_place(m, admission_mini_place_of(m, o->hash));
	m->used -= o->size;
	m->n--;
	o->next_free = m->free_slot;
	m->free_slot = slot;
}

bool mini_put(struct mini *m, uint64_t hash, uint64_t size)
{
	uint32_t slot;

	if (size > m->capacity)
		return false;
	eviction_expect(m->eviction, (struct eviction_item){ hash, size });
	while (m->used + size > m->capacity) {
		admission_mini_empty_slot(m, eviction_evict(m->eviction));
		m->full = true;
	}
	if (m->free_slot == EVICTION_NONE && admission_mini_grow(m))
		return false;
	slot = m->free_slot;
	m->free_slot = m->objects[slot].next_free;
	m->objects[slot] = (struct object){ .hash = hash, .size = size };
	m->table[admission_mini_place_of(m, hash)] = slot;
	m->used += size;
	m->n++;
	eviction_insert(m->eviction, slot);
	return true;
}

void mini_drop(struct mini *m, uint64_t hash)
{
	uint32_t slot = m->table[admission_mini_place_of(m, hash)];

	assert(slot != EVICTION_NONE);
	eviction_remove(m->eviction, slot);
	admission_mini_empty_slot(m, slot);
}

uint32_t mini_objects(const struct mini *m)
{
	return m->n;
}

bool mini_full(const struct mini *m)
{
	return m->full;
}

size_t mini_memory(const struct mini *m)
{
	return sizeof(*m) +
	       m->nslots * (sizeof(struct object) + 2 * sizeof(uint32_t)) +
	       eviction_memory(m->eviction);
}
