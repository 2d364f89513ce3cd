/*
 * Token buckets of clients: against a bucket of the plainest kind, and in a
 * table that is too small.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>

#include "digestd/node/client_rates.h"
#include "tests/unit.h"

enum { SECOND = 1000000, START = 5 * SECOND };

static const uint64_t secret[2] = { 0x0123456789abcdef, 0xfedcba9876543210 };
static const struct client_rates_key someone = { 0, 0x0100007f };

static int set_up(void **state)
{
	*state = client_rates_new(secret);
	return !*state;
}

static int tear_down(void **state)
{
	client_rates_free((struct client_rates **)state);
	return 0;
}

static void a_burst_and_then_the_rate(void **state)
{
	const struct client_rate limit = { 4, 3 };
	int64_t now = START;

	for (int i = 0; i < 3; i++)
		assert_int_equal(client_rates_take(*state, &someone, &limit,
						   now), 0);
	assert_int_equal(client_rates_take(*state, &someone, &limit, now),
			 250000);
	/* who is refused does not wait longer for it */
	assert_int_equal(client_rates_take(*state, &someone, &limit,
					   now + 249999), 1);
	now += 250000;
	assert_int_equal(client_rates_take(*state, &someone, &limit, now), 0);
	assert_int_equal(client_rates_take(*state, &someone, &limit, now),
			 250000);
	/* it is full again, and no fuller */
	now += 60 * (int64_t)SECOND;
	for (int i = 0; i < 3; i++)
		assert_int_equal(client_rates_take(*state, &someone, &limit,
						   now), 0);
	assert_true(client_rates_take(*state, &someone, &limit, now) > 0);
}

static void clients_apart(void **state)
{
	const struct client_rate limit = { 1, 1 };

	for (uint64_t i = 0; i < 1000; i++) {
		const struct client_rates_key key = { i % 2 ? i : 0,
						      i % 2 ? 0 : i };

		assert_int_equal(client_rates_take(*state, &key, &limit,
						   START), 0);
	}
}

/* After a reload. */
static void another_limit(void **state)
{
	const struct client_rate slow = { 1, 1000 }, quick = { 100, 10 };

	for (int i = 0; i < 1000; i++)
		assert_int_equal(client_rates_take(*state, &someone, &slow,
						   START), 0);
	assert_int_equal(client_rates_take(*state, &someone, &quick, START),
			 10000);
	assert_int_equal(client_rates_take(*state, &someone, &quick,
					   START + 3600 * (int64_t)SECOND), 0);
}

/* The twin: tokens, and when they were counted. */
struct bucket {
	double tokens;
	int64_t at_us;
};

static bool bucket_take(struct bucket *b, const struct client_rate *limit,
			int64_t now_us)
{
	b->tokens += (double)(now_us - b->at_us) * limit->per_s / SECOND;
	b->at_us = now_us;
	if (b->tokens > limit->burst)
		b->tokens = limit->burst;
	if (b->tokens < 1 - 1e-6)
		return false;
	b->tokens -= 1;
	return true;
}

static void as_a_bucket(void **state)
{
	enum { CLIENTS = 50, ROUNDS = 200000 };
	const struct client_rate limit = { 50, 20 };
	struct bucket twins[CLIENTS];
	int64_t now = START;
	unsigned refused = 0;

	srand48(1);
	for (int i = 0; i < CLIENTS; i++)
		twins[i] = (struct bucket){ limit.burst, START };
	for (int i = 0; i < ROUNDS; i++) {
		const uint64_t c = (uint64_t)(lrand48() % CLIENTS);
		const struct client_rates_key key = { c, ~c };
		bool may;

		now += lrand48() % 600;
		may = !client_rates_take(*state, &key, &limit, now);
		assert_int_equal(may, bucket_take(&twins[c], &limit, now));
		refused += !may;
	}
	assert_in_range(refused, ROUNDS / 10, ROUNDS * 9 / 10);
}

/* More than there is room for: none is refused that has not asked before, and
 * those that ask most lately are remembered. */
static void too_many_clients(void **state)
{
	enum { MANY = 4 * CLIENT_RATES_SLOTS, LATE = 1000 };
	const struct client_rate limit = { 1, 1 };
	unsigned remembered = 0;

	for (uint64_t i = 0; i < MANY; i++) {
		const struct client_rates_key key = { i << 20, 0 };

		/* but for some in 65,536 of eight, which share a bucket */
		remembered += client_rates_take(*state, &key, &limit,
						START + (int64_t)i) > 0;
	}
	assert_in_range(remembered, 0, MANY / 2000);
	remembered = 0;
	for (uint64_t i = MANY - LATE; i < MANY; i++) {
		const struct client_rates_key key = { i << 20, 0 };

		remembered += client_rates_take(*state, &key, &limit,
						START + MANY) > 0;
	}
	assert_in_range(remembered, LATE * 9 / 10, LATE);
}

/* All threads of a client have one bucket. */
enum { THREADS = 4, TRIES = 20000 };
static atomic_uint taken;

static void *take_many(void *arg)
{
	const struct client_rate limit = { 1, TRIES };

	for (int i = 0; i < TRIES; i++) {
		if (!client_rates_take(arg, &someone, &limit, START))
			atomic_fetch_add(&taken, 1);
	}
	return NULL;
}

static void threads_share(void **state)
{
	pthread_t threads[THREADS];

	atomic_store(&taken, 0);
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, take_many,
						*state), 0);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	/* two that come first at once may begin a bucket each */
	assert_in_range(atomic_load(&taken), TRIES, TRIES + THREADS);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(a_burst_and_then_the_rate),
		TEST(clients_apart),
		TEST(another_limit),
		TEST(as_a_bucket),
		TEST(too_many_clients),
		TEST(threads_share),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
