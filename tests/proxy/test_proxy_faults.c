/*
 * What requests come to when the node has no memory for them, or its calls of
 * the system fail: the i-th, for every i. The client gets the answer, an error
 * or the end of its connection, never wrong bytes; the next one gets the
 * answer; and nothing is left (two_nodes_end() looks).
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "digestd/cache/cache.h"
#include "digestd/disk/disk.h"
#include "digestd/fetch/fetch.h"
#include "digestd/node/site.h"
#include "digestd/os/memory.h"
#include "tests/disk/disk_folder.h"
#include "tests/loopback.h"
#include "tests/os/fault_kinds.h"
#include "tests/proxy/two_nodes.h"
#include "tests/spared.h"
#include "tests/unit.h"

enum { MAX_CALLS = 400, QUIET = 3 };

static pthread_t clients;

/* Only the nodes are to fail, not their clients and origin. */
bool spared_thread(void)
{
	return pthread_equal(pthread_self(), clients) ||
	       pthread_equal(pthread_self(), at.thread);
}

/* What is asked for; a star at the end of a target becomes the number of the
 * round. */
/* clang-format off */
static const struct row {
	const char *method, *target, *fields, *body;
	bool at_b; /* and node a has it */
	bool is_big;
	bool calls; /* with system calls that fail, too */
} rows[] = {
	{ "GET", "/hit*", "", "", false, false, true },
	{ "GET", "/hit", "", "", false, false, false },
	{ "GET", "/hit", "Range: bytes=0-1\r\n", "", false, false, false },
	{ "GET", "/hit", "If-Modified-Since: Sun, 06 Nov 1994 08:49:37 GMT\r\n", "", false, false, false },
	{ "HEAD", "/hit*", "", "", false, false, false },
	{ "GET", "/hit*", "", "", true, false, true },
	{ "GET", "/big*", "", "", false, true, false },
	{ "GET", "/big", "", "", false, true, true },
	{ "GET", "/big*", "", "", true, true, true },
	{ "GET", "/private-big*", "", "", false, true, true },
	{ "GET", "/chunked*", "", "", false, true, false },
	{ "GET", "/nostore", "", "", false, false, false },
	{ "GET", "/etag", "", "", false, false, false },
	{ "GET", "/etag", "If-None-Match: \"v1\"\r\n", "", false, false, false },
	{ "GET", "/vary*", "Accept-Language: de\r\n", "", false, false, false },
	{ "GET", "/early*", "", "", false, false, false },
	{ "POST", "/up", "Content-Length: 4\r\n", "abcd", false, false, true },
	{ "POST", "/up", "Transfer-Encoding: chunked\r\n", "4\r\nabcd\r\n0\r\n\r\n", false, false, false },
	{ "PUT", "/hit", "Content-Length: 0\r\n", "", false, false, false },
};
/* clang-format on */

static char *ask_row(const struct row *row, const char *target)
{
	const unsigned port = row->at_b ? port_b() : port_a();
	char request[1024];
	int fd = loopback_dial(port);

	snprintf(request, sizeof(request), "%s %s HTTP/1.1\r\nHost: h\r\n"
		 "Connection: close\r\n%s\r\n%s", row->method, target,
		 row->fields, row->body);
	(void)!send(fd, request, strlen(request), MSG_NOSIGNAL);
	return hear(fd);
}

/* Whether a body is what the origin meant, or where it is cut off. */
static bool is_right(const struct row *row, const char *target,
		     const char *body)
{
	const size_t len = strlen(body);

	if (row->is_big)
		return strspn(body, "b0123456789acdef\r\n") == len;
	if (!strncmp(target, "/hit", 4) || !strncmp(target, "/early", 6))
		return !strncmp(body, target, len) || !strcmp(body, "plain");
	return len <= strlen("tagged");
}

/* An answer, an error, or nothing at all. */
static void check(const struct row *row, const char *target, const char *reply)
{
	const char *body;

	if (!strncmp(reply, "HTTP/1.1 103", 12)) {
		reply = strstr(reply, "\r\n\r\n");
		assert_non_null(reply);
		reply += 4;
	}
	if (!reply[0] || !strncmp(reply, "HTTP/1.1 5", 10))
		return;
	body = strstr(reply, "\r\n\r\n");
	if (body && (!strncmp(reply, "HTTP/1.1 2", 10) ||
		     !strncmp(reply, "HTTP/1.1 304", 12)) &&
	    is_right(row, target, body + 4))
		return;
	fail_msg("%s %s: %.300s", row->method, target, reply);
}

/* One round: what has to be there before, the fault, and the same request once
 * more. Returns whether something has failed. */
static bool round_fails(const struct row *row, unsigned i,
			const struct fault_kind *kind)
{
	char target[64], *reply;
	bool failed;

	snprintf(target, sizeof(target), "%s", row->target);
	if (strchr(target, '*'))
		snprintf(strchr(target, '*'), 16, "%u", i);
	if (row->at_b) {
		free(ask(port_a(), "GET", target, ""));
		introduce(NULL);
	}
	kind->arm(i);
	reply = ask_row(row, target);
	failed = kind->disarm();
	check(row, target, reply);
	free(reply);
	reply = ask_row(row, target);
	if (strncmp(reply, "HTTP/1.1 5", 10) == 0 || !reply[0])
		fail_msg("%s %s after fault %u: %.300s", row->method, target,
			 i, reply);
	check(row, target, reply);
	free(reply);
	return failed;
}

static void each_round(const struct row *row, const struct fault_kind *kind)
{
	unsigned quiet = 0, i;

	for (i = 1; i < MAX_CALLS && quiet < QUIET; i++)
		quiet = round_fails(row, i, kind) ? 0 : quiet + 1;
	assert_in_range(i, QUIET, MAX_CALLS - 1);
}

static void without_memory(void **state)
{
	(void)state;
	for (size_t i = 0; i < NROWS(rows); i++)
		each_round(&rows[i], &fault_of_memory);
}

/* One site, whose rules drop arguments. */
static struct sites *make_sites(void)
{
	struct sites *sites = sites_new(1);
	struct site *site = sites->at;
	const char *twice;

	sites->n = 1;
	site->names = calloc(1, sizeof(*site->names));
	site->rules = calloc(1, sizeof(*site->rules));
	site->names[0] = strdup("h");
	site->nnames = site->nrules = 1;
	site->rules[0].policy = (struct policy){ .set = 1 << POLICY_drop,
						 .drop = "utm_*" };
	assert_int_equal(sites_index(sites, &twice), 0);
	return sites;
}

/* What an unsafe method was answered to have changed is gone, however the URI
 * was spelt. */
static void a_change_without_memory(void **state)
{
	struct worker_settings changed = at.a.settings;
	static const struct row row = { .method = "PUT",
					.target = "/hit?utm_a=1",
					.fields = "Content-Length: 0\r\n",
					.body = "" };
	struct sites *sites = make_sites();
	unsigned quiet = 0, i;

	(void)state;
	changed.sites = sites;
	reconfigure(&at.a, &changed);
	for (i = 1; i < MAX_CALLS && quiet < QUIET; i++) {
		char *reply;

		free(ask(port_a(), "GET", "/hit", ""));
		expect(ask(port_a(), "GET", "/hit?utm_b=1", ""), 200, "; hit");
		fault_of_memory.arm(i);
		reply = ask_row(&row, row.target);
		quiet = fault_of_memory.disarm() ? 0 : quiet + 1;
		if (!strncmp(reply, "HTTP/1.1 2", 10))
			expect(ask(port_a(), "GET", "/hit", ""), 200, "miss");
		free(reply);
	}
	assert_in_range(i, QUIET, MAX_CALLS - 1);
	reconfigure(&at.a, &at.a.settings);
	sites_unref(sites);
}

static const struct failing_call failing_calls[] = {
	{ "accept4", ECONNABORTED }, { "accept4", EMFILE },
	{ "recv", ECONNRESET },	     { "send", EPIPE },
	{ "sendmsg", EPIPE },	     { "sendfile", EIO },
	{ "socket", EMFILE },	     { "connect", ECONNREFUSED },
	{ "setsockopt", EINVAL },    { "getsockopt", EINVAL },
	{ "epoll_ctl", ENOSPC },     { "memfd_create", EMFILE },
};

static void with_calls_that_fail(void **state)
{
	(void)state;
	for (size_t f = 0; f < NROWS(failing_calls); f++) {
		for (size_t i = 0; i < NROWS(rows); i++) {
			if (rows[i].calls)
				each_round(&rows[i],
					   fault_of_call(&failing_calls[f]));
		}
	}
}

/* Of what is stored in memory; a small body goes with its header. */
static void large_bodies_go_by_sendfile(void **state)
{
	static const struct failing_call call = { "sendfile", EIO };
	static const struct row large = { "GET", "/big", "", "", false, true,
					  true };
	static const struct row small = { "GET", "/hit", "", "", false, false,
					  true };

	(void)state;
	free(ask(port_a(), "GET", large.target, ""));
	free(ask(port_a(), "GET", small.target, ""));
	assert_true(round_fails(&large, 1, fault_of_call(&call)));
	assert_false(round_fails(&small, 1, fault_of_call(&call)));
}

/* What is on disk only: bodies that are read in one piece, and in several. */
/* clang-format off */
static const struct row disk_rows[] = {
	{ "GET", "/big", "", "", false, true, true },
	{ "GET", "/big", "Range: bytes=70000-140000\r\n", "", false, true, false },
	{ "GET", "/big", "If-None-Match: \"x\"\r\n", "", false, true, false },
	{ "HEAD", "/big", "", "", false, true, false },
	{ "GET", "/big*", "", "", false, true, false },
};

/* clang-format on */

static void wait_for_disk(void)
{
	struct disk_counters counters;
	struct store_stats store;

	for (int i = 0; i < 20000; i++) {
		assert_true(cache_disk_stats(at.a.cache, &store, &counters));
		if (store.entries && counters.writes)
			return;
		usleep(1000);
	}
	fail_msg("nothing was written");
}

static void from_disk(void **state)
{
	static const struct failing_call bad_disk = { "pread", EIO };

	(void)state;
	if (!at.disk_path)
		skip();
	free(ask(port_a(), "GET", "/big", ""));
	wait_for_disk();
	for (size_t i = 0; i < NROWS(disk_rows); i++)
		each_round(&disk_rows[i], &fault_of_memory);
	each_round(&disk_rows[0], fault_of_call(&bad_disk));
}

/* Slow readers, and those that leave in the middle, of several at once. */
static void slow_readers_from_disk(void **state)
{
	int fds[6];

	(void)state;
	if (!at.disk_path)
		skip();
	free(ask(port_a(), "GET", "/big", ""));
	wait_for_disk();
	memory_limit(memory_held() + BIG / 2);
	for (size_t i = 0; i < NROWS(fds); i++) {
		fds[i] = loopback_dial(port_a());
		say(fds[i], "GET /big HTTP/1.1\r\nHost: h\r\n"
			    "Connection: close\r\n\r\n");
	}
	usleep(20000);
	for (size_t i = 0; i < NROWS(fds); i += 2)
		close(fds[i]);
	for (size_t i = 1; i < NROWS(fds); i += 2) {
		char *reply = hear(fds[i]);

		if (strncmp(reply, "HTTP/1.1 503", 12) != 0)
			assert_int_equal(strlen(strstr(reply, "\r\n\r\n") + 4),
					 BIG);
		free(reply);
	}
	memory_limit(UINT64_MAX);
}

static int set_up_disk(void **state)
{
	clients = pthread_self();
	disk_folder_empty();
	at.disk_path = disk_folder();
	at.memory_bytes = 64 << 10;
	return two_nodes_begin(state);
}

static int tear_down_disk(void **state)
{
	at.disk_path = NULL;
	at.memory_bytes = 0;
	return two_nodes_end(state);
}

static int set_up(void **state)
{
	clients = pthread_self();
	return two_nodes_begin(state);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(without_memory, set_up,
						two_nodes_end),
		cmocka_unit_test_setup_teardown(a_change_without_memory, set_up,
						two_nodes_end),
		cmocka_unit_test_setup_teardown(with_calls_that_fail, set_up,
						two_nodes_end),
		cmocka_unit_test_setup_teardown(large_bodies_go_by_sendfile,
						set_up, two_nodes_end),
		cmocka_unit_test_setup_teardown(from_disk, set_up_disk,
						tear_down_disk),
		cmocka_unit_test_setup_teardown(slow_readers_from_disk,
						set_up_disk, tear_down_disk),
	};

	signal(SIGPIPE, SIG_IGN);
	fetch_global_init();
	return cmocka_run_group_tests(tests, disk_folder_make,
				      disk_folder_remove);
}
