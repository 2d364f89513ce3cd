/*
 * The catalog: when a generation is due, and that its array is always the one
 * of the keys that are there.
 */

#include "digestd/mesh/catalog.h"
#include "tests/codec/alloc.h"
#include "tests/codec/random.h"
#include "tests/unit.h"

enum { NBITS = 1 << 14, NHASH = 3 };

static struct scd_key key_of(uint64_t n)
{
	uint64_t state = n;
	uint64_t lo = random_next(&state);

	return (struct scd_key){ lo, random_next(&state) };
}

static struct catalog *catalog_with(uint64_t nkeys)
{
	struct catalog *c;

	assert_int_equal(catalog_new(&c, NBITS, NHASH), SCD_OK);
	for (uint64_t i = 0; i < nkeys; i++) {
		struct scd_key key = key_of(i);

		catalog_add(c, &key);
	}
	return c;
}

static void publish(struct catalog *c, int64_t now_ms)
{
	struct catalog_snapshot snapshot;

	assert_int_equal(catalog_snapshot(c, now_ms, &snapshot), SCD_OK);
	scd_bloom_free(&snapshot.bloom);
}

/* Published at 1000 ms; then `added` and `removed` keys; asked at now_ms. */
static const struct {
	const char *label;
	uint64_t nkeys, added, removed;
	int64_t now_ms;
	bool due;
} due_rows[] = {
	{ "nothing changed", 1000, 0, 0, 1000000, false },
	{ "share reached, too soon", 1000, 500, 0, 1099, false },
	{ "share reached, in time", 1000, 500, 0, 1100, true },
	{ "just the share", 990, 10, 0, 1100, true },
	{ "just below the share", 991, 9, 0, 1100, false },
	{ "removals count too", 1010, 0, 10, 1100, true },
	{ "both count together", 1000, 5, 5, 1100, true },
	{ "one key, before the latest time", 1000, 1, 0, 10999, false },
	{ "one key, at the latest time", 1000, 1, 0, 11000, true },
	{ "first key of an empty cache", 0, 1, 0, 1100, true },
	{ "last key of a cache", 1, 0, 1, 1100, true },
	{ "the clock goes back", 1000, 500, 0, 500, false },
};

static void test_due(void **state)
{
	static const struct publish_policy policy = {
		.share = .01, .min_ms = 100, .max_ms = 10000,
	};

	(void)state;
	for (size_t i = 0; i < NROWS(due_rows); i++) {
		struct catalog *c = catalog_with(due_rows[i].nkeys);

		publish(c, 1000);
		for (uint64_t n = 0; n < due_rows[i].added; n++) {
			struct scd_key key = key_of(due_rows[i].nkeys + n);

			catalog_add(c, &key);
		}
		for (uint64_t n = 0; n < due_rows[i].removed; n++) {
			struct scd_key key = key_of(n);

			catalog_remove(c, &key);
		}
		if (catalog_due(c, &policy, due_rows[i].now_ms) !=
		    due_rows[i].due)
			fail_msg("%s", due_rows[i].label);
		catalog_free(&c);
		assert_null(c);
	}
}

/* The more readers there are, the more is to be said at once. */
static void test_due_with_readers(void **state)
{
	static const struct {
		const char *label;
		unsigned readers;
		uint64_t added;
		int64_t sooner_ms; /* after the last one */
	} rows[] = {
		{ "few readers", 4, 1, 100 },
		{ "a change for each four readers", 5, 1, 1000 },
		{ "there are two of them", 5, 2, 100 },
		{ "just as many as are few", 6, 1, 1000 },
		{ "one more", 7, 1, 1166 },
		{ "a mesh of 64, nearly enough", 63, 15, 10500 },
		{ "a mesh of 64, enough", 63, 16, 100 },
	};

	(void)state;
	for (size_t i = 0; i < NROWS(rows); i++) {
		const struct publish_policy policy = {
			.share = .01, .min_ms = 100, .max_ms = 1000,
			.readers = rows[i].readers,
		};
		struct catalog *c = catalog_with(10);

		publish(c, 1000);
		for (uint64_t n = 0; n < rows[i].added; n++) {
			struct scd_key key = key_of(10 + n);

			catalog_add(c, &key);
		}
		if (catalog_due_ms(c, &policy) != 1000 + rows[i].sooner_ms)
			fail_msg("%s: %lld", rows[i].label,
				 (long long)catalog_due_ms(c, &policy));
		catalog_free(&c);
	}
}

static void count_call(void *arg)
{
	++*(unsigned *)arg;
}

/* Who waits for changes is called once, by the one that completes them. */
static void test_notify(void **state)
{
	struct catalog *c = catalog_with(10);
	struct scd_key key = key_of(10);
	unsigned calls = 0;

	(void)state;
	publish(c, 1000);
	catalog_notify(c, 3, count_call, &calls);
	catalog_add(c, &key);
	catalog_remove(c, &key);
	assert_int_equal(calls, 0);
	catalog_add(c, &key);
	assert_int_equal(calls, 1);
	catalog_remove(c, &key);
	assert_int_equal(calls, 1);
	catalog_notify(c, 4, count_call, &calls); /* there are 4 */
	assert_int_equal(calls, 2);
	catalog_notify(c, 5, count_call, &calls);
	catalog_notify(c, 0, NULL, NULL);
	catalog_add(c, &key);
	assert_int_equal(calls, 2);
	catalog_free(&c);
}

static void test_first_is_due_at_once(void **state)
{
	static const struct publish_policy policy = { 1, 1000, 1000, 0 };
	struct catalog *c = catalog_with(0);

	(void)state;
	assert_true(catalog_due(c, &policy, 0));
	publish(c, 0);
	assert_false(catalog_due(c, &policy, 5000));
	catalog_free(&c);
}

/* The twin: which keys are in, and the size that the filter should have. */
struct twin {
	bool in[1000];
	uint64_t nbits;
	uint64_t random;
};

/* Its array, made from nothing. */
static void twin_array(const struct twin *t, struct scd_bloom *out)
{
	assert_int_equal(scd_bloom_init(out, t->nbits, NHASH), SCD_OK);
	for (size_t i = 0; i < NROWS(t->in); i++) {
		struct scd_key key = key_of(i);

		if (t->in[i])
			scd_bloom_add(out, &key);
	}
}

/* One random key comes or goes. */
static void change(struct catalog *c, struct twin *t)
{
	size_t at = (size_t)random_below(&t->random, NROWS(t->in));
	struct scd_key key = key_of(at);

	if (t->in[at])
		catalog_remove(c, &key);
	else
		catalog_add(c, &key);
	t->in[at] = !t->in[at];
}

static void compare(struct catalog *c, const struct twin *t,
		    uint64_t generation)
{
	struct catalog_snapshot snapshot;
	struct catalog_stats stats;
	struct scd_bloom twin;

	twin_array(t, &twin);
	assert_int_equal(catalog_snapshot(c, 0, &snapshot), SCD_OK);
	assert_true(scd_bloom_equal(&snapshot.bloom, &twin));
	assert_int_equal(snapshot.generation, generation);
	catalog_stats(c, &stats);
	assert_int_equal(stats.nones, scd_bloom_ones(&twin));
	assert_int_equal(stats.nkeys, snapshot.nkeys);
	assert_int_equal(stats.changed, 0);
	assert_int_equal(stats.generation, generation);
	assert_float_equal(stats.fp, scd_bloom_fp(&twin), 1e-12);
	catalog_snapshot_free(&snapshot);
	scd_bloom_free(&twin);
}

static void test_model(void **state)
{
	enum { GENERATIONS = 60, CHANGES = 200 };
	struct catalog *c = catalog_with(0);
	struct twin t = { .nbits = NBITS, .random = 7 };

	(void)state;
	for (uint64_t g = 1; g <= GENERATIONS; g++) {
		for (unsigned i = 0; i < CHANGES; i++)
			change(c, &t);
		compare(c, &t, g);
	}
	catalog_free(&c);
}

static void rebuild(struct catalog *c, uint64_t nbits, uint64_t nparts)
{
	struct scd_counting *next;

	assert_int_equal(scd_counting_new(&next, nbits, NHASH), SCD_OK);
	assert_null(catalog_rebuild_part(c));
	catalog_rebuild(c, next, nparts);
}

/* Hands over the keys of the part whose turn it is. */
static bool hand_over(struct catalog *c, const struct twin *t)
{
	const struct keypart *part = catalog_rebuild_part(c);
	struct scd_counting *old;
	bool last;

	assert_non_null(part);
	for (size_t i = 0; i < NROWS(t->in); i++) {
		struct scd_key key = key_of(i);

		if (t->in[i] && keypart_of(&key, part->count) == part->number)
			catalog_rebuild_key(c, &key);
	}
	last = catalog_rebuild_next(c, &old);
	scd_counting_free(&old);
	return last;
}

/* To a size and in so many parts; between two of them keys come and go. */
static const struct {
	uint64_t nbits, nparts, changes;
} rebuilds[] = {
	{ NBITS * 2, 1, 0 },      { NBITS, 1, 10 },
	{ NBITS * 2, 16, 0 },     { NBITS, 16, 1 },
	{ NBITS * 2, 16, 100 },   { NBITS * 4, 64, 10 },
	{ NBITS / 4, 16, 30 },    { NBITS / 8, 256, 2 },
	{ NBITS / 8, 8, 20 },     { NBITS * 16, 2048, 1 },
	{ NBITS / 64, 8, 500 },   { NBITS / 16, 4, 2000 },
	{ NBITS, 2, 3000 },
};

static void run_rebuild(struct catalog *c, struct twin *t, size_t row,
			uint64_t *generation)
{
	struct catalog_stats stats;
	bool last = false;

	rebuild(c, rebuilds[row].nbits, rebuilds[row].nparts);
	for (uint64_t part = 0; part < rebuilds[row].nparts; part++) {
		assert_false(last);
		for (uint64_t n = 0; n < rebuilds[row].changes; n++)
			change(c, t);
		catalog_stats(c, &stats);
		assert_int_equal(stats.next_nbits, rebuilds[row].nbits);
		if (part < 20)
			compare(c, t, ++*generation);
		last = hand_over(c, t);
	}
	assert_true(last);
	assert_null(catalog_rebuild_part(c));
	t->nbits = rebuilds[row].nbits;
	compare(c, t, ++*generation);
	catalog_stats(c, &stats);
	assert_int_equal(stats.nbits, t->nbits);
	assert_int_equal(stats.next_nbits, 0);
}

/*
 * The array is that of the keys which are there: of the old size to the last
 * part, of the new one from then on. When all have gone it is empty, so every
 * counter behind it was right.
 */
static void test_rebuild_model(void **state)
{
	struct catalog *c = catalog_with(0);
	struct twin t = { .nbits = NBITS, .random = 1 };
	struct catalog_stats stats;
	uint64_t generation = 0;

	(void)state;
	for (unsigned i = 0; i < 500; i++)
		change(c, &t);
	for (size_t row = 0; row < NROWS(rebuilds); row++) {
		run_rebuild(c, &t, row, &generation);
		for (unsigned i = 0; i < 300; i++)
			change(c, &t);
		compare(c, &t, ++generation);
	}
	catalog_stats(c, &stats);
	assert_int_equal(stats.grown + stats.shrunk, NROWS(rebuilds));
	assert_int_equal(stats.shrunk, 5 + 1); /* one keeps its size */
	assert_int_equal(stats.saturated, 0);
	for (size_t i = 0; i < NROWS(t.in); i++) {
		struct scd_key key = key_of(i);

		if (t.in[i])
			catalog_remove(c, &key);
	}
	catalog_stats(c, &stats);
	assert_int_equal(stats.nkeys, 0);
	assert_int_equal(stats.nones, 0);
	catalog_free(&c);
}

/*
 * A catalog that notes its changes does without a filter, gets one while its
 * keys come and go, and gives it up again.
 */
static void test_filter_comes_and_goes(void **state)
{
	enum { ROUNDS = 3, NPARTS = 8 };
	struct twin t = { .nbits = NBITS, .random = 3 };
	struct scd_counting *filter;
	struct catalog_stats stats;
	uint64_t generation = 0;
	struct catalog *c;

	(void)state;
	assert_int_equal(catalog_new(&c, 0, NHASH), SCD_OK);
	catalog_note_changes(c);
	assert_null(catalog_drop_filter(c));
	for (unsigned round = 0; round < ROUNDS; round++) {
		for (unsigned i = 0; i < 300; i++)
			change(c, &t);
		catalog_stats(c, &stats);
		assert_int_equal(stats.nbits, 0);
		assert_int_equal(stats.nones, 0);
		assert_int_equal(stats.nhash, NHASH);
		assert_true(stats.nkeys > 0);
		rebuild(c, NBITS, NPARTS);
		for (unsigned part = 0; part < NPARTS; part++) {
			change(c, &t);
			assert_int_equal(hand_over(c, &t), part == NPARTS - 1);
		}
		compare(c, &t, ++generation);
		change(c, &t);
		compare(c, &t, ++generation);
		filter = catalog_drop_filter(c);
		assert_non_null(filter);
		scd_counting_free(&filter);
	}
	catalog_stats(c, &stats);
	assert_int_equal(stats.grown + stats.shrunk, 0);
	catalog_free(&c);
}

/* Without a filter, the changes are published. */
static void test_changes_without_filter(void **state)
{
	static const struct publish_policy policy = { .01, 100, 10000, 0 };
	struct catalog_snapshot snapshot;
	struct scd_key key = key_of(1);
	struct catalog *c;

	(void)state;
	assert_int_equal(catalog_new(&c, 0, NHASH), SCD_OK);
	catalog_note_changes(c);
	catalog_add(c, &key);
	assert_true(catalog_due(c, &policy, 0));
	catalog_snapshot_changes(c, 0, &snapshot);
	assert_null(snapshot.bloom.bits);
	assert_int_equal(snapshot.nkeys, 1);
	assert_int_equal(snapshot.changes.nadded, 1);
	assert_int_equal(snapshot.changes.added[0],
			 scd_fingerprint(&key, CATALOG_NOTED_WIDTH));
	catalog_snapshot_free(&snapshot);
	catalog_remove(c, &key);
	assert_int_equal(catalog_due_ms(c, &policy), 100);
	rebuild(c, 2 * NBITS, 2); /* does not keep a list from going out */
	assert_int_equal(catalog_due_ms(c, &policy), 100);
	catalog_free(&c);
}

/* A new size is to be published soon, though no key has changed. */
static void test_rebuild_is_due(void **state)
{
	static const struct publish_policy policy = { .01, 100, 10000, 0 };
	struct twin none = { .nbits = NBITS };
	struct catalog *c = catalog_with(0);

	(void)state;
	publish(c, 1000);
	rebuild(c, NBITS * 2, 1);
	assert_false(catalog_due(c, &policy, 1100));
	assert_true(hand_over(c, &none));
	assert_false(catalog_due(c, &policy, 1099));
	assert_true(catalog_due(c, &policy, 1100));
	publish(c, 1100);
	assert_false(catalog_due(c, &policy, 20000));
	catalog_free(&c);
}

/* What peers would refuse waits for the larger filter, but not for a smaller
 * one; and nothing waits when there is no other. */
static void test_too_full_to_be_published(void **state)
{
	static const struct publish_policy policy = { .01, 100, 10000, 0 };
	static const struct {
		const char *label;
		uint64_t nkeys, next_nbits;
		bool due;
	} rows[] = {
		{ "crowded, it stays", NBITS / 2, 0, true },
		{ "crowded, it grows", NBITS / 2, NBITS * 8, false },
		{ "crowded, it shrinks", NBITS / 2, NBITS / 8, true },
		{ "not crowded, it grows", NBITS / 16, NBITS * 8, true },
	};

	(void)state;
	for (size_t i = 0; i < NROWS(rows); i++) {
		struct catalog *c = catalog_with(0);

		publish(c, 1000);
		for (uint64_t n = 0; n < rows[i].nkeys; n++) {
			struct scd_key key = key_of(n);

			catalog_add(c, &key);
		}
		if (rows[i].next_nbits)
			rebuild(c, rows[i].next_nbits, 1);
		if (catalog_due(c, &policy, 99999) != rows[i].due)
			fail_msg("%s", rows[i].label);
		catalog_free(&c); /* in the middle of a rebuild */
	}
}

/* More objects than the filter was made for can be seen. */
static void test_overload_shows(void **state)
{
	struct catalog *few = catalog_with(NBITS / 32);
	struct catalog *many = catalog_with(NBITS);
	struct catalog_stats stats;

	(void)state;
	catalog_stats(few, &stats);
	assert_true(stats.fp < .001);
	catalog_stats(many, &stats);
	assert_true(stats.fp > .5);
	catalog_free(&few);
	catalog_free(&many);
}

/* A snapshot that fails has not happened. */
static void test_no_memory(void **state)
{
	static const struct publish_policy policy = { .01, 0, 1000, 0 };
	struct catalog *c = catalog_with(10);
	struct catalog_snapshot snapshot;
	struct catalog_stats before, after;

	(void)state;
	catalog_stats(c, &before);
	alloc_fail_at(1);
	assert_int_equal(catalog_snapshot(c, 5, &snapshot), SCD_ENOMEM);
	alloc_fail_at(0);
	catalog_stats(c, &after);
	assert_int_equal(before.nkeys, after.nkeys);
	assert_int_equal(before.nones, after.nones);
	assert_int_equal(before.changed, after.changed);
	assert_int_equal(before.generation, after.generation);
	assert_true(catalog_due(c, &policy, 5));
	catalog_free(&c);
	for (unsigned n = 1;; n++) {
		int error;

		alloc_fail_at(n);
		error = catalog_new(&c, NBITS, NHASH);
		if (!alloc_failed())
			break;
		assert_int_equal(error, SCD_ENOMEM);
	}
	alloc_fail_at(0);
	catalog_free(&c);
	catalog_free(&c);
	assert_int_equal(catalog_new(&c, NBITS, 0), SCD_EINVAL);
	assert_int_equal(catalog_new(&c, 0, 0), SCD_EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_due),
		cmocka_unit_test(test_due_with_readers),
		cmocka_unit_test(test_notify),
		cmocka_unit_test(test_first_is_due_at_once),
		cmocka_unit_test(test_model),
		cmocka_unit_test(test_rebuild_model),
		cmocka_unit_test(test_filter_comes_and_goes),
		cmocka_unit_test(test_changes_without_filter),
		cmocka_unit_test(test_rebuild_is_due),
		cmocka_unit_test(test_too_full_to_be_published),
		cmocka_unit_test(test_overload_shows),
		cmocka_unit_test(test_no_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
