/*
 * One simulated cache: a map from objects to slots, what is in the slots, and
 * a policy that says which of them goes.
 */
#include "cachesim/sim/sim_cache.h"

#include <stdlib.h>

#include "cachesim/sim/map.h"
#include "codec/error.h"

enum {
	FIRST_SLOTS = 256, /* and at least so many more each time */
	PLACE_AHEAD = 16,  /* requests ahead of which memory is fetched: */
	SLOT_AHEAD = 8,    /* the place in the map, then the policy's */
};

struct sim_cache {
	struct sim_map map;
	struct eviction *eviction;
	struct sim_held *held; /* by slot */
	uint32_t nslots, free_slot;
	bool adds_copy; /* what comes in now is one */
	struct sim_cache_config config;
	/* Alone: beside another count that changes with it sometimes, both are
	 * loaded at once, which waits for all stores before. */
	uint64_t bytes;
	uint64_t puts, put_bytes;
	uint64_t evicted, evicted_bytes, dropped;
};

static struct eviction_item sim_cache_item_of(const struct sim_cache *c,
					      uint32_t object, uint32_t size)
{
	return (struct eviction_item){
		c->config.hash ? c->config.hash[object]
			       : sim_hash_of_number(object),
		size,
	};
}

static struct eviction_item sim_cache_item(void *arg, uint32_t slot)
{
	const struct sim_cache *c = arg;

	return sim_cache_item_of(c, c->held[slot].object, c->held[slot].size);
}

static bool sim_cache_copy(void *arg, uint32_t slot)
{
	(void)slot;
	return ((const struct sim_cache *)arg)->adds_copy;
}

static bool sim_cache_is_alone(void *arg, uint32_t slot)
{
	const struct sim_cache *c = arg;

	return c->config.alone(c->config.arg, c->held[slot].object);
}

/* What is in the slots; nothing is lost when it cannot grow. */
static int sim_cache_grow_held(struct sim_cache *c, uint32_t nslots)
{
	struct sim_held *grown =
		realloc(c->held, (size_t)nslots * sizeof(*grown));

	if (!grown)
		return SCD_ENOMEM;
	c->held = grown;
	return 0;
}

/* More slots, all of them free; called when none is. */
static int sim_cache_grow(struct sim_cache *c)
{
	uint64_t nslots = (uint64_t)c->nslots + c->nslots / 4 + FIRST_SLOTS;
	int err;

	if (nslots > c->config.nobjects)
		nslots = c->config.nobjects;
	if (nslots > EVICTION_SLOTS)
		nslots = EVICTION_SLOTS;
	if (nslots <= c->nslots)
		return SCD_ENOMEM;
	err = sim_cache_grow_held(c, (uint32_t)nslots);
	if (!err)
		err = sim_map_reserve(&c->map, (uint32_t)nslots, c->held);
	if (!err)
		err = eviction_reserve(c->eviction, (uint32_t)nslots);
	if (err)
		return err;
	for (uint32_t i = (uint32_t)nslots; i-- > c->nslots;) {
		c->held[i].object = c->free_slot;
		c->free_slot = i;
	}
	c->nslots = (uint32_t)nslots;
	return 0;
}

int sim_cache_new(struct sim_cache **out, const struct sim_cache_config *config)
{
	struct sim_cache *c = calloc(1, sizeof(*c));
	struct eviction_config eviction = {
		.capacity = config->capacity,
		.item = sim_cache_item,
		.copy = sim_cache_copy,
		.alone = config->alone ? sim_cache_is_alone : NULL,
		.arg = c,
	};
	int err;

	if (!c)
		return SCD_ENOMEM;
	c->config = *config;
	c->free_slot = EVICTION_NONE;
	err = sim_map_init(&c->map, config->nobjects, config->hashed);
	if (!err)
		err = (config->tiers ? eviction_tiers_new : eviction_new)(
			&c->eviction, config->policy, &eviction);
	if (err) {
		sim_cache_free(&c);
		return err;
	}
	*out = c;
	return 0;
}

void sim_cache_free(struct sim_cache **c)
{
	if (!*c)
		return;
	sim_map_free(&(*c)->map);
	eviction_free(&(*c)->eviction);
	free((*c)->held);
	free(*c);
	*c = NULL;
}

static uint32_t sim_cache_slot_of(const struct sim_cache *c, uint32_t object)
{
	return sim_map_find(&c->map, object, c->held);
}

bool sim_cache_get(struct sim_cache *c, uint32_t object)
{
	uint32_t slot = sim_cache_slot_of(c, object);

	if (slot == EVICTION_NONE)
		return false;
	eviction_hit(c->eviction, slot);
	return true;
}

bool sim_cache_has(const struct sim_cache *c, uint32_t object)
{
	return sim_cache_slot_of(c, object) != EVICTION_NONE;
}

/* A slot that the policy does not know any more becomes free. */
static void sim_cache_empty_slot(struct sim_cache *c, uint32_t slot)
{
	sim_map_remove(&c->map, c->held[slot].object, slot);
	c->bytes -= c->held[slot].size;
	c->held[slot].object = c->free_slot;
	c->free_slot = slot;
}

/* What goes next is fetched by now, mostly, so that what there is of its object
 * can be; the one after it will be. Always inline: gcc takes a function that
 * only fetches for one without any effect. */
__attribute__((always_inline)) static inline void
cache_fetch_victims(const struct sim_cache *c)
{
	uint32_t slot = eviction_foresee(c->eviction, EVICTION_NONE);
	uint32_t object;

	if (slot == EVICTION_NONE)
		return;
	object = c->held[slot].object;
	__builtin_prefetch(sim_map_begin(&c->map, object), 1);
	if (c->config.rows)
		__builtin_prefetch(c->config.rows + object * c->config.row, 1);
	slot = eviction_foresee(c->eviction, slot);
	if (slot != EVICTION_NONE)
		__builtin_prefetch(&c->held[slot], 1);
}

static void sim_cache_evict_one(struct sim_cache *c)
{
	uint32_t slot = eviction_evict(c->eviction);
	uint32_t object = c->held[slot].object;

	cache_fetch_victims(c);
	c->evicted++;
	c->evicted_bytes += c->held[slot].size;
	sim_cache_empty_slot(c, slot);
	if (c->config.evicted)
		c->config.evicted(c->config.arg, object);
}

/* An object into a free slot. */
static void sim_cache_fill_slot(struct sim_cache *c, uint32_t object,
				uint32_t size)
{
	uint32_t slot = c->free_slot;

	c->free_slot = c->held[slot].object;
	c->held[slot] = (struct sim_held){ object, size };
	c->bytes += size;
	c->puts++;
	c->put_bytes += size;
	sim_map_add(&c->map, object, slot);
	eviction_insert(c->eviction, slot);
}

int sim_cache_add(struct sim_cache *c, uint32_t object, uint32_t size)
{
	int err = 0;

	if (size > c->config.capacity)
		return SCD_ELIMIT;
	if (eviction_expects(c->eviction) &&
	    !c->adds_copy) /* the hash is far away */
		eviction_expect(c->eviction,
				sim_cache_item_of(c, object, size));
	while (c->bytes + size > c->config.capacity)
		sim_cache_evict_one(c);
	if (c->free_slot == EVICTION_NONE)
		err = sim_cache_grow(c);
	if (!err)
		sim_cache_fill_slot(c, object, size);
	return err;
}

int sim_cache_add_copy(struct sim_cache *c, uint32_t object, uint32_t size)
{
	int err;

	c->adds_copy = true;
	err = sim_cache_add(c, object, size);
	c->adds_copy = false;
	return err;
}

bool sim_cache_missed(struct sim_cache *c, uint32_t object,
		      struct tiers_miss miss)
{
	miss.hash = sim_cache_item_of(c, object, 0).hash;
	return eviction_tiers_missed(c->eviction, &miss);
}

int sim_cache_put(struct sim_cache *c, uint32_t object, uint32_t size)
{
	sim_cache_drop(c, object);
	return sim_cache_add(c, object, size);
}

void sim_cache_resize(struct sim_cache *c, uint64_t capacity)
{
	c->config.capacity = capacity;
	eviction_resize(c->eviction, capacity);
	while (c->bytes > capacity)
		sim_cache_evict_one(c);
}

bool sim_cache_drop(struct sim_cache *c, uint32_t object)
{
	uint32_t slot = sim_cache_slot_of(c, object);

	if (slot == EVICTION_NONE)
		return false;
	eviction_remove(c->eviction, slot);
	c->dropped++;
	sim_cache_empty_slot(c, slot);
	return true;
}

void sim_cache_prefetch(const struct sim_cache *c, uint32_t object)
{
	__builtin_prefetch(sim_map_begin(&c->map, object), 1);
}

void sim_cache_prefetch_slot(const struct sim_cache *c, uint32_t object)
{
	uint32_t slot = sim_map_guess(&c->map, object);

	if (slot == EVICTION_NONE)
		return;
	eviction_prefetch(c->eviction, slot);
	if (c->config.hashed)
		__builtin_prefetch(&c->held[slot]);
}

/* The two steps ahead of request i, as far as there are requests. */
static void sim_cache_prefetch_ahead(const struct sim_cache *c,
				     const struct sim_cache_requests *r,
				     size_t i)
{
	size_t end = r->n + r->ahead;

	if (i + PLACE_AHEAD >= end)
		return;
	sim_cache_prefetch(c, r->object[i + PLACE_AHEAD]);
	if (r->size)
		__builtin_prefetch(&r->size[r->object[i + PLACE_AHEAD]]);
	sim_cache_prefetch_slot(c, r->object[i + SLOT_AHEAD]);
}

int sim_cache_replay(struct sim_cache *c, const struct sim_cache_requests *r,
		     struct sim_cache_hits *out)
{
	struct sim_cache_hits hit = { 0 };
	int err = 0;

	for (size_t i = 0; i < r->n; i++) {
		uint32_t object = r->object[i];
		uint32_t size = r->size ? r->size[object] : 1;

		sim_cache_prefetch_ahead(c, r, i);
		if (sim_cache_get(c, object)) {
			hit.hits++;
			hit.hit_bytes += size;
		} else if (sim_cache_add(c, object, size) == SCD_ENOMEM) {
			err = SCD_ENOMEM;
		}
	}
	out->hits += hit.hits;
	out->hit_bytes += hit.hit_bytes;
	return err;
}

void sim_cache_stats(const struct sim_cache *c, struct sim_cache_stats *out)
{
	*out = (struct sim_cache_stats){
		.objects = c->puts - c->evicted - c->dropped,
		.bytes = c->bytes,
		.puts = c->puts,
		.put_bytes = c->put_bytes,
		.evicted = c->evicted,
		.evicted_bytes = c->evicted_bytes,
	};
}

size_t sim_cache_memory(const struct sim_cache *c)
{
	return sizeof(*c) + sim_map_memory(&c->map) +
	       c->nslots * sizeof(*c->held) +
	       eviction_memory(c->eviction);
}
