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
#include <stdlib.h>

#include "codec/error.h"
#include "digestd/core/eviction_ghost.h"
#include "digestd/core/eviction_policy.h"

enum { SMALL, MAIN, NQUEUES }; /* heads of queues */
enum { MAX_USES = 3, MOVE_USES = 2 };

struct s3fifo {
	struct eviction base;
	struct queue_link *links;
	uint8_t *state; /* by slot: uses, and the queue << 4 */
	struct ghosts ghosts;
	uint64_t held[NQUEUES]; /* weight */
	bool came_back;		/* the expected object was a ghost */
};

static int reserve(struct eviction *e, uint32_t nslots)
{
	struct s3fifo *s = (struct s3fifo *)e;
	void *state = s->state;

	if (eviction_grow(&state, (size_t)nslots + 1, 1))
		return SCD_ENOMEM;
	s->state = state;
	return queue_reserve(&s->links, nslots);
}

static void release(struct eviction *e)
{
	struct s3fifo *s = (struct s3fifo *)e;

	free(s->links);
	free(s->state);
	ghosts_free(&s->ghosts);
}

static size_t memory(const struct eviction *e)
{
	const struct s3fifo *s = (const struct s3fifo *)e;
	size_t n = e->config.nslots;

	return (n + QUEUE_HEADS) * sizeof(struct queue_link) + n + 1 +
	       ghosts_memory(&s->ghosts);
}

static uint64_t weight_of(const struct s3fifo *s, uint32_t slot)
{
	return s->base.config.item(s->base.config.arg, slot).weight;
}

static unsigned queue_of(const struct s3fifo *s, uint32_t slot)
{
	return s->state[slot] >> 4;
}

static unsigned uses_of(const struct s3fifo *s, uint32_t slot)
{
	return s->state[slot] & 15;
}

static void push(struct s3fifo *s, unsigned queue, uint32_t slot)
{
	s->state[slot] = (uint8_t)(queue << 4);
	s->held[queue] += weight_of(s, slot);
	queue_push(s->links, queue, slot);
}

static void drop(struct eviction *e, uint32_t slot)
{
	struct s3fifo *s = (struct s3fifo *)e;

	s->held[queue_of(s, slot)] -= weight_of(s, slot);
	queue_unlink(s->links, slot);
}

static void expect(struct eviction *e, struct eviction_item item)
{
	struct s3fifo *s = (struct s3fifo *)e;

	s->came_back = ghosts_take(&s->ghosts, item.hash);
}

static void insert(struct eviction *e, uint32_t slot)
{
	struct s3fifo *s = (struct s3fifo *)e;

	push(s, s->came_back ? MAIN : SMALL, slot);
	s->came_back = false;
}

static void hit(struct eviction *e, uint32_t slot)
{
	struct s3fifo *s = (struct s3fifo *)e;

	if (uses_of(s, slot) < MAX_USES)
		s->state[slot]++;
}

/* Moves what was used twice on; EVICTION_NONE: that was all. */
static uint32_t evict_small(struct s3fifo *s)
{
	uint64_t capacity = s->base.config.capacity;
	uint64_t limit = capacity / 10 * 9 + capacity % 10 * 9 / 10;

	while (!queue_empty(s->links, SMALL)) {
		uint32_t slot = queue_oldest(s->links, SMALL);
		struct eviction_item item =
			s->base.config.item(s->base.config.arg, slot);

		drop(&s->base, slot);
		if (uses_of(s, slot) < MOVE_USES) {
			ghosts_push(&s->ghosts, item, limit);
			return slot;
		}
		push(s, MAIN, slot);
	}
	return EVICTION_NONE;
}

static uint32_t evict_main(struct s3fifo *s)
{
	uint32_t slot = queue_oldest(s->links, MAIN);

	while (uses_of(s, slot)) {
		s->state[slot]--;
		queue_renew(s->links, MAIN, slot);
		slot = queue_oldest(s->links, MAIN);
	}
	drop(&s->base, slot);
	return slot;
}

static uint32_t evict(struct eviction *e)
{
	struct s3fifo *s = (struct s3fifo *)e;
	uint64_t capacity = e->config.capacity;
	uint32_t slot = EVICTION_NONE;

	if (s->held[MAIN] <= capacity - capacity / 10)
		slot = evict_small(s);
	return slot != EVICTION_NONE ? slot : evict_main(s);
}

static void prefetch(const struct eviction *e, uint32_t slot)
{
	__builtin_prefetch(&((const struct s3fifo *)e)->state[slot], 1);
}

/* Most of what goes leaves the small queue. */
static uint32_t foresee(const struct eviction *e)
{
	const struct s3fifo *s = (const struct s3fifo *)e;
	uint32_t slot = queue_foresee(s->links, s->links[SMALL].newer);

	if (slot != EVICTION_NONE)
		__builtin_prefetch(&s->state[slot]);
	return slot;
}

const struct eviction_policy eviction_s3fifo = {
	.name = "s3fifo",
	.about = "a small queue before the main one, and its ghosts",
	.size = sizeof(struct s3fifo),
	.reserve = reserve,
	.release = release,
	.memory = memory,
	.expect = expect,
	.insert = insert,
	.hit = hit,
	.remove = drop,
	.evict = evict,
	.foresee = foresee,
	.prefetch = prefetch,
};
