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
#include <stdlib.h>

#include "codec/error.h"
#include "digestd/core/eviction_policy.h"

struct sieve {
	struct eviction base;
	struct queue_link *links;
	uint8_t *marked;
	uint32_t hand; /* a node; the head: at the oldest */
};

static int reserve(struct eviction *e, uint32_t nslots)
{
	struct sieve *s = (struct sieve *)e;
	void *marked = s->marked;

	if (eviction_grow(&marked, (size_t)nslots + 1, 1))
		return SCD_ENOMEM;
	s->marked = marked;
	return queue_reserve(&s->links, nslots);
}

static void release(struct eviction *e)
{
	struct sieve *s = (struct sieve *)e;

	free(s->links);
	free(s->marked);
}

static size_t memory(const struct eviction *e)
{
	size_t n = e->config.nslots;

	return (n + QUEUE_HEADS) * sizeof(struct queue_link) + n + 1;
}

static void insert(struct eviction *e, uint32_t slot)
{
	struct sieve *s = (struct sieve *)e;

	s->marked[slot] = 0;
	queue_push(s->links, 0, slot);
}

static void hit(struct eviction *e, uint32_t slot)
{
	((struct sieve *)e)->marked[slot] = 1;
}

static void drop(struct eviction *e, uint32_t slot)
{
	struct sieve *s = (struct sieve *)e;

	if (s->hand == queue_node(slot))
		s->hand = s->links[s->hand].newer;
	queue_unlink(s->links, slot);
}

static uint32_t evict(struct eviction *e)
{
	struct sieve *s = (struct sieve *)e;
	uint32_t node = s->hand ? s->hand : s->links[0].newer;

	while (s->marked[node - QUEUE_HEADS]) {
		s->marked[node - QUEUE_HEADS] = 0;
		node = s->links[node].newer;
		if (!node)
			node = s->links[0].newer;
	}
	s->hand = s->links[node].newer;
	queue_unlink(s->links, node - QUEUE_HEADS);
	return node - QUEUE_HEADS;
}

static void prefetch(const struct eviction *e, uint32_t slot)
{
	__builtin_prefetch(&((const struct sieve *)e)->marked[slot], 1);
}

static uint32_t foresee(const struct eviction *e)
{
	const struct sieve *s = (const struct sieve *)e;

	return queue_foresee(s->links, s->hand ? s->hand : s->links[0].newer);
}

const struct eviction_policy eviction_sieve = {
	.name = "sieve",
	.about = "a hand that spares what was used since it last came by",
	.size = sizeof(struct sieve),
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
