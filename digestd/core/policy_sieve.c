/*
 * SIEVE: a use only sets a mark; the hand clears marks until it finds none.
 */
#include "digestd/core/store_policy.h"

static void hit(struct store_queue *q, struct store_entry *e)
{
	(void)q;
	e->visited = true;
}

static struct store_entry *victim(struct store_queue *q)
{
	struct store_entry *e = q->hand ? q->hand : q->oldest;

	while (e->visited) {
		e->visited = false;
		e = e->newer ? e->newer : q->oldest;
	}
	q->hand = e; /* removing it moves the hand on */
	return e;
}

const struct store_policy store_policy_sieve = {
	.name = "sieve",
	.inserted = store_queue_push,
	.hit = hit,
	.removed = store_queue_unlink,
	.victim = victim,
};
