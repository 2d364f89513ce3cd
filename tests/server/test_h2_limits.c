/*
 * HTTP/2 of the strict engine: clients that are slow, hostile or in the way,
 * and how connections end.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "digestd/os/memory.h"
#include "tests/server/h2_client.h"
#include "tests/server/served.h"

static uint64_t memory_before;

static uint64_t memory_now(void)
{
	return ledger_used(&memory_ledger, LEDGER_connections) +
	       ledger_used(&memory_ledger, LEDGER_replies);
}

static int set_up_with(void **state, unsigned ms)
{
	at.strict = at.http2 = true;
	at.idle_ms = at.header_ms = ms;
	memory_before = memory_now();
	return served_set_up(state);
}

static int set_up(void **state)
{
	return set_up_with(state, 100);
}

/* For what no deadline ends, on a slow machine either. */
static int set_up_patient(void **state)
{
	return set_up_with(state, 10000);
}

static int tear_down(void **state)
{
	int err = served_tear_down(state);

	assert_int_equal(memory_now(), memory_before);
	at.max_connections = 0;
	return err;
}

enum { CALM = NGHTTP2_ENHANCE_YOUR_CALM };

/* Frames that bring nothing forward, any number of them. */
/* clang-format off */
static const struct {
	const char *label;
	unsigned type, flags;
	int32_t id;
	const char *payload;
	size_t len;
	uint32_t error;
} floods[] = {
	{ "PING", NGHTTP2_PING, 0, 0, "12345678", 8, CALM },
	{ "SETTINGS", NGHTTP2_SETTINGS, 0, 0, "", 0, CALM },
	{ "PRIORITY", NGHTTP2_PRIORITY, 0, 99, "\0\0\0\0\1", 5, CALM },
	{ "WINDOW_UPDATE", NGHTTP2_WINDOW_UPDATE, 0, 0, "\0\0\0\1", 4, CALM },
	{ "empty DATA", NGHTTP2_DATA, 0, 1, "", 0, CALM },
	{ "DATA of a stream that was never there", NGHTTP2_DATA, 0, 7, "a", 1, NGHTTP2_PROTOCOL_ERROR },
	{ "HEADERS that are none", NGHTTP2_HEADERS, 4, 3, "\xff\xff\xff\xff\xff\xff", 6, NGHTTP2_COMPRESSION_ERROR },
	{ "CONTINUATION of nothing", NGHTTP2_CONTINUATION, 4, 3, "", 0, NGHTTP2_PROTOCOL_ERROR },
	{ "PUSH_PROMISE", NGHTTP2_PUSH_PROMISE, 4, 1, "\0\0\0\2", 4, NGHTTP2_PROTOCOL_ERROR },
	{ "a PING that is short", NGHTTP2_PING, 0, 0, "1", 1, NGHTTP2_FRAME_SIZE_ERROR },
	{ "a window that overflows", NGHTTP2_WINDOW_UPDATE, 0, 0, "\x7f\xff\xff\xff", 4, NGHTTP2_FLOW_CONTROL_ERROR },
	{ "RST_STREAM of one that was never there", NGHTTP2_RST_STREAM, 0, 9, "\0\0\0\0", 4, NGHTTP2_PROTOCOL_ERROR },
};
/* clang-format on */

static void floods_of_frames(void **state)
{
	(void)state;
	for (size_t i = 0; i < NROWS(floods); i++) {
		struct h2_client c;

		h2_client_open(&c, false);
		h2_client_ask(&c, "POST", "/hold", NULL, 1);
		h2_client_answer(&c, 1)->stuck = true;
		h2_client_run(&c, 5);
		for (int n = 0; n < 5000 && !c.over; n++)
			h2_client_send_frame(&c, floods[i].type,
					     floods[i].flags, floods[i].id,
					     floods[i].payload, floods[i].len);
		c.over = false;
		h2_client_wait_over(&c);
		if (c.goaways && c.error != floods[i].error)
			fail_msg("%s: %u", floods[i].label, c.error);
		h2_client_close(&c);
		wait_for(&at.aborted, (int)i + 1);
	}
	assert_true(server_floods(at.server) >= 5);
}

/* A flood that goes on after GOAWAY is read for a second, not for a minute. */
static void a_flood_that_goes_on(void **state)
{
	static const char ping[] = "\0\0\10\6\0\0\0\0\00012345678";
	const struct timespec pause = { .tv_nsec = 20000000 };
	struct h2_client c;
	int sent = 0;

	(void)state;
	h2_client_open(&c, false);
	for (int n = 0; n < 2000; n++)
		h2_client_send_frame(&c, NGHTTP2_PING, 0, 0, "12345678", 8);
	h2_client_wait_over(&c);
	while (sent < 500 && send(c.fd, ping, sizeof(ping) - 1,
				  MSG_NOSIGNAL) > 0) {
		nanosleep(&pause, NULL);
		sent++;
	}
	assert_in_range(sent, 0, 499); /* 10 s, or more if this was slow */
	h2_client_close(&c);
}

/* Requests that are taken back as soon as they are sent. */
static void rapid_resets(void **state)
{
	struct h2_client c;
	int asked = 0;

	(void)state;
	h2_client_open(&c, false);
	for (; asked < H2_ANSWERS - 1 && !c.over; asked++) {
		int32_t id = h2_client_ask(&c, "GET", "/never", NULL, 0);

		nghttp2_submit_rst_stream(c.session, 0, id, NGHTTP2_CANCEL);
		h2_client_run(&c, 0);
	}
	assert_false(c.over); /* a burst is allowed, as browsers do that */
	while (!c.over && asked < 5000) {
		/* GET, http, /never, h */
		static const uint8_t header[] = "\x82\x86\x04\6/never\x41\1h";
		int32_t id = 2 * asked++ + 1;

		h2_client_send_frame(&c, NGHTTP2_HEADERS, 5, id, header,
				     sizeof(header) - 1);
		h2_client_send_frame(&c, NGHTTP2_RST_STREAM, 0, id,
				     "\0\0\0\10", 4);
		h2_client_run(&c, 0);
	}
	h2_client_wait_over(&c); /* if the server was slower */
	h2_client_close(&c);
	wait_for(&at.aborted, atomic_load(&at.begun));
	assert_int_equal(server_floods(at.server), 1);
}

/* What a few bytes stand for, as they were sent before. */
static void a_header_that_unpacks_to_much(void **state)
{
	static struct h2_field fields[1001];
	static char value[3001];
	struct h2_client c;

	(void)state;
	memset(value, 'v', sizeof(value) - 1);
	h2_client_open(&c, false);
	for (size_t i = 0; i < 9; i++)
		fields[i] = (struct h2_field){ "a", value };
	assert_int_equal(h2_client_wait(&c, h2_client_ask(
		&c, "GET", "/late", fields, 0))->status, 431);
	assert_int_equal(h2_client_wait(&c, h2_client_ask(
		&c, "GET", "/late", NULL, 0))->status, 200);
	for (size_t i = 0; i < 1000; i++)
		fields[i] = (struct h2_field){ "a", value };
	h2_client_ask(&c, "GET", "/late", fields, 0);
	h2_client_wait_over(&c);
	assert_int_equal(c.error, CALM);
	assert_int_equal(server_too_large(at.server), 1);
	h2_client_close(&c);
}

static void a_header_that_is_too_large(void **state)
{
	static char path[20000] = "/";
	struct h2_field fields[102];
	struct h2_client c;

	(void)state;
	for (size_t i = 0; i < 101; i++)
		fields[i] = (struct h2_field){ "a", "b" };
	fields[101] = (struct h2_field){ NULL, NULL };
	memset(path + 1, 'p', sizeof(path) - 2);
	h2_client_open(&c, false);
	assert_int_equal(h2_client_wait(&c, h2_client_ask(
		&c, "GET", path, NULL, 0))->status, 414);
	assert_int_equal(h2_client_wait(&c, h2_client_ask(
		&c, "GET", "/late", fields, 0))->status, 431);
	assert_int_equal(h2_client_wait(&c, h2_client_ask(
		&c, "GET", "/late", NULL, 0))->status, 200);
	h2_client_close(&c);
}

/* A header whose end does not come takes its connection with it. */
static void a_header_without_end(void **state)
{
	struct h2_client c;

	(void)state;
	h2_client_open(&c, false);
	h2_client_ask(&c, "GET", "/never", NULL, 0);
	h2_client_run(&c, 10);
	h2_client_send_frame(&c, NGHTTP2_HEADERS, 1, 3, "\x82", 1);
	h2_client_wait_over(&c);
	assert_int_equal(c.error, CALM);
	h2_client_close(&c);
	wait_for(&at.aborted, 1);
}

/* One that is malformed has ended all the same: others are not cut off when its
 * time is up. */
static void a_malformed_header_beside_others(void **state)
{
	static const struct h2_field malformed[] = { { ":method", "GET" },
						     { NULL, NULL } };
	struct h2_client c;
	int32_t id;

	(void)state;
	h2_client_open(&c, false);
	h2_client_ask(&c, "GET", "/never", NULL, 0);
	h2_client_run(&c, 10);
	id = h2_client_ask_raw(&c, malformed);
	assert_int_equal(h2_client_wait(&c, id)->error,
			 NGHTTP2_PROTOCOL_ERROR);
	h2_client_run(&c, 200);
	assert_false(c.over);
	h2_client_close(&c);
	wait_for(&at.aborted, 1);
}

/* One that opens no window loses its stream, and only that. */
static void a_slow_reader(void **state)
{
	struct h2_answer *a;
	struct h2_client c;
	int32_t slow;

	(void)state;
	h2_client_open(&c, true);
	slow = h2_client_ask(&c, "GET", "/big", NULL, 0);
	a = h2_client_answer(&c, slow);
	while (!a->closed) {
		/* so that there is always something under way */
		assert_int_equal(h2_client_wait(&c, h2_client_ask(
			&c, "GET", "/late", NULL, 0))->status, 200);
	}
	assert_int_equal(a->error, CALM);
	assert_int_equal(a->len, 65535);
	wait_for(&at.aborted, 1);
	h2_client_close(&c);
}

static void a_slow_upload(void **state)
{
	struct h2_client c;
	int32_t id;

	(void)state;
	h2_client_open(&c, false);
	id = h2_client_ask(&c, "POST", "/upload", NULL, 10);
	h2_client_answer(&c, id)->stuck = true;
	h2_client_wait(&c, id);
	assert_int_equal(h2_client_answer(&c, id)->error, CALM);
	assert_int_equal(h2_client_wait(&c, h2_client_ask(
		&c, "GET", "/late", NULL, 0))->status, 200);
	h2_client_close(&c);
}

/* Nobody is hurried who waits for this node. */
static void what_waits_for_the_handler(void **state)
{
	struct h2_client c;

	(void)state;
	h2_client_open(&c, false);
	h2_client_ask(&c, "POST", "/hold", NULL, BIG);
	h2_client_ask(&c, "GET", "/never", NULL, 0);
	h2_client_run(&c, 400);
	assert_false(c.over);
	assert_int_equal(atomic_load(&at.aborted), 0);
	h2_client_close(&c);
}

/* Asks, in four requests, for more than the sockets take, and reads nothing. */
static void fill_the_socket(struct h2_client *c)
{
	int32_t ids[4];

	nghttp2_session_set_local_window_size(c->session, 0, 0, 1 << 30);
	for (size_t i = 0; i < NROWS(ids); i++)
		ids[i] = h2_client_ask(c, "GET", "/flow", NULL, 0);
	/* a window is opened of what has been asked for */
	h2_client_send_frame(c, NGHTTP2_PING, 0, 0, "12345678", 8);
	for (size_t i = 0; i < NROWS(ids); i++)
		nghttp2_submit_window_update(c->session, 0, ids[i], 1 << 30);
	h2_client_send_frame(c, NGHTTP2_PING, 0, 0, "12345678", 8);
}

/* Who takes nothing at all is closed, as with HTTP/1.1. */
static void a_client_that_does_not_read(void **state)
{
	struct h2_client c;

	(void)state;
	h2_client_open(&c, false);
	fill_the_socket(&c);
	wait_for(&at.aborted, 4);
	h2_client_close(&c);
}

static void end_upload(void *arg)
{
	if (at.waiting)
		exchange_end_upload(at.waiting, EXCHANGE_DONE);
	atomic_fetch_add((atomic_int *)arg, 1);
}

/* A stream that its client has closed, but whose reply has not gone out yet:
 * its upload may end meanwhile. (On a slow machine it may end before.) */
static void an_upload_behind_what_is_not_read(void **state)
{
	atomic_int ended = 0;
	struct h2_client c;
	int32_t upload;

	(void)state;
	h2_client_open(&c, false);
	upload = h2_client_ask(&c, "POST", "/both?after", NULL, 1000);
	h2_client_answer(&c, upload)->stuck = true;
	while (!h2_client_answer(&c, upload)->ended)
		h2_client_run(&c, 1);
	fill_the_socket(&c);
	usleep(50000);
	h2_client_send_frame(&c, NGHTTP2_RST_STREAM, 0, upload, "\0\0\0\10", 4);
	usleep(50000);
	at.stop = (struct loop_call){ .run = end_upload, .arg = &ended };
	loop_post(at.loop, &at.stop);
	wait_for(&ended, 1);
	h2_client_close(&c);
	wait_for(&at.aborted, 5);
}

static void idle_connections_are_told(void **state)
{
	struct h2_client c;
	int32_t id;

	(void)state;
	h2_client_open(&c, false);
	id = h2_client_ask(&c, "GET", "/late", NULL, 0);
	h2_client_wait(&c, id);
	h2_client_wait_over(&c);
	assert_int_equal(c.goaways, 1);
	assert_int_equal(c.error, NGHTTP2_NO_ERROR);
	assert_int_equal(c.last_id, id);
	h2_client_close(&c);
}

static void a_preface_and_nothing_else(void **state)
{
	struct h2_client c;

	(void)state;
	h2_client_open(&c, false);
	h2_client_wait_over(&c);
	assert_int_equal(c.error, NGHTTP2_NO_ERROR);
	h2_client_close(&c);
}

static void idle_connections_make_room(void **state)
{
	struct h2_client idle, busy, more;

	(void)state;
	h2_client_open(&busy, false);
	h2_client_ask(&busy, "GET", "/never", NULL, 0);
	h2_client_run(&busy, 10);
	h2_client_open(&idle, false);
	h2_client_wait(&idle, h2_client_ask(&idle, "GET", "/late", NULL, 0));
	h2_client_open(&more, false);
	assert_int_equal(h2_client_wait(&more, h2_client_ask(
		&more, "GET", "/late", NULL, 0))->status, 200);
	h2_client_wait_over(&idle);
	assert_int_equal(idle.goaways, 1);
	assert_int_equal(server_crowded_out(at.server), 1);
	h2_client_run(&busy, 0);
	assert_false(busy.over);
	h2_client_close(&busy);
	h2_client_close(&idle);
	h2_client_close(&more);
}

static int set_up_small(void **state)
{
	at.max_connections = 2;
	return set_up_patient(state);
}

static void draining_finishes_what_is_under_way(void **state)
{
	struct h2_client c;
	int32_t first, second;

	(void)state;
	h2_client_open(&c, false);
	first = h2_client_ask(&c, "GET", "/drip", NULL, 0);
	h2_client_run(&c, 0);
	wait_for(&at.begun, 1);
	at.stop = (struct loop_call){ .run = served_drain };
	loop_post(at.loop, &at.stop);
	/* it may be on its way already */
	second = h2_client_ask(&c, "GET", "/chunks", NULL, 0);
	h2_client_wait(&c, first);
	h2_client_wait(&c, second);
	h2_client_wait_over(&c);
	assert_int_equal(h2_client_answer(&c, first)->len, 5000);
	assert_int_equal(h2_client_answer(&c, second)->len, 5000);
	assert_int_equal(c.goaways, 2);
	assert_int_equal(c.error, NGHTTP2_NO_ERROR);
	assert_int_equal(c.last_id, second);
	h2_client_close(&c);
	served_wait_drained();
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
#define PATIENT(f) cmocka_unit_test_setup_teardown(f, set_up_patient, tear_down)
	const struct CMUnitTest tests[] = {
		PATIENT(floods_of_frames),
		PATIENT(a_flood_that_goes_on),
		PATIENT(rapid_resets),
		PATIENT(a_header_that_unpacks_to_much),
		PATIENT(a_header_that_is_too_large),
		TEST(a_header_without_end),
		TEST(a_malformed_header_beside_others),
		TEST(a_slow_reader),
		TEST(a_slow_upload),
		TEST(what_waits_for_the_handler),
		TEST(a_client_that_does_not_read),
		PATIENT(an_upload_behind_what_is_not_read),
		TEST(idle_connections_are_told),
		TEST(a_preface_and_nothing_else),
		cmocka_unit_test_setup_teardown(idle_connections_make_room,
						set_up_small, tear_down),
		PATIENT(draining_finishes_what_is_under_way),
	};
#undef TEST
#undef PATIENT

	return cmocka_run_group_tests(tests, NULL, NULL);
}
