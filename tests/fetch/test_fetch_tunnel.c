/*
 * What is behind bodies: trailers of both messages, and other protocols.
 */
#include "tests/fetch/played.h"

#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/os/still_clock.h"

enum { TUNNEL_IDLE_MS = 800 };

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

/* More than is read before others have their turn: nothing else comes that
 * would tell of the rest. */
static void much_comes_at_once(void **state)
{
	static char much[100001];

	(void)state;
	memset(much, 'm', sizeof(much) - 1);
	begin_upgrade();
	serve_say(SWITCH);
	serve_read();
	serve_say(much);
	serve_read();
	assert_int_equal(at.nbody, sizeof(much) - 1);
	serve_close(false);
	for (int i = 0; i < TURNS_MAX && !at.over; i++)
		loop_turn(at.loop, 1);
	assert_int_equal(at.done.result, FETCH_COMPLETE);
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

/* ... and then the client is, too. */
static void a_tunnel_cancelled_at_half(void **state)
{
	(void)state;
	begin_upgrade();
	serve_say(SWITCH "one");
	serve_read();
	at.cancels_at_half = true;
	shutdown(at.fd, SHUT_WR);
	for (int i = 0; i < TURNS_MAX && !at.over; i++)
		loop_turn(at.loop, 1);
	at.cancels_at_half = false;
	assert_true(at.over);
	assert_int_equal(recv(at.fd, got, 1, 0), 0);
	assert_int_equal(at.half_closed, 1);
	serve_close(false);
	/* the next one is no tunnel */
	post(4, 4, 4);
	serve_read();
	serve_say(OK);
	finish(FETCH_COMPLETE);
}

/* More than the other end takes: the end comes behind all of it. */
static void a_tunnel_that_is_full(void **state)
{
	(void)state;
	begin((struct fetch_request){ .method = "GET", .upgrade = "x" }, -1,
	      BIG, 0);
	serve_read();
	serve_say(SWITCH);
	serve_read();
	at.ready = BIG;
	fetch_resume_upload(at.fetch);
	while (at.read < 400000)
		loop_turn(at.loop, 1);
	for (int i = 0; i < TURNS_MAX && at.read < BIG; i++)
		serve_read();
	serve_read();
	assert_memory_equal(body_got(), pattern, BIG);
	assert_int_equal(recv(at.fd, got, 1, 0), 0);
	serve_say("bye");
	serve_close(false);
	for (int i = 0; i < TURNS_MAX && !at.over; i++)
		loop_turn(at.loop, 1);
	assert_int_equal(at.done.result, FETCH_COMPLETE);
	assert_string_equal(at.body, "bye");
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
	uint_fast64_t from_ms = 0;

	(void)state;
	tunnel_idle_ms = TUNNEL_IDLE_MS;
	begin_upgrade();
	tunnel_idle_ms = 20000;
	serve_say(SWITCH);
	serve_read();
	for (size_t i = 1; i < 6; i++) { /* longer than that, together */
		atomic_fetch_add(&still_clock_ms, TUNNEL_IDLE_MS / 4);
		from_ms = atomic_load(&still_clock_ms);
		if (i % 2)
			serve_say("x");
		else
			upload_more(i);
		serve_read();
		assert_false(at.over);
	}
	for (int i = 0; i < TURNS_MAX && !at.over; i++) {
		atomic_fetch_add(&still_clock_ms, 1);
		loop_turn(at.loop, 0);
	}
	assert_int_equal(at.done.result, FETCH_TIMEOUT);
	assert_in_range(atomic_load(&still_clock_ms) - from_ms,
			TUNNEL_IDLE_MS / 2, 2 * TUNNEL_IDLE_MS);
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(trailers_of_a_body),
		TEST(trailers_of_a_response),
		TEST(another_protocol),
		TEST(much_comes_at_once),
		TEST(a_tunnel_half_closed),
		TEST(a_tunnel_cancelled_at_half),
		TEST(a_tunnel_that_is_full),
		TEST(a_tunnel_that_breaks),
		TEST(a_tunnel_that_is_idle),
		TEST(no_other_protocol),
	};

	fetch_global_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
