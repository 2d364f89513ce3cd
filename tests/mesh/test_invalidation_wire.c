/*
 * Messages of invalidations: the golden one both ways, everything that may be
 * wrong with one, and room that is one byte too small.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "codec/error.h"
#include "digestd/mesh/invalidation_wire.h"
#include "tests/unit.h"

enum { ROOM = 512 };

static const uint8_t secret[SCD_SECRET_BYTES] = "0123456789abcde";

/* What tests/vectors/invalidations.bin says; test_ref.py reads it, too. */
static const struct invalidation_section first = { 0x1111, 2, 9, false, 3 };
static const struct invalidation_section second = { UINT64_MAX, 0, 1, true, 1 };
static const struct invalidation_entry entries[] = {
	{ { { 1, 2 }, 0, INVALIDATION_KEY }, 3 },
	{ { { 3, UINT64_MAX }, 4, INVALIDATION_PREFIX }, 4 },
	{ { { 5, 6 }, 0, INVALIDATION_TAG }, 9 },
	{ { { 0, 0 }, 0, INVALIDATION_ALL }, 1 },
};

static uint8_t message[ROOM];
static size_t message_len;

static int set_up(void **state)
{
	struct invalidation_writer w = invalidation_write_begin(message, ROOM);

	(void)state;
	if (!invalidation_write_section(&w, &first, entries) ||
	    !invalidation_write_section(&w, &second, &entries[3]))
		return -1;
	message_len = invalidation_write_end(&w, secret);
	return 0;
}

static int read_bytes(const uint8_t *bytes, size_t len)
{
	struct invalidation_message m;

	return invalidation_read(bytes, len, secret, &m);
}

static void test_golden(void **state)
{
	const char *top = getenv("top_srcdir");
	uint8_t golden[ROOM];
	char path[512];
	size_t len;
	FILE *f;

	(void)state;
	snprintf(path, sizeof(path), "%s/tests/vectors/invalidations.bin",
		 top ? top : ".");
	f = fopen(path, "rb");
	assert_non_null(f);
	len = fread(golden, 1, ROOM, f);
	fclose(f);
	assert_int_equal(len, message_len);
	assert_memory_equal(golden, message, len);
}

static void check_entries(struct invalidation_message *m, size_t at, size_t n)
{
	for (size_t i = at; i < at + n; i++) {
		const struct invalidation_entry e = invalidation_read_entry(m);

		assert_int_equal(e.seq, entries[i].seq);
		assert_int_equal(e.of.kind, entries[i].of.kind);
		assert_int_equal(e.of.len, entries[i].of.len);
		assert_true(e.of.hash.lo == entries[i].of.hash.lo &&
			    e.of.hash.hi == entries[i].of.hash.hi);
	}
}

static void test_round_trip(void **state)
{
	struct invalidation_section s;
	struct invalidation_message m;

	(void)state;
	assert_int_equal(invalidation_read(message, message_len, secret, &m),
			 0);
	assert_true(invalidation_read_section(&m, &s));
	assert_true(s.source == first.source && s.floor == 2 && s.upto == 9 &&
		    !s.incomplete && s.n == 3);
	check_entries(&m, 0, 3);
	assert_true(invalidation_read_section(&m, &s));
	assert_true(s.source == UINT64_MAX && s.incomplete && s.n == 1);
	check_entries(&m, 3, 1);
	assert_false(invalidation_read_section(&m, &s));
}

static void test_damage(void **state)
{
	static const uint8_t other[SCD_SECRET_BYTES] = "another";
	struct invalidation_message m;
	uint8_t bad[ROOM];

	(void)state;
	for (size_t len = 0; len < message_len; len++)
		assert_true(read_bytes(message, len) < 0);
	for (size_t bit = 0; bit < message_len * 8; bit++) {
		memcpy(bad, message, message_len);
		bad[bit / 8] ^= (uint8_t)(1 << bit % 8);
		assert_true(read_bytes(bad, message_len) < 0);
	}
	assert_int_equal(invalidation_read(message, message_len, other, &m),
			 SCD_ECHECKSUM);
}

/* Written with a right hash, and against a rule. */
static void test_rules(void **state)
{
	/* clang-format off */
	static const struct {
		const char *label;
		struct invalidation_section section;
		struct invalidation_entry entry;
		int result;
	} rows[] = {
		{ "right", { 1, 0, 1, false, 1 }, { { { 1, 1 }, 0, INVALIDATION_KEY }, 1 }, 0 },
		{ "a floor beyond the end", { 1, 2, 1, false, 1 }, { { { 1, 1 }, 0, INVALIDATION_KEY }, 1 }, SCD_EFORMAT },
		{ "number 0", { 1, 0, 1, false, 1 }, { { { 1, 1 }, 0, INVALIDATION_KEY }, 0 }, SCD_EFORMAT },
		{ "a number beyond the end", { 1, 0, 1, false, 1 }, { { { 1, 1 }, 0, INVALIDATION_KEY }, 2 }, SCD_EFORMAT },
		{ "a kind that there is not", { 1, 0, 1, false, 1 }, { { { 1, 1 }, 0, INVALIDATION_KINDS }, 1 }, SCD_EFORMAT },
		{ "a key with a length", { 1, 0, 1, false, 1 }, { { { 1, 1 }, 1, INVALIDATION_KEY }, 1 }, SCD_EFORMAT },
		{ "a prefix without", { 1, 0, 1, false, 1 }, { { { 1, 1 }, 0, INVALIDATION_PREFIX }, 1 }, SCD_EFORMAT },
		{ "the longest prefix", { 1, 0, 1, false, 1 }, { { { 1, 1 }, INVALIDATION_PREFIX_MAX, INVALIDATION_PREFIX }, 1 }, 0 },
		{ "too long a prefix", { 1, 0, 1, false, 1 }, { { { 1, 1 }, INVALIDATION_PREFIX_MAX + 1, INVALIDATION_PREFIX }, 1 }, SCD_EFORMAT },
		{ "all with a hash", { 1, 0, 1, false, 1 }, { { { 1, 1 }, 0, INVALIDATION_ALL }, 1 }, SCD_EFORMAT },
	};
	/* clang-format on */
	uint8_t bytes[ROOM];

	(void)state;
	for (size_t i = 0; i < NROWS(rows); i++) {
		struct invalidation_writer w =
			invalidation_write_begin(bytes, ROOM);

		assert_true(invalidation_write_section(&w, &rows[i].section,
						       &rows[i].entry));
		print_message("# %s\n", rows[i].label);
		assert_int_equal(read_bytes(bytes, invalidation_write_end(
							   &w, secret)),
				 rows[i].result);
	}
}

static void test_no_room(void **state)
{
	uint8_t bytes[ROOM];
	const size_t need = INVALIDATION_WIRE_HEAD_BYTES +
			    INVALIDATION_WIRE_SECTION_BYTES +
			    3 * INVALIDATION_WIRE_ENTRY_BYTES +
			    INVALIDATION_WIRE_END_BYTES;
	struct invalidation_writer w;

	(void)state;
	w = invalidation_write_begin(bytes, need - 1);
	assert_false(invalidation_write_section(&w, &first, entries));
	w = invalidation_write_begin(bytes, need);
	assert_true(invalidation_write_section(&w, &first, entries));
	assert_int_equal(invalidation_write_end(&w, secret), need);
}

/* What a log knows, and all that may be wrong with it. */
static void test_positions(void **state)
{
	const struct invalidation_position heard = {0x2222, 9};
	struct invalidation_position read[INVALIDATION_LOG_SOURCES];
	uint8_t bytes[INVALIDATION_POSITIONS_MAX];
	struct invalidation_log *log;
	size_t len, n;

	(void)state;
	assert_int_equal(invalidation_log_new(0x1111, secret, 8, &log), 0);
	invalidation_log_reach(log, &heard);
	len = invalidation_write_positions(log, secret, bytes);
	invalidation_log_free(&log);
	assert_int_equal(invalidation_read_positions(bytes, len, secret, read,
						     &n), 0);
	assert_true(n == 2 && read[0].source == 0x1111 && !read[0].seq &&
		    read[1].source == 0x2222 && read[1].seq == 9);
	for (size_t i = 0; i < len; i++) {
		assert_int_not_equal(invalidation_read_positions(
					     bytes, i, secret, read, &n), 0);
		bytes[i] ^= 1;
		assert_int_not_equal(invalidation_read_positions(
					     bytes, len, secret, read, &n), 0);
		bytes[i] ^= 1;
	}
	assert_int_not_equal(read_bytes(bytes, len), 0);
	assert_int_equal(invalidation_read_positions(message, message_len,
						     secret, read, &n),
			 SCD_EFORMAT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_golden, set_up),
		cmocka_unit_test_setup(test_round_trip, set_up),
		cmocka_unit_test_setup(test_damage, set_up),
		cmocka_unit_test_setup(test_rules, set_up),
		cmocka_unit_test_setup(test_no_room, set_up),
		cmocka_unit_test_setup(test_positions, set_up),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
