/*
 * One simulated node: two caches, and a policy that says what goes where. No
 * object is in both.
 */
#include "cachesim/sim/node.h"

#include <stdlib.h>

#include "cachesim/sim/sim_cache.h"
#include "codec/error.h"

struct sim_node {
	struct sim_cache *disk;
	struct sim_cache *ram; /* null: there is none */
	struct admission *admission; /* null: everything is admitted */
	struct admission *own;	     /* the same, if it is not shared */
	uint64_t ram_capacity;	     /* that is its own now */
	struct sim_node_config config;
	struct sim_node_stats stats;
};

static struct admission_item node_item_of(const struct sim_node *n,
					  uint32_t object, uint32_t size)
{
	return (struct admission_item){
		n->config.hash ? n->config.hash[object]
			       : sim_hash_of_number(object),
		size,
	};
}

static void node_ram_evicted(void *arg, uint32_t object)
{
	struct sim_node *n = arg;

	if (n->config.gone)
		n->config.gone(n->config.arg, object);
}

static bool node_is_alone(void *arg, uint32_t object)
{
	const struct sim_node *n = arg;

	return n->config.alone(n->config.arg, object);
}

static void node_disk_evicted(void *arg, uint32_t object)
{
	struct sim_node *n = arg;

	if (n->admission)
		admission_evicted(n->admission,
				  node_item_of(n, object, 0).hash);
	if (n->config.gone)
		n->config.gone(n->config.arg, object);
}

static int node_make_admission(struct sim_node *n)
{
	struct admission_config options = n->config.options;
	int err;

	n->admission = n->config.shared;
	if (n->admission || !n->config.admission)
		return 0;
	options.capacity = n->config.capacity;
	options.eviction = n->config.eviction;
	err = admission_new(&n->own, n->config.admission, &options);
	n->admission = n->own;
	return err;
}

/* The tier's part of the capacity; 0 without one. */
static uint64_t node_ram_capacity(const struct sim_node *n)
{
	const struct admission *a = n->admission;

	if (!a || !a->policy->ram)
		return 0;
	return (uint64_t)((double)n->config.capacity * a->config.ram_share);
}

static int node_make_caches(struct sim_node *n)
{
	uint64_t ram = node_ram_capacity(n);
	struct sim_cache_config c = {
		.policy = n->config.eviction,
		.capacity = n->config.capacity - ram,
		.tiers = n->config.tiers,
		.nobjects = n->config.nobjects,
		.hashed = n->config.hashed,
		.hash = n->config.hash,
		.arg = n,
	};
	int err;

	if (n->admission || n->config.gone)
		c.evicted = node_disk_evicted;
	if (n->config.alone)
		c.alone = node_is_alone;
	err = sim_cache_new(&n->disk, &c);
	if (err || !ram)
		return err;
	c.policy = eviction_policy_find("lru");
	c.tiers = false;
	c.capacity = ram;
	c.hashed = true;
	c.evicted = node_ram_evicted;
	n->ram_capacity = ram;
	return sim_cache_new(&n->ram, &c);
}

/*
 * A policy that admits everything for now has no use for the tier, so that its
 * room is the disk's; when it has again, the disk makes room.
 */
static void node_share_capacity(struct sim_node *n)
{
	uint64_t ram =
		admission_admits_all(n->admission) ? 0 : node_ram_capacity(n);

	if (ram == n->ram_capacity)
		return;
	n->ram_capacity = ram;
	sim_cache_resize(n->ram, ram);
	sim_cache_resize(n->disk, n->config.capacity - ram);
}

int sim_node_new(struct sim_node **out, const struct sim_node_config *c)
{
	struct sim_node *n = calloc(1, sizeof(*n));
	int err;

	if (!n)
		return SCD_ENOMEM;
	n->config = *c;
	err = node_make_admission(n);
	if (!err)
		err = node_make_caches(n);
	if (err) {
		sim_node_free(&n);
		return err;
	}
	*out = n;
	return 0;
}

void sim_node_free(struct sim_node **n)
{
	if (!*n)
		return;
	sim_cache_free(&(*n)->disk);
	sim_cache_free(&(*n)->ram);
	admission_free(&(*n)->own);
	free(*n);
	*n = NULL;
}

/* To the disk, if it fits; whether it is there now. What is in is dropped. */
static bool node_write_disk(struct sim_node *n, uint32_t object, uint32_t size,
			    bool copy)
{
	sim_cache_drop(n->disk, object);
	if ((copy ? sim_cache_add_copy : sim_cache_add)(n->disk, object, size))
		return false;
	n->stats.writes++;
	n->stats.write_bytes += size;
	return true;
}

static void node_hit(struct sim_node *n, uint32_t size)
{
	n->stats.hits++;
	n->stats.hit_bytes += size;
}

/* A hit in RAM is another use, which may be the one that counts. */
static bool node_get_ram(struct sim_node *n, uint32_t object, uint32_t size)
{
	struct admission_item item = node_item_of(n, object, size);

	if (!sim_cache_get(n->ram, object))
		return false;
	node_hit(n, size);
	n->stats.ram_hits++;
	n->stats.ram_hit_bytes += size;
	if (admission_decide(n->admission, &item) == ADMISSION_DISK &&
	    node_write_disk(n, object, size, false))
		sim_cache_drop(n->ram, object);
	return true;
}

bool sim_node_get(struct sim_node *n, uint32_t object, uint32_t size)
{
	bool found = sim_cache_get(n->disk, object);

	n->stats.requests++;
	n->stats.request_bytes += size;
	if (found)
		node_hit(n, size);
	else if (n->ram)
		found = node_get_ram(n, object, size);
	if (n->admission && n->admission->policy->request) {
		struct admission_item item = node_item_of(n, object, size);

		admission_request(n->admission, &item, found);
	}
	return found;
}

/* Where the policy wants an object that is not in. */
static enum admission_decision node_decide(struct sim_node *n, uint32_t object,
					   uint32_t size)
{
	struct admission_item item;

	if (n->config.largest && size > n->config.largest)
		return ADMISSION_NO;
	if (!n->admission)
		return ADMISSION_DISK;
	if (n->ram)
		node_share_capacity(n);
	item = node_item_of(n, object, size);
	return admission_decide(n->admission, &item);
}

static enum admission_decision node_put(struct sim_node *n, uint32_t object,
					uint32_t size, bool copy)
{
	enum admission_decision decision = node_decide(n, object, size);

	if (decision == ADMISSION_DISK &&
	    node_write_disk(n, object, size, copy))
		return ADMISSION_DISK;
	if (decision == ADMISSION_RAM && n->ram &&
	    sim_cache_put(n->ram, object, size) == 0)
		return ADMISSION_RAM;
	n->stats.refused++;
	return ADMISSION_NO;
}

enum admission_decision sim_node_put(struct sim_node *n, uint32_t object,
				     uint32_t size)
{
	return node_put(n, object, size, false);
}

enum admission_decision sim_node_put_copy(struct sim_node *n, uint32_t object,
					  uint32_t size)
{
	return node_put(n, object, size, true);
}

bool sim_node_missed(struct sim_node *n, uint32_t object,
		     struct tiers_miss miss)
{
	return sim_cache_missed(n->disk, object, miss);
}

bool sim_node_request(struct sim_node *n, uint32_t object, uint32_t size)
{
	if (sim_node_get(n, object, size))
		return true;
	sim_node_put(n, object, size);
	return false;
}

bool sim_node_has(const struct sim_node *n, uint32_t object)
{
	return sim_cache_has(n->disk, object) ||
	       (n->ram && sim_cache_has(n->ram, object));
}

bool sim_node_drop(struct sim_node *n, uint32_t object)
{
	return sim_cache_drop(n->disk, object) ||
	       (n->ram && sim_cache_drop(n->ram, object));
}

void sim_node_prefetch(const struct sim_node *n, uint32_t object)
{
	sim_cache_prefetch(n->disk, object);
}

void sim_node_prefetch_slot(const struct sim_node *n, uint32_t object)
{
	sim_cache_prefetch_slot(n->disk, object);
}

void sim_node_stats(const struct sim_node *n, struct sim_node_stats *out)
{
	struct sim_cache_stats tier;

	*out = n->stats;
	sim_cache_stats(n->disk, &tier);
	out->objects = tier.objects;
	out->bytes = tier.bytes;
	if (!n->ram)
		return;
	sim_cache_stats(n->ram, &tier);
	out->objects += tier.objects;
	out->bytes += tier.bytes;
}

const struct admission *sim_node_admission(const struct sim_node *n)
{
	return n->admission;
}
