/*
 * Watching origins: checks that take one out and back, whatever is wrong with
 * it; names that are looked up; settings that change meanwhile; and each
 * allocation failing. The origins are the test's, on the same loop.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "digestd/fetch/fetch.h"
#include "digestd/os/log.h"
#include "digestd/os/loop.h"
#include "digestd/os/troubles.h"
#include "digestd/proxy/origin_group.h"
#include "digestd/proxy/origin_watch.h"
#include "digestd/server/server.h"
#include "tests/codec/alloc.h"
#include "tests/loopback.h"
#include "tests/unit.h"

enum { CHECK_MS = 5, OFTEN_MS = 1, LIMIT_MS = 10000, LATER_MS = 60000 };

static const struct origin_policy policy = {
	.failures = 2,
	.out_min_ms = 100000,
	.out_max_ms = 100000,
};

/* An origin that answers checks with a status; 0: not at all. */
struct played {
	struct server *server;
	unsigned status, checks;
	char url[64];
};

static struct loop *loop;
static struct origins *origins;
static struct upstream_names *names;
static struct troubles *troubles;
static struct origin_watch *watch;
static struct played good, bad;

static void played_on_request(void *arg, struct exchange *x)
{
	const struct server_request *r = exchange_request(x);
	struct played *p = arg;

	assert_string_equal(r->method, "GET");
	assert_int_equal(r->target_len, strlen("/up?1"));
	assert_memory_equal(r->target, "/up?1", r->target_len);
	p->checks++;
	if (p->status)
		exchange_reply_copy(x, p->status, NULL, "", 0);
}

static const struct server_handler played_handler = {
	.on_request = played_on_request,
};

static void played_begin(struct played *p)
{
	const struct server_settings settings = {
		.listen = "127.0.0.1:0", .max_connections = 20,
		.max_header_bytes = 16384, .header_ms = 5000, .idle_ms = 5000,
	};

	p->status = 204;
	p->checks = 0;
	assert_int_equal(server_new(loop, &settings, &played_handler, p,
				    &p->server), 0);
	snprintf(p->url, sizeof(p->url), "http://127.0.0.1:%u",
		 server_port(p->server));
}

static int set_up(void **state)
{
	(void)state;
	log_set_level("error");
	assert_int_equal(loop_new(&loop), 0);
	assert_int_equal(origins_new(&origins), 0);
	origins_configure(origins, &policy);
	assert_int_equal(upstream_names_new(&names), 0);
	assert_int_equal(troubles_new(names, &troubles), 0);
	assert_int_equal(origin_watch_new(loop, origins, troubles, &watch), 0);
	played_begin(&good);
	played_begin(&bad);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	origin_watch_free(&watch);
	origin_watch_free(&watch); /* null is allowed */
	server_free(&good.server);
	server_free(&bad.server);
	origins_free(&origins);
	troubles_free(&troubles);
	upstream_names_free(&names);
	loop_free(&loop);
	return 0;
}

static struct origin_group *group_of(const char *first, const char *second)
{
	char urls[200];

	snprintf(urls, sizeof(urls), "%s, %s", first, second);
	return origins_find(origins, urls);
}

static void watch_set(const char *path, int64_t check_ms)
{
	const struct origin_watch_settings settings = {
		.lookup_ms = OFTEN_MS,
		.check_path = path,
		.check_ms = check_ms,
		.check_status = 204,
	};

	assert_int_equal(origin_watch_set(watch, &settings), 0);
}

/* How each origin is, in a line. */
static void put_state(void *arg, const struct origin_status *s)
{
	char *text = arg;

	sprintf(text + strlen(text), "%s %s, ", s->label,
		origin_state_text(s->state));
}

static bool states_are(const char *wanted)
{
	char text[500] = "";

	origins_status(origins, loop_now_ms(loop), put_state, text);
	return !strcmp(text, wanted);
}

/* Turns until the states are these. */
static void wait_for_states(const char *first, const char *is,
			    const char *second, const char *and)
{
	int64_t end_ms = loop_clock_ms() + LIMIT_MS;
	char wanted[300];

	snprintf(wanted, sizeof(wanted), "%s %s, %s %s, ", first, is, second,
		 and);
	while (!states_are(wanted)) {
		if (loop_clock_ms() > end_ms)
			fail_msg("not \"%s\"", wanted);
		assert_int_equal(loop_turn(loop, 1), 0);
	}
}

static void turns(unsigned n)
{
	while (n--)
		assert_int_equal(loop_turn(loop, 1), 0);
}

static void put_trouble(void *arg, const struct trouble_count *count)
{
	char *text = arg;

	if (count->kind)
		sprintf(text + strlen(text), "%s %s, ", count->name,
			trouble_label(count->trouble));
}

static void assert_trouble(const struct played *p, const char *cause)
{
	char text[500] = "", wanted[200];

	troubles_each(troubles, put_trouble, text);
	snprintf(wanted, sizeof(wanted), "%s %s, ", p->url, cause);
	if (!strstr(text, wanted))
		fail_msg("no \"%s\" in \"%s\"", wanted, text);
}

/* One answers another status than the right one: it is out, and back when it
 * answers that. */
static void test_a_status_takes_one_out(void **state)
{
	(void)state;
	group_of(good.url, bad.url);
	bad.status = 200;
	watch_set("/up?1", CHECK_MS);
	wait_for_states(good.url, "up", bad.url, "out");
	assert_trouble(&bad, "failed-check");
	assert_true(good.checks > 0);
	bad.status = 204;
	wait_for_states(good.url, "up", bad.url, "up");
}

/* As does one that refuses connections, or that is silent. */
static void test_one_that_does_not_answer(void **state)
{
	(void)state;
	group_of(good.url, bad.url);
	server_free(&bad.server);
	watch_set("/up?1", CHECK_MS);
	wait_for_states(good.url, "up", bad.url, "out");
	assert_trouble(&bad, "refused");
}

/* A check has as long as there is between two, and a second one is not begun
 * before it has ended: what hangs is asked no faster than that. */
static void test_one_that_is_silent(void **state)
{
	unsigned checks;

	(void)state;
	group_of(good.url, bad.url);
	bad.status = 0;
	watch_set("/up?1", 4 * CHECK_MS);
	wait_for_states(good.url, "up", bad.url, "out");
	assert_trouble(&bad, "timeout-answer");
	watch_set("/up?1", LATER_MS);
	turns(5);
	checks = bad.checks;
	assert_true(checks > 0);
	turns(5);
	assert_int_equal(bad.checks, checks);
	/* and it ends with the watch, under way */
}

/* Who is checked no more is as good as before the checks. */
static void test_checks_are_switched_off(void **state)
{
	unsigned checks;

	(void)state;
	group_of(good.url, bad.url);
	bad.status = 500;
	watch_set("/up?1", CHECK_MS);
	wait_for_states(good.url, "up", bad.url, "out");
	watch_set(NULL, 0);
	checks = bad.checks + good.checks;
	turns(20);
	assert_int_equal(bad.checks + good.checks, checks);
	wait_for_states(good.url, "up", bad.url, "up");
}

/* A name has the addresses that it stands for; an address is not looked up. */
static void test_names_are_looked_up(void **state)
{
	char label[200], by_name[64];

	(void)state;
	snprintf(by_name, sizeof(by_name), "http://localhost:%u",
		 server_port(good.server));
	snprintf(label, sizeof(label), "%s up, %s up, ", by_name, bad.url);
	group_of(by_name, bad.url);
	assert_true(states_are(label));
	watch_set("/up?1", CHECK_MS);
	for (int64_t end_ms = loop_clock_ms() + LIMIT_MS; states_are(label);) {
		assert_true(loop_clock_ms() < end_ms);
		turns(1);
	}
	snprintf(label, sizeof(label), "%s#127.0.0.1", by_name);
	while (!good.checks)
		turns(1);
}

/* Lookups and checks under way end with it; settings replace others' groups. */
static void test_groups_that_are_used_no_more(void **state)
{
	unsigned checks;

	(void)state;
	origins_find(origins, bad.url);
	origins_find(origins, "http://localhost:1");
	watch_set("/up?1", CHECK_MS);
	turns(1);
	origins_configure(origins, &policy);
	origins_find(origins, good.url);
	watch_set("/up?1", CHECK_MS);
	turns(2);
	checks = bad.checks;
	turns(20);
	assert_int_equal(bad.checks, checks);
	assert_true(good.checks > 0);
}

/* Without memory for new settings the old ones are in force; a check that finds
 * none says nothing of its origin. */
static void test_every_allocation(void **state)
{
	const struct origin_watch_settings settings = {
		.lookup_ms = LATER_MS, .check_path = "/up?1",
		.check_ms = CHECK_MS, .check_status = 204,
	};
	struct origin_watch *w = NULL;
	bool failed = true;

	(void)state;
	group_of(good.url, bad.url);
	for (unsigned n = 1; failed; n++) {
		unsigned checks = good.checks;
		int err;

		alloc_fail_at(n);
		err = origin_watch_new(loop, origins, NULL, &w);
		if (!err)
			err = origin_watch_set(w, &settings);
		failed = alloc_failed();
		alloc_fail_at(0);
		assert_true(!err || (failed && err == -ENOMEM));
		turns(err ? 2 : 20);
		assert_int_equal(good.checks > checks, !err);
		origin_watch_free(&w);
		w = NULL;
	}
}

static void test_checks_without_memory(void **state)
{
	(void)state;
	group_of(good.url, bad.url);
	watch_set("/up?1", CHECK_MS);
	turns(10);
	for (unsigned n = 1; n < 60; n++) {
		alloc_fail_at(n);
		turns(2);
		alloc_fail_at(0);
	}
	wait_for_states(good.url, "up", bad.url, "up");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_a_status_takes_one_out),
		TEST(test_one_that_does_not_answer),
		TEST(test_one_that_is_silent),
		TEST(test_checks_are_switched_off),
		TEST(test_names_are_looked_up),
		TEST(test_groups_that_are_used_no_more),
		TEST(test_every_allocation),
		TEST(test_checks_without_memory),
	};

	fetch_global_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
