/*
 * SIEVE: a hand goes from old to new over a queue that never changes order.
 *
 * An object comes in as the newest, unmarked. A use marks it. To evict, the
 * hand starts where it stopped, at the oldest the first time; it clears the
 * marks that it meets, beyond the newest it goes on at the oldest, and takes
 * the first object without a mark; then it stands on the next newer one. When
 * that object is the newest, it stands beyond it: what comes in later is not
 * under the hand, the next turn begins at the oldest. An object under the hand
 * that is removed leaves the hand on the next newer one too. There are no
 * ties.
 *
 * Source: Zhang, Yang, Yue, Vigfusson, Rashmi: "SIEVE is Simpler than LRU: an
 * Efficient Turn-Key Eviction Algorithm for Web Caches", NSDI 2024.
 *
 * 9 bytes a slot; a use is one store.
 */
#include "digestd/store/eviction_queue.h"

struct sieve {
	struct queued q;
	uint32_t hand; /* a node; the head: at the oldest */
};

static void eviction_sieve_drop(struct eviction *e, uint32_t slot)
{
	struct sieve *s = (struct sieve *)e;

	if (s->hand == queue_node(slot))
		s->hand = s->q.links[s->hand].newer;
	queue_unlink(s->q.links, slot);
}

static uint32_t eviction_sieve_evict(struct eviction *e)
{
	struct sieve *s = (struct sieve *)e;
	struct queue_link *links = s->q.links;
	uint32_t node = s->hand ? s->hand : links[0].newer;

	while (queued_unmark(&s->q, node - QUEUE_HEADS)) {
		node = links[node].newer;
		if (!node)
			node = links[0].newer;
	}
	s->hand = links[node].newer;
	queue_unlink(links, node - QUEUE_HEADS);
	return node - QUEUE_HEADS;
}

static uint32_t eviction_sieve_foresee(const struct eviction *e, uint32_t after)
{
	const struct sieve *s = (const struct sieve *)e;
	const struct queue_link *links = s->q.links;

	return queue_foresee(links, after, s->hand ? s->hand : links[0].newer);
}

const struct eviction_policy eviction_sieve = {
	.name = "sieve",
	.about = "a hand that spares what was used since it last came by",
	.size = sizeof(struct sieve),
	.reserve = queued_reserve_marked,
	.release = queued_release,
	.memory = queued_memory,
	.insert = queued_insert_marked,
	.hit = queued_hit_marked,
	.share_hit = queued_share_hit_marked,
	.remove = eviction_sieve_drop,
	.evict = eviction_sieve_evict,
	.foresee = eviction_sieve_foresee,
	.recall = queued_recall,
	.was_used = queued_was_marked,
	.prefetch = queued_prefetch_marked,
};
