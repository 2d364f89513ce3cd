/*
 * A node's own lease, and those that it has granted, on the clock of the
 * process.
 */
#include "digestd/mesh/serving_lease.h"
#include "digestd/peers/serving_desk.h"
#include "tests/unit.h"

static int64_t clock_ms = 1000;

/* In place of the process's. */
int64_t __wrap_loop_clock_ms(void);
int64_t __wrap_loop_clock_ms(void)
{
	return clock_ms;
}

static struct serving_desk *desk;

static int set_up(void **state)
{
	(void)state;
	return serving_desk_new(&desk);
}

static int tear_down(void **state)
{
	(void)state;
	serving_desk_free(&desk);
	return 0;
}

static void its_own_lease(void **state)
{
	(void)state;
	assert_true(serving_desk_may_serve(NULL)); /* it is not strict */
	assert_false(serving_desk_may_serve(desk));
	serving_desk_set_end(desk, clock_ms + 10);
	assert_true(serving_desk_may_serve(desk));
	clock_ms += 9;
	assert_true(serving_desk_may_serve(desk));
	clock_ms++;
	assert_false(serving_desk_may_serve(desk));
}

static void what_it_grants(void **state)
{
	uint64_t to[SERVING_GRANTS_MAX];
	size_t n;

	(void)state;
	assert_false(serving_desk_grant(desk, 7)); /* its log is lost */
	assert_false(serving_desk_grants(desk, to, &n) || n);
	serving_desk_recover(desk);
	assert_true(serving_desk_grant(desk, 7));
	/* in another life it may have granted others */
	assert_false(serving_desk_grants(desk, to, &n));
	clock_ms += SERVING_TERM_MS;
	assert_true(serving_desk_grant(desk, 8));
	clock_ms += SERVING_TERM_MS / 2;
	assert_true(serving_desk_grants(desk, to, &n));
	assert_true(n == 1 && to[0] == 8);
	for (uint64_t i = 0; i < SERVING_GRANTS_MAX - 1; i++)
		assert_true(serving_desk_grant(desk, 100 + i));
	assert_false(serving_desk_grant(desk, 99));
	assert_true(serving_desk_grant(desk, 100));
	clock_ms += 2 * SERVING_TERM_MS;
	assert_true(serving_desk_grants(desk, to, &n) && !n);
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(its_own_lease),
		TEST(what_it_grants),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
