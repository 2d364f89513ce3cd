/*
 * The memory of queues, and what the policies made of one queue share.
 */
#include "digestd/store/eviction_queue.h"

#include <stdlib.h>

#include "codec/error.h"

static struct queued *eviction_queue_queued(struct eviction *e)
{
	return (struct queued *)e;
}

int queued_reserve(struct eviction *e, uint32_t nslots)
{
	struct queue_link **links = &eviction_queue_queued(e)->links;
	bool first = !*links;
	void *array = *links;

	if (eviction_grow(&array, (size_t)nslots + QUEUE_HEADS,
			  sizeof(**links)))
		return SCD_ENOMEM;
	*links = array;
	for (uint32_t q = 0; first && q < QUEUE_HEADS; q++)
		(*links)[q] = (struct queue_link){ q, q };
	return 0;
}

int queued_reserve_marked(struct eviction *e, uint32_t nslots)
{
	void *mark = eviction_queue_queued(e)->mark;

	if (eviction_grow(&mark, (size_t)nslots + 1, 1))
		return SCD_ENOMEM;
	eviction_queue_queued(e)->mark = mark;
	return queued_reserve(e, nslots);
}

void queued_release(struct eviction *e)
{
	free(eviction_queue_queued(e)->links);
	free(eviction_queue_queued(e)->mark);
}

size_t queued_memory(const struct eviction *e)
{
	const struct queued *q = (const struct queued *)e;
	size_t n = e->config.nslots;

	return (n + QUEUE_HEADS) * sizeof(*q->links) + (q->mark ? n + 1 : 0);
}

void queued_insert(struct eviction *e, uint32_t slot)
{
	queue_push(eviction_queue_queued(e)->links, 0, slot);
}

void queued_insert_marked(struct eviction *e, uint32_t slot)
{
	eviction_queue_queued(e)->mark[slot] = 0;
	queued_insert(e, slot);
}

void queued_hit_marked(struct eviction *e, uint32_t slot)
{
	eviction_queue_queued(e)->mark[slot] = 1;
}

void queued_prefetch_marked(const struct eviction *e, uint32_t slot)
{
	__builtin_prefetch(&((const struct queued *)e)->mark[slot], 1);
}

void queued_remove(struct eviction *e, uint32_t slot)
{
	queue_unlink(eviction_queue_queued(e)->links, slot);
}

uint32_t queued_evict(struct eviction *e)
{
	struct queue_link *links = eviction_queue_queued(e)->links;
	uint32_t slot = queue_oldest(links, 0);

	queue_unlink(links, slot);
	return slot;
}

uint32_t queued_foresee(const struct eviction *e, uint32_t after)
{
	const struct queue_link *links = ((const struct queued *)e)->links;

	return queue_foresee(links, after, links[0].newer);
}
