/*
 * Bodies of requests, and what a server says before it has read them.
 */
#include "tests/fetch/played.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "digestd/os/memory.h"

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

/* Without a length, an empty one, too; with it there is no body, and the
 * connection is that of other requests. */
static void of_any_size(void **state)
{
	static const size_t sizes[] = { 1, 65000, 65536, 65537, BIG };
	static const size_t pieces[] = { SIZE_MAX, 65535, 1000 };

	(void)state;
	for (size_t i = 0; i < NROWS(sizes); i++) {
		for (size_t j = 0; j < NROWS(pieces); j++) {
			check_length(sizes[i], pieces[j]);
			check_chunks(sizes[i], pieces[j]);
		}
	}
	check_chunks(0, SIZE_MAX);
	assert_int_equal(at.connections, 1);
}

/* Who does not read holds back who sends. */
static uint64_t held_bytes(void)
{
	return ledger_used(&memory_ledger, LEDGER_uploads);
}

static void the_slower_end_sets_the_pace(void **state)
{
	(void)state;
	post(BIG, BIG, BIG);
	for (int i = 0; i < 50; i++)
		loop_turn(at.loop, 1);
	assert_in_range(at.read, 65536, BIG - 1);
	/* what was read and is not on its way is counted */
	assert_in_range(held_bytes(), 1, 65536);
	serve_read();
	assert_int_equal(at.read, BIG);
	assert_int_equal(held_bytes(), 0);
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

/* Nothing is said of a fetch that is cancelled where its body is read. */
static void cancelled_while_it_is_read(void **state)
{
	(void)state;
	for (int chunked = 0; chunked < 2; chunked++) {
		post(chunked ? -1 : 8, 8, 4);
		serve_read();
		at.cancels_at_read = true;
		upload_more(8);
		while (!at.over)
			loop_turn(at.loop, 1);
		at.cancels_at_read = false;
		loop_turn(at.loop, 0);
		assert_null(at.fetch);
		assert_int_equal(recv(at.fd, got, GOT_MAX, 0), 0);
		serve_close(false);
	}
	assert_int_equal(at.done.result, 0);
	assert_int_equal(at.connections, 2);
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
static void an_early_refusal_ends_the_fetch(void **state)
{
	(void)state;
	begin_early(REFUSAL "no", 1000000);
	finish(FETCH_COMPLETE);
	assert_string_equal(at.body, "no");
}

/* Who agrees in advance gets all of it, and the connection stays; unless it
 * closes that. */
static void an_early_agreement_does_not(void **state)
{
	(void)state;
	for (int closes = 0; closes < 2; closes++) {
		begin_early(OK, 1000000);
		assert_int_equal(at.status, 200);
		assert_false(at.over);
		if (closes)
			serve_close(true);
		upload_more(BIG);
		if (!closes)
			serve_read();
		finish(FETCH_COMPLETE);
		assert_int_equal(at.connections, 1);
		if (!closes)
			assert_int_equal(at.ngot - (size_t)(body_got() - got),
					 BIG);
	}
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
	assert_int_equal(held_bytes(), 0);
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_small_body_comes_with_its_head),
		TEST(of_any_size),
		TEST(the_slower_end_sets_the_pace),
		TEST(as_the_caller_has_it),
		TEST(a_body_that_ends_early),
		TEST(cancelled_while_it_is_read),
		TEST(an_early_refusal_ends_the_fetch),
		TEST(an_early_agreement_does_not),
		TEST(a_little_that_is_left),
		TEST(an_answer_before_a_reset),
		TEST(a_reset_without_an_answer),
		TEST(only_the_server_is_late),
		TEST(a_pause_without_a_limit),
		TEST(expectations_are_passed_on),
		TEST(nobody_waits_for_what_was_not_asked_for),
	};

	fetch_global_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
