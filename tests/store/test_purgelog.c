/*
 * The log of purges: each key and each walk advances it, and a key hears of no
 * other's.
 */
#include "digestd/store/purgelog.h"
#include "tests/unit.h"

static struct scd_key key_of(uint64_t n)
{
	return (struct scd_key){ .lo = n * 77, .hi = n };
}

static void test_what_advances_a_key(void **state)
{
	/* clang-format off */
	static const struct {
		const char *label;
		int64_t purged; /* a key, or a walk */
		uint64_t last_1, last_2;
	} rows[] = {
		{ "another key", 2, 0, 1 },
		{ "the key", 1, 2, 1 },
		{ "a walk", -1, 3, 3 },
		{ "the other once more", 2, 3, 4 },
		{ "one that shares its slot", 1 + PURGELOG_SLOTS, 5, 4 },
		{ "a walk once more", -1, 6, 6 },
	};
	/* clang-format on */
	struct purgelog log = { 0 };
	const struct scd_key one = key_of(1), two = key_of(2);

	(void)state;
	assert_int_equal(purgelog_last(&log, &one), 0);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct scd_key key = key_of((uint64_t)rows[i].purged);

		if (rows[i].purged < 0)
			purgelog_all(&log);
		else
			purgelog_key(&log, &key, 0);
		print_message("# %s\n", rows[i].label);
		assert_int_equal(log.now, i + 1);
		assert_int_equal(purgelog_last(&log, &one), rows[i].last_1);
		assert_int_equal(purgelog_last(&log, &two), rows[i].last_2);
	}
	/* the end of a walk is one of none */
	assert_int_equal(purgelog_last_walked(&log), 0);
	assert_int_equal(purgelog_walked(&log), 7);
	assert_int_equal(purgelog_last_walked(&log), 7);
	assert_int_equal(purgelog_last(&log, &one), 6);
}

/* Of peers' copies, by their age; only a key of its own makes a slot forget. */
static void test_what_is_older(void **state)
{
	/* clang-format off */
	static const struct {
		const char *label;
		uint64_t key;
		int64_t born_s;
		bool older;
	} rows[] = {
		{ "from before", 1, 50, true },
		{ "from that second", 1, 100, true },
		{ "by an age that was rounded", 1, 101, true },
		{ "from after", 1, 102, false },
		{ "another key", 2, 50, false },
		{ "one that shares its slot", 1 + PURGELOG_SLOTS, 50, false },
	};
	/* clang-format on */
	const struct scd_key one = key_of(1), same = key_of(1 + PURGELOG_SLOTS);
	struct purgelog log = { 0 };

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct scd_key key = key_of(rows[i].key);

		print_message("# %s\n", rows[i].label);
		assert_false(purgelog_is_older(&log, &key, rows[i].born_s));
	}
	purgelog_key(&log, &one, 100);
	purgelog_all(&log);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct scd_key key = key_of(rows[i].key);

		print_message("# %s\n", rows[i].label);
		assert_int_equal(purgelog_is_older(&log, &key, rows[i].born_s),
				 rows[i].older);
	}
	purgelog_key(&log, &same, 200);
	assert_false(purgelog_is_older(&log, &one, 50));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_advances_a_key),
		cmocka_unit_test(test_what_is_older),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
