/*
 * A worker that cannot be made, or not be told anything: nothing is left of it,
 * and one that is there goes on as before.
 */
#include <errno.h>
#include <signal.h>
#include <unistd.h>

#include "digestd/fetch/fetch.h"
#include "digestd/os/loop.h"
#include "tests/codec/alloc.h"
#include "tests/os/call_faults.h"
#include "tests/proxy/two_nodes.h"
#include "tests/spared.h"
#include "tests/unit.h"

enum { MAX_CALLS = 300 };

bool spared_thread(void)
{
	return pthread_equal(pthread_self(), at.thread);
}

static const struct worker_origin origins[] = {
	{ "www.example.com", "http://127.0.0.1:1", SET_COOKIE_REFUSE, NULL },
	{ "h:8080", "http://127.0.0.1:2", SET_COOKIE_STRIP, NULL },
};

/* All that a worker can be told. */
static struct worker_settings all_settings(void)
{
	struct worker_settings all = at.a.settings;

	all.origins = origins;
	all.norigins = NROWS(origins);
	return all;
}

static int make(const struct worker_settings *settings, struct worker **w)
{
	const struct worker_hooks hooks = { 0 };
	const struct worker_shared shared = {
		.cache = at.a.cache, .collapses = at.a.collapses,
	};

	return worker_new(settings, &hooks, &shared, w);
}

static void each_allocation_fails(void **state)
{
	const struct worker_settings all = all_settings();
	const unsigned descriptors = call_descriptors();
	unsigned i = 0;
	int err;

	(void)state;
	do {
		struct worker *w = NULL;

		alloc_fail_at(++i);
		err = make(&all, &w);
		assert_int_equal(!err, !alloc_failed());
		alloc_fail_at(0);
		assert_true(!err || err == -ENOMEM);
		worker_stop(&w);
		assert_int_equal(call_descriptors(), descriptors);
	} while (err);
	assert_in_range(i, 10, MAX_CALLS);
}

static void each_call_fails(void **state)
{
	static const char *const calls[] = {
		"epoll_create1", "eventfd", "epoll_ctl", "socket", "bind",
		"listen", "setsockopt", "getsockname",
	};
	const struct worker_settings all = all_settings();
	const unsigned descriptors = call_descriptors();

	(void)state;
	for (size_t c = 0; c < NROWS(calls); c++) {
		unsigned i = 0, failed;

		do {
			struct worker *w = NULL;
			int err;

			call_fail_at(calls[c], ++i, EACCES);
			err = make(&all, &w);
			failed = (unsigned)call_failed();
			call_fail_at(calls[c], 0, 0);
			/* some it can do without */
			assert_true(err ? failed && !w : w != NULL);
			worker_stop(&w);
			if (call_descriptors() != descriptors)
				fail_msg("%s %u", calls[c], i);
		} while (failed && i < MAX_CALLS);
		assert_in_range(i, 2, MAX_CALLS - 1);
	}
}

static void addresses_that_are_none(void **state)
{
	struct worker_settings bad = at.a.settings;
	struct worker *w = NULL;

	(void)state;
	bad.data_listen = "nowhere";
	assert_int_equal(make(&bad, &w), -EINVAL);
	bad.data_listen = at.a.settings.data_listen;
	bad.peer_listen = "nowhere:1";
	assert_int_equal(make(&bad, &w), -EINVAL);
	bad.peer_listen = NULL;
	assert_int_equal(make(&bad, &w), 0);
	assert_int_equal(worker_peer_port(w), 0);
	worker_stop(&w);
	worker_stop(&w); /* of no effect, but allowed */
}

static void no_thread(void **state)
{
	struct worker *w;

	(void)state;
	assert_int_equal(make(&at.a.settings, &w), 0);
	call_fail_at("pthread_create", 1, EAGAIN);
	assert_int_equal(worker_start(w), -EAGAIN);
	worker_stop(&w);
}

static void ignore(void *arg)
{
	(void)arg;
}

/* What it cannot be told, it has not heard. */
static void told_without_memory(void **state)
{
	static struct loop_call drained = { .run = ignore };
	struct worker_settings all = all_settings();
	unsigned i = 0;
	int err;

	(void)state;
	all.default_origin = NULL;
	do {
		alloc_fail_at(++i);
		err = worker_reconfigure(at.a.worker, &all);
		alloc_fail_at(0);
		if (err) {
			assert_int_equal(err, -ENOMEM);
			expect(ask(port_a(), "GET", "/hit", ""), 200, "/hit");
		}
	} while (err);
	assert_in_range(i, 5, MAX_CALLS);
	do
		alloc_fail_at(1), err = worker_set_view(at.a.worker, NULL);
	while (!alloc_failed());
	assert_int_equal(err, -ENOMEM);
	alloc_fail_at(0);
	worker_drain(at.a.worker, at.loop, &drained);
	worker_drain(at.a.worker, at.loop, &drained); /* the same as once */
	worker_part(at.a.worker);
}

static void count_drained(void *arg)
{
	atomic_fetch_add((atomic_int *)arg, 1);
}

/* Both listeners go to another process at once, and once; there may be no
 * listener for peers. */
static void handing_over(void **state)
{
	static atomic_int drained;
	static struct loop_call calls[2];
	struct worker_settings alone = at.a.settings;
	struct worker *w;

	(void)state;
	alone.peer_listen = NULL;
	assert_int_equal(make(&alone, &w), 0);
	assert_int_equal(worker_start(w), 0);
	for (int i = 0; i < 2; i++)
		calls[i] = (struct loop_call){ .run = count_drained,
					       .arg = &drained };
	worker_hand_over(at.a.worker, at.loop, &calls[0]);
	worker_hand_over(at.a.worker, at.loop, &calls[0]);
	worker_leave_socket(w);
	worker_drain(w, at.loop, &calls[1]);
	worker_part(w);
	for (int i = 0; i < 5000 && atomic_load(&drained) < 2; i++)
		usleep(1000);
	assert_int_equal(atomic_load(&drained), 2);
	worker_stop(&w);
}

#define TEST(name) \
	cmocka_unit_test_setup_teardown(name, two_nodes_begin, two_nodes_end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(each_allocation_fails),
		TEST(each_call_fails),
		TEST(addresses_that_are_none),
		TEST(no_thread),
		TEST(told_without_memory),
		TEST(handing_over),
	};

	signal(SIGPIPE, SIG_IGN);
	fetch_global_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
