/*
 * The file that says which objects on disk were in use: it comes back once,
 * and not at all if anything is wrong with it.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "digestd/disk/disk_used.h"
#include "tests/codec/alloc.h"
#include "tests/disk/disk_folder.h"
#include "tests/unit.h"

enum { IDS = 5 };

static const uint64_t ids[IDS] = { 7, UINT64_C(1) << 40, 1, 0, 300 };

static int folder;

static int set_up(void **state)
{
	(void)state;
	disk_folder_empty();
	folder = open(disk_folder(), O_RDONLY | O_DIRECTORY);
	return folder < 0;
}

static int tear_down(void **state)
{
	(void)state;
	return close(folder);
}

static int write_some(size_t n)
{
	struct disk_used u = { 0 };
	int err;

	for (size_t i = 0; i < n; i++)
		disk_used_add(&u, ids[i]);
	err = disk_used_write(&u, folder);
	disk_used_free(&u);
	return err;
}

static bool is_there(void)
{
	return !access(disk_folder_path("used"), F_OK);
}

static void it_comes_back_once(void **state)
{
	(void)state;
	for (size_t n = 0; n <= IDS; n++) {
		struct disk_used u = { 0 };

		assert_int_equal(write_some(n), 0);
		assert_int_equal(disk_used_read(&u, folder), 0);
		for (size_t i = 0; i < IDS; i++)
			assert_int_equal(disk_used_has(&u, ids[i]), i < n);
		assert_false(disk_used_has(&u, 2));
		disk_used_free(&u);
		assert_false(is_there());
		assert_int_equal(disk_used_read(&u, folder), -ENOENT);
	}
}

/* Reads a file that is not as it was written. */
static void expect_damaged(void)
{
	struct disk_used u = { 0 };

	assert_int_equal(disk_used_read(&u, folder), -EBADMSG);
	assert_int_equal(u.n, 0);
	assert_false(disk_used_has(&u, ids[0]));
	assert_false(is_there());
}

static void what_is_damaged_is_done_without(void **state)
{
	struct stat st;

	(void)state;
	assert_int_equal(write_some(IDS), 0);
	assert_int_equal(stat(disk_folder_path("used"), &st), 0);
	for (off_t at = 0; at < st.st_size; at++) {
		char byte;
		int fd;

		assert_int_equal(write_some(IDS), 0);
		fd = open(disk_folder_path("used"), O_RDWR);
		assert_int_equal(pread(fd, &byte, 1, at), 1);
		byte ^= 1;
		assert_int_equal(pwrite(fd, &byte, 1, at), 1);
		close(fd);
		expect_damaged();
		assert_int_equal(write_some(IDS), 0);
		assert_int_equal(truncate(disk_folder_path("used"), at), 0);
		expect_damaged();
	}
}

static void what_is_no_file_is_done_without(void **state)
{
	struct disk_used u = { 0 };

	(void)state;
	assert_int_equal(mkfifo(disk_folder_path("used"), 0600), 0);
	expect_damaged();
	assert_int_equal(mkdir(disk_folder_path("used"), 0700), 0);
	assert_int_equal(disk_used_read(&u, folder), -EBADMSG);
	assert_int_equal(write_some(1), -EISDIR);
	assert_int_equal(rmdir(disk_folder_path("used")), 0);
}

/* What has that name by the time that it is written makes room: nothing is
 * written elsewhere, and nothing is waited for. */
static void what_has_its_name_is_replaced(void **state)
{
	struct disk_used u = { 0 };
	struct stat st;

	(void)state;
	assert_int_equal(symlinkat("other", folder, "used"), 0);
	assert_int_equal(disk_used_read(&u, folder), -ELOOP);
	assert_int_equal(unlinkat(folder, "used", 0), -1);
	assert_int_equal(symlinkat("other", folder, "used"), 0);
	assert_int_equal(write_some(IDS), 0);
	assert_int_equal(faccessat(folder, "other", F_OK, 0), -1);
	assert_int_equal(unlinkat(folder, "used", 0), 0);
	assert_int_equal(mkfifo(disk_folder_path("used"), 0600), 0);
	assert_int_equal(write_some(IDS), 0);
	assert_int_equal(lstat(disk_folder_path("used"), &st), 0);
	assert_true(S_ISREG(st.st_mode));
	assert_int_equal(disk_used_read(&u, folder), 0);
	assert_int_equal(u.n, IDS);
	disk_used_free(&u);
}

static void without_memory_there_is_none(void **state)
{
	struct disk_used u = { 0 };

	(void)state;
	alloc_fail_at(1);
	disk_used_add(&u, 1);
	assert_int_equal(u.n, 0);
	alloc_fail_at(1);
	assert_int_equal(disk_used_write(&u, folder), -ENOMEM);
	assert_false(is_there());
	assert_int_equal(write_some(IDS), 0);
	alloc_fail_at(1);
	assert_int_equal(disk_used_read(&u, folder), -ENOMEM);
	alloc_fail_at(0);
	assert_int_equal(u.n, 0);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(it_comes_back_once),
		CASE(what_is_damaged_is_done_without),
		CASE(what_is_no_file_is_done_without),
		CASE(what_has_its_name_is_replaced),
		CASE(without_memory_there_is_none),
	};

	return cmocka_run_group_tests(tests, disk_folder_make,
				      disk_folder_remove);
}
