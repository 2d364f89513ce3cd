/*
 * The fetcher against a server that misbehaves: a thread that answers each
 * connection with the bytes that the path's row says.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "digestd/http/fields.h"
#include "digestd/fetch/fetch.h"
#include "digestd/os/address.h"
#include "digestd/os/loop.h"
#include "tests/fetch/fetched.h"
#include "tests/loopback.h"
#include "tests/os/moved_clock.h"

#define OK "HTTP/1.1 200 OK\r\n"

#define H50 "0123456789abcdef0123456789abcdef0123456789abcdef01"
#define H500 H50 H50 H50 H50 H50 H50 H50 H50 H50 H50

/* What the server does after its answer. */
enum end { CLOSES, HANGS, RESETS };

/* What the server says, and what the fetch must come to. */
/* clang-format off */
static const struct row {
	const char *name, *answer;
	enum end end;
	enum fetch_result result;
	unsigned status;
	const char *body;
	bool by_close;
} rows[] = {
	{ "length", OK "Content-Length: 5\r\n\r\nhello", HANGS, FETCH_COMPLETE, 200, "hello", false },
	{ "chunked", OK "Transfer-Encoding: chunked\r\n\r\n3\r\nhel\r\n2\r\nlo\r\n0\r\n\r\n", HANGS, FETCH_COMPLETE, 200, "hello", false },
	{ "by close", OK "\r\nhello", CLOSES, FETCH_COMPLETE, 200, "hello", true },
	{ "empty", OK "Content-Length: 0\r\n\r\n", HANGS, FETCH_COMPLETE, 200, "", false },
	{ "204", "HTTP/1.1 204 No\r\n\r\n", HANGS, FETCH_COMPLETE, 204, "", false },
	{ "304", "HTTP/1.1 304 Not\r\nContent-Length: 9\r\n\r\n", HANGS, FETCH_COMPLETE, 304, "", false },
	{ "interim", "HTTP/1.1 100 Go\r\nC: d\r\n\r\nHTTP/1.1 103 Early\r\nA: b\r\n\r\n" OK "Content-Length: 2\r\n\r\nok", HANGS, FETCH_COMPLETE, 200, "ok", false },
	{ "same lengths", OK "Content-Length: 5\r\nContent-Length: 5\r\n\r\nhello", HANGS, FETCH_COMPLETE, 200, "hello", false },
	{ "two lengths", OK "Content-Length: 5\r\nContent-Length: 4\r\n\r\nhello", HANGS, FETCH_BAD, 0, "", false },
	{ "list of lengths", OK "Content-Length: 5, 5\r\n\r\nhello", HANGS, FETCH_BAD, 0, "", false },
	{ "bad length", OK "Content-Length: 5x\r\n\r\nhello", HANGS, FETCH_BAD, 0, "", false },
	{ "bad coding", OK "Transfer-Encoding: gzip\r\n\r\nhello", HANGS, FETCH_BAD, 0, "", false },
	{ "length and coding", OK "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n", HANGS, FETCH_BAD, 0, "", false },
	{ "folded", OK "A: b\r\n c\r\nContent-Length: 5\r\n\r\nhello", HANGS, FETCH_BAD, 0, "", false },
	{ "bare CR", OK "A: b\rc\r\nContent-Length: 5\r\n\r\nhello", HANGS, FETCH_BAD, 0, "", false },
	{ "short length", OK "Content-Length: 9\r\n\r\nhello", CLOSES, FETCH_TRUNCATED, 200, "hello", false },
	{ "short chunk", OK "Transfer-Encoding: chunked\r\n\r\n9\r\nhello", CLOSES, FETCH_TRUNCATED, 200, "hello", false },
	{ "no last chunk", OK "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n", CLOSES, FETCH_TRUNCATED, 200, "hello", false },
	{ "no colon", OK "Content-Length 5\r\n\r\nhello", HANGS, FETCH_BAD, 0, "", false },
	{ "not http", "SSH-2.0-x\r\n", HANGS, FETCH_BAD, 0, "", false },
	{ "highest status", "HTTP/1.1 599 X\r\nContent-Length: 2\r\n\r\nok", HANGS, FETCH_COMPLETE, 599, "ok", false },
	{ "status too high", "HTTP/1.1 600 X\r\nContent-Length: 2\r\n\r\nok", HANGS, FETCH_BAD, 0, "", false },
	{ "cut header", OK "Content-Le", CLOSES, FETCH_BAD, 0, "", false },
	{ "no answer", "", CLOSES, FETCH_BAD, 0, "", false },
	{ "a head", OK "Content-Length: 9\r\n\r\n", CLOSES, FETCH_TRUNCATED, 200, "", false },
	{ "trailers", OK "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\nT: u\r\n\r\n", HANGS, FETCH_COMPLETE, 200, "hello", false },
	{ "another protocol", "HTTP/1.1 101 Go\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n", HANGS, FETCH_BAD, 0, "", false },
	{ "status too low", "HTTP/1.1 099 X\r\nContent-Length: 2\r\n\r\nok", HANGS, FETCH_BAD, 0, "", false },
	{ "a bare CR in the reason", "HTTP/1.1 200 O\rK\r\nContent-Length: 2\r\n\r\nok", HANGS, FETCH_BAD, 0, "", false },
	{ "bare LF", "HTTP/1.1 200 OK\nContent-Length: 2\n\nok", HANGS, FETCH_COMPLETE, 200, "ok", false },
	{ "no status", "HTTP/1.1 \r\nContent-Length: 2\r\n\r\nok", HANGS, FETCH_BAD, 0, "", false },
	{ "a header that is too large", OK "A: " H500 H500 "\r\nContent-Length: 2\r\n\r\nok", HANGS, FETCH_BAD, 0, "", false },
	{ "reset without an answer", "", RESETS, FETCH_BAD, 0, "", false },
	{ "reset in header", OK "A: b\r\n", RESETS, FETCH_BAD, 0, "", false },
	{ "reset in body", OK "Content-Length: 9\r\n\r\nhello", RESETS, FETCH_TRUNCATED, 200, "hello", false },
	{ "hang", "", HANGS, FETCH_TIMEOUT, 0, "", false },
	{ "hang in header", OK "A: b\r\n", HANGS, FETCH_TIMEOUT, 0, "", false },
	{ "hang in body", OK "Content-Length: 9\r\n\r\nhello", HANGS, FETCH_TIMEOUT, 200, "hello", false },
};
/* clang-format on */

enum { NROWS = sizeof(rows) / sizeof(rows[0]) };

static struct {
	int listen_fd;
	unsigned port;
	pthread_t thread;
	struct loop *loop;
	struct fetcher *fetchers[2]; /* by enum fetcher_use */
	atomic_bool hangs;	     /* it has said all that it says */
} at;

/* How the server is asked. */
static const struct way {
	const char *name;
	enum fetcher_use use;
	const char *method;
	bool uploads;
} ways[] = {
	{ "get", FETCHER_DATA, "GET", false },
	{ "post", FETCHER_DATA, "POST", false },
	{ "upload", FETCHER_DATA, "PUT", true },
	{ "libcurl", FETCHER_EXCHANGE, "GET", false },
};

enum { NWAYS = sizeof(ways) / sizeof(ways[0]) };

/* A fetch, and how often its body was read. */
struct seen {
	struct fetched got;
	int uploads;
};

static ssize_t read_body(void *arg, void *buf, size_t cap)
{
	struct seen *seen = arg;

	if (seen->uploads++)
		return FETCH_EOF;
	assert_true(cap >= 4);
	memcpy(buf, "body", 4);
	return 4;
}

static const struct fetch_upload upload = { .len = 4, .read = read_body };

static void answer(int fd)
{
	static const struct linger now = { .l_onoff = 1 };
	char request[4096];
	ssize_t n = recv(fd, request, sizeof(request) - 1, 0);
	const struct row *row;
	unsigned i;

	if (n <= 0)
		return;
	request[n] = '\0';
	if (sscanf(request, "%*s /%u", &i) != 1 || i >= NROWS)
		return;
	row = &rows[i];
	send(fd, row->answer, strlen(row->answer), MSG_NOSIGNAL);
	if (row->end == HANGS) { /* until the client has had enough */
		atomic_store(&at.hangs, true);
		recv(fd, request, sizeof(request), 0);
	}
	if (row->end == RESETS)
		setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
}

static void *serve(void *arg)
{
	int fd;

	while ((fd = accept(at.listen_fd, NULL, NULL)) >= 0) {
		answer(fd);
		close(fd);
	}
	return arg;
}

static int set_up(void **state)
{
	(void)state;
	signal(SIGPIPE, SIG_IGN);
	at.listen_fd = loopback_listen(&at.port);
	assert_int_equal(pthread_create(&at.thread, NULL, serve, NULL), 0);
	assert_int_equal(loop_new(&at.loop), 0);
	for (int i = 0; i < 2; i++)
		assert_int_equal(fetcher_new(at.loop, (enum fetcher_use)i, 0,
					     &at.fetchers[i]), 0);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	moved_clock_back();
	for (int i = 0; i < 2; i++)
		fetcher_free(&at.fetchers[i]);
	loop_free(&at.loop);
	shutdown(at.listen_fd, SHUT_RDWR);
	pthread_join(at.thread, NULL);
	close(at.listen_fd);
	return 0;
}

/* Where a fetch has to end by them, the clock is moved there, */
static const struct fetch_limits limits = {
	.connect_ms = 20000,
	.first_byte_ms = 20000,
	.total_ms = 40000,
	.max_header_bytes = 1000,
};

/* unless it is libcurl's. */
static const struct fetch_limits brief = {
	.connect_ms = 20000,
	.first_byte_ms = 200,
	.total_ms = 600,
	.max_header_bytes = 1000,
};

static void run(enum fetcher_use use, const struct fetch_request *request,
		struct seen *seen)
{
	fetched_begin(&seen->got, at.loop, at.fetchers[use], request);
	fetched_end(&seen->got);
	loop_turn(at.loop, 0);
}

/* The same with a server that hangs: time passes when it does, and when what it
 * has said is here. */
static void run_late(enum fetcher_use use, struct fetch_request *request,
		     const struct row *row, struct seen *seen)
{
	if (use == FETCHER_EXCHANGE)
		request->limits = &brief;
	fetched_begin(&seen->got, at.loop, at.fetchers[use], request);
	while (!seen->got.over &&
	       (!atomic_load(&at.hangs) || seen->got.len < strlen(row->body)))
		assert_int_equal(loop_turn(at.loop, 10), 0);
	assert_true(use == FETCHER_EXCHANGE || !seen->got.over);
	while (use == FETCHER_DATA && !seen->got.over) {
		moved_clock_on(1000);
		assert_int_equal(loop_turn(at.loop, 0), 0);
	}
	fetched_end(&seen->got);
}

/* The server serves one connection at a time: that of the other way goes. */
static void close_all(void)
{
	for (int i = 0; i < 2; i++) {
		fetcher_free(&at.fetchers[i]);
		assert_int_equal(fetcher_new(at.loop, (enum fetcher_use)i, 0,
					     &at.fetchers[i]), 0);
	}
}

static void ask(const struct way *way, unsigned row, struct seen *seen)
{
	char url[64], target[16];
	struct fetch_request request = { .method = way->method, .url = url,
					 .target = target, .limits = &limits };

	close_all();
	atomic_store(&at.hangs, false);
	request.upload = way->uploads ? &upload : NULL;
	snprintf(url, sizeof(url), "http://127.0.0.1:%u", at.port);
	snprintf(target, sizeof(target), "/%u", row);
	if (rows[row].result != FETCH_TIMEOUT)
		run(way->use, &request, seen);
	else
		run_late(way->use, &request, &rows[row], seen);
}

static void check(const struct way *way, const struct row *row,
		  const struct fetched *seen)
{
	if (seen->done.result != row->result)
		print_message("# %s: %s\n", way->name, row->name);
	assert_int_equal(seen->done.result, row->result);
	assert_int_equal(seen->status, row->status);
	assert_string_equal(seen->text, row->body);
	if (row->result == FETCH_COMPLETE)
		assert_int_equal(seen->done.ended_by_close, row->by_close);
}

static void answers(void **state)
{
	(void)state;
	for (unsigned i = 0; i < NWAYS * NROWS; i++) {
		const struct way *way = &ways[i / NROWS];
		struct seen seen = { 0 };

		ask(way, i % NROWS, &seen);
		check(way, &rows[i % NROWS], &seen.got);
	}
}

static unsigned row_of(const char *name)
{
	unsigned row = 0;

	while (strcmp(rows[row].name, name) != 0)
		row++;
	return row;
}

static void only_done(void *arg, struct fetch *fetch,
		      const struct fetch_done *done)
{
	struct seen *seen = arg;

	(void)fetch;
	seen->got.done = *done;
	seen->got.over = true;
}

/* Who wants to know only how it ends need not say more. */
static void callbacks_may_be_left_out(void **state)
{
	static const char *const names[] = { "length", "chunked", "interim",
					     "trailers", "204" };
	static const struct fetch_callbacks callbacks = {
		.on_done = only_done,
	};

	(void)state;
	for (unsigned i = 0; i < NWAYS * 5; i++) {
		const struct way *way = &ways[i / 5];
		char url[64];
		struct fetch_request request = {
			.method = way->method, .url = url, .limits = &limits,
			.upload = way->uploads ? &upload : NULL,
		};
		struct seen seen = { .got = { .loop = at.loop } };

		close_all();
		snprintf(url, sizeof(url), "http://127.0.0.1:%u/%u", at.port,
			 row_of(names[i % 5]));
		assert_int_equal(fetch_start(at.fetchers[way->use], &request,
					     &callbacks, &seen,
					     &seen.got.fetch), 0);
		assert_int_equal(fetched_end(&seen.got), FETCH_COMPLETE);
	}
}

/* The length is that of the answer to a GET. */
static void heads_have_no_body(void **state)
{
	(void)state;
	for (int i = 0; i < 2; i++) {
		const struct way way = { "head", (enum fetcher_use)i, "HEAD",
					 false };
		struct seen seen = { 0 };

		ask(&way, row_of("a head"), &seen);
		assert_int_equal(seen.got.done.result, FETCH_COMPLETE);
		assert_int_equal(seen.got.status, 200);
		assert_int_equal(seen.got.len, 0);
	}
}

/* To go on where nothing has stopped changes nothing. */
static void resumed_without_a_pause(void **state)
{
	(void)state;
	for (int i = 0; i < NWAYS; i++) {
		char url[64];
		struct fetch_request request = {
			.method = ways[i].method, .url = url,
			.limits = &limits,
			.upload = ways[i].uploads ? &upload : NULL,
		};
		struct seen seen = { 0 };

		close_all();
		snprintf(url, sizeof(url), "http://127.0.0.1:%u/0", at.port);
		fetched_begin(&seen.got, at.loop, at.fetchers[ways[i].use],
			      &request);
		fetch_resume(seen.got.fetch);
		if (ways[i].uploads)
			fetch_resume_upload(seen.got.fetch);
		assert_int_equal(fetched_end(&seen.got), FETCH_COMPLETE);
		assert_string_equal(seen.got.text, "hello");
	}
}

/* What broke off before an answer had begun has its cause. */
static void causes_of_breaks(void **state)
{
	(void)state;
	for (int i = 0; i < NWAYS; i++) {
		struct seen none = { 0 }, some = { 0 };

		ask(&ways[i], row_of("reset without an answer"), &none);
		assert_int_equal(none.got.done.cause, TROUBLE_reset);
		ask(&ways[i], row_of("reset in body"), &some);
		assert_int_equal(some.got.done.cause, TROUBLE_none);
	}
}

static void a_paused_body_comes_again(void **state)
{
	static const struct {
		const char *name;
		unsigned calls;
	} bodies[] = { { "length", 2 }, { "chunked", 3 } };

	(void)state;
	for (int i = 0; i < 2 * NWAYS; i++) {
		struct seen seen = { .got = { .pauses = 3 } };

		ask(&ways[i / 2], row_of(bodies[i % 2].name), &seen);
		/* libcurl may hand two chunks on as one */
		assert_in_range(seen.got.calls, 2, bodies[i % 2].calls);
		assert_string_equal(seen.got.text, "hello");
		assert_int_equal(seen.got.done.result, FETCH_COMPLETE);
	}
}

static void wait_ms(enum fetcher_use use, unsigned ms)
{
	int64_t end_ms = loop_now_ms(at.loop) + ms;

	if (use == FETCHER_DATA)
		moved_clock_on(ms);
	do
		assert_int_equal(loop_turn(at.loop, 10), 0);
	while (loop_now_ms(at.loop) < end_ms);
}

/* A body that does not end. */
static void a_response_may_go_on(void **state)
{
	unsigned row = 0;

	(void)state;
	while (strcmp(rows[row].name, "hang in body") != 0)
		row++;
	for (int i = 0; i < NWAYS; i++) {
		struct fetched f = { .lifts_total = true };
		char url[64];
		struct fetch_request request = { .method = "GET",
						 .url = url,
						 .limits = &limits };

		close_all();
		if (ways[i].use == FETCHER_EXCHANGE)
			request.limits = &brief;
		snprintf(url, sizeof(url), "http://127.0.0.1:%u/%u", at.port,
			 row);
		fetched_begin(&f, at.loop, at.fetchers[ways[i].use], &request);
		while (f.len < 5)
			assert_int_equal(loop_turn(at.loop, 10), 0);
		wait_ms(ways[i].use, request.limits->total_ms + 100);
		assert_string_equal(f.text, "hello");
		assert_false(f.over);
		fetch_cancel(&f.fetch);
		loop_turn(at.loop, 0);
	}
}

static void interim_responses_are_reported(void **state)
{
	unsigned row = row_of("interim");

	(void)state;
	for (int i = 0; i < NWAYS; i++) {
		struct seen seen = { 0 };
		struct seen early = { .got = { .cancels_at_interim = true } };

		if (ways[i].use == FETCHER_EXCHANGE)
			continue;
		ask(&ways[i], row, &seen);
		assert_int_equal(seen.got.interim, 103);
		assert_int_equal(seen.got.done.result, FETCH_COMPLETE);
		ask(&ways[i], row, &early);
		assert_int_equal(early.got.status, 0);
	}
}

static void cancelled_inside_a_callback(void **state)
{
	(void)state;
	for (int i = 0; i < NWAYS; i++) {
		struct seen seen = { .got = { .cancels_at_head = true } };

		ask(&ways[i], 0, &seen);
		assert_int_equal(seen.got.status, 200);
	}
}

/* What is under way when a fetcher is freed is cancelled, however far it is. */
static void freed_with_fetches_under_way(void **state)
{
	(void)state;
	for (int i = 0; i < 3 * NWAYS; i++) {
		const struct way *way = &ways[i / 3];
		char url[64];
		struct fetch_request request = {
			.method = way->method, .url = url, .limits = &limits,
			.upload = way->uploads ? &upload : NULL,
		};
		struct seen seen = { .got = { .pauses = i % 3 == 2 } };

		close_all();
		snprintf(url, sizeof(url), "http://127.0.0.1:%u/%u", at.port,
			 row_of("hang in body"));
		fetched_begin(&seen.got, at.loop, at.fetchers[way->use],
			      &request);
		while (i % 3 && !seen.got.calls)
			assert_int_equal(loop_turn(at.loop, 1000), 0);
		loop_timer_clear(at.loop, &seen.got.timer);
		fetcher_free(&at.fetchers[way->use]);
		loop_turn(at.loop, 0);
		assert_false(seen.got.over);
	}
}

static void cancelled_before_it_begins(void **state)
{
	struct fetch_request request = { .method = "GET",
					 .url = "http://127.0.0.1:1/",
					 .limits = &limits };
	struct seen seen = { 0 };
	struct fetch *f;

	(void)state;
	for (int i = 0; i < 2; i++) {
		assert_int_equal(fetch_start(at.fetchers[i], &request,
					     &fetched_callbacks, &seen, &f), 0);
		fetch_cancel(&f);
		assert_null(f);
		for (int turn = 0; turn < 5; turn++)
			loop_turn(at.loop, 10);
		assert_false(seen.got.over);
	}
}

static enum fetch_result get(enum fetcher_use use, const char *url)
{
	struct fetch_request request = { .method = "GET", .url = url,
					 .limits = &limits };
	struct seen seen = { 0 };

	run(use, &request, &seen);
	return seen.got.done.result;
}

static void nobody_there(void **state)
{
	(void)state;
	for (int i = 0; i < 2; i++) {
		assert_int_equal(get((enum fetcher_use)i,
				     "http://127.0.0.1:1/"),
				 FETCH_NOCONNECT);
		assert_int_equal(get((enum fetcher_use)i,
				     "https://127.0.0.1:1/"),
				 FETCH_NOCONNECT);
	}
}

static void private_targets_are_refused(void **state)
{
	static const char *const urls[] = {
		"http://127.0.0.1/",	   "http://localhost/",
		"http://[::1]/",	   "http://2130706433/",
		"http://[::ffff:7f00:1]/", "http://0x7f.1/",
		"https://127.0.0.1/",	   "https://localhost/",
	};

	(void)state;
	for (int i = 0; i < 2; i++) {
		fetcher_public_only(at.fetchers[i]);
		for (size_t j = 0; j < sizeof(urls) / sizeof(urls[0]); j++)
			assert_int_equal(get((enum fetcher_use)i, urls[j]),
					 FETCH_REFUSED);
	}
}

/* Only libcurl knows names of users. */
static void no_urls(void **state)
{
	static const char *const urls[] = {
		"", "http://", "http:///", "ftp://a/", "a", "http://u@a/",
		"http://a:0/", "http://a:65536/", "http://a:x/", "http://[::1",
		"http://a?b", "http://a/\1", "http://a b/", "http://a\\b/",
		"http://a\x7f/", "http://a:0000000000000080/", "http://[/",
		"http://" H500 "/",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(urls) / sizeof(urls[0]); i++) {
		struct fetch_request request = { .method = "GET",
						 .url = urls[i],
						 .limits = &limits };
		struct fetch *f;

		assert_int_equal(fetch_start(at.fetchers[FETCHER_DATA],
					     &request, &fetched_callbacks,
					     NULL, &f), -EINVAL);
	}
}

static void bytes_that_must_not_be_sent(void **state)
{
	static const struct {
		const char *method, *target, *name, *value;
	} bad[] = {
		{ "GE T", "/", "A", "b" },  { "GET", "/ b", "A", "b" },
		{ "GET", "/\r\nA: b", "A", "b" }, { "GET", "/", "A\r", "b" },
		{ "GET", "/", "A", "b\nC: d" },	  { "", "/", "A", "b" },
		{ "GET", "/", "A b", "c" },	  { "GET", "/", "", "c" },
		{ "G\"T", "/", "A", "b" },	  { "GET", "/", "A:", "c" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct fields fields;
		struct fetch_request request = {
			.method = bad[i].method, .url = "http://127.0.0.1:1",
			.target = bad[i].target, .fields = &fields,
			.limits = &limits,
		};
		struct fetch *f;

		fields_init(&fields);
		fields_add(&fields, bad[i].name, bad[i].value);
		assert_int_not_equal(fetch_start(at.fetchers[i % 2],
						 &request, &fetched_callbacks,
						 NULL, &f), 0);
		fields_free(&fields);
	}
}

static void public_addresses(void **state)
{
	/* clang-format off */
	static const struct {
		const char *text;
		bool is_public;
	} table[] = {
		{ "8.8.8.8", true }, { "172.15.0.1", true },
		{ "172.32.0.1", true }, { "100.63.0.1", true },
		{ "223.255.255.255", true }, { "0.0.0.0", false },
		{ "10.1.2.3", false }, { "100.64.0.1", false },
		{ "127.9.9.9", false }, { "169.254.169.254", false },
		{ "172.16.0.1", false }, { "172.31.255.255", false },
		{ "192.168.1.1", false }, { "198.19.0.1", false },
		{ "224.0.0.1", false }, { "255.255.255.255", false },
		{ "2606:4700::1111", true }, { "2a00::1", true },
		{ "::", false }, { "::1", false }, { "fe80::1", false },
		{ "fd00::1", false }, { "ff02::1", false },
		{ "::ffff:10.0.0.1", false }, { "::ffff:8.8.8.8", true },
		{ "64:ff9b::7f00:1", false }, { "64:ff9b::808:808", true },
		{ "2002:7f00:1::", false }, { "2002:808:808::", true },
		{ "2001:db8::1", false }, { "2001::1", false },
	};
	/* clang-format on */

	(void)state;
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		struct sockaddr_in in4 = { .sin_family = AF_INET };
		struct sockaddr_in6 in6 = { .sin6_family = AF_INET6 };
		const struct sockaddr *addr = (const struct sockaddr *)&in4;

		if (!inet_pton(AF_INET, table[i].text, &in4.sin_addr)) {
			inet_pton(AF_INET6, table[i].text, &in6.sin6_addr);
			addr = (const struct sockaddr *)&in6;
		}
		assert_int_equal(address_is_public(addr), table[i].is_public);
	}
}

/* A fetcher is not freed by its own callbacks: that ends the process at once,
 * where it would go round for ever, or use what is gone. */
static struct fetcher *own;
static const char *frees_in;

static void free_own(const char *callback, struct fetch *f)
{
	if (strcmp(callback, frees_in) != 0)
		return;
	fetch_cancel(&f);
	fetcher_free(&own);
	_exit(0);
}

static void own_headers(void *arg, struct fetch *f, unsigned status,
			const struct fields *fields, int64_t body_len)
{
	(void)arg;
	(void)status;
	(void)fields;
	(void)body_len;
	free_own("on_headers", f);
}

static bool own_body(void *arg, struct fetch *f, const void *data, size_t len)
{
	(void)arg;
	(void)data;
	(void)len;
	free_own("on_body", f);
	return true;
}

static void own_done(void *arg, struct fetch *f, const struct fetch_done *done)
{
	(void)arg;
	(void)done;
	free_own("on_done", f);
	_exit(0);
}

static const struct fetch_callbacks own_callbacks = {
	.on_headers = own_headers,
	.on_body = own_body,
	.on_done = own_done,
};

_Noreturn static void fetch_as_a_child(enum fetcher_use use)
{
	const struct rlimit none = { 0, 0 };
	char url[64];
	const struct fetch_request request = {
		.method = "GET", .url = url, .target = "/0", .limits = &limits,
	};
	struct loop *loop;
	struct fetch *f;

	setrlimit(RLIMIT_CORE, &none);
	dup2(open("/dev/null", O_WRONLY), STDERR_FILENO);
	signal(SIGABRT, SIG_DFL);
	alarm(5);
	snprintf(url, sizeof(url), "http://127.0.0.1:%u", at.port);
	if (loop_new(&loop) || fetcher_new(loop, use, 0, &own) ||
	    fetch_start(own, &request, &own_callbacks, NULL, &f))
		_exit(1);
	while (!loop_turn(loop, 5000))
		continue;
	_exit(1);
}

static void nobody_frees_a_fetcher_within(void **state)
{
	static const char *const callbacks_of[] = { "on_headers", "on_body",
						    "on_done" };

	(void)state;
	close_all();
	for (int i = 0; i < 6; i++) {
		int status = 0;
		pid_t child;

		frees_in = callbacks_of[i / 2];
		child = fork();
		if (!child)
			fetch_as_a_child((enum fetcher_use)(i % 2));
		assert_int_equal(waitpid(child, &status, 0), child);
		assert_true(WIFSIGNALED(status));
		assert_int_equal(WTERMSIG(status), SIGABRT);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(answers, set_up, tear_down),
		cmocka_unit_test_setup_teardown(callbacks_may_be_left_out,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(heads_have_no_body, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(resumed_without_a_pause, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(causes_of_breaks, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(a_paused_body_comes_again,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_response_may_go_on, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(interim_responses_are_reported,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(cancelled_inside_a_callback,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(freed_with_fetches_under_way,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(cancelled_before_it_begins,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(nobody_frees_a_fetcher_within,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(nobody_there, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(private_targets_are_refused,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(no_urls, set_up, tear_down),
		cmocka_unit_test_setup_teardown(bytes_that_must_not_be_sent,
						set_up, tear_down),
		cmocka_unit_test(public_addresses),
	};
	fetch_global_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
