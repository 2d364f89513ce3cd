/*
 * The tiers: against a twin that is a list of what is hot and the policy of
 * what is not; what is taken for a hot copy; and where the border goes.
 */
#include <stdlib.h>
#include <string.h>

#include "codec/error.h"
#include "digestd/store/eviction_tiers.h"
#include "tests/codec/alloc.h"
#include "tests/codec/random.h"
#include "tests/rounds.h"
#include "tests/unit.h"

enum {
	SLOTS = 64,
	CAPACITY = 1000,
	STEPS = 20000,
	WEIGHT_MAX = 40,
	ORIGINS = 4096,
};

struct owner {
	struct eviction *tiers;
	bool in[SLOTS], copy[SLOTS], alone[SLOTS];
	uint64_t weight[SLOTS], held, random;
	/* the twin: what is hot, the oldest first, with its uses; and a policy
	 * of its own for the rest */
	struct eviction *sole;
	uint32_t hot[SLOTS];
	unsigned uses[SLOTS], nhot, nsole;
	uint64_t hot_weight;
	unsigned turned; /* hot ones that became sole */
};

static struct eviction_item item(void *arg, uint32_t slot)
{
	const struct owner *o = arg;

	return (struct eviction_item){slot + 1, o->weight[slot]};
}

static bool is_copy(void *arg, uint32_t slot)
{
	return ((const struct owner *)arg)->copy[slot];
}

static bool is_alone(void *arg, uint32_t slot)
{
	return ((const struct owner *)arg)->alone[slot];
}

static struct owner *owner_new(const char *policy)
{
	struct owner *o = calloc(1, sizeof(*o));
	struct eviction_config c = {.capacity = CAPACITY,
				    .nslots = SLOTS / 2,
				    .item = item,
				    .arg = o,
				    .shared = !strcmp(policy, "sieve")};

	assert_non_null(o);
	o->random = 1;
	assert_int_equal(
		eviction_new(&o->sole, eviction_policy_find(policy), &c), 0);
	assert_int_equal(eviction_reserve(o->sole, SLOTS), 0);
	c.copy = is_copy;
	c.alone = is_alone;
	assert_int_equal(
		eviction_tiers_new(&o->tiers, eviction_policy_find(policy), &c),
		0);
	assert_int_equal(eviction_reserve(o->tiers, SLOTS), 0);
	assert_true(eviction_has_tiers(o->tiers));
	assert_false(eviction_has_tiers(o->sole));
	return o;
}

static void owner_free(struct owner *o)
{
	eviction_free(&o->tiers);
	eviction_free(&o->sole);
	free(o);
}

static struct tiers_stats stats_of(const struct owner *o)
{
	struct tiers_stats s;

	eviction_tiers_stats(o->tiers, &s);
	return s;
}

/* The twin */

static unsigned twin_find(const struct owner *o, uint32_t slot)
{
	unsigned i = 0;

	while (i < o->nhot && o->hot[i] != slot)
		i++;
	return i;
}

static void twin_take_out(struct owner *o, unsigned at)
{
	o->hot_weight -= o->weight[o->hot[at]];
	o->nhot--;
	memmove(&o->hot[at], &o->hot[at + 1],
		(o->nhot - at) * sizeof(o->hot[0]));
}

static void twin_append(struct owner *o, uint32_t slot)
{
	o->hot[o->nhot++] = slot;
	o->hot_weight += o->weight[slot];
}

static uint64_t twin_limit(const struct owner *o)
{
	return (uint64_t)CAPACITY * stats_of(o).share_ppm / TIERS_MILLION;
}

static uint32_t twin_evict(struct owner *o)
{
	bool hot = o->hot_weight > twin_limit(o) || !o->nsole;

	while (hot && o->nhot) {
		uint32_t slot = o->hot[0];

		twin_take_out(o, 0);
		if (o->uses[slot]) {
			o->uses[slot]--;
			twin_append(o, slot);
			continue;
		}
		if (!o->alone[slot])
			return slot;
		eviction_insert(o->sole, slot);
		o->nsole++;
		o->turned++;
		hot = o->hot_weight > twin_limit(o);
	}
	o->nsole--;
	return eviction_evict(o->sole);
}

/* What happens to both */

static void evict(struct owner *o)
{
	uint32_t slot, expected;

	eviction_resize(o->sole, CAPACITY - o->hot_weight);
	expected = twin_evict(o);
	slot = eviction_evict(o->tiers);
	assert_int_equal(slot, expected);
	o->in[slot] = false;
	o->held -= o->weight[slot];
}

static void insert(struct owner *o, uint32_t slot)
{
	o->weight[slot] = 1 + random_below(&o->random, WEIGHT_MAX);
	o->copy[slot] = !random_below(&o->random, 3);
	o->alone[slot] = !random_below(&o->random, 4);
	if (!o->copy[slot]) {
		eviction_expect(o->sole, item(o, slot));
		eviction_expect(o->tiers, item(o, slot));
	}
	while (o->held + o->weight[slot] > CAPACITY)
		evict(o);
	if (o->copy[slot]) {
		o->uses[slot] = 0;
		twin_append(o, slot);
	} else {
		o->nsole++;
		eviction_insert(o->sole, slot);
	}
	eviction_insert(o->tiers, slot);
	o->in[slot] = true;
	o->held += o->weight[slot];
}

static void use(struct owner *o, uint32_t slot)
{
	bool hot = twin_find(o, slot) < o->nhot;

	if (hot && o->uses[slot] < TIERS_USES)
		o->uses[slot]++;
	else if (!hot)
		eviction_hit(o->sole, slot);
	if (o->tiers->policy->share_hit && random_below(&o->random, 2))
		eviction_share_hit(o->tiers, slot);
	else
		eviction_hit(o->tiers, slot);
}

static void take_out(struct owner *o, uint32_t slot)
{
	unsigned at = twin_find(o, slot);

	if (at < o->nhot) {
		twin_take_out(o, at);
	} else {
		o->nsole--;
		eviction_remove(o->sole, slot);
	}
	eviction_remove(o->tiers, slot);
	o->in[slot] = false;
	o->held -= o->weight[slot];
}

/* A walk by heat meets sole ones in the order of their policy, then the hot
 * ones from the newest, which know whether they were used. */
static void check_order(const struct owner *o)
{
	uint32_t slot = EVICTION_NONE, sole = EVICTION_NONE;
	unsigned left = o->nhot;

	while ((sole = eviction_recall(o->sole, sole)) != EVICTION_NONE) {
		slot = eviction_recall(o->tiers, slot);
		assert_int_equal(slot, sole);
		assert_int_equal(eviction_was_used(o->tiers, slot),
				 eviction_was_used(o->sole, slot));
	}
	while (left--) {
		slot = eviction_recall(o->tiers, slot);
		assert_int_equal(slot, o->hot[left]);
		assert_int_equal(eviction_was_used(o->tiers, slot),
				 o->uses[slot] > 0);
	}
	assert_int_equal(eviction_recall(o->tiers, slot), EVICTION_NONE);
}

static void as_the_twin(void **state)
{
	static const char *const policies[] = {"lru", "sieve", "s3fifo"};

	(void)state;
	for (size_t k = 0; k < NROWS(policies); k++) {
		struct owner *o = owner_new(policies[k]);
		int steps = rounds_of(STEPS, 50 * STEPS);

		for (int i = 0; i < steps; i++) {
			uint32_t slot =
				(uint32_t)random_below(&o->random, SLOTS);

			if (!o->in[slot])
				insert(o, slot);
			else if (random_below(&o->random, 20))
				use(o, slot);
			else
				take_out(o, slot);
			assert_int_equal(stats_of(o).copies, o->nhot);
			assert_int_equal(stats_of(o).weight, o->hot_weight);
			if (o->held && i % 16 == 0)
				check_order(o);
		}
		assert_true(o->turned);
		owner_free(o);
	}
}

/* What is taken */

static bool missed(struct owner *o, uint64_t hash, uint64_t weight)
{
	const struct tiers_miss m = {
		.hash = hash, .weight = weight, .remote = true};

	return eviction_tiers_missed(o->tiers, &m);
}

static void fill_hot(struct owner *o, uint32_t slots, uint64_t weight)
{
	for (uint32_t i = 0; i < slots; i++) {
		o->weight[i] = weight;
		o->copy[i] = true;
		eviction_insert(o->tiers, i);
	}
}

/* Something has had to go, so that there is no room that nobody needs. */
static struct owner *full_owner_new(void)
{
	struct owner *o = owner_new("sieve");
	const uint32_t slot = SLOTS - 1;

	o->weight[slot] = 1;
	eviction_insert(o->tiers, slot);
	assert_int_equal(eviction_evict(o->tiers), slot);
	return o;
}

/* As long as nothing has had to go, a copy displaces nothing. */
static void what_is_missed_twice_is_taken_into_an_empty_cache(void **state)
{
	struct owner *o = owner_new("sieve");
	const struct tiers_miss origin = {
		.hash = 7, .weight = CAPACITY, .nodes = 2};

	(void)state;
	assert_false(missed(o, 5, 1));
	assert_true(missed(o, 5, 1));
	fill_hot(o, 4, 40); /* twice what the tier may weigh */
	assert_true(missed(o, 5, 40));
	assert_false(missed(o, 5, CAPACITY)); /* is no small part of it */
	assert_true(eviction_tiers_missed(o->tiers, &origin));
	for (uint32_t slot = 4; slot < 6; slot++) {
		o->weight[slot] = 1;
		eviction_insert(o->tiers, slot);
	}
	/* what is too much of it goes first */
	assert_int_equal(eviction_evict(o->tiers), 0);
	assert_int_equal(eviction_evict(o->tiers), 1);
	assert_int_equal(eviction_evict(o->tiers), 4);
	assert_false(missed(o, 6, 1));
	assert_false(missed(o, 6, 1));
	owner_free(o);
}

static void what_is_missed_often_is_taken(void **state)
{
	struct owner *o = full_owner_new();
	const uint64_t limit = CAPACITY / 1000 * (TIERS_LEAST_PPM / 1000);

	(void)state;
	for (unsigned i = 1; i < TIERS_MISSES; i++)
		assert_false(missed(o, 5, 1));
	assert_true(missed(o, 5, 1));
	assert_false(missed(o, 5, limit + 1)); /* never fits */
	owner_free(o);
}

/* Of so many responses of an origin, how many come in. */
static unsigned taken(struct owner *o, uint64_t weight, unsigned nodes)
{
	struct tiers_miss m = {.weight = weight, .nodes = nodes};
	unsigned n = 0;

	for (m.hash = 0; m.hash < ORIGINS; m.hash++)
		n += eviction_tiers_missed(o->tiers, &m);
	return n;
}

static void the_larger_the_rarer_it_is_taken(void **state)
{
	const uint64_t part = CAPACITY / TIERS_PARTS;
	struct owner *o = full_owner_new();

	(void)state;
	assert_int_equal(taken(o, 1, 8), ORIGINS);
	assert_int_equal(taken(o, part, 8), ORIGINS);
	assert_in_range(taken(o, 2 * part, 8), ORIGINS / 2 - ORIGINS / 16,
			ORIGINS / 2 + ORIGINS / 16);
	assert_in_range(taken(o, CAPACITY, 8), ORIGINS / TIERS_PARTS / 2,
			ORIGINS / TIERS_PARTS * 2);
	assert_int_equal(taken(o, CAPACITY, 1), ORIGINS); /* has no peers */
	owner_free(o);
}

/* With more nodes what is large is so by a larger part. */
static void in_large_clusters_fewer_are_large(void **state)
{
	static const struct {
		unsigned nodes, parts;
	} rows[] = {
		{ 2, 8 },  { 16, 8 }, { 17, 7 },  { 21, 6 },
		{ 25, 5 }, { 32, 4 }, { 33, 4 }, { 1024, 4 },
	};
	struct owner *o = full_owner_new();

	(void)state;
	for (size_t i = 0; i < NROWS(rows); i++) {
		const uint64_t part = CAPACITY / rows[i].parts;

		assert_int_equal(taken(o, part, rows[i].nodes), ORIGINS);
		assert_in_range(taken(o, 2 * part, rows[i].nodes),
				ORIGINS / 2 - ORIGINS / 16,
				ORIGINS / 2 + ORIGINS / 16);
	}
	owner_free(o);
}

static void who_is_used_stays(void **state)
{
	struct owner *o = full_owner_new();

	(void)state;
	fill_hot(o, 2, 40); /* the tier is full */
	for (unsigned i = 0; i < TIERS_MISSES - 1; i++)
		missed(o, 99, 40);
	eviction_hit(o->tiers, 0);
	eviction_hit(o->tiers, 1);
	eviction_hit(o->tiers, 1);
	/* uses 1 and 2: each in its turn is spared once for each */
	assert_false(missed(o, 99, 40));
	assert_false(missed(o, 99, 40));
	assert_true(missed(o, 99, 40)); /* in place of the first */
	o->weight[2] = 40;
	o->copy[2] = true;
	eviction_insert(o->tiers, 2);
	assert_int_equal(eviction_evict(o->tiers), 0);
	assert_int_equal(stats_of(o).copies, 2);
	owner_free(o);
}

/* The border */

static void prices(void **state)
{
	static const struct {
		int64_t peer_ms, origin_ms;
		unsigned price;
	} rows[] = {
		{0, 50, 0},
		{1, 0, 0},
		{1, 1, TIERS_PRICE / TIERS_ORIGIN_MS},
		{30, 100, 30 * TIERS_PRICE / (70 + TIERS_ORIGIN_MS)},
		{50, 20, TIERS_PRICE_MAX},
		{10000, 9971, TIERS_PRICE_MAX},
	};

	(void)state;
	for (size_t i = 0; i < NROWS(rows); i++)
		assert_int_equal(eviction_tiers_price(rows[i].peer_ms,
						      rows[i].origin_ms),
				 rows[i].price);
}

/* Hot copies that were not taken are missed again, at a price. */
static uint32_t raise_share(struct owner *o, unsigned price, unsigned times)
{
	struct tiers_miss m = {
		.hash = 99, .weight = 20, .remote = true, .price = price};

	for (unsigned i = 0; i < times; i++) {
		for (uint32_t slot = 0; slot < 2; slot++)
			for (int k = 0; k < TIERS_USES; k++)
				eviction_hit(o->tiers, slot);
		eviction_tiers_missed(o->tiers, &m);
	}
	return stats_of(o).share_ppm;
}

static void the_border_follows_the_price(void **state)
{
	struct owner *o = full_owner_new();
	struct tiers_miss origin = {.weight = 1, .nodes = 8};
	uint32_t share;

	(void)state;
	fill_hot(o, 2, 40);
	assert_int_equal(stats_of(o).share_ppm, TIERS_LEAST_PPM);
	assert_int_equal(raise_share(o, 0, 100), TIERS_LEAST_PPM);
	share = raise_share(o, TIERS_PRICE, 1);
	assert_int_equal(share, TIERS_LEAST_PPM + TIERS_STEP_PPM);
	assert_true(raise_share(o, TIERS_PRICE_MAX, 10) > share);
	share = stats_of(o).share_ppm;

	/* a sole one that went, and is asked of the origin again */
	o->weight[3] = 1;
	eviction_insert(o->tiers, 3);
	assert_int_equal(eviction_evict(o->tiers), 3);
	origin.hash = item(o, 3).hash;
	eviction_tiers_missed(o->tiers, &origin);
	assert_int_equal(stats_of(o).share_ppm, share - 8 * TIERS_STEP_PPM);
	eviction_tiers_missed(o->tiers, &origin); /* once */
	assert_int_equal(stats_of(o).share_ppm, share - 8 * TIERS_STEP_PPM);
	for (unsigned i = 0; i < 100; i++) {
		eviction_insert(o->tiers, 3);
		assert_int_equal(eviction_evict(o->tiers), 3);
		eviction_tiers_missed(o->tiers, &origin);
	}
	assert_int_equal(stats_of(o).share_ppm, TIERS_LEAST_PPM);
	owner_free(o);
}

/* A node without peers has nothing of what only those give use to. */
static void what_is_not_needed_takes_no_memory(void **state)
{
	struct owner *o = owner_new("sieve");
	const struct tiers_miss alone = {.hash = 1, .weight = 1, .nodes = 1},
				shared = {.hash = 1, .weight = 1, .nodes = 2};
	const size_t at_first = eviction_memory(o->tiers);
	size_t counting;

	(void)state;
	insert(o, 0);
	assert_true(eviction_tiers_missed(o->tiers, &alone));
	eviction_share_hit(o->tiers, 0);
	assert_int_equal(eviction_memory(o->tiers), at_first);
	eviction_tiers_missed(o->tiers, &shared);
	counting = eviction_memory(o->tiers);
	assert_true(counting > at_first);
	fill_hot(o, 1, 1);
	assert_true(eviction_memory(o->tiers) > counting + 10 * SLOTS);
	owner_free(o);
}

/* Then a hot copy is a sole one, and nothing is counted. */
static void without_memory_for_the_first_copy(void **state)
{
	/* marks; links; tiers, when there are links */
	static const unsigned failing[] = {1, 2, 2};
	struct owner *o = owner_new("sieve");

	(void)state;
	alloc_fail_at(1);
	assert_false(missed(o, 5, 1));
	assert_true(alloc_failed());
	o->weight[3] = 1;
	o->copy[3] = true;
	for (unsigned i = 0; i < NROWS(failing); i++) {
		alloc_fail_at(failing[i]);
		eviction_insert(o->tiers, 3);
		assert_true(alloc_failed());
		alloc_fail_at(0);
		assert_int_equal(stats_of(o).copies, 0);
		assert_int_equal(eviction_recall(o->tiers, EVICTION_NONE), 3);
		assert_int_equal(eviction_evict(o->tiers), 3);
	}
	eviction_insert(o->tiers, 3);
	assert_int_equal(stats_of(o).copies, 1);
	assert_int_equal(eviction_reserve(o->tiers, SLOTS * 4), 0);
	eviction_hit(o->tiers, 3);
	assert_true(eviction_was_used(o->tiers, 3));
	owner_free(o);
}

/* Where there was memory for marks alone, they are as many as slots, too: uses
 * of any slot may set one. */
static void marks_without_the_rest_grow(void **state)
{
	struct owner *o = owner_new("sieve");

	(void)state;
	o->weight[3] = 1;
	o->copy[3] = true;
	alloc_fail_at(2);
	eviction_insert(o->tiers, 3);
	assert_true(alloc_failed());
	alloc_fail_at(0);
	assert_int_equal(stats_of(o).copies, 0);
	assert_int_equal(eviction_reserve(o->tiers, SLOTS * 1024), 0);
	eviction_share_hit(o->tiers, SLOTS * 1024 - 1);
	assert_int_equal(eviction_evict(o->tiers), 3);
	owner_free(o);
}

static void without_memory(void **state)
{
	struct eviction_config c = {.capacity = CAPACITY,
				    .nslots = SLOTS,
				    .item = item,
				    .shared = true};
	struct eviction *e;
	bool made = false;

	(void)state;
	for (long n = 1; !made; n++) {
		e = NULL;
		alloc_fail_at((unsigned)n);
		made = !eviction_tiers_new(&e, eviction_policy_find("sieve"),
					   &c);
		alloc_fail_at(0);
		if (!made)
			assert_null(e);
	}
	assert_true(eviction_memory(e) > SLOTS * 9);
	for (long n = 1, err = SCD_ENOMEM; err; n++) {
		alloc_fail_at((unsigned)n);
		err = eviction_reserve(e, SLOTS * 4);
		alloc_fail_at(0);
	}
	eviction_free(&e);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(as_the_twin),
		cmocka_unit_test(
			what_is_missed_twice_is_taken_into_an_empty_cache),
		cmocka_unit_test(what_is_missed_often_is_taken),
		cmocka_unit_test(the_larger_the_rarer_it_is_taken),
		cmocka_unit_test(in_large_clusters_fewer_are_large),
		cmocka_unit_test(who_is_used_stays),
		cmocka_unit_test(prices),
		cmocka_unit_test(the_border_follows_the_price),
		cmocka_unit_test(what_is_not_needed_takes_no_memory),
		cmocka_unit_test(without_memory_for_the_first_copy),
		cmocka_unit_test(marks_without_the_rest_grow),
		cmocka_unit_test(without_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
