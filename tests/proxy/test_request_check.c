/*
 * Peers' answers, held against what they claim and against the origin's: see
 * two_nodes.h. The peer of node b is played here.
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "digestd/fetch/fetch.h"
#include "digestd/os/log.h"
#include "tests/loopback.h"
#include "tests/proxy/two_nodes.h"
#include "tests/unit.h"

#define OK "HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\n" \
	   "Cache-Status: a; hit\r\nConnection: close\r\n"
/* of "/hit" */
#define RIGHT "Repr-Digest: sha-256=:" \
	      "Y0HF8qS8bqiSsxLw5eCBAfQOMF0Z4JNk1n3svQXUwgc=:\r\n"
#define WRONG "Repr-Digest: sha-256=:" \
	      "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=:\r\n"

enum { WAITS = 5000 };

static int listener;
static pthread_t thread;
static const char *text; /* what the peer says to whatever it is asked */

static void *run(void *arg)
{
	char head[4096];
	int fd;

	while ((fd = accept(listener, NULL, NULL)) >= 0) {
		if (recv(fd, head, sizeof(head), 0) > 0)
			(void)!send(fd, text, strlen(text), MSG_NOSIGNAL);
		shutdown(fd, SHUT_WR);
		(void)!recv(fd, head, 1, 0);
		close(fd);
	}
	return arg;
}

static int begin(void **state)
{
	log_set_level("error");
	return two_nodes_begin(state);
}

/* Node b asks the peer that says this, and compares so many of its answers. */
static void peer_begin(const char *says, double share)
{
	unsigned port;
	char url[64];

	at.b.settings.peer_check = share;
	reconfigure(&at.b, &at.b.settings);
	text = says;
	listener = loopback_listen(&port);
	assert_int_equal(pthread_create(&thread, NULL, run, NULL), 0);
	snprintf(url, sizeof(url), "http://127.0.0.1:%u", port);
	introduce(url);
}

static void peer_end(void)
{
	shutdown(listener, SHUT_RDWR);
	pthread_join(thread, NULL);
	close(listener);
}

static struct worker_counters counters(void)
{
	struct worker_counters sum = { 0 };

	worker_count(at.b.worker, &sum);
	return sum;
}

/* Until what was asked of the origin has come, if anything was. */
static void await_checks(uint64_t n)
{
	for (int i = 0; i < WAITS; i++) {
		struct worker_counters c = counters();

		if (c.checked_same + c.checked_other + c.checked_wrong == n)
			return;
		usleep(1000);
	}
	fail_msg("not %u checks", (unsigned)n);
}

static const struct {
	const char *label, *target, *says;
	double share;
	const char *has; /* of the client's answer */
	int same, other, wrong, mismatches;
} rows[] = {
	{ "it is what the origin has", "/hit",
	  OK "Content-Length: 4\r\n\r\n/hit", 1, "peer=a", 1, 0, 0, 0 },
	{ "it is not, and has no tag", "/hit",
	  OK "Content-Length: 4\r\n\r\nlies", 1, "peer=a", 0, 1, 0, 0 },
	{ "it has the origin's tag, and other bytes", "/aged",
	  OK "ETag: \"v1\"\r\nContent-Length: 4\r\n\r\nlies", 1, "peer=a", 0,
	  0, 1, 0 },
	{ "the origin fails", "/once-error",
	  OK "Content-Length: 4\r\n\r\nonce", 1, "peer=a", 0, 1, 0, 0 },
	{ "none is compared", "/hit",
	  OK "Content-Length: 4\r\n\r\nlies", 0, "peer=a", 0, 0, 0, 0 },
	{ "it is what it claims", "/hit",
	  OK RIGHT "Content-Length: 4\r\n\r\n/hit", 0, "peer=a", 0, 0, 0, 0 },
	{ "it is not what it claims", "/hit",
	  OK WRONG "Content-Length: 4\r\n\r\n/hit", 0, "/hit", 0, 0, 0, 1 },
	{ "which is then compared", "/hit",
	  OK WRONG "Content-Length: 4\r\n\r\nlies", .001, "/hit", 0, 1, 0,
	  1 },
};

static void answers(void **state)
{
	for (size_t i = 0; i < NROWS(rows); i++) {
		struct worker_counters c;

		if (i) {
			two_nodes_end(state);
			begin(state);
		}
		free(ask(port_a(), "GET", rows[i].target, ""));
		peer_begin(rows[i].says, rows[i].share);
		expect(ask(port_b(), "GET", rows[i].target, ""), 200,
		       rows[i].has);
		await_checks((uint64_t)(rows[i].same + rows[i].other +
					rows[i].wrong));
		peer_end();
		c = counters();
		if ((int)c.checked_same != rows[i].same ||
		    (int)c.checked_other != rows[i].other ||
		    (int)c.checked_wrong != rows[i].wrong ||
		    (int)c.digest_mismatches != rows[i].mismatches)
			fail_msg("%s: %d %d %d, %d", rows[i].label,
				 (int)c.checked_same, (int)c.checked_other,
				 (int)c.checked_wrong,
				 (int)c.digest_mismatches);
	}
}

/* One in two is compared; what somebody has a cookie for is not. */
static void a_share_of_them(void **state)
{
	(void)state;
	for (int i = 0; i < 4; i++) {
		char target[16];

		snprintf(target, sizeof(target), "/hit%d", i);
		free(ask(port_a(), "GET", target, ""));
	}
	peer_begin(OK "Content-Length: 4\r\n\r\nlies", .5);
	for (int i = 0; i < 4; i++) {
		char target[16];

		snprintf(target, sizeof(target), "/hit%d", i);
		expect(ask(port_b(), "GET", target, ""), 200, "peer=a");
		await_checks((uint64_t)(i + 1) / 2);
	}
	assert_int_equal(counters().checks, 2);
	free(ask(port_a(), "GET", "/hit5", ""));
	free(ask(port_a(), "GET", "/hit6", ""));
	peer_end();
	peer_begin(OK "Content-Length: 4\r\n\r\nlies", 1);
	expect(ask(port_b(), "GET", "/hit5", "Cookie: a=b\r\n"), 200, "peer=a");
	expect(ask(port_b(), "HEAD", "/hit6", ""), 200, NULL);
	usleep(20000);
	assert_int_equal(counters().checks, 2);
	peer_end();
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, two_nodes_end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(answers),
		TEST(a_share_of_them),
	};

	signal(SIGPIPE, SIG_IGN);
	fetch_global_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
