/*
 * FIFO: who came first goes first.
 *
 * A queue from old to new. An object comes in as the newest, a use changes
 * nothing, the oldest goes. There are no ties.
 *
 * 8 bytes a slot; every operation is a constant number of steps.
 */
#include <stdlib.h>

#include "digestd/core/eviction_policy.h"

struct fifo {
	struct eviction base;
	struct queue_link *links;
};

static int reserve(struct eviction *e, uint32_t nslots)
{
	return queue_reserve(&((struct fifo *)e)->links, nslots);
}

static void release(struct eviction *e)
{
	free(((struct fifo *)e)->links);
}

static size_t memory(const struct eviction *e)
{
	return ((size_t)e->config.nslots + QUEUE_HEADS) *
	       sizeof(struct queue_link);
}

static void insert(struct eviction *e, uint32_t slot)
{
	queue_push(((struct fifo *)e)->links, 0, slot);
}

static void hit(struct eviction *e, uint32_t slot)
{
	(void)e;
	(void)slot;
}

static void drop(struct eviction *e, uint32_t slot)
{
	queue_unlink(((struct fifo *)e)->links, slot);
}

static uint32_t evict(struct eviction *e)
{
	struct queue_link *links = ((struct fifo *)e)->links;
	uint32_t slot = queue_oldest(links, 0);

	queue_unlink(links, slot);
	return slot;
}

static uint32_t foresee(const struct eviction *e)
{
	const struct queue_link *links = ((const struct fifo *)e)->links;

	return queue_foresee(links, links[0].newer);
}

const struct eviction_policy eviction_fifo = {
	.name = "fifo",
	.about = "first in, first out",
	.size = sizeof(struct fifo),
	.reserve = reserve,
	.release = release,
	.memory = memory,
	.insert = insert,
	.hit = hit,
	.remove = drop,
	.evict = evict,
	.foresee = foresee,
};
