/*
 * Why responses were not stored. A place is two words: the hash, and the rest:
 * the time, a bit for the source, 8 for the reason, which is not 0.
 */
#include "digestd/proxy/unstored.h"

#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>

enum {
	UNSTORED_PLACES = 4096, /* a power of two; 64 KiB */
	UNSTORED_REASON_BITS = 8,
};

struct unstored {
	struct {
		_Atomic uint64_t hash, what; /* what 0: there is nothing */
	} places[UNSTORED_PLACES];
};

int unstored_new(struct unstored **out)
{
	*out = calloc(1, sizeof(**out));
	return *out ? 0 : -ENOMEM;
}

void unstored_free(struct unstored **u)
{
	free(*u);
	*u = NULL;
}

static size_t unstored_place(uint64_t hash)
{
	return hash & (UNSTORED_PLACES - 1);
}

void unstored_note(struct unstored *u, uint64_t hash,
		   const struct unstored_note *note)
{
	const size_t i = unstored_place(hash);
	uint64_t what = (uint64_t)note->time_s << (UNSTORED_REASON_BITS + 1) |
			(uint64_t)note->from_peer << UNSTORED_REASON_BITS |
			note->reason;

	if (!u)
		return;
	atomic_store_explicit(&u->places[i].hash, hash, memory_order_relaxed);
	atomic_store_explicit(&u->places[i].what, what, memory_order_relaxed);
}

bool unstored_find(const struct unstored *u, uint64_t hash,
		   struct unstored_note *out)
{
	const size_t i = unstored_place(hash);
	uint64_t what = atomic_load_explicit(&u->places[i].what,
					     memory_order_relaxed);

	if (!what || atomic_load_explicit(&u->places[i].hash,
					  memory_order_relaxed) != hash)
		return false;
	*out = (struct unstored_note){
		.reason = (enum not_stored)(
			what & ((1u << UNSTORED_REASON_BITS) - 1)),
		.from_peer = what >> UNSTORED_REASON_BITS & 1,
		.time_s = (int64_t)(what >> (UNSTORED_REASON_BITS + 1)),
	};
	return true;
}
