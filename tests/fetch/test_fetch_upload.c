/*
 * Bodies of requests, and what a server says before it has read them: the
 * server is played by the test, in the same thread, so that what it reads and
 * says comes in the order that a test needs.
 */
#include "tests/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "digestd/http/fields.h"
#include "digestd/fetch/fetch.h"
#include "digestd/os/loop.h"
#include "tests/loopback.h"

#define OK "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

enum {
	BIG = 8000000, /* more than a socket's buffers take */
	GOT_MAX = BIG + 200000, /* with heads and chunks */
	TURNS_MAX = 20000,
	TUNNEL_IDLE_MS = 200,
};

static char pattern[BIG], got[GOT_MAX + 1];

static struct {
	struct loop *loop;
	struct fetcher *fetcher;
	int listen_fd, fd; /* fd -1: no connection yet */
	unsigned port, connections;
	size_t ngot;

	/* the fetch */
	struct fetch *fetch;
	struct fetch_upload upload;
	size_t len, piece; /* of its body; at most so much at a time */
	size_t ready, read;
	bool gives_up, over, pauses;
	unsigned status, interim, half_closed, trailers;
	const struct fields *behind; /* the body */
	char body[64];
	size_t nbody;
	struct fetch_done done;
} at;

static int set_up(void **state)
{
	static const int room = 65536;

	(void)state;
	signal(SIGPIPE, SIG_IGN);
	memset(&at, 0, sizeof(at));
	for (size_t i = 0; i < BIG; i++)
		pattern[i] = (char)('a' + i * 7 % 23 + i / 1000 % 3);
	at.fd = -1;
	at.listen_fd = loopback_listen(&at.port);
	setsockopt(at.listen_fd, SOL_SOCKET, SO_RCVBUF, &room, sizeof(room));
	fcntl(at.listen_fd, F_SETFL, O_NONBLOCK);
	assert_int_equal(loop_new(&at.loop), 0);
	return fetcher_new(at.loop, FETCHER_DATA, 0, &at.fetcher);
}

static int tear_down(void **state)
{
	(void)state;
	fetcher_free(&at.fetcher);
	loop_free(&at.loop);
	if (at.fd >= 0)
		close(at.fd);
	close(at.listen_fd);
	return 0;
}

/* The client */

static ssize_t read_upload(void *arg, void *buf, size_t cap)
{
	size_t n = at.ready - at.read;

	(void)arg;
	assert_false(at.over);
	if (at.gives_up)
		return FETCH_GIVE_UP;
	if (at.read == at.len)
		return FETCH_EOF;
	if (!n)
		return FETCH_MORE;
	n = n < cap ? n : cap;
	n = n < at.piece ? n : at.piece;
	memcpy(buf, pattern + at.read, n);
	at.read += n;
	return (ssize_t)n;
}

static void on_interim(void *arg, struct fetch *f, unsigned status,
		       const struct fields *fields)
{
	(void)arg;
	(void)f;
	(void)fields;
	at.interim = status;
}

static void on_headers(void *arg, struct fetch *f, unsigned status,
		       const struct fields *fields, int64_t body_len)
{
	(void)arg;
	(void)f;
	(void)fields;
	(void)body_len;
	at.status = status;
}

static bool on_body(void *arg, struct fetch *f, const void *data, size_t len)
{
	(void)arg;
	(void)f;
	if (at.pauses)
		return false;
	assert_true(at.nbody + len < sizeof(at.body));
	memcpy(at.body + at.nbody, data, len);
	at.nbody += len;
	at.body[at.nbody] = '\0';
	return true;
}

static void on_done(void *arg, struct fetch *f, const struct fetch_done *done)
{
	(void)arg;
	(void)f;
	at.done = *done;
	at.over = true;
	at.fetch = NULL;
}

static void on_half_close(void *arg, struct fetch *f)
{
	(void)arg;
	assert_ptr_equal(f, at.fetch);
	at.half_closed++;
}

static void on_trailers(void *arg, struct fetch *f,
			const struct fields *fields)
{
	(void)arg;
	(void)f;
	assert_false(at.over);
	at.trailers++;
	assert_int_equal(fields_count(fields), 1);
	assert_string_equal(fields_get(fields, "X-Sum"), "5");
}

static const struct fields *upload_trailers(void *arg)
{
	(void)arg;
	assert_int_equal(at.read, at.len);
	return at.behind;
}

static const struct fetch_callbacks callbacks = {
	.on_trailers = on_trailers,
	.on_half_close = on_half_close,
	.on_interim = on_interim,
	.on_headers = on_headers,
	.on_body = on_body,
	.on_done = on_done,
};

static unsigned first_byte_ms = 20000;

/* Begins one with a body of so many bytes, of which `ready` are there. */
static void begin(struct fetch_request request, int64_t announced, size_t len,
		  size_t ready)
{
	const struct fetch_limits limits = {
		.connect_ms = 20000, .first_byte_ms = first_byte_ms,
		.max_header_bytes = 1000,
		.tunnel_idle_ms = TUNNEL_IDLE_MS,
	};
	char url[64];

	snprintf(url, sizeof(url), "http://127.0.0.1:%u/", at.port);
	request.url = url;
	request.limits = &limits;
	at.upload = (struct fetch_upload){ announced, read_upload,
					   upload_trailers };
	request.upload = &at.upload;
	at.len = len;
	at.ready = ready;
	at.read = at.ngot = at.nbody = 0;
	at.body[0] = '\0';
	at.status = at.interim = 0;
	at.piece = at.piece ? at.piece : SIZE_MAX;
	at.over = false;
	assert_int_equal(fetch_start(at.fetcher, &request, &callbacks, NULL,
				     &at.fetch), 0);
}

static void post(int64_t announced, size_t len, size_t ready)
{
	begin((struct fetch_request){ .method = "POST" }, announced, len,
	      ready);
}

static void upload_more(size_t ready)
{
	at.ready = ready;
	fetch_resume_upload(at.fetch);
}

/* The server */

static void serve_close(bool reset)
{
	const struct linger now = { .l_onoff = 1 };

	if (reset)
		setsockopt(at.fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
	close(at.fd);
	at.fd = -1;
}

/* A turn, and the server reads what there is. Returns whether it did. */
static bool serve_turn(void)
{
	ssize_t n = -1;

	loop_turn(at.loop, 1);
	if (at.fd < 0) {
		at.fd = accept(at.listen_fd, NULL, NULL);
		at.connections += at.fd >= 0;
	}
	if (at.fd >= 0)
		n = recv(at.fd, got + at.ngot, GOT_MAX - at.ngot,
			 MSG_DONTWAIT);
	at.ngot += n > 0 ? (size_t)n : 0;
	got[at.ngot] = '\0';
	return n > 0;
}

/* Reads until nothing comes any more. */
static void serve_read(void)
{
	for (int i = 0, quiet = 0; i < TURNS_MAX && quiet < 20; i++)
		quiet = serve_turn() ? 0 : quiet + 1;
}

static void serve_say(const char *text)
{
	assert_int_equal(send(at.fd, text, strlen(text), MSG_NOSIGNAL),
			 strlen(text));
}

static void finish(enum fetch_result result)
{
	for (int i = 0; i < TURNS_MAX && !at.over; i++)
		serve_turn();
	assert_true(at.over);
	assert_int_equal(at.done.result, result);
}

/* Behind the head of what the server got. */
static const char *body_got(void)
{
	const char *end = strstr(got, "\r\n\r\n");

	assert_non_null(end);
	return end + 4;
}

/* Takes chunks apart in place. Returns their length together. */
static size_t unchunk(char *at_chunk, bool *ended)
{
	char *to = at_chunk, *from = at_chunk;
	size_t n;

	*ended = false;
	while (*from && !*ended) {
		n = strtoul(from, &from, 16);
		assert_memory_equal(from, "\r\n", 2);
		memmove(to, from + 2, n);
		from += 2 + n;
		to += n;
		assert_memory_equal(from, "\r\n", 2);
		from += 2;
		*ended = !n;
	}
	return (size_t)(to - at_chunk);
}

/* Tests */

static void a_small_body_comes_with_its_head(void **state)
{
	(void)state;
	post(4, 4, 4);
	while (!serve_turn())
		continue;
	assert_string_equal(body_got(), "ahov");
	assert_non_null(strstr(got, "\r\nContent-Length: 4\r\n"));
	assert_null(strstr(got, "Expect"));
	serve_say(OK);
	finish(FETCH_COMPLETE);
	assert_string_equal(at.body, "ok");
}

static void check_length(size_t len, size_t piece)
{
	at.piece = piece;
	post((int64_t)len, len, len);
	serve_read();
	assert_int_equal(at.ngot - (size_t)(body_got() - got), len);
	assert_memory_equal(body_got(), pattern, len);
	serve_say(OK);
	finish(FETCH_COMPLETE);
}

static void check_chunks(size_t len, size_t piece)
{
	bool ended;

	at.piece = piece;
	post(-1, len, len);
	serve_read();
	assert_non_null(strstr(got, "\r\nTransfer-Encoding: chunked\r\n"));
	assert_int_equal(unchunk((char *)(uintptr_t)body_got(), &ended), len);
	assert_true(ended);
	assert_memory_equal(body_got(), pattern, len);
	serve_say(OK);
	finish(FETCH_COMPLETE);
}

static void of_any_size(void **state)
{
	static const size_t sizes[] = { 0, 1, 65000, 65536, 65537, BIG };
	static const size_t pieces[] = { SIZE_MAX, 65535, 1000 };

	(void)state;
	for (size_t i = 0; i < NROWS(sizes); i++) {
		for (size_t j = 0; j < NROWS(pieces); j++) {
			check_length(sizes[i], pieces[j]);
			check_chunks(sizes[i], pieces[j]);
		}
	}
	assert_int_equal(at.connections, 1);
}

/* Who does not read holds back who sends. */
static void the_slower_end_sets_the_pace(void **state)
{
	(void)state;
	post(BIG, BIG, BIG);
	for (int i = 0; i < 50; i++)
		loop_turn(at.loop, 1);
	assert_in_range(at.read, 65536, BIG - 1);
	serve_read();
	assert_int_equal(at.read, BIG);
	serve_say(OK);
	finish(FETCH_COMPLETE);
}

static void as_the_caller_has_it(void **state)
{
	bool ended;

	(void)state;
	post(-1, 30, 0);
	serve_read();
	assert_string_equal(body_got(), "");
	upload_more(10);
	serve_read();
	upload_more(30);
	serve_read();
	assert_int_equal(unchunk((char *)(uintptr_t)body_got(), &ended), 30);
	assert_true(ended);
	serve_say(OK);
	finish(FETCH_COMPLETE);
}

static void a_body_that_ends_early(void **state)
{
	(void)state;
	post(40, 30, 30);
	finish(FETCH_BAD);
	post(40, 40, 30);
	serve_read();
	at.gives_up = true;
	upload_more(40);
	finish(FETCH_BAD);
}

/* Answers before the body is in */

static void begin_early(const char *answer, size_t left)
{
	post(BIG, BIG, BIG - left);
	serve_read();
	assert_int_equal(at.ngot - (size_t)(body_got() - got), BIG - left);
	serve_say(answer);
	serve_read();
	assert_int_not_equal(at.status, 0);
}

#define REFUSAL "HTTP/1.1 403 No\r\nContent-Length: 2\r\n\r\n"

/* It is passed on when it comes, and the fetch ends with it. */
static void an_early_answer_ends_the_fetch(void **state)
{
	(void)state;
	begin_early(OK, 1000000);
	finish(FETCH_COMPLETE);
	assert_int_equal(at.status, 200);
	serve_close(false);
	begin_early(REFUSAL "no", 1000000);
	finish(FETCH_COMPLETE);
	assert_string_equal(at.body, "no");
}

/* A little is sent all the same where it is there: the connection stays. */
static void a_little_that_is_left(void **state)
{
	static const struct {
		const char *answer;
		size_t left;
		bool there, sent;
	} rows[] = {
		{ REFUSAL, 65536, true, true },
		{ REFUSAL, 65537, true, false },
		{ "HTTP/1.1 403 No\r\nContent-Length: 2\r\n"
		  "Connection: close\r\n\r\n", 1000, true, false },
		{ REFUSAL, 1000, false, false },
		{ "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n", 1000000,
		  true, true },
	};

	(void)state;
	for (size_t i = 0; i < NROWS(rows); i++) {
		unsigned before;

		begin_early(rows[i].answer, rows[i].left);
		if (rows[i].there)
			upload_more(BIG);
		serve_read();
		serve_say("no");
		finish(FETCH_COMPLETE);
		serve_read();
		assert_int_equal(at.ngot - (size_t)(body_got() - got),
				 rows[i].sent ? BIG : BIG - rows[i].left);
		before = at.connections;
		if (!rows[i].sent) /* it is closed */
			serve_close(false);
		post(4, 4, 4);
		serve_read();
		assert_int_equal(at.connections, before + !rows[i].sent);
		serve_say(OK);
		finish(FETCH_COMPLETE);
	}
}

/* The server closes over what it has not read, which resets the connection:
 * the answer was there before. */
static void an_answer_before_a_reset(void **state)
{
	(void)state;
	post(BIG, BIG, BIG);
	while (at.fd < 0 || at.read < 200000)
		serve_turn();
	serve_say(REFUSAL "no");
	serve_close(true);
	for (int i = 0; i < TURNS_MAX && !at.over; i++)
		loop_turn(at.loop, 1);
	assert_true(at.over);
	assert_int_equal(at.done.result, FETCH_COMPLETE);
	assert_int_equal(at.status, 403);
}

static void a_reset_without_an_answer(void **state)
{
	(void)state;
	post(BIG, BIG, BIG);
	while (at.fd < 0 || at.read < 200000)
		serve_turn();
	serve_close(true);
	finish(FETCH_BAD);
}

/* Time */

/* Who waits for the caller is not late; from the last bytes on, the server. */
static void only_the_server_is_late(void **state)
{
	int64_t until_ms;

	(void)state;
	first_byte_ms = 100;
	post(8, 8, 4);
	until_ms = loop_now_ms(at.loop) + 300;
	while (loop_now_ms(at.loop) < until_ms)
		serve_turn();
	assert_false(at.over);
	upload_more(8);
	finish(FETCH_TIMEOUT);
	/* nor does it help that there is more than it reads */
	serve_close(false);
	post(BIG, BIG, BIG);
	for (int i = 0; i < TURNS_MAX && !at.over; i++)
		loop_turn(at.loop, 1);
	assert_int_equal(at.done.result, FETCH_TIMEOUT);
	first_byte_ms = 20000;
}

/* Expectations and other protocols */

/* The time for the header ends during a pause, and no other one begins. */
static void a_pause_without_a_limit(void **state)
{
	(void)state;
	first_byte_ms = 30;
	post(4, 4, 4);
	first_byte_ms = 20000;
	at.pauses = true;
	while (!serve_turn())
		continue;
	serve_say(OK);
	alarm(20); /* where a turn does not end */
	for (int i = 0; i < 100; i++)
		loop_turn(at.loop, 1);
	alarm(0);
	assert_false(at.over);
	at.pauses = false;
	fetch_resume(at.fetch);
	finish(FETCH_COMPLETE);
	assert_string_equal(at.body, "ok");
}

static void expectations_are_passed_on(void **state)
{
	struct fields fields;

	(void)state;
	fields_init(&fields);
	fields_add(&fields, "Expect", "100-Continue");
	begin((struct fetch_request){ .method = "PUT", .fields = &fields }, 4,
	      4, 0);
	serve_read();
	assert_non_null(strstr(got, "\r\nExpect: 100-continue\r\n"));
	assert_string_equal(body_got(), "");
	serve_say("HTTP/1.1 100 Go\r\n\r\n");
	serve_read();
	assert_int_equal(at.interim, 100);
	upload_more(4);
	serve_read();
	assert_string_equal(body_got(), "ahov");
	serve_say(OK);
	finish(FETCH_COMPLETE);
	fields_free(&fields);
}

static void nobody_waits_for_what_was_not_asked_for(void **state)
{
	(void)state;
	post(4, 4, 0);
	serve_read();
	serve_say("HTTP/1.1 100 Go\r\n\r\n");
	serve_read();
	assert_int_equal(at.interim, 0);
	upload_more(4);
	serve_read();
	serve_say(OK);
	finish(FETCH_COMPLETE);
}

/* Those of other sizes than the last buffer has room for, too. */
static void trailers_of_a_body(void **state)
{
	static const struct {
		size_t body, value;
		bool sent;
	} rows[] = {
		{ 4, 1, true }, { 0, 1, true }, { 4, 30000, true },
		{ 40000, 30000, true }, { BIG, 30000, true },
		{ 4, 33000, false },
	};
	static char value[33001];

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		size_t len = rows[i].body, n = rows[i].value;
		struct fields behind;
		char *body, *end;
		bool ended;

		memset(value, 'v', n);
		value[n] = '\0';
		fields_init(&behind);
		assert_int_equal(fields_add(&behind, "X-Sum", "7"), 0);
		assert_int_equal(fields_add(&behind, "X-Long", value), 0);
		at.behind = &behind;
		post(-1, len, len);
		serve_read();
		body = (char *)(uintptr_t)body_got();
		/* as if there were none */
		end = strstr(body, "\r\nX-Sum: 7\r\nX-Long: v");
		assert_int_equal(!end, !rows[i].sent);
		if (end) {
			assert_string_equal(end + 21 + n - 1, "\r\n\r\n");
			strcpy(end, "\r\n\r\n");
		}
		assert_int_equal(unchunk(body, &ended), len);
		assert_true(ended);
		assert_memory_equal(body, pattern, len);
		serve_say(OK);
		finish(FETCH_COMPLETE);
		fields_free(&behind);
	}
	at.behind = NULL;
}

static void trailers_of_a_response(void **state)
{
	static const char reply[] =
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
		"5\r\nhello\r\n0\r\nX-Sum: 5\r\nContent-Length: 1\r\n\r\n";

	(void)state;
	for (int i = 0; i < 2; i++) {
		begin((struct fetch_request){ .method = "GET",
					      .trailers = !i,
					      .upgrade = i ? NULL : "x" },
		      0, 0, 0);
		serve_read();
		assert_int_equal(!strstr(got, "\r\nTE: trailers\r\n"
					      "Connection: TE, Upgrade\r\n"),
				 i);
		serve_say(reply);
		finish(FETCH_COMPLETE);
		assert_string_equal(at.body, "hello");
		assert_int_equal(at.trailers, i + 1);
	}
	assert_int_equal(at.connections, 1);
}

#define SWITCH "HTTP/1.1 101 Up\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n"

static void begin_upgrade(void)
{
	begin((struct fetch_request){ .method = "GET", .upgrade = "x, y" }, -1,
	      10, 0);
	serve_read();
	assert_non_null(strstr(got, "\r\nConnection: Upgrade\r\n"
				    "Upgrade: x, y\r\n\r\n"));
	assert_null(strstr(got, "Transfer-Encoding"));
}

static void another_protocol(void **state)
{
	(void)state;
	begin_upgrade();
	upload_more(3); /* not yet read */
	serve_read();
	assert_string_equal(body_got(), "");
	serve_say(SWITCH "one");
	serve_read();
	assert_int_equal(at.status, 101);
	assert_string_equal(at.body, "one");
	assert_string_equal(body_got(), "aho");
	upload_more(10);
	serve_say("two");
	serve_read();
	assert_memory_equal(body_got(), pattern, 10);
	assert_string_equal(at.body, "onetwo");
	/* one end is at an end, and hears so; the other one not yet */
	assert_int_equal(recv(at.fd, got, 1, 0), 0);
	assert_false(at.over);
	serve_say("three");
	serve_read();
	serve_close(false);
	for (int i = 0; i < TURNS_MAX && !at.over; i++)
		loop_turn(at.loop, 1);
	assert_int_equal(at.done.result, FETCH_COMPLETE);
	assert_true(at.done.ended_by_close);
	assert_string_equal(at.body, "onetwothree");
}

/* The server is done before the client. */
static void a_tunnel_half_closed(void **state)
{
	(void)state;
	begin_upgrade();
	serve_say(SWITCH "one");
	serve_read();
	assert_int_equal(at.half_closed, 0);
	shutdown(at.fd, SHUT_WR);
	serve_read();
	assert_int_equal(at.half_closed, 1);
	assert_false(at.over);
	upload_more(10);
	serve_read();
	assert_memory_equal(body_got(), pattern, 10);
	for (int i = 0; i < TURNS_MAX && !at.over; i++)
		loop_turn(at.loop, 1);
	assert_int_equal(at.done.result, FETCH_COMPLETE);
	assert_int_equal(recv(at.fd, got, 1, 0), 0);
	assert_int_equal(at.half_closed, 1);
}

/* ... and does not take what is still sent. */
static void a_tunnel_that_breaks(void **state)
{
	(void)state;
	begin_upgrade();
	serve_say(SWITCH);
	serve_read();
	serve_close(false);
	serve_read();
	assert_int_equal(at.half_closed, 1);
	for (int i = 1; i < TURNS_MAX && !at.over; i++) {
		if (i < 10 && i % 3 == 0)
			upload_more((size_t)i);
		loop_turn(at.loop, 1);
	}
	assert_int_equal(at.done.result, FETCH_TRUNCATED);
}

/* Time counts from the last byte, of either end. */
static void a_tunnel_that_is_idle(void **state)
{
	struct timespec from, until;

	(void)state;
	begin_upgrade();
	serve_say(SWITCH);
	serve_read();
	for (size_t i = 1; i < 8; i++) {
		usleep(TUNNEL_IDLE_MS * 300);
		if (i % 2)
			serve_say("x");
		else
			upload_more(i);
		serve_read();
		assert_false(at.over);
	}
	clock_gettime(CLOCK_MONOTONIC, &from);
	for (int i = 0; i < TURNS_MAX && !at.over; i++)
		loop_turn(at.loop, 1);
	clock_gettime(CLOCK_MONOTONIC, &until);
	assert_int_equal(at.done.result, FETCH_TIMEOUT);
	assert_true((until.tv_sec - from.tv_sec) * 1000 +
		    (until.tv_nsec - from.tv_nsec) / 1000000 >=
		    TUNNEL_IDLE_MS / 2);
}

static void no_other_protocol(void **state)
{
	(void)state;
	begin_upgrade();
	serve_say(OK);
	finish(FETCH_COMPLETE);
	assert_int_equal(at.read, 0);
	begin_upgrade();
	assert_int_equal(at.connections, 1);
	serve_say(OK);
	finish(FETCH_COMPLETE);
	post(0, 0, 0);
	serve_read();
	serve_say(SWITCH);
	finish(FETCH_BAD);
}

#define TEST(function) \
	cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_small_body_comes_with_its_head),
		TEST(of_any_size),
		TEST(the_slower_end_sets_the_pace),
		TEST(as_the_caller_has_it),
		TEST(a_body_that_ends_early),
		TEST(an_early_answer_ends_the_fetch),
		TEST(a_little_that_is_left),
		TEST(an_answer_before_a_reset),
		TEST(a_reset_without_an_answer),
		TEST(only_the_server_is_late),
		TEST(a_pause_without_a_limit),
		TEST(expectations_are_passed_on),
		TEST(nobody_waits_for_what_was_not_asked_for),
		TEST(trailers_of_a_body),
		TEST(trailers_of_a_response),
		TEST(another_protocol),
		TEST(a_tunnel_half_closed),
		TEST(a_tunnel_that_breaks),
		TEST(a_tunnel_that_is_idle),
		TEST(no_other_protocol),
	};

	fetch_global_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
