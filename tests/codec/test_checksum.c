/*
 * The checksum of an array, added up in parts, against libxxhash, which has it
 * of the whole; and the ones, which are counted beside.
 */
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "codec/coder/bits.h"
#include "codec/coder/checksum.h"
#include "tests/codec/random.h"
#include "tests/unit.h"

enum {
	MOST = 300,      /* bytes: some stripes, and every tail */
	LONG = 3 * 8192, /* more than is added at once */
};

static const uint64_t seeds[] = {0, 1, UINT64_C(0x7363642062697473)};

static void fill(uint8_t *bytes, size_t len)
{
	uint64_t seed = 3;

	for (size_t i = 0; i < len; i++)
		bytes[i] = (uint8_t)random_next(&seed);
}

/* Of bytes[0, len), the first part of which is added before the rest. */
static void check(const uint8_t *bytes, size_t len, size_t part, uint64_t seed)
{
	struct scd__checksum sum;

	scd__checksum_begin(&sum, bytes, seed);
	scd__checksum_reach(&sum, bytes + part);
	assert_ptr_equal(sum.next, bytes + part - part % 32);
	assert_int_equal(sum.ones, scd__count_ones(bytes, part - part % 32));
	assert_true(scd__checksum_finish(&sum, bytes + len) ==
		    XXH64(bytes, len, seed));
	assert_int_equal(sum.ones, scd__count_ones(bytes, len));
}

static void every_length(void **state)
{
	uint8_t bytes[MOST];

	(void)state;
	fill(bytes, sizeof(bytes));
	for (size_t len = 0; len <= MOST; len++) {
		for (size_t i = 0; i < sizeof(seeds) / sizeof(seeds[0]); i++)
			check(bytes, len, 0, seeds[i]);
	}
}

static void every_part(void **state)
{
	uint8_t bytes[MOST];

	(void)state;
	fill(bytes, sizeof(bytes));
	for (size_t part = 0; part <= MOST; part++)
		check(bytes, sizeof(bytes), part, seeds[2]);
}

static void longer_than_a_block(void **state)
{
	static uint8_t bytes[LONG + 5];

	(void)state;
	fill(bytes, sizeof(bytes));
	for (size_t part = 0; part <= LONG; part += 4095)
		check(bytes, sizeof(bytes), part, seeds[1]);
	check(bytes + 1, sizeof(bytes) - 1, LONG, seeds[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_length),
		cmocka_unit_test(every_part),
		cmocka_unit_test(longer_than_a_block),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
