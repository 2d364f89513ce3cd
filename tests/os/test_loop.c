/*
 * The event loop: order and number of calls, and what a handler may do to
 * others of its turn.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "digestd/os/loop.h"

enum { TIMERS = 500, POSTS = 2000, POSTERS = 3 };

static struct loop *loop;

static int set_up(void **state)
{
	(void)state;
	return loop_new(&loop);
}

static int tear_down(void **state)
{
	(void)state;
	loop_free(&loop);
	return 0;
}

static struct loop_timer timers[TIMERS];
static int64_t last_due;
static int fired;

static void check_order(void *arg)
{
	struct loop_timer *t = arg;

	assert_true(t->due_ms >= last_due);
	assert_true(t->due_ms <= loop_now_ms(loop));
	last_due = t->due_ms;
	fired++;
}

static void timers_fire_in_order(void **state)
{
	unsigned seed = 7;
	int expected = 0;

	(void)state;
	fired = 0;
	last_due = 0;
	for (int i = 0; i < TIMERS; i++) {
		seed = seed * 1103515245 + 12345;
		loop_timer_set(loop, &timers[i],
			       loop_now_ms(loop) + seed / 65536 % 40,
			       check_order, &timers[i]);
	}
	for (int i = 0; i < TIMERS; i++) {
		if (i % 3 == 0)
			loop_timer_clear(loop, &timers[i]);
		else if (i % 3 == 1)
			loop_timer_set(loop, &timers[i],
				       timers[i].due_ms + 10, check_order,
				       &timers[i]);
		expected += i % 3 != 0;
	}
	while (fired < expected)
		assert_int_equal(loop_turn(loop, -1), 0);
	loop_turn(loop, 60);
	assert_int_equal(fired, expected);
}

static int calls;
static struct loop_call again;

static void defer_again(void *arg)
{
	(void)arg;
	calls++;
	loop_defer(loop, &again);
}

static void a_call_that_defers_itself_runs_once_a_turn(void **state)
{
	(void)state;
	calls = 0;
	again = (struct loop_call){ .run = defer_again };
	loop_defer(loop, &again);
	loop_defer(loop, &again);
	for (int i = 1; i < 5; i++) {
		loop_turn(loop, -1);
		assert_int_equal(calls, i);
	}
	loop_undefer(loop, &again);
	loop_turn(loop, 0);
	assert_int_equal(calls, 4);
}

static int waits_begun, waits_over;

static void count_wait(void *arg, bool waits)
{
	assert_ptr_equal(arg, &waits_begun);
	if (waits)
		waits_begun++;
	else
		waits_over++;
	assert_int_equal(waits_begun, waits_over + waits);
}

static void see_that_nobody_waits(void *arg)
{
	(void)arg;
	assert_int_equal(waits_begun, waits_over);
	calls++;
}

static void each_wait_is_between_two_calls(void **state)
{
	(void)state;
	calls = 0;
	again = (struct loop_call){ .run = see_that_nobody_waits };
	loop_on_wait(loop, count_wait, &waits_begun);
	for (int i = 1; i < 4; i++) {
		loop_defer(loop, &again);
		loop_turn(loop, i % 2 ? 0 : 1);
		assert_int_equal(waits_over, i);
	}
	assert_int_equal(calls, 3);
	loop_on_wait(loop, NULL, NULL);
	loop_turn(loop, 0);
	assert_int_equal(waits_over, 3);
}

static struct loop_watch watches[2];
static int ready_calls;

/* Whichever comes first ends both: the other's event must be forgotten. */
static void end_both(void *arg, unsigned events)
{
	(void)arg;
	assert_int_equal(events & LOOP_READ, LOOP_READ);
	ready_calls++;
	loop_unwatch(loop, &watches[0]);
	loop_unwatch(loop, &watches[1]);
	memset(watches, 0, sizeof(watches));
}

static void an_ended_watch_is_silent_at_once(void **state)
{
	int fds[2][2];

	(void)state;
	ready_calls = 0;
	for (int i = 0; i < 2; i++) {
		assert_int_equal(pipe(fds[i]), 0);
		assert_int_equal(write(fds[i][1], "x", 1), 1);
		assert_int_equal(loop_watch(loop, &watches[i], fds[i][0],
					    LOOP_READ, end_both, NULL), 0);
	}
	loop_turn(loop, 1000);
	loop_turn(loop, 0);
	assert_int_equal(ready_calls, 1);
	for (int i = 0; i < 4; i++)
		close(fds[i / 2][i % 2]);
}

static void note_events(void *arg, unsigned events)
{
	*(unsigned *)arg |= events;
}

static void hangups_are_reported(void **state)
{
	struct loop_watch w = { 0 };
	unsigned seen = 0;
	int fds[2];

	(void)state;
	assert_int_equal(pipe(fds), 0);
	assert_int_equal(loop_watch(loop, &w, fds[0], LOOP_HANGUP, note_events,
				    &seen), 0);
	loop_turn(loop, 0);
	assert_int_equal(seen, 0);
	close(fds[1]);
	loop_turn(loop, 1000);
	assert_int_equal(seen, LOOP_HANGUP);
	loop_unwatch(loop, &w);
	close(fds[0]);
}

static void count_events(void *arg, unsigned events)
{
	(void)events;
	++*(int *)arg;
}

/* Each byte that comes is told of once, read or not. */
static void edges_are_reported_once(void **state)
{
	struct loop_watch w = { 0 };
	int fds[2], edges = 0;

	(void)state;
	assert_int_equal(pipe(fds), 0);
	assert_int_equal(loop_watch(loop, &w, fds[0], LOOP_READ | LOOP_EDGE,
				    count_events, &edges), 0);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(write(fds[1], "x", 1), 1);
		loop_turn(loop, 1000);
		loop_turn(loop, 0);
		assert_int_equal(edges, i + 1);
	}
	loop_unwatch(loop, &w);
	close(fds[0]);
	close(fds[1]);
}

struct post {
	struct loop_call call;
	int poster, serial;
};

static int next_serial[POSTERS];
static int received;

static void take_post(void *arg)
{
	struct post *p = arg;

	assert_int_equal(p->serial, next_serial[p->poster]);
	next_serial[p->poster]++;
	free(p);
	if (++received == POSTS * POSTERS)
		loop_stop(loop);
}

static void *poster(void *arg)
{
	for (int i = 0; i < POSTS; i++) {
		struct post *p = calloc(1, sizeof(*p));

		p->call = (struct loop_call){ .run = take_post, .arg = p };
		p->poster = (int)(intptr_t)arg;
		p->serial = i;
		loop_post(loop, &p->call);
	}
	return NULL;
}

static void posts_arrive_in_order(void **state)
{
	pthread_t threads[POSTERS];

	(void)state;
	received = 0;
	memset(next_serial, 0, sizeof(next_serial));
	for (intptr_t i = 0; i < POSTERS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, poster,
						(void *)i), 0);
	assert_int_equal(loop_run(loop), 0);
	for (int i = 0; i < POSTERS; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(received, POSTS * POSTERS);
}

static void clocks_agree_while_nobody_sets_them(void **state)
{
	struct loop *other;

	(void)state;
	assert_int_equal(loop_new(&other), 0);
	/* they are read one after the other */
	assert_in_range(loop_wall_s(loop) - loop_steady_s(loop) + 1, 0, 2);
	assert_in_range(loop_steady_s(other) - loop_steady_s(loop), 0, 1);
	loop_free(&other);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(timers_fire_in_order, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(
			a_call_that_defers_itself_runs_once_a_turn, set_up,
			tear_down),
		cmocka_unit_test_setup_teardown(
			an_ended_watch_is_silent_at_once, set_up, tear_down),
		cmocka_unit_test_setup_teardown(each_wait_is_between_two_calls,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(hangups_are_reported, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(edges_are_reported_once, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(posts_arrive_in_order, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(
			clocks_agree_while_nobody_sets_them, set_up, tear_down),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
