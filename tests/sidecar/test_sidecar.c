/*
 * The sidecar's thread: what the cache beside this node says is known, also
 * after its socket was closed for another process and opened again; and what
 * cannot be started leaves nothing behind.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "digestd/os/log.h"
#include "digestd/sidecar/sidecar.h"
#include "tests/codec/alloc.h"
#include "tests/os/call_faults.h"
#include "tests/unit.h"

enum { PATIENCE_MS = 20000 };

static char folder[] = "/tmp/scd-sidecar-XXXXXX";
static char path[64], cache[64];

static int make_folder(void **state)
{
	(void)state;
	log_set_level("error");
	if (!mkdtemp(folder))
		return -1;
	snprintf(path, sizeof(path), "%s/feed", folder);
	snprintf(cache, sizeof(cache), "%s/cache", folder);
	return mkdir(cache, 0700);
}

static int remove_folder(void **state)
{
	(void)state;
	return rmdir(cache) || rmdir(folder);
}

static struct sidecar_settings settings_of(const char *feed)
{
	struct sidecar_settings s = {
		.holdings = { .max_keys = 100, .nbits = 1 << 10, .nhash = 3 },
		.feed = feed,
	};

	if (feed)
		return s;
	s.nginx.path = cache;
	s.nginx.max_files = 100;
	s.nginx.rescan_ms = 1000;
	assert_null(nginx_key_read("$host$request_uri", &s.nginx.key));
	assert_null(nginx_key_read("http://$host$request_uri", &s.nginx.url));
	return s;
}

/* Says lines to the feed; returns its answer, or null: nobody listens. */
static const char *answer_to(const char *lines)
{
	static char text[128];
	const struct timeval limit = { .tv_sec = PATIENCE_MS / 1000 };
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);
	ssize_t n = -1;

	snprintf(at.sun_path, sizeof(at.sun_path), "%s", path);
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	if (!connect(fd, (struct sockaddr *)&at, sizeof(at)) &&
	    send(fd, lines, strlen(lines), MSG_NOSIGNAL) > 0)
		n = recv(fd, text, sizeof(text) - 1, 0);
	close(fd);
	text[n > 0 ? n : 0] = '\0';
	return n > 0 ? text : NULL;
}

static void feed_is_closed_and_opened(void **state)
{
	const struct sidecar_settings settings = settings_of(path);
	struct sidecar_stats stats;
	struct sidecar *s;

	(void)state;
	assert_int_equal(sidecar_new(&settings, &s), 0);
	assert_true(sidecar_takes_lines(s));
	assert_non_null(sidecar_holdings(s));
	assert_string_equal(answer_to("insert http://h/1\nack a\n"),
			    "ack a held 1 refused 0\n");
	sidecar_close_feed(s);
	sidecar_close_feed(s); /* it is */
	assert_null(answer_to("ack b\n"));
	assert_int_equal(access(path, F_OK), -1);
	assert_int_equal(sidecar_open_feed(s), 0);
	assert_int_equal(sidecar_open_feed(s), 0); /* it is */
	assert_string_equal(answer_to("insert http://h/2\nack c\n"),
			    "ack c held 2 refused 0\n");
	sidecar_stats(s, &stats);
	assert_int_equal(stats.holdings.keys, 2);
	assert_false(stats.has_nginx);
	sidecar_free(&s);
	assert_null(s);
	sidecar_free(&s); /* there is none */
	assert_int_equal(access(path, F_OK), -1);
}

/* Another process listens there by now: what is held stays, and the socket can
 * be had back once that has ended. */
static void feed_of_another_process(void **state)
{
	const struct sidecar_settings settings = settings_of(path);
	struct sidecar *first, *second;

	(void)state;
	assert_int_equal(sidecar_new(&settings, &first), 0);
	assert_non_null(answer_to("insert http://h/1\nack a\n"));
	assert_int_equal(sidecar_new(&settings, &second), -EADDRINUSE);
	sidecar_close_feed(first);
	assert_int_equal(sidecar_new(&settings, &second), 0);
	assert_int_equal(sidecar_open_feed(first), -EADDRINUSE);
	assert_string_equal(answer_to("ack b\n"), "ack b held 0 refused 0\n");
	sidecar_free(&second);
	assert_int_equal(sidecar_open_feed(first), 0);
	assert_string_equal(answer_to("ack c\n"), "ack c held 1 refused 0\n");
	sidecar_free(&first);
}

/* Without a thread nobody would answer: the socket is not there, and the next
 * attempt opens it. */
static void feed_that_cannot_be_opened_now(void **state)
{
	const struct sidecar_settings settings = settings_of(path);
	struct sidecar *s;

	(void)state;
	assert_int_equal(sidecar_new(&settings, &s), 0);
	sidecar_close_feed(s);
	call_fail_at("pthread_create", 1, EAGAIN);
	assert_int_equal(sidecar_open_feed(s), -EAGAIN);
	assert_int_equal(access(path, F_OK), -1);
	assert_int_equal(sidecar_open_feed(s), 0);
	assert_string_equal(answer_to("ack a\n"), "ack a held 0 refused 0\n");
	sidecar_free(&s);
}

static void nginx_is_followed(void **state)
{
	const struct sidecar_settings settings = settings_of(NULL);
	struct sidecar_stats stats;
	struct sidecar *s;

	(void)state;
	assert_int_equal(sidecar_new(&settings, &s), 0);
	assert_false(sidecar_takes_lines(s));
	for (int ms = 0; ms < PATIENCE_MS; ms++) {
		sidecar_stats(s, &stats);
		if (stats.nginx.follows)
			break;
		usleep(1000);
	}
	assert_true(stats.has_nginx);
	assert_true(stats.nginx.follows);
	assert_int_equal(sidecar_open_feed(s), 0); /* it has none */
	assert_null(answer_to("ack a\n"));
	sidecar_free(&s);
}

static void what_cannot_be(void **state)
{
	struct sidecar_settings settings = settings_of("/nowhere/feed");
	struct sidecar *s = NULL;

	(void)state;
	assert_int_equal(sidecar_new(&settings, &s), -ENOENT);
	settings.feed = path;
	settings.holdings.nhash = 0;
	assert_int_equal(sidecar_new(&settings, &s), -EINVAL);
	assert_null(s);
	assert_int_equal(access(path, F_OK), -1);
}

/* Starts one with the i-th call or allocation failing; false: none failed. */
static bool start_with_fault(const struct sidecar_settings *settings,
			     const char *call, unsigned i)
{
	struct sidecar *s = NULL;
	bool failed;
	int err;

	call ? call_fail_at(call, i, EMFILE) : alloc_fail_at(i);
	err = sidecar_new(settings, &s);
	failed = err != 0;
	call_fail_at("", 0, 0);
	alloc_fail_at(0);
	if (failed)
		assert_int_equal(err, call ? -EMFILE : -ENOMEM);
	else
		sidecar_free(&s);
	assert_null(s);
	return failed;
}

/* Allocations of its thread may fail in place of those that start it: nginx is
 * followed later then. */
static void what_cannot_be_started(void **state)
{
	static const char *const calls[] = { NULL, "pthread_create",
					     "epoll_create1", "eventfd" };
	const struct sidecar_settings feed = settings_of(path);
	const struct sidecar_settings nginx = settings_of(NULL);
	const unsigned before = call_descriptors();

	(void)state;
	for (size_t i = 0; i < NROWS(calls); i++) {
		unsigned n = 1;

		while (start_with_fault(&feed, calls[i], n))
			n++;
		assert_true(n > 1);
		for (n = 1; start_with_fault(&nginx, calls[i], n);)
			n++;
		assert_true(n > 1);
	}
	assert_true(start_with_fault(&feed, "socket", 1));
	assert_true(start_with_fault(&feed, "listen", 1));
	assert_int_equal(call_descriptors(), before);
	assert_int_equal(access(path, F_OK), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(feed_is_closed_and_opened),
		cmocka_unit_test(feed_of_another_process),
		cmocka_unit_test(feed_that_cannot_be_opened_now),
		cmocka_unit_test(nginx_is_followed),
		cmocka_unit_test(what_cannot_be),
		cmocka_unit_test(what_cannot_be_started),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
