/*
 * The tiers: a queue with marks for hot copies, an instance of any policy for
 * sole ones, and a byte a slot that says which it is in.
 */
#include "digestd/store/eviction_tiers.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "codec/mix.h"
#include "digestd/store/eviction_ghost.h"
#include "digestd/store/eviction_queue.h"
#include "digestd/store/eviction_sketch.h"

enum tier_of_slot { TIER_SOLE, TIER_HOT };

struct tiers {
	struct queued q; /* hot copies; marks: uses. From the first one on: */
	uint8_t *tier; /* by slot, an enum tier_of_slot; null: all are sole */
	struct eviction *sole;
	uint64_t nsole, nhot, hot_weight;
	bool full; /* something has had to go */
	uint32_t share_ppm;
	uint64_t random;
	struct ghosts gone_sole, gone_hot;
	struct sketch misses;
};

static struct tiers *eviction_tiers_of(struct eviction *e)
{
	return (struct tiers *)e;
}

/* Room for hot copies in so many slots. */
static int eviction_tiers_reserve_hot(struct tiers *t, uint32_t nslots)
{
	const uint32_t had = t->tier ? t->q.base.config.nslots : 0;
	void *tier = t->tier;
	int err = queued_reserve_marked(&t->q.base, nslots);

	if (!err)
		err = eviction_grow(&tier, (size_t)nslots + 1, 1);
	if (err)
		return err;
	t->tier = tier;
	if (nslots > had)
		memset(t->tier + had, TIER_SOLE, nslots - had);
	return 0;
}

/* What a node needs that has peers is made when it first does. */
static int eviction_tiers_reserve(struct eviction *e, uint32_t nslots)
{
	struct tiers *t = eviction_tiers_of(e);
	int err;

	if (!t->sole) /* not before eviction_tiers_new() has made it */
		return 0;
	err = eviction_reserve(t->sole, nslots);
	if (!err && t->misses.counters)
		err = sketch_reserve(&t->misses, nslots);
	/* marks come first, and may be all that there was memory for */
	if (!err && t->q.mark)
		err = eviction_tiers_reserve_hot(t, nslots);
	return err;
}

/* Whether a slot has a hot copy. */
static bool eviction_tiers_is_in_hot(const struct tiers *t, uint32_t slot)
{
	return t->tier && t->tier[slot] == TIER_HOT;
}

static void eviction_tiers_release(struct eviction *e)
{
	struct tiers *t = eviction_tiers_of(e);

	eviction_free(&t->sole);
	queued_release(e);
	free(t->tier);
	ghosts_free(&t->gone_sole);
	ghosts_free(&t->gone_hot);
	sketch_free(&t->misses);
}

static size_t eviction_tiers_memory(const struct eviction *e)
{
	const struct tiers *t = (const struct tiers *)e;

	return (t->tier ? queued_memory(e) + e->config.nslots + 1 : 0) +
	       eviction_memory(t->sole) + ghosts_memory(&t->gone_sole) +
	       ghosts_memory(&t->gone_hot) + sketch_memory(&t->misses);
}

static uint64_t eviction_tiers_percentage(const struct tiers *t, uint64_t ppm)
{
	const uint64_t capacity = t->q.base.config.capacity;

	return capacity / TIERS_MILLION * ppm +
	       capacity % TIERS_MILLION * ppm / TIERS_MILLION;
}

/* It may have been given another one. */
static void eviction_tiers_follow_capacity(struct tiers *t)
{
	const uint64_t capacity = t->q.base.config.capacity;

	eviction_resize(t->sole, t->hot_weight < capacity
					 ? capacity - t->hot_weight
					 : 0);
}

static uint64_t eviction_tiers_hot_limit(const struct tiers *t)
{
	return eviction_tiers_percentage(t, t->share_ppm);
}

static void eviction_tiers_remember(struct tiers *t, struct ghosts *g,
				    struct eviction_item item)
{
	ghosts_push(g, item,
		    eviction_tiers_percentage(t, TIERS_GHOSTS_PERCENT *
							 TIERS_MILLION / 100));
}

/* In and out */

static void eviction_tiers_push_hot(struct tiers *t, uint32_t slot,
				    uint64_t weight)
{
	t->tier[slot] = TIER_HOT;
	t->nhot++;
	t->hot_weight += weight;
	queued_insert_marked(&t->q.base, slot);
}

static void eviction_tiers_push_sole(struct tiers *t, uint32_t slot)
{
	if (t->tier)
		t->tier[slot] = TIER_SOLE;
	t->nsole++;
	eviction_insert(t->sole, slot);
}

static void eviction_tiers_unlink_hot(struct tiers *t, uint32_t slot)
{
	queue_unlink(t->q.links, slot);
	t->nhot--;
	t->hot_weight -= eviction_ask(&t->q.base, slot).weight;
}

/* A hot copy is not expected, see eviction_tiers.h. */
static void eviction_tiers_expect(struct eviction *e, struct eviction_item item)
{
	eviction_expect(eviction_tiers_of(e)->sole, item);
}

/* Without memory for the first hot copy it is held as a sole one. */
static void eviction_tiers_insert(struct eviction *e, uint32_t slot)
{
	const struct eviction_config *c = &e->config;
	struct tiers *t = eviction_tiers_of(e);

	if (c->copy && c->copy(c->arg, slot) &&
	    (t->tier || !eviction_tiers_reserve_hot(t, c->nslots)))
		eviction_tiers_push_hot(t, slot, eviction_ask(e, slot).weight);
	else
		eviction_tiers_push_sole(t, slot);
}

static void eviction_tiers_remove(struct eviction *e, uint32_t slot)
{
	struct tiers *t = eviction_tiers_of(e);

	if (eviction_tiers_is_in_hot(t, slot)) {
		eviction_tiers_unlink_hot(t, slot);
		return;
	}
	t->nsole--;
	eviction_remove(t->sole, slot);
}

/* Uses */

/* A mark that has all is not written, see queued_share_hit_marked(). */
static void eviction_tiers_count_use(struct tiers *t, uint32_t slot)
{
	uint8_t *mark = __atomic_load_n(&t->q.mark, __ATOMIC_ACQUIRE), uses;

	if (!mark) /* no copy has been hot */
		return;
	mark += slot;
	uses = __atomic_load_n(mark, __ATOMIC_RELAXED);
	if (uses < TIERS_USES)
		__atomic_store_n(mark, (uint8_t)(uses + 1), __ATOMIC_RELAXED);
}

static bool eviction_tiers_take_use(struct tiers *t, uint32_t slot)
{
	uint8_t uses = __atomic_load_n(&t->q.mark[slot], __ATOMIC_RELAXED);

	if (!uses)
		return false;
	__atomic_store_n(&t->q.mark[slot], (uint8_t)(uses - 1),
			 __ATOMIC_RELAXED);
	return true;
}

static void eviction_tiers_hit(struct eviction *e, uint32_t slot)
{
	struct tiers *t = eviction_tiers_of(e);

	if (eviction_tiers_is_in_hot(t, slot))
		eviction_tiers_count_use(t, slot);
	else
		eviction_hit(t->sole, slot);
}

/* Which tier the slot is in may change meanwhile, so both get a mark: whoever
 * comes in has it cleared. */
static void eviction_tiers_share_hit(struct eviction *e, uint32_t slot)
{
	eviction_tiers_count_use(eviction_tiers_of(e), slot);
	eviction_share_hit(eviction_tiers_of(e)->sole, slot);
}

/* Making room */

static bool eviction_tiers_is_alone(const struct tiers *t, uint32_t slot)
{
	const struct eviction_config *c = &t->q.base.config;

	return c->alone && c->alone(c->arg, slot);
}

/* The hot copy that goes; EVICTION_NONE: all of them have become sole ones. */
static uint32_t eviction_tiers_evict_hot(struct tiers *t)
{
	while (t->nhot) {
		uint32_t slot = queue_oldest(t->q.links, 0);

		if (eviction_tiers_take_use(t, slot)) {
			queue_renew(t->q.links, 0, slot);
			continue;
		}
		eviction_tiers_unlink_hot(t, slot);
		if (!eviction_tiers_is_alone(t, slot)) {
			eviction_tiers_remember(t, &t->gone_hot,
						eviction_ask(&t->q.base, slot));
			return slot;
		}
		eviction_tiers_push_sole(t, slot);
		if (t->hot_weight <= eviction_tiers_hot_limit(t))
			break;
	}
	return EVICTION_NONE;
}

static uint32_t eviction_tiers_evict(struct eviction *e)
{
	struct tiers *t = eviction_tiers_of(e);
	uint32_t slot = EVICTION_NONE;

	t->full = true;
	eviction_tiers_follow_capacity(t);
	if (t->hot_weight > eviction_tiers_hot_limit(t) || !t->nsole)
		slot = eviction_tiers_evict_hot(t);
	if (slot != EVICTION_NONE)
		return slot;
	slot = eviction_evict(t->sole);
	t->nsole--;
	eviction_tiers_remember(t, &t->gone_sole, eviction_ask(e, slot));
	return slot;
}

static void eviction_tiers_prefetch(const struct eviction *e, uint32_t slot)
{
	const struct tiers *t = (const struct tiers *)e;

	if (t->tier) {
		__builtin_prefetch(&t->tier[slot]);
		__builtin_prefetch(&t->q.mark[slot], 1);
	}
	eviction_prefetch(t->sole, slot);
}

/* Nearly all that goes is sole. */
static uint32_t eviction_tiers_foresee(const struct eviction *e, uint32_t after)
{
	const struct tiers *t = (const struct tiers *)e;

	return t->nsole ? eviction_foresee(t->sole, after) : EVICTION_NONE;
}

/* Sole copies first: of the hot ones others have one, too. */
static uint32_t eviction_tiers_recall(const struct eviction *e, uint32_t before)
{
	const struct tiers *t = (const struct tiers *)e;
	uint32_t slot;

	if (before != EVICTION_NONE && eviction_tiers_is_in_hot(t, before))
		return queue_recall(t->q.links, 0, before);
	slot = eviction_recall(t->sole, before);
	if (slot == EVICTION_NONE && t->nhot)
		slot = queue_recall(t->q.links, 0, EVICTION_NONE);
	return slot;
}

static bool eviction_tiers_was_used(const struct eviction *e, uint32_t slot)
{
	const struct tiers *t = (const struct tiers *)e;

	return eviction_tiers_is_in_hot(t, slot)
		       ? queued_was_marked(e, slot)
		       : eviction_was_used(t->sole, slot);
}

#define TIERS_FUNCTIONS                                                        \
	.name = "tiers", .about = "hot copies beside what is held for all",    \
	.size = sizeof(struct tiers), .reserve = eviction_tiers_reserve,       \
	.release = eviction_tiers_release, .memory = eviction_tiers_memory,    \
	.expect = eviction_tiers_expect, .insert = eviction_tiers_insert,      \
	.hit = eviction_tiers_hit, .remove = eviction_tiers_remove,            \
	.evict = eviction_tiers_evict, .prefetch = eviction_tiers_prefetch,    \
	.foresee = eviction_tiers_foresee, .was_used = eviction_tiers_was_used

/* By what the policy of sole copies can: have any thread share uses, and tell
 * an order. */
static const struct eviction_policy eviction_tiers[2][2] = {
	{{TIERS_FUNCTIONS},
	 {TIERS_FUNCTIONS, .recall = eviction_tiers_recall}},
	{{TIERS_FUNCTIONS, .share_hit = eviction_tiers_share_hit},
	 {TIERS_FUNCTIONS, .share_hit = eviction_tiers_share_hit,
	  .recall = eviction_tiers_recall}},
};

int eviction_tiers_new(struct eviction **out,
		       const struct eviction_policy *sole,
		       const struct eviction_config *config)
{
	struct eviction_config empty = *config;
	struct tiers *t;
	int err;

	empty.nslots = 0;
	err = eviction_new(
		out, &eviction_tiers[sole->share_hit != NULL]
				    [sole->recall != NULL], &empty);
	if (err)
		return err;
	t = eviction_tiers_of(*out);
	t->share_ppm = TIERS_LEAST_PPM;
	err = eviction_new(&t->sole, sole, &empty);
	if (!err)
		err = eviction_reserve(*out, config->nslots);
	if (err)
		eviction_free(out);
	return err;
}

bool eviction_has_tiers(const struct eviction *e)
{
	return e->policy->evict == eviction_tiers_evict;
}

/* The tier's business */

unsigned eviction_tiers_price(int64_t peer_ms, int64_t origin_ms)
{
	const int64_t saved_ms = origin_ms + TIERS_ORIGIN_MS - peer_ms;
	int64_t price;

	if (peer_ms <= 0 || origin_ms <= 0)
		return 0;
	if (saved_ms <= 0)
		return TIERS_PRICE_MAX;
	price = peer_ms * TIERS_PRICE / saved_ms;
	return price < TIERS_PRICE_MAX ? (unsigned)price : TIERS_PRICE_MAX;
}

/* Moves the border, if the miss says something of it. */
static void eviction_tiers_judge_share(struct tiers *t,
				       const struct tiers_miss *miss)
{
	uint64_t step = TIERS_STEP_PPM;

	if (!ghosts_take(miss->remote ? &t->gone_hot : &t->gone_sole,
			 miss->hash))
		return;
	if (miss->remote) {
		step = t->share_ppm + step * miss->price / TIERS_PRICE;
		t->share_ppm =
			step < TIERS_MOST_PPM ? (uint32_t)step : TIERS_MOST_PPM;
		return;
	}
	step *= miss->nodes;
	t->share_ppm = t->share_ppm > TIERS_LEAST_PPM + step
			       ? t->share_ppm - (uint32_t)step
			       : TIERS_LEAST_PPM;
}

/* Whether there is room for a hot copy, or the oldest is to make it. */
static bool eviction_tiers_has_room(struct tiers *t, uint64_t weight)
{
	const uint64_t limit = eviction_tiers_hot_limit(t);
	uint32_t oldest;

	if (weight > limit)
		return false;
	if (!t->full || t->hot_weight + weight <= limit)
		return true;
	oldest = queue_oldest(t->q.links, 0);
	if (!eviction_tiers_take_use(t, oldest))
		return true;
	queue_renew(t->q.links, 0, oldest);
	return false;
}

/* What makes an object a large one: this part of a node's capacity. */
static unsigned eviction_tiers_parts(unsigned nodes)
{
	const unsigned parts = nodes > TIERS_NODES_FEW ?
				       TIERS_PARTS * TIERS_NODES_FEW / nodes :
				       TIERS_PARTS;

	return parts > TIERS_PARTS_MANY ? parts : TIERS_PARTS_MANY;
}

/* Whether what an origin has sent is worth the others that it makes go. */
static bool eviction_tiers_is_worth_it(struct tiers *t,
				       const struct tiers_miss *miss)
{
	const uint64_t part = t->q.base.config.capacity /
			      eviction_tiers_parts(miss->nodes);

	return miss->weight <= part || !t->full || miss->nodes < 2 ||
	       scd__splitmix64(&t->random) % miss->weight < part;
}

/* Whether what a peer has sent becomes a hot copy. */
static bool eviction_tiers_is_hot(struct tiers *t,
				  const struct tiers_miss *miss)
{
	const unsigned wanted = t->full ? TIERS_MISSES : TIERS_MISSES_ROOMY;

	if (!t->misses.counters ||
	    sketch_estimate(&t->misses, miss->hash) < wanted)
		return false;
	if (eviction_tiers_has_room(t, miss->weight))
		return true;
	eviction_tiers_remember(
		t, &t->gone_hot,
		(struct eviction_item){miss->hash, miss->weight});
	return false;
}

/* Counts a miss, unless no peer could ever send its object. Without memory for
 * the counters it is not counted. */
static void eviction_tiers_count_miss(struct tiers *t,
				      const struct tiers_miss *miss)
{
	const uint32_t nslots = t->q.base.config.nslots;

	if (!t->misses.counters &&
	    ((!miss->remote && miss->nodes < 2) ||
	     sketch_reserve(&t->misses, nslots)))
		return;
	sketch_add(&t->misses, miss->hash);
}

bool eviction_tiers_missed(struct eviction *e, const struct tiers_miss *miss)
{
	struct tiers *t = eviction_tiers_of(e);

	assert(eviction_has_tiers(e));
	eviction_tiers_judge_share(t, miss);
	eviction_tiers_count_miss(t, miss);
	return miss->remote ? eviction_tiers_is_hot(t, miss)
			    : eviction_tiers_is_worth_it(t, miss);
}

void eviction_tiers_stats(const struct eviction *e, struct tiers_stats *out)
{
	const struct tiers *t = (const struct tiers *)e;

	assert(eviction_has_tiers(e));
	*out = (struct tiers_stats){t->nhot, t->hot_weight,
				    eviction_tiers_hot_limit(t), t->share_ppm};
}
