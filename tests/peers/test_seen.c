/*
 * What a node was asked for, and what it keeps by that: the set against the
 * dumbest twin, the placements against a table of cases; and each
 * allocation failing.
 */
#include <errno.h>

#include "digestd/mesh/catalog.h"
#include "digestd/peers/placer.h"
#include "digestd/peers/seen.h"
#include "tests/codec/alloc.h"
#include "tests/codec/random.h"
#include "tests/unit.h"

enum { WINDOW = 20, NKEYS = 60, STEPS = 20000 };

static const struct seen_settings settings = { WINDOW, 1024, 3 };

static struct scd_key key_of(unsigned n)
{
	return (struct scd_key){ 0x9e3779b97f4a7c15u * (n + 1), n * 77 + 1 };
}

static void catalog_of(struct seen *s, struct catalog_stats *out)
{
	const struct publisher_source source = seen_source(s);

	catalog_stats(source.lock(source.arg), out);
	source.unlock(source.arg);
}

/* The twin: keys by the time of their last use; 0: never. */
static bool twin_use(unsigned *used, unsigned now, unsigned key)
{
	unsigned newer = 0;
	bool was_in;

	for (unsigned i = 0; i < NKEYS; i++)
		newer += used[i] > used[key];
	was_in = used[key] && newer < WINDOW;
	used[key] = now;
	return was_in;
}

static void test_model(void **state)
{
	unsigned used[NKEYS] = { 0 }, distinct = 0;
	uint64_t random = 1;
	struct catalog_stats stats;
	struct seen *s;

	(void)state;
	assert_int_equal(seen_new(&settings, &s), 0);
	for (unsigned now = 1; now <= STEPS; now++) {
		unsigned n = (unsigned)random_below(&random, NKEYS);
		struct scd_key key = key_of(n);

		distinct += !used[n];
		assert_int_equal(seen_use(s, &key), twin_use(used, now, n));
		catalog_of(s, &stats);
		assert_int_equal(stats.nkeys,
				 distinct < WINDOW ? distinct : WINDOW);
	}
	seen_free(&s);
	assert_null(s);
	seen_free(&s);
}

/* Its digest keeps its size: nothing can rebuild it. */
static void test_source(void **state)
{
	struct publisher_source source;
	struct seen *s;

	(void)state;
	assert_int_equal(seen_new(&settings, &s), 0);
	source = seen_source(s);
	assert_null(source.rebuild);
	assert_null(source.rebuild_part);
	seen_free(&s);
}

static void test_impossible_shapes(void **state)
{
	struct seen *s = NULL;
	struct seen_settings wrong = settings;

	(void)state;
	wrong.nhash = 0;
	assert_int_equal(seen_new(&wrong, &s), -EINVAL);
	wrong = settings;
	wrong.nbits = 0;
	assert_int_equal(seen_new(&wrong, &s), -EINVAL);
	assert_null(s);
}

static void test_every_allocation(void **state)
{
	struct scd_key key = key_of(1);
	bool failed = true;

	(void)state;
	for (unsigned n = 1; failed; n++) {
		struct seen *s = NULL;
		int err;

		alloc_fail_at(n);
		err = seen_new(&settings, &s);
		if (!err)
			assert_false(seen_use(s, &key));
		failed = alloc_failed();
		alloc_fail_at(0);
		if (err) {
			assert_true(failed);
			assert_int_equal(err, -ENOMEM);
			assert_null(s);
			continue;
		}
		/* perhaps it was not remembered; nothing else happens */
		if (!failed)
			assert_true(seen_use(s, &key));
		seen_use(s, &key);
		assert_true(seen_use(s, &key));
		seen_free(&s);
	}
}

/* A placement, and whether it keeps what is asked for the first and the second
 * time: from an origin, from a peer, and where peers were asked for it, too. */
static const struct {
	const char *name;
	bool origin[2], peer[2], shared[2];
} placements[] = {
	{ "keep", { 1, 1 }, { 1, 1 }, { 1, 1 } },
	{ "second", { 1, 1 }, { 0, 1 }, { 0, 1 } },
	{ "single", { 1, 1 }, { 0, 0 }, { 0, 0 } },
};

static void check_placer(struct placer *p, const char *name, unsigned n,
			 bool remote, bool at_peers, const bool expected[2])
{
	struct scd_key key = key_of(n);

	for (int use = 0; use < 2; use++) {
		const struct placement_case facts = {
			.remote = remote,
			.asked_at_peers = at_peers,
		};

		if (placer_keeps(p, &key, &facts) != expected[use])
			fail_msg("%s: %s%s, use %d", name,
				 remote ? "remote" : "origin",
				 at_peers ? ", asked at peers" : "", use + 1);
	}
}

/* With a filter of its own, and with a set of what was seen. */
static void test_placements(void **state)
{
	(void)state;
	for (size_t i = 0; i < 2 * NROWS(placements); i++) {
		const char *name = placements[i / 2].name;
		struct placer_settings how = { .window = 100 };
		struct placer *p;
		struct seen *s = NULL;

		assert_true(placement_read(name, &how.placement));
		if (i % 2)
			assert_int_equal(seen_new(&settings, &s), 0);
		how.seen = s;
		assert_int_equal(placer_new(&how, &p), 0);
		check_placer(p, name, 1, false, false,
			     placements[i / 2].origin);
		check_placer(p, name, 2, true, false, placements[i / 2].peer);
		check_placer(p, name, 3, true, true, placements[i / 2].shared);
		placer_free(&p);
		assert_null(p);
		placer_free(&p);
		seen_free(&s);
	}
}

static void test_placer_errors(void **state)
{
	struct placer_settings how = { .window = 0 };
	struct placer *p = NULL;
	bool failed = true;

	(void)state;
	assert_true(placement_read("second", &how.placement));
	assert_int_equal(placer_new(&how, &p), -EINVAL);
	how.window = 100;
	for (unsigned n = 1; failed; n++) {
		int err;

		alloc_fail_at(n);
		err = placer_new(&how, &p);
		failed = alloc_failed();
		alloc_fail_at(0);
		assert_int_equal(err, failed ? -ENOMEM : 0);
		placer_free(&p);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_model),
		cmocka_unit_test(test_source),
		cmocka_unit_test(test_impossible_shapes),
		cmocka_unit_test(test_every_allocation),
		cmocka_unit_test(test_placements),
		cmocka_unit_test(test_placer_errors),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
