/*
 * S3-FIFO: a small queue in front of the main one, and a memory of what the
 * small one threw out.
 *
 * The small queue may hold a tenth of the capacity, the main one the rest, and
 * the ghosts weigh at most nine tenths of the capacity. An object comes in as
 * the newest of the small queue; of the main queue if it is a ghost when it is
 * expected, which it is not any more then. A use counts up to 3. To evict:
 * from the main queue if it holds more than it may or if the small one is
 * empty, else from the small one.
 * - From the small queue: the oldest, as long as it was used twice, becomes the
 *   newest of the main queue with no uses; then the oldest goes and becomes the
 *   newest ghost. Once the small queue is empty, the main one is next.
 * - From the main queue: the oldest, as long as it was used, becomes the newest
 *   with one use less; then the oldest goes, and is not remembered.
 * There are no ties.
 *
 * Source: Yang, Zhang, Qiu, Yue, Rashmi: "FIFO Queues are All You Need for
 * Cache Eviction", SOSP 2023; the numbers as in its authors' simulator.
 *
 * 9 bytes a slot, and 20 to 33 bytes a ghost. A use is one store.
 */
#include "digestd/store/eviction_ghost.h"
#include "digestd/store/eviction_queue.h"

enum { SMALL, MAIN, NQUEUES }; /* heads of queues */
enum { MAX_USES = 3, MOVE_USES = 2 };

struct s3fifo {
	struct queued q; /* marks: uses, and the queue << 4 */
	struct ghosts ghosts;
	uint64_t held[NQUEUES]; /* weight */
	bool came_back;		/* the expected object was a ghost */
};

static void eviction_s3fifo_release(struct eviction *e)
{
	queued_release(e);
	ghosts_free(&((struct s3fifo *)e)->ghosts);
}

static size_t eviction_s3fifo_memory(const struct eviction *e)
{
	return queued_memory(e) +
	       ghosts_memory(&((const struct s3fifo *)e)->ghosts);
}

static uint64_t eviction_s3fifo_weight_of(const struct s3fifo *s, uint32_t slot)
{
	return eviction_ask(&s->q.base, slot).weight;
}

static unsigned eviction_s3fifo_queue_of(const struct s3fifo *s, uint32_t slot)
{
	return s->q.mark[slot] >> 4;
}

static unsigned eviction_s3fifo_uses_of(const struct s3fifo *s, uint32_t slot)
{
	return s->q.mark[slot] & 15;
}

static void eviction_s3fifo_push(struct s3fifo *s, unsigned queue,
				 uint32_t slot)
{
	s->q.mark[slot] = (uint8_t)(queue << 4);
	s->held[queue] += eviction_s3fifo_weight_of(s, slot);
	queue_push(s->q.links, queue, slot);
}

static void eviction_s3fifo_drop(struct eviction *e, uint32_t slot)
{
	struct s3fifo *s = (struct s3fifo *)e;

	s->held[eviction_s3fifo_queue_of(s, slot)] -=
		eviction_s3fifo_weight_of(s, slot);
	queue_unlink(s->q.links, slot);
}

static void eviction_s3fifo_expect(struct eviction *e,
				   struct eviction_item item)
{
	struct s3fifo *s = (struct s3fifo *)e;

	s->came_back = ghosts_take(&s->ghosts, item.hash);
}

static void eviction_s3fifo_insert(struct eviction *e, uint32_t slot)
{
	struct s3fifo *s = (struct s3fifo *)e;

	eviction_s3fifo_push(s, s->came_back ? MAIN : SMALL, slot);
	s->came_back = false;
}

static void eviction_s3fifo_hit(struct eviction *e, uint32_t slot)
{
	struct s3fifo *s = (struct s3fifo *)e;

	if (eviction_s3fifo_uses_of(s, slot) < MAX_USES)
		s->q.mark[slot]++;
}

/* Moves what was used twice on; EVICTION_NONE: that was all. */
static uint32_t eviction_s3fifo_evict_small(struct s3fifo *s)
{
	uint64_t capacity = s->q.base.config.capacity;
	uint64_t limit = capacity / 10 * 9 + capacity % 10 * 9 / 10;

	while (!queue_empty(s->q.links, SMALL)) {
		uint32_t slot = queue_oldest(s->q.links, SMALL);
		struct eviction_item item = eviction_ask(&s->q.base, slot);

		eviction_s3fifo_drop(&s->q.base, slot);
		if (eviction_s3fifo_uses_of(s, slot) < MOVE_USES) {
			ghosts_push(&s->ghosts, item, limit);
			return slot;
		}
		eviction_s3fifo_push(s, MAIN, slot);
	}
	return EVICTION_NONE;
}

static uint32_t eviction_s3fifo_evict_main(struct s3fifo *s)
{
	uint32_t slot = queue_oldest(s->q.links, MAIN);

	while (eviction_s3fifo_uses_of(s, slot)) {
		s->q.mark[slot]--;
		queue_renew(s->q.links, MAIN, slot);
		slot = queue_oldest(s->q.links, MAIN);
	}
	eviction_s3fifo_drop(&s->q.base, slot);
	return slot;
}

static uint32_t eviction_s3fifo_evict(struct eviction *e)
{
	struct s3fifo *s = (struct s3fifo *)e;
	uint64_t capacity = e->config.capacity;
	uint32_t slot = EVICTION_NONE;

	if (s->held[MAIN] <= capacity - capacity / 10)
		slot = eviction_s3fifo_evict_small(s);
	return slot != EVICTION_NONE ? slot : eviction_s3fifo_evict_main(s);
}

/* Most of what goes leaves the small queue. */
static uint32_t eviction_s3fifo_foresee(const struct eviction *e,
					uint32_t after)
{
	const struct s3fifo *s = (const struct s3fifo *)e;
	const struct queue_link *links = s->q.links;
	uint32_t slot = queue_foresee(links, after, links[SMALL].newer);

	if (slot != EVICTION_NONE)
		__builtin_prefetch(&s->q.mark[slot]);
	return slot;
}

/* The main queue, whose objects were used, and then the small one. */
static uint32_t eviction_s3fifo_recall(const struct eviction *e,
				       uint32_t before)
{
	const struct s3fifo *s = (const struct s3fifo *)e;
	unsigned queue = before == EVICTION_NONE ?
				 MAIN : eviction_s3fifo_queue_of(s, before);
	uint32_t slot = queue_recall(s->q.links, queue, before);

	if (slot == EVICTION_NONE && queue == MAIN)
		slot = queue_recall(s->q.links, SMALL, EVICTION_NONE);
	return slot;
}

static bool eviction_s3fifo_was_used(const struct eviction *e, uint32_t slot)
{
	return eviction_s3fifo_uses_of((const struct s3fifo *)e, slot);
}

const struct eviction_policy eviction_s3fifo = {
	.name = "s3fifo",
	.about = "a small queue before the main one, and its ghosts",
	.size = sizeof(struct s3fifo),
	.reserve = queued_reserve_marked,
	.release = eviction_s3fifo_release,
	.memory = eviction_s3fifo_memory,
	.expect = eviction_s3fifo_expect,
	.insert = eviction_s3fifo_insert,
	.hit = eviction_s3fifo_hit,
	.remove = eviction_s3fifo_drop,
	.evict = eviction_s3fifo_evict,
	.foresee = eviction_s3fifo_foresee,
	.recall = eviction_s3fifo_recall,
	.was_used = eviction_s3fifo_was_used,
	.prefetch = queued_prefetch_marked,
};
