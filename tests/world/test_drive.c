/*
 * Traces through whole nodes: what each kind of plan comes to, for what must be
 * so in all of them. No request is lost or counted twice, wherever its answer
 * comes from, no byte is, and the same plan has the same result.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cachesim/protocol/protocol.h"
#include "cachesim/sim/cluster.h"
#include "cachesim/world/drive.h"
#include "codec/mix.h"
#include "tests/codec/alloc.h"
#include "tests/unit.h"

enum {
	REQUESTS = 2500,
	OBJECTS = 300,
	CLIENTS = 12,
	CHANGES = 60,
	PASSES = 50,
	PER_S = 50, /* of the trace's time */
	LARGE = 9 << 20, /* more than is on its way at once */
	LARGE_EVERY = 100, /* objects */
	CAPACITY = 64 << 20,
	WARM_PPM = 100000,
	TELL_EVERY = 1024,
	USAGE = 2, /* exit codes of a child */
	DONE = 3,
	ENDED = 4,
};

/* What a trace has besides its requests. */
enum {
	HAS_TIME = 1,
	HAS_CLIENTS = 2,
	HAS_CHANGES = 4,
	HAS_PASSES = 8,
	HAS_LARGE = 16,
};

static struct {
	uint32_t object[REQUESTS], time[REQUESTS], client[REQUESTS];
	uint32_t size[OBJECTS];
	uint64_t hash[OBJECTS], client_hash[CLIENTS];
	uint64_t change[CHANGES], pass[PASSES];
	uint32_t change_size[CHANGES], pass_size[PASSES], pass_client[PASSES];
	struct sim_trace trace;
} at;

static struct {
	uint64_t told, answers;
	uint64_t waited_us, least_us;
} heard;

/* Half of the requests are for a twentieth of the objects. */
static uint32_t some_object(uint32_t i)
{
	const uint64_t z = scd__mix64(i);

	return (uint32_t)(z >> 8) % (z % 2 ? OBJECTS : OBJECTS / 20);
}

static void make_trace(unsigned has)
{
	for (uint32_t i = 0; i < REQUESTS; i++) {
		at.object[i] = some_object(i);
		at.time[i] = i / PER_S;
		at.client[i] = (uint32_t)(scd__mix64(i) >> 40) % CLIENTS;
	}
	for (uint32_t k = 0; k < OBJECTS; k++) {
		at.size[k] = 1 + (uint32_t)scd__mix64(k) % 20000;
		if (has & HAS_LARGE && k % LARGE_EVERY == 0)
			at.size[k] = LARGE;
		at.hash[k] = scd__mix64(k + OBJECTS);
	}
	for (uint32_t k = 0; k < CLIENTS; k++)
		at.client_hash[k] = scd__mix64(k) | 1;
	for (uint32_t k = 0; k < CHANGES; k++) {
		at.change[k] = (uint64_t)k * REQUESTS / CHANGES;
		at.change_size[k] = 1 + k * 100;
	}
	/* before the first and behind the last request, too */
	for (uint32_t k = 0; k < PASSES; k++) {
		at.pass[k] = (uint64_t)k * REQUESTS / (PASSES - 1);
		at.pass_size[k] = k * 10;
		at.pass_client[k] = k % CLIENTS;
	}
	at.trace = (struct sim_trace){
		.nrequests = REQUESTS,
		.nobjects = OBJECTS,
		.nclients = has & HAS_CLIENTS ? CLIENTS : 0,
		.nchanges = has & HAS_CHANGES ? CHANGES : 0,
		.npasses = has & HAS_PASSES ? PASSES : 0,
		.object = at.object,
		.time = has & HAS_TIME ? at.time : NULL,
		.client = has & HAS_CLIENTS ? at.client : NULL,
		.size = at.size,
		.hash = at.hash,
		.client_hash = has & HAS_CLIENTS ? at.client_hash : NULL,
		.change = at.change,
		.change_size = at.change_size,
		.pass = at.pass,
		.pass_size = at.pass_size,
		.pass_client = has & HAS_CLIENTS ? at.pass_client : NULL,
	};
}

/* What a run must count, from the trace alone. */
struct expected {
	uint64_t requests, bytes, passes, pass_bytes;
	uint64_t firsts; /* of what nobody can have before, warm-up included */
	uint64_t dropped; /* versions that were had, and changed */
};

static void expect_passes(struct expected *e, uint64_t warm)
{
	for (uint64_t k = 0; k < at.trace.npasses; k++) {
		if (at.pass[k] < warm)
			continue;
		e->passes++;
		e->pass_bytes += at.pass_size[k];
	}
	e->requests += e->passes;
	e->bytes += e->pass_bytes;
}

static struct expected expect(const struct drive_plan *plan)
{
	const uint64_t warm = sim_config_warm(plan->config, &at.trace);
	static bool had[OBJECTS];
	static uint32_t size[OBJECTS];
	struct expected e = { 0 };
	uint64_t change = 0;

	memset(had, 0, sizeof(had));
	memcpy(size, at.size, sizeof(size));
	for (uint64_t i = 0; i < REQUESTS; i++) {
		const uint32_t o = at.object[i];

		for (; !plan->keep_changed && change < at.trace.nchanges &&
		       at.change[change] <= i; change++) {
			size[o] = at.change_size[change];
			e.dropped += had[o];
			had[o] = false;
		}
		e.firsts += !had[o];
		had[o] = true;
		e.requests += i >= warm;
		e.bytes += i >= warm ? size[o] : 0;
	}
	expect_passes(&e, warm);
	return e;
}

static void tell(void *arg, uint64_t done)
{
	(void)arg;
	assert_int_equal(done, ++heard.told * TELL_EVERY);
}

static void answered(void *arg, unsigned node, int64_t us)
{
	(void)arg;
	(void)node;
	assert_true((uint64_t)us >= heard.least_us);
	heard.answers++;
	heard.waited_us += (uint64_t)us;
}

/* Whatever the plan. */
static void check(const struct drive_plan *plan, const struct sim_result *out,
		  const struct drive_count *count)
{
	const struct expected e = expect(plan);
	const struct sim_counters *s = &out->sum;

	assert_int_equal(s->requests, e.requests);
	assert_int_equal(s->bytes, e.bytes);
	assert_int_equal(s->local_hits + s->remote_hits + s->collapsed +
			 s->origin, s->requests);
	assert_int_equal(s->local_bytes + s->remote_bytes +
			 s->collapsed_bytes + s->origin_bytes, s->bytes);
	assert_int_equal(s->uncacheable, e.passes);
	assert_int_equal(s->uncacheable_bytes, e.pass_bytes);
	assert_true(s->false_hits + s->remote_stale <= s->candidates);
	assert_true(s->duplicates <= s->held);
	assert_true(s->duplicate_bytes <= s->held_bytes);
	assert_true(s->held_bytes <= out->capacity);
	assert_true(count->seconds > 0);
	if (plan->answered) {
		assert_int_equal(heard.answers, s->requests);
		assert_int_equal(heard.waited_us, s->latency_us);
	}
	if (plan->tell)
		assert_int_equal(heard.told, REQUESTS / TELL_EVERY);
}

/* clang-format off */
static const struct row {
	const char *label, *protocol; /* null: none is said */
	const char *options;
	unsigned has;
	double rate; /* 0: the trace's times, twice as fast */
	uint32_t max_age_s, size_limit, tail_us, lost_ppm;
	unsigned locations;
	bool keep_changed, quiet;
	bool remote, collapsed, errors, stale; /* there are some, or none */
} rows[] = {
	{ .label = "alone", .rate = 1000, .max_age_s = 3600 },
	{ .label = "alone, by name", .protocol = "none", .rate = 1000,
	  .max_age_s = 3600, .has = HAS_CLIENTS },
	{ .label = "lists", .protocol = "compressed", .rate = 300,
	  .max_age_s = 3600, .remote = true },
	{ .label = "arrays", .protocol = "compressed", .rate = 300,
	  .options = "digest_form = \"array\"\n", .max_age_s = 3600,
	  .remote = true },
	{ .label = "arrays that are wanted, too", .protocol = "compressed",
	  .rate = 300, .options = "digest_form = \"array\"\n"
	  "publish_min = 100ms\npublish_share = \"0\"\n", .max_age_s = 3600,
	  .has = HAS_CLIENTS, .remote = true },
	{ .label = "to the owner", .protocol = "hash", .rate = 1000,
	  .max_age_s = 3600, .has = HAS_CLIENTS },
	{ .label = "the trace's times", .protocol = "compressed",
	  .max_age_s = 3600, .has = HAS_TIME | HAS_PASSES, .remote = true },
	{ .label = "clients' nodes", .protocol = "compressed", .rate = 300,
	  .max_age_s = 3600, .remote = true,
	  .has = HAS_CLIENTS | HAS_PASSES | HAS_TIME },
	{ .label = "changes", .protocol = "compressed", .rate = 300,
	  .max_age_s = 3600, .has = HAS_CHANGES | HAS_PASSES, .remote = true },
	{ .label = "changes that are kept", .protocol = "compressed",
	  .rate = 300, .max_age_s = 3600, .has = HAS_CHANGES,
	  .keep_changed = true, .remote = true },
	{ .label = "large objects", .protocol = "compressed", .rate = 300,
	  .options = "slice_size = 0\n", .max_age_s = 3600, .has = HAS_LARGE,
	  .remote = true },
	{ .label = "large objects in slices", .rate = 300, .max_age_s = 3600,
	  .has = HAS_LARGE },
	{ .label = "nothing large is kept", .rate = 300, .max_age_s = 3600,
	  .has = HAS_LARGE, .size_limit = 1 << 20 },
	{ .label = "a burst", .rate = 100000, .max_age_s = 3600, .tail_us = 300,
	  .collapsed = true, .quiet = true },
	{ .label = "two places, and losses", .protocol = "compressed",
	  .rate = 300, .max_age_s = 3600, .lost_ppm = 20000, .locations = 2,
	  .tail_us = 1000, .remote = true },
	{ .label = "what goes stale", .protocol = "compressed", .rate = 100,
	  .max_age_s = 1, .has = HAS_PASSES, .remote = true, .stale = true },
	{ .label = "clients that ask too often", .rate = 300, .max_age_s = 3600,
	  .options = "client_rate = 20\nclient_burst = 5\n",
	  .errors = true },
};
/* clang-format on */

static struct sim_config config_of(const struct row *row)
{
	return (struct sim_config){
		.nproxies = 4,
		.partition = SIM_BY_CLIENT,
		.protocol = row->protocol ? protocol_find(row->protocol) : NULL,
		.capacity = CAPACITY,
		.size_limit = row->size_limit,
		.warmup_ppm = WARM_PPM,
		.seed = 1,
	};
}

static struct drive_plan plan_of(const struct row *row,
				 const struct sim_config *config)
{
	return (struct drive_plan){
		.config = config,
		.trace = &at.trace,
		.options = row->options ? row->options : "",
		.rate = row->rate,
		.speed = 2,
		.client = { .least_us = 100 },
		.peer = { 100, 50, row->tail_us },
		.origin = { 2000, 0, row->tail_us },
		.locations = row->locations,
		.far = { 5000, 100, row->tail_us },
		.lost_ppm = row->lost_ppm,
		.job = { 500, 1000, 0 },
		.max_age_s = row->max_age_s,
		.keep_changed = row->keep_changed,
		.tell = row->quiet ? NULL : tell,
		.answered = row->quiet ? NULL : answered,
	};
}

static void run(const struct drive_plan *plan, struct sim_result *out,
		struct drive_count *count)
{
	memset(&heard, 0, sizeof(heard));
	heard.least_us = 2 * plan->client.least_us;
	assert_int_equal(drive_run(plan, out, count), 0);
	check(plan, out, count);
}

/* What this row is for has come about. */
static void check_row(const struct row *row, const struct sim_counters *s,
		      uint64_t errors)
{
	if (!s->remote_hits == row->remote)
		fail_msg("%s: %llu remote hits", row->label,
			 (unsigned long long)s->remote_hits);
	if (row->collapsed && !s->collapsed)
		fail_msg("%s: no request has joined another", row->label);
	if (!errors == row->errors)
		fail_msg("%s: %llu errors", row->label,
			 (unsigned long long)errors);
	if (!row->errors && !row->stale)
		assert_true(s->local_hits + s->remote_hits > s->requests / 4);
	if (row->size_limit)
		assert_true(s->held_bytes < (uint64_t)s->held * LARGE / 10);
	if (row->protocol && !strcmp(row->protocol, "hash"))
		assert_int_equal(s->duplicates, 0);
	if (!row->protocol || strcmp(row->protocol, "compressed") != 0)
		assert_int_equal(s->candidates + s->updates, 0);
	else
		assert_true(s->updates > 0);
}

static void test_plans(void **state)
{
	(void)state;
	for (size_t i = 0; i < NROWS(rows); i++) {
		const struct sim_config config = config_of(&rows[i]);
		const struct drive_plan plan = plan_of(&rows[i], &config);
		static struct sim_result out, again;
		struct drive_count count, recount;

		make_trace(rows[i].has);
		run(&plan, &out, &count);
		print_message("# %s: %llu local, %llu remote, %llu collapsed, "
			      "%llu from the origin\n", rows[i].label,
			      (unsigned long long)out.sum.local_hits,
			      (unsigned long long)out.sum.remote_hits,
			      (unsigned long long)out.sum.collapsed,
			      (unsigned long long)out.sum.origin);
		check_row(&rows[i], &out.sum, count.errors);
		run(&plan, &again, &recount);
		assert_memory_equal(&out, &again, sizeof(out));
		assert_int_equal(count.errors, recount.errors);
	}
}

/* Without any that is evicted or goes stale, a node alone has each version from
 * the origin once, and so has a cluster whose objects have an owner each. */
static void test_each_is_had_once(void **state)
{
	const struct row row = { .protocol = "hash", .rate = 10,
				 .has = HAS_CHANGES, .max_age_s = 86400 };
	struct sim_config config = config_of(&row);
	const struct drive_plan plan = plan_of(&row, &config);
	struct sim_result out;
	struct drive_count count;

	(void)state;
	make_trace(row.has);
	config.warmup_ppm = 0;
	run(&plan, &out, &count);
	assert_int_equal(out.sum.origin, expect(&plan).firsts);
	assert_int_equal(out.sum.writes, out.sum.origin);
	/* an old version goes when there is another */
	assert_true(expect(&plan).dropped > 0);
	assert_int_equal(out.sum.held + out.sum.evicted +
			 expect(&plan).dropped, out.sum.writes);
	config.protocol = NULL;
	config.nproxies = 1;
	run(&plan, &out, &count);
	assert_int_equal(out.sum.origin, expect(&plan).firsts);
}

/* Another seed is other delays, and nothing else where nobody depends on them.
 */
static void test_a_seed_decides_delays(void **state)
{
	const struct row row = { .rate = 10, .tail_us = 1000,
				 .max_age_s = 86400 };
	struct sim_config config = config_of(&row);
	const struct drive_plan plan = plan_of(&row, &config);
	struct sim_result out, other;
	struct drive_count count;

	(void)state;
	make_trace(row.has);
	run(&plan, &out, &count);
	config.seed = 2;
	run(&plan, &other, &count);
	assert_int_equal(out.sum.origin, other.sum.origin);
	assert_int_equal(out.sum.local_hits, other.sum.local_hits);
	assert_int_not_equal(out.sum.latency_us, other.sum.latency_us);
}

static void test_no_times(void **state)
{
	const struct row row = { .max_age_s = 60 };
	const struct sim_config config = config_of(&row);
	const struct drive_plan plan = plan_of(&row, &config);
	struct sim_result out;
	struct drive_count count;

	(void)state;
	make_trace(0);
	assert_int_equal(drive_run(&plan, &out, &count), -EINVAL);
}

/* Runs a plan in a process of its own, whose n-th allocation fails; 0: none.
 * Returns its exit code, or the negative number of a signal. */
static int run_apart(const struct drive_plan *plan, unsigned n)
{
	static const int signals[] = { SIGABRT, SIGBUS, SIGFPE, SIGILL,
				       SIGSEGV };
	const pid_t pid = fork();
	int status;

	assert_true(pid >= 0);
	if (!pid) {
		struct sim_result out;
		struct drive_count count;
		int err;

		for (size_t i = 0; i < NROWS(signals); i++)
			signal(signals[i], SIG_DFL); /* cmocka has some */
		if (!freopen("/dev/null", "w", stderr))
			exit(EXIT_FAILURE);
		alloc_fail_at(n);
		err = drive_run(plan, &out, &count);
		if (!alloc_failed())
			exit(ENDED);
		exit(!err || err == -ENOMEM ? DONE : EXIT_FAILURE);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

static void test_an_option_that_is_none(void **state)
{
	const struct row row = { .rate = 100, .options = "colour = \"red\"\n",
				 .max_age_s = 60 };
	const struct sim_config config = config_of(&row);
	const struct drive_plan plan = plan_of(&row, &config);

	(void)state;
	make_trace(0);
	assert_int_equal(run_apart(&plan, 0), USAGE);
}

/* Without memory the driver says so and nodes do with less; some allocations of
 * the beginning, and fewer and fewer of what follows. */
static void test_allocations_fail(void **state)
{
	static const struct row kinds[] = {
		{ .protocol = "hash", .rate = 300, .max_age_s = 60,
		  .has = HAS_CLIENTS | HAS_CHANGES },
		{ .protocol = "compressed", .rate = 300, .max_age_s = 60 },
		{ .protocol = "compressed", .rate = 300, .max_age_s = 60,
		  .options = "digest_form = \"array\"\n" },
	};

	(void)state;
	for (size_t i = 0; i < NROWS(kinds); i++) {
		struct sim_config config = config_of(&kinds[i]);
		struct drive_plan plan = plan_of(&kinds[i], &config);
		unsigned failed = 0;
		int code = DONE;

		make_trace(kinds[i].has);
		at.trace.nrequests = 100;
		config.nproxies = 2;
		plan.tell = NULL;
		plan.answered = NULL;
		for (unsigned n = 1; code != ENDED; n += 1 + n / 12) {
			code = run_apart(&plan, n);
			if (code != DONE && code != USAGE && code != ENDED)
				fail_msg("allocation %u: %d", n, code);
			failed += code != ENDED;
		}
		assert_true(failed > 50);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_plans),
		cmocka_unit_test(test_each_is_had_once),
		cmocka_unit_test(test_a_seed_decides_delays),
		cmocka_unit_test(test_no_times),
		cmocka_unit_test(test_an_option_that_is_none),
		cmocka_unit_test(test_allocations_fail),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
