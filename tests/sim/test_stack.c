/*
 * Stack distances against a list of objects, from old to new.
 */
#include "cachesim/sim/stack.h"

#include <string.h>

#include "codec/error.h"
#include "tests/codec/alloc.h"
#include "tests/codec/random.h"
#include "tests/unit.h"

enum { NOBJECTS = 200, STEPS = 20000 };

struct twin {
	uint32_t object[NOBJECTS], size[NOBJECTS]; /* by place in the list */
	uint32_t n;
};

static uint32_t twin_find(const struct twin *t, uint32_t object)
{
	uint32_t i = 0;

	while (i < t->n && t->object[i] != object)
		i++;
	return i;
}

static void twin_drop(struct twin *t, uint32_t object)
{
	uint32_t i = twin_find(t, object);

	if (i == t->n)
		return;
	t->n--;
	memmove(t->object + i, t->object + i + 1,
		(t->n - i) * sizeof(t->object[0]));
	memmove(t->size + i, t->size + i + 1, (t->n - i) * sizeof(t->size[0]));
}

static uint64_t twin_use(struct twin *t, uint32_t object, uint32_t size)
{
	uint32_t i = twin_find(t, object);
	uint64_t distance = i < t->n ? 0 : SIM_STACK_FIRST;

	for (; i < t->n; i++)
		distance += t->size[i];
	twin_drop(t, object);
	t->object[t->n] = object;
	t->size[t->n++] = size;
	return distance;
}

static void replay(uint32_t nobjects, uint32_t largest, uint64_t drop_every)
{
	struct twin t = { .n = 0 };
	struct sim_stack *s;
	uint64_t random = 3;

	assert_int_equal(sim_stack_new(&s, nobjects), 0);
	for (int i = 0; i < STEPS; i++) {
		uint32_t object = (uint32_t)random_below(&random, nobjects);
		uint32_t size = (uint32_t)random_below(&random, largest) + 1;

		if (random_below(&random, drop_every) == 0) {
			sim_stack_drop(s, object);
			twin_drop(&t, object);
			continue;
		}
		assert_int_equal(sim_stack_use(s, object, size),
				 twin_use(&t, object, size));
	}
	sim_stack_free(&s);
	assert_null(s);
	sim_stack_free(&s);
}

static void test_twin(void **state)
{
	(void)state;
	replay(1, 1, 1000000);
	replay(2, 5, 10);
	replay(NOBJECTS, 1, 1000000);
	replay(NOBJECTS, UINT32_MAX, 7);
	replay(NOBJECTS, 1000, 2);
}

static void test_allocation(void **state)
{
	struct sim_stack *s = NULL;
	unsigned n = 0;

	(void)state;
	do {
		alloc_fail_at(++n);
	} while (sim_stack_new(&s, 10) == SCD_ENOMEM);
	alloc_fail_at(0);
	assert_int_equal(n, 6);
	assert_int_equal(sim_stack_use(s, 9, 7), SIM_STACK_FIRST);
	assert_int_equal(sim_stack_use(s, 9, 1), 7);
	sim_stack_free(&s);
	assert_int_equal(sim_stack_new(&s, 0), 0);
	sim_stack_free(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_twin),
		cmocka_unit_test(test_allocation),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
