/*
 * Placement: every case of every way.
 */
#include "tests/unit.h"

#include "digestd/mesh/placement.h"

/* For each: from a peer, never asked for before anywhere; asked here; at a
 * peer; worth a place; awaited; and the same from the origin. */
static const struct {
	const char *name;
	const char *kept; /* a letter a case: y or n */
	bool remembers, tiers;
} rows[] = {
	{"keep", "yyyyyyyyyy", false, false},
	{"second", "nynnyyyyyy", true, false},
	{"single", "nnnnnyyyyy", false, false},
	{"single-seen", "nnnnnnynnn", true, false},
	{"single-shared", "nnnnnnyynn", true, false},
	{"auto", "nnnyynnnyy", false, true},
};

static void all_cases(void **state)
{
	(void)state;
	assert_int_equal(NROWS(rows), PLACEMENTS);
	for (size_t i = 0; i < NROWS(rows); i++) {
		enum placement p;

		assert_true(placement_read(rows[i].name, &p));
		assert_int_equal(p, i);
		assert_int_equal(placement_remembers(p), rows[i].remembers);
		assert_int_equal(placement_has_tiers(p), rows[i].tiers);
		for (unsigned k = 0; k < 10; k++) {
			const struct placement_case c = {
				.remote = k < 5,
				.asked = k % 5 == 1,
				.asked_at_peers = k % 5 == 2,
				.worthy = k % 5 == 3,
				.awaited = k % 5 == 4,
			};

			if (placement_keeps(p, &c) != (rows[i].kept[k] == 'y'))
				fail_msg("%s, case %u", rows[i].name, k);
		}
	}
}

static void names(void **state)
{
	enum placement p;

	(void)state;
	assert_false(placement_read("", &p));
	assert_false(placement_read("singles", &p));
	assert_null(placement_names[PLACEMENTS]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_cases),
		cmocka_unit_test(names),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
