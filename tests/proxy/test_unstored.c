/*
 * Why responses were not stored: what was noted is found, until another key
 * takes its place.
 */
#include "digestd/proxy/unstored.h"
#include "tests/unit.h"

static struct unstored *notes;

static int set_up(void **state)
{
	(void)state;
	return unstored_new(&notes);
}

static int tear_down(void **state)
{
	(void)state;
	unstored_free(&notes);
	return notes != NULL;
}

static void what_was_noted_is_found(void **state)
{
	const struct unstored_note
		first = { NOT_STORED_PRIVATE, true, 1900000000 },
		second = { NOT_STORED_PURGED, false, 1900000001 };
	struct unstored_note got;

	(void)state;
	assert_false(unstored_find(notes, 0, &got));
	unstored_note(notes, 0, &first);
	assert_true(unstored_find(notes, 0, &got));
	assert_int_equal(got.reason, first.reason);
	assert_true(got.from_peer);
	assert_int_equal(got.time_s, first.time_s);
	unstored_note(notes, 0, &second);
	assert_true(unstored_find(notes, 0, &got));
	assert_int_equal(got.reason, second.reason);
	assert_false(got.from_peer);
	assert_int_equal(got.time_s, second.time_s);
	unstored_note(NULL, 0, &second);
}

/* Nobody is told another key's reason. */
static void others_take_the_place(void **state)
{
	const struct unstored_note note = { NOT_STORED_VARY, false, 1 };
	struct unstored_note got;
	unsigned found = 0;

	(void)state;
	for (uint64_t hash = 0; hash < 20000; hash++) {
		unstored_note(notes, hash << 20 | hash, &note);
		assert_true(unstored_find(notes, hash << 20 | hash, &got));
		assert_false(unstored_find(notes, hash << 21 | 1 | hash, &got));
	}
	for (uint64_t hash = 0; hash < 20000; hash++)
		found += unstored_find(notes, hash << 20 | hash, &got);
	assert_int_equal(found, 4096);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(what_was_noted_is_found),
		TEST(others_take_the_place),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
