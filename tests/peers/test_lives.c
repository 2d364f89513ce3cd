/*
 * The file of lives: what is met is known at the next start, the latest ones if
 * there are many; a folder that is not there, and a file that is damaged.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "digestd/peers/lives.h"
#include "tests/unit.h"

static char folder[64];

static void lives_path(char *path, size_t cap)
{
	snprintf(path, cap, "%s/lives", folder);
}

static int set_up(void **state)
{
	(void)state;
	strcpy(folder, "/tmp/scd-lives-XXXXXX");
	return mkdtemp(folder) ? 0 : -1;
}

static int tear_down(void **state)
{
	char path[96];

	(void)state;
	lives_path(path, sizeof(path));
	(void)unlink(path);
	return rmdir(folder);
}

/* Whether it was known before. */
static bool meets(uint64_t instance)
{
	struct lives *l;
	bool known;

	assert_int_equal(lives_new(folder, &l), 0);
	known = lives_meet(l, instance);
	assert_true(lives_meet(l, instance) == known); /* of the start */
	lives_free(&l);
	return known;
}

static void what_is_met_is_known(void **state)
{
	(void)state;
	assert_false(meets(1));
	assert_true(meets(1));
	assert_false(meets(UINT64_MAX));
	assert_true(meets(UINT64_MAX) && meets(1));
}

static void the_latest_are_kept(void **state)
{
	struct lives *l;

	(void)state;
	assert_int_equal(lives_new(folder, &l), 0);
	for (uint64_t i = 1; i <= LIVES_MAX + 1; i++)
		assert_false(lives_meet(l, i));
	lives_free(&l);
	assert_true(meets(2) && meets(LIVES_MAX + 1));
	assert_false(meets(1));
}

static void a_bad_file(void **state)
{
	char path[96];
	FILE *f;

	(void)state;
	lives_path(path, sizeof(path));
	f = fopen(path, "w");
	assert_non_null(f);
	fprintf(f, "0000000000000007\nnonsense\n0000000000000008\n");
	fclose(f);
	assert_true(meets(7));
	assert_false(meets(9));
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(what_is_met_is_known),
		TEST(the_latest_are_kept),
		TEST(a_bad_file),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
