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
 * 24 bytes a slot; an operation takes a logarithmic number of steps, each of
 * one cache line: the keys lie in the heap, four branches side by side. Uses
 * count up to 2^32 - 1. Stamps of 32 bits order equals; before they run out
 * they are given anew, from 0 on in the same order.
 */
#include <stdlib.h>

#include "codec/error.h"
#include "digestd/store/eviction_policy.h"

enum {
	BRANCHES = 4,	       /* of the heap */
	STAMPS_A_SLOT = 64,    /* until they are given anew; */
	STAMPS_AT_LEAST = 1000 /* a sort costs little a use */
};

static const double SCALE = 1e6;

/* A place of the heap. */
struct node {
	double priority;
	uint32_t stamp, slot;
};

struct gdsf {
	struct eviction base;
	struct node *heap; /* what goes first is first */
	uint32_t *at;	   /* by slot: its place in the heap */
	uint32_t *uses;	   /* by slot */
	uint32_t n, next_stamp;
	double floor;
};

static int eviction_gdsf_reserve(struct eviction *e, uint32_t nslots)
{
	struct gdsf *g = (struct gdsf *)e;
	void *heap = g->heap, *at = g->at, *uses = g->uses;
	size_t n = (size_t)nslots + 1;

	if (eviction_grow(&heap, n, sizeof(*g->heap)))
		return SCD_ENOMEM;
	g->heap = heap;
	if (eviction_grow(&at, n, sizeof(*g->at)))
		return SCD_ENOMEM;
	g->at = at;
	if (eviction_grow(&uses, n, sizeof(*g->uses)))
		return SCD_ENOMEM;
	g->uses = uses;
	return 0;
}

static void eviction_gdsf_release(struct eviction *e)
{
	struct gdsf *g = (struct gdsf *)e;

	free(g->heap);
	free(g->at);
	free(g->uses);
}

static size_t eviction_gdsf_memory(const struct eviction *e)
{
	const struct gdsf *g = (const struct gdsf *)e;

	return ((size_t)e->config.nslots + 1) *
	       (sizeof(*g->heap) + sizeof(*g->at) + sizeof(*g->uses));
}

static bool eviction_gdsf_goes_before(const struct node *a,
				      const struct node *b)
{
	if (a->priority < b->priority || a->priority > b->priority)
		return a->priority < b->priority;
	return a->stamp < b->stamp;
}

static void eviction_gdsf_settle(struct gdsf *g, uint32_t place,
				 struct node node)
{
	g->heap[place] = node;
	g->at[node.slot] = place;
}

static void eviction_gdsf_rise(struct gdsf *g, uint32_t place, struct node node)
{
	while (place) {
		uint32_t up = (place - 1) / BRANCHES;

		if (!eviction_gdsf_goes_before(&node, &g->heap[up]))
			break;
		eviction_gdsf_settle(g, place, g->heap[up]);
		place = up;
	}
	eviction_gdsf_settle(g, place, node);
}

/* The branch of a place that goes first; 0: it has none. */
static uint32_t eviction_gdsf_first_branch(const struct gdsf *g, uint32_t place)
{
	uint64_t first = (uint64_t)place * BRANCHES + 1;
	uint64_t end = first + BRANCHES;
	uint64_t best = first;

	if (first >= g->n)
		return 0;
	if (end > g->n)
		end = g->n;
	for (uint64_t i = first + 1; i < end; i++) {
		if (eviction_gdsf_goes_before(&g->heap[i], &g->heap[best]))
			best = i;
	}
	return (uint32_t)best;
}

static void eviction_gdsf_sink(struct gdsf *g, uint32_t place, struct node node)
{
	uint32_t down = eviction_gdsf_first_branch(g, place);

	while (down && eviction_gdsf_goes_before(&g->heap[down], &node)) {
		eviction_gdsf_settle(g, place, g->heap[down]);
		place = down;
		down = eviction_gdsf_first_branch(g, place);
	}
	eviction_gdsf_settle(g, place, node);
}

static void eviction_gdsf_drop(struct eviction *e, uint32_t slot)
{
	struct gdsf *g = (struct gdsf *)e;
	uint32_t place = g->at[slot];
	struct node out = g->heap[place], last = g->heap[--g->n];

	if (last.slot == slot)
		return;
	if (eviction_gdsf_goes_before(&last, &out))
		eviction_gdsf_rise(g, place, last);
	else
		eviction_gdsf_sink(g, place, last);
}

/*
 * Gives stamps from 0 on. What leaves the heap goes to its end, so that in the
 * end it is sorted, the last first; turned round it is a heap again, and the
 * stamps of the order in which all go keep that order.
 */
static void eviction_gdsf_renumber(struct gdsf *g)
{
	uint32_t n = g->n;

	while (g->n) {
		struct node first = g->heap[0];

		eviction_gdsf_drop(&g->base, first.slot);
		g->heap[g->n] = first;
	}
	for (uint32_t i = 0; i < n / 2; i++) {
		struct node node = g->heap[i];

		g->heap[i] = g->heap[n - 1 - i];
		g->heap[n - 1 - i] = node;
	}
	for (uint32_t i = 0; i < n; i++) {
		g->heap[i].stamp = i;
		g->at[g->heap[i].slot] = i;
	}
	g->n = n;
	g->next_stamp = n;
}

static bool eviction_gdsf_stamps_are_out(const struct gdsf *g)
{
	uint64_t limit = (uint64_t)g->n * STAMPS_A_SLOT + STAMPS_AT_LEAST;

	return g->next_stamp >= limit || g->next_stamp == UINT32_MAX;
}

/* The key of a slot with its uses, as of now. */
static struct node eviction_gdsf_appraise(struct gdsf *g, uint32_t slot)
{
	uint64_t weight = eviction_ask(&g->base, slot).weight;

	if (eviction_gdsf_stamps_are_out(g))
		eviction_gdsf_renumber(g);
	return (struct node){
		.priority = g->floor + g->uses[slot] * SCALE /
					       (double)(weight ? weight : 1),
		.stamp = g->next_stamp++,
		.slot = slot,
	};
}

static void eviction_gdsf_insert(struct eviction *e, uint32_t slot)
{
	struct gdsf *g = (struct gdsf *)e;
	struct node node;

	g->uses[slot] = 1;
	node = eviction_gdsf_appraise(g, slot);
	eviction_gdsf_rise(g, g->n++, node);
}

static void eviction_gdsf_hit(struct eviction *e, uint32_t slot)
{
	struct gdsf *g = (struct gdsf *)e;
	struct node node;

	if (g->uses[slot] < UINT32_MAX)
		g->uses[slot]++;
	/* its priority never falls: the floor does not */
	node = eviction_gdsf_appraise(g, slot);
	eviction_gdsf_sink(g, g->at[slot], node);
}

static uint32_t eviction_gdsf_evict(struct eviction *e)
{
	struct gdsf *g = (struct gdsf *)e;
	uint32_t slot = g->heap[0].slot;

	g->floor = g->heap[0].priority;
	eviction_gdsf_drop(e, slot);
	return slot;
}

static void eviction_gdsf_prefetch(const struct eviction *e, uint32_t slot)
{
	const struct gdsf *g = (const struct gdsf *)e;

	__builtin_prefetch(&g->uses[slot], 1);
	__builtin_prefetch(&g->at[slot], 1);
}

static uint32_t eviction_gdsf_foresee(const struct eviction *e, uint32_t after)
{
	const struct gdsf *g = (const struct gdsf *)e;

	return g->n && after == EVICTION_NONE ? g->heap[0].slot
					      : EVICTION_NONE;
}

const struct eviction_policy eviction_gdsf = {
	.name = "gdsf",
	.about = "small and often used objects stay",
	.size = sizeof(struct gdsf),
	.reserve = eviction_gdsf_reserve,
	.release = eviction_gdsf_release,
	.memory = eviction_gdsf_memory,
	.insert = eviction_gdsf_insert,
	.hit = eviction_gdsf_hit,
	.remove = eviction_gdsf_drop,
	.evict = eviction_gdsf_evict,
	.foresee = eviction_gdsf_foresee,
	.prefetch = eviction_gdsf_prefetch,
};
