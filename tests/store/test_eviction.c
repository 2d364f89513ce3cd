/*
 * Eviction policies against their twins: random and adversarial streams of
 * requests with weights, removals at any time, growth in between, allocations
 * that fail.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "codec/error.h"
#include "digestd/store/eviction.h"
#include "tests/codec/alloc.h"
#include "tests/codec/random.h"
#include "tests/store/eviction_twin.h"
#include "tests/rounds.h"
#include "tests/unit.h"

enum { NOBJECTS = 300, STEPS = 7000, LEAST = 4000, NONE = -1 };

struct slot {
	unsigned object;
	uint64_t weight;
	bool known; /* to the policy, or going in */
};

/* An owner as the store and the simulator are ones, and the twin. */
struct owner {
	struct eviction *eviction;
	const struct twin_policy *twin_policy;
	struct twin twin;
	struct slot slots[TWIN_MAX];
	uint32_t nslots;
	int slot_of[NOBJECTS]; /* NONE: not in */
	uint64_t held, capacity, heaviest, random;
	uint64_t hits, evictions;
};

static uint64_t hash_of(unsigned object)
{
	uint64_t state = object;

	return random_next(&state);
}

static struct eviction_item item(void *arg, uint32_t slot)
{
	struct owner *o = arg;

	assert_true(o->slots[slot].known);
	return (struct eviction_item){ hash_of(o->slots[slot].object),
				       o->slots[slot].weight };
}

static struct owner *owner_new(const struct twin_policy *twin,
			       uint64_t capacity, uint64_t heaviest)
{
	const struct eviction_policy *policy = eviction_policy_find(twin->name);
	struct owner *o = calloc(1, sizeof(*o));
	struct eviction_config config = { .capacity = capacity, .item = item,
					  .arg = o };

	assert_non_null(o);
	assert_non_null(policy);
	o->twin_policy = twin;
	o->twin.capacity = o->capacity = capacity;
	o->heaviest = heaviest;
	o->random = 1;
	for (unsigned i = 0; i < NOBJECTS; i++)
		o->slot_of[i] = NONE;
	assert_int_equal(eviction_new(&o->eviction, policy, &config), 0);
	if (twin->reserve)
		twin->reserve(&o->twin, 0);
	return o;
}

static void owner_free(struct owner *o)
{
	eviction_free(&o->eviction);
	assert_null(o->eviction);
	sketch_free(&o->twin.sketch);
	free(o);
}

static void leave(struct owner *o, uint32_t slot)
{
	o->held -= o->slots[slot].weight;
	o->slot_of[o->slots[slot].object] = NONE;
	memset(&o->slots[slot], 0, sizeof(o->slots[slot]));
}

static void evict(struct owner *o)
{
	uint32_t slot = eviction_evict(o->eviction);
	uint32_t expected = o->twin_policy->evict(&o->twin);

	if (slot != expected)
		fail_msg("%s evicts %u, its twin %u, as number %llu",
			 o->twin_policy->name, slot, expected,
			 (unsigned long long)o->evictions);
	leave(o, slot);
	o->evictions++;
}

/* A free slot; there are a few more of them from time to time. */
static uint32_t free_slot(struct owner *o)
{
	uint32_t slot = 0;

	while (slot < o->nslots && o->slots[slot].known)
		slot++;
	if (slot < o->nslots)
		return slot;
	alloc_fail_at(1);
	assert_int_equal(eviction_reserve(o->eviction, o->nslots + 7),
			 SCD_ENOMEM);
	alloc_fail_at(0);
	o->nslots += 7;
	assert_true(o->nslots < TWIN_MAX);
	assert_int_equal(eviction_reserve(o->eviction, o->nslots), 0);
	if (o->twin_policy->reserve)
		o->twin_policy->reserve(&o->twin, o->nslots);
	return slot;
}

static void put(struct owner *o, unsigned object)
{
	uint64_t weight = 1 + random_below(&o->random, o->heaviest);
	struct twin_object twin = { .item = { hash_of(object), weight } };

	eviction_expect(o->eviction, twin.item);
	if (o->twin_policy->expect)
		o->twin_policy->expect(&o->twin, twin.item);
	while (o->held + weight > o->capacity)
		evict(o);
	twin.slot = free_slot(o);
	o->slots[twin.slot] = (struct slot){ object, weight, true };
	o->slot_of[object] = (int)twin.slot;
	o->held += weight;
	eviction_insert(o->eviction, twin.slot);
	o->twin_policy->insert(&o->twin, &twin);
}

static void drop(struct owner *o, unsigned object)
{
	uint32_t slot = (uint32_t)o->slot_of[object];

	if (o->slot_of[object] == NONE)
		return;
	eviction_remove(o->eviction, slot);
	o->twin_policy->remove(&o->twin, twin_find(&o->twin.in, slot));
	leave(o, slot);
}

static void request(struct owner *o, unsigned object)
{
	uint32_t slot = (uint32_t)o->slot_of[object];

	if (o->slot_of[object] == NONE) {
		put(o, object);
		return;
	}
	eviction_prefetch(o->eviction, slot);
	eviction_hit(o->eviction, slot);
	o->twin_policy->hit(&o->twin, twin_find(&o->twin.in, slot));
	o->hits++;
}

/* Streams: the object of a step. */

static unsigned uniform(struct owner *o, unsigned step)
{
	(void)step;
	return (unsigned)random_below(&o->random, NOBJECTS);
}

/* The smallest of three: a few are asked for often. */
static unsigned skewed(struct owner *o, unsigned step)
{
	unsigned least = uniform(o, step);

	for (int i = 0; i < 2; i++) {
		unsigned n = uniform(o, step);

		least = n < least ? n : least;
	}
	return least;
}

/* Over and over through more than there is room for. */
static unsigned loop(struct owner *o, unsigned step)
{
	(void)o;
	return step % NOBJECTS;
}

/* Twice each in a row, then never for long. */
static unsigned pairs(struct owner *o, unsigned step)
{
	(void)o;
	return step / 2 % NOBJECTS;
}

/* A few that are always there, and a scan through the others. */
static unsigned scan(struct owner *o, unsigned step)
{
	return step % 3 ? step / 3 % NOBJECTS
			: (unsigned)random_below(&o->random, 10);
}

/* What is popular changes all at once. */
static unsigned shift(struct owner *o, unsigned step)
{
	return (skewed(o, step) + step / 1000 * 100) % NOBJECTS;
}

/* Each once more, just when a queue of so many has lost it. */
static unsigned returns(struct owner *o, unsigned step)
{
	(void)o;
	return (step / 20 * 10 + step % 10 + (step / 10 % 2 ? 0 : 90)) %
	       NOBJECTS;
}

static unsigned (*const streams[])(struct owner *o, unsigned step) = {
	uniform, skewed, loop, pairs, scan, shift, returns,
};

struct capacity {
	uint64_t capacity, heaviest;
	unsigned remove_every; /* 0: nothing is removed */
};

static void replay(const struct twin_policy *twin, const struct capacity *c)
{
	const unsigned rounds = (unsigned)rounds_of(STEPS, 15 * STEPS);
	/* fewer would evict nothing from the largest */
	const unsigned steps = rounds > LEAST ? rounds : LEAST;

	for (size_t s = 0; s < NROWS(streams); s++) {
		struct owner *o = owner_new(twin, c->capacity, c->heaviest);

		for (unsigned step = 0; step < steps; step++) {
			if (c->remove_every && step % c->remove_every == 0)
				drop(o, uniform(o, step));
			request(o, streams[s](o, step));
		}
		assert_true(o->evictions > 0);
		while (o->held)
			evict(o);
		assert_int_equal(o->twin.in.n, 0);
		owner_free(o);
	}
}

static void test_twins(void **state)
{
	static const struct capacity rows[] = {
		{ 1, 1, 0 },     { 2, 1, 3 },      { 10, 10, 0 },
		{ 100, 1, 0 },   { 100, 1, 5 },    { 50, 1, 2 },
		{ 1000, 10, 7 }, { 1000, 100, 0 }, { 1000, 1000, 10 },
		{ 250, 1, 0 },
	};

	(void)state;
	for (size_t p = 0; twin_policies[p].name; p++) {
		for (size_t i = 0; i < NROWS(rows); i++)
			replay(&twin_policies[p], &rows[i]);
	}
}

/* Every policy has a twin, a name of its own, and says what it is. */
static void test_registry(void **state)
{
	size_t ntwins = 0, n = 0;

	(void)state;
	while (twin_policies[ntwins].name)
		ntwins++;
	for (; eviction_policies[n]; n++) {
		const struct eviction_policy *p = eviction_policies[n];

		assert_ptr_equal(eviction_policy_find(p->name), p);
		assert_true(strlen(p->about) > 0);
	}
	assert_int_equal(n, ntwins);
	assert_null(eviction_policy_find("no such policy"));
	assert_null(eviction_policy_find(""));
}

/* An instance that cannot be made leaves nothing behind (the sanitizer looks)
 * and does not touch the caller's pointer. */
static void test_allocation(void **state)
{
	(void)state;
	for (size_t p = 0; eviction_policies[p]; p++) {
		struct eviction_config config = { .capacity = 1000,
						  .nslots = 100,
						  .item = item };
		struct eviction *e = NULL;
		unsigned n = 0;
		int err;

		do {
			alloc_fail_at(++n);
			err = eviction_new(&e, eviction_policies[p], &config);
			alloc_fail_at(0);
			assert_true(err == 0 || err == SCD_ENOMEM);
			assert_true(err == 0 || !e);
		} while (err);
		assert_true(n > 2);
		eviction_free(&e);
	}
}

/* What a policy says of its memory is what it asks for, and little. */
static void test_memory(void **state)
{
	enum { NSLOTS = 10000, SLOT_BYTES_MAX = 28 };

	(void)state;
	for (size_t p = 0; eviction_policies[p]; p++) {
		struct eviction_config config = { .capacity = NSLOTS,
						  .nslots = NSLOTS,
						  .item = item };
		struct eviction *e;

		alloc_bytes();
		assert_int_equal(
			eviction_new(&e, eviction_policies[p], &config), 0);
		assert_int_equal(eviction_memory(e), alloc_bytes());
		assert_true(eviction_memory(e) <
			    (size_t)NSLOTS * SLOT_BYTES_MAX);
		eviction_free(&e);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_twins),
		cmocka_unit_test(test_registry),
		cmocka_unit_test(test_allocation),
		cmocka_unit_test(test_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
