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

static int reserve(struct eviction *e, uint32_t nslots)
{
	struct wtinylfu *w = (struct wtinylfu *)e;

	if (queued_reserve_marked(e, nslots))
		return SCD_ENOMEM;
	return sketch_reserve(&w->sketch, nslots > SKETCH_KEYS_MIN
						  ? nslots
						  : SKETCH_KEYS_MIN);
}

static void release(struct eviction *e)
{
	queued_release(e);
	sketch_free(&((struct wtinylfu *)e)->sketch);
}

static size_t memory(const struct eviction *e)
{
	return queued_memory(e) +
	       sketch_memory(&((const struct wtinylfu *)e)->sketch);
}

static void push(struct wtinylfu *w, unsigned queue, uint32_t slot)
{
	w->q.mark[slot] = (uint8_t)queue;
	w->held[queue] += eviction_ask(&w->q.base, slot).weight;
	queue_push(w->q.links, queue, slot);
}

static void drop(struct eviction *e, uint32_t slot)
{
	struct wtinylfu *w = (struct wtinylfu *)e;

	w->held[w->q.mark[slot]] -= eviction_ask(&w->q.base, slot).weight;
	queue_unlink(w->q.links, slot);
}

static void move(struct wtinylfu *w, unsigned queue, uint32_t slot)
{
	drop(&w->q.base, slot);
	push(w, queue, slot);
}

static uint64_t main_capacity(const struct wtinylfu *w)
{
	return w->q.base.config.capacity - w->q.base.config.capacity / 100;
}

static uint64_t protected_capacity(const struct wtinylfu *w)
{
	uint64_t capacity = main_capacity(w);

	return capacity / 5 * 4 + capacity % 5 * 4 / 5;
}

static void expect(struct eviction *e, struct eviction_item item)
{
	sketch_add(&((struct wtinylfu *)e)->sketch, item.hash);
}

static void insert(struct eviction *e, uint32_t slot)
{
	push((struct wtinylfu *)e, WINDOW, slot);
}

static void hit(struct eviction *e, uint32_t slot)
{
	struct wtinylfu *w = (struct wtinylfu *)e;
	unsigned queue = w->q.mark[slot];

	sketch_add(&w->sketch, eviction_ask(&w->q.base, slot).hash);
	if (queue != PROBATION) {
		queue_renew(w->q.links, queue, slot);
		return;
	}
	move(w, PROTECTED, slot);
	while (w->held[PROTECTED] > protected_capacity(w))
		move(w, PROBATION, queue_oldest(w->q.links, PROTECTED));
}

/* The oldest of a queue; EVICTION_NONE: it is empty. */
static uint32_t oldest(const struct wtinylfu *w, unsigned queue)
{
	return queue_empty(w->q.links, queue)
		       ? EVICTION_NONE
		       : queue_oldest(w->q.links, queue);
}

static unsigned estimate(const struct wtinylfu *w, uint32_t slot)
{
	return sketch_estimate(&w->sketch, eviction_ask(&w->q.base, slot).hash);
}

static uint32_t choose(const struct wtinylfu *w, uint32_t fresh)
{
	uint32_t candidate = oldest(w, PROBATION);

	if (candidate == EVICTION_NONE)
		candidate = oldest(w, PROTECTED);
	if (fresh == EVICTION_NONE)
		return candidate;
	if (candidate == EVICTION_NONE)
		return fresh;
	return estimate(w, fresh) > estimate(w, candidate) ? candidate : fresh;
}

static uint32_t evict(struct eviction *e)
{
	struct wtinylfu *w = (struct wtinylfu *)e;
	uint32_t fresh = oldest(w, WINDOW), slot;

	while (fresh != EVICTION_NONE &&
	       w->held[PROBATION] + w->held[PROTECTED] +
			       eviction_ask(&w->q.base, fresh).weight <=
		       main_capacity(w)) {
		move(w, PROBATION, fresh);
		fresh = oldest(w, WINDOW);
	}
	slot = choose(w, fresh);
	drop(e, slot);
	return slot;
}

static void prefetch(const struct eviction *e, uint32_t slot)
{
	const struct wtinylfu *w = (const struct wtinylfu *)e;

	__builtin_prefetch(&w->q.links[queue_node(slot)], 1);
	__builtin_prefetch(&w->q.mark[slot]);
}

const struct eviction_policy eviction_wtinylfu = {
	.name = "wtinylfu",
	.about = "the main part admits what is asked for more often of late",
	.size = sizeof(struct wtinylfu),
	.reserve = reserve,
	.release = release,
	.memory = memory,
	.expect = expect,
	.insert = insert,
	.hit = hit,
	.remove = drop,
	.evict = evict,
	.prefetch = prefetch,
};
