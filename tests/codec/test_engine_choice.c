/*
 * The engine of each kind of work under each limit: the fastest that this
 * processor has of those that need no more.
 */
#include <string.h>

#include "codec/coder/conditional_coder.h"
#include "codec/coder/dense_engine.h"
#include "codec/coder/sparse_engine.h"
#include "codec/engine.h"
#include "codec/filter/list_pick.h"
#include "codec/filter/table_engine.h"
#include "tests/unit.h"

static const char *const limits[] = {NULL,   "portable", "neon",
				     "bmi2", "avx2",     "avx512"};

/*
 * The engines of a kind, the fastest first, as a test that has its name and its
 * place in the list sees them.
 */
#define CHECK_KIND(engines, n, choose)                                         \
	do {                                                                   \
		for (size_t l = 0; l < NROWS(limits); l++) {                   \
			size_t i = 0;                                          \
			while (!(engines)[i]->available() ||                   \
			       !scd__engine_within((engines)[i]->name,         \
						   limits[l]))                 \
				i++;                                           \
			assert_in_range(i, 0, (n)-1);                          \
			assert_ptr_equal((choose)(limits[l]), (engines)[i]);   \
		}                                                              \
		assert_string_equal((choose)("portable")->name, "portable");   \
	} while (0)

static void every_kind_keeps_a_limit(void **state)
{
	(void)state;
	CHECK_KIND(scd__dense_engines, scd__dense_nengines, scd__dense_engine);
	CHECK_KIND(scd__sparse_engines, scd__sparse_nengines,
		   scd__sparse_engine);
	CHECK_KIND(scd__change_engines, scd__change_nengines,
		   scd__change_engine);
	CHECK_KIND(scd__pick_engines, scd__pick_nengines, scd__pick_engine);
	assert_string_equal(scd__table_engine("portable")->name, "portable");
}

static void limits_have_an_order(void **state)
{
	(void)state;
	assert_true(scd__engine_within("avx512", NULL));
	assert_true(scd__engine_within("avx512", "avx512"));
	assert_true(scd__engine_within("bmi2", "avx2"));
	assert_true(scd__engine_within("portable", "portable"));
	assert_false(scd__engine_within("avx512", "avx2"));
	assert_false(scd__engine_within("avx2", "bmi2"));
	assert_false(scd__engine_within("neon", "portable"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_kind_keeps_a_limit),
		cmocka_unit_test(limits_have_an_order),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
