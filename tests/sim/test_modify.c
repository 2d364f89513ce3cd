/*
 * Objects that change with time: by hand, over a mapped trace as over a loaded
 * one, and with allocations that fail. tests/sim/twin.py walks through whole
 * traces with them.
 */
#include "tests/unit.h"

#include "cachesim/sim/compact.h"
#include "cachesim/sim/modify.h"
#include "codec/mix.h"
#include "tests/codec/alloc.h"
#include "tests/sim/file.h"

enum { EVERY = 100, CHANGES_MAX = 64 };

/* Object a is asked for all the time, and becomes longer once; b twice at the
 * beginning. One request of a is dated back. */
static const char text[] = "time,url,size\n"
			   "1000,b,7\n1001,b,7\n1001,a,5\n1090,a,5\n"
			   "1130,a,5\n1100,a,5\n1180,a,6\n1250,a,6\n"
			   "1330,a,6\n1400,a,6\n1900,a,6\n1900,a,6\n";

static void load(struct sim_trace *t, bool mapped)
{
	struct test_file f = test_file(text, sizeof(text) - 1);

	assert_int_equal(sim_trace_load(t, f.path, NULL, NULL), 0);
	if (mapped) {
		assert_int_equal(sim_compact_write(t, f.path), 0);
		sim_trace_free(t);
		assert_int_equal(sim_compact_map(t, f.path, true), 0);
	}
	unlink(f.path);
}

/* Is there a moment of a's change in (from, to]? */
static bool changes(const struct sim_trace *t, uint32_t from, uint32_t to)
{
	uint64_t phase = scd__mix64(t->hash[1]) % EVERY;

	for (uint32_t s = from + 1; s <= to; s++)
		if ((s + phase) % EVERY == 0)
			return true;
	return false;
}

static void is_modified(bool mapped)
{
	uint64_t want[CHANGES_MAX], n = 0;
	struct sim_trace t;
	uint32_t now = 1;

	load(&t, mapped);
	for (uint64_t i = 3; i < t.nrequests; i++) {
		uint32_t then = now;

		now = t.time[i] > now ? t.time[i] : now;
		if (changes(&t, then, now) || i == 6)
			want[n++] = i;
	}
	assert_true(n > 3 && n < t.nrequests - 3);
	assert_int_equal(sim_trace_modify(&t, EVERY), 0);
	assert_int_equal(t.nchanges, n);
	for (uint64_t i = 0; i < n; i++) {
		assert_int_equal(t.change[i], want[i]);
		assert_int_equal(t.change_size[i], want[i] < 6 ? 5 : 6);
	}
	/* again: those that are there stay, at the same moments */
	assert_int_equal(sim_trace_modify(&t, EVERY), 0);
	assert_int_equal(t.nchanges, n);
	sim_trace_free(&t);
}

static void loaded_and_mapped(void **state)
{
	(void)state;
	is_modified(false);
	is_modified(true);
}

static void no_times(void **state)
{
	struct test_file f = test_file("a\nb\na\n", 6);
	struct sim_trace t;

	(void)state;
	assert_int_equal(sim_trace_load(&t, f.path, NULL, NULL), 0);
	unlink(f.path);
	assert_int_equal(sim_trace_modify(&t, EVERY), TRACE_ETIME);
	assert_int_equal(t.nchanges, 0);
	sim_trace_free(&t);
}

static void allocations_may_fail(void **state)
{
	struct sim_trace t;
	int err = TRACE_ENOMEM;

	(void)state;
	load(&t, false);
	for (unsigned n = 1; err; n++) {
		alloc_fail_at(n);
		err = sim_trace_modify(&t, EVERY);
		assert_int_equal(err, alloc_failed() ? TRACE_ENOMEM : 0);
		alloc_fail_at(0);
		assert_true(err == 0 || t.nchanges == 1);
	}
	sim_trace_free(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(loaded_and_mapped),
		cmocka_unit_test(no_times),
		cmocka_unit_test(allocations_may_fail),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
