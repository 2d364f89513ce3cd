/*
 * Files and records of the disk tier by themselves: each call and each
 * allocation fails once, names that are nobody's, and records whose checksum is
 * right but whose fields are not.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "codec/cursor.h"
#include "digestd/disk/cached.h"
#include "digestd/disk/disk_files.h"
#include "digestd/disk/disk_record.h"
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

static const struct {
	const char *label;
	int (*step)(void);
	const char *calls[6];
} rows[] = {
	{ "opening", step_open, { "mkdir", "open", "flock", "mkdirat" } },
	{ "listing", step_list, { "openat", "fdopendir" } },
	{ "writing", step_write, { "openat", "write", "close" } },
	{ "reading", step_read, { "openat", "fstat", "pread" } },
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
			assert_true(n > 1);
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
	static int (*const steps[])(void) = { step_open, step_list };

	(void)state;
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

/* Records */

static uint8_t sums[8] = { 9 };

static void make_record(uint8_t **bytes, size_t *len)
{
	const struct disk_body body = { .id = 1, .len = 10, .sums = sums };
	struct cached *c = disk_response(1, 0);

	assert_int_equal(disk_record_write(c, &body, bytes, len), 0);
	cached_unref(&c);
}

static int read_record(const uint8_t *bytes, size_t len)
{
	struct disk_body body = { .id = 1 };
	struct cached *c = NULL;
	int err = disk_record_read(bytes, len, &body, &c);

	assert_true(err ? !c : c != NULL);
	cached_unref(&c);
	return err;
}

/* With a checksum that is right of what is there. */
static int read_signed(uint8_t *bytes, size_t len)
{
	struct scd__writer w = scd__writer(bytes + len - 8, 8);

	scd__write_u64(&w, disk_sum(1, bytes, len - 8));
	return read_record(bytes, len);
}

static void records_cut_and_longer(void **state)
{
	uint8_t *bytes, *copy;
	size_t len;

	(void)state;
	make_record(&bytes, &len);
	copy = malloc(len + 1);
	assert_non_null(copy);
	for (size_t n = 0; n <= len; n++) {
		memcpy(copy, bytes, n);
		assert_int_equal(read_record(copy, n), n < len ? -EBADMSG : 0);
		if (n >= 8 && n < len)
			assert_int_equal(read_signed(copy, n), -EBADMSG);
	}
	memcpy(copy, bytes, len);
	copy[len] = 0;
	assert_int_equal(read_signed(copy, len + 1), -EBADMSG);
	free(copy);
	free(bytes);
}

/* Any byte may be another one: what comes is a response, or none. */
static void records_of_other_bytes(void **state)
{
	uint8_t *bytes, *copy;
	size_t len;

	(void)state;
	make_record(&bytes, &len);
	copy = malloc(len);
	assert_non_null(copy);
	for (size_t at = 0; at + 8 < len; at++) {
		for (unsigned bit = 0; bit < 8; bit += 7) {
			int err;

			memcpy(copy, bytes, len);
			copy[at] ^= (uint8_t)(1 << bit);
			assert_int_equal(read_record(copy, len), -EBADMSG);
			err = read_signed(copy, len);
			assert_true(!err || err == -EBADMSG);
		}
	}
	free(copy);
	free(bytes);
}

static void records_without_memory(void **state)
{
	const struct disk_body body = { .id = 1, .len = 10, .sums = sums };
	struct cached *c = disk_response(1, 0);
	unsigned n = 0;
	uint8_t *bytes;
	size_t len;
	int err;

	(void)state;
	while (alloc_fail_at(++n),
	       err = disk_record_write(c, &body, &bytes, &len), alloc_failed())
		assert_int_equal(err, -ENOMEM);
	assert_int_equal(err, 0);
	assert_true(n > 1);
	/* what only saves memory may fail */
	for (n = 1; alloc_fail_at(n), err = read_record(bytes, len),
	     alloc_failed(); n++)
		assert_true(err == -ENOMEM || (!err && n > 1));
	assert_int_equal(err, 0);
	assert_true(n > 1);
	alloc_fail_at(1);
	assert_null(disk_body_sums(1, "abc", 3));
	alloc_fail_at(0);
	free(bytes);
	cached_unref(&c);
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
		cmocka_unit_test(records_cut_and_longer),
		cmocka_unit_test(records_of_other_bytes),
		cmocka_unit_test(records_without_memory),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
