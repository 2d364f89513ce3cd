/*
 * The edges of the system when it refuses: each call of each step fails once,
 * and each allocation. What could not be made leaves no descriptor behind, and
 * what goes on goes on.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "digestd/os/background.h"
#include "digestd/os/body_memory.h"
#include "digestd/os/file_write.h"
#include "digestd/os/listen.h"
#include "digestd/os/loop.h"
#include "digestd/os/memory.h"
#include "digestd/os/resolver.h"
#include "tests/codec/alloc.h"
#include "tests/os/call_faults.h"
#include "tests/unit.h"

static struct loop *loop;

static int make_loop(void)
{
	struct loop *made = NULL;
	int err = loop_new(&made);

	assert_true(err ? !made : made != NULL);
	loop_free(&made);
	return err;
}

static void drop_nothing(void *arg)
{
	(void)arg;
}

static int make_background(void)
{
	struct background *b = NULL;
	int err = background_new(loop, &b);

	background_free(&b, drop_nothing);
	return err;
}

static int make_resolver(void)
{
	struct resolver *r = NULL;
	int err = resolver_new(loop, &r);

	resolver_free(&r);
	return err;
}

static int listen_at(const char *address, bool joins)
{
	const struct listen_how how = {
		.address = address, .joins = joins,
	};
	int fd, err = listen_open(&how, &fd);

	if (!err)
		close(fd);
	return err;
}

static int listen_everywhere(void)
{
	return listen_at(":0", false);
}

/* A port that was free a moment ago. */
static int listen_at_port(void)
{
	const struct listen_how how = {
		.address = "127.0.0.1:0",
	};
	char address[32];
	int fd;

	if (listen_open(&how, &fd))
		return -EBUSY; /* not what is expected */
	snprintf(address, sizeof(address), "127.0.0.1:%u", listen_port(fd));
	close(fd);
	return listen_at(address, true);
}

static void never(void *arg, unsigned events)
{
	(void)arg;
	(void)events;
	fail();
}

static int watch_and_change(void)
{
	struct loop_watch w = { 0 };
	int fds[2], err;

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
	err = loop_watch(loop, &w, fds[0], LOOP_READ, never, NULL);
	if (!err)
		err = loop_rewatch(loop, &w, LOOP_READ | LOOP_HANGUP);
	loop_unwatch(loop, &w);
	loop_unwatch(loop, &w); /* it is none */
	close(fds[0]);
	close(fds[1]);
	return err;
}

static int write_file(void)
{
	int fd = open("/dev/null", O_WRONLY), err = file_write(fd, "abc", 3);

	close(fd);
	return err;
}

static int turn(void)
{
	return loop_turn(loop, 0);
}

static const struct {
	const char *label;
	int (*step)(void);
	const char *calls[7];
	int expected; /* other than the call's own error */
} rows[] = {
	{ "a loop", make_loop, { "epoll_create1", "eventfd", "epoll_ctl" }, 0 },
	{ "a thread of jobs", make_background, { "pthread_create" }, 0 },
	{ "a resolver", make_resolver, { "eventfd", "epoll_ctl" }, 0 },
	{ "a listener", listen_everywhere,
	  { "socket", "setsockopt", "bind", "listen" }, 0 },
	{ "one at an address that cannot be read", listen_everywhere,
	  { "getaddrinfo" }, -EINVAL },
	{ "a watch", watch_and_change, { "epoll_ctl" }, 0 },
	{ "a turn", turn, { "epoll_wait" }, 0 },
	{ "a file", write_file, { "write" }, 0 },
};

static void calls_that_fail(void **state)
{
	enum { ERROR = ENOBUFS };

	(void)state;
	for (size_t i = 0; i < NROWS(rows); i++) {
		int expected = rows[i].expected ? rows[i].expected : -ERROR;
		unsigned before = call_descriptors();

		for (const char *const *call = rows[i].calls; *call; call++) {
			unsigned n = 0;
			int err;

			while (call_fail_at(*call, ++n, ERROR),
			       err = rows[i].step(), call_failed()) {
				/* to end a watch is the last call */
				if (err != expected && (err || n == 1))
					fail_msg("%s: %s %u: %d", rows[i].label,
						 *call, n, err);
			}
			assert_int_equal(err, 0);
			assert_true(n > 1);
		}
		assert_int_equal(call_descriptors(), before);
	}
	call_fail_at("", 0, 0);
}

static void last_option_of_a_port(void **state)
{
	unsigned n = 0;

	(void)state;
	do {
		call_fail_at("setsockopt", ++n, ENOBUFS);
		(void)listen_at_port();
	} while (call_failed());
	/* two of the first socket, and three of the second */
	assert_int_equal(n, 6);
}

static int start_query(void);

static void allocations_that_fail(void **state)
{
	static int (*const steps[])(void) = { make_loop, make_background,
					      make_resolver, start_query };

	(void)state;
	for (size_t i = 0; i < NROWS(steps); i++) {
		unsigned n = 0;

		for (;;) {
			int err;

			alloc_fail_at(++n);
			err = steps[i]();
			if (!alloc_failed())
				break;
			assert_int_equal(err, -ENOMEM);
		}
		assert_true(n > 1);
		alloc_fail_at(0);
	}
}

/* Interrupted is no failure. */
static void interruptions(void **state)
{
	(void)state;
	call_fail_at("epoll_wait", 1, EINTR);
	assert_int_equal(turn(), 0);
	assert_true(call_failed());
	call_fail_at("write", 1, EINTR);
	assert_int_equal(write_file(), 0);
	assert_true(call_failed());
	call_fail_at("epoll_wait", 2, EBADF);
	assert_int_equal(turn(), 0);
	assert_int_equal(loop_run(loop), -EBADF);
}

static void fire(void *arg)
{
	++*(int *)arg;
}

/* What was posted is there in the next turn, if the bell was not heard. With a
 * loop of its own, where the resolver does not ring. */
static void a_bell_that_is_not_heard(void **state)
{
	struct loop *quiet;
	int ran = 0;
	struct loop_call call = { .run = fire, .arg = &ran };

	(void)state;
	assert_int_equal(loop_new(&quiet), 0);
	loop_post(quiet, &call);
	call_fail_at("read", 1, EAGAIN);
	assert_int_equal(loop_turn(quiet, 0), 0);
	assert_true(call_failed());
	assert_int_equal(ran, 0);
	assert_int_equal(loop_turn(quiet, 0), 0);
	assert_int_equal(ran, 1);
	loop_free(&quiet);
}

/* How long a turn may wait depends on what is due. */
static void times_of_a_turn(void **state)
{
	struct loop_timer timer = { 0 };
	int64_t begin_ms;
	int fired = 0;

	(void)state;
	turn();
	begin_ms = loop_now_ms(loop);
	loop_timer_set(loop, &timer, INT64_MAX / 2, fire, &fired);
	assert_int_equal(loop_turn(loop, 1), 0); /* sooner than the timer */
	loop_timer_set(loop, &timer, begin_ms - 5, fire, &fired);
	assert_int_equal(loop_turn(loop, -1), 0); /* it is due */
	assert_int_equal(fired, 1);
	loop_timer_set(loop, &timer, loop_now_ms(loop) + 2, fire, &fired);
	while (fired < 2)
		assert_int_equal(loop_turn(loop, 60000), 0);
	assert_true(loop_now_ms(loop) < begin_ms + 30000);
	assert_true(loop_wall_s(loop) > 1700000000);
}

static void ran(void *arg)
{
	fire(arg);
}

static void deferred_calls(void **state)
{
	int runs = 0;
	struct loop_call call = { .run = ran, .arg = &runs };

	(void)state;
	loop_defer(loop, &call);
	loop_defer(loop, &call); /* once is enough */
	loop_undefer(loop, &call);
	loop_undefer(loop, &call);
	turn();
	assert_int_equal(runs, 0);
	loop_defer(loop, &call);
	loop_turn(loop, -1); /* does not wait */
	assert_int_equal(runs, 1);
}

/* The resolver */

static struct resolver *resolver;
static int answers;
static size_t addresses;

static void answered(void *arg, const struct resolver_answer *answer)
{
	(void)arg;
	answers++;
	addresses = answer->n;
}

static int start_query(void)
{
	struct resolver_query *q = NULL;
	int err = resolver_start(resolver, "127.0.0.1", 80, answered, NULL, &q);

	resolver_cancel(&q);
	return err;
}

/* With a resolver of its own, which has no thread yet. */
static void lookups_that_fail(void **state)
{
	struct resolver_query *q = NULL;
	struct resolver *r;
	char name[300];

	(void)state;
	assert_int_equal(resolver_new(loop, &r), 0);
	memset(name, 'n', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	assert_int_equal(resolver_start(r, name, 80, answered, NULL, &q),
			 -EINVAL);
	call_fail_at("pthread_create", 1, EAGAIN);
	assert_int_equal(resolver_start(r, "::1", 80, answered, NULL, &q),
			 -EAGAIN);
	assert_true(call_failed());
	resolver_cancel(&q); /* there is none */
	addresses = 1;
	/* a lookup that a test before has cancelled may be what fails */
	for (unsigned i = 0; i < 100 && addresses; i++) {
		call_fail_at("getaddrinfo", 1, EMFILE);
		assert_int_equal(resolver_start(r, "::1", 80, answered, NULL,
						&q), 0);
		for (answers = 0; !answers;)
			assert_int_equal(loop_turn(loop, 60000), 0);
		assert_true(call_failed());
	}
	assert_int_equal(addresses, 0);
	resolver_free(&r);
	resolver_free(&r);
}

static void an_answer_that_is_not_heard(void **state)
{
	struct resolver_query *q;

	(void)state;
	call_fail_at("read", 1, EAGAIN);
	assert_int_equal(resolver_start(resolver, "127.0.0.1", 80, answered,
					NULL, &q), 0);
	for (answers = 0; !answers;)
		assert_int_equal(loop_turn(loop, 60000), 0);
	assert_true(call_failed());
	assert_int_equal(addresses, 1);
}

/* Sockets that are none, and have no port */

static void ports(void **state)
{
	int fds[2], fd;
	const struct listen_how six = { .address = "[::1]:0" };

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
	assert_int_equal(listen_port(fds[0]), 0);
	close(fds[0]);
	close(fds[1]);
	if (listen_open(&six, &fd))
		return; /* a machine without IPv6 */
	assert_true(listen_port(fd) > 0);
	call_fail_at("getsockname", 1, EBADF);
	assert_int_equal(listen_port(fd), 0);
	close(fd);
}

/* Memory */

static void memory_is_measured(void **state)
{
	uint64_t measured;

	(void)state;
	memory_limit(UINT64_MAX);
	ledger_set(&memory_ledger, LEDGER_other, 0);
	call_fail_at("fopen", 1, EMFILE);
	memory_measure(0); /* not now */
	assert_int_equal(ledger_used(&memory_ledger, LEDGER_other), 0);
	call_fail_at("", 0, 0);
	memory_measure(0);
	measured = ledger_used(&memory_ledger, LEDGER_other);
	memory_limit(4096);
	assert_int_equal(memory_reserve(), 1024);
	memory_measure(5000); /* above the limit: gives back what it can */
	memory_measure(5001); /* and not again at once */
	memory_limit(UINT64_MAX);
	if (measured) /* sanitizers have memory of their own */
		assert_true(ledger_used(&memory_ledger, LEDGER_other) > 0);
	ledger_set(&memory_ledger, LEDGER_objects, UINT64_MAX / 2);
	/* more is known than there is: the program's own pages are left */
	memory_measure(9000);
	if (measured)
		assert_in_range(ledger_used(&memory_ledger, LEDGER_other), 1,
				measured - 1);
	ledger_set(&memory_ledger, LEDGER_objects, 0);
}

static void bodies(void **state)
{
	char *bytes = body_memory_resize(NULL, 0, 4);

	(void)state;
	assert_non_null(bytes);
	body_memory_copy(bytes, "abcd", 4);
	bytes = body_memory_resize(bytes, 4, 8);
	body_memory_copy(bytes + 1, bytes, 4);
	assert_memory_equal(bytes, "aabcd", 5);
	body_memory_free(bytes);
}

/* A body as large as it is stored, which is moved there. */
static char *large_body(void)
{
	char *bytes = body_memory_resize(NULL, 0, 4);

	body_memory_copy(bytes, "abcd", 4);
	bytes = body_memory_fit(bytes, 4, BODY_MEMORY_SMALL + 1);
	assert_memory_equal(bytes, "abcd", 4);
	bytes[BODY_MEMORY_SMALL] = 'x';
	body_memory_seal(bytes);
	return bytes;
}

/* Without memory files, bodies are elsewhere. */
static void bodies_without_a_file(void **state)
{
	struct body_memory_stats stats;
	char *bytes;

	(void)state;
	call_fail_at("memfd_create", 1, ENOSYS);
	bytes = large_body();
	assert_true(call_failed());
	assert_false(body_memory_is_in_file(bytes));
	body_memory_stats(&stats);
	assert_int_equal(stats.refused, 1);
	assert_int_equal(stats.held, 0);
	body_memory_free(bytes);
	body_memory_free(large_body());
}

static int set_up(void **state)
{
	(void)state;
	return loop_new(&loop) || resolver_new(loop, &resolver);
}

static int tear_down(void **state)
{
	(void)state;
	call_fail_at("", 0, 0);
	alloc_fail_at(0);
	resolver_free(&resolver);
	loop_free(&loop);
	loop_free(&loop); /* nothing is left to free */
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(calls_that_fail),
		cmocka_unit_test(last_option_of_a_port),
		cmocka_unit_test(allocations_that_fail),
		cmocka_unit_test(interruptions),
		cmocka_unit_test(a_bell_that_is_not_heard),
		cmocka_unit_test(times_of_a_turn),
		cmocka_unit_test(deferred_calls),
		cmocka_unit_test(lookups_that_fail),
		cmocka_unit_test(an_answer_that_is_not_heard),
		cmocka_unit_test(ports),
		cmocka_unit_test(memory_is_measured),
		cmocka_unit_test(bodies),
		cmocka_unit_test(bodies_without_a_file),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
