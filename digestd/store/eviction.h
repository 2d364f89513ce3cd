/*
 * Which of the objects held goes when there is no room: eviction policies over
 * slots. A slot is a small number that the owner (the daemon's store, a cache
 * of the simulator) gives to an object as long as it is held; the policy knows
 * an object by its slot, and asks the owner for its key's hash and its weight
 * when it needs them.
 *
 * A policy is a struct of functions in a file of its own, and a row in
 * eviction.c; the file says its source, its exact rules with those for ties,
 * and its memory a slot. All are deterministic. Only eviction_reserve() can
 * fail: a policy that remembers what is gone forgets the oldest of it sooner
 * when there is no memory for more.
 *
 * An object comes in with eviction_expect(), then as many eviction_evict() as
 * it takes to make room for it, then eviction_insert(): what a policy
 * remembers of it counts as it was before others went.
 */
#ifndef DIGESTD_STORE_EVICTION_H
#define DIGESTD_STORE_EVICTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* No slot; slots are below EVICTION_SLOTS. */
static const uint32_t EVICTION_NONE = UINT32_MAX;
static const uint32_t EVICTION_SLOTS = UINT32_MAX - 64;

/* What is in a slot: the hash of its key, evenly distributed, and how much of
 * the capacity it takes. */
struct eviction_item {
	uint64_t hash, weight;
};

struct eviction_config {
	uint64_t capacity; /* weight of all that the owner will hold at most */
	uint32_t nslots;   /* slots 0..nslots-1 to begin with */
	/*
	 * Asked for slots that are in, that go in with eviction_insert(), or
	 * out with eviction_remove(). What it says of a slot stays the same
	 * while the slot is in.
	 */
	struct eviction_item (*item)(void *arg, uint32_t slot);
	/*
	 * For eviction_tiers.h: whether what goes into a slot is a hot copy,
	 * and whether nobody else has what is in one. Null: it never is, or
	 * somebody always has.
	 */
	bool (*copy)(void *arg, uint32_t slot);
	bool (*alone)(void *arg, uint32_t slot);
	void *arg;
	bool shared; /* eviction_share_hit() will be called */
};

struct eviction_policy;

/* One instance; a policy's own state begins with it. */
struct eviction {
	const struct eviction_policy *policy;
	struct eviction_config config;
};

struct eviction_policy {
	const char *name;
	const char *about; /* one line */
	size_t size;       /* of the state [bytes] */

	/* Room for slots below nslots; 0 or SCD_ENOMEM. Called first with
	 * everything zero but the struct eviction. */
	int (*reserve)(struct eviction *e, uint32_t nslots);
	/* Frees what reserve() allocated. */
	void (*release)(struct eviction *e);
	/* Bytes that reserve() allocated. */
	size_t (*memory)(const struct eviction *e);

	/* Null: it remembers nothing of objects that are not in. */
	void (*expect)(struct eviction *e, struct eviction_item item);
	void (*insert)(struct eviction *e, uint32_t slot);
	void (*hit)(struct eviction *e, uint32_t slot);
	/* hit() by any thread, while one calls the others; null: it cannot. */
	void (*share_hit)(struct eviction *e, uint32_t slot);
	void (*remove)(struct eviction *e, uint32_t slot);
	uint32_t (*evict)(struct eviction *e);
	/* Fetches what hit() will touch; null: not worth it. */
	void (*prefetch)(const struct eviction *e, uint32_t slot);
	/* Fetches what evict() will touch, and guesses the slot: the next that
	 * goes (after: EVICTION_NONE), or the one after such a guess; null: it
	 * cannot. */
	uint32_t (*foresee)(const struct eviction *e, uint32_t after);
	/* The other way round, and no guess: the slot that came, or was used,
	 * last; then the one before such a slot; EVICTION_NONE: no more. Null:
	 * it has no such order. */
	uint32_t (*recall)(const struct eviction *e, uint32_t before);
	/* Whether a slot was used since the policy last looked at it; null: it
	 * does not say, or its order does. */
	bool (*was_used)(const struct eviction *e, uint32_t slot);
};

/* All policies; a null ends the list. */
extern const struct eviction_policy *const eviction_policies[];

/* The policy of that name; null: unknown. */
const struct eviction_policy *eviction_policy_find(const char *name);

/* Makes an instance that holds nothing. 0 or SCD_ENOMEM. */
int eviction_new(struct eviction **out, const struct eviction_policy *policy,
		 const struct eviction_config *config);

/* Accepts null and nulls the pointer. */
void eviction_free(struct eviction **e);

/* Makes room for slots below nslots (<= EVICTION_SLOTS). 0 or SCD_ENOMEM:
 * then nothing has changed. */
int eviction_reserve(struct eviction *e, uint32_t nslots);

/* Bytes that an instance takes, with all of its history. */
size_t eviction_memory(const struct eviction *e);

/* The capacity is another one from now on. */
static inline void eviction_resize(struct eviction *e, uint64_t capacity)
{
	e->config.capacity = capacity;
}

/* Whether it does anything with eviction_expect(). */
static inline bool eviction_expects(const struct eviction *e)
{
	return e->policy->expect;
}

/* An object was asked for that is not in, and will be put in: before the
 * evictions that make room for it. */
static inline void eviction_expect(struct eviction *e,
				   struct eviction_item item)
{
	if (eviction_expects(e))
		e->policy->expect(e, item);
}

/* An object comes in: a slot below those reserved that is not in. */
static inline void eviction_insert(struct eviction *e, uint32_t slot)
{
	e->policy->insert(e, slot);
}

/* The object in a slot was used. */
static inline void eviction_hit(struct eviction *e, uint32_t slot)
{
	e->policy->hit(e, slot);
}

/* The same by any thread, at the same time as other calls, for policies with a
 * `share_hit`: of a slot below those reserved, in which there may be another
 * object by now, or none. */
static inline void eviction_share_hit(struct eviction *e, uint32_t slot)
{
	e->policy->share_hit(e, slot);
}

/* The object in a slot goes for a reason of the owner's. */
static inline void eviction_remove(struct eviction *e, uint32_t slot)
{
	e->policy->remove(e, slot);
}

/* Chooses the slot whose object has to go, and takes it out. Some slot must be
 * in. */
static inline uint32_t eviction_evict(struct eviction *e)
{
	return e->policy->evict(e);
}

/* Says that eviction_hit() of a slot will come soon. */
static inline void eviction_prefetch(const struct eviction *e, uint32_t slot)
{
	if (e->policy->prefetch)
		e->policy->prefetch(e, slot);
}

/* Fetches what eviction_evict() will touch; the slot that would go now (after:
 * EVICTION_NONE), or after that one, as a guess; EVICTION_NONE: no idea. */
static inline uint32_t eviction_foresee(const struct eviction *e,
					uint32_t after)
{
	if (!e->policy->foresee)
		return EVICTION_NONE;
	return e->policy->foresee(e, after);
}

/* The slot that came, or was used, last (before: EVICTION_NONE), or the one
 * before that one; EVICTION_NONE: no more, or there is no such order. */
static inline uint32_t eviction_recall(const struct eviction *e,
				       uint32_t before)
{
	if (!e->policy->recall)
		return EVICTION_NONE;
	return e->policy->recall(e, before);
}

/* Whether a slot was used of late, as far as the policy knows apart from that
 * order. */
static inline bool eviction_was_used(const struct eviction *e, uint32_t slot)
{
	return e->policy->was_used && e->policy->was_used(e, slot);
}

#endif
