/*
 * Least recently used: a use moves an entry to the new end of the queue.
 */
#include "digestd/core/store_policy.h"

static void hit(struct store_queue *q, struct store_entry *e)
{
	if (q->newest == e)
		return;
	store_queue_unlink(q, e);
	store_queue_push(q, e);
}

static struct store_entry *victim(struct store_queue *q)
{
	return q->oldest;
}

const struct store_policy store_policy_lru = {
	.name = "lru",
	.inserted = store_queue_push,
	.hit = hit,
	.removed = store_queue_unlink,
	.victim = victim,
};
