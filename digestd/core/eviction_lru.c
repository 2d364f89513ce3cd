/*
 * LRU: the least recently used goes first.
 *
 * A queue from old to new. An object comes in as the newest, a use makes it
 * the newest again, the oldest goes. There are no ties.
 *
 * 8 bytes a slot; every operation is a constant number of steps.
 */
#include <stdlib.h>

#include "digestd/core/eviction_policy.h"

struct lru {
	struct eviction base;
	struct queue_link *links;
};

static int reserve(struct eviction *e, uint32_t nslots)
{
	return queue_reserve(&((struct lru *)e)->links, nslots);
}

static void release(struct eviction *e)
{
	free(((struct lru *)e)->links);
}

static size_t memory(const struct eviction *e)
{
	return ((size_t)e->config.nslots + QUEUE_HEADS) *
	       sizeof(struct queue_link);
}

static void insert(struct eviction *e, uint32_t slot)
{
	queue_push(((struct lru *)e)->links, 0, slot);
}

static void hit(struct eviction *e, uint32_t slot)
{
	queue_renew(((struct lru *)e)->links, 0, slot);
}

static void drop(struct eviction *e, uint32_t slot)
{
	queue_unlink(((struct lru *)e)->links, slot);
}

static uint32_t evict(struct eviction *e)
{
	struct queue_link *links = ((struct lru *)e)->links;
	uint32_t slot = queue_oldest(links, 0);

	queue_unlink(links, slot);
	return slot;
}

static void prefetch(const struct eviction *e, uint32_t slot)
{
	__builtin_prefetch(
		&((const struct lru *)e)->links[queue_node(slot)], 1);
}

static uint32_t foresee(const struct eviction *e)
{
	const struct queue_link *links = ((const struct lru *)e)->links;

	return queue_foresee(links, links[0].newer);
}

const struct eviction_policy eviction_lru = {
	.name = "lru",
	.about = "least recently used",
	.size = sizeof(struct lru),
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
