/*
 * CLOCK: FIFO with a second chance.
 *
 * A queue from old to new. An object comes in as the newest, unmarked. A use
 * marks it. To evict, the oldest loses its mark and becomes the newest, as long
 * as it has one; then the oldest goes. There are no ties.
 *
 * Source: Corbato, "A Paging Experiment with the Multics System", 1969; one
 * bit, as a queue: also called FIFO with reinsertion.
 *
 * 9 bytes a slot; a use is one store.
 */
#include <stdlib.h>

#include "codec/error.h"
#include "digestd/core/eviction_policy.h"

struct clock {
	struct eviction base;
	struct queue_link *links;
	uint8_t *marked;
};

static int reserve(struct eviction *e, uint32_t nslots)
{
	struct clock *c = (struct clock *)e;
	void *marked = c->marked;

	if (eviction_grow(&marked, (size_t)nslots + 1, 1))
		return SCD_ENOMEM;
	c->marked = marked;
	return queue_reserve(&c->links, nslots);
}

static void release(struct eviction *e)
{
	struct clock *c = (struct clock *)e;

	free(c->links);
	free(c->marked);
}

static size_t memory(const struct eviction *e)
{
	size_t n = e->config.nslots;

	return (n + QUEUE_HEADS) * sizeof(struct queue_link) + n + 1;
}

static void insert(struct eviction *e, uint32_t slot)
{
	struct clock *c = (struct clock *)e;

	c->marked[slot] = 0;
	queue_push(c->links, 0, slot);
}

static void hit(struct eviction *e, uint32_t slot)
{
	((struct clock *)e)->marked[slot] = 1;
}

static void drop(struct eviction *e, uint32_t slot)
{
	queue_unlink(((struct clock *)e)->links, slot);
}

static uint32_t evict(struct eviction *e)
{
	struct clock *c = (struct clock *)e;
	uint32_t slot = queue_oldest(c->links, 0);

	while (c->marked[slot]) {
		c->marked[slot] = 0;
		queue_renew(c->links, 0, slot);
		slot = queue_oldest(c->links, 0);
	}
	queue_unlink(c->links, slot);
	return slot;
}

static void prefetch(const struct eviction *e, uint32_t slot)
{
	__builtin_prefetch(&((const struct clock *)e)->marked[slot], 1);
}

static uint32_t foresee(const struct eviction *e)
{
	const struct queue_link *links = ((const struct clock *)e)->links;

	return queue_foresee(links, links[0].newer);
}

const struct eviction_policy eviction_clock = {
	.name = "clock",
	.about = "first in, first out, with a second chance for what was used",
	.size = sizeof(struct clock),
	.reserve = reserve,
	.release = release,
	.memory = memory,
	.insert = insert,
	.hit = hit,
	.remove = drop,
	.evict = evict,
	.foresee = foresee,
	.prefetch = prefetch,
};
