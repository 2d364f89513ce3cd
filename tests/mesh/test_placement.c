/*
 * Placement: every case of every way.
 */
#include "tests/unit.h"

#include <string.h>

#include "digestd/mesh/placement.h"

/* For each: from a peer, never asked for before anywhere; asked here; at a
 * peer; and the same from the origin. */
static const struct {
	const char *name;
	const char *kept; /* a letter a case: y or n */
	bool remembers;
} rows[] = {
	{ "keep", "yyyyyy", false },	    { "second", "nynyyy", true },
	{ "single", "nnnyyy", false },	    { "single-seen", "nnnnyn", true },
	{ "single-shared", "nnnnyy", true },
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
		for (unsigned k = 0; k < 6; k++) {
			const struct placement_case c = {
				.remote = k < 3,
				.asked = k % 3 == 1,
				.asked_at_peers = k % 3 == 2,
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
