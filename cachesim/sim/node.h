/*
 * One simulated node: a disk, a small RAM tier if the admission policy wants
 * one, an admission policy and any eviction policy. What it costs is that of
 * its caches and of its policy; without admission it adds a test to a get.
 *
 * A request is sim_node_get(), and after a miss, when the object has been
 * fetched from somewhere, sim_node_put(), unless it is to be kept nowhere;
 * sim_node_request() is both. A hit in RAM moves the object to the disk when
 * the policy says so.
 */
#ifndef CACHESIM_SIM_NODE_H
#define CACHESIM_SIM_NODE_H

#include "cachesim/admission/admission_table.h"
#include "digestd/store/eviction_tiers.h"

struct sim_node;

struct sim_node_config {
	uint64_t capacity; /* disk and RAM; bytes, or objects of size 1 */
	bool tiers;        /* the disk, see struct sim_cache_config */
	uint64_t largest;  /* larger objects are kept nowhere; 0: no limit */
	const struct eviction_policy *eviction; /* of the disk; RAM is LRU */
	/* Null: everything is admitted. In options the capacity and the
	 * eviction policy are the node's business. */
	const struct admission_policy *admission;
	struct admission_config options;
	/* Not null: an instance that several nodes share, instead; borrowed. */
	struct admission *shared;

	uint32_t nobjects;    /* numbers are below */
	const uint64_t *hash; /* by object, borrowed; null: from numbers */
	bool hashed;	      /* as struct sim_cache_config */

	/* An object went to make room and is not in the node any more; called
	 * inside get and put, must not change the node. Null: nobody cares. */
	void (*gone)(void *arg, uint32_t object);
	bool (*alone)(void *arg, uint32_t object); /* as there, too */
	void *arg;
};

struct sim_node_stats {
	uint64_t requests, request_bytes;
	uint64_t hits, hit_bytes;	  /* on disk and in RAM */
	uint64_t ram_hits, ram_hit_bytes; /* of these, in RAM */
	uint64_t writes, write_bytes;	  /* to disk */
	uint64_t refused;		  /* not kept at all */
	uint64_t objects, bytes;	  /* that are in, disk and RAM */
};

/* Makes an empty node. 0, SCD_ENOMEM, or SCD_EINVAL: an option of admission is
 * out of range. */
int sim_node_new(struct sim_node **out, const struct sim_node_config *c);

/* Accepts null and nulls the pointer. */
void sim_node_free(struct sim_node **n);

/* A request for an object of that size; is it in? */
bool sim_node_get(struct sim_node *n, uint32_t object, uint32_t size);

/*
 * An object that was not in has been fetched: asks the policy, and keeps it
 * where that says. Returns where it is now: ADMISSION_NO also when it fits
 * nowhere, or memory is short.
 */
enum admission_decision sim_node_put(struct sim_node *n, uint32_t object,
				     uint32_t size);

/* As sim_cache_missed(); and put of a hot copy. */
bool sim_node_missed(struct sim_node *n, uint32_t object,
		     struct tiers_miss miss);
enum admission_decision sim_node_put_copy(struct sim_node *n, uint32_t object,
					  uint32_t size);

/* Get, and put after a miss; was it in? */
bool sim_node_request(struct sim_node *n, uint32_t object, uint32_t size);

/* Is it in? No use, no count. */
bool sim_node_has(const struct sim_node *n, uint32_t object);

/* Takes an object out, as when it was modified; whether it was in. `gone` is
 * not called. */
bool sim_node_drop(struct sim_node *n, uint32_t object);

/* Says that a get of this object will come, some 16 and then some 8 requests
 * ahead. */
void sim_node_prefetch(const struct sim_node *n, uint32_t object);
void sim_node_prefetch_slot(const struct sim_node *n, uint32_t object);

/* What was counted since the beginning; for a span, subtract two. */
void sim_node_stats(const struct sim_node *n, struct sim_node_stats *out);

/* The node's policy, for its own figures; null without one. */
const struct admission *sim_node_admission(const struct sim_node *n);

#endif
