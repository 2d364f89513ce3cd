/*
 * Cursors: what is written is read back, and the first error stays.
 */
#include <string.h>

#include "codec/cursor.h"
#include "codec/error.h"
#include "tests/unit.h"

static const uint8_t wire[] = {
	0xab, 0xef, 0xcd, 0xab, 0x89, 0x67, 0x45, 0x23, 0x01, 'x', 'y', 'z',
};

static void writes_little_endian(void **state)
{
	uint8_t out[sizeof(wire)];
	struct scd__writer w = scd__writer(out, sizeof(out));

	(void)state;
	scd__write_u8(&w, 0xab);
	scd__write_u64(&w, UINT64_C(0x0123456789abcdef));
	scd__write_bytes(&w, (const uint8_t *)"xyz", 3);
	assert_int_equal(w.error, SCD_OK);
	assert_int_equal(scd__writer_len(&w), sizeof(wire));
	assert_memory_equal(out, wire, sizeof(wire));
}

static void reads_what_was_written(void **state)
{
	struct scd__reader r = scd__reader(wire, sizeof(wire));
	const uint8_t *rest;

	(void)state;
	assert_int_equal(scd__read_u8(&r), 0xab);
	assert_true(scd__read_u64(&r) == UINT64_C(0x0123456789abcdef));
	assert_int_equal(scd__reader_left(&r), 3);
	rest = scd__read_bytes(&r, 3);
	assert_ptr_equal(rest, wire + 9);
	assert_int_equal(scd__reader_left(&r), 0);
	assert_int_equal(r.error, SCD_OK);
}

/* What a failed read gives is no input at all. */
static void nothing_is_empty(void **state)
{
	struct scd__reader r = scd__reader(NULL, 5);

	(void)state;
	assert_int_equal(scd__reader_left(&r), 0);
	assert_non_null(scd__read_bytes(&r, 0));
	assert_int_equal(scd__read_u8(&r), 0);
	assert_int_equal(r.error, SCD_ETRUNC);
}

/* However long the input: fields past its end are zero, and stay so. */
static void reading_remembers_its_error(void **state)
{
	(void)state;
	for (size_t len = 0; len < 9; len++) {
		struct scd__reader r = scd__reader(wire, len);

		scd__read_u8(&r);
		assert_true(scd__read_u64(&r) == 0);
		assert_int_equal(r.error, SCD_ETRUNC);
		assert_int_equal(scd__read_u8(&r), 0);
		assert_null(scd__read_bytes(&r, 0));
		assert_int_equal(r.error, SCD_ETRUNC);
	}
}

static void writing_remembers_its_error(void **state)
{
	uint8_t out[10];

	(void)state;
	for (size_t cap = 1; cap < 9; cap++) {
		struct scd__writer w = scd__writer(out, cap);

		memset(out, 0x55, sizeof(out));
		scd__write_u8(&w, 0xab);
		scd__write_u64(&w, 0);
		assert_int_equal(w.error, SCD_ESPACE);
		scd__write_u8(&w, 0);
		assert_int_equal(scd__writer_len(&w), 1);
		assert_int_equal(out[1], 0x55);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(writes_little_endian),
		cmocka_unit_test(reads_what_was_written),
		cmocka_unit_test(nothing_is_empty),
		cmocka_unit_test(reading_remembers_its_error),
		cmocka_unit_test(writing_remembers_its_error),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
