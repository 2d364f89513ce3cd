/*
 * Streams of frames, without a server: who gets one, what it is read as, what
 * ends it, and in which order; each allocation failing. Time passes when the
 * test says so.
 */
#include <stdlib.h>
#include <string.h>

#include "digestd/os/loop.h"
#include "digestd/peers/digest_api.h"
#include "digestd/peers/digest_request.h"
#include "digestd/peers/peer_note.h"
#include "tests/codec/alloc.h"
#include "tests/os/still_clock.h"
#include "tests/server/exchange_fake.h"
#include "tests/unit.h"

#define TAG(generation) "\"00000000000000ab-" #generation "-list\""

enum { INSTANCE = 0xab, MAX_WAIT_S = 1, FULL_BYTES = 100, STEPS = 3 };

static const char *wait;

static struct loop *loop;
static struct generations *generations;
static struct digest_api *api;

static int set_up(void **state)
{
	(void)state;
	wait = "wait=60";
	return loop_new(&loop) || generations_new(&generations, INSTANCE, 4) ||
			       digest_api_new(&api, MAX_WAIT_S,
					      &digest_paths_held) ?
		       -1 :
		       0;
}

static int tear_down(void **state)
{
	(void)state;
	digest_api_free(&api);
	generations_free(&generations);
	loop_free(&loop);
	return 0;
}

/* A generation, with the frames of the last three: four bytes each, which end
 * with the generation that they lead to. */
static void publish(uint8_t generation)
{
	struct catalog_snapshot snapshot = { .generation = generation };
	struct list_publication *list =
		calloc(1, sizeof(*list) + STEPS * sizeof(list->steps[0]));
	uint8_t from = generation > STEPS ? generation - STEPS : 1;
	struct publication *p;

	assert_non_null(list);
	list->generation = list->full_generation = generation;
	list->full = blob_take(calloc(1, FULL_BYTES), FULL_BYTES);
	for (; from < generation; from++) {
		const uint8_t frame[] = { 1, 2, 0, from + 1 };
		struct list_step *step = &list->steps[list->nsteps++];
		uint8_t *bytes = malloc(sizeof(frame));

		assert_non_null(bytes);
		memcpy(bytes, frame, sizeof(frame));
		step->from = from;
		step->frame = blob_take(bytes, sizeof(frame));
	}
	assert_int_equal(generations_publish(generations, &snapshot, &p), 0);
	p->list = list;
	digest_api_publish(api, p);
}

/* A request as a follower makes it, with one field more. */
static int make(struct exchange *x, const char *method, const char *tag,
		const char *name, const char *value)
{
	exchange_fake_make(x, loop, method, "/scd/v1/digest");
	x->request.minor = 1;
	return fields_add(&x->fields, "If-None-Match", tag) ||
	       fields_add(&x->fields, "Accept", "application/scd-list") ||
	       fields_add(&x->fields, "A-IM", "scd-stream, scd-frames") ||
	       fields_add(&x->fields, "Prefer", wait) ||
	       (name && fields_add(&x->fields, name, value));
}

static void ask(struct exchange *x, const char *tag)
{
	assert_int_equal(make(x, "GET", tag, NULL, NULL), 0);
	digest_api_handler.on_request(api, x);
}

/* The exchange is over, and its reply is released: in the order that a server
 * may have it. */
static void done(struct exchange *x, bool released_first)
{
	if (released_first && x->source.release)
		x->source.release(x->source.arg);
	digest_api_handler.on_done(api, x, EXCHANGE_DONE);
	if (!released_first && x->source.release)
		x->source.release(x->source.arg);
	exchange_fake_free(x);
}

static void check_read(const struct exchange *x, size_t cap, const char *bytes,
		       size_t len)
{
	char got[64];

	assert_int_equal(x->source.read(x->source.arg, got, cap), len);
	assert_memory_equal(got, bytes, len);
}

static void check_waits(const struct exchange *x)
{
	char byte;

	assert_int_equal(x->source.read(x->source.arg, &byte, 1), BODY_WAIT);
}

static void check_over(const struct exchange *x)
{
	char byte;

	assert_int_equal(x->source.read(x->source.arg, &byte, 1), BODY_END);
}

static void test_frames_as_they_come(void **state)
{
	struct digest_api_counters c;
	struct exchange x;

	(void)state;
	publish(1);
	publish(2);
	ask(&x, TAG(1));
	assert_int_equal(x.status, 226);
	assert_string_equal(fields_get(&x.reply, "IM"), "scd-stream");
	assert_string_equal(fields_get(&x.reply, "Delta-Base"), TAG(1));
	assert_string_equal(fields_get(&x.reply, "ETag"), TAG(2));
	check_read(&x, 64, "\1\2\0\2", 4);
	check_waits(&x);
	publish(3);
	publish(4);
	assert_int_equal(x.wakes, 0);
	assert_int_equal(loop_turn(loop, 0), 0);
	assert_int_equal(x.wakes, 1); /* for both */
	check_read(&x, 6, "\1\2\0\3\1\2", 6);
	check_read(&x, 64, "\0\4", 2);
	check_waits(&x);
	digest_api_count(api, &c);
	assert_int_equal(c.streams, 1);
	assert_int_equal(c.delta_sent_bytes, 12);
	done(&x, true);
}

static void test_who_gets_none(void **state)
{
	static const struct {
		const char *label;
		const char *method, *name, *value;
		unsigned minor;
	} rows[] = {
		{ "behind a proxy", "GET", "Via", "1.1 p", 1 },
		{ "HEAD", "HEAD", NULL, NULL, 1 },
		{ "HTTP/1.0", "GET", NULL, NULL, 0 },
	};
	struct exchange x;

	(void)state;
	publish(1);
	publish(2);
	for (size_t i = 0; i < NROWS(rows); i++) {
		assert_int_equal(make(&x, rows[i].method, TAG(1), rows[i].name,
				      rows[i].value), 0);
		x.request.minor = rows[i].minor;
		digest_api_handler.on_request(api, &x);
		if (x.source.read || x.status != 226 ||
		    strcmp(fields_get(&x.reply, "IM"), "scd-frames") != 0)
			fail_msg("%s: a stream", rows[i].label);
		done(&x, true);
	}
	ask(&x, TAG(9)); /* nothing leads from there */
	assert_int_equal(x.status, 200);
	done(&x, true);
	digest_api_drain(api);
	ask(&x, TAG(2));
	assert_int_equal(x.status, 304);
	done(&x, true);
	digest_api_free(&api); /* one that keeps nobody waiting */
	assert_int_equal(digest_api_new(&api, 0, &digest_paths_held), 0);
	ask(&x, TAG(1));
	assert_int_equal(x.status, 503);
	done(&x, true);
	publish(3);
	ask(&x, TAG(2));
	assert_int_equal(x.status, 226);
	assert_null(x.source.read);
	done(&x, true);
	digest_api_free(&api); /* one that another process has taken over */
	assert_int_equal(digest_api_new(&api, MAX_WAIT_S, &digest_paths_held),
			 0);
	ask(&x, TAG(1)); /* before there is anything */
	assert_int_equal(x.status, 503);
	done(&x, true);
	publish(4);
	digest_api_hand_over(api);
	ask(&x, TAG(3));
	assert_null(x.source.read);
	done(&x, true);
}

/* That it drains ends it, between two frames, for another request to hear it.
 */
static void test_draining_ends_it(void **state)
{
	struct exchange x, y;

	(void)state;
	publish(1);
	ask(&x, TAG(1));
	ask(&y, TAG(1));
	publish(2);
	check_read(&x, 1, "\1", 1);
	digest_api_drain(api);
	assert_int_equal(loop_turn(loop, 0), 0);
	assert_true(x.wakes && y.wakes);
	check_over(&y);
	check_read(&x, 64, "\2\0\2", 3);
	check_over(&x);
	done(&x, true);
	done(&y, true);
}

/* When others may be let in, those who read show their tokens again. */
static void test_all_ask_again(void **state)
{
	struct exchange x, y;

	(void)state;
	publish(1);
	ask(&x, TAG(1));
	publish(2);
	check_read(&x, 1, "\1", 1);
	digest_api_end_streams(api);
	assert_int_equal(loop_turn(loop, 0), 0);
	assert_true(x.wakes);
	check_read(&x, 64, "\2\0\2", 3);
	check_over(&x);
	done(&x, true);
	ask(&y, TAG(2)); /* the next one begins */
	assert_int_equal(loop_turn(loop, 0), 0);
	check_waits(&y);
	done(&y, true);
}

/* Whom it suspects stands between two frames, for all; and is no frame. */
static void test_suspects_between_frames(void **state)
{
	struct digest_api_counters c;
	struct exchange x, y;

	(void)state;
	publish(1);
	ask(&x, TAG(1));
	ask(&y, TAG(1));
	publish(2);
	check_read(&x, 1, "\1", 1);
	digest_api_suspect(api, 0xabc, 5, INT64_MAX);
	digest_api_suspect(api, 0xdef, 5, 5); /* not any more */
	assert_int_equal(loop_turn(loop, 0), 0);
	assert_true(x.wakes && y.wakes);
	check_read(&x, 64, "\2\0\2\21\0200000000000000abc", 21);
	check_waits(&x);
	check_read(&y, 64, "\21\0200000000000000abc\1\2\0\2", 22);
	digest_api_suspect(api, 0xfed, 6, INT64_MAX);
	check_read(&x, 64, "\21\0420000000000000abc, 0000000000000fed", 36);
	digest_api_count(api, &c);
	assert_int_equal(c.stream_notes, 3);
	assert_int_equal(c.delta_sent_bytes, 8);
	done(&x, true);
	done(&y, true);
	loop_turn(loop, 0);
}

/* The same of leases, if that is new. */
static void test_leases_between_frames(void **state)
{
	struct exchange x;

	(void)state;
	publish(1);
	digest_api_say_leases(api, true);
	ask(&x, TAG(1));
	digest_api_say_leases(api, true);
	assert_int_equal(loop_turn(loop, 0), 0);
	check_waits(&x);
	digest_api_say_leases(api, false);
	assert_int_equal(loop_turn(loop, 0), 0);
	assert_int_equal(x.wakes, 1);
	digest_api_say_leases(api, true);
	digest_api_say_leases(api, false); /* of several, the last */
	check_read(&x, 64, "\20\11leases=?0", 11);
	check_waits(&x);
	loop_turn(loop, 0);
	done(&x, true);
}

static bool send_to(uint64_t instance, const char *text)
{
	const struct peer_note note = { "", instance, DIGEST_NOTE_INVALIDATIONS,
					(const uint8_t *)text, strlen(text) };

	return digest_api_send_note(api, &note);
}

static void ask_as(struct exchange *x, const char *instance)
{
	assert_int_equal(make(x, "GET", TAG(1), "Scd-Hears", instance), 0);
	digest_api_handler.on_request(api, x);
}

/* Who has said who it is gets what is for it, in its newest stream. */
static void test_notes_for_one(void **state)
{
	struct exchange x[4];

	(void)state;
	publish(1);
	ask_as(&x[0], "00000000000000cd");
	ask_as(&x[1], "00000000000000cd");
	ask_as(&x[2], "00000000000000ce");
	ask_as(&x[3], "cd"); /* which is none */
	assert_false(send_to(0, "a"));
	assert_false(send_to(0xab, "a"));
	assert_true(send_to(0xcd, "a"));
	assert_true(send_to(0xcd, "bc")); /* in its place */
	assert_int_equal(loop_turn(loop, 0), 0);
	assert_int_equal(x[1].wakes, 1);
	check_read(&x[1], 64, "\22\2bc", 4);
	check_waits(&x[1]);
	check_waits(&x[0]);
	check_waits(&x[2]);
	check_waits(&x[3]);
	done(&x[1], true);
	assert_true(send_to(0xcd, "d"));
	digest_api_drain(api);
	assert_false(send_to(0xce, "e"));
	loop_turn(loop, 0);
	check_over(&x[0]);
	done(&x[0], false);
	done(&x[2], true);
	done(&x[3], true);
}

/* Somebody who takes it so slowly that frames are gone. */
static void test_left_behind(void **state)
{
	struct exchange x;

	(void)state;
	publish(1);
	ask(&x, TAG(1));
	for (uint8_t i = 2; i < 9; i++)
		publish(i);
	check_over(&x);
	loop_turn(loop, 0);
	done(&x, true);
}

static void pass(unsigned ms)
{
	still_clock_ms += ms;
	assert_int_equal(loop_turn(loop, 0), 0);
}

/* Until it wakes up; how long that takes [ms]. */
static unsigned wait_for_wake(const struct exchange *x)
{
	const unsigned wakes = x->wakes;
	unsigned ms = 0;

	for (; x->wakes == wakes; ms++)
		pass(1);
	return ms;
}

/* It says so, and goes on. */
static void test_quiet(void **state)
{
	struct digest_api_counters c;
	struct exchange x;

	(void)state;
	wait = "wait=1";
	publish(1);
	ask(&x, TAG(1));
	check_waits(&x);
	for (int i = 0; i < 2; i++) {
		assert_in_range(wait_for_wake(&x), 750, 1000);
		check_read(&x, 64, "", 1);
		check_waits(&x);
	}
	wait_for_wake(&x);
	publish(2); /* before it is read */
	check_read(&x, 64, "\1\2\0\2", 4);
	check_waits(&x);
	digest_api_count(api, &c);
	assert_int_equal(c.delta_sent, 1);
	done(&x, true);
	loop_turn(loop, 0); /* which is no news to anybody any more */
}

/* Those that began at about the same time wake up at once. */
static void test_quiet_together(void **state)
{
	struct exchange x[3];

	(void)state;
	wait = "wait=2";
	publish(1);
	for (int i = 0; i < 3; i++)
		ask(&x[i], TAG(1));
	wait_for_wake(&x[0]);
	for (int i = 0; i < 3; i++)
		check_read(&x[i], 64, "", 1);
	wait_for_wake(&x[0]);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(x[i].wakes, 2);
		done(&x[i], true);
	}
}

/* However much there is to tell, it ends after a while; for another request to
 * show a token that is taken. */
static void test_its_time_is_over(void **state)
{
	struct exchange x;
	unsigned s;

	(void)state;
	publish(1);
	pass(0);
	ask(&x, TAG(1));
	for (s = 0; s < 15 * 60; s++) {
		char byte;

		assert_int_not_equal(x.source.read(x.source.arg, &byte, 1),
				     BODY_END);
		pass(1000);
	}
	check_over(&x);
	assert_true(x.wakes > 15);
	done(&x, true);
}

/* It leaves while it is being woken, in either order of its two ends. */
static void test_leaving(void **state)
{
	struct exchange x;

	(void)state;
	publish(1);
	for (int i = 0; i < 4; i++) {
		ask(&x, i % 2 ? TAG(2) : TAG(1));
		if (i == 1)
			publish(3);
		else
			publish(2);
		if (i == 3)
			loop_turn(loop, 0);
		done(&x, i % 2);
		loop_turn(loop, 0);
	}
}

static void test_every_allocation(void **state)
{
	struct exchange x;
	bool failed = true;

	(void)state;
	publish(1);
	publish(2);
	for (unsigned n = 1; failed; n++) {
		assert_int_equal(make(&x, "GET", TAG(2), NULL, NULL), 0);
		alloc_fail_at(n);
		digest_api_handler.on_request(api, &x);
		failed = alloc_failed();
		alloc_fail_at(0);
		if (!x.answers) { /* it waits, as if it took none */
			digest_api_suspect(api, 1, 0, INT64_MAX);
			loop_turn(loop, 0);
		}
		assert_int_equal(x.answers, 1);
		done(&x, true);
		loop_turn(loop, 0);
	}
	assert_int_equal(x.status, 226);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define T(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
		T(test_frames_as_they_come),
		T(test_who_gets_none),
		T(test_draining_ends_it),
		T(test_all_ask_again),
		T(test_suspects_between_frames),
		T(test_leases_between_frames),
		T(test_notes_for_one),
		T(test_left_behind),
		T(test_quiet),
		T(test_quiet_together),
		T(test_its_time_is_over),
		T(test_leaving),
		T(test_every_allocation),
#undef T
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
