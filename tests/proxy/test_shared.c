/*
 * Joining and leading after a miss, when another worker stores, lands and
 * purges between the two.
 */
#include <stdlib.h>
#include <string.h>

#include "digestd/http/freshness.h"
#include "digestd/proxy/shared.h"
#include "tests/unit.h"

static const uint8_t secret[16] = "0123456789abcde";
static const char uri[] = "http://h/a";

static struct bench {
	struct cache *cache;
	struct flights *flights;
	struct loop *loop;
	struct scd_key key;
	struct flight lead, other;
	struct flight_waiter wait;
	int calls;
} b;

static void called(void *arg)
{
	(void)arg;
	b.calls++;
	loop_stop(b.loop);
}

static int set_up(void **state)
{
	const struct cache_settings settings = {
		.max_bytes = 1 << 20,
		.max_variants = 4,
		.policy = "sieve",
		.nbits = 1024,
		.nhash = 3,
		.bits_per_key = 32,
		.max_bits = 1 << 20,
		.hash_secret = secret,
	};

	(void)state;
	memset(&b, 0, sizeof(b));
	b.wait.call.run = called;
	scd_key_make(secret, "GET", uri, strlen(uri), &b.key);
	if (cache_new(&settings, &b.cache) || flights_new(&b.flights) ||
	    loop_new(&b.loop))
		return -1;
	b.wait.loop = b.loop;
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	flights_land(b.flights, &b.lead);
	flights_land(b.flights, &b.other);
	flights_free(&b.flights);
	cache_free(&b.cache);
	loop_free(&b.loop);
	return 0;
}

/* Stores a response of a fetch that began after so many purges. */
static struct cached *store(uint64_t asked)
{
	const struct freshness freshness = { .lifetime_s = 60 };
	const struct cached_head head = { uri, &fields_none, &fields_none, 200,
					  &freshness, false };
	const struct cache_fill fill = { &b.key, &fields_none, asked };
	struct cached *c = cached_new(&head);

	assert_non_null(c);
	c->place = ADMISSION_DISK;
	cache_put(b.cache, &fill, c);
	return c;
}

static enum shared_place join(const struct cached *known, struct flight *lead,
			      struct flight_waiter *wait)
{
	const struct shared_miss miss = { &b.key, &fields_none, known };

	return shared_join(b.cache, b.flights, &miss, lead, wait);
}

static void the_second_waits(void **state)
{
	(void)state;
	assert_int_equal(join(NULL, &b.lead, NULL), SHARED_LEADS);
	assert_int_equal(join(NULL, &b.other, &b.wait), SHARED_WAITS);
	flights_land(b.flights, &b.lead);
	assert_int_equal(loop_run(b.loop), 0);
	assert_int_equal(b.calls, 1);
}

/* It has missed, and then the first fetch has stored and landed: it does not
 * fetch again. */
static void what_was_stored_meanwhile_is_found(void **state)
{
	struct cached *c;

	(void)state;
	assert_int_equal(join(NULL, &b.lead, NULL), SHARED_LEADS);
	c = store(0);
	flights_land(b.flights, &b.lead);
	assert_int_equal(join(NULL, &b.other, &b.wait), SHARED_STORED);
	assert_false(b.other.under_way);
	/* what it has found itself, and found stale, is no news */
	assert_int_equal(join(c, &b.other, &b.wait), SHARED_LEADS);
	cached_unref(&c);
}

/* Neither joined nor stored: what began before a purge. */
static void a_purge_parts_them(void **state)
{
	struct cached *c;

	(void)state;
	assert_int_equal(join(NULL, &b.lead, NULL), SHARED_LEADS);
	cache_drop(b.cache, &b.key, NULL, 0);
	assert_int_equal(join(NULL, &b.other, &b.wait), SHARED_LEADS);
	c = store(0);
	assert_int_equal(cached_place(c), ADMISSION_NO);
	cached_unref(&c);
	flights_land(b.flights, &b.lead);
	assert_true(b.other.under_way);
}

#define row(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		row(the_second_waits),
		row(what_was_stored_meanwhile_is_found),
		row(a_purge_parts_them),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
