/*
 * W-TinyLFU: a small window of what is new, and a main part that an object
 * enters only if it was asked for more often of late than what it displaces.
 *
 * The window may hold a hundredth of the capacity, the main part the rest; that
 * is a protected queue of at most four fifths of it, and probation. An object
 * comes in as the newest of the window. A use makes it the newest of the window
 * or of the protected queue that it is in; in probation, the newest of the
 * protected queue, whose oldest go back, as the newest of probation, until it
 * holds no more than it may. To evict:
 * - while the window has any, and all of the main part and the oldest of the
 *   window weigh no more than the main part may, that becomes the newest of
 *   probation;
 * - else the main part's candidate is the oldest of probation, or if that is
 *   empty of the protected queue. The oldest of the window goes, unless it was
 *   asked for more often, by the sketch: then the candidate goes. Of one that
 *   is without the other, that one goes.
 * The sketch counts what is used and what is expected.
 *
 * Source: Einziger, Friedman, Manes: "TinyLFU: A Highly Efficient Cache
 * Admission Policy", ACM Transactions on Storage 13(4), 2017. Ties go to the
 * main part, as there; nothing is drawn by lot.
 *
 * 13 to 17 bytes a slot; every operation is a constant number of steps, but for
 * halving the sketch, which is one on average.
 */
#include "codec/error.h"
#include "digestd/store/eviction_queue.h"
#include "digestd/store/eviction_sketch.h"

enum { WINDOW, PROBATION, PROTECTED, NQUEUES }; /* heads of queues */

/* At least: so that a cache that fills up has one sketch, not ten. */
static const uint32_t SKETCH_KEYS_MIN = 256;

struct wtinylfu {
	struct queued q; /* marks: the queue */
	struct sketch sketch;
	uint64_t held[NQUEUES]; /* weight */
};

static int eviction_wtinylfu_reserve(struct eviction *e, uint32_t nslots)
{
	struct wtinylfu *w = (struct wtinylfu *)e;

	if (queued_reserve_marked(e, nslots))
		return SCD_ENOMEM;
	return sketch_reserve(&w->sketch, nslots > SKETCH_KEYS_MIN
						  ? nslots
						  : SKETCH_KEYS_MIN);
}

static void eviction_wtinylfu_release(struct eviction *e)
{
	queued_release(e);
	sketch_free(&((struct wtinylfu *)e)->sketch);
}

static size_t eviction_wtinylfu_memory(const struct eviction *e)
{
	return queued_memory(e) +
	       sketch_memory(&((const struct wtinylfu *)e)->sketch);
}

static void eviction_wtinylfu_push(struct wtinylfu *w, unsigned queue,
				   uint32_t slot)
{
	w->q.mark[slot] = (uint8_t)queue;
	w->held[queue] += eviction_ask(&w->q.base, slot).weight;
	queue_push(w->q.links, queue, slot);
}

static void eviction_wtinylfu_drop(struct eviction *e, uint32_t slot)
{
	struct wtinylfu *w = (struct wtinylfu *)e;

	w->held[w->q.mark[slot]] -= eviction_ask(&w->q.base, slot).weight;
	queue_unlink(w->q.links, slot);
}

static void eviction_wtinylfu_move(struct wtinylfu *w, unsigned queue,
				   uint32_t slot)
{
	eviction_wtinylfu_drop(&w->q.base, slot);
	eviction_wtinylfu_push(w, queue, slot);
}

static uint64_t eviction_wtinylfu_main_capacity(const struct wtinylfu *w)
{
	return w->q.base.config.capacity - w->q.base.config.capacity / 100;
}

static uint64_t eviction_wtinylfu_protected_capacity(const struct wtinylfu *w)
{
	uint64_t capacity = eviction_wtinylfu_main_capacity(w);

	return capacity / 5 * 4 + capacity % 5 * 4 / 5;
}

static void eviction_wtinylfu_expect(struct eviction *e,
				     struct eviction_item item)
{
	sketch_add(&((struct wtinylfu *)e)->sketch, item.hash);
}

static void eviction_wtinylfu_insert(struct eviction *e, uint32_t slot)
{
	eviction_wtinylfu_push((struct wtinylfu *)e, WINDOW, slot);
}

static void eviction_wtinylfu_hit(struct eviction *e, uint32_t slot)
{
	struct wtinylfu *w = (struct wtinylfu *)e;
	unsigned queue = w->q.mark[slot];

	sketch_add(&w->sketch, eviction_ask(&w->q.base, slot).hash);
	if (queue != PROBATION) {
		queue_renew(w->q.links, queue, slot);
		return;
	}
	eviction_wtinylfu_move(w, PROTECTED, slot);
	while (w->held[PROTECTED] > eviction_wtinylfu_protected_capacity(w))
		eviction_wtinylfu_move(w, PROBATION,
				       queue_oldest(w->q.links, PROTECTED));
}

/* The oldest of a queue; EVICTION_NONE: it is empty. */
static uint32_t eviction_wtinylfu_oldest(const struct wtinylfu *w,
					 unsigned queue)
{
	return queue_empty(w->q.links, queue)
		       ? EVICTION_NONE
		       : queue_oldest(w->q.links, queue);
}

static unsigned eviction_wtinylfu_estimate(const struct wtinylfu *w,
					   uint32_t slot)
{
	return sketch_estimate(&w->sketch, eviction_ask(&w->q.base, slot).hash);
}

static uint32_t eviction_wtinylfu_choose(const struct wtinylfu *w,
					 uint32_t fresh)
{
	uint32_t candidate = eviction_wtinylfu_oldest(w, PROBATION);

	if (candidate == EVICTION_NONE)
		candidate = eviction_wtinylfu_oldest(w, PROTECTED);
	if (fresh == EVICTION_NONE)
		return candidate;
	if (candidate == EVICTION_NONE)
		return fresh;
	return eviction_wtinylfu_estimate(w, fresh) >
			       eviction_wtinylfu_estimate(w, candidate)
		       ? candidate
		       : fresh;
}

static uint32_t eviction_wtinylfu_evict(struct eviction *e)
{
	struct wtinylfu *w = (struct wtinylfu *)e;
	uint32_t fresh = eviction_wtinylfu_oldest(w, WINDOW), slot;

	while (fresh != EVICTION_NONE &&
	       w->held[PROBATION] + w->held[PROTECTED] +
			       eviction_ask(&w->q.base, fresh).weight <=
		       eviction_wtinylfu_main_capacity(w)) {
		eviction_wtinylfu_move(w, PROBATION, fresh);
		fresh = eviction_wtinylfu_oldest(w, WINDOW);
	}
	slot = eviction_wtinylfu_choose(w, fresh);
	eviction_wtinylfu_drop(e, slot);
	return slot;
}

static void eviction_wtinylfu_prefetch(const struct eviction *e, uint32_t slot)
{
	const struct wtinylfu *w = (const struct wtinylfu *)e;

	__builtin_prefetch(&w->q.links[queue_node(slot)], 1);
	__builtin_prefetch(&w->q.mark[slot]);
}

const struct eviction_policy eviction_wtinylfu = {
	.name = "wtinylfu",
	.about = "the main part admits what is asked for more often of late",
	.size = sizeof(struct wtinylfu),
	.reserve = eviction_wtinylfu_reserve,
	.release = eviction_wtinylfu_release,
	.memory = eviction_wtinylfu_memory,
	.expect = eviction_wtinylfu_expect,
	.insert = eviction_wtinylfu_insert,
	.hit = eviction_wtinylfu_hit,
	.remove = eviction_wtinylfu_drop,
	.evict = eviction_wtinylfu_evict,
	.prefetch = eviction_wtinylfu_prefetch,
};
