/*
 * LFU: the least often used goes first.
 *
 * An object comes in with one use; each use adds one. The object with the
 * fewest uses goes; among equals the one that has had so many for longest. An
 * object that goes is forgotten: it would come in again with one use.
 *
 * Source: Shah, Mitra, Matani: "An O(1) algorithm for implementing the LFU
 * cache eviction scheme", 2010; here the groups are stretches of one queue,
 * which is in the order in which objects go.
 *
 * 20 bytes a slot; every operation is a constant number of steps. Uses count
 * up to 2^32 - 1.
 */
#include <stdlib.h>

#include "codec/error.h"
#include "digestd/store/eviction_queue.h"

/* Objects of as many uses. There are no more groups than objects. */
struct group {
	uint32_t uses;
	uint32_t last; /* the slot that goes last; of a free one: the next */
};

struct lfu {
	struct queued q;
	uint32_t *group_of; /* by slot */
	struct group *groups;
	uint32_t ngroups, free_group; /* made so far; EVICTION_NONE: no free */
};

static int eviction_lfu_reserve(struct eviction *e, uint32_t nslots)
{
	struct lfu *l = (struct lfu *)e;
	void *group_of = l->group_of, *groups = l->groups;
	size_t n = (size_t)nslots + 1;

	if (!l->q.links)
		l->free_group = EVICTION_NONE;
	if (eviction_grow(&group_of, n, sizeof(*l->group_of)))
		return SCD_ENOMEM;
	l->group_of = group_of;
	if (eviction_grow(&groups, n, sizeof(*l->groups)))
		return SCD_ENOMEM;
	l->groups = groups;
	return queued_reserve(e, nslots);
}

static void eviction_lfu_release(struct eviction *e)
{
	struct lfu *l = (struct lfu *)e;

	free(l->group_of);
	free(l->groups);
	queued_release(e);
}

static size_t eviction_lfu_memory(const struct eviction *e)
{
	const struct lfu *l = (const struct lfu *)e;
	size_t n = e->config.nslots;

	return queued_memory(e) +
	       (n + 1) * (sizeof(*l->group_of) + sizeof(*l->groups));
}

/* A slot into a group of its own, behind a node. */
static void eviction_lfu_found(struct lfu *l, uint32_t slot, uint32_t older,
			       uint32_t uses)
{
	uint32_t group = l->free_group;

	if (group == EVICTION_NONE)
		group = l->ngroups++;
	else
		l->free_group = l->groups[group].last;
	l->groups[group] = (struct group){ uses, slot };
	l->group_of[slot] = group;
	queue_link_after(l->q.links, older, slot);
}

/* A slot into a group, as the last. */
static void eviction_lfu_join(struct lfu *l, uint32_t slot, uint32_t group)
{
	queue_link_after(l->q.links, queue_node(l->groups[group].last), slot);
	l->groups[group].last = slot;
	l->group_of[slot] = group;
}

/* A slot behind a node: into the group that comes next if that has so many
 * uses, else into one of its own. */
static void eviction_lfu_place(struct lfu *l, uint32_t slot, uint32_t older,
			       uint32_t uses)
{
	uint32_t newer = l->q.links[older].newer;

	if (newer >= QUEUE_HEADS) {
		uint32_t group = l->group_of[newer - QUEUE_HEADS];

		if (l->groups[group].uses == uses) {
			eviction_lfu_join(l, slot, group);
			return;
		}
	}
	eviction_lfu_found(l, slot, older, uses);
}

static void eviction_lfu_drop(struct eviction *e, uint32_t slot)
{
	struct lfu *l = (struct lfu *)e;
	uint32_t group = l->group_of[slot];
	uint32_t older = l->q.links[queue_node(slot)].older;

	queue_unlink(l->q.links, slot);
	if (l->groups[group].last != slot)
		return;
	if (older >= QUEUE_HEADS && l->group_of[older - QUEUE_HEADS] == group) {
		l->groups[group].last = older - QUEUE_HEADS;
		return;
	}
	l->groups[group].last = l->free_group;
	l->free_group = group;
}

static void eviction_lfu_insert(struct eviction *e, uint32_t slot)
{
	eviction_lfu_place((struct lfu *)e, slot, 0, 1);
}

static void eviction_lfu_hit(struct eviction *e, uint32_t slot)
{
	struct lfu *l = (struct lfu *)e;
	struct group *g = &l->groups[l->group_of[slot]];
	uint32_t uses = g->uses, older = queue_node(g->last);

	if (uses == UINT32_MAX)
		return;
	if (g->last == slot)
		older = l->q.links[older].older;
	eviction_lfu_drop(e, slot);
	eviction_lfu_place(l, slot, older, uses + 1);
}

static uint32_t eviction_lfu_evict(struct eviction *e)
{
	uint32_t slot = queue_oldest(((struct queued *)e)->links, 0);

	eviction_lfu_drop(e, slot);
	return slot;
}

static void eviction_lfu_prefetch(const struct eviction *e, uint32_t slot)
{
	const struct lfu *l = (const struct lfu *)e;

	__builtin_prefetch(&l->q.links[queue_node(slot)], 1);
	__builtin_prefetch(&l->group_of[slot], 1);
}

static uint32_t eviction_lfu_foresee(const struct eviction *e, uint32_t after)
{
	const struct lfu *l = (const struct lfu *)e;
	uint32_t slot = queue_foresee(l->q.links, after, l->q.links[0].newer);

	if (slot != EVICTION_NONE)
		__builtin_prefetch(&l->group_of[slot]);
	return slot;
}

const struct eviction_policy eviction_lfu = {
	.name = "lfu",
	.about = "least often used since it came in",
	.size = sizeof(struct lfu),
	.reserve = eviction_lfu_reserve,
	.release = eviction_lfu_release,
	.memory = eviction_lfu_memory,
	.insert = eviction_lfu_insert,
	.hit = eviction_lfu_hit,
	.remove = eviction_lfu_drop,
	.evict = eviction_lfu_evict,
	.foresee = eviction_lfu_foresee,
	.recall = queued_recall,
	.prefetch = eviction_lfu_prefetch,
};
