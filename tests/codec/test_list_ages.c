/*
 * Lists that keep ages: owner and readers have the same cohorts whatever form
 * their frames have, and what goes by age takes few bits.
 */
#include <string.h>

#include "codec/filter/cohorts.h"
#include "codec/filter/list_ages.h"
#include "codec/filter/list_pick.h"
#include "tests/codec/alloc.h"
#include "tests/codec/list_sample.h"
#include "tests/rounds.h"

enum { WIDTH = 18, CAPACITY = 3000 };

struct blob {
	uint8_t *bytes;
	size_t len;
};

/* A cache that evicts in the order of arrival, mostly, and its list. */
struct cache {
	uint64_t seed;
	uint64_t held[2 * CAPACITY]; /* oldest first */
	size_t n;
	struct scd_list *list;
	uint64_t generation;
};

static struct cache *cache_new(unsigned width, uint64_t seed)
{
	struct cache *cache = calloc(1, sizeof(*cache));

	assert_non_null(cache);
	cache->seed = seed;
	assert_int_equal(scd_list_new(&cache->list, width, LIST_INSTANCE),
			 SCD_OK);
	assert_int_equal(scd_list_keep_ages(cache->list), SCD_OK);
	assert_true(scd_list_has_ages(cache->list));
	return cache;
}

static void cache_free(struct cache *cache)
{
	scd_list_free(&cache->list);
	free(cache);
}

/* One object goes: the oldest, or now and then another one. */
static uint64_t cache_evict(struct cache *cache)
{
	const size_t at = random_below(&cache->seed, 8) == 0
				  ? (size_t)random_below(&cache->seed, cache->n)
				  : 0;
	const uint64_t entry = cache->held[at];

	memmove(cache->held + at, cache->held + at + 1,
		(cache->n - at - 1) * sizeof(*cache->held));
	cache->n--;
	return entry;
}

/* The change by which so many objects go and others come. */
static struct scd_list_change cache_turn(struct cache *cache, size_t go,
					 size_t come)
{
	struct scd_list_change c = {.removed = list_sample_numbers(go),
				    .added = list_sample_numbers(come),
				    .nremoved = go,
				    .nadded = come};

	for (size_t i = 0; i < go; i++)
		c.removed[i] = cache_evict(cache);
	for (size_t i = 0; i < come; i++) {
		c.added[i] = random_next(&cache->seed) >>
			     (64 - scd_list_width_of(cache->list));
		cache->held[cache->n++] = c.added[i];
	}
	assert_int_equal(scd_list_change_sort(&c), SCD_OK);
	return c;
}

/* The next change, up to a 32nd of what the cache is to hold. */
static struct scd_list_change cache_next(struct cache *cache)
{
	const size_t come = (size_t)random_below(&cache->seed, CAPACITY / 32);
	size_t go = cache->n + come > CAPACITY ? cache->n + come - CAPACITY : 0;

	if (go > cache->n)
		go = cache->n;
	return cache_turn(cache, go, come);
}

static struct blob frame_of(const struct cache *cache,
			    const struct scd_list_change *c, bool aged)
{
	struct blob b;

	assert_int_equal((aged ? scd_list_aged_frame_encode
			       : scd_list_frame_encode)(cache->list, c,
							cache->generation + 1,
							&b.bytes, &b.len),
			 SCD_OK);
	return b;
}

static void cache_step(struct cache *cache, const struct scd_list_change *c)
{
	assert_int_equal(scd_list_change(cache->list, c, ++cache->generation),
			 SCD_OK);
}

static struct blob ages_of(const struct scd_list *list)
{
	struct blob b;

	assert_int_equal(scd_list_ages_encode(list, &b.bytes, &b.len), SCD_OK);
	return b;
}

/* Applies a frame that is good, after which both lists are the same. */
static void follow(struct scd_list *list, const struct blob *frame)
{
	struct scd_list_change c;
	uint64_t generation;
	size_t used;

	assert_int_equal(scd_list_frame_decode(frame->bytes, frame->len, NULL,
					       list, &used, &generation, &c),
			 SCD_OK);
	assert_int_equal(used, frame->len);
	assert_int_equal(scd_list_change(list, &c, generation), SCD_OK);
	scd_list_change_free(&c);
}

static void have_same_ages(const struct scd_list *a, const struct scd_list *b)
{
	struct blob from_a = ages_of(a), from_b = ages_of(b);

	list_sample_same(a, b);
	assert_int_equal(from_a.len, from_b.len);
	assert_memory_equal(from_a.bytes, from_b.bytes, from_a.len);
	free(from_a.bytes);
	free(from_b.bytes);
}

/* A reader that begins with a full digest and the ages. */
static struct scd_list *reader_of(const struct scd_list *list)
{
	struct blob full, ages = ages_of(list);
	struct scd_list *reader = NULL;
	size_t used;

	assert_int_equal(scd_list_encode(list, &full.bytes, &full.len), SCD_OK);
	assert_int_equal(
		scd_list_decode(full.bytes, full.len, NULL, NULL, &reader),
		SCD_OK);
	assert_int_equal(
		scd_list_ages_decode(ages.bytes, ages.len, reader, &used),
		SCD_OK);
	assert_int_equal(used, ages.len);
	assert_int_equal(
		scd_list_ages_decode(ages.bytes, ages.len, reader, &used),
		SCD_EINVAL);
	free(full.bytes);
	free(ages.bytes);
	return reader;
}

/* A twin of cohorts: pairs of entries and the changes that they came with. */
static void cohorts_are_those_of_the_rules(void **state)
{
	struct scd__cohorts c;
	uint8_t map[SCD__COHORT_IDS];

	(void)state;
	scd__cohorts_begin(&c, 0);
	assert_int_equal(c.n, 0);
	scd__cohorts_begin_change(&c, 0, 10);
	scd__cohorts_end_change(&c, 10);
	scd__cohorts_begin_change(&c, 10, 6); /* 10 are too few to be closed */
	scd__cohorts_end_change(&c, 6);
	assert_int_equal(c.n, 1);
	scd__cohorts_begin_change(&c, 16, 3);
	scd__cohorts_end_change(&c, 3);
	assert_int_equal(c.n, 2);
	assert_int_equal(c.size[0], 16);
	for (int i = 0; i < 16; i++) /* the oldest is empty, and goes */
		scd__cohorts_remove(&c, 0);
	scd__cohorts_end_change(&c, 0);
	assert_int_equal(c.n, 1);
	assert_int_equal(c.size[0], 3);
	assert_int_equal(c.gone[0], 16);
	scd__cohorts_renumber(&c, map);
	assert_int_equal(map[1], 0);
	assert_int_equal(c.nids, 1);
	assert_true(scd__cohorts_are_valid(&c, 3));
	assert_false(scd__cohorts_are_valid(&c, 4));
}

/* Of too many cohorts, the two smallest neighbours become one. */
static void small_cohorts_become_one(void **state)
{
	struct scd__cohorts c;

	(void)state;
	scd__cohorts_begin(&c, 100);
	for (unsigned i = 1; i <= SCD__COHORTS_MAX; i++) {
		scd__cohorts_begin_change(&c, 100, 100);
		scd__cohorts_end_change(&c, i == 40 || i == 41 ? 99 : 100);
	}
	assert_int_equal(c.n, SCD__COHORTS_MAX);
	assert_int_equal(c.size[40], 198);
	assert_int_equal(c.size[41], 100);
	assert_int_equal(c.of_id[41], 40);
	assert_int_equal(c.of_id[42], 41);
	c.gone[7] = 5000; /* are forgotten by halves */
	c.gone[8] = 9;
	scd__cohorts_end_change(&c, 0);
	assert_int_equal(c.gone[7], 1250);
	assert_int_equal(c.gone[8], 2);
}

static void readers_have_the_same_ages(void **state)
{
	struct cache *cache = cache_new(WIDTH, 5);
	struct scd_list *reader = reader_of(cache->list), *late = NULL;
	const int rounds = rounds_of(400, 4000);

	(void)state;
	for (int i = 0; i < rounds; i++) {
		struct scd_list_change c = cache_next(cache);
		struct blob frame = frame_of(cache, &c, i % 3 != 0);

		follow(reader, &frame);
		if (late)
			follow(late, &frame);
		cache_step(cache, &c);
		if (i % 16 == 0)
			have_same_ages(reader, cache->list);
		if (i == rounds / 2)
			late = reader_of(cache->list);
		free(frame.bytes);
		scd_list_change_free(&c);
	}
	have_same_ages(late, cache->list);
	scd_list_free(&late);
	scd_list_free(&reader);
	cache_free(cache);
}

/* Many equal fingerprints, of which the oldest go first. */
static void twins_go_by_age(void **state)
{
	struct cache *cache = cache_new(12, 8);
	struct scd_list *reader = reader_of(cache->list);

	(void)state;
	for (unsigned i = 0; i < 300; i++) {
		const size_t go = cache->n > 100 ? 4 : 0;
		struct scd_list_change c = cache_turn(cache, go, 4);
		struct blob frame;

		for (size_t j = 0; j < c.nadded; j++)
			c.added[j] &= ~UINT64_C(63);
		for (size_t j = 0; j < cache->n; j++)
			cache->held[j] &= ~UINT64_C(63);
		assert_int_equal(scd_list_change_sort(&c), SCD_OK);
		frame = frame_of(cache, &c, true);
		follow(reader, &frame);
		cache_step(cache, &c);
		have_same_ages(reader, cache->list);
		free(frame.bytes);
		scd_list_change_free(&c);
	}
	scd_list_free(&reader);
	cache_free(cache);
}

static struct cache *cache_full(uint64_t seed)
{
	struct cache *cache = cache_new(WIDTH + 4, seed);

	for (unsigned i = 0; i < 200; i++) {
		struct scd_list_change c =
			cache_turn(cache, cache->n < CAPACITY ? 0 : 30, 30);

		cache_step(cache, &c);
		scd_list_change_free(&c);
	}
	return cache;
}

/* One eviction in eight has nothing to do with age, as above: 8.1 bits by rank,
 * and less than half of that by age. */
static void what_goes_by_age_takes_few_bits(void **state)
{
	struct cache *cache = cache_full(9);
	size_t by_age = 0, by_rank = 0;

	(void)state;
	for (unsigned i = 0; i < 100; i++) {
		struct scd_list_change c = cache_turn(cache, 30, 30);
		struct blob aged = frame_of(cache, &c, true);
		struct blob frame = frame_of(cache, &c, false);

		by_age += aged.len;
		by_rank += frame.len;
		cache_step(cache, &c);
		free(aged.bytes);
		free(frame.bytes);
		scd_list_change_free(&c);
	}
	assert_true(by_age + 100 * 30 * 9 / 2 / 8 < by_rank);
	cache_free(cache);
}

/* A change that fails leaves ages as they were, too. */
static void changes_that_fail_change_nothing(void **state)
{
	struct cache *cache = cache_full(4);
	struct scd_list *twin = reader_of(cache->list);
	struct scd_list_change c = cache_turn(cache, 40, 40);

	(void)state;
	c.removed[39] = c.removed[38]; /* once more than it is there */
	assert_int_equal(scd_list_change(cache->list, &c, 1000), SCD_EINVAL);
	have_same_ages(cache->list, twin);
	scd_list_change_free(&c);
	for (unsigned nth = 1;; nth++) {
		int error;

		c = list_sample_change(cache->list, nth, 50, 2000);
		alloc_fail_at(nth);
		error = scd_list_change(cache->list, &c, 1000);
		alloc_fail_at(0);
		scd_list_change_free(&c);
		if (!error)
			break;
		assert_int_equal(error, SCD_ENOMEM);
		have_same_ages(cache->list, twin);
	}
	scd_list_free(&twin);
	cache_free(cache);
}

static void memory_that_fails_leaks_nothing(void **state)
{
	struct cache *cache = cache_full(6);
	struct scd_list *reader = reader_of(cache->list);
	struct scd_list_change c = cache_turn(cache, 20, 20), read;
	struct blob frame = frame_of(cache, &c, true), b;
	uint64_t generation;
	size_t used;
	int error;

	(void)state;
	for (unsigned nth = 1, done = 0; !done; nth++) {
		alloc_fail_at(nth);
		error = scd_list_aged_frame_encode(cache->list, &c, 5000,
						   &b.bytes, &b.len);
		done = !alloc_failed();
		alloc_fail_at(0);
		assert_int_equal(error, done ? SCD_OK : SCD_ENOMEM);
	}
	free(b.bytes);
	for (unsigned nth = 1, done = 0; !done; nth++) {
		alloc_fail_at(nth);
		error = scd_list_frame_decode(frame.bytes, frame.len, NULL,
					      reader, &used, &generation,
					      &read);
		done = !alloc_failed();
		alloc_fail_at(0);
		assert_int_equal(error, done ? SCD_OK : SCD_ENOMEM);
	}
	scd_list_change_free(&read);
	for (unsigned nth = 1, done = 0; !done; nth++) {
		alloc_fail_at(nth);
		error = scd_list_ages_encode(cache->list, &b.bytes, &b.len);
		done = !alloc_failed();
		alloc_fail_at(0);
		assert_int_equal(error, done ? SCD_OK : SCD_ENOMEM);
	}
	free(b.bytes);
	free(frame.bytes);
	scd_list_change_free(&c);
	scd_list_free(&reader);
	cache_free(cache);
}

/* A list like the cache's that has no ages. */
static struct scd_list *without_ages(const struct scd_list *list)
{
	struct scd_list *out = NULL;
	struct blob full;

	assert_int_equal(scd_list_encode(list, &full.bytes, &full.len), SCD_OK);
	assert_int_equal(
		scd_list_decode(full.bytes, full.len, NULL, NULL, &out),
		SCD_OK);
	free(full.bytes);
	return out;
}

static void lists_without_ages_refuse_them(void **state)
{
	struct cache *cache = cache_full(11);
	struct scd_list *reader = without_ages(cache->list);
	struct scd_list_change c = cache_turn(cache, 20, 20), read;
	struct blob frame = frame_of(cache, &c, true), none;
	uint64_t generation;
	size_t used;

	(void)state;
	assert_false(scd_list_has_ages(reader));
	assert_int_equal(scd_list_frame_decode(frame.bytes, frame.len, NULL,
					       reader, &used, &generation,
					       &read),
			 SCD_EBASE);
	assert_int_equal(scd_list_aged_frame_encode(reader, &c, 5000,
						    &none.bytes, &none.len),
			 SCD_EINVAL);
	assert_int_equal(scd_list_ages_encode(reader, &none.bytes, &none.len),
			 SCD_EINVAL);
	free(frame.bytes);
	scd_list_change_free(&c);
	scd_list_free(&reader);
	cache_free(cache);
}

/* Ages that are cut, damaged, or of another list. */
static void damaged_ages_are_refused(void **state)
{
	struct cache *cache = cache_full(12);
	struct blob ages = ages_of(cache->list);
	struct scd_list *reader = without_ages(cache->list);
	struct scd_list *other = list_sample(WIDTH, 500, 3);
	uint64_t seed = 2;
	size_t used;

	(void)state;
	for (size_t len = 0; len < ages.len; len++)
		assert_int_equal(
			scd_list_ages_decode(ages.bytes, len, reader, &used),
			SCD_ETRUNC);
	assert_int_equal(
		scd_list_ages_decode(ages.bytes, ages.len, other, &used),
		SCD_ECHECKSUM);
	for (int i = 0; i < rounds_of(2000, 100000); i++) {
		const size_t bit = (size_t)random_below(&seed, 8 * ages.len);

		ages.bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
		assert_int_not_equal(scd_list_ages_decode(ages.bytes, ages.len,
							  reader, &used),
				     SCD_OK);
		assert_false(scd_list_has_ages(reader));
		ages.bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
	}
	free(ages.bytes);
	scd_list_free(&other);
	scd_list_free(&reader);
	cache_free(cache);
}

static void damaged_frames_are_refused(void **state)
{
	struct cache *cache = cache_full(13);
	struct scd_list *reader = reader_of(cache->list);
	struct scd_list_change c = cache_turn(cache, 25, 25), read;
	struct blob frame = frame_of(cache, &c, true);
	uint64_t generation;
	size_t used;

	(void)state;
	for (size_t len = 0; len < frame.len; len++)
		assert_int_equal(scd_list_frame_decode(frame.bytes, len, NULL,
						       reader, &used,
						       &generation, &read),
				 SCD_ETRUNC);
	/* behind type, length and steps: the generation is not in the sum */
	for (size_t bit = 8 * 3; bit < 8 * frame.len; bit++) {
		frame.bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
		assert_int_not_equal(scd_list_frame_decode(
					     frame.bytes, frame.len, NULL,
					     reader, &used, &generation, &read),
				     SCD_OK);
		frame.bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
	}
	have_same_ages(reader, cache->list);
	free(frame.bytes);
	scd_list_change_free(&c);
	scd_list_free(&reader);
	cache_free(cache);
}

/* An id takes a byte, whose list takes little more than two. */
static void ages_take_little_memory(void **state)
{
	enum { N = 300000 };
	struct scd_list *list = list_sample(30, N, 11);

	(void)state;
	assert_true(scd_list_memory(list) < N * 5 / 2);
	assert_int_equal(scd_list_keep_ages(list), SCD_OK);
	assert_true(scd_list_memory(list) < N * 15 / 4);
	scd_list_free(&list);
}

/* All engines pick those of a set, wherever the ids begin and end, and look at
 * no id behind them. */
static void engines_pick_the_same(void **state)
{
	uint64_t seed = 5;

	(void)state;
	for (unsigned round = 0; round < 1000; round++) {
		const unsigned n =
			(unsigned)random_below(&seed, SCD__PICK_MOST + 1);
		uint8_t *ids = malloc(n + 1);
		struct scd__pick_set set = {{0}};
		bool is_in[SCD__COHORT_IDS] = {false};
		uint64_t picked = 0;

		assert_non_null(ids);
		for (unsigned i = 0; i < round % SCD__COHORT_IDS; i++) {
			const uint64_t id =
				random_below(&seed, SCD__COHORT_IDS);

			scd__pick_set_add(&set, (unsigned)id);
			is_in[id] = true;
		}
		for (unsigned i = 0; i < n; i++) {
			ids[i + 1] = (uint8_t)random_next(&seed);
			if (is_in[ids[i + 1]])
				picked |= UINT64_C(1) << i;
		}
		for (size_t i = 0; i < scd__pick_nengines; i++) {
			if (scd__pick_engines[i]->available())
				assert_true(scd__pick_engines[i]->pick(
						    &set, ids + 1, n) ==
					    picked);
		}
		free(ids);
	}
}

/* A list of several groups; in a skewed one, three of four entries are in few
 * buckets. */
static struct scd_list *many_groups(bool skewed, uint64_t *seed)
{
	enum { CHANGES = 40, SOME = 1000, MANY_WIDTH = 24 };
	struct scd_list *list;

	assert_int_equal(scd_list_new(&list, MANY_WIDTH, LIST_INSTANCE),
			 SCD_OK);
	assert_int_equal(scd_list_keep_ages(list), SCD_OK);
	for (unsigned i = 1; i <= CHANGES; i++) {
		struct scd_list_change c =
			list_sample_change(list, random_next(seed), 0, SOME);

		for (unsigned j = 0; skewed && j < SOME; j++)
			c.added[j] >>= j % 4 ? MANY_WIDTH / 4 : 0;
		assert_int_equal(scd_list_change_sort(&c), SCD_OK);
		assert_int_equal(scd_list_change(list, &c, i), SCD_OK);
		scd_list_change_free(&c);
	}
	return list;
}

/* Ranks of entries, of which each goes or stays: as they are by definition. */
static void ranks_by_count(const struct scd_list *list, const uint8_t *goes,
			   struct scd__aged_ranks *out)
{
	const size_t n = (size_t)list_sample_count(list);
	uint8_t *of_entry = malloc(n);
	uint64_t *at = out->ranks;

	assert_non_null(of_entry);
	scd__list_ages_read(list, of_entry);
	memset(out->count, 0, sizeof(out->count));
	for (unsigned cohort = 0; cohort < SCD__COHORTS_MAX; cohort++) {
		uint64_t rank = 0;

		for (size_t i = 0; i < n; i++) {
			if (of_entry[i] != cohort)
				continue;
			if (goes[i]) {
				*at++ = rank;
				out->count[cohort]++;
			}
			rank++;
		}
	}
	free(of_entry);
}

/* Entries that go: a run of them, and some anywhere; but no twins, of which
 * only the oldest has a rank to go by. Returns how many, and which. */
static size_t choose_some(const uint64_t *entries, size_t n, size_t some,
			  uint64_t *seed, uint8_t *goes)
{
	const size_t run = (size_t)random_below(seed, n);
	size_t ngo = 0;

	memset(goes, 0, n);
	for (size_t i = run; i < n && i < run + some / 4; i++)
		goes[i] = 1;
	for (size_t i = 0; i < some; i++)
		goes[random_below(seed, n)] = 1;
	for (size_t i = 0; i < n; i++) {
		if ((i > 0 && entries[i] == entries[i - 1]) ||
		    (i + 1 < n && entries[i] == entries[i + 1]))
			goes[i] = 0;
		ngo += goes[i];
	}
	return ngo;
}

/* Some entries are found by their ranks, and their ranks by them. */
static void check_ranks(const struct scd_list *list, uint64_t *seed,
			size_t some)
{
	const size_t n = (size_t)list_sample_count(list);
	uint64_t *entries = list_sample_entries(list);
	uint64_t *found = list_sample_numbers(n);
	struct scd__aged_ranks ranks = {.ranks = list_sample_numbers(n)};
	struct scd__aged_ranks back = {.ranks = list_sample_numbers(n)};
	uint8_t *goes = malloc(n);
	size_t ngo;

	assert_non_null(goes);
	ngo = choose_some(entries, n, some, seed, goes);
	ranks_by_count(list, goes, &ranks);
	scd__list_aged_entries_at(list, &ranks, found);
	for (size_t i = 0, j = 0; i < n; i++) {
		if (goes[i])
			assert_true(found[j++] == entries[i]);
	}
	assert_int_equal(scd__list_aged_ranks_of(list, found, ngo, &back),
			 SCD_OK);
	assert_memory_equal(back.count, ranks.count, sizeof(ranks.count));
	assert_memory_equal(back.ranks, ranks.ranks, ngo * sizeof(uint64_t));
	free(ranks.ranks);
	free(back.ranks);
	free(found);
	free(goes);
	free(entries);
}

static void ranks_are_found_in_all_groups(void **state)
{
	static const size_t some[] = {1, 2, 30, 400, 5000};
	uint64_t seed = 6;

	(void)state;
	for (unsigned skewed = 0; skewed < 2; skewed++) {
		struct scd_list *list = many_groups(skewed, &seed);

		for (size_t i = 0; i < sizeof(some) / sizeof(*some); i++)
			check_ranks(list, &seed, some[i]);
		scd_list_free(&list);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cohorts_are_those_of_the_rules),
		cmocka_unit_test(small_cohorts_become_one),
		cmocka_unit_test(readers_have_the_same_ages),
		cmocka_unit_test(twins_go_by_age),
		cmocka_unit_test(what_goes_by_age_takes_few_bits),
		cmocka_unit_test(changes_that_fail_change_nothing),
		cmocka_unit_test(memory_that_fails_leaks_nothing),
		cmocka_unit_test(lists_without_ages_refuse_them),
		cmocka_unit_test(damaged_ages_are_refused),
		cmocka_unit_test(damaged_frames_are_refused),
		cmocka_unit_test(ages_take_little_memory),
		cmocka_unit_test(engines_pick_the_same),
		cmocka_unit_test(ranks_are_found_in_all_groups),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
