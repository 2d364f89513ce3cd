/*
 * What is worth keeping, in this node: what each policy answers for a first
 * and a second use, the cap on what is written, what is counted; settings that
 * change, and each allocation failing.
 */
#include <errno.h>

#include "digestd/cache/admitter.h"
#include "tests/codec/alloc.h"
#include "tests/unit.h"

static struct admitter_settings settings_of(const char *policy)
{
	return (struct admitter_settings){
		.policy = policy, .eviction = "sieve", .capacity = 1 << 20,
		.memory = 1 << 18, .mean_size = 1024, .window = 1000,
		.memory_share = 0.25,
	};
}

static struct admitter *make(const char *policy, uint64_t max_rate)
{
	struct admitter_settings settings = settings_of(policy);
	struct admitter *a;

	settings.max_rate = max_rate;
	assert_int_equal(admitter_new(&settings, 0, &a), 0);
	return a;
}

static struct scd_key key_of(unsigned n)
{
	return (struct scd_key){ 0x9e3779b97f4a7c15u * (n + 1), n };
}

enum { NO = ADMISSION_NO, RAM = ADMISSION_RAM, DISK = ADMISSION_DISK };

static const struct {
	const char *policy;
	int first, second; /* a use of it; the next one */
	bool ram, hits;
	uint64_t ram_bytes; /* of a memory of 1000 */
} policies[] = {
	{ "none", DISK, DISK, false, false, 0 },
	{ "aged", NO, DISK, false, false, 0 },
	{ "probation", RAM, DISK, true, true, 250 },
};

static void test_policies(void **state)
{
	(void)state;
	for (size_t i = 0; i < NROWS(policies); i++) {
		struct admitter *a = make(policies[i].policy, 0);
		struct scd_key key = key_of(1);

		/* a question that is not noted is no use */
		for (int n = 0; n < 3; n++)
			assert_int_equal(admitter_answer(a, &key, 100, false,
							 0),
					 policies[i].first);
		assert_int_equal(admitter_decide(a, &key, 100, 0),
				 policies[i].first);
		assert_int_equal(admitter_answer(a, &key, 100, false, 0),
				 policies[i].second);
		assert_int_equal(admitter_decide(a, &key, 100, 0),
				 policies[i].second);
		assert_int_equal(admitter_wants_ram(a), policies[i].ram);
		assert_int_equal(admitter_hears_hits(a), policies[i].hits);
		assert_int_equal(admitter_ram_bytes(a, 1000),
				 policies[i].ram_bytes);
		admitter_free(&a);
		assert_null(a);
		admitter_free(&a);
	}
}

/* What is noted elsewhere is a use, too. */
static void test_notes(void **state)
{
	struct admitter *a = make("aged", 0);
	struct scd_key key = key_of(1), other = key_of(2);

	(void)state;
	admitter_note(a, &key);
	assert_int_equal(admitter_decide(a, &key, 1, 0), ADMISSION_DISK);
	assert_int_equal(admitter_answer(a, &other, 1, true, 0), ADMISSION_NO);
	assert_int_equal(admitter_decide(a, &other, 1, 0), ADMISSION_DISK);
	admitter_free(&a);
}

/* More than the cap is not written: it stays in RAM, or is not kept. */
static void test_cap(void **state)
{
	static const struct {
		const char *policy;
		int capped;
	} rows[] = { { "none", NO }, { "probation", RAM } };

	(void)state;
	for (size_t i = 0; i < NROWS(rows); i++) {
		struct admitter *a = make(rows[i].policy, 1000);
		struct admitter_stats stats;
		struct scd_key key = key_of(1);
		unsigned admitted = 0, capped = 0;

		admitter_note(a, &key);
		for (int n = 0; n < 100; n++) {
			int d = (int)admitter_decide(a, &key, 100, 0);

			admitted += d == DISK;
			capped += d == rows[i].capped;
		}
		assert_int_equal(admitted + capped, 100);
		assert_true(admitted > 0 && capped > 0);
		admitter_stats(a, &stats);
		assert_int_equal(stats.capped, capped);
		assert_int_equal(stats.admitted, admitted);
		assert_int_equal(stats.admitted_bytes, 100 * admitted);
		assert_int_equal(stats.refused + stats.on_probation, capped);
		/* some time later there is room again */
		assert_int_equal(admitter_decide(a, &key, 100, 60000), DISK);
		admitter_free(&a);
	}
}

static void test_counters(void **state)
{
	struct admitter *a = make("aged", 0);
	struct admitter_stats stats;
	struct scd_key key = key_of(1);

	(void)state;
	admitter_decide(a, &key, 10, 0);
	admitter_decide(a, &key, 20, 0);
	admitter_answer(a, &key, 30, true, 0);
	admitter_answer(a, &key, 40, false, 0);
	admitter_stats(a, &stats);
	assert_int_equal(stats.refused, 1);
	assert_int_equal(stats.admitted, 2);
	assert_int_equal(stats.admitted_bytes, 50);
	assert_int_equal(stats.questions, 2);
	assert_int_equal(stats.on_probation, 0);
	assert_true(stats.window >= 1000);
	assert_true(stats.bytes > 0);
	assert_false(stats.admits_all);
	admitter_free(&a);
	a = make("none", 0);
	admitter_stats(a, &stats);
	assert_int_equal(stats.window, 0);
	assert_true(stats.admits_all);
	admitter_free(&a);
}

/* A window that was not given follows the objects that there are, once they
 * are many; one that was given stays. */
static void test_following(void **state)
{
	static const struct {
		const char *label;
		uint64_t window, entries;
		bool follows;
	} rows[] = {
		{ "few objects say nothing", 0, 999, false },
		{ "many do", 0, 100000, true },
		{ "not where it was given", 1500, 100000, false },
	};

	(void)state;
	for (size_t i = 0; i < NROWS(rows); i++) {
		struct admitter_settings settings = settings_of("aged");
		const struct store_stats held = {
			.entries = rows[i].entries,
			.weight = rows[i].entries * 10,
		};
		struct admitter_stats before, after;
		struct admitter *a;

		settings.window = rows[i].window;
		assert_int_equal(admitter_new(&settings, 0, &a), 0);
		assert_int_equal(admitter_is_fixed(a), rows[i].window != 0);
		admitter_stats(a, &before);
		admitter_follow(a, &held);
		admitter_stats(a, &after);
		if ((after.window > 10 * before.window) != rows[i].follows)
			fail_msg("%s: from %llu to %llu", rows[i].label,
				 (unsigned long long)before.window,
				 (unsigned long long)after.window);
		admitter_free(&a);
	}
}

/* A cap that is lifted while it is in use. */
static void test_setting(void **state)
{
	struct admitter_settings settings = settings_of("none");
	struct admitter *a = make("none", 1);
	struct scd_key key = key_of(1);

	(void)state;
	while (admitter_decide(a, &key, 100, 0) == ADMISSION_DISK)
		;
	admitter_set(a, &settings, 0);
	for (int i = 0; i < 100; i++)
		assert_int_equal(admitter_decide(a, &key, 100, 0),
				 ADMISSION_DISK);
	admitter_free(&a);
}

/* Hits matter to auto alone, which measures them. */
static void test_auto(void **state)
{
	struct admitter *a = make("auto", 0);
	struct scd_key key = key_of(1);

	(void)state;
	assert_true(admitter_hears_hits(a));
	for (int i = 0; i < 1000; i++)
		admitter_request(a, &key, 100, i > 0);
	assert_true(admitter_decide(a, &key, 100, 0) <= ADMISSION_DISK);
	admitter_free(&a);
	a = make("none", 0);
	admitter_request(a, &key, 100, true); /* nobody hears it */
	admitter_free(&a);
}

static void test_errors(void **state)
{
	struct admitter_settings settings = settings_of("some");
	struct admitter *a;
	bool failed = true;

	(void)state;
	assert_null(admitter_policy("some"));
	assert_int_equal(admitter_new(&settings, 0, &a), -EINVAL);
	assert_null(a);
	settings = settings_of("aged");
	settings.window = UINT64_MAX;
	assert_int_equal(admitter_new(&settings, 0, &a), -EINVAL);
	settings = settings_of("auto");
	for (unsigned n = 1; failed; n++) {
		int err;

		a = NULL;
		alloc_fail_at(n);
		err = admitter_new(&settings, 0, &a);
		failed = alloc_failed();
		alloc_fail_at(0);
		assert_int_equal(err, failed ? -ENOMEM : 0);
		admitter_free(&a);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_policies),
		cmocka_unit_test(test_notes),
		cmocka_unit_test(test_cap),
		cmocka_unit_test(test_counters),
		cmocka_unit_test(test_following),
		cmocka_unit_test(test_setting),
		cmocka_unit_test(test_auto),
		cmocka_unit_test(test_errors),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
