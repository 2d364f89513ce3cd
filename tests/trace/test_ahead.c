/*
 * Reading ahead: what comes out is what the source gave, whatever the sizes,
 * the end and errors included; and it can be ended at any time.
 */
#include "tests/unit.h"

#include <errno.h>
#include <stdbool.h>

#include "cachesim/trace/ahead.h"
#include "cachesim/trace/trace_request.h"
#include "tests/codec/random.h"

struct counting {
	uint64_t given, total, seed;
	size_t most; /* bytes at a time */
	ssize_t end; /* and how it ends */
	bool over;
};

static uint8_t byte_at(uint64_t i)
{
	return (uint8_t)(i * 2654435761u >> 13);
}

static ssize_t give(void *arg, uint8_t *out, size_t cap)
{
	struct counting *c = arg;
	size_t n = 1 + (size_t)random_below(&c->seed, c->most);

	assert_false(c->over); /* it is not asked again */
	if (n > cap)
		n = cap;
	if (n > c->total - c->given)
		n = (size_t)(c->total - c->given);
	for (size_t i = 0; i < n; i++)
		out[i] = byte_at(c->given + i);
	c->given += n;
	if (n)
		return (ssize_t)n;
	c->over = true;
	errno = ENXIO;
	return c->end;
}

/* clang-format off */
static const struct counting sources[] = {
	{ 0, 0, 1, 1, 0, false },
	{ 0, 1, 2, 1, 0, false },
	{ 0, 100000, 3, 10, TRACE_EIO, false },
	{ 0, 262144, 4, 1 << 20, 0, false },
	{ 0, 262145, 5, 1 << 20, TRACE_ECODING, false },
	{ 0, 9000000, 6, 300000, 0, false },
	{ 0, 0, 7, 1, TRACE_EIO, false },
};
/* clang-format on */

static void all_comes_through(void **state)
{
	static uint8_t buf[400000];
	uint64_t seed = 9;

	(void)state;
	for (size_t k = 0; k < NROWS(sources); k++) {
		struct counting c = sources[k];
		struct ahead *a;
		uint64_t at = 0;
		ssize_t n;

		assert_int_equal(ahead_start(&a, give, &c), 0);
		while ((n = ahead_read(a, buf,
				       1 + (size_t)random_below(
						   &seed, sizeof(buf)))) > 0)
			for (ssize_t i = 0; i < n; i++)
				if (buf[i] != byte_at(at++))
					fail_msg("byte %ju", (uintmax_t)at);
		assert_int_equal(at, c.total);
		for (int again = 0; again < 2; again++) {
			errno = 0;
			assert_int_equal(ahead_read(a, buf, 1), c.end);
			assert_int_equal(errno, ENXIO);
		}
		ahead_stop(&a);
		assert_null(a);
	}
}

static void ends_at_any_time(void **state)
{
	static uint8_t buf[1000];
	uint64_t seed = 10;

	(void)state;
	for (int round = 0; round < 200; round++) {
		struct counting c = { 0, 2000000, seed, 100000, 0, false };
		struct ahead *a;

		assert_int_equal(ahead_start(&a, give, &c), 0);
		for (uint64_t i = random_below(&seed, 20); i > 0; i--)
			assert_true(ahead_read(a, buf, sizeof(buf)) > 0);
		ahead_stop(&a);
		ahead_stop(&a);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_comes_through),
		cmocka_unit_test(ends_at_any_time),
	};

	return cmocka_run_group_tests_name("ahead", tests, NULL, NULL);
}
