/*
 * What clients get from a server that has no memory, or whose calls of the
 * system fail: the i-th, for every i. The answer, an error or the end of the
 * connection; the next one gets the answer, and each exchange that began has
 * ended.
 */
#include "tests/server/served.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/codec/alloc.h"
#include "tests/os/call_faults.h"
#include "tests/spared.h"
#include "tests/unit.h"

enum { MAX_CALLS = 200, QUIET = 2 };

static pthread_t clients;

bool spared_thread(void)
{
	return pthread_equal(pthread_self(), clients);
}

/* What is asked for, and how the answer ends. */
static const struct row {
	const char *request, *has;
} rows[] = {
	{ "GET /a%41?q" CLOSE, "\r\n\r\n/a%41?q" },
	{ "GET /drip" CLOSE, "ddd" },
	{ "GET /chunks" CLOSE, "\r\n0\r\n\r\n" },
	{ "HEAD /drip" CLOSE, "5000" },
	{ "GET /big" CLOSE, "bbb" },
	{ "GET /shared" CLOSE, "\r\n\r\n" },
	{ "GET /304" CLOSE, "304" },
	{ "GET /hints" CLOSE, "hinted" },
	{ "GET /nowhere" CLOSE, "404" },
	{ "GET /a%41?q" KEEP "GET /late" CLOSE, "late" },
	{ "POST /upload HTTP/1.1\r\nHost: h\r\nConnection: close\r\n"
	  "Transfer-Encoding: chunked\r\n\r\n5\r\nabcde\r\n0\r\nA: b\r\n\r\n",
	  "\r\n\r\n5" },
	{ "POST /upload HTTP/1.1\r\nHost: h\r\nConnection: close\r\n"
	  "Expect: 100-continue\r\nContent-Length: 3\r\n\r\nabc",
	  "\r\n\r\n3" },
};

static char *ask_row(const struct row *row)
{
	int fd = dial();

	(void)!send(fd, row->request, strlen(row->request), MSG_NOSIGNAL);
	return hear(fd, NULL);
}

/* Whether the i-th has failed. */
static bool round_fails(const struct row *row, unsigned i,
			void (*arm)(unsigned i), bool (*disarm)(void))
{
	char *reply;
	bool failed;

	arm(i);
	reply = ask_row(row);
	failed = disarm();
	if (reply[0] && strncmp(reply, "HTTP/1.", 7) != 0)
		fail_msg("%.40s with fault %u: %.200s", row->request, i, reply);
	free(reply);
	reply = ask_row(row);
	if (!strstr(reply, row->has))
		fail_msg("%.40s after fault %u: %.200s", row->request, i,
			 reply);
	free(reply);
	return failed;
}

static void each_round(void (*arm)(unsigned i), bool (*disarm)(void))
{
	for (size_t r = 0; r < NROWS(rows); r++) {
		unsigned quiet = 0, i;

		for (i = 1; i < MAX_CALLS && quiet < QUIET; i++)
			quiet = round_fails(&rows[r], i, arm, disarm) ?
					0 : quiet + 1;
		assert_in_range(i, QUIET, MAX_CALLS - 1);
	}
}

static bool disarm_memory(void)
{
	bool failed = alloc_failed();

	alloc_fail_at(0);
	return failed;
}

static void without_memory(void **state)
{
	(void)state;
	each_round(alloc_fail_at, disarm_memory);
}

static const struct failing_call {
	const char *function;
	int error;
} failing_calls[] = {
	{ "accept4", ECONNABORTED }, { "recv", ECONNRESET },
	{ "sendmsg", EPIPE },	     { "sendfile", EIO },
	{ "setsockopt", EINVAL },    { "epoll_ctl", ENOSPC },
};

static const struct failing_call *failing;

static void arm_call(unsigned i)
{
	call_fail_at(failing->function, i, failing->error);
}

static bool disarm_call(void)
{
	bool failed = call_failed();

	call_fail_at(failing->function, 0, 0);
	return failed;
}

static void with_calls_that_fail(void **state)
{
	(void)state;
	for (size_t f = 0; f < NROWS(failing_calls); f++) {
		failing = &failing_calls[f];
		each_round(arm_call, disarm_call);
	}
}

static int tear_down(void **state)
{
	int err = served_tear_down(state);

	assert_int_equal(atomic_load(&at.done) + atomic_load(&at.aborted),
			 atomic_load(&at.begun));
	return err;
}

static int set_up_library(void **state)
{
	clients = pthread_self();
	at.strict = false;
	return served_set_up(state);
}

static int set_up_strict(void **state)
{
	clients = pthread_self();
	at.strict = true;
	return served_set_up(state);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(without_memory, set_up_library,
						tear_down),
		cmocka_unit_test_setup_teardown(without_memory, set_up_strict,
						tear_down),
		cmocka_unit_test_setup_teardown(with_calls_that_fail,
						set_up_strict, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
