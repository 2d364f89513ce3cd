/*
 * As much of cmocka as the tests of codec/ use, for a processor for which there
 * is no cmocka here. What fails ends the program.
 */
#ifndef TESTS_CODEC_EMULATED_CMOCKA_H
#define TESTS_CODEC_EMULATED_CMOCKA_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct CMUnitTest {
	const char *name;
	void (*run)(void **state);
};

#define cmocka_unit_test(function) { #function, function }

#define fail_msg(...) \
	(printf("# %s:%d: ", __FILE__, __LINE__), printf(__VA_ARGS__), \
	 printf("\n"), exit(1))
#define assert_true(c) ((c) ? (void)0 : fail_msg("%s", #c))
#define assert_false(c) assert_true(!(c))
#define assert_int_equal(a, b) \
	assert_true((unsigned long long)(a) == (unsigned long long)(b))
#define assert_int_not_equal(a, b) \
	assert_true((unsigned long long)(a) != (unsigned long long)(b))
#define assert_in_range(v, low, high) \
	assert_true((unsigned long long)(v) >= (unsigned long long)(low) && \
		    (unsigned long long)(v) <= (unsigned long long)(high))
#define assert_null(p) assert_true(!(p))
#define assert_non_null(p) assert_true(p)
#define assert_ptr_equal(a, b) assert_true((a) == (b))
#define assert_string_equal(a, b) assert_true(!strcmp(a, b))
#define assert_memory_equal(a, b, n) assert_true(!memcmp(a, b, n))
#define assert_memory_not_equal(a, b, n) assert_true(memcmp(a, b, n))
#define print_message(...) printf("# " __VA_ARGS__)

#define cmocka_run_group_tests(tests, setup, teardown) \
	emulated_run(tests, sizeof(tests) / sizeof((tests)[0]), setup, teardown)

static inline int emulated_run(const struct CMUnitTest *tests, size_t n,
			       int (*setup)(void **state),
			       int (*teardown)(void **state))
{
	void *state = NULL;

	if (setup && setup(&state))
		return 1;
	for (size_t i = 0; i < n; i++) {
		tests[i].run(&state);
		printf("ok - %s\n", tests[i].name);
	}
	return teardown ? teardown(&state) : 0;
}

#endif
