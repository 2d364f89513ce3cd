/*
 * Replies that are ready: a table in which a hit has one place.
 */
#include "digestd/proxy/ready.h"

#include <assert.h>

#include "digestd/cache/cache.h"
#include "digestd/server/server.h"

enum { SWEEP_MS = 1000 };

/* A reply holds its response, so that no other one has its address. A note does
 * not: it is for the key, or else it would depend on addresses what is made. */
static bool ready_is_for(const struct ready_slot *slot,
			 const struct ready_hit *hit)
{
	const struct scd_key *key = &hit->cached->entry.key;

	if (slot->hit.at_s != hit->at_s || slot->hit.place != hit->place)
		return false;
	if (slot->reply)
		return slot->hit.cached == hit->cached;
	return slot->key.lo == key->lo && slot->key.hi == key->hi;
}

static void ready_forget(struct ready_slot *slot)
{
	shared_reply_unref(slot->reply);
	*slot = (struct ready_slot){ 0 };
}

struct ready_slot *ready_find(struct ready *ready, const struct ready_hit *hit,
			      bool *wanted)
{
	uint64_t i = hit->cached->entry.key.lo & (READY_SLOTS - 1);
	struct ready_slot *slot = &ready->slots[i];

	if (!ready_is_for(slot, hit)) {
		ready_forget(slot);
		slot->key = hit->cached->entry.key;
	}
	slot->hit = *hit;
	*wanted = !slot->reply && ++slot->asked >= READY_ASKED;
	return slot;
}

/* Returns whether there are still replies. */
static bool ready_drop(struct ready *ready, const int64_t *but_of_s)
{
	bool left = false;

	for (size_t i = 0; i < READY_SLOTS; i++) {
		struct ready_slot *slot = &ready->slots[i];

		if (!slot->reply)
			continue;
		if (but_of_s && slot->hit.at_s == *but_of_s)
			left = true;
		else
			ready_forget(slot);
	}
	return left;
}

static void proxy_ready_sweep(void *arg)
{
	struct ready *ready = arg;

	ready_sweep(ready, loop_steady_s(ready->loop));
}

static void ready_sweep_later(struct ready *ready)
{
	loop_timer_set(ready->loop, &ready->timer,
		       loop_now_ms(ready->loop) + SWEEP_MS, proxy_ready_sweep,
		       ready);
}

void ready_sweep(struct ready *ready, int64_t now_s)
{
	if (ready_drop(ready, &now_s))
		ready_sweep_later(ready);
}

void ready_keep(struct ready *ready, struct ready_slot *slot,
		struct shared_reply *reply)
{
	assert(reply && !slot->reply && slot->hit.cached);
	slot->reply = reply;
	if (!ready->timer.link)
		ready_sweep_later(ready);
}

void ready_clear(struct ready *ready)
{
	ready_drop(ready, NULL);
	loop_timer_clear(ready->loop, &ready->timer);
}
