/*
 * When the publisher works: it looks at the catalog when something is due or
 * has changed, in whatever thread, and at no other time. Time is the test's.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "digestd/os/loop.h"
#include "digestd/peers/digest_api.h"
#include "digestd/peers/digest_request.h"
#include "digestd/peers/publisher.h"
#include "tests/os/still_clock.h"
#include "tests/unit.h"

enum { NBITS = 1 << 14, NHASH = 3, WAIT_MS = 10000, IDLE_MS = 300 };

/* A catalog with a lock, as a cache has one. */
struct fixture {
	struct loop *loop;
	struct digest_api *api;
	struct publisher *publisher;
	struct catalog *catalog;
	pthread_mutex_t mutex;
	atomic_uint looks;
};

static struct catalog *lock_catalog(void *arg)
{
	struct fixture *f = arg;

	atomic_fetch_add(&f->looks, 1);
	pthread_mutex_lock(&f->mutex);
	return f->catalog;
}

static void unlock_catalog(void *arg)
{
	struct fixture *f = arg;

	pthread_mutex_unlock(&f->mutex);
}

static const struct publish_policy policy = {
	.share = .01, .min_ms = 1, .max_ms = 100};
static const struct resize_policy resizing = {NBITS, NBITS, 8, 1000};

static uint64_t generation(const struct fixture *f)
{
	struct publisher_stats stats;

	publisher_stats(f->publisher, &stats);
	return stats.generation;
}

static void turn_for(struct fixture *f, unsigned ms)
{
	for (; ms > 0; ms--) {
		still_clock_ms++;
		assert_int_equal(loop_turn(f->loop, 0), 0);
	}
}

static void turn_until(struct fixture *f, uint64_t wanted)
{
	for (unsigned i = 0; generation(f) < wanted && i < WAIT_MS; i++)
		turn_for(f, 1);
	assert_int_equal(generation(f), wanted);
}

static void *add_key(void *arg)
{
	struct fixture *f = arg;
	const struct scd_key key = {atomic_load(&f->looks), 3};

	pthread_mutex_lock(&f->mutex);
	catalog_add(f->catalog, &key);
	pthread_mutex_unlock(&f->mutex);
	return NULL;
}

static void add_key_elsewhere(struct fixture *f)
{
	pthread_t thread;

	assert_int_equal(pthread_create(&thread, NULL, add_key, f), 0);
	pthread_join(thread, NULL);
}

static void test_idle(void **state)
{
	struct fixture *f = *state;

	turn_until(f, 1);
	for (uint64_t now = 2; now <= 4; now++) {
		unsigned looks;

		turn_for(f, 50);
		looks = f->looks;
		turn_for(f, IDLE_MS);
		assert_int_equal(f->looks, looks);
		add_key_elsewhere(f);
		turn_until(f, now);
	}
}

/* One change of many keys is no share of them: it is published at the latest
 * time, without a look at the catalog every now and then. */
static void test_latest(void **state)
{
	const struct publish_policy late = {
		.share = .5, .min_ms = 1, .max_ms = 400};
	struct fixture *f = *state;
	unsigned looks;

	for (int i = 0; i < 100; i++)
		add_key(f);
	turn_until(f, 1);
	publisher_set(f->publisher, &late, &resizing);
	add_key_elsewhere(f);
	looks = f->looks;
	turn_until(f, 2);
	assert_true(f->looks - looks < 10);
}

/* A change is on its way when it goes. */
static void test_freed_meanwhile(void **state)
{
	struct fixture *f = *state;

	turn_until(f, 1);
	turn_for(f, 50);
	add_key_elsewhere(f);
	publisher_free(&f->publisher);
	add_key_elsewhere(f);
}

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	struct publisher_settings settings = {
		.source = {.arg = f,
			   .lock = lock_catalog,
			   .unlock = unlock_catalog},
		.policy = {.publish = policy, .resize = resizing},
		.instance = 1,
		.keep = 2,
	};

	assert_non_null(f);
	pthread_mutex_init(&f->mutex, NULL);
	assert_int_equal(loop_new(&f->loop), 0);
	assert_int_equal(catalog_new(&f->catalog, NBITS, NHASH), SCD_OK);
	assert_int_equal(digest_api_new(&f->api, 1, &digest_paths_held), 0);
	assert_int_equal(
		publisher_new(f->loop, f->api, &settings, &f->publisher), 0);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	publisher_free(&f->publisher);
	loop_turn(f->loop, 0);
	digest_api_free(&f->api);
	catalog_free(&f->catalog);
	loop_free(&f->loop);
	pthread_mutex_destroy(&f->mutex);
	free(f);
	return 0;
}

#define WITH(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH(test_idle),
		WITH(test_latest),
		WITH(test_freed_meanwhile),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
