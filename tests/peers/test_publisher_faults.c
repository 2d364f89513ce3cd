/*
 * A publisher that lacks memory, or room: it publishes once there is some, and
 * in the size that there is, or that its objects need; and it says once that a
 * filter is too small. Time passes when the test says so.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "codec/counting.h"
#include "digestd/os/log.h"
#include "digestd/os/loop.h"
#include "digestd/peers/digest_api.h"
#include "digestd/peers/digest_request.h"
#include "digestd/peers/publisher.h"
#include "digestd/store/keypart.h"
#include "tests/codec/alloc.h"
#include "tests/os/still_clock.h"
#include "tests/unit.h"

enum {
	NBITS = 1 << 14,
	NHASH = 3,
	BITS_PER_KEY = 8,
	CROWD = NBITS / BITS_PER_KEY * 2, /* keys that are too many */
	WAIT_MS = 5000,
	RETRY_MS = 60000,
	MAX_ALLOCATIONS = 200,
	PARTS = 4, /* of a rebuild */
};

static struct loop *loop;
static struct digest_api *api;
static struct catalog *catalog;
static struct publisher *publisher;
static uint64_t nkeys;
static unsigned nwarnings, nrebuilds;
static bool rebuilds_well;

/* In place of what the daemon writes. */
void __wrap_log_write(enum log_level level, const char *part,
		      const char *format, ...);
void __wrap_log_write(enum log_level level, const char *part,
		      const char *format, ...)
{
	(void)format;
	nwarnings += level == LOG_WARNING && !strcmp(part, "publisher");
}

static struct catalog *source_lock(void *arg)
{
	(void)arg;
	return catalog;
}

static void source_unlock(void *arg)
{
	(void)arg;
}

static int source_rebuild(void *arg, uint64_t nbits)
{
	struct scd_counting *next;

	(void)arg;
	nrebuilds++;
	if (!rebuilds_well)
		return -ENOMEM;
	assert_int_equal(scd_counting_new(&next, nbits, NHASH), 0);
	catalog_rebuild(catalog, next, PARTS);
	return 0;
}

static struct scd_key key_of(uint64_t n)
{
	return (struct scd_key){ n * 0x9E3779B97F4A7C15u, n };
}

static bool source_rebuild_part(void *arg)
{
	const struct keypart *part = catalog_rebuild_part(catalog);
	struct scd_counting *old;
	bool last;

	(void)arg;
	assert_non_null(part); /* or it goes on without having begun */
	for (uint64_t n = 0; n < nkeys; n++) {
		const struct scd_key key = key_of(n);

		if (keypart_of(&key, part->count) == part->number)
			catalog_rebuild_key(catalog, &key);
	}
	last = catalog_rebuild_next(catalog, &old);
	scd_counting_free(&old);
	return last;
}

static void add_keys(uint64_t n)
{
	while (n-- > 0) {
		const struct scd_key key = key_of(nkeys++);

		catalog_add(catalog, &key);
	}
}

static void remove_keys(uint64_t n)
{
	while (n-- > 0) {
		const struct scd_key key = key_of(--nkeys);

		catalog_remove(catalog, &key);
	}
}

static uint64_t generation(void)
{
	struct publisher_stats stats;

	publisher_stats(publisher, &stats);
	return stats.generation;
}

/* As long as this takes. */
static void pass(unsigned ms)
{
	still_clock_ms += ms;
	assert_int_equal(loop_turn(loop, 0), 0);
}

/* Whether a generation comes within so long. */
static bool comes_within(uint64_t wanted, unsigned ms)
{
	for (; generation() < wanted && ms > 0; ms--)
		pass(1);
	return generation() >= wanted;
}

static void await_generation(uint64_t wanted)
{
	assert_true(comes_within(wanted, WAIT_MS));
}

/* Publishes at once; may ask for filters of up to max_bits. */
static struct publisher_settings settings_to(uint64_t max_bits)
{
	return (struct publisher_settings){
		.source = { .lock = source_lock, .unlock = source_unlock,
			    .rebuild = source_rebuild,
			    .rebuild_part = source_rebuild_part },
		.policy = { .publish = { .share = .01, .min_ms = 1,
					 .max_ms = 20 },
			    .resize = { NBITS, max_bits, BITS_PER_KEY,
					1000 } },
		.instance = 1,
		.keep = 2,
	};
}

/* The same with lists, and with arrays only while they are asked for. */
static struct publisher_settings lists_to(uint64_t max_bits)
{
	struct publisher_settings settings = settings_to(max_bits);

	settings.lists = true;
	settings.list = (struct list_shape){ .fp = .001, .expected = 1000 };
	settings.array_ms = 60000;
	return settings;
}

static void begin_with(const struct publisher_settings *settings)
{
	nwarnings = nrebuilds = 0;
	rebuilds_well = false;
	assert_int_equal(publisher_new(loop, api, settings, &publisher), 0);
}

static void begin(uint64_t max_bits)
{
	const struct publisher_settings settings = settings_to(max_bits);

	begin_with(&settings);
}

static void test_new_needs_memory(void **state)
{
	const struct publisher_settings settings = lists_to(NBITS);
	int err = -ENOMEM;

	(void)state;
	for (unsigned i = 1; err && i < MAX_ALLOCATIONS; i++) {
		alloc_fail_at(i);
		err = publisher_new(loop, api, &settings, &publisher);
		assert_int_equal(err, alloc_failed() ? -ENOMEM : 0);
		alloc_fail_at(0);
	}
	assert_int_equal(err, 0);
}

/*
 * Every allocation on the way of a generation fails. It comes without what was
 * to be in it; or what there is stays, and the next changes are published, but
 * for a lack of memory for the copy itself, which is tried again in a minute.
 */
static void test_generations_come_again(void **state)
{
	unsigned ncopies = 0;
	bool failed = true;

	(void)state;
	for (unsigned i = 1; failed && i < MAX_ALLOCATIONS; i++) {
		uint64_t before;

		begin(NBITS);
		add_keys(20);
		await_generation(1);
		before = generation();
		add_keys(20);
		alloc_fail_at(i);
		while (!alloc_failed() && !comes_within(before + 1, 1))
			;
		failed = alloc_failed();
		alloc_fail_at(0);
		if (generation() == before) {
			add_keys(20);
			if (!comes_within(before + 1, WAIT_MS)) {
				ncopies++;
				assert_true(comes_within(before + 1, RETRY_MS));
			}
		}
		publisher_free(&publisher);
	}
	assert_false(failed);
	assert_int_equal(ncopies, 1);
}

/*
 * The same of lists: a generation comes all the same, or the next one does,
 * once the list is lost, as an array. When the note of a change has failed, and
 * nothing changes behind that, it takes a minute.
 */
static void test_lists_come_again(void **state)
{
	const struct publisher_settings settings = lists_to(NBITS);
	bool failed = true;
	unsigned nlate = 0, narrays = 0, nlists = 0;

	(void)state;
	for (unsigned i = 1; failed && i < MAX_ALLOCATIONS; i++) {
		struct publisher_stats stats;
		uint64_t before;

		catalog_free(&catalog);
		assert_int_equal(catalog_new(&catalog, NBITS, NHASH), 0);
		catalog_note_changes(catalog);
		nkeys = 0;
		begin_with(&settings);
		rebuilds_well = true;
		add_keys(20);
		await_generation(1);
		before = generation();
		alloc_fail_at(i);
		add_keys(20);
		while (!alloc_failed() && !comes_within(before + 1, 1))
			;
		failed = alloc_failed();
		alloc_fail_at(0);
		add_keys(20);
		if (!comes_within(before + 1, WAIT_MS)) {
			nlate++;
			assert_true(comes_within(before + 1, RETRY_MS));
		}
		publisher_stats(publisher, &stats);
		narrays += !stats.width;
		nlists += stats.width > 0;
		publisher_free(&publisher);
	}
	assert_false(failed);
	assert_int_equal(nlate, 1);
	assert_true(narrays > 1 && nlists > 1);
}

/* Without the memory for a larger filter, this one goes out. */
static void test_size_stays(void **state)
{
	(void)state;
	begin(8 * NBITS);
	add_keys(CROWD);
	await_generation(1);
	assert_true(nrebuilds > 0);
	assert_int_equal(nwarnings, 0); /* it may still grow */
	add_keys(100);
	await_generation(2);
}

/* Whether what is published is of this size by and by. */
static bool comes_in_size(uint64_t nbits)
{
	struct publisher_stats stats = { 0 };

	for (int i = 0; i < WAIT_MS && stats.array_bytes != nbits / 8; i++) {
		pass(1);
		publisher_stats(publisher, &stats);
	}
	return stats.array_bytes == nbits / 8;
}

/* With it, what is published grows with its objects, and becomes smaller when
 * they have been few for a while; nothing is lost on the way. */
static void test_size_follows(void **state)
{
	const struct publisher_settings s = settings_to(8 * NBITS);
	struct resize_policy soon = s.policy.resize;
	struct catalog_stats now;

	(void)state;
	begin(8 * NBITS);
	rebuilds_well = true;
	soon.shrink_ms = 20;
	publisher_set(publisher, &s.policy.publish, &soon);
	add_keys(CROWD);
	assert_true(comes_in_size(2 * NBITS));
	catalog_stats(catalog, &now);
	assert_int_equal(now.nkeys, CROWD);
	remove_keys(CROWD - 10);
	assert_true(comes_in_size(NBITS));
	catalog_stats(catalog, &now);
	assert_int_equal(now.nkeys, 10);
	assert_in_range(now.nones, 1, 10 * NHASH);
	assert_int_equal(nrebuilds, 2);
	assert_int_equal(nwarnings, 0);
}

/* It may not grow, which is said once. */
static void test_too_small_is_said_once(void **state)
{
	(void)state;
	begin(NBITS);
	add_keys(CROWD);
	await_generation(1);
	assert_int_equal(nwarnings, 1);
	add_keys(200);
	await_generation(2);
	assert_int_equal(nwarnings, 1);
	assert_int_equal(nrebuilds, 0);
}

static int set_up(void **state)
{
	(void)state;
	nkeys = 0;
	return loop_new(&loop) || catalog_new(&catalog, NBITS, NHASH) ||
	       digest_api_new(&api, 1, &digest_paths_held);
}

static int tear_down(void **state)
{
	(void)state;
	publisher_free(&publisher);
	loop_turn(loop, 0);
	digest_api_free(&api);
	catalog_free(&catalog);
	loop_free(&loop);
	return 0;
}

#define WITH(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH(test_new_needs_memory),
		WITH(test_generations_come_again),
		WITH(test_lists_come_again),
		WITH(test_size_stays),
		WITH(test_size_follows),
		WITH(test_too_small_is_said_once),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
