/*
 * The store's index: policies by hand-made scripts, everything by a model test
 * against the dumbest twin (an array from old to new, which is searched), by
 * growth, and by allocations that fail.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "digestd/store/store.h"
#include "tests/codec/alloc.h"
#include "tests/codec/random.h"
#include "tests/rounds.h"
#include "tests/unit.h"

enum {
	NKEYS = 48,
	NOBJECTS = 200,
	MAX_WEIGHT = 2000,
	MODEL_STEPS = 60000,
	GROWTH_KEYS = 20000,
};

struct object {
	struct store_entry entry;
	unsigned key;      /* number of its key */
	unsigned inserted; /* number of its insertion; the newest is largest */
	size_t weight;
	bool in;           /* as the twin has it */
	bool visited;      /* the twin's mark */
};

/* The store under test, what it has reported, and the twin. */
struct model {
	struct store *store;
	const char *policy;
	struct store_events events;
	struct object objects[NOBJECTS];
	bool key_in[NKEYS];                  /* as reported */
	struct object *released[NOBJECTS];   /* by the last operation */
	size_t nreleased;
	struct object *expected[NOBJECTS];   /* to be released by it */
	size_t nexpected;
	struct object *queue[NOBJECTS];      /* the twin, old to new */
	size_t nqueue, hand;
	uint64_t weight, max_weight, evicted, dropped;
	unsigned insertions, max_variants;
	uint64_t random;
	unsigned stays; /* a key that may not come or go now; NKEYS: none */
	bool some_count; /* not all of the entries do, by their weight */
};

/* Few slots for many keys, so that chains are long. */
static struct scd_key key_of(unsigned n)
{
	return (struct scd_key){ n, n % 5 };
}

static void key_added(void *arg, const struct scd_key *key)
{
	struct model *m = arg;

	assert_false(m->key_in[key->lo]);
	assert_int_not_equal(key->lo, m->stays);
	m->key_in[key->lo] = true;
}

static void key_removed(void *arg, const struct scd_key *key)
{
	struct model *m = arg;

	assert_true(m->key_in[key->lo]);
	assert_int_not_equal(key->lo, m->stays);
	m->key_in[key->lo] = false;
}

static void released(void *arg, struct store_entry *entry)
{
	struct model *m = arg;

	m->released[m->nreleased++] = (struct object *)entry;
	/* The memory is the owner's: nobody may look at it any more. */
	memset(entry, 0xee, sizeof(*entry));
}

static size_t weight_of(void *arg, const struct store_entry *entry)
{
	(void)arg;
	return ((const struct object *)entry)->weight;
}

static bool counts(void *arg, const struct store_entry *entry)
{
	return !((struct model *)arg)->some_count ||
	       ((const struct object *)entry)->weight % 3;
}

static struct model *model_new(const char *policy, uint64_t max_weight)
{
	struct model *m = calloc(1, sizeof(*m));

	assert_non_null(m);
	m->events = (struct store_events){ key_added, key_removed, released,
					   weight_of, counts, m };
	m->policy = policy;
	m->max_weight = max_weight;
	m->max_variants = STORE_VARIANTS;
	m->stays = NKEYS;
	m->random = 1;
	assert_int_equal(store_new(&m->store, max_weight,
				   eviction_policy_find(policy),
				   &m->events), 0);
	return m;
}

static void model_free(struct model *m)
{
	m->nreleased = 0;
	store_free(&m->store);
	assert_null(m->store);
	assert_int_equal(m->nreleased, m->nqueue);
	free(m);
}

/* The twin */

static void twin_drop(struct model *m, size_t at)
{
	m->queue[at]->in = false;
	m->weight -= m->queue[at]->weight;
	m->expected[m->nexpected++] = m->queue[at];
	m->nqueue--;
	memmove(m->queue + at, m->queue + at + 1,
		(m->nqueue - at) * sizeof(m->queue[0]));
	if (m->hand > at)
		m->hand--;
	if (m->hand >= m->nqueue)
		m->hand = 0;
}

static size_t twin_victim(struct model *m)
{
	if (!strcmp(m->policy, "lru"))
		return 0;
	while (m->queue[m->hand]->visited) {
		m->queue[m->hand]->visited = false;
		m->hand = (m->hand + 1) % m->nqueue;
	}
	return m->hand;
}

static void twin_make_room(struct model *m)
{
	while (m->weight > m->max_weight) {
		size_t victim = twin_victim(m);

		/* A hand on the newest goes back to the oldest. */
		if (victim == m->nqueue - 1)
			m->hand = 0;
		twin_drop(m, victim);
		m->evicted++;
	}
}

static size_t twin_place(const struct model *m, const struct object *o)
{
	size_t at = 0;

	while (m->queue[at] != o)
		at++;
	return at;
}

static void twin_touch(struct model *m, struct object *o)
{
	size_t at = twin_place(m, o);

	o->visited = true;
	if (strcmp(m->policy, "lru") != 0)
		return;
	memmove(m->queue + at, m->queue + at + 1,
		(m->nqueue - at - 1) * sizeof(m->queue[0]));
	m->queue[m->nqueue - 1] = o;
}

/* The newest variant of a key that was inserted before number `before`. */
static struct object *twin_find(const struct model *m, unsigned key,
				unsigned before)
{
	struct object *best = NULL;

	for (size_t i = 0; i < m->nqueue; i++) {
		struct object *o = m->queue[i];

		if (o->key == key && o->inserted < before &&
		    (!best || o->inserted > best->inserted))
			best = o;
	}
	return best;
}

/* Makes room for one more variant of a key. */
static void twin_drop_variants(struct model *m, unsigned key)
{
	for (;;) {
		struct object *oldest = NULL;
		unsigned n = 0;

		for (struct object *o = twin_find(m, key, UINT32_MAX); o;
		     o = twin_find(m, key, o->inserted), n++)
			oldest = o;
		if (n < m->max_variants)
			return;
		twin_drop(m, twin_place(m, oldest));
		m->dropped++;
	}
}

static void twin_insert(struct model *m, struct object *o, unsigned key)
{
	m->weight += o->weight;
	twin_drop_variants(m, key);
	twin_make_room(m);
	o->key = key;
	o->in = true;
	o->visited = false;
	o->inserted = ++m->insertions;
	m->queue[m->nqueue++] = o;
}

/* One operation on both */

static void insert(struct model *m, struct object *o, unsigned key,
		   size_t weight)
{
	struct scd_key k = key_of(key);
	int error;

	o->weight = weight;
	error = store_insert(m->store, &o->entry, &k);
	if (weight > m->max_weight) {
		assert_int_equal(error, -E2BIG);
		return;
	}
	assert_int_equal(error, 0);
	twin_insert(m, o, key);
}

/* In place of one that is in; its key stays all the while, if both count. */
static void replace(struct model *m, struct object *old, struct object *o,
		    size_t weight)
{
	unsigned key = old->key;
	bool fits = weight <= m->max_weight;

	o->weight = weight;
	m->stays = fits && counts(m, &old->entry) && counts(m, &o->entry)
			   ? key : NKEYS;
	assert_int_equal(store_replace(m->store, &old->entry, &o->entry),
			 fits ? 0 : -E2BIG);
	m->stays = NKEYS;
	twin_drop(m, twin_place(m, old));
	if (fits)
		twin_insert(m, o, key);
}

static void limit(struct model *m, unsigned max_variants)
{
	m->max_variants = max_variants;
	store_limit_variants(m->store, max_variants);
}

static void touch(struct model *m, struct object *o)
{
	store_touch(m->store, &o->entry);
	twin_touch(m, o);
}

static void remove_one(struct model *m, struct object *o)
{
	twin_drop(m, twin_place(m, o));
	store_remove(m->store, &o->entry);
}

static void remove_key(struct model *m, unsigned key)
{
	struct scd_key k = key_of(key);
	struct object *o;

	while ((o = twin_find(m, key, UINT32_MAX)))
		twin_drop(m, twin_place(m, o));
	assert_int_equal(store_remove_key(m->store, &k), m->nexpected);
}

/* An even weight: what store_remove_if() is to remove. */
static bool is_even(void *arg, struct store_entry *e)
{
	(void)arg;
	return !(((const struct object *)e)->weight & 1);
}

static void remove_even(struct model *m, struct keypart part)
{
	for (size_t i = m->nqueue; i-- > 0;) {
		struct scd_key k = key_of(m->queue[i]->key);

		if (keypart_of(&k, part.count) == part.number &&
		    !(m->queue[i]->weight & 1))
			twin_drop(m, i);
	}
	assert_int_equal(store_remove_if(m->store, &part, is_even, NULL),
			 m->nexpected);
}

static void resize(struct model *m, uint64_t max_weight)
{
	m->max_weight = max_weight;
	twin_make_room(m);
	store_resize(m->store, max_weight);
}

/* A new variant of a key, or one in place of another. */
static void put(struct model *m, struct object *o, unsigned key, size_t weight)
{
	struct object *old = twin_find(m, key, UINT32_MAX);

	while (old && random_below(&m->random, 3))
		old = twin_find(m, key, old->inserted);
	if (old)
		replace(m, old, o, weight);
	else
		insert(m, o, key, weight);
}

static void step(struct model *m)
{
	struct object *o = &m->objects[random_below(&m->random, NOBJECTS)];
	size_t weight = (size_t)random_below(&m->random, 60);

	m->nreleased = m->nexpected = 0;
	switch (random_below(&m->random, 40)) {
	case 0:
		remove_key(m, (unsigned)random_below(&m->random, NKEYS));
		return;
	case 1:
		resize(m, random_below(&m->random, 20) * MAX_WEIGHT / 10);
		return;
	case 2: /* heavier than many limits */
		weight = (size_t)random_below(&m->random, MAX_WEIGHT * 2);
		break;
	case 3:
		limit(m, 1 + (unsigned)random_below(&m->random, 8));
		return;
	case 4:
		if (weight < 10)
			remove_even(m, (struct keypart){ weight & 3, 4 });
		return;
	}
	if (!o->in)
		put(m, o, (unsigned)random_below(&m->random, NKEYS), weight);
	else if (weight < 5)
		remove_one(m, o);
	else
		touch(m, o);
}

/* Comparing them */

/* Whether there are any. */
static bool same_variants(const struct model *m, unsigned key)
{
	struct scd_key k = key_of(key);
	struct store_entry *e = store_find(m->store, &k);
	struct object *o = twin_find(m, key, UINT32_MAX);
	bool any = o, counted = false;

	for (; o; o = twin_find(m, key, o->inserted), e = store_next(e)) {
		assert_ptr_equal(e, &o->entry);
		counted |= counts(m->events.arg, &o->entry);
	}
	assert_null(e);
	assert_int_equal(counted, m->key_in[key]);
	assert_int_equal(store_counts(m->store, &k), counted);
	return any;
}

static void same(const struct model *m)
{
	struct store_stats stats;
	uint64_t nkeys = 0;

	assert_int_equal(m->nreleased, m->nexpected);
	for (unsigned key = 0; key < NKEYS; key++)
		nkeys += same_variants(m, key);
	store_stats(m->store, &stats);
	assert_int_equal(stats.keys, nkeys);
	assert_int_equal(stats.entries, m->nqueue);
	assert_int_equal(stats.weight, m->weight);
	assert_int_equal(stats.max_weight, m->max_weight);
	assert_int_equal(stats.evicted, m->evicted);
	assert_int_equal(stats.variants_dropped, m->dropped);
	assert_true(stats.weight <= stats.max_weight);
}

static void count_key(void *arg, const struct scd_key *key)
{
	unsigned *counts = arg;

	counts[key->lo]++;
}

/* These keys have five his. */
static void each_key_once(const struct model *m, uint64_t count)
{
	unsigned counted[NKEYS] = { 0 }, all[NKEYS] = { 0 };

	for (struct keypart part = { 0, count }; part.number < count;
	     part.number++) {
		store_each_counted_key(m->store, &part, count_key, counted);
		store_each_key(m->store, &part, count_key, all);
	}
	for (unsigned i = 0; i < NKEYS; i++) {
		const struct scd_key k = key_of(i);

		assert_int_equal(counted[i], m->key_in[i]);
		assert_int_equal(all[i], !!store_find(m->store, &k));
	}
}

static void run_model(const char *policy, bool some_count)
{
	struct model *m = model_new(policy, MAX_WEIGHT);
	const int nsteps = rounds_of(MODEL_STEPS, 10 * MODEL_STEPS);

	m->some_count = some_count;
	for (int i = nsteps; i > 0; i--) {
		step(m);
		same(m);
		/* An eviction has an order; removing a key has none. */
		if (m->nexpected == 1)
			assert_ptr_equal(m->released[0], m->expected[0]);
		if (i % 64 == 0)
			each_key_once(m, (uint64_t)1 << i / 64 % 12);
	}
	assert_true(m->evicted > (uint64_t)nsteps / 60);
	assert_true(m->dropped > (uint64_t)nsteps / 60);
	model_free(m);
}

static void test_model_sieve(void **state)
{
	(void)state;
	run_model("sieve", false);
}

static void test_model_where_some_count(void **state)
{
	(void)state;
	run_model("sieve", true);
}

static void test_model_lru(void **state)
{
	(void)state;
	run_model("lru", false);
}

/*
 * Scripts: a letter inserts its object, or touches it when it is there; three
 * fit. What is evicted, in order.
 */
static const struct {
	const char *label, *policy, *script, *evicted;
} scripts[] = {
	{ "lru: unused go in order", "lru", "abcdef", "abc" },
	{ "lru: a use saves", "lru", "abcad", "b" },
	{ "lru: order of use", "lru", "abcabde", "ca" },
	{ "lru: a use counts from its time", "lru", "abcadef", "bca" },
	{ "sieve: unused go in order", "sieve", "abcdef", "abc" },
	{ "sieve: a use saves", "sieve", "abcad", "b" },
	{ "sieve: the hand starts again", "sieve", "abcabde", "ca" },
	{ "sieve: the hand stays, new ones go", "sieve", "abcadef", "bcd" },
	{ "sieve: all used, the oldest goes", "sieve", "abcabcd", "a" },
};

static void test_scripts(void **state)
{
	(void)state;
	for (size_t i = 0; i < NROWS(scripts); i++) {
		struct model *m = model_new(scripts[i].policy, 3);
		char evicted[16] = "";

		for (const char *s = scripts[i].script; *s; s++) {
			struct object *o = &m->objects[*s - 'a'];

			m->nreleased = m->nexpected = 0;
			if (o->in)
				touch(m, o);
			else
				insert(m, o, (unsigned)(*s - 'a'), 1);
			if (m->nreleased)
				strncat(evicted, &(char){ (char)('a' +
					m->released[0]->key) }, 1);
		}
		if (strcmp(evicted, scripts[i].evicted) != 0)
			fail_msg("%s: evicted %s, not %s", scripts[i].label,
				 evicted, scripts[i].evicted);
		model_free(m);
	}
}

/*
 * Variants of one key: a small letter inserts one; a capital puts a new one in
 * the place of the one with the small letter. What is there then, from new to
 * old, and how many were dropped.
 */
static const struct {
	const char *label;
	unsigned limit;
	const char *script, *left;
	unsigned dropped;
} variants[] = {
	{ "as many as allowed", 3, "abc", "cba", 0 },
	{ "the oldest makes room", 3, "abcd", "dcb", 1 },
	{ "again and again", 3, "abcdefgh", "hgf", 5 },
	{ "one only", 1, "abc", "c", 2 },
	{ "a replaced one costs no other", 3, "abcB", "Bca", 0 },
	{ "the oldest replaced is the newest", 3, "abcAd", "dAc", 1 },
	{ "the only one replaced", 1, "aA", "A", 0 },
	{ "the default", STORE_VARIANTS, "abcdefghijklmnopqrstuvwxyz",
	  "zyxwvutsrqponmlkjihgfedcba", 0 },
};

/* The object that a letter stands for. */
static struct object *named(struct model *m, char letter)
{
	return &m->objects[(unsigned char)letter];
}

static void run_variants(struct model *m, const char *script)
{
	for (; *script; script++) {
		m->nreleased = m->nexpected = 0;
		if (*script >= 'a')
			insert(m, named(m, *script), 7, 1);
		else
			replace(m, named(m, (char)(*script | 0x20)),
				named(m, *script), 1);
		same(m);
	}
}

static void test_variants_are_limited(void **state)
{
	(void)state;
	for (size_t i = 0; i < NROWS(variants); i++) {
		struct model *m = model_new("sieve", 1000);
		struct scd_key key = key_of(7);
		const struct store_entry *e;
		const char *left = variants[i].left;

		limit(m, variants[i].limit);
		run_variants(m, variants[i].script);
		for (e = store_find(m->store, &key); e; e = store_next(e)) {
			if (e != &named(m, *left++)->entry)
				fail_msg("%s", variants[i].label);
		}
		if (*left || m->dropped != variants[i].dropped)
			fail_msg("%s", variants[i].label);
		model_free(m);
	}
}

/* After the limit was lowered, the next insertion of a key clears it up. */
static void test_fewer_variants_than_before(void **state)
{
	struct model *m = model_new("lru", 1000);

	(void)state;
	run_variants(m, "abcdefgh");
	limit(m, 2);
	m->nreleased = m->nexpected = 0;
	same(m);
	run_variants(m, "i");
	assert_int_equal(m->dropped, 7);
	assert_int_equal(m->nqueue, 2);
	model_free(m);
}

/* Growth: keys by the thousand, found all the while */

static void ignore_key(void *arg, const struct scd_key *key)
{
	(void)arg;
	(void)key;
}

static void ignore_entry(void *arg, struct store_entry *entry)
{
	(void)arg;
	(void)entry;
}

/* All that is here weighs its number. */
struct numbered {
	struct store_entry entry;
	size_t number;
};

static size_t weight_of_numbered(void *arg, const struct store_entry *entry)
{
	(void)arg;
	return ((const struct numbered *)entry)->number;
}

static const struct store_events ignore = { ignore_key, ignore_key,
					    ignore_entry, weight_of_numbered,
					    NULL, NULL };

static struct scd_key scattered_key(uint64_t n)
{
	uint64_t state = n;
	uint64_t lo = random_next(&state);

	return (struct scd_key){ lo, random_next(&state) };
}

/* A walk in as many parts as the store likes, or a few, or too many. */
struct tour {
	const struct store *store;
	struct keypart part;
	size_t nkeys;
	bool seen[GROWTH_KEYS];
};

static void tour_key(void *arg, const struct scd_key *key)
{
	struct tour *t = arg;
	size_t n = ((struct numbered *)store_find(t->store, key))->number;

	assert_int_equal(keypart_of(key, t->part.count), t->part.number);
	assert_false(t->seen[n]);
	t->seen[n] = true;
	t->nkeys++;
}

static void check_parts(const struct store *s, size_t n, uint64_t count)
{
	struct tour *t = calloc(1, sizeof(*t));

	assert_int_equal(count & (count - 1), 0);
	t->store = s;
	t->part.count = count;
	for (; t->part.number < count; t->part.number++)
		store_each_key(s, &t->part, tour_key, t);
	assert_int_equal(t->nkeys, n);
	free(t);
}

static void check_grown(const struct store *s,
			const struct numbered *entries, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct scd_key key = scattered_key(i);
		const struct store_entry *e = store_find(s, &key);

		/* Two variants each, the newer one first. */
		assert_ptr_equal(e, &entries[2 * i + 1].entry);
		e = store_next(e);
		assert_ptr_equal(e, &entries[2 * i].entry);
		assert_null(store_next(e));
	}
}

/* Is this key one of those with which the table wants to grow? */
static bool grows(size_t i)
{
	size_t slots = 1024;

	while (slots * 2 <= i)
		slots *= 2;
	return i >= slots && i - slots < 100;
}

static void grow(bool fails)
{
	struct numbered *entries = calloc(GROWTH_KEYS * 2, sizeof(*entries));
	struct store *s;

	assert_int_equal(store_new(&s, UINT64_MAX, eviction_policy_find("lru"),
				   &ignore), 0);
	for (size_t i = 0; i < GROWTH_KEYS; i++) {
		struct scd_key key = scattered_key(i);

		alloc_fail_at(fails && grows(i) ? 1 : 0);
		for (struct numbered *e = entries + 2 * i;
		     e < entries + 2 * (i + 1); e++) {
			e->number = i;
			assert_int_equal(store_insert(s, &e->entry, &key), 0);
		}
		alloc_fail_at(0);
		if ((i & (i + 1)) && i % 1777)
			continue;
		check_grown(s, entries, i + 1);
		check_parts(s, i + 1, store_parts(s));
		check_parts(s, i + 1, 1);
		check_parts(s, i + 1, 65536);
	}
	assert_int_equal(store_parts(s), 32);
	check_grown(s, entries, GROWTH_KEYS);
	for (size_t i = 0; i < GROWTH_KEYS; i++) {
		struct scd_key key = scattered_key(i);

		assert_int_equal(store_remove_key(s, &key), 2);
		assert_null(store_find(s, &key));
	}
	store_free(&s);
	free(entries);
}

static void test_growth(void **state)
{
	(void)state;
	grow(false);
}

/* A table that cannot grow has long chains, and loses nothing. */
static void test_growth_without_memory(void **state)
{
	(void)state;
	grow(true);
}

static void test_no_memory(void **state)
{
	struct store *s = NULL;

	(void)state;
	for (unsigned n = 1; n <= 6; n++) {
		alloc_fail_at(n);
		assert_int_equal(store_new(&s, 1, eviction_policy_find("lru"),
					   &ignore), -ENOMEM);
		assert_null(s);
	}
	alloc_fail_at(0);
	store_free(&s);
}

/* Without memory for more entries each new one costs an old one; with memory,
 * none any more. */
static void test_no_memory_for_more(void **state)
{
	struct numbered *entries = calloc(GROWTH_KEYS, sizeof(*entries));
	uint64_t failures = 0;
	struct store_stats stats;
	struct store *s;

	(void)state;
	assert_int_equal(store_new(&s, UINT64_MAX, eviction_policy_find("lru"),
				   &ignore), 0);
	for (size_t i = 0; i < GROWTH_KEYS; i++) {
		struct scd_key key = scattered_key(i);

		alloc_fail_at(i >= 2200 && i < 3500 ? 1 : 0);
		entries[i].number = i;
		assert_int_equal(store_insert(s, &entries[i].entry, &key), 0);
		failures += alloc_failed() != 0;
		assert_ptr_equal(store_find(s, &key), &entries[i].entry);
	}
	alloc_fail_at(0);
	store_stats(s, &stats);
	assert_true(failures > 500);
	assert_int_equal(stats.evicted, failures);
	assert_int_equal(stats.entries, GROWTH_KEYS - failures);
	for (size_t i = 0; i < GROWTH_KEYS; i++) {
		struct scd_key key = scattered_key(i);

		assert_int_equal(store_find(s, &key) != NULL, i >= failures);
	}
	store_free(&s);
	free(entries);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_scripts),
		cmocka_unit_test(test_variants_are_limited),
		cmocka_unit_test(test_fewer_variants_than_before),
		cmocka_unit_test(test_model_sieve),
		cmocka_unit_test(test_model_lru),
		cmocka_unit_test(test_model_where_some_count),
		cmocka_unit_test(test_growth),
		cmocka_unit_test(test_growth_without_memory),
		cmocka_unit_test(test_no_memory),
		cmocka_unit_test(test_no_memory_for_more),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
