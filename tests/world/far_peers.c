/*
 * Nodes that are far from each other: two of them in virtual time, of which the
 * second is asked for what the first has had for some seconds. Each row says
 * how long messages take, how many of them are lost, and what must come of it.
 * And seventeen, of which sixteen ask the first one a few times a second, and
 * all of that counts from their first question on.
 */
#include <stdlib.h>

#include "cachesim/protocol/protocol.h"
#include "cachesim/sim/cluster.h"
#include "cachesim/world/drive.h"
#include "tests/unit.h"

enum {
	OBJECTS = 3000,
	LATE = 200, /* objects that the first node is ahead */
	REQUESTS = 2 * OBJECTS,
	WARM = 4 * LATE, /* requests that do not count */
	RATE = 100,
	OBJECT_BYTES = 1000,
	PROXIES = 2,
	MANY = 17,
	TURNS = REQUESTS / MANY, /* of a request by each of the many */
	TURNS_LATE = 24,
	LOST = 10000, /* one in a hundred */
};

static struct {
	uint32_t object[REQUESTS], size[OBJECTS];
	struct sim_trace trace;
	int64_t took_us[PROXIES][REQUESTS]; /* of the first, and the others */
	size_t ntook[PROXIES];
} at;

/* The first node asks for object k, then the second for the one LATE before:
 * at first for those that the end of the trace has. */
static void make_trace(void)
{
	for (uint32_t k = 0; k < OBJECTS; k++) {
		at.object[2 * k] = k;
		at.object[2 * k + 1] = (k + OBJECTS - LATE) % OBJECTS;
		at.size[k] = OBJECT_BYTES;
	}
	at.trace = (struct sim_trace){
		.nrequests = REQUESTS,
		.nobjects = OBJECTS,
		.object = at.object,
		.size = at.size,
	};
}

static void answered(void *arg, unsigned node, int64_t us)
{
	const bool other = node;

	(void)arg;
	at.took_us[other][at.ntook[other]++] = us;
}

static int compare(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

/* What 99 of 100 answers of the first node, or of the others, did not exceed
 * [ms]. */
static double p99_ms(bool other)
{
	size_t n = at.ntook[other];

	qsort(at.took_us[other], n, sizeof(at.took_us[other][0]), compare);
	return (double)at.took_us[other][n * 99 / 100] / 1000;
}

static void run(const struct drive_plan *plan, struct sim_result *out)
{
	struct drive_count count;

	at.ntook[0] = at.ntook[1] = 0;
	assert_int_equal(drive_run(plan, out, &count), 0);
	assert_int_equal(count.errors, 0);
}

/* clang-format off */
static const struct {
	const char *label;
	uint32_t peer_us, origin_us; /* one way */
	uint32_t lost_ppm;
	double hits_min, hits_max;   /* of what the peer has */
	double asks_max;             /* of these requests */
	bool sooner;                 /* p99 is no worse than the origin's */
} rows[] = {
	{ "in a LAN", 100, 10000, 0, 1, 1, 1, true },
	{ "in a LAN, with an origin there", 100, 100, 0, 1, 1, 1, true },
	{ "50 ms, and the origin 100 ms", 25000, 50000, 0, .999, 1, 1, true },
	{ "the same, and 1 % is lost", 25000, 50000, LOST, .99, 1, 1, true },
	{ "farther than the origin", 50000, 25000, 0, 0, .01, .01, true },
	{ "as far as the origin", 50000, 50000, LOST, 0, .02, .02, true },
	{ "at the other end of the world", 150000, 400000, LOST, .99, 1, 1,
	  true },
};
/* clang-format on */

/* Of the trace, with nodes and an origin that are so far away, one way. */
static struct drive_plan plan_of(const struct sim_config *config,
				 uint32_t peer_us, uint32_t origin_us,
				 uint32_t lost_ppm)
{
	return (struct drive_plan){
		.config = config,
		.trace = &at.trace,
		.options = "placement = \"keep\"\n",
		.rate = RATE,
		.speed = 1,
		.client = { .least_us = 10 },
		.peer = { peer_us, peer_us / 10, 0 },
		.origin = { origin_us, origin_us / 10, 0 },
		.lost_ppm = lost_ppm,
		.job = { .least_us = 1000 },
		.max_age_s = 86400,
		.answered = answered,
	};
}

static void test_far_peers(void **state)
{
	const struct sim_config config = {
		.nproxies = PROXIES,
		.protocol = protocol_find("compressed"),
		.capacity = (uint64_t)PROXIES * OBJECTS * 4 * OBJECT_BYTES,
		.warmup_ppm = (uint32_t)((uint64_t)WARM * 1000000 / REQUESTS),
		.seed = 1,
	};
	struct sim_result out;

	(void)state;
	make_trace();
	for (size_t i = 0; i < NROWS(rows); i++) {
		const struct drive_plan plan =
			plan_of(&config, rows[i].peer_us, rows[i].origin_us,
				rows[i].lost_ppm);
		const struct sim_counters *c = &out.proxy[1];
		double hits, asks, mine, origins;

		run(&plan, &out);
		hits = (double)c->remote_hits / (double)c->requests;
		asks = (double)c->candidates / (double)c->requests;
		mine = p99_ms(true);
		origins = p99_ms(false);
		print_message("# %s: %.4f from the peer, %.4f asked, p99 %.1f "
			      "ms, the origin's %.1f ms, mean %.1f and %.1f\n",
			      rows[i].label, hits, asks, mine, origins,
			      (double)c->latency_us / (double)c->requests / 1e3,
			      (double)out.proxy[0].latency_us /
				      (double)out.proxy[0].requests / 1e3);
		if (hits < rows[i].hits_min || hits > rows[i].hits_max ||
		    asks > rows[i].asks_max ||
		    (rows[i].sooner && mine > origins * 1.02))
			fail_msg("%s", rows[i].label);
	}
}

/* In each turn the first node asks for an object, and all others for the one of
 * TURNS_LATE turns before; at first, for what nobody has. */
static void make_trace_of_many(void)
{
	uint32_t lone = TURNS;

	make_trace();
	at.trace.nrequests = TURNS * MANY;
	for (uint32_t i = 0; i < TURNS * MANY; i++) {
		const uint32_t turn = i / MANY;

		if (i % MANY == 0)
			at.object[i] = turn;
		else if (turn < TURNS_LATE)
			at.object[i] = lone++;
		else
			at.object[i] = turn - TURNS_LATE;
	}
}

/* None of them has seen enough answers to know how many packets are lost. */
static void test_many_that_ask_now_and_then(void **state)
{
	const struct sim_config config = {
		.nproxies = MANY,
		.protocol = protocol_find("compressed"),
		.capacity = (uint64_t)MANY * OBJECTS * 4 * OBJECT_BYTES,
		.warmup_ppm = TURNS_LATE * 1000000 / TURNS,
		.seed = 1,
	};
	const struct drive_plan plan = plan_of(&config, 25000, 50000, LOST);
	uint64_t hits = 0, requests = 0;
	struct sim_result out;
	double mine, origins;

	(void)state;
	make_trace_of_many();
	run(&plan, &out);
	for (unsigned node = 1; node < MANY; node++) {
		hits += out.proxy[node].remote_hits;
		requests += out.proxy[node].requests;
	}
	mine = p99_ms(true);
	origins = p99_ms(false);
	print_message("# %llu of %llu from peers, p99 %.1f ms, the origin's "
		      "%.1f ms\n", (unsigned long long)hits,
		      (unsigned long long)requests, mine, origins);
	assert_true(hits * 100 >= requests * 99);
	assert_true(mine <= origins);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_far_peers),
		cmocka_unit_test(test_many_that_ask_now_and_then),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
