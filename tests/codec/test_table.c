/*
 * Peer tables: against an array of lists that are asked one by one, to which
 * the same random changes are made; twins, engines, and what is refused.
 */
#include "tests/unit.h"

#include <stdlib.h>

#include "codec/filter/table_state.h"
#include "tests/codec/alloc.h"
#include "tests/codec/list_sample.h"
#include "tests/rounds.h"

enum { NKEYS = 3000, MAX_PEERS = SCD_TABLE_MAX_PEERS, MAX_WORDS = 16 };

/* What a model is like. */
struct setup {
	unsigned npeers;
	unsigned min_width, max_width;
	unsigned nkeys;   /* that lists are drawn from, NKEYS at most */
	unsigned same;    /* first bits that all keys share */
	unsigned nentries; /* of a list, at most */
	unsigned max_lies; /* of a thousand answers "no" */
};

/* The dumb twin; the entries of a peer are in no order. */
struct twin {
	const struct setup *setup;
	uint64_t seed;
	struct scd_key keys[NKEYS];
	struct scd_list *lists[MAX_PEERS];
	uint64_t *entries[MAX_PEERS];
	size_t n[MAX_PEERS];
	unsigned width[MAX_PEERS];
	uint64_t answers, lies;
};

/* Every fourth key differs from the one before only in bits that no table
 * keeps, but lists of 40 bits do. */
static void make_keys(struct twin *t)
{
	for (unsigned i = 0; i < NKEYS; i++) {
		uint64_t lo = random_next(&t->seed);

		if (i % 4 == 1)
			lo = t->keys[i - 1].lo ^ UINT64_C(3) << 24;
		else if (t->setup->same)
			lo = lo >> t->setup->same |
			     UINT64_C(0x5a5a) << (64 - t->setup->same);
		t->keys[i] = (struct scd_key){ lo, 0 };
	}
}

static struct twin *twin_new(const struct setup *setup)
{
	struct twin *t = calloc(1, sizeof(*t));

	assert_non_null(t);
	t->setup = setup;
	t->seed = setup->npeers * 64 + setup->max_width;
	make_keys(t);
	return t;
}

static void twin_drop(struct twin *t, unsigned peer)
{
	scd_list_free(&t->lists[peer]);
	free(t->entries[peer]);
	t->entries[peer] = NULL;
	t->n[peer] = 0;
}

static uint64_t draw(struct twin *t, unsigned width)
{
	const uint64_t i = random_below(&t->seed, t->setup->nkeys);

	return scd_fingerprint(&t->keys[i], width);
}

/* Changes */

static struct scd_list_change change_of(struct twin *t, unsigned peer,
					size_t go, size_t come)
{
	struct scd_list_change c = { .removed = list_sample_numbers(go),
				     .added = list_sample_numbers(come),
				     .nremoved = go,
				     .nadded = come };

	for (size_t i = 0; i < go; i++) {
		const size_t at = (size_t)random_below(&t->seed, t->n[peer]);

		c.removed[i] = t->entries[peer][at];
		t->entries[peer][at] = t->entries[peer][--t->n[peer]];
	}
	t->entries[peer] = realloc(t->entries[peer], (t->n[peer] + come + 1) *
							     sizeof(uint64_t));
	assert_non_null(t->entries[peer]);
	for (size_t i = 0; i < come; i++) {
		c.added[i] = draw(t, t->width[peer]);
		t->entries[peer][t->n[peer]++] = c.added[i];
	}
	assert_int_equal(scd_list_change_sort(&c), SCD_OK);
	return c;
}

/* So many entries that a list may have them. */
static size_t allowed(struct twin *t, unsigned width)
{
	const uint64_t most = (UINT64_C(1) << width) / SCD_LIST_SPARSITY;
	const uint64_t n = random_below(&t->seed, t->setup->nentries + 1);

	return (size_t)(n < most ? n : most);
}

static void do_set(struct twin *t, struct scd_table *table, unsigned peer)
{
	const struct setup *s = t->setup;
	struct scd_list *old = t->lists[peer], *new = NULL;
	struct scd_list_change c;

	t->lists[peer] = NULL;
	twin_drop(t, peer);
	t->width[peer] = s->min_width +
			 (unsigned)random_below(&t->seed, s->max_width -
								  s->min_width +
								  1);
	c = change_of(t, peer, 0, allowed(t, t->width[peer]));
	assert_int_equal(scd_list_new(&new, t->width[peer], 1), SCD_OK);
	assert_int_equal(scd_list_change(new, &c, 1), SCD_OK);
	scd_list_change_free(&c);
	assert_int_equal(scd_table_set(table, peer, new), SCD_OK);
	assert_ptr_equal(scd_table_list(table, peer), new);
	scd_list_free(&old);
	t->lists[peer] = new;
}

static void do_change(struct twin *t, struct scd_table *table, unsigned peer)
{
	const uint64_t most = (UINT64_C(1) << t->width[peer]) /
			      SCD_LIST_SPARSITY;
	struct scd_list_change c;
	size_t go, come;

	if (!t->lists[peer])
		return;
	go = (size_t)random_below(&t->seed, t->n[peer] + 1);
	come = allowed(t, t->width[peer]);
	if (come > most - (t->n[peer] - go))
		come = (size_t)(most - (t->n[peer] - go));
	c = change_of(t, peer, go, come);
	assert_int_equal(scd_table_change(table, peer, &c, 2), SCD_OK);
	scd_list_change_free(&c);
}

static void do_remove(struct twin *t, struct scd_table *table, unsigned peer)
{
	scd_table_remove(table, peer);
	assert_null(scd_table_list(table, peer));
	twin_drop(t, peer);
}

static void do_something(struct twin *t, struct scd_table *table)
{
	const unsigned peer =
		(unsigned)random_below(&t->seed, t->setup->npeers);

	switch (random_below(&t->seed, 16)) {
	case 0:
		do_remove(t, table, peer);
		break;
	case 1:
		assert_int_equal(scd_table_reserve(table,
						   random_below(&t->seed,
								100000)),
				 SCD_OK);
		break;
	case 2:
		scd_table_reclaim(table, scd_table_epoch(table));
		break;
	case 3:
	case 4:
	case 5:
		do_set(t, table, peer);
		break;
	default:
		do_change(t, table, peer);
	}
}

/* Answers */

static bool twin_has(const struct twin *t, unsigned peer,
		     const struct scd_key *key)
{
	for (size_t i = 0; i < t->n[peer]; i++) {
		if (t->entries[peer][i] == scd_fingerprint(key, t->width[peer]))
			return true;
	}
	return false;
}

static void compare_answer(struct twin *t, const struct scd_key *key,
			   const uint64_t *out, bool any)
{
	bool some = false;

	for (unsigned p = 0; p < (t->setup->npeers + 63) / 64 * 64; p++) {
		const bool is = out[p / 64] >> p % 64 & 1;
		const bool has = p < t->setup->npeers && t->lists[p] &&
				 twin_has(t, p, key);

		assert_true(is || !has);
		assert_true(!is || (p < t->setup->npeers && t->lists[p]));
		some = some || is;
		t->answers += !has;
		t->lies += is && !has;
	}
	assert_int_equal(any, some);
}

static void compare(struct twin *t, const struct scd_table *table,
		    const struct scd_key *keys, size_t n)
{
	const unsigned words = scd_table_words(table);
	uint64_t one[MAX_WORDS];
	uint64_t *many = calloc(n + 1, words * sizeof(*many));

	assert_non_null(many);
	scd_table_lookup_many(table, keys, n, many);
	for (size_t i = 0; i < n; i++) {
		bool any;

		scd_table_prefetch(table, &keys[i]);
		any = scd_table_lookup(table, &keys[i], one);
		compare_answer(t, &keys[i], one, any);
		assert_memory_equal(one, many + i * words,
				    words * sizeof(*one));
	}
	free(many);
}

static void compare_some(struct twin *t, const struct scd_table *table)
{
	enum { SOME = 37 };
	struct scd_key keys[SOME];

	compare(t, table,
		&t->keys[random_below(&t->seed, t->setup->nkeys - SOME)], SOME);
	for (size_t i = 0; i < SOME; i++)
		keys[i] = (struct scd_key){ random_next(&t->seed), 0 };
	compare(t, table, keys, SOME);
}

static void run_model(const struct setup *setup, const char *engine)
{
	struct twin *t = twin_new(setup);
	struct scd_table *table = NULL;
	const int rounds = rounds_of(120, 2000);

	assert_int_equal(scd_table_new(&table, setup->npeers), SCD_OK);
	assert_int_equal(scd_table_words(table), (setup->npeers + 63) / 64);
	if (scd_table_set_engine(table, engine)) {
		scd_table_free(&table); /* not on this processor */
		free(t);
		return;
	}
	assert_string_equal(scd_table_engine(table), engine);
	compare_some(t, table);
	for (int i = 0; i < rounds; i++) {
		do_something(t, table);
		compare_some(t, table);
	}
	compare(t, table, t->keys, setup->nkeys);
	if (t->lies * 1000 > t->answers * setup->max_lies)
		fail_msg("%u peers of %u to %u bits: %llu of %llu are lies",
			 setup->npeers, setup->min_width, setup->max_width,
			 (unsigned long long)t->lies,
			 (unsigned long long)t->answers);
	for (unsigned p = 0; p < setup->npeers; p++)
		do_remove(t, table, p);
	assert_true(table->used == 0);
	scd_table_reclaim(table, scd_table_epoch(table));
	compare_some(t, table);
	scd_table_free(&table);
	assert_null(table);
	free(t);
}

static void behaves_like_the_model(void **state)
{
	static const struct setup setups[] = {
		{ 1, 20, 20, NKEYS, 0, 2000, 2 },
		{ 3, 40, 40, 500, 0, 2000, 2 },
		{ 8, 24, 27, NKEYS, 0, 1500, 3 },
		{ 63, 22, 40, 400, 0, 300, 5 },
		{ 64, 16, 20, 1000, 0, 300, 10 },
		/* Narrow lists, whose entries are in many buckets, too. */
		{ 7, 5, 40, NKEYS, 0, 1000, 60 },
		{ 130, 5, 16, 1000, 0, 100, 60 },
		{ MAX_PEERS, 30, 30, 100, 0, 100, 10 },
		/* All in some few buckets. */
		{ 5, 30, 40, 1000, 16, 2000, 20 },
	};

	(void)state;
	for (size_t i = 0; i < NROWS(setups); i++) {
		run_model(&setups[i], "portable");
		run_model(&setups[i], "avx2");
		run_model(&setups[i], "avx512");
	}
}

/* Growth: from nothing to many segments, and what is then taken out. */
static void grows_and_shrinks(void **state)
{
	enum { N = 120000, NLISTS = 8 };
	struct scd_table *table = NULL;
	struct scd_list *lists[NLISTS];
	size_t full;

	(void)state;
	assert_int_equal(scd_table_new(&table, NLISTS), SCD_OK);
	for (unsigned p = 0; p < NLISTS; p++) {
		lists[p] = list_sample(28, N, p);
		assert_int_equal(scd_table_set(table, p, lists[p]), SCD_OK);
	}
	assert_true(table->directory->depth > 0);
	scd_table_reclaim(table, scd_table_epoch(table));
	full = scd_table_memory(table);
	assert_in_range(full, N * NLISTS * 2, N * NLISTS * 4);
	for (unsigned p = 0; p < NLISTS; p++) {
		uint64_t *entries = list_sample_entries(lists[p]);

		for (size_t i = 0; i < N; i += 7) {
			struct scd_key key = { entries[i] << 36, 0 };
			uint64_t out[1];

			assert_true(scd_table_lookup(table, &key, out));
			assert_true(out[0] >> p & 1);
		}
		free(entries);
	}
	for (unsigned p = 0; p < NLISTS; p++) {
		scd_table_remove(table, p);
		scd_list_free(&lists[p]);
	}
	assert_true(scd_table_memory(table) > full / 4); /* to be reclaimed */
	scd_table_reclaim(table, scd_table_epoch(table));
	assert_true(scd_table_memory(table) < full / 4);
	scd_table_free(&table);
}

/* What was replaced since an epoch stays. */
static void epochs_are_kept(void **state)
{
	struct scd_table *table = NULL;
	uint64_t before, between;
	size_t bytes;

	(void)state;
	assert_int_equal(scd_table_new(&table, 1), SCD_OK);
	before = scd_table_epoch(table);
	assert_int_equal(scd_table_reserve(table, 1000), SCD_OK);
	between = scd_table_epoch(table);
	assert_true(between > before);
	assert_int_equal(scd_table_reserve(table, 10000), SCD_OK);
	bytes = scd_table_memory(table);
	scd_table_reclaim(table, before);
	assert_true(scd_table_memory(table) == bytes);
	scd_table_reclaim(table, between);
	assert_in_range(bytes - scd_table_memory(table), 64, 1000);
	bytes = scd_table_memory(table);
	scd_table_reclaim(table, scd_table_epoch(table));
	assert_true(bytes - scd_table_memory(table) > 1000);
	scd_table_free(&table);
}

/* Twins */

static bool found(const struct scd_table *table, uint64_t lo)
{
	struct scd_key key = { lo, 0 };
	uint64_t out[1];

	return scd_table_lookup(table, &key, out);
}

/* Three entries that are one to the table go one after the other. */
static void run_twins(unsigned width, uint64_t a, uint64_t b, uint64_t c)
{
	struct scd_list *list = NULL;
	struct scd_table *table = NULL;
	uint64_t entries[] = { a >> (64 - width), b >> (64 - width),
			       c >> (64 - width) };
	struct scd_list_change come = { .added = entries, .nadded = 3 };

	assert_int_equal(scd_table_new(&table, 60), SCD_OK);
	assert_int_equal(scd_list_new(&list, width, 1), SCD_OK);
	assert_int_equal(scd_table_set(table, 3, list), SCD_OK);
	assert_int_equal(scd_table_change(table, 3, &come, 1), SCD_OK);
	for (unsigned i = 0; i < 3; i++) {
		struct scd_list_change go = { .removed = &entries[i],
					      .nremoved = 1 };

		assert_true(found(table, a) && found(table, b) &&
			    found(table, c));
		assert_int_equal(scd_table_change(table, 3, &go, 2 + i),
				 SCD_OK);
	}
	assert_false(found(table, a) || found(table, b) || found(table, c));
	assert_true(table->used == 0);
	/* All at once, and two of them. */
	assert_int_equal(scd_table_change(table, 3, &come, 5), SCD_OK);
	for (unsigned n = 2; n > 0; n--) {
		struct scd_list_change go = { .removed = entries + (n & 1) * 2,
					      .nremoved = n };

		assert_true(found(table, c));
		assert_int_equal(scd_table_change(table, 3, &go, 8 - n),
				 SCD_OK);
	}
	assert_false(found(table, c));
	assert_true(table->used == 0);
	scd_table_free(&table);
	scd_list_free(&list);
}

static void twins_are_entries(void **state)
{
	const uint64_t a = UINT64_C(0x123456789a000000);

	(void)state;
	for (unsigned width = 10; width <= 40; width += 3)
		run_twins(width, a, a, a);
	run_twins(40, a, a, a + (1 << 24));
	run_twins(40, a, a + (1 << 24), a + (2 << 24));
	run_twins(38, a, a + (1 << 26), a + (2 << 26));
}

/* Engines */

static uint32_t matches(const struct scd__table_line *line, unsigned want,
			unsigned mask)
{
	uint32_t all = 0;

	for (unsigned i = 0; i < SCD__TABLE_SLOTS; i++) {
		const uint64_t slot = line->words[i / 4] >> i % 4 * 16;

		if ((slot & mask) == want)
			all |= UINT32_C(1) << i;
	}
	return all;
}

/* Against the plainest loop, in lines of few different slots. */
static void check_engine(const struct scd__table_engine *engine, unsigned mask,
			 uint64_t seed)
{
	enum { LINES = 40 };
	_Alignas(64) struct scd__table_line lines[LINES];

	for (unsigned i = 0; i < LINES; i++) {
		for (unsigned w = 0; w < SCD__TABLE_WORDS; w++)
			lines[i].words[w] = random_next(&seed) &
					    UINT64_C(0xc003c003c003c003);
	}
	for (unsigned i = 0; i < LINES; i++) {
		const uint16_t want =
			(uint16_t)(lines[i].words[i % 8] >> 16 & mask);
		const uint32_t all = matches(&lines[i], want, mask);

		assert_true(all != 0);
		assert_int_equal(engine->match(&lines[i], want, (uint16_t)mask),
				 all);
	}
}

static void engines_agree(void **state)
{
	static const unsigned masks[] = { 0x8000, 0xc000, 0xffc0, 0xffff };

	(void)state;
	for (size_t i = 0; i < scd__table_nengines; i++) {
		const struct scd__table_engine *engine = scd__table_engines[i];

		for (size_t j = 0; engine->available() && j < NROWS(masks); j++)
			check_engine(engine, masks[j], 1 + j);
	}
}

/* Errors */

static void arguments_are_checked(void **state)
{
	struct scd_list *list = list_sample(20, 100, 1), *same;
	uint64_t *entries = list_sample_entries(list);
	uint64_t missing = entries[50] + 1;
	struct scd_list_change c = { .removed = &missing,
				     .nremoved = 1,
				     .added = entries,
				     .nadded = 100 };
	struct scd_table *table = NULL;

	(void)state;
	while (missing == entries[51])
		missing++;
	same = list_sample(20, 100, 1);
	assert_int_equal(scd_table_new(&table, 0), SCD_EINVAL);
	assert_int_equal(scd_table_new(&table, SCD_TABLE_MAX_PEERS + 1),
			 SCD_EINVAL);
	assert_null(table);
	scd_table_free(&table);
	assert_int_equal(scd_table_new(&table, 2), SCD_OK);
	assert_int_equal(scd_table_set_engine(table, "abacus"), SCD_EINVAL);
	assert_int_equal(scd_table_change(table, 1, &c, 2), SCD_EMISMATCH);
	scd_table_remove(table, 1);
	assert_int_equal(scd_table_set(table, 1, list), SCD_OK);
	assert_true(table->used == 100);
	assert_int_equal(scd_table_change(table, 1, &c, 2), SCD_EINVAL);
	assert_true(table->used == 100);
	list_sample_same(list, same);
	scd_table_free(&table);
	scd_list_free(&list);
	scd_list_free(&same);
	free(entries);
}

/* What a table is asked to do while memory is short. */
typedef int step_fn(struct scd_table *table, struct scd_list *other,
		    const struct scd_list_change *change);

static int step_set(struct scd_table *table, struct scd_list *other,
		    const struct scd_list_change *change)
{
	(void)change;
	return scd_table_set(table, 1, other);
}

static int step_replace(struct scd_table *table, struct scd_list *other,
			const struct scd_list_change *change)
{
	(void)change;
	return scd_table_set(table, 0, other);
}

static int step_change(struct scd_table *table, struct scd_list *other,
		       const struct scd_list_change *change)
{
	(void)other;
	return scd_table_change(table, 0, change, 2);
}

static int step_reserve(struct scd_table *table, struct scd_list *other,
			const struct scd_list_change *change)
{
	(void)other;
	(void)change;
	return scd_table_reserve(table, 2000000);
}

/* All that it has is as it was. */
static void check_untouched(const struct scd_table *table,
			    const struct scd_list *list, uint64_t used)
{
	uint64_t *entries = list_sample_entries(list);

	assert_true(table->used == used);
	for (size_t i = 0; i < list_sample_count(list); i++)
		assert_true(found(table, entries[i] << 40));
	free(entries);
}

static void run_short(step_fn *step)
{
	unsigned n = 0;
	int error;

	do {
		struct scd_list *list = list_sample(24, 2000, 1);
		struct scd_list *other = list_sample(22, 9000, 2);
		struct scd_list_change c =
			list_sample_change(list, 3, 100, 5000);
		struct scd_table *table = NULL;
		uint64_t used;

		assert_int_equal(scd_table_new(&table, 2), SCD_OK);
		assert_int_equal(scd_table_set(table, 0, list), SCD_OK);
		used = table->used;
		alloc_fail_at(++n);
		error = step(table, other, &c);
		alloc_fail_at(0);
		if (error) {
			assert_int_equal(error, SCD_ENOMEM);
			check_untouched(table, list, used);
		}
		scd_table_free(&table);
		scd_list_free(&list);
		scd_list_free(&other);
		scd_list_change_free(&c);
	} while (error);
	assert_true(n > 1);
}

static void no_memory(void **state)
{
	struct scd_table *table = NULL;
	unsigned n = 0;
	int error;

	(void)state;
	do {
		alloc_fail_at(++n);
		error = scd_table_new(&table, 2);
		if (error) {
			assert_int_equal(error, SCD_ENOMEM);
			assert_null(table);
		}
	} while (error);
	alloc_fail_at(0);
	assert_int_equal(n, 6); /* five allocations */
	scd_table_free(&table);
	run_short(step_set);
	run_short(step_replace);
	run_short(step_change);
	run_short(step_reserve);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(behaves_like_the_model),
		cmocka_unit_test(grows_and_shrinks),
		cmocka_unit_test(epochs_are_kept),
		cmocka_unit_test(twins_are_entries),
		cmocka_unit_test(engines_agree),
		cmocka_unit_test(arguments_are_checked),
		cmocka_unit_test(no_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
