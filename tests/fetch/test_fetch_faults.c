/*
 * Fetches of a node that has no memory, or whose calls of the system fail: the
 * i-th, for every i. Each ends, and what ends as complete is whole; the next
 * ones succeed. The server, in threads of its own, is spared and answers at
 * once.
 */
#include "tests/unit.h"

#include <curl/curl.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "digestd/fetch/fetch.h"
#include "digestd/os/loop.h"
#include "tests/fetch/fetched.h"
#include "tests/loopback.h"
#include "tests/os/call_faults.h"
#include "tests/os/fault_kinds.h"
#include "tests/spared.h"

enum {
	UPLOADED = 5000,
	BIG = 150000,
	HEAD_MAX = 4096,
	MAX_CALLS = 200, /* of a round, far less */
	FEW_CALLS = 14,	 /* in the middle of a large body all are the same */
	QUIET = 2,	 /* rounds without a fault, after which none comes */
	AT_ONCE = 3,
	PER_HOST = 2, /* connections: the third fetch waits for one of them */
};

static char big[BIG];

/* clang-format off */
static const struct row {
	const char *path, *answer; /* null: BIG bytes */
	size_t len;		   /* of the body that comes */
	enum fetcher_use use;
	int64_t upload; /* bytes; -1: UPLOADED of unknown length; 0: none */
} rows[] = {
	{ "/short", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", 2, FETCHER_DATA, 0 },
	{ "/chunks", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\nT: u\r\n\r\n", 5, FETCHER_DATA, 0 },
	{ "/hints", "HTTP/1.1 103 Early\r\nA: b\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", 2, FETCHER_DATA, 0 },
	{ "/closed", "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 3\r\n\r\nbye", 3, FETCHER_DATA, 0 },
	{ "/big", NULL, BIG, FETCHER_DATA, 0 },
	{ "/sized", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", 2, FETCHER_DATA, 5000 },
	{ "/chunked", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", 2, FETCHER_DATA, -1 },
	{ "/short", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", 2, FETCHER_EXCHANGE, 0 },
	{ "/closed", "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 3\r\n\r\nbye", 3, FETCHER_EXCHANGE, 0 },
	{ "/spare", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", 2, FETCHER_DATA, 0 },
};
/* clang-format on */

static struct {
	int listen_fd;
	unsigned port;
	pthread_t tested, acceptor;
	struct loop *loop;
} at;

bool spared_thread(void)
{
	return !pthread_equal(pthread_self(), at.tested);
}

/* What libcurl says when it has no memory. */
CALL_WRAPPER(CURLM *, curl_multi_init, (void), (), NULL)
CALL_WRAPPER(CURL *, curl_easy_init, (void), (), NULL)
CALL_WRAPPER(CURLMcode, curl_multi_add_handle, (CURLM *a, CURL *b), (a, b),
	     CURLM_OUT_OF_MEMORY)

/* The server. */

static void say(int fd, const char *text, size_t len)
{
	ssize_t n;

	for (; len; text += n, len -= (size_t)n) {
		n = send(fd, text, len, MSG_NOSIGNAL);
		if (n <= 0)
			return;
	}
}

/* A request with its body is in `text`. */
static bool is_whole(const char *text, size_t len)
{
	const char *end = strstr(text, "\r\n\r\n");
	const char *sized = strstr(text, "\r\nContent-Length: ");

	if (!end)
		return false;
	if (strstr(text, "\r\nTransfer-Encoding: chunked\r\n"))
		return len > 5 && !strcmp(text + len - 5, "0\r\n\r\n");
	return !sized || (size_t)(text + len - end) - 4 >=
				 strtoul(sized + 18, NULL, 10);
}

/* Reads a request. Whether one came. */
static bool hear(int fd, char *text, size_t cap)
{
	size_t len = 0;

	do {
		ssize_t n = recv(fd, text + len, cap - 1 - len, 0);

		if (n <= 0)
			return false;
		len += (size_t)n;
		text[len] = '\0';
	} while (!is_whole(text, len));
	return true;
}

static void answer(int fd, const char *path)
{
	char head[100];

	for (size_t i = 0; i < NROWS(rows); i++) {
		if (strcmp(path, rows[i].path) != 0)
			continue;
		if (rows[i].answer) {
			say(fd, rows[i].answer, strlen(rows[i].answer));
			return;
		}
		snprintf(head, sizeof(head), "HTTP/1.1 200 OK\r\n"
			 "Content-Length: %d\r\n\r\n", BIG);
		say(fd, head, strlen(head));
		say(fd, big, BIG);
		return;
	}
}

static void *serve_one(void *arg)
{
	int fd = (int)(intptr_t)arg;
	char text[HEAD_MAX + 2 * UPLOADED], path[64];
	bool stays = true;

	while (stays && hear(fd, text, sizeof(text)) &&
	       sscanf(text, "%*s %63s", path) == 1) {
		answer(fd, path);
		stays = strcmp(path, "/closed") != 0;
	}
	close(fd);
	return NULL;
}

static void *serve(void *arg)
{
	int fd;

	while ((fd = accept(at.listen_fd, NULL, NULL)) >= 0) {
		pthread_t thread;

		if (pthread_create(&thread, NULL, serve_one,
				   (void *)(intptr_t)fd))
			close(fd);
		else
			pthread_detach(thread);
	}
	return arg;
}

/* The client. */

struct asked {
	struct fetched seen; /* first: what callbacks get */
	size_t uploaded;
};

static ssize_t read_upload(void *arg, void *buf, size_t cap)
{
	struct asked *a = arg;
	size_t left = UPLOADED - a->uploaded;
	size_t n = left < cap ? left : cap;

	n = n < 1000 ? n : 1000;
	memset(buf, 'u', n);
	a->uploaded += n;
	return n ? (ssize_t)n : FETCH_EOF;
}

static const struct fetch_limits limits = {
	.connect_ms = 20000,
	.first_byte_ms = 20000,
	.total_ms = 60000,
	.max_header_bytes = 1000,
};

/* Whether it began. */
static bool asked_begin(struct asked *a, const struct row *row,
			struct fetcher *fetcher)
{
	char url[100];
	const struct fetch_upload upload = { .len = row->upload,
					     .read = read_upload };
	const struct fetch_request request = {
		.method = row->upload ? "POST" : "GET",
		.url = url,
		.limits = &limits,
		.upload = row->upload ? &upload : NULL,
		.trailers = true,
	};
	int err;

	snprintf(url, sizeof(url), "http://127.0.0.1:%u%s", at.port, row->path);
	memset(a, 0, sizeof(*a));
	a->seen.loop = at.loop;
	a->seen.body = row->answer ? NULL : big;
	a->seen.pauses = row->answer ? 0 : 3;
	err = fetch_start(fetcher, &request, &fetched_callbacks, a,
			  &a->seen.fetch);
	assert_true(err == 0 || err == -ENOMEM);
	return !err;
}

/* Whether all of it came. What is called complete has to be. */
static bool asked_end(struct asked *a, const struct row *row)
{
	if (fetched_end(&a->seen) != FETCH_COMPLETE)
		return false;
	assert_int_equal(a->seen.status, 200);
	assert_int_equal(a->seen.len, row->len);
	assert_int_equal(a->uploaded, row->upload ? UPLOADED : 0);
	return true;
}

/* Has connections made beforehand, as many as there may be. */
static void warm(struct fetcher *fetcher)
{
	char url[100];

	snprintf(url, sizeof(url), "http://127.0.0.1:%u", at.port);
	fetcher_warm(fetcher, url, NULL, 20000, PER_HOST);
	loop_turn(at.loop, 0);
}

/* Some at once, and one behind them. Whether all came. */
static bool ask_row(const struct row *row)
{
	struct asked asked[AT_ONCE];
	struct fetcher *fetcher;
	bool began[AT_ONCE], whole = true;
	int err = fetcher_new(at.loop, row->use, PER_HOST, &fetcher);

	if (err) {
		assert_int_equal(err, -ENOMEM);
		return false;
	}
	if (!strcmp(row->path, "/spare"))
		warm(fetcher);
	for (unsigned i = 0; i < AT_ONCE; i++)
		began[i] = asked_begin(&asked[i], row, fetcher);
	for (unsigned i = 0; i < AT_ONCE; i++)
		whole &= began[i] && asked_end(&asked[i], row);
	whole &= asked_begin(&asked[0], row, fetcher) &&
		 asked_end(&asked[0], row);
	fetcher_free(&fetcher);
	assert_null(fetcher);
	return whole;
}

static bool round_fails(const struct row *row, unsigned i,
			const struct fault_kind *kind)
{
	bool failed;

	kind->arm(i);
	ask_row(row);
	failed = kind->disarm();
	if (!ask_row(row))
		fail_msg("%s after fault %u", row->path, i);
	return failed;
}

static void each_round(const struct fault_kind *kind)
{
	for (size_t r = 0; r < NROWS(rows); r++) {
		unsigned max = rows[r].answer ? MAX_CALLS : FEW_CALLS;
		unsigned quiet = 0, i;

		for (i = 1; i < max && quiet < QUIET; i++)
			quiet = round_fails(&rows[r], i, kind) ? 0 : quiet + 1;
		assert_in_range(i, QUIET, MAX_CALLS - 1);
	}
}

static void without_memory(void **state)
{
	(void)state;
	each_round(&fault_of_memory);
}

static void with_calls_that_fail(void **state)
{
	const struct failing_call *call = *state;

	each_round(fault_of_call(call));
}

/* A call that a signal has interrupted is made again. */
static void interrupted_calls(void **state)
{
	static const struct failing_call interrupted = { "recv", EINTR };
	const struct fault_kind *kind = fault_of_call(&interrupted);

	(void)state;
	for (size_t r = 0; r < NROWS(rows); r++) {
		kind->arm(1);
		if (!ask_row(&rows[r]))
			fail_msg("%s", rows[r].path);
		kind->disarm();
	}
}

/* Where only public addresses may be asked, those are. */
static void public_addresses_are_tried(void **state)
{
	const struct fetch_request request = {
		.method = "GET", .url = "http://192.88.98.1/",
		.limits = &limits,
	};
	struct fetched seen = { 0 };
	struct fetcher *fetcher;

	(void)state;
	assert_int_equal(fetcher_new(at.loop, FETCHER_DATA, 0, &fetcher), 0);
	fetcher_public_only(fetcher);
	call_fail_at("connect", 1, ENETUNREACH); /* so that nothing goes out */
	fetched_begin(&seen, at.loop, fetcher, &request);
	assert_int_equal(fetched_end(&seen), FETCH_NOCONNECT);
	assert_true(call_failed());
	call_fail_at("", 0, 0);
	fetcher_free(&fetcher);
}

static int set_up(void **state)
{
	(void)state;
	signal(SIGPIPE, SIG_IGN);
	at.tested = pthread_self();
	for (size_t i = 0; i < BIG; i++)
		big[i] = (char)('a' + i % 23);
	at.listen_fd = loopback_listen(&at.port);
	assert_int_equal(pthread_create(&at.acceptor, NULL, serve, NULL), 0);
	return loop_new(&at.loop);
}

static int tear_down(void **state)
{
	(void)state;
	loop_free(&at.loop);
	shutdown(at.listen_fd, SHUT_RDWR);
	pthread_join(at.acceptor, NULL);
	close(at.listen_fd);
	return 0;
}

static struct failing_call failing_calls[] = {
	{ "socket", EMFILE },
	{ "setsockopt", ENOPROTOOPT },
	{ "getsockopt", ENOBUFS },
	{ "connect", ENETUNREACH },
	{ "epoll_ctl", ENOSPC },
	{ "recv", ECONNRESET },
	{ "send", EPIPE },
	{ "curl_multi_init", 0 },
	{ "curl_easy_init", 0 },
	{ "curl_multi_add_handle", 0 },
};

int main(void)
{
	enum { OTHERS = 3 };
	struct CMUnitTest tests[OTHERS + NROWS(failing_calls)] = {
		cmocka_unit_test(without_memory),
		cmocka_unit_test(interrupted_calls),
		cmocka_unit_test(public_addresses_are_tried),
	};

	for (size_t i = 0; i < NROWS(failing_calls); i++)
		tests[OTHERS + i] = (struct CMUnitTest){
			.name = failing_calls[i].function,
			.test_func = with_calls_that_fail,
			.initial_state = &failing_calls[i],
		};
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
