/*
 * The file of lives: what is met is known at the next start, the latest ones if
 * there are many; a file that is damaged, or cannot be written.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "digestd/os/log.h"
#include "digestd/peers/lives.h"
#include "tests/codec/alloc.h"
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

/* What cannot be written is known until the end all the same; with a name that
 * is taken by a folder, and with a file that no rename replaces. */
static void what_cannot_be_written(void **state)
{
	static const char *const taken[] = { "lives.next", "lives" };

	(void)state;
	log_set_level("error");
	for (size_t i = 0; i < NROWS(taken); i++) {
		struct lives *l;
		char path[96];

		snprintf(path, sizeof(path), "%s/%s", folder, taken[i]);
		assert_int_equal(mkdir(path, 0700), 0);
		assert_int_equal(lives_new(folder, &l), 0);
		assert_false(lives_meet(l, 1));
		assert_false(lives_meet(l, 2));
		lives_free(&l);
		assert_int_equal(rmdir(path), 0);
		snprintf(path, sizeof(path), "%s/lives.next", folder);
		(void)unlink(path);
		assert_false(meets(1)); /* the next start knows nothing */
		assert_true(meets(1));
		lives_path(path, sizeof(path));
		assert_int_equal(unlink(path), 0);
	}
}

static void every_allocation(void **state)
{
	struct lives *l;
	unsigned n = 0;
	int err;

	(void)state;
	assert_false(meets(1));
	do {
		alloc_fail_at(++n);
		err = lives_new(folder, &l);
		alloc_fail_at(0);
		if (err) {
			assert_int_equal(err, -ENOMEM);
			assert_null(l);
		}
	} while (err);
	assert_int_equal(n, 4); /* it, its name, and the next one's */
	assert_true(lives_meet(l, 1));
	lives_free(&l);
	lives_free(&l);
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(what_is_met_is_known),
		TEST(the_latest_are_kept),
		TEST(a_bad_file),
		TEST(what_cannot_be_written),
		TEST(every_allocation),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
