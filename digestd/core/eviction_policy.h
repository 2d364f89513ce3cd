/*
 * The eviction policies, one file each, and the queues that most are made of:
 * doubly linked rings over slots, with a head of their own each. Links are 32
 * bits, so a queue costs 8 bytes a slot; a slot is in one queue at most.
 */
#ifndef DIGESTD_CORE_EVICTION_POLICY_H
#define DIGESTD_CORE_EVICTION_POLICY_H

#include "digestd/core/eviction.h"

extern const struct eviction_policy eviction_lru;
extern const struct eviction_policy eviction_fifo;
extern const struct eviction_policy eviction_clock;
extern const struct eviction_policy eviction_sieve;
extern const struct eviction_policy eviction_s3fifo;
extern const struct eviction_policy eviction_lfu;
extern const struct eviction_policy eviction_gdsf;
extern const struct eviction_policy eviction_wtinylfu;

/* Heads at the beginning of the array of links: a policy has at most as many
 * queues. Node q is the head of queue q, node QUEUE_HEADS + s is slot s. */
enum { QUEUE_HEADS = 4 };

struct queue_link {
	uint32_t older, newer; /* nodes; a head's `newer` is the oldest */
};

/* Makes an array larger: count elements of so many bytes; what is new in it is
 * not set. 0 or SCD_ENOMEM, then it is as before. */
int eviction_grow(void **array, size_t count, size_t each);

/* Links for so many slots; the first time, all queues are made empty. */
int queue_reserve(struct queue_link **links, uint32_t nslots);

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

/* Fetches what it takes to unlink a node that is not a head; its slot. The
 * node itself is at hand: it is the neighbour of one that was unlinked. */
static inline uint32_t queue_foresee(const struct queue_link *l, uint32_t node)
{
	if (node < QUEUE_HEADS)
		return EVICTION_NONE;
	__builtin_prefetch(&l[l[node].newer], 1);
	return node - QUEUE_HEADS;
}

static inline bool queue_empty(const struct queue_link *l, uint32_t head)
{
	return l[head].newer == head;
}

#endif
