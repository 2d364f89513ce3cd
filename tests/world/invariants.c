/*
 * What holds in every world.
 */
#include "tests/world/invariants.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "codec/bloom.h"
#include "digestd/cache/cache_inside.h"
#include "digestd/http/conditional.h"
#include "digestd/mesh/sector.h"
#include "digestd/os/memory.h"
#include "digestd/peers/peer_follower.h"
#include "digestd/peers/publisher.h"
#include "digestd/proxy/collapse.h"
#include "digestd/proxy/request.h"
#include "digestd/server/server.h"
#include "cachesim/world/nodes.h"
#include "cachesim/world/world.h"

enum {
	CATALOGS = 2 * NODES_MAX, /* what is held, and what was seen */
	SAMPLE = 16,              /* keys of a published generation */
	PUBLISHED = 2048,         /* generations that are kept in mind */
	WALK_STEPS = 1024,        /* from one walk to the next, at least */
	STEPS_A_KEY = 4,
	ARRAY_MS = 2000, /* after which some publish no arrays */
	SECTORS = 8, /* nodes at a location, at most: as many as in a world */
};

static const struct keypart all_keys = {.number = 0, .count = 1};

/* The keys that a catalog was told of, but for those that it was told have
 * gone. */
struct told {
	const struct catalog *catalog; /* null: unused */
	uint64_t sum, keys;
};

/* What a node has; null: it does not run. */
struct watched {
	struct cache *cache;
	struct peer_follower *follow;
	uint64_t instance, generation; /* the last that was published */
	uint64_t next_walk;
	/* its copies of peers' digests, as last looked at */
	struct {
		uint64_t instance, generation;
	} copies[NODES_MAX];
};

/* A generation when it was taken from the catalog. */
struct published {
	uint64_t instance, generation;
	uint64_t nbits, hash; /* of the array; 0: there is none */
	uint64_t nkeys;
	uint32_t nkeys_of[SECTORS + 1][SECTORS]; /* of each sector of so many */
	unsigned nsample;
	struct scd_key sample[SAMPLE];
};

static struct {
	struct told told[CATALOGS];
	struct watched nodes[NODES_MAX];
	struct published published[PUBLISHED];
	uint64_t steps;
	uint64_t overdrawn; /* added while nothing was left */
	uint64_t checked;   /* bytes in use when the ledger was looked at */
	/* of all worlds so far: what has been compared */
	struct {
		uint64_t lists, sectors;
	} count;
} inv;

unsigned invariants_report(void)
{
	const bool no_lists = inv.count.lists == inv.count.sectors;
	const bool no_sectors = !inv.count.sectors;

	if (no_lists)
		printf("# no list of all that a peer holds was compared\n");
	if (no_sectors)
		printf("# no list of a sector was compared\n");
	return no_lists + no_sectors;
}

static uint64_t invariants_hash(const struct scd_key *key)
{
	return world_hash(key->lo, key->hi);
}

/* What catalogs are told */

static struct told *invariants_told(const struct catalog *catalog)
{
	for (size_t i = 0; i < CATALOGS; i++) {
		if (inv.told[i].catalog == catalog)
			return &inv.told[i];
	}
	world_fail("there are more catalogs than nodes can have");
}

int __real_catalog_new(struct catalog **out, uint64_t nbits, unsigned nhash);
int __wrap_catalog_new(struct catalog **out, uint64_t nbits, unsigned nhash);
void __real_catalog_free(struct catalog **c);
void __wrap_catalog_free(struct catalog **c);
void __real_catalog_add(struct catalog *c, const struct scd_key *key);
void __wrap_catalog_add(struct catalog *c, const struct scd_key *key);
void __real_catalog_remove(struct catalog *c, const struct scd_key *key);
void __wrap_catalog_remove(struct catalog *c, const struct scd_key *key);

int __wrap_catalog_new(struct catalog **out, uint64_t nbits, unsigned nhash)
{
	int err = __real_catalog_new(out, nbits, nhash);

	if (!err)
		*invariants_told(NULL) = (struct told){.catalog = *out};
	return err;
}

void __wrap_catalog_free(struct catalog **c)
{
	if (*c)
		*invariants_told(*c) = (struct told){0};
	__real_catalog_free(c);
}

void __wrap_catalog_add(struct catalog *c, const struct scd_key *key)
{
	struct told *told = invariants_told(c);

	told->sum += invariants_hash(key);
	told->keys++;
	__real_catalog_add(c, key);
}

void __wrap_catalog_remove(struct catalog *c, const struct scd_key *key)
{
	struct told *told = invariants_told(c);

	told->sum -= invariants_hash(key);
	told->keys--;
	__real_catalog_remove(c, key);
}

/* What nodes have */

int __real_cache_new(const struct cache_settings *settings, struct cache **out);
int __wrap_cache_new(const struct cache_settings *settings, struct cache **out);
void __real_cache_free(struct cache **cache);
void __wrap_cache_free(struct cache **cache);
int __real_publisher_new(struct loop *loop, struct digest_api *api,
			 const struct publisher_settings *settings,
			 struct publisher **out);
int __wrap_publisher_new(struct loop *loop, struct digest_api *api,
			 const struct publisher_settings *settings,
			 struct publisher **out);
int __real_peer_follower_new(struct loop *loop, struct fetcher *fetcher,
			     const struct peer_follower_settings *settings,
			     const struct upstream *places, size_t n,
			     void (*changed)(void *arg), void *arg,
			     struct peer_follower **out);
int __wrap_peer_follower_new(struct loop *loop, struct fetcher *fetcher,
			     const struct peer_follower_settings *settings,
			     const struct upstream *places, size_t n,
			     void (*changed)(void *arg), void *arg,
			     struct peer_follower **out);
void __real_peer_follower_free(struct peer_follower **f);
void __wrap_peer_follower_free(struct peer_follower **f);
struct peerset *__real_peer_follower_view(struct peer_follower *f);
struct peerset *__wrap_peer_follower_view(struct peer_follower *f);

static struct watched *invariants_watched(const struct cache *cache)
{
	for (unsigned i = 0; i < nodes_count(); i++) {
		if (inv.nodes[i].cache == cache)
			return &inv.nodes[i];
	}
	return NULL;
}

int __wrap_cache_new(const struct cache_settings *settings, struct cache **out)
{
	int err = __real_cache_new(settings, out);

	if (!err)
		inv.nodes[nodes_place] = (struct watched){.cache = *out};
	return err;
}

void __wrap_cache_free(struct cache **cache)
{
	struct watched *node = *cache ? invariants_watched(*cache) : NULL;

	if (node)
		*node = (struct watched){0};
	__real_cache_free(cache);
}

int __wrap_publisher_new(struct loop *loop, struct digest_api *api,
			 const struct publisher_settings *settings,
			 struct publisher **out)
{
	struct watched *node = invariants_watched(settings->source.arg);

	/* some soon publish lists alone */
	struct publisher_settings own = *settings;

	if (nodes_place % 2)
		own.array_ms = ARRAY_MS;
	if (node)
		node->instance = settings->instance;
	return __real_publisher_new(loop, api, &own, out);
}

int __wrap_peer_follower_new(struct loop *loop, struct fetcher *fetcher,
			     const struct peer_follower_settings *settings,
			     const struct upstream *places, size_t n,
			     void (*changed)(void *arg), void *arg,
			     struct peer_follower **out)
{
	int err = __real_peer_follower_new(loop, fetcher, settings, places, n,
					   changed, arg, out);

	/* the first is of what peers hold; others, of what they have seen */
	if (!err && !inv.nodes[nodes_place].follow)
		inv.nodes[nodes_place].follow = *out;
	return err;
}

void __wrap_peer_follower_free(struct peer_follower **f)
{
	for (unsigned i = 0; *f && i < nodes_count(); i++) {
		if (inv.nodes[i].follow == *f)
			inv.nodes[i].follow = NULL;
	}
	__real_peer_follower_free(f);
}

/* A catalog and its stores */

struct walk {
	const struct cache *cache;
	const struct tier *tier;
	uint64_t sum, keys;
	struct published *p; /* null: nothing is published */
	const struct scd_bloom *bloom;
};

static bool invariants_has(const struct tier *t, const struct scd_key *key)
{
	return t->store && store_counts(t->store, key);
}

static bool invariants_is_from_peer(const struct cached *c)
{
	size_t len;
	const char *text = cached_text(c, &len);

	return cached_text_origin(text, len) == CACHED_FROM_PEER;
}

/* Of what is in memory: a key that others hear of has something for them. */
static void invariants_check_offer(const struct walk *w,
				   const struct scd_key *key)
{
	const struct store_entry *e;

	if (w->tier == &w->cache->ondisk)
		return;
	for (e = store_find(w->tier->store, key); e; e = store_next(e)) {
		if (!invariants_is_from_peer((const struct cached *)e))
			return;
	}
	world_fail("a node offers others what it has from a peer");
}

void __real_reply_cached(struct request *r, struct cached *c);
void __wrap_reply_cached(struct request *r, struct cached *c);
void __real_reply_joined(struct request *r);
void __wrap_reply_joined(struct request *r);

/* But that it is still fresh, who has the same may be told. */
static void invariants_check_reply(const struct request *r,
				   const struct cached *c)
{
	const struct fields *asked = exchange_request(r->x)->fields;

	if (r->node.from_peer && invariants_is_from_peer(c) &&
	    !conditional_present(asked))
		world_fail("a node gives another what it has from a peer");
}

void __wrap_reply_cached(struct request *r, struct cached *c)
{
	invariants_check_reply(r, c);
	__real_reply_cached(r, c);
}

void __wrap_reply_joined(struct request *r)
{
	invariants_check_reply(r, collapse_head(&r->reader));
	__real_reply_joined(r);
}

/* The number of the sector that has a key, of so many. */
static unsigned invariants_sector(const struct scd_key *key, unsigned count)
{
	struct sector s = {.count = count};

	while (!sector_has(&s, key))
		s.number++;
	return s.number;
}

static void invariants_walk_key(void *arg, const struct scd_key *key)
{
	struct walk *w = arg;

	invariants_check_offer(w, key);
	if (w->tier->store != cache_main(w->cache, key)->store &&
	    invariants_has(cache_main(w->cache, key), key))
		return;
	if (w->tier == &w->cache->ondisk && invariants_has(&w->cache->ram, key))
		return;
	w->sum += invariants_hash(key);
	w->keys++;
	if (!w->p)
		return;
	if (w->bloom->bits && !scd_bloom_has(w->bloom, key))
		world_fail("generation %" PRIu64 " says no for what is held",
			   w->p->generation);
	for (unsigned count = 1; count <= SECTORS; count++)
		w->p->nkeys_of[count][invariants_sector(key, count)]++;
	if (w->p->nsample < SAMPLE)
		w->p->sample[w->p->nsample++] = *key;
}

static void invariants_walk_tier(struct walk *w, const struct tier *tier)
{
	w->tier = tier;
	if (tier->store)
		store_each_counted_key(tier->store, &all_keys,
				       invariants_walk_key, w);
}

static void invariants_walk_tiers(struct walk *w)
{
	for (unsigned i = 0; i < w->cache->nshards; i++)
		invariants_walk_tier(w, &w->cache->shards[i].main);
	invariants_walk_tier(w, &w->cache->ram);
	invariants_walk_tier(w, &w->cache->ondisk);
}

static void invariants_check_size(unsigned node, const struct tier *t)
{
	struct store_stats now;

	if (!t->store)
		return;
	store_stats(t->store, &now);
	if (now.weight > now.max_weight)
		world_fail("a store of node %u weighs %" PRIu64 " of %" PRIu64,
			   node, now.weight, now.max_weight);
}

/* Returns how many keys it has. */
static uint64_t invariants_check_cache(unsigned node)
{
	struct cache *cache = inv.nodes[node].cache;
	const struct told *told = invariants_told(cache->catalog);
	struct walk w = {.cache = cache};
	struct catalog_stats catalog;

	invariants_walk_tiers(&w);
	catalog_stats(cache_lock(cache), &catalog);
	cache_unlock(cache);
	if (w.keys != told->keys || w.sum != told->sum ||
	    w.keys != catalog.nkeys)
		world_fail("node %u has %" PRIu64 " keys, and its catalog knows"
			   " %" PRIu64 " of %" PRIu64,
			   node, w.keys, catalog.nkeys, told->keys);
	invariants_check_size(node, &cache->shards[0].main);
	invariants_check_size(node, &cache->ram);
	invariants_check_size(node, &cache->ondisk);
	return w.keys;
}

/* Digests */

static struct published *invariants_published(uint64_t instance,
					      uint64_t generation)
{
	return &inv.published[world_hash(instance, generation) % PUBLISHED];
}

static uint64_t invariants_hash_bits(const struct scd_bloom *b)
{
	uint64_t sum = b->nbits, word;
	size_t n = scd_bloom_bytes(b);

	for (size_t i = 0; i < n; i += sizeof(word)) {
		word = 0;
		memcpy(&word, b->bits + i,
		       n - i < sizeof(word) ? n - i : sizeof(word));
		if (word)
			sum = world_hash(sum ^ word, i);
	}
	return sum;
}

bool __real_catalog_snapshot_slice(struct catalog *c, int64_t now_ms,
				   struct catalog_snapshot *out);
bool __wrap_catalog_snapshot_slice(struct catalog *c, int64_t now_ms,
				   struct catalog_snapshot *out);

static void invariants_publish(struct watched *node,
			       const struct catalog_snapshot *s)
{
	struct published *p =
		invariants_published(node->instance, s->generation);
	struct walk w = {.cache = node->cache, .p = p, .bloom = &s->bloom};

	*p = (struct published){.instance = node->instance,
				.generation = s->generation,
				.nbits = s->bloom.nbits,
				.hash = invariants_hash_bits(&s->bloom)};
	node->generation = s->generation;
	invariants_walk_tiers(&w);
	p->nkeys = w.keys;
}

bool __wrap_catalog_snapshot_slice(struct catalog *c, int64_t now_ms,
				   struct catalog_snapshot *out)
{
	bool last = __real_catalog_snapshot_slice(c, now_ms, out);

	for (unsigned i = 0; last && i < nodes_count(); i++) {
		if (inv.nodes[i].cache && inv.nodes[i].cache->catalog == c)
			invariants_publish(&inv.nodes[i], out);
	}
	return last;
}

void __real_catalog_snapshot_changes(struct catalog *c, int64_t now_ms,
				     struct catalog_snapshot *out);
void __wrap_catalog_snapshot_changes(struct catalog *c, int64_t now_ms,
				     struct catalog_snapshot *out);

void __wrap_catalog_snapshot_changes(struct catalog *c, int64_t now_ms,
				     struct catalog_snapshot *out)
{
	__real_catalog_snapshot_changes(c, now_ms, out);
	for (unsigned i = 0; i < nodes_count(); i++) {
		if (inv.nodes[i].cache && inv.nodes[i].cache->catalog == c)
			invariants_publish(&inv.nodes[i], out);
	}
}

/* Whether a list, or the table that it is in, says that it has a key. */
static bool invariants_list_has(const struct peer_follower_status *peer,
				const struct scd_key *key)
{
	const struct peer_slot *slot = &peer->digest->slot;
	const unsigned number = slot->number;
	const struct scd_key within =
		peer->sector.count ? sector_key(&peer->sector, key) : *key;
	uint64_t found[PEER_TABLE_WORDS];

	return scd_list_has(peer_table_list(slot), &within) &&
	       peer_table_lookup(slot->table, &within, found) &&
	       found[number / 64] >> number % 64 & 1;
}

/* A follower's list, or that of its sector, has what its peer held, and as many
 * entries. */
static void invariants_check_list(const struct published *p,
				  const struct peer_follower_status *peer)
{
	const struct peer_digest *d = peer->digest;
	const struct sector *sector = &peer->sector;
	const struct scd_list *list = peer_table_list(&d->slot);
	const uint64_t nkeys =
		sector->count ? p->nkeys_of[sector->count][sector->number]
			      : p->nkeys;
	struct scd_digest_info info;

	scd_list_info(list, &info);
	if (info.generation != d->generation)
		return; /* it has gone on */
	if (info.nones != nkeys || d->nkeys != nkeys)
		world_fail("a list of generation %" PRIu64 " has %" PRIu64
			   " entries, not %" PRIu64,
			   d->generation, info.nones, nkeys);
	for (unsigned i = 0; i < p->nsample; i++) {
		if (sector_has(sector, &p->sample[i]) &&
		    !invariants_list_has(peer, &p->sample[i]))
			world_fail("a list of generation %" PRIu64 " says no "
				   "for what was held",
				   d->generation);
	}
	inv.count.lists++;
	inv.count.sectors += sector->count != 0;
}

/* A follower's copy is what its peer published, bit by bit; if it was folded on
 * its way, it says yes for some of the keys. */
static void invariants_check_digest(const struct peer_follower_status *peer)
{
	const struct peer_digest *d = peer->digest;
	const struct published *p =
		invariants_published(d->instance, d->generation);

	if (p->instance != d->instance || p->generation != d->generation)
		return; /* forgotten */
	if (peer_digest_is_list(d)) {
		invariants_check_list(p, peer);
		return;
	}
	if (p->nbits == d->bloom.nbits &&
	    p->hash != invariants_hash_bits(&d->bloom))
		world_fail("a copy of generation %" PRIu64 " is another digest",
			   d->generation);
	for (unsigned i = 0; i < p->nsample; i++) {
		if (!scd_bloom_has(&d->bloom, &p->sample[i]))
			world_fail("a copy of generation %" PRIu64 " says no "
				   "for what was held",
				   d->generation);
	}
}

/* The number of a node, from its name; NODES_MAX: it is none. */
static unsigned invariants_number(const char *name)
{
	unsigned number = (unsigned)strtoul(name + 1, NULL, 10);

	return *name == 'n' && number < NODES_MAX ? number : NODES_MAX;
}

struct peer_follower_status invariants_peer(unsigned node, const char *name)
{
	const struct peer_follower *f = inv.nodes[node].follow;
	struct peer_follower_status p;

	for (size_t k = 0; f && k < peer_follower_count(f); k++) {
		peer_follower_status(f, k, &p);
		if (!strcmp(p.name, name))
			return p;
	}
	world_fail("node %u has no peer %s", node, name);
}

static void invariants_check_copy(struct watched *node, size_t k)
{
	struct peer_follower_status p;
	unsigned peer;

	peer_follower_status(node->follow, k, &p);
	peer = invariants_number(p.name);
	if (peer == NODES_MAX || !p.digest ||
	    (node->copies[peer].instance == p.digest->instance &&
	     node->copies[peer].generation == p.digest->generation))
		return;
	node->copies[peer].instance = p.digest->instance;
	node->copies[peer].generation = p.digest->generation;
	invariants_check_digest(&p);
}

struct peerset *__wrap_peer_follower_view(struct peer_follower *f)
{
	size_t n = peer_follower_count(f);

	for (unsigned i = 0; i < nodes_count(); i++) {
		for (size_t k = 0; f == inv.nodes[i].follow && k < n; k++)
			invariants_check_copy(&inv.nodes[i], k);
	}
	return __real_peer_follower_view(f);
}

/* Memory */

void __real_ledger_add(struct ledger *l, enum ledger_use use, uint64_t bytes);
void __wrap_ledger_add(struct ledger *l, enum ledger_use use, uint64_t bytes);

/* What has to be there in any case may exceed the limit; nothing else may. */
void __wrap_ledger_add(struct ledger *l, enum ledger_use use, uint64_t bytes)
{
	__real_ledger_add(l, use, bytes);
	if (l->total > l->limit)
		inv.overdrawn += bytes;
}

static void invariants_check_ledger(void)
{
	const struct ledger *l = &memory_ledger;
	uint64_t sum = 0;

	if (l->total == inv.checked) /* mostly: nothing was counted since */
		return;
	inv.checked = l->total;
	for (unsigned i = 0; i < LEDGER_NUSES; i++) {
		if (l->used[i] > l->total)
			world_fail("more memory is returned than was taken");
		sum += l->used[i];
	}
	if (sum != l->total)
		world_fail("%" PRIu64 " bytes are in use, and %" PRIu64
			   " are counted",
			   sum, l->total);
	if (l->total <= l->limit)
		inv.overdrawn = 0;
	else if (l->total - l->limit > inv.overdrawn)
		world_fail("%" PRIu64 " bytes are taken of %" PRIu64, l->total,
			   l->limit);
}

/* All of it */

void invariants_step(void)
{
	inv.steps++;
	invariants_check_ledger();
	for (unsigned i = 0; i < nodes_count(); i++) {
		struct watched *node = &inv.nodes[i];

		if (node->cache && inv.steps >= node->next_walk)
			node->next_walk =
				inv.steps + WALK_STEPS +
				STEPS_A_KEY * invariants_check_cache(i);
	}
}

void invariants_walk(void)
{
	invariants_check_ledger();
	for (unsigned i = 0; i < nodes_count(); i++) {
		if (inv.nodes[i].cache)
			invariants_check_cache(i);
	}
}

static void invariants_check_peer(unsigned node, size_t k)
{
	const struct watched *peer;
	struct peer_follower_status p;

	peer_follower_status(inv.nodes[node].follow, k, &p);
	if (invariants_number(p.name) == NODES_MAX)
		return;
	peer = &inv.nodes[invariants_number(p.name)];
	if (p.health == HEALTH_BROKEN || p.health == HEALTH_QUARANTINE)
		world_fail("node %u does not ask %s, long after all faults: %s",
			   node, p.name, peer_health_state_text(p.health));
	if (!p.digest || p.digest->instance != peer->instance ||
	    p.digest->generation != peer->generation)
		world_fail(
			"long after all faults, node %u has generation %" PRIu64
			" of %s (%s), which has published %" PRIu64,
			node, p.digest ? p.digest->generation : 0, p.name,
			peer_health_state_text(p.health), peer->generation);
}

void invariants_healed(unsigned others)
{
	for (unsigned i = 0; i < nodes_count(); i++) {
		const struct peer_follower *f = inv.nodes[i].follow;

		if (f && peer_follower_count(f) != nodes_count() - 1 + others)
			world_fail("node %u follows %zu of its peers", i,
				   peer_follower_count(f));
		for (size_t k = 0; f && k < peer_follower_count(f); k++)
			invariants_check_peer(i, k);
	}
}
