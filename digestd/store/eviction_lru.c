/*
 * LRU: the least recently used goes first.
 *
 * A queue from old to new. An object comes in as the newest, a use makes it
 * the newest again, the oldest goes. There are no ties.
 *
 * 8 bytes a slot; every operation is a constant number of steps.
 */
#include "digestd/store/eviction_queue.h"

static void eviction_lru_hit(struct eviction *e, uint32_t slot)
{
	queue_renew(((struct queued *)e)->links, 0, slot);
}

static void eviction_lru_prefetch(const struct eviction *e, uint32_t slot)
{
	const struct queue_link *links = ((const struct queued *)e)->links;

	__builtin_prefetch(&links[queue_node(slot)], 1);
}

const struct eviction_policy eviction_lru = {
	.name = "lru",
	.about = "least recently used",
	.size = sizeof(struct queued),
	.reserve = queued_reserve,
	.release = queued_release,
	.memory = queued_memory,
	.insert = queued_insert,
	.hit = eviction_lru_hit,
	.remove = queued_remove,
	.evict = queued_evict,
	.foresee = queued_foresee,
	.recall = queued_recall,
	.prefetch = eviction_lru_prefetch,
};
