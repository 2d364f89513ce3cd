/*
 * What clients get from a server that has no memory, or whose calls of the
 * system fail: the i-th, for every i. The answer, an error or the end of the
 * connection; the next one gets the answer, and each exchange that began has
 * ended.
 */
#include "tests/server/served.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tests/codec/alloc.h"
#include "tests/os/call_faults.h"
#include "tests/os/fault_kinds.h"
#include "tests/spared.h"
#include "tests/unit.h"

enum { MAX_CALLS = 200, QUIET = 2 };

static pthread_t clients;
static bool unspared; /* what the clients' thread does fails, too */

bool spared_thread(void)
{
	return !unspared && pthread_equal(pthread_self(), clients);
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
	{ "GET /written" CLOSE, "\r\n\r\n" },
	{ "GET /304" CLOSE, "304" },
	{ "GET /hints" CLOSE, "hinted" },
	{ "GET /hints/small" CLOSE, "bbb" },
	{ "GET /hints/dated" CLOSE, "1994" },
	{ "GET /hints/none" CLOSE, "\r\n0\r\n\r\n" },
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

/* Each exchange that began has ended. */
static int stop_server(void **state)
{
	int err = served_tear_down(state);

	assert_int_equal(atomic_load(&at.done) + atomic_load(&at.aborted),
			 atomic_load(&at.begun));
	return err;
}

/* Whether the i-th has failed. fresh: of a server that has served nothing, and
 * so has kept no memory. */
static bool round_fails(const struct row *row, unsigned i,
			const struct fault_kind *kind, bool fresh)
{
	char *reply;
	bool failed;

	if (fresh) {
		stop_server(NULL);
		assert_int_equal(served_set_up(NULL), 0);
	}
	kind->arm(i);
	reply = ask_row(row);
	failed = kind->disarm();
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

static void each_round(const struct fault_kind *kind, bool fresh)
{
	for (size_t r = 0; r < NROWS(rows); r++) {
		unsigned quiet = 0, i;

		for (i = 1; i < MAX_CALLS && quiet < QUIET; i++)
			quiet = round_fails(&rows[r], i, kind, fresh) ?
					0 : quiet + 1;
		assert_in_range(i, QUIET, MAX_CALLS - 1);
	}
}

static void without_memory(void **state)
{
	(void)state;
	each_round(&fault_of_memory, true);
}

static const struct failing_call failing_calls[] = {
	{ "accept4", ECONNABORTED }, { "recv", ECONNRESET },
	{ "sendmsg", EPIPE },	     { "sendfile", EIO },
	{ "setsockopt", EINVAL },    { "epoll_ctl", ENOSPC },
};

static void with_calls_that_fail(void **state)
{
	(void)state;
	for (size_t f = 0; f < NROWS(failing_calls); f++)
		each_round(fault_of_call(&failing_calls[f]), false);
}

static void on_request(void *arg, struct exchange *x)
{
	(void)arg;
	exchange_abort(x);
}

/* Servers that cannot be made leave nothing. */
static void none_is_made(void **state)
{
	static const char *const calls[] = { "socket", "bind", "listen",
					     "getsockname", "epoll_ctl" };
	static const struct server_handler nothing = {
		.on_request = on_request,
	};
	struct server_settings settings = {
		.listen = "127.0.0.1:0", .max_connections = 10,
		.max_header_bytes = 1024, .header_ms = 100, .idle_ms = 100,
	};
	struct loop *loop;

	(void)state;
	assert_int_equal(loop_new(&loop), 0);
	for (size_t c = 0; c < 2 * (NROWS(calls) + 1); c++) {
		const size_t name = c / 2;
		const unsigned descriptors = call_descriptors();
		unsigned i = 0;
		bool failed;

		settings.strict = c % 2;
		settings.max_header_bytes = c % 2 ? 1024 : 1 << 20;
		do {
			struct server *server = NULL;
			int err;

			if (name < NROWS(calls))
				call_fail_at(calls[name], ++i, EACCES);
			else
				alloc_fail_at(++i);
			unspared = true;
			err = server_new(loop, &settings, &nothing, NULL,
					 &server);
			unspared = false;
			failed = call_failed() || alloc_failed();
			call_fail_at("", 0, 0);
			alloc_fail_at(0);
			assert_true(failed || !err);
			assert_int_equal(!server, err != 0);
			server_free(&server);
			assert_int_equal(call_descriptors(), descriptors);
		} while (failed && i < MAX_CALLS);
		assert_in_range(i, 1, MAX_CALLS - 1);
	}
	loop_free(&loop);
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
						stop_server),
		cmocka_unit_test_setup_teardown(without_memory, set_up_strict,
						stop_server),
		cmocka_unit_test_setup_teardown(with_calls_that_fail,
						set_up_strict, stop_server),
		cmocka_unit_test_setup_teardown(with_calls_that_fail,
						set_up_library, stop_server),
		cmocka_unit_test(none_is_made),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
