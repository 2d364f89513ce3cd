/*
 * Replies that are ready: what is found, and when it is given up.
 */
#include "tests/unit.h"

#include <string.h>

#include "digestd/cache/cache.h"
#include "digestd/proxy/ready.h"
#include "digestd/server/server.h"

static struct ready ready;
static unsigned released;

static void count_release(void *arg)
{
	(void)arg;
	released++;
}

static struct shared_reply *make(void)
{
	const struct body_memory body = { "x", 1, count_release, NULL };

	return shared_reply_new(200, NULL, &body);
}

static int set_up(void **state)
{
	(void)state;
	memset(&ready, 0, sizeof(ready));
	released = 0;
	return loop_new(&ready.loop);
}

static int tear_down(void **state)
{
	(void)state;
	ready_clear(&ready);
	loop_free(&ready.loop);
	return 0;
}

/* Puts a reply there at the second request. */
static struct shared_reply *ask_twice(const struct ready_hit *hit)
{
	struct shared_reply *reply = make();
	struct ready_slot *slot;
	bool wanted;

	assert_null(ready_find(&ready, hit, &wanted)->reply);
	assert_false(wanted);
	slot = ready_find(&ready, hit, &wanted);
	assert_null(slot->reply);
	assert_true(wanted);
	ready_keep(&ready, slot, reply);
	assert_ptr_equal(ready_find(&ready, hit, &wanted)->reply, reply);
	assert_false(wanted);
	return reply;
}

static void each_is_for_its_hit_and_second(void **state)
{
	struct cached a = { .entry.key.lo = 1 }, b = { .entry.key.lo = 2 };
	struct cached c = { .entry.key.lo = 1 + READY_SLOTS };
	const struct ready_hit hits[] = {
		{ &a, 100, 1 }, { &b, 100, 1 }, { &a, 101, 1 },
		{ &a, 100, 1 }, { &a, 100, 2 }, { &c, 100, 2 },
	};
	static const unsigned gone[] = { 0, 0, 1, 2, 3, 4 };

	(void)state;
	for (size_t i = 0; i < sizeof(hits) / sizeof(hits[0]); i++) {
		ask_twice(&hits[i]);
		assert_int_equal(released, gone[i]);
	}
	ready_clear(&ready);
	assert_int_equal(released, 6);
	assert_null(ready.timer.link);
}

/* What is asked for twice is so though the response was replaced meanwhile,
 * whether the new one has the address of the old one or not. */
static void notes_are_for_a_key(void **state)
{
	struct cached a = { .entry.key = { 1, 2 } };
	struct cached b = { .entry.key = { 1, 2 } };
	struct cached c = { .entry.key = { 1, 3 } };
	const struct ready_hit hits[] = { { &a, 100, 1 }, { &b, 100, 1 } };
	const struct ready_hit other = { &c, 100, 1 };
	struct ready_slot *slot;
	bool wanted;

	(void)state;
	ready_find(&ready, &hits[0], &wanted);
	assert_false(wanted);
	slot = ready_find(&ready, &hits[1], &wanted);
	assert_true(wanted);
	ready_keep(&ready, slot, make());
	/* but what was made is for its response only */
	assert_null(ready_find(&ready, &hits[0], &wanted)->reply);
	assert_false(wanted);
	assert_int_equal(released, 1);
	/* and of another key nothing was asked for, whose slot it is, too */
	ready_find(&ready, &other, &wanted);
	assert_false(wanted);
}

static void a_sweep_leaves_this_second(void **state)
{
	struct cached a = { .entry.key.lo = 1 }, b = { .entry.key.lo = 2 };
	const struct ready_hit old = { &a, 100, 1 }, new = { &b, 101, 1 };
	struct shared_reply *reply;
	bool wanted;

	(void)state;
	ask_twice(&old);
	assert_non_null(ready.timer.link);
	reply = ask_twice(&new);
	ready_sweep(&ready, 101);
	assert_int_equal(released, 1);
	assert_non_null(ready.timer.link);
	assert_ptr_equal(ready_find(&ready, &new, &wanted)->reply, reply);
	loop_timer_clear(ready.loop, &ready.timer); /* as if it had fired */
	ready_sweep(&ready, 99); /* the clock may go back */
	assert_int_equal(released, 2);
	assert_null(ready.timer.link);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(each_is_for_its_hit_and_second,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(notes_are_for_a_key,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_sweep_leaves_this_second,
						set_up, tear_down),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
