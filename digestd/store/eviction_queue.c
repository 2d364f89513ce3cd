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

/* Marks that others may be setting meanwhile: one of those that were there may
 * be lost. */
static int eviction_queue_reserve_shared(struct queued *q, uint32_t nslots)
{
	uint32_t n = q->marks ? q->marks->n : 0;
	uint32_t more = n < nslots / 2 ? nslots : n < UINT32_MAX / 2 ? 2 * n :
								       nslots;
	struct queued_marks *marks;

	if (n >= nslots)
		return 0;
	marks = calloc(1, sizeof(*marks) + more);
	if (!marks)
		return SCD_ENOMEM;
	marks->older = q->marks;
	marks->n = more;
	for (uint32_t slot = 0; slot < n; slot++)
		marks->mark[slot] = __atomic_load_n(&q->mark[slot],
						    __ATOMIC_RELAXED);
	q->marks = marks;
	__atomic_store_n(&q->mark, marks->mark, __ATOMIC_RELEASE);
	return 0;
}

int queued_reserve_marked(struct eviction *e, uint32_t nslots)
{
	void *mark = eviction_queue_queued(e)->mark;

	if (e->config.shared)
		return eviction_queue_reserve_shared(eviction_queue_queued(e),
						     nslots) ?
			       SCD_ENOMEM : queued_reserve(e, nslots);
	if (eviction_grow(&mark, (size_t)nslots + 1, 1))
		return SCD_ENOMEM;
	eviction_queue_queued(e)->mark = mark;
	return queued_reserve(e, nslots);
}

void queued_release(struct eviction *e)
{
	struct queued *q = eviction_queue_queued(e);

	free(q->links);
	if (!e->config.shared)
		free(q->mark);
	while (q->marks) {
		struct queued_marks *older = q->marks->older;

		free(q->marks);
		q->marks = older;
	}
}

size_t queued_memory(const struct eviction *e)
{
	const struct queued *q = (const struct queued *)e;
	size_t n = e->config.nslots, marks = q->mark ? n + 1 : 0;

	if (q->marks)
		marks = 0;
	for (struct queued_marks *m = q->marks; m; m = m->older)
		marks += sizeof(*m) + m->n;
	return (n + QUEUE_HEADS) * sizeof(*q->links) + marks;
}

void queued_insert(struct eviction *e, uint32_t slot)
{
	queue_push(eviction_queue_queued(e)->links, 0, slot);
}

void queued_insert_marked(struct eviction *e, uint32_t slot)
{
	__atomic_store_n(&eviction_queue_queued(e)->mark[slot], 0,
			 __ATOMIC_RELAXED);
	queued_insert(e, slot);
}

void queued_hit_marked(struct eviction *e, uint32_t slot)
{
	/* other threads may share theirs meanwhile */
	__atomic_store_n(&eviction_queue_queued(e)->mark[slot], 1,
			 __ATOMIC_RELAXED);
}

/* A mark that is there already is not written: its cache line stays with all
 * who read it. */
void queued_share_hit_marked(struct eviction *e, uint32_t slot)
{
	uint8_t *mark = __atomic_load_n(&eviction_queue_queued(e)->mark,
					__ATOMIC_ACQUIRE) + slot;

	if (!__atomic_load_n(mark, __ATOMIC_RELAXED))
		__atomic_store_n(mark, 1, __ATOMIC_RELAXED);
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

uint32_t queued_recall(const struct eviction *e, uint32_t before)
{
	return queue_recall(((const struct queued *)e)->links, 0, before);
}

bool queued_was_marked(const struct eviction *e, uint32_t slot)
{
	const struct queued *q = (const struct queued *)e;

	return __atomic_load_n(&q->mark[slot], __ATOMIC_RELAXED);
}
