/*
 * GDSF: small objects that are often used stay, and what was not used lately
 * loses against what comes in.
 *
 * An object's priority is floor + uses * 10^6 / weight, reckoned when it comes
 * in, with one use, and at each use, which adds one. The object with the
 * lowest priority goes; among equals the one whose last use, or coming in, is
 * longest ago. The floor is 0 at first, then the priority of what went last
 * because room was needed.
 *
 * Source: Cherkasova, "Improving WWW Proxies Performance with
 * Greedy-Dual-Size-Frequency Caching Policy", HP Labs 1998, with equal costs.
 *
 * 24 bytes a slot; an operation takes a logarithmic number of steps. Uses
 * count up to 2^32 - 1. Stamps of 32 bits order equals; before they run out
 * they are given anew, from 0 on in the same order.
 */
#include <stdlib.h>

#include "codec/error.h"
#include "digestd/core/eviction_policy.h"

enum {
	BRANCHES = 4,	       /* of the heap */
	STAMPS_A_SLOT = 64,    /* until they are given anew; */
	STAMPS_AT_LEAST = 1000 /* a sort costs little a use */
};

static const double SCALE = 1e6;

struct node {
	double priority;
	uint32_t uses, stamp;
};

struct gdsf {
	struct eviction base;
	struct node *nodes; /* by slot */
	uint32_t *heap;	    /* slots, the lowest first */
	uint32_t *at;	    /* by slot: its place in the heap */
	uint32_t n, next_stamp;
	double floor;
};

static int reserve(struct eviction *e, uint32_t nslots)
{
	struct gdsf *g = (struct gdsf *)e;
	void *nodes = g->nodes, *heap = g->heap, *at = g->at;
	size_t n = (size_t)nslots + 1;

	if (eviction_grow(&nodes, n, sizeof(*g->nodes)))
		return SCD_ENOMEM;
	g->nodes = nodes;
	if (eviction_grow(&heap, n, sizeof(*g->heap)))
		return SCD_ENOMEM;
	g->heap = heap;
	if (eviction_grow(&at, n, sizeof(*g->at)))
		return SCD_ENOMEM;
	g->at = at;
	return 0;
}

static void release(struct eviction *e)
{
	struct gdsf *g = (struct gdsf *)e;

	free(g->nodes);
	free(g->heap);
	free(g->at);
}

static size_t memory(const struct eviction *e)
{
	const struct gdsf *g = (const struct gdsf *)e;

	return ((size_t)e->config.nslots + 1) *
	       (sizeof(*g->nodes) + sizeof(*g->heap) + sizeof(*g->at));
}

static bool goes_before(const struct gdsf *g, uint32_t a, uint32_t b)
{
	const struct node *x = &g->nodes[a], *y = &g->nodes[b];

	if (x->priority != y->priority)
		return x->priority < y->priority;
	return x->stamp < y->stamp;
}

static void settle(struct gdsf *g, uint32_t place, uint32_t slot)
{
	g->heap[place] = slot;
	g->at[slot] = place;
}

static void rise(struct gdsf *g, uint32_t place, uint32_t slot)
{
	while (place) {
		uint32_t up = (place - 1) / BRANCHES;

		if (!goes_before(g, slot, g->heap[up]))
			break;
		settle(g, place, g->heap[up]);
		place = up;
	}
	settle(g, place, slot);
}

/* The branch of a place that goes first; 0: it has none. */
static uint32_t first_branch(const struct gdsf *g, uint32_t place)
{
	uint64_t first = (uint64_t)place * BRANCHES + 1;
	uint32_t best = (uint32_t)first;

	if (first >= g->n)
		return 0;
	for (uint64_t i = first + 1; i < first + BRANCHES && i < g->n; i++) {
		if (goes_before(g, g->heap[i], g->heap[best]))
			best = (uint32_t)i;
	}
	return best;
}

static void sink(struct gdsf *g, uint32_t place, uint32_t slot)
{
	uint32_t down = first_branch(g, place);

	while (down && goes_before(g, g->heap[down], slot)) {
		settle(g, place, g->heap[down]);
		place = down;
		down = first_branch(g, place);
	}
	settle(g, place, slot);
}

static void drop(struct eviction *e, uint32_t slot)
{
	struct gdsf *g = (struct gdsf *)e;
	uint32_t place = g->at[slot], last = g->heap[--g->n];

	if (last == slot)
		return;
	if (goes_before(g, last, slot))
		rise(g, place, last);
	else
		sink(g, place, last);
}

/*
 * Gives stamps from 0 on. What leaves the heap goes to its end, so that in the
 * end it is sorted, the last first; turned round it is a heap again, and the
 * stamps of the order in which all go keep that order.
 */
static void renumber(struct gdsf *g)
{
	uint32_t n = g->n;

	while (g->n) {
		uint32_t slot = g->heap[0];

		drop(&g->base, slot);
		g->heap[g->n] = slot;
	}
	for (uint32_t i = 0; i < n / 2; i++) {
		uint32_t slot = g->heap[i];

		g->heap[i] = g->heap[n - 1 - i];
		g->heap[n - 1 - i] = slot;
	}
	for (uint32_t i = 0; i < n; i++) {
		g->at[g->heap[i]] = i;
		g->nodes[g->heap[i]].stamp = i;
	}
	g->n = n;
	g->next_stamp = n;
}

static bool stamps_are_out(const struct gdsf *g)
{
	uint64_t limit = (uint64_t)g->n * STAMPS_A_SLOT + STAMPS_AT_LEAST;

	return g->next_stamp >= limit || g->next_stamp == UINT32_MAX;
}

/* Reckons the priority of a slot that is not in the heap, or whose place is to
 * be looked for. */
static void appraise(struct gdsf *g, uint32_t slot, uint32_t uses)
{
	uint64_t weight =
		g->base.config.item(g->base.config.arg, slot).weight;

	if (stamps_are_out(g))
		renumber(g);
	g->nodes[slot] = (struct node){
		.priority = g->floor +
			    uses * SCALE / (double)(weight ? weight : 1),
		.uses = uses,
		.stamp = g->next_stamp++,
	};
}

static void insert(struct eviction *e, uint32_t slot)
{
	struct gdsf *g = (struct gdsf *)e;

	appraise(g, slot, 1);
	rise(g, g->n++, slot);
}

static void hit(struct eviction *e, uint32_t slot)
{
	struct gdsf *g = (struct gdsf *)e;
	uint32_t uses = g->nodes[slot].uses;

	/* its priority never falls: the floor does not */
	appraise(g, slot, uses == UINT32_MAX ? uses : uses + 1);
	sink(g, g->at[slot], slot);
}

static uint32_t evict(struct eviction *e)
{
	struct gdsf *g = (struct gdsf *)e;
	uint32_t slot = g->heap[0];

	g->floor = g->nodes[slot].priority;
	drop(e, slot);
	return slot;
}

static void prefetch(const struct eviction *e, uint32_t slot)
{
	const struct gdsf *g = (const struct gdsf *)e;

	__builtin_prefetch(&g->nodes[slot], 1);
	__builtin_prefetch(&g->at[slot], 1);
}

const struct eviction_policy eviction_gdsf = {
	.name = "gdsf",
	.about = "small and often used objects stay",
	.size = sizeof(struct gdsf),
	.reserve = reserve,
	.release = release,
	.memory = memory,
	.insert = insert,
	.hit = hit,
	.remove = drop,
	.evict = evict,
	.prefetch = prefetch,
};
