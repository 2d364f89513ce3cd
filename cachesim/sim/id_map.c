/*
 * See id_map.h. The table is at most half full after it has grown and at most
 * 3/4 full before.
 */
#include "cachesim/sim/id_map.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "cachesim/trace/trace_request.h"

enum {
	FIRST_SLOTS = 4096,
	HUGE_BYTES = 2 << 20, /* a large page */
};

static struct id_map_slot *id_map_new_slots(uint64_t n)
{
	size_t bytes = n * sizeof(struct id_map_slot);
	void *slots = NULL;

	if (bytes < HUGE_BYTES)
		return calloc(n, sizeof(struct id_map_slot));
	if (posix_memalign(&slots, HUGE_BYTES, bytes))
		return NULL;
	/* one page walk less a look-up; refused, it only takes longer */
	madvise(slots, bytes, MADV_HUGEPAGE);
	memset(slots, 0, bytes);
	return slots;
}

/* The slot of a hash, or the empty one where it belongs. */
static inline struct id_map_slot *sim_dense_find(const struct id_map *d,
						 uint64_t hash)
{
	uint64_t at = hash & d->mask;

	while (d->slot[at].after && d->slot[at].hash != hash)
		at = (at + 1) & d->mask;
	return &d->slot[at];
}

/* Slots that lie side by side go to two places side by side: no misses. */
static int id_map_grow_slots(struct id_map *d, uint64_t n)
{
	struct id_map bigger = {.slot = id_map_new_slots(n), .mask = n - 1};

	if (!bigger.slot)
		return TRACE_ENOMEM;
	for (uint64_t i = 0; i <= d->mask; i++)
		if (d->slot[i].after)
			*sim_dense_find(&bigger, d->slot[i].hash) = d->slot[i];
	free(d->slot);
	d->slot = bigger.slot;
	d->mask = bigger.mask;
	return 0;
}

static int id_map_grow_hashes(struct id_map *d)
{
	uint64_t room =
		d->room < UINT32_MAX / 2 ? 2 * (uint64_t)d->room : UINT32_MAX;
	uint64_t *hash = realloc(d->hash, room * sizeof(*hash));

	if (!hash)
		return TRACE_ENOMEM;
	d->hash = hash;
	d->room = (uint32_t)room;
	return 0;
}

/* Makes room for n more. */
static int id_map_reserve(struct id_map *d, size_t n)
{
	uint64_t want = d->n + (uint64_t)n;
	int err = 0;

	if (want > d->room && d->room < UINT32_MAX)
		err = id_map_grow_hashes(d);
	if (!err && 4 * want > 3 * (d->mask + 1))
		err = id_map_grow_slots(d, 2 * (d->mask + 1));
	return err;
}

int id_map_init(struct id_map *d)
{
	*d = (struct id_map){
		.room = FIRST_SLOTS / 2,
		.most = UINT32_MAX,
		.mask = FIRST_SLOTS - 1,
	};
	d->hash = malloc(d->room * sizeof(*d->hash));
	d->slot = id_map_new_slots(FIRST_SLOTS);
	if (d->hash && d->slot)
		return 0;
	id_map_free(d);
	return TRACE_ENOMEM;
}

int id_map_slots(struct id_map *d, const uint64_t *hash, size_t n,
		 struct id_map_slot **out)
{
	int err = id_map_reserve(d, n);

	if (err)
		return err;
	for (size_t i = 0; i < n; i++) {
		struct id_map_slot *s = sim_dense_find(d, hash[i]);

		out[i] = s;
		if (s->after)
			continue;
		if (d->n == d->most)
			return TRACE_EOBJECTS;
		d->hash[d->n] = hash[i];
		*s = (struct id_map_slot){ hash[i], ++d->n, 0 };
	}
	return 0;
}

int id_map_numbers(struct id_map *d, const uint64_t *hash, size_t n,
		   uint32_t *out)
{
	struct id_map_slot *slot[ID_MAP_MANY];
	int err;

	for (size_t i = 0; i < n; i++)
		id_map_expect(d, hash[i]);
	err = id_map_slots(d, hash, n, slot);
	for (size_t i = 0; i < n && !err; i++)
		out[i] = slot[i]->after - 1;
	return err;
}

struct id_map_slot *id_map_find(const struct id_map *d, uint64_t hash)
{
	return sim_dense_find(d, hash);
}

void id_map_free(struct id_map *d)
{
	free(d->hash);
	free(d->slot);
	*d = (struct id_map){ .hash = NULL };
}
