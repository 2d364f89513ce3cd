/*
 * See dense.h. The table is at most half full after it has grown and at most
 * 3/4 full before.
 */
#include "cachesim/sim/dense.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "cachesim/trace/request.h"

enum {
	FIRST_SLOTS = 4096,
	HUGE_BYTES = 2 << 20, /* a large page */
};

static struct dense_slot *dense_new_slots(uint64_t n)
{
	size_t bytes = n * sizeof(struct dense_slot);
	void *slots = NULL;

	if (bytes < HUGE_BYTES)
		return calloc(n, sizeof(struct dense_slot));
	if (posix_memalign(&slots, HUGE_BYTES, bytes))
		return NULL;
	/* one page walk less a look-up; refused, it only takes longer */
	madvise(slots, bytes, MADV_HUGEPAGE);
	memset(slots, 0, bytes);
	return slots;
}

/* The slot of a hash, or the empty one where it belongs. */
static inline struct dense_slot *sim_dense_find(const struct dense *d,
						uint64_t hash)
{
	uint64_t at = hash & d->mask;

	while (d->slot[at].after && d->slot[at].hash != hash)
		at = (at + 1) & d->mask;
	return &d->slot[at];
}

/* Slots that lie side by side go to two places side by side: no misses. */
static int dense_grow_slots(struct dense *d, uint64_t n)
{
	struct dense bigger = {.slot = dense_new_slots(n), .mask = n - 1};

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

static int dense_grow_hashes(struct dense *d)
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
static int dense_reserve(struct dense *d, size_t n)
{
	uint64_t want = d->n + (uint64_t)n;
	int err = 0;

	if (want > d->room && d->room < UINT32_MAX)
		err = dense_grow_hashes(d);
	if (!err && 4 * want > 3 * (d->mask + 1))
		err = dense_grow_slots(d, 2 * (d->mask + 1));
	return err;
}

int dense_init(struct dense *d)
{
	*d = (struct dense){
		.room = FIRST_SLOTS / 2,
		.most = UINT32_MAX,
		.mask = FIRST_SLOTS - 1,
	};
	d->hash = malloc(d->room * sizeof(*d->hash));
	d->slot = dense_new_slots(FIRST_SLOTS);
	if (d->hash && d->slot)
		return 0;
	dense_free(d);
	return TRACE_ENOMEM;
}

int dense_slots(struct dense *d, const uint64_t *hash, size_t n,
		struct dense_slot **out)
{
	int err = dense_reserve(d, n);

	if (err)
		return err;
	for (size_t i = 0; i < n; i++) {
		struct dense_slot *s = sim_dense_find(d, hash[i]);

		out[i] = s;
		if (s->after)
			continue;
		if (d->n == d->most)
			return TRACE_EOBJECTS;
		d->hash[d->n] = hash[i];
		*s = (struct dense_slot){ hash[i], ++d->n, 0 };
	}
	return 0;
}

int dense_numbers(struct dense *d, const uint64_t *hash, size_t n,
		  uint32_t *out)
{
	struct dense_slot *slot[DENSE_MANY];
	int err;

	for (size_t i = 0; i < n; i++)
		dense_expect(d, hash[i]);
	err = dense_slots(d, hash, n, slot);
	for (size_t i = 0; i < n && !err; i++)
		out[i] = slot[i]->after - 1;
	return err;
}

struct dense_slot *dense_find(const struct dense *d, uint64_t hash)
{
	return sim_dense_find(d, hash);
}

void dense_free(struct dense *d)
{
	free(d->hash);
	free(d->slot);
	*d = (struct dense){ .hash = NULL };
}
