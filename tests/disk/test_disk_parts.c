/*
 * Files of the disk tier by themselves, those of bodies and those of segments:
 * each call and each allocation fails once, and names that are nobody's.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "digestd/disk/disk_files.h"
#include "digestd/disk/disk_segments.h"
#include "tests/codec/alloc.h"
#include "tests/disk/disk_folder.h"
#include "tests/os/call_faults.h"
#include "tests/unit.h"

enum { MANY = 1500 }; /* more files than fit a first list */

static struct disk_files *files;

/* Files */

static int step_open(void)
{
	int err;

	disk_files_close(&files);
	err = disk_files_open(disk_folder(), &files);
	assert_true(err ? !files : files != NULL);
	return err;
}

static int step_list(void)
{
	uint64_t *ids = NULL;
	size_t n;
	int err = disk_files_list(files, &ids, &n);

	free(ids);
	return err;
}

static int step_write(void)
{
	disk_files_remove(files, 7);
	return disk_files_write(files, 7, "abc", 3);
}

static int step_read(void)
{
	const struct disk_body body = { .id = 7, .len = 3 };
	int fd = disk_files_read(files, &body), err;
	char bytes[3];

	if (fd < 0)
		return fd;
	err = disk_files_load(fd, bytes, sizeof(bytes), 0);
	if (!err)
		assert_memory_equal(bytes, "abc", 3);
	close(fd);
	return err;
}

static int step_list_segments(void)
{
	uint64_t *numbers = NULL;
	size_t n;
	int err = disk_segments_list(files, &numbers, &n);

	free(numbers);
	return err;
}

static int step_create_segment(void)
{
	int fd;

	unlink(disk_folder_path("00000009.log"));
	fd = disk_segments_create(files, 9);
	if (fd < 0) /* then there is none */
		assert_int_not_equal(access(disk_folder_path("00000009.log"),
					    F_OK), 0);
	if (fd >= 0)
		close(fd);
	return fd < 0 ? fd : 0;
}

static int step_write_segment(void)
{
	uint64_t bytes;
	int fd = disk_segments_open(files, 9, true, &bytes), err;

	if (fd < 0)
		return fd;
	err = disk_segments_write(fd, "abc", 3, 0);
	if (!err)
		err = disk_segments_sync(fd);
	if (!err)
		err = disk_segments_cut(fd, 3);
	close(fd);
	return err;
}

static const struct {
	const char *label;
	int (*step)(void);
	const char *calls[6];
} rows[] = {
	{ "opening", step_open, { "mkdir", "open", "flock", "mkdirat" } },
	{ "listing", step_list, { "openat", "fdopendir" } },
	{ "writing", step_write, { "openat", "write", "close" } },
	{ "reading", step_read, { "openat", "fstat", "pread" } },
	{ "listing segments", step_list_segments, { "openat", "fdopendir" } },
	{ "a new segment", step_create_segment,
	  { "openat", "fsync" } },
	{ "writing a segment", step_write_segment,
	  { "openat", "fstat", "ftruncate" } },
};

static void calls_that_fail(void **state)
{
	(void)state;
	for (size_t i = 0; i < NROWS(rows); i++) {
		for (const char *const *call = rows[i].calls; *call; call++) {
			unsigned n = 0;
			int err;

			if (!files)
				assert_int_equal(step_open(), 0);
			assert_int_equal(step_write(), 0);
			call_fail_at("", 0, 0);
			assert_int_equal(step_create_segment(), 0);
			while (call_fail_at(*call, ++n, EIO),
			       err = rows[i].step(), call_failed()) {
				/* what was read is closed in any case */
				if (err != -EIO)
					fail_msg("%s: %s %u: %d", rows[i].label,
						 *call, n, err);
				if (!files)
					assert_int_equal(step_open(), 0);
			}
			call_fail_at("", 0, 0);
			assert_int_equal(err, 0);
			if (n == 1)
				fail_msg("%s: no %s", rows[i].label, *call);
		}
	}
}

/* What was there already, a moment of somebody else's, and an interruption. */
static void calls_that_fail_for_good(void **state)
{
	static const struct {
		int (*step)(void);
		const char *call;
		int error;
	} fine[] = {
		{ step_open, "mkdir", EEXIST },
		{ step_open, "mkdirat", EEXIST },
		{ step_open, "flock", EWOULDBLOCK },
		{ step_write, "write", EINTR },
		{ step_read, "pread", EINTR },
	};

	(void)state;
	for (size_t i = 0; i < NROWS(fine); i++) {
		assert_int_equal(step_write(), 0);
		call_fail_at(fine[i].call, 1, fine[i].error);
		assert_int_equal(fine[i].step(), 0);
		assert_true(call_failed());
	}
}

static void one_process_has_it(void **state)
{
	struct disk_files *other = NULL;

	(void)state;
	assert_int_equal(disk_files_open(disk_folder(), &other), -EBUSY);
	assert_null(other);
	assert_int_equal(disk_files_open("/dev/null/x", &other), -ENOTDIR);
	disk_files_close(&other);
}

static void allocations_that_fail(void **state)
{
	static int (*const steps[])(void) = { step_open, step_list,
						  step_list_segments };

	(void)state;
	assert_int_equal(step_create_segment(), 0);
	for (uint64_t id = 1; id <= MANY; id++)
		assert_int_equal(disk_files_write(files, 1000 + id, "", 0), 0);
	for (size_t i = 0; i < NROWS(steps); i++) {
		unsigned n = 0;
		int err;

		while (alloc_fail_at(++n), err = steps[i](), alloc_failed()) {
			alloc_fail_at(0);
			assert_int_equal(err, -ENOMEM);
			if (!files)
				assert_int_equal(step_open(), 0);
		}
		alloc_fail_at(0);
		assert_int_equal(err, 0);
		assert_true(n > 1);
	}
	for (uint64_t id = 1; id <= MANY; id++)
		disk_files_remove(files, 1000 + id);
}

/* What lies about in the folders and is no object's file. */
static void other_names(void **state)
{
	static const char *const names[] = {
		"07/0000000000000007.old", "07/000000000000000G",
		"07/0000000000000008",     "07/00000000000000007",
		"00/0000000000000000",     "07/7",
	};
	uint64_t *ids;
	size_t n;

	(void)state;
	disk_folder_empty();
	disk_files_close(&files);
	assert_int_equal(step_open(), 0);
	for (size_t i = 0; i < NROWS(names); i++)
		close(creat(disk_folder_path(names[i]), 0600));
	assert_int_equal(disk_files_list(files, &ids, &n), 0);
	assert_int_equal(n, 0);
	assert_null(ids);
	assert_int_equal(step_write(), 0);
	assert_int_equal(disk_files_list(files, &ids, &n), 0);
	assert_int_equal(n, 1);
	assert_int_equal(ids[0], 7);
	free(ids);
}

static void files_that_are_none(void **state)
{
	const struct disk_body body = { .id = 7, .len = 3 };
	char bytes[4];
	int fd;

	(void)state;
	assert_int_equal(step_write(), 0);
	fd = disk_files_read(files, &body);
	assert_int_equal(disk_files_load(fd, bytes, 4, 0), -EBADMSG);
	close(fd);
	assert_int_equal(truncate(disk_folder_path("07/0000000000000007"), 2),
			 0);
	assert_int_equal(disk_files_read(files, &body), -EBADMSG);
	disk_files_remove(files, 7);
	assert_int_equal(disk_files_read(files, &body), -ENOENT);
	assert_int_equal(mkfifo(disk_folder_path("07/0000000000000007"), 0600),
			 0);
	assert_int_equal(disk_files_read(files, &body), -EBADMSG);
	disk_files_remove(files, 7);
}

static void names_of_segments(void **state)
{
	static const char *const others[] = {
		"00000000.log", "0000001.log", "000000010.log", "0000000A.log",
		"00000001.old", "index.mdb",
	};
	uint64_t *numbers;
	uint64_t bytes;
	size_t n;

	(void)state;
	disk_folder_empty();
	disk_files_close(&files);
	assert_int_equal(step_open(), 0);
	for (size_t i = 0; i < NROWS(others); i++)
		close(creat(disk_folder_path(others[i]), 0600));
	for (uint32_t i = 5; i; i--)
		close(disk_segments_create(files, i * 0x111));
	assert_int_equal(disk_segments_list(files, &numbers, &n), 0);
	assert_int_equal(n, 5);
	for (uint32_t i = 0; i < 5; i++)
		assert_int_equal(numbers[i], (i + 1) * 0x111);
	free(numbers);
	assert_int_equal(disk_segments_create(files, 0x111), -EEXIST);
	assert_int_equal(disk_segments_remove(files, 0x111), 0);
	assert_int_equal(disk_segments_remove(files, 0x111), 0);
	assert_int_equal(disk_segments_open(files, 0x111, false, &bytes),
			 -ENOENT);
	assert_int_equal(mkfifo(disk_folder_path("00000111.log"), 0600), 0);
	assert_int_equal(disk_segments_open(files, 0x111, false, &bytes),
			 -EBADMSG);
	assert_true(disk_segments_remove_former(files));
	assert_false(disk_segments_remove_former(files));
}

static int set_up(void **state)
{
	return disk_folder_make(state) || step_open();
}

static int tear_down(void **state)
{
	call_fail_at("", 0, 0);
	alloc_fail_at(0);
	disk_files_close(&files);
	return disk_folder_remove(state);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(calls_that_fail),
		cmocka_unit_test(calls_that_fail_for_good),
		cmocka_unit_test(one_process_has_it),
		cmocka_unit_test(allocations_that_fail),
		cmocka_unit_test(other_names),
		cmocka_unit_test(files_that_are_none),
		cmocka_unit_test(names_of_segments),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
