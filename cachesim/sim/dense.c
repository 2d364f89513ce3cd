/*
 * See dense.h. The table is at most half full after it has grown and at most
 * 3/4 full before.
 */
#include "cachesim/sim/dense.h"

#include <stdlib.h>
#include <sys/mman.h>

#include "cachesim/trace/request.h"

enum {
	FIRST_SLOTS = 4096,
	HUGE_BYTES = 2 << 20, /* a large page */
	AHEAD = 16,           /* when the table is filled anew */
};

static uint64_t *new_slots(uint64_t n)
{
	size_t bytes = n * sizeof(uint64_t);
	void *slots = NULL;

	if (bytes < HUGE_BYTES)
		return calloc(n, sizeof(uint64_t));
	if (posix_memalign(&slots, HUGE_BYTES, bytes))
		return NULL;
	/* one page walk less a look-up; refused, it only takes longer */
	madvise(slots, bytes, MADV_HUGEPAGE);
	for (uint64_t i = 0; i < n; i++)
		((uint64_t *)slots)[i] = 0;
	return slots;
}

static uint64_t slot_of(uint64_t hash, uint32_t number)
{
	return (hash & 0xffffffff00000000u) | ((uint64_t)number + 1);
}

static uint32_t number_of(uint64_t slot)
{
	return (uint32_t)slot - 1;
}

static void put(uint64_t *slots, uint64_t mask, uint64_t hash, uint32_t number)
{
	uint64_t at = hash & mask;

	while (slots[at])
		at = (at + 1) & mask;
	slots[at] = slot_of(hash, number);
}

static int grow_slots(struct dense *d, uint64_t n)
{
	uint64_t *slots = new_slots(n);

	if (!slots)
		return TRACE_ENOMEM;
	for (uint32_t i = 0; i < d->n; i++) {
		if (d->n - i > AHEAD)
			__builtin_prefetch(&slots[d->hash[i + AHEAD] & (n - 1)],
					   1);
		put(slots, n - 1, d->hash[i], i);
	}
	free(d->slot);
	d->slot = slots;
	d->mask = n - 1;
	return 0;
}

static int grow_hashes(struct dense *d)
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
static int reserve(struct dense *d, size_t n)
{
	uint64_t want = d->n + (uint64_t)n;
	int err = 0;

	if (want > d->room && d->room < UINT32_MAX)
		err = grow_hashes(d);
	if (!err && 4 * want > 3 * (d->mask + 1))
		err = grow_slots(d, 2 * (d->mask + 1));
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
	d->slot = new_slots(FIRST_SLOTS);
	if (d->hash && d->slot)
		return 0;
	dense_free(d);
	return TRACE_ENOMEM;
}

/* The slot of a hash, or the empty one where it belongs. */
static uint64_t find(const struct dense *d, uint64_t hash)
{
	uint64_t at = hash & d->mask;

	for (; d->slot[at]; at = (at + 1) & d->mask)
		if ((d->slot[at] ^ hash) >> 32 == 0 &&
		    d->hash[number_of(d->slot[at])] == hash)
			break;
	return at;
}

/* Brings near what find() will read: the slots, then what they point to. */
static void fetch(const struct dense *d, const uint64_t *hash, size_t n)
{
	for (size_t i = 0; i < n; i++)
		__builtin_prefetch(&d->slot[hash[i] & d->mask], 1);
	for (size_t i = 0; i < n; i++) {
		uint64_t slot = d->slot[hash[i] & d->mask];

		if (slot)
			__builtin_prefetch(&d->hash[number_of(slot)]);
	}
}

int dense_numbers(struct dense *d, const uint64_t *hash, size_t n,
		  uint32_t *out)
{
	int err = reserve(d, n);

	if (err)
		return err;
	fetch(d, hash, n);
	for (size_t i = 0; i < n; i++) {
		uint64_t at = find(d, hash[i]);

		if (d->slot[at]) {
			out[i] = number_of(d->slot[at]);
			continue;
		}
		if (d->n == d->most)
			return TRACE_EOBJECTS;
		out[i] = d->n;
		d->hash[d->n] = hash[i];
		d->slot[at] = slot_of(hash[i], d->n++);
	}
	return 0;
}

void dense_free(struct dense *d)
{
	free(d->hash);
	free(d->slot);
	*d = (struct dense){ .hash = NULL };
}
