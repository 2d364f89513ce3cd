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
#include "digestd/store/eviction_queue.h"

static uint32_t eviction_clock_evict(struct eviction *e)
{
	struct queued *q = (struct queued *)e;
	uint32_t slot = queue_oldest(q->links, 0);

	while (queued_unmark(q, slot)) {
		queue_renew(q->links, 0, slot);
		slot = queue_oldest(q->links, 0);
	}
	queue_unlink(q->links, slot);
	return slot;
}

const struct eviction_policy eviction_clock = {
	.name = "clock",
	.about = "first in, first out, with a second chance for what was used",
	.size = sizeof(struct queued),
	.reserve = queued_reserve_marked,
	.release = queued_release,
	.memory = queued_memory,
	.insert = queued_insert_marked,
	.hit = queued_hit_marked,
	.share_hit = queued_share_hit_marked,
	.remove = queued_remove,
	.evict = eviction_clock_evict,
	.foresee = queued_foresee,
	.recall = queued_recall,
	.was_used = queued_was_marked,
	.prefetch = queued_prefetch_marked,
};
