/*
 * The figures of a trace: small ones by hand, and those of published traces
 * as they were counted by other means, where the traces are there.
 */
#include "tests/unit.h"

#include <math.h>

#include "cachesim/sim/info.h"
#include "tests/codec/alloc.h"
#include "tests/sim/file.h"
#include "tests/sim/traces.h"

static void load(struct sim_trace *t, const char *text)
{
	struct test_file f = test_file(text, strlen(text));

	assert_int_equal(sim_trace_load(t, f.path, NULL, NULL), 0);
	unlink(f.path);
}

static void assert_close(double got, double want)
{
	assert_true(fabs(got - want) < 1e-12);
}

static void by_hand(void **state)
{
	struct sim_trace t;
	struct sim_info i;

	(void)state;
	load(&t, "time,client,url,size\n"
		 "1000,x,a,10\n"
		 "1001,y,b,20\n"
		 "1009,x,a,30\n"
		 "1003,y,c,40\n"
		 "junk\n"
		 "1004,x,a,30\n");
	assert_int_equal(sim_trace_info(&t, &i), 0);
	assert_int_equal(i.requests, 5);
	assert_int_equal(i.objects, 3);
	assert_int_equal(i.clients, 2);
	assert_int_equal(i.changes, 1);
	assert_int_equal(i.bad, 1);
	assert_int_equal(i.one_hit, 2);
	assert_int_equal(i.bytes, 130);
	assert_int_equal(i.infinite, 90);
	assert_int_equal(i.first_ms, 1000000);
	assert_int_equal(i.seconds, 9);
	assert_close(i.one_hit_objects, 2. / 3);
	assert_close(i.one_hit_requests, 2. / 5);
	assert_close(i.hit_ratio, 2. / 5);
	assert_close(i.byte_hit_ratio, 40. / 130);
	assert_close(i.fresh_hit_ratio, 1. / 5);
	alloc_fail_at(1);
	assert_int_equal(sim_trace_info(&t, &i), TRACE_ENOMEM);
	alloc_fail_at(0);
	sim_trace_free(&t);
}

static void of_nothing(void **state)
{
	struct sim_trace t;
	struct sim_info i;

	(void)state;
	load(&t, "");
	assert_int_equal(sim_trace_info(&t, &i), 0);
	assert_int_equal(i.requests, 0);
	assert_int_equal(i.seconds, 0);
	assert_close(i.hit_ratio, 0);
	assert_close(i.byte_hit_ratio, 0);
	assert_close(i.one_hit_objects, 0);
	sim_trace_free(&t);
}

/* clang-format off */
static const struct {
	const char *file, *format;
	uint64_t requests, objects, clients, bytes, infinite;
	double once_objects, once_requests; /* in per cent, to 0.1 */
} published[] = {
	{ "nasa-http-1995-07-09.clf.log.zst", NULL, 35272, 2161, 2554,
	  754180424, 86880125, 46.4, 2.8 },
	{ "cache2k-web07.i32le.zst", "i32le", 76118, 20484, 0, 0, 0,
	  54.0, 14.5 },
	{ "cache2k-orm-busy.i32le.zst", "i32le", 5000000, 76349, 0, 0, 0,
	  11.5, 0.2 },
	{ "scarab-recs.i64be.zst", "i64be", 1245184, 258368, 0, 0, 0,
	  47.8, 9.9 },
	{ "cloudphysics-w60.oracleGeneral.bin.zst", NULL, 113872, 48974, 0,
	  4368040448, 2029769728, 43.0, 18.5 },
};
/* clang-format on */

static void of_published(void **state)
{
	unsigned there = 0;

	(void)state;
	for (size_t k = 0; k < NROWS(published); k++) {
		/* what was published is of all requests alike */
		struct trace_options opt = { .format = published[k].format,
					     .all_cacheable = true };
		struct sim_trace t;
		struct sim_info i;
		char path[TRACE_PATH_BYTES];

		if (!real_trace(path, published[k].file))
			continue;
		there++;
		assert_int_equal(sim_trace_load(&t, path, &opt, NULL), 0);
		assert_int_equal(sim_trace_info(&t, &i), 0);
		sim_trace_free(&t);
		assert_int_equal(i.requests, published[k].requests);
		assert_int_equal(i.objects, published[k].objects);
		assert_int_equal(i.clients, published[k].clients);
		assert_int_equal(i.bytes, published[k].bytes);
		if (published[k].infinite)
			assert_int_equal(i.infinite, published[k].infinite);
		assert_true(fabs(100 * i.one_hit_objects -
				 published[k].once_objects) <= 0.05);
		assert_true(fabs(100 * i.one_hit_requests -
				 published[k].once_requests) <= 0.05);
	}
	if (!there)
		skip();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(by_hand),
		cmocka_unit_test(of_nothing),
		cmocka_unit_test(of_published),
	};

	return cmocka_run_group_tests_name("info", tests, NULL, NULL);
}
