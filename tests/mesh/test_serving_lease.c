/*
 * Majorities of serving leases, as tables; what they add up to is in
 * test_serving_search.c.
 */
#include "digestd/mesh/serving_lease.h"
#include "tests/unit.h"

enum { NEVER = 0, MEMBERS_MAX = 5 };

static void numbers_of_members(void **state)
{
	/* clang-format off */
	static const struct { unsigned members, majority, recovery; } rows[] = {
		{ 1, 1, 0 }, { 2, 2, 1 }, { 3, 2, 2 }, { 4, 3, 2 }, { 5, 3, 3 },
		{ 64, 33, 32 },
	};
	/* clang-format on */

	(void)state;
	for (size_t i = 0; i < NROWS(rows); i++) {
		assert_int_equal(serving_majority(rows[i].members),
				 rows[i].majority);
		assert_int_equal(serving_recovery(rows[i].members),
				 rows[i].recovery);
	}
}

/* The peers' times, 0 for one that has not renewed; what it runs from. */
static void ends_of_leases(void **state)
{
	/* clang-format off */
	static const struct { size_t n; int64_t at[4], from; } rows[] = {
		{ 1, { 5 }, 5 },
		{ 1, { NEVER }, NEVER },
		{ 2, { 5, 9 }, 9 },
		{ 2, { 5, NEVER }, 5 },
		{ 2, { NEVER, NEVER }, NEVER },
		{ 3, { 5, 9, NEVER }, 5 },
		{ 3, { 5, 9, 7 }, 7 },
		{ 3, { 5, NEVER, NEVER }, NEVER },
		{ 4, { 5, 9, 7, 6 }, 7 },
		{ 4, { 9, 9, NEVER, NEVER }, 9 },
	};
	/* clang-format on */

	(void)state;
	assert_true(serving_lease_end_ms(NULL, 0) == INT64_MAX);
	for (size_t i = 0; i < NROWS(rows); i++) {
		int64_t at[4], end;

		for (size_t p = 0; p < rows[i].n; p++)
			at[p] = rows[i].at[p] ? rows[i].at[p] : INT64_MIN;
		end = serving_lease_end_ms(at, rows[i].n);
		assert_true(end == (rows[i].from ? rows[i].from +
							   SERVING_TERM_MS :
						   INT64_MIN));
	}
	/* whoever's clock is fast */
	assert_true(serving_grant_end_ms(0) >
		    SERVING_TERM_MS + SERVING_TERM_MS / SERVING_DRIFT);
}

/* One letter a member: a lacks it, p has applied it, l has it in a whole log,
 * c and knows of no grants to such as lack it. */
static void fences(void **state)
{
	/* clang-format off */
	static const struct { const char *members; enum serving_fence is; }
	rows[] = {
		{ "c", SERVING_FENCE_CLOSED },
		{ "caa", SERVING_FENCE_OPEN },
		{ "cpa", SERVING_FENCE_OPEN },
		{ "cla", SERVING_FENCE_LOGGED },
		{ "lla", SERVING_FENCE_LOGGED },
		{ "cca", SERVING_FENCE_CLOSED },
		{ "ppp", SERVING_FENCE_CLOSED },
		{ "ca", SERVING_FENCE_OPEN },
		{ "ccaa", SERVING_FENCE_OPEN },
		{ "cclla", SERVING_FENCE_LOGGED },
		{ "cccaa", SERVING_FENCE_CLOSED },
	};
	/* clang-format on */

	(void)state;
	for (size_t i = 0; i < NROWS(rows); i++) {
		struct serving_ack acks[MEMBERS_MAX];
		unsigned n = 0;

		for (const char *m = rows[i].members; *m; m++)
			acks[n++] = (struct serving_ack){
				*m != 'a', *m == 'l' || *m == 'c', *m == 'c'};
		assert_int_equal(serving_fence(acks, n), rows[i].is);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_of_members),
		cmocka_unit_test(ends_of_leases),
		cmocka_unit_test(fences),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
