/*
 * The queues that most eviction policies are made of: doubly linked rings over
 * slots, with a head of their own each. Links are 32 bits, so a queue costs 8
 * bytes a slot; a slot is in one queue at most.
 *
 * A policy that has them begins with struct queued, and takes those of its
 * functions from here in which it does what the others do.
 */
#ifndef DIGESTD_STORE_EVICTION_QUEUE_H
#define DIGESTD_STORE_EVICTION_QUEUE_H

#include "digestd/store/eviction_policy.h"

/* Heads at the beginning of the array of links: a policy has at most as many
 * queues. Node q is the head of queue q, node QUEUE_HEADS + s is slot s. */
enum { QUEUE_HEADS = 4 };

struct queue_link {
	uint32_t older, newer; /* nodes; a head's `newer` is the oldest */
};

static inline uint32_t queue_node(uint32_t slot)
{
	return slot + QUEUE_HEADS;
}

/* Links a slot in behind a node, which may be a head: then as the oldest. */
static inline void queue_link_after(struct queue_link *l, uint32_t older,
				    uint32_t slot)
{
	uint32_t node = queue_node(slot), newer = l[older].newer;

	l[node] = (struct queue_link){ .older = older, .newer = newer };
	l[older].newer = node;
	l[newer].older = node;
}

/* Links a slot in as the newest of a queue. */
static inline void queue_push(struct queue_link *l, uint32_t head,
			      uint32_t slot)
{
	queue_link_after(l, l[head].older, slot);
}

/* Takes a slot out of its queue. */
static inline void queue_unlink(struct queue_link *l, uint32_t slot)
{
	struct queue_link out = l[queue_node(slot)];

	l[out.older].newer = out.newer;
	l[out.newer].older = out.older;
}

/* Makes a slot the newest of a queue, whichever it is in. */
static inline void queue_renew(struct queue_link *l, uint32_t head,
			       uint32_t slot)
{
	queue_unlink(l, slot);
	queue_push(l, head, slot);
}

/* The oldest slot of a queue that is not empty. */
static inline uint32_t queue_oldest(const struct queue_link *l, uint32_t head)
{
	return l[head].newer - QUEUE_HEADS;
}

/* Fetches what it takes to unlink the node behind a slot, or behind none a
 * first one; its slot, EVICTION_NONE if it is a head. The node itself is at
 * hand: it is the neighbour of one that was unlinked or foreseen. */
static inline uint32_t queue_foresee(const struct queue_link *l,
				     uint32_t after, uint32_t first)
{
	uint32_t node = first;

	if (after != EVICTION_NONE)
		node = l[queue_node(after)].newer;
	if (node < QUEUE_HEADS)
		return EVICTION_NONE;
	__builtin_prefetch(&l[l[node].newer], 1);
	return node - QUEUE_HEADS;
}

/* The slot in front of another one, or of none the newest of a queue;
 * EVICTION_NONE: there is none. */
static inline uint32_t queue_recall(const struct queue_link *l, uint32_t head,
				    uint32_t before)
{
	uint32_t node = before == EVICTION_NONE ? head : queue_node(before);

	node = l[node].older;
	return node < QUEUE_HEADS ? EVICTION_NONE : node - QUEUE_HEADS;
}

static inline bool queue_empty(const struct queue_link *l, uint32_t head)
{
	return l[head].newer == head;
}

/* A policy's own state begins with it. */
struct queued {
	struct eviction base;
	struct queue_link *links;
	uint8_t *mark; /* by slot, what the policy likes; null: it has none */
	struct queued_marks *marks; /* where it is, if hits are shared */
};

/*
 * Marks that any thread may set. When there have to be more, those that there
 * were stay until the end, as a thread may have them in its hands; there are
 * twice as many each time, so all of those together are fewer than the last.
 */
struct queued_marks {
	struct queued_marks *older;
	uint32_t n;
	uint8_t mark[];
};

/* Whether a slot is marked, and then not any more: for who evicts. */
static inline bool queued_unmark(struct queued *q, uint32_t slot)
{
	if (!__atomic_load_n(&q->mark[slot], __ATOMIC_RELAXED))
		return false;
	__atomic_store_n(&q->mark[slot], 0, __ATOMIC_RELAXED);
	return true;
}

/* struct eviction_policy's reserve(): the queues, or with a mark for each slot
 * (not set); its release() and its memory() for both. */
int queued_reserve(struct eviction *e, uint32_t nslots);
int queued_reserve_marked(struct eviction *e, uint32_t nslots);
void queued_release(struct eviction *e);
size_t queued_memory(const struct eviction *e);

/* Comes in as the newest of queue 0; with its mark 0. */
void queued_insert(struct eviction *e, uint32_t slot);
void queued_insert_marked(struct eviction *e, uint32_t slot);

/* A use makes the mark 1; by any thread; what that touches. */
void queued_hit_marked(struct eviction *e, uint32_t slot);
void queued_share_hit_marked(struct eviction *e, uint32_t slot);
void queued_prefetch_marked(const struct eviction *e, uint32_t slot);

/* Leaves its queue. */
void queued_remove(struct eviction *e, uint32_t slot);

/* The oldest of queue 0 goes; is fetched. */
uint32_t queued_evict(struct eviction *e);
uint32_t queued_foresee(const struct eviction *e, uint32_t after);

/* The newest of queue 0, or the one in front; whether a slot is marked. */
uint32_t queued_recall(const struct eviction *e, uint32_t before);
bool queued_was_marked(const struct eviction *e, uint32_t slot);

#endif
