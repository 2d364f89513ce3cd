/*
 * One simulated cache over dense object numbers: the daemon's own eviction
 * policies, and instead of a hash table an array from object to slot. Nothing
 * is stored but what is needed to decide.
 *
 * Costs: 4 bytes an object of the trace, or none of these but 10 a cached
 * object more with `hashed`, which is for many caches over one trace; 8 bytes
 * a cached object, and what the policy takes. A get is one array access and
 * the policy's, both of which sim_cache_prefetch() can start earlier.
 */
#ifndef CACHESIM_SIM_SIM_CACHE_H
#define CACHESIM_SIM_SIM_CACHE_H

#include "digestd/store/eviction_tiers.h"

struct sim_cache;

/* Hashes of objects whose trace has none: an odd factor and a shift mix well
 * enough for numbers that are all different. */
static inline uint64_t sim_hash_of_number(uint32_t object)
{
	uint64_t z = (object + UINT64_C(1)) * UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ z >> 32) * UINT64_C(0xd6e8feb86659fd93);
	return z ^ z >> 32;
}

struct sim_cache_config {
	const struct eviction_policy *policy; /* borrowed */
	uint64_t capacity; /* bytes; or objects, when all are put with size 1 */
	bool tiers;        /* it keeps hot copies, see eviction_tiers.h */
	uint32_t nobjects; /* numbers are below */
	bool hashed;       /* object to slot by a hash table */
	/* Key hashes by object, borrowed; null: made from the number. */
	const uint64_t *hash;
	/* An object was evicted; called inside sim_cache_put(), must not change
	 * the cache. Null: nobody cares. */
	void (*evicted)(void *arg, uint32_t object);
	/* Whether no other cache has it, with tiers; null: one always has. */
	bool (*alone)(void *arg, uint32_t object);
	void *arg;
	/* What evicted() touches: so many bytes by object, fetched before.
	 * Null: nothing. */
	const uint8_t *rows;
	size_t row;
};

struct sim_cache_stats {
	uint64_t objects, bytes; /* that are in */
	uint64_t puts, put_bytes; /* disk writes */
	uint64_t evicted, evicted_bytes;
};

/* Makes an empty cache. 0 or SCD_ENOMEM. */
int sim_cache_new(struct sim_cache **out, const struct sim_cache_config *c);

/* Accepts null and nulls the pointer. */
void sim_cache_free(struct sim_cache **c);

/* Is it in? A use, if so. */
bool sim_cache_get(struct sim_cache *c, uint32_t object);

/* Is it in? No use. */
bool sim_cache_has(const struct sim_cache *c, uint32_t object);

/*
 * Puts an object in; one of that number that is in is dropped first. Others
 * are evicted, one by one, until it fits. 0; SCD_ELIMIT when it is larger than
 * the cache: it is not in then, nothing is evicted; SCD_ENOMEM: it is not in.
 */
int sim_cache_put(struct sim_cache *c, uint32_t object, uint32_t size);

/* The same for an object that is known not to be in. */
int sim_cache_add(struct sim_cache *c, uint32_t object, uint32_t size);

/* With tiers: an object was not in, see eviction_tiers_missed(), which is not
 * told its hash; and the same as sim_cache_add() for a hot copy. */
bool sim_cache_missed(struct sim_cache *c, uint32_t object,
		      struct tiers_miss miss);
int sim_cache_add_copy(struct sim_cache *c, uint32_t object, uint32_t size);

/* Takes an object out, if it is in; returns whether it was. */
bool sim_cache_drop(struct sim_cache *c, uint32_t object);

/* Another capacity from now on: what does not fit any more is evicted. */
void sim_cache_resize(struct sim_cache *c, uint64_t capacity);

/* Says that a get of this object will come, some 16 and then some 8 requests
 * ahead: the first step fetches its slot, the second what the policy has. */
void sim_cache_prefetch(const struct sim_cache *c, uint32_t object);
void sim_cache_prefetch_slot(const struct sim_cache *c, uint32_t object);

/* Requests for sim_cache_replay(). */
struct sim_cache_requests {
	const uint32_t *object;
	size_t n;
	size_t ahead; /* objects that follow the n, to be fetched early */
	const uint32_t *size; /* by object; null: 1 each */
};

struct sim_cache_hits {
	uint64_t hits, hit_bytes;
};

/*
 * Gets each of n objects and puts those that are not in; the fastest way. Adds
 * the hits to those in *out. 0; or SCD_ENOMEM: some could not be put. What is
 * too large is passed over.
 */
int sim_cache_replay(struct sim_cache *c, const struct sim_cache_requests *r,
		     struct sim_cache_hits *out);

/* How things stand. */
void sim_cache_stats(const struct sim_cache *c, struct sim_cache_stats *out);

/* Bytes of memory that the cache takes. */
size_t sim_cache_memory(const struct sim_cache *c);

#endif
