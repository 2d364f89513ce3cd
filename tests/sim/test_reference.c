/*
 * Real traces, and the miss ratios that libCacheSim (October 2024) gives for
 * them, to all four digits that it prints. The traces are not part of the
 * project; tests/sim/traces.h says where they are looked for. What is not there
 * is skipped.
 *
 * Capacities are objects of size 1, bytes for cloudphysics-w60, whose objects
 * change their size: libCacheSim keeps the old one until the object is evicted.
 */
#include <math.h>

#include "cachesim/sim/multi.h"
#include "tests/sim/traces.h"
#include "tests/unit.h"

enum { MAX_ROWS = 16 };

struct row {
	uint64_t capacity;
	const char *policy;
	double miss, byte_miss; /* ratios; byte_miss 0: sizes are equal */
};

struct reference {
	const char *file, *format;
	uint64_t requests;
	struct row rows[MAX_ROWS];
};

/* clang-format off */
static const struct reference web07 = {
	"cache2k-web07.i32le.zst", "i32le", 76118, {
	{ 1000, "lru",    .4959, 0 }, { 4000, "lru",    .3918, 0 },
	{ 1000, "fifo",   .5231, 0 }, { 4000, "fifo",   .4144, 0 },
	{ 1000, "clock",  .4901, 0 }, { 4000, "clock",  .3868, 0 },
	{ 1000, "sieve",  .4675, 0 }, { 4000, "sieve",  .3764, 0 },
	{ 1000, "lfu",    .5503, 0 }, { 4000, "lfu",    .3985, 0 },
	{ 1000, "s3fifo", .4589, 0 }, { 4000, "s3fifo", .3757, 0 },
} };

static const struct reference ormbusy = {
	"cache2k-orm-busy.i32le.zst", "i32le", 5000000, {
	{ 1000, "lru",    .2122, 0 }, { 10000, "lru",    .1051, 0 },
	{ 1000, "fifo",   .2216, 0 }, { 10000, "fifo",   .1171, 0 },
	{ 1000, "clock",  .2142, 0 }, { 10000, "clock",  .1066, 0 },
	{ 1000, "sieve",  .2610, 0 }, { 10000, "sieve",  .1019, 0 },
	{ 1000, "lfu",    .7513, 0 }, { 10000, "lfu",    .2958, 0 },
	{ 1000, "s3fifo", .2230, 0 }, { 10000, "s3fifo", .0947, 0 },
} };

static const struct reference scarab = {
	"scarab-recs.i64be.zst", "i64be", 1245184, {
	{ 5000, "lru",    .5880, 0 }, { 50000, "lru",    .3085, 0 },
	{ 5000, "fifo",   .6226, 0 }, { 50000, "fifo",   .3433, 0 },
	{ 5000, "clock",  .5803, 0 }, { 50000, "clock",  .3063, 0 },
	{ 5000, "sieve",  .5410, 0 }, { 50000, "sieve",  .3157, 0 },
	{ 5000, "lfu",    .6432, 0 }, { 50000, "lfu",    .3908, 0 },
	{ 5000, "s3fifo", .5228, 0 }, { 50000, "s3fifo", .3024, 0 },
} };

static const struct reference w60 = {
	"cloudphysics-w60.oracleGeneral.bin.zst", NULL, 113872, {
	{ 20297698,  "lru",    .8339, .9800 }, { 202976977, "lru",    .8097, .9518 },
	{ 20297698,  "fifo",   .8368, .9804 }, { 202976977, "fifo",   .8075, .9509 },
	{ 20297698,  "clock",  .8328, .9798 }, { 202976977, "clock",  .8086, .9520 },
	{ 20297698,  "sieve",  .8231, .9776 }, { 202976977, "sieve",  .7903, .9296 },
	{ 20297698,  "lfu",    .8231, .9776 }, { 202976977, "lfu",    .7903, .9296 },
	{ 20297698,  "s3fifo", .8229, .9766 }, { 202976977, "s3fifo", .7356, .8619 },
	{ 20297698,  "gdsf",   .8209, .9796 }, { 202976977, "gdsf",   .7582, .9509 },
} };
/* clang-format on */

/* Four digits were printed. */
static void compare(const struct row *row, const struct sim_multi_result *r)
{
	double miss = 1 - (double)r->hit.hits / (double)r->requests;
	double byte_miss = 1 - (double)r->hit.hit_bytes / (double)r->bytes;

	if (fabs(miss - row->miss) > .000051 ||
	    (row->byte_miss > 0 && fabs(byte_miss - row->byte_miss) > .000051))
		fail_msg("%s, %llu: %.6f %.6f, not %.4f %.4f", row->policy,
			 (unsigned long long)row->capacity, miss, byte_miss,
			 row->miss, row->byte_miss);
}

static void replay(const struct reference *reference)
{
	const struct trace_options opt = { .format = reference->format };
	struct sim_multi_cache caches[MAX_ROWS];
	struct sim_multi_result results[MAX_ROWS];
	struct sim_multi_config config = { .caches = caches, .nthreads = 2,
					   .keep_changed = true };
	struct sim_trace t;
	char path[TRACE_PATH_BYTES];

	if (!real_trace(path, reference->file))
		skip();
	for (; reference->rows[config.ncaches].policy; config.ncaches++) {
		const struct row *row = &reference->rows[config.ncaches];

		caches[config.ncaches] = (struct sim_multi_cache){
			.policy = eviction_policy_find(row->policy),
			.capacity = row->capacity,
		};
		config.equal_sizes = row->byte_miss <= 0;
	}
	assert_int_equal(sim_trace_load(&t, path, &opt, NULL), 0);
	assert_int_equal(t.nrequests, reference->requests);
	config.trace = &t;
	assert_int_equal(sim_multi_run(&config, results), 0);
	for (size_t i = 0; i < config.ncaches; i++)
		compare(&reference->rows[i], &results[i]);
	sim_trace_free(&t);
}

static void test_web07(void **state)
{
	(void)state;
	replay(&web07);
}

static void test_ormbusy(void **state)
{
	(void)state;
	replay(&ormbusy);
}

static void test_scarab(void **state)
{
	(void)state;
	replay(&scarab);
}

static void test_w60(void **state)
{
	(void)state;
	replay(&w60);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_web07),
		cmocka_unit_test(test_ormbusy),
		cmocka_unit_test(test_scarab),
		cmocka_unit_test(test_w60),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
