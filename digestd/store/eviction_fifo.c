/*
 * FIFO: who came first goes first.
 *
 * A queue from old to new. An object comes in as the newest, a use changes
 * nothing, the oldest goes. There are no ties.
 *
 * 8 bytes a slot; every operation is a constant number of steps.
 */
#include "digestd/store/eviction_queue.h"

static void eviction_fifo_hit(struct eviction *e, uint32_t slot)
{
	(void)e;
	(void)slot;
}

const struct eviction_policy eviction_fifo = {
	.name = "fifo",
	.about = "first in, first out",
	.size = sizeof(struct queued),
	.reserve = queued_reserve,
	.release = queued_release,
	.memory = queued_memory,
	.insert = queued_insert,
	.hit = eviction_fifo_hit,
	.remove = queued_remove,
	.evict = queued_evict,
	.foresee = queued_foresee,
	.recall = queued_recall,
};
