/*
 * Sites with several origins: a request that one of them fails is sent to
 * another if it may be repeated, and only then. One is the origin of
 * two_nodes.h, one is played here, badly.
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "digestd/fetch/fetch.h"
#include "digestd/os/log.h"
#include "digestd/proxy/origin_group.h"
#include "tests/loopback.h"
#include "tests/proxy/two_nodes.h"
#include "tests/unit.h"

enum { REQUESTS = 12, REQUESTS_MAX = 100, SILENT_MAX = 64 };

/* What the bad one does with a request. */
enum manner { SAYS_503, SAYS_500, HANGS_UP, BREAKS_OFF, IS_SILENT };

static const struct origin_policy policy = {
	.failures = 1000, /* it is asked again and again */
	.out_min_ms = 60000,
	.out_max_ms = 60000,
};

static struct origins *origins;
static pthread_t bad_thread;
static int bad_listener;
static unsigned bad_port;
static atomic_int bad_asked;
static int silent[SILENT_MAX], nsilent; /* open until the end */
static _Atomic enum manner bad_manner;

static void bad_answer(int fd, enum manner manner)
{
	static const char *const texts[] = {
		[SAYS_503] = "HTTP/1.1 503 No\r\nContent-Length: 3\r\n"
			     "Connection: close\r\n\r\nbad",
		[SAYS_500] = "HTTP/1.1 500 No\r\nContent-Length: 3\r\n"
			     "Connection: close\r\n\r\nbad",
		[HANGS_UP] = "",
		[BREAKS_OFF] = "HTTP/1.1 200 OK\r\nContent-",
		[IS_SILENT] = "",
	};
	char head[4096];
	size_t len = 0;
	ssize_t n;

	while ((n = recv(fd, head + len, sizeof(head) - 1 - len, 0)) > 0) {
		len += (size_t)n;
		head[len] = '\0';
		if (strstr(head, "\r\n\r\n"))
			break;
	}
	if (len) {
		atomic_fetch_add(&bad_asked, 1);
		(void)!send(fd, texts[manner], strlen(texts[manner]),
			    MSG_NOSIGNAL);
	}
	if (manner == IS_SILENT && nsilent < SILENT_MAX)
		silent[nsilent++] = fd;
	else
		close(fd);
}

static void *bad_run(void *arg)
{
	int fd;

	while ((fd = accept(bad_listener, NULL, NULL)) >= 0)
		bad_answer(fd, atomic_load(&bad_manner));
	return arg;
}

static int begin(void **state)
{
	struct worker_settings *changed = &at.a.settings;
	static char urls[160];

	log_set_level("error");
	two_nodes_begin(state);
	bad_listener = loopback_listen(&bad_port);
	atomic_store(&bad_asked, 0);
	assert_int_equal(pthread_create(&bad_thread, NULL, bad_run, NULL), 0);
	assert_int_equal(origins_new(&origins), 0);
	origins_configure(origins, &policy);
	snprintf(urls, sizeof(urls), "http://127.0.0.1:%u, %s", bad_port,
		 at.url);
	changed->default_origin = urls;
	changed->default_origins = origins_find(origins, urls);
	reconfigure(&at.a, changed);
	return 0;
}

static void bad_end(void)
{
	shutdown(bad_listener, SHUT_RDWR); /* accept() returns */
	pthread_join(bad_thread, NULL);
	close(bad_listener);
	bad_listener = -1;
	while (nsilent)
		close(silent[--nsilent]);
}

static int end(void **state)
{
	two_nodes_end(state);
	origins_free(&origins);
	if (bad_listener >= 0)
		bad_end();
	return 0;
}

static struct worker_counters counters(void)
{
	struct worker_counters sum = { 0 };

	worker_count(at.a.worker, &sum);
	return sum;
}

/* Asks for other objects, all of which the good one has: for some more if
 * chance has never chosen the bad one. */
static void expect_all_good(void)
{
	for (int i = 0; i < REQUESTS ||
	     (!counters().origin_retries && i < REQUESTS_MAX); i++) {
		char target[32];

		snprintf(target, sizeof(target), "/hit?%d", i);
		expect(ask(port_a(), "GET", target, ""), 200, target);
	}
	assert_int_equal(counters().errors, 0);
}

/* Whatever it does, clients see nothing of it, and it was asked. */
static void another_one_is_asked(void **state)
{
	static const enum manner manners[] = { SAYS_503, SAYS_500, HANGS_UP,
					       BREAKS_OFF };

	for (size_t i = 0; i < NROWS(manners); i++) {
		if (i) {
			end(state);
			begin(state);
		}
		atomic_store(&bad_manner, manners[i]);
		expect_all_good();
		assert_int_equal(counters().origin_retries,
				 atomic_load(&bad_asked));
		if (!atomic_load(&bad_asked))
			fail_msg("manner %zu: it was not asked", i);
	}
}

static void one_that_refuses_connections(void **state)
{
	(void)state;
	bad_end();
	expect_all_good();
	assert_true(counters().origin_retries > 0);
}

/* Who waits for one that says nothing waits for a moment; a POST for as long as
 * it takes. */
static void one_that_is_late(void **state)
{
	int fds[REQUESTS];
	char request[100];

	(void)state;
	atomic_store(&bad_manner, IS_SILENT);
	for (int i = 0; i < REQUESTS; i++) {
		fds[i] = loopback_dial(port_a());
		snprintf(request, sizeof(request), "GET /hit?%d HTTP/1.1\r\n"
			 "Host: h\r\nConnection: close\r\n\r\n", i);
		say(fds[i], request);
	}
	for (int i = 0; i < REQUESTS; i++)
		expect(hear(fds[i]), 200, "/hit?");
	assert_true(atomic_load(&bad_asked) > 0);
	assert_int_equal(counters().origin_retries, atomic_load(&bad_asked));
	assert_int_equal(counters().errors, 0);
}

/* A POST is sent once: its answer is whatever came, or 502. */
static void what_may_not_be_repeated(void **state)
{
	unsigned bad = 0;

	(void)state;
	atomic_store(&bad_manner, SAYS_503);
	for (int i = 0; i < REQUESTS; i++) {
		char *reply = ask(port_a(), "POST", "/post",
				  "Content-Length: 0\r\n");

		bad += !strncmp(reply, "HTTP/1.1 503", 12);
		free(reply);
	}
	assert_int_equal(bad, atomic_load(&bad_asked));
	assert_int_equal(bad + (unsigned)atomic_load(&at.seen), REQUESTS);
	atomic_store(&bad_manner, HANGS_UP);
	for (int i = 0; i < REQUESTS; i++) {
		char *reply = ask(port_a(), "POST", "/post",
				  "Content-Length: 0\r\n");

		bad += !strncmp(reply, "HTTP/1.1 502", 12);
		free(reply);
	}
	assert_int_equal(bad, atomic_load(&bad_asked));
	assert_int_equal(bad + (unsigned)atomic_load(&at.seen), 2 * REQUESTS);
	assert_int_equal(counters().origin_retries, 0);
}

/* Unless it never got there. */
static void what_was_never_sent(void **state)
{
	(void)state;
	bad_end();
	for (int i = 0; i < REQUESTS; i++)
		expect(ask(port_a(), "POST", "/post", "Content-Length: 0\r\n"),
		       200, "plain");
}

/* It is the page that is broken: its error is what clients get. */
static void all_of_them_fail(void **state)
{
	(void)state;
	atomic_store(&bad_manner, SAYS_500);
	for (int i = 0; i < REQUESTS; i++)
		expect(ask(port_a(), "GET", "/error", ""), 500, NULL);
	assert_true(counters().origin_retries > 0);
	assert_true(counters().origin_retries_held_back > 0);
	bad_end();
	for (int i = 0; i < REQUESTS; i++)
		expect(ask(port_a(), "GET", "/abort", ""), 502, NULL);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(another_one_is_asked),
		TEST(one_that_refuses_connections),
		TEST(one_that_is_late),
		TEST(what_may_not_be_repeated),
		TEST(what_was_never_sent),
		TEST(all_of_them_fail),
	};

	signal(SIGPIPE, SIG_IGN);
	fetch_global_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
