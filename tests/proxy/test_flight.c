/*
 * Flights: who leads, who waits and is called, and that threads whose keys
 * fall into one bucket do not disturb each other (shown by ThreadSanitizer).
 */
#include "tests/unit.h"

#include <pthread.h>

#include "digestd/proxy/flight.h"
#include "digestd/proxy/relay.h"

enum {
	THREADS = 3,
	ROUNDS = 20000,
	APART = 1 << 20, /* keys so far apart share a bucket, whatever many */
};

static const struct scd_key key = { .hi = 1, .lo = 7 };

struct bench {
	struct flights *flights;
	struct loop *loop;
};

struct waiter {
	struct flight_waiter wait;
	struct loop *loop;
	int calls;
};

static int make(void **state)
{
	static struct bench b;

	*state = &b;
	return flights_new(&b.flights) || loop_new(&b.loop);
}

static int end(void **state)
{
	struct bench *b = *state;

	flights_free(&b->flights);
	loop_free(&b->loop);
	return b->flights || b->loop;
}

static void called(void *arg)
{
	struct waiter *w = arg;

	w->calls++;
	loop_stop(w->loop);
}

static void prepare(struct waiter *w, struct bench *b)
{
	*w = (struct waiter){ .loop = b->loop, .wait.loop = b->loop };
	w->wait.call.run = called;
	w->wait.call.arg = w;
}

static void test_second_waits_until_the_first_lands(void **state)
{
	struct bench *b = *state;
	struct flight lead = { 0 }, other = { 0 };
	struct waiter w;

	prepare(&w, b);
	assert_int_equal(flights_join(b->flights, &key, &lead, NULL),
			 FLIGHT_LEADS);
	assert_int_equal(flights_join(b->flights, &key, &other, &w.wait),
			 FLIGHT_WAITS);
	flights_land(b->flights, &other); /* it never took off */
	assert_int_equal(w.calls, 0);
	flights_land(b->flights, &lead);
	assert_int_equal(loop_run(b->loop), 0);
	assert_int_equal(w.calls, 1);
	assert_int_equal(flights_join(b->flights, &key, &other, NULL),
			 FLIGHT_LEADS);
	flights_land(b->flights, &other);
}

static void test_who_has_left_is_not_called(void **state)
{
	struct bench *b = *state;
	struct flight lead = { 0 }, other = { 0 };
	struct waiter leaves, stays;

	prepare(&leaves, b);
	prepare(&stays, b);
	flights_join(b->flights, &key, &lead, NULL);
	flights_join(b->flights, &key, &other, &leaves.wait);
	flights_join(b->flights, &key, &other, &stays.wait);
	assert_true(flights_leave(b->flights, &leaves.wait));
	flights_land(b->flights, &lead);
	assert_false(flights_leave(b->flights, &stays.wait));
	assert_int_equal(loop_run(b->loop), 0);
	assert_int_equal(leaves.calls, 0);
	assert_int_equal(stays.calls, 1);
}

/* What began before a purge goes on for those who are in it; who comes after
 * leads another. */
static void test_what_began_before_a_purge_is_not_joined(void **state)
{
	struct bench *b = *state;
	struct flight old = { .begun = 4 }, next = { .begun = 6, .purged = 5 };
	struct flight last = { .begun = 7, .purged = 5 };
	struct waiter early, late;

	prepare(&early, b);
	prepare(&late, b);
	flights_join(b->flights, &key, &old, NULL);
	last.purged = 4; /* asked while it was still to come */
	assert_int_equal(flights_join(b->flights, &key, &last, &early.wait),
			 FLIGHT_WAITS);
	assert_int_equal(flights_join(b->flights, &key, &next, NULL),
			 FLIGHT_LEADS);
	last.purged = 5;
	assert_int_equal(flights_join(b->flights, &key, &last, &late.wait),
			 FLIGHT_WAITS);
	flights_land(b->flights, &old);
	assert_int_equal(loop_run(b->loop), 0);
	assert_int_equal(early.calls, 1);
	assert_int_equal(late.calls, 0);
	flights_land(b->flights, &next);
	assert_int_equal(loop_run(b->loop), 0);
	assert_int_equal(late.calls, 1);
}

static void test_lands_alone_when_nobody_waits(void **state)
{
	struct bench *b = *state;
	struct flight lead = { 0 }, next = { 0 };
	struct waiter w;

	prepare(&w, b);
	assert_true(flights_land_alone(b->flights, &lead)); /* not under way */
	assert_int_equal(flights_join(b->flights, &key, &lead, NULL),
			 FLIGHT_LEADS);
	assert_int_equal(flights_join(b->flights, &key, &next, &w.wait),
			 FLIGHT_WAITS);
	assert_false(flights_land_alone(b->flights, &lead));
	assert_true(lead.under_way);
	assert_true(flights_leave(b->flights, &w.wait));
	assert_true(flights_land_alone(b->flights, &lead));
	assert_false(lead.under_way);
	assert_int_equal(flights_join(b->flights, &key, &next, &w.wait),
			 FLIGHT_LEADS);
	flights_land(b->flights, &next);
}

/* One who reads what is shown keeps it in the air, until it is done. */
static void test_lands_alone_when_nobody_reads(void **state)
{
	struct bench *b = *state;
	struct flight lead = { 0 }, next = { 0 };
	struct relay *relay;
	struct waiter w;

	prepare(&w, b);
	flights_join(b->flights, &key, &lead, NULL);
	assert_int_equal(relay_new(NULL, 10, &relay), 0);
	flights_show(b->flights, &lead, relay);
	assert_int_equal(flights_join(b->flights, &key, &next, &w.wait),
			 FLIGHT_SHOWN);
	assert_false(flights_land_alone(b->flights, &lead));
	relay_unref(&w.wait.relay);
	assert_true(flights_land_alone(b->flights, &lead));
	relay_unref(&relay);
}

struct pilot {
	pthread_t thread;
	struct flights *flights;
	uint64_t number;
	unsigned led;
};

/* Flies its own two keys, both in the bucket that all threads share. */
static void *fly(void *arg)
{
	struct pilot *p = arg;
	struct flight a = { 0 }, b = { 0 };
	struct scd_key first = { .lo = p->number * 2 * APART };
	struct scd_key second = { .lo = (p->number * 2 + 1) * APART };

	for (int i = 0; i < ROUNDS; i++) {
		p->led += flights_join(p->flights, &first, &a, NULL) ==
			  FLIGHT_LEADS;
		p->led += flights_join(p->flights, &second, &b, NULL) ==
			  FLIGHT_LEADS;
		flights_land(p->flights, i % 2 ? &a : &b);
		flights_land(p->flights, i % 2 ? &b : &a);
	}
	return NULL;
}

static void test_threads_share_a_bucket(void **state)
{
	struct bench *b = *state;
	struct pilot pilots[THREADS];

	for (unsigned i = 0; i < THREADS; i++) {
		pilots[i] = (struct pilot){ .flights = b->flights,
					    .number = i };
		assert_int_equal(pthread_create(&pilots[i].thread, NULL, fly,
						&pilots[i]), 0);
	}
	for (unsigned i = 0; i < THREADS; i++) {
		pthread_join(pilots[i].thread, NULL);
		assert_int_equal(pilots[i].led, 2 * ROUNDS);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			test_second_waits_until_the_first_lands, make, end),
		cmocka_unit_test_setup_teardown(
			test_who_has_left_is_not_called, make, end),
		cmocka_unit_test_setup_teardown(
			test_what_began_before_a_purge_is_not_joined, make,
			end),
		cmocka_unit_test_setup_teardown(
			test_lands_alone_when_nobody_waits, make, end),
		cmocka_unit_test_setup_teardown(
			test_lands_alone_when_nobody_reads, make, end),
		cmocka_unit_test_setup_teardown(test_threads_share_a_bucket,
						make, end),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
