/*
 * The log of the disk tier, with an owner that is an array: what is found again
 * after each way to end.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "digestd/disk/disk.h"
#include "digestd/disk/disk_used.h"
#include "digestd/os/log.h"
#include "tests/disk/disk_faults.h"
#include "tests/disk/disk_folder.h"
#include "tests/disk/disk_owner.h"
#include "tests/rounds.h"
#include "tests/unit.h"

enum {
	MIB = 1 << 20,
	LARGE = 100000, /* has a file */
	SOME = 4,
};

static struct disk_owner *owner;

/* Each byte would be a start; so many of them are for long tests. */
static size_t test_step(void)
{
	return rounds_are_long() ? 1 : 53;
}

static void open_disk(uint64_t max_bytes)
{
	assert_int_equal(disk_owner_open(&owner, disk_folder(), max_bytes), 0);
}

static void close_disk(void)
{
	disk_owner_close(&owner);
}

static int set_up(void **state)
{
	(void)state;
	log_set_level("error");
	disk_skip_syncs(true);
	disk_folder_empty();
	return 0;
}

static size_t size_of(unsigned n)
{
	static const size_t sizes[] = { 100, 0, LARGE, 3000, 65536, 17 };

	return sizes[n % 6];
}

static void check_all(unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		assert_int_equal(disk_owner_read(owner, i, size_of(i)), 0);
}

/* Segments */

static const char *segment_path(unsigned number)
{
	char name[16];

	snprintf(name, sizeof(name), "%08x.log", number);
	return disk_folder_path(name);
}

/* The bytes of one, to be freed. */
static char *load(const char *path, size_t *len)
{
	struct stat st;
	int fd = open(path, O_RDONLY);
	char *bytes;

	assert_true(fd >= 0 && !fstat(fd, &st));
	*len = (size_t)st.st_size;
	bytes = malloc(*len + 1);
	assert_non_null(bytes);
	assert_int_equal(read(fd, bytes, *len), *len);
	close(fd);
	return bytes;
}

static void save(const char *path, const char *bytes, size_t len)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, len), len);
	close(fd);
}

/* Another log in place of what is there. */
static void save_log(const char *bytes, size_t len)
{
	unlink(segment_path(2));
	unlink(segment_path(1));
	save(segment_path(1), bytes, len);
}

/* Tests */

static void a_start_finds_all(void **state)
{
	(void)state;
	open_disk(64 * MIB);
	for (unsigned i = 0; i < 60; i++)
		disk_owner_put(owner, i, size_of(i));
	disk_owner_sync(owner);
	check_all(60);
	close_disk();
	for (int i = 0; i < 2; i++) {
		open_disk(64 * MIB);
		assert_int_equal(disk_owner_count(owner), 60);
		check_all(60);
		close_disk();
	}
}

/* Of replaced ones the newer, of renewed ones their bodies; none that is
 * removed. */
static void changes_last(void **state)
{
	(void)state;
	for (int i = 0; i < 3; i++) {
		open_disk(64 * MIB);
		for (unsigned n = 0; n < 12; n++) {
			if (i == 0)
				disk_owner_put(owner, n, 50);
			disk_owner_put(owner, n, size_of(n));
		}
		disk_owner_sync(owner);
		disk_owner_renew(owner, 2, size_of(2));
		disk_owner_renew(owner, 8, size_of(8));
		disk_owner_sync(owner);
		disk_owner_renew(owner, 2, size_of(2));
		assert_true(disk_owner_drop(owner, 3));
		close_disk();
		open_disk(64 * MIB);
		assert_int_equal(disk_owner_count(owner), 11);
		assert_false(disk_owner_has(owner, 3));
		disk_owner_put(owner, 3, size_of(3));
		disk_owner_sync(owner);
		check_all(12);
		close_disk();
	}
}

/* A log of some objects, of which the last is removed; and one of files. */
static char *make_log(size_t *len)
{
	open_disk(64 * MIB);
	for (unsigned n = 0; n < SOME; n++)
		disk_owner_put(owner, n, 7 * n);
	disk_owner_sync(owner);
	disk_owner_drop(owner, SOME - 1);
	close_disk();
	return load(segment_path(1), len);
}

/* As kill -9 and power failures leave it: cut at any place, what was written
 * before is there; and what is opened once is so again. */
static void logs_that_are_cut(void **state)
{
	size_t len, before = 0;
	char *log = make_log(&len);

	(void)state;
	for (size_t cut = 0; cut <= len; cut += test_step()) {
		save_log(log, cut);
		for (int i = 0; i < 2; i++) {
			size_t count;

			open_disk(64 * MIB);
			count = disk_owner_count(owner);
			/* the one that is removed goes at the end */
			assert_true(count >= before || count == SOME - 1);
			before = count;
			for (unsigned n = 0; n < count; n++)
				assert_int_equal(
					disk_owner_read(owner, n, 7 * n), 0);
			close_disk();
		}
	}
	assert_int_equal(before, SOME - 1);
	free(log);
}

/* Each bit of each byte: at most one object is lost, and none comes back. */
static void bits_that_flip(void **state)
{
	size_t len;
	char *log = make_log(&len);

	(void)state;
	for (size_t at = 0; at < len; at += test_step()) {
		size_t count, good = 0;

		log[at] = (char)(log[at] ^ 1 << at % 8);
		save_log(log, len);
		log[at] = (char)(log[at] ^ 1 << at % 8);
		open_disk(64 * MIB);
		count = disk_owner_count(owner);
		assert_in_range(count, SOME - 2, SOME - 1);
		assert_false(disk_owner_has(owner, SOME - 1));
		for (unsigned n = 0; n < SOME - 1; n++)
			good += disk_owner_has(owner, n) &&
				!disk_owner_read(owner, n, 7 * n);
		assert_in_range(good, SOME - 2, SOME - 1);
		close_disk();
	}
	free(log);
}

/* The same without a table, so that the records are looked through. */
static void bits_that_flip_in_the_tail(void **state)
{
	size_t len, end;
	char *log = make_log(&len);

	(void)state;
	end = len - 48 - 8 - (SOME * 32) - 2 * (4 + 4 + 4 + 1 + 1) - 8;
	for (size_t at = 0; at < end; at += test_step()) {
		size_t count;

		log[at] = (char)(log[at] ^ 1 << at % 8);
		save_log(log, len - 1);
		log[at] = (char)(log[at] ^ 1 << at % 8);
		open_disk(64 * MIB);
		count = disk_owner_count(owner);
		assert_in_range(count, SOME - 2, SOME - 1);
		assert_false(disk_owner_has(owner, SOME - 1));
		close_disk();
	}
	free(log);
}

/* Of all segments. */
static uint64_t folder_bytes(void)
{
	DIR *folder = opendir(disk_folder());
	const struct dirent *e;
	uint64_t bytes = 0;
	struct stat st;

	assert_non_null(folder);
	while ((e = readdir(folder))) {
		if (strstr(e->d_name, ".log") &&
		    !fstatat(dirfd(folder), e->d_name, &st, 0))
			bytes += (uint64_t)st.st_size;
	}
	closedir(folder);
	return bytes;
}

/* Much is replaced: segments are cleaned, and the disk does not grow. What was
 * removed does not come back, whatever has become of its segments. */
static void room_comes_back(void **state)
{
	const unsigned rounds = (unsigned)rounds_of(3000, 6000);
	unsigned seed = 1;

	(void)state;
	open_disk(4 * MIB);
	for (unsigned i = 0; i < rounds; i++) {
		unsigned n = (seed = seed * 1103515245 + 12345) >> 16 & 1023;

		disk_owner_put(owner, n, 2000);
		if (i % 100 == 99) {
			disk_owner_drop(owner, (n + 1) % 1024);
			disk_owner_sync(owner);
			assert_true(folder_bytes() <= 4 * MIB);
		}
	}
	for (unsigned n = 0; n < 100; n++)
		disk_owner_drop(owner, n);
	disk_owner_sync(owner);
	for (int i = 0; i < 2; i++) {
		size_t count = disk_owner_count(owner);

		for (unsigned n = 0; n < 1024; n++) {
			if (disk_owner_has(owner, n))
				assert_int_equal(
					disk_owner_read(owner, n, 2000), 0);
		}
		close_disk();
		open_disk(4 * MIB);
		assert_int_equal(disk_owner_count(owner), count);
		for (unsigned n = 0; n < 100; n++)
			assert_false(disk_owner_has(owner, n));
	}
	close_disk();
}

/* As many removals as objects: they have to be kept for as long as what they
 * are of, and cleaning must come to an end all the same. */
static void mostly_removals(void **state)
{
	(void)state;
	open_disk(256 << 10);
	for (int i = 0; i < rounds_of(120, 400); i++) {
		for (unsigned n = 0; n < 40; n++)
			disk_owner_put(owner, n + (unsigned)i % 5 * 40, 20);
		disk_owner_sync(owner);
		for (unsigned n = (unsigned)i % 3; n < 40; n++)
			disk_owner_drop(owner,
					n + (unsigned)i % 5 * 40);
		disk_owner_sync(owner);
		assert_true(folder_bytes() <= 256 << 10);
	}
	disk_owner_put(owner, 1000, 1000);
	disk_owner_sync(owner);
	assert_int_equal(disk_owner_read(owner, 1000, 1000), 0);
	close_disk();
	open_disk(256 << 10);
	assert_true(disk_owner_has(owner, 1000));
	for (unsigned n = 10; n < 200; n++)
		assert_false(disk_owner_has(owner, n) && n % 40 > 3);
	close_disk();
}

/* Objects that replace others, so that segments are cleaned. */
static void churn(unsigned rounds)
{
	unsigned seed = 1;

	for (unsigned i = 0; i < rounds; i++) {
		unsigned n = (seed = seed * 1103515245 + 12345) >> 16 & 1023;

		disk_owner_put(owner, n, 2000);
		if (i % 100 == 99)
			disk_owner_sync(owner);
	}
}

/* What is removed while it is copied has two places in the log, and does not
 * come back from either. */
static void removed_while_they_move(void **state)
{
	enum { COUNT = 1500 }; /* three quarters of the disk */
	bool dropped[COUNT];
	unsigned count = 0;

	(void)state;
	open_disk(4 * MIB);
	for (unsigned n = 0; n < COUNT; n++)
		disk_owner_put(owner, n, 2000);
	disk_owner_sync(owner);
	disk_owner_drop_moved(owner, 40);
	for (unsigned i = 0; i < 100 && !count; i++) {
		for (unsigned j = 0; j < 40; j++)
			disk_owner_put(owner, (i * 40 + j) * 7919 % COUNT,
				       2000);
		disk_owner_sync(owner);
		for (unsigned n = 0; n < COUNT; n++) {
			dropped[n] = disk_owner_was_dropped(owner, n);
			count += dropped[n];
		}
	}
	assert_true(count > 0);
	close_disk();
	open_disk(4 * MIB);
	for (unsigned n = 0; n < COUNT; n++)
		assert_false(dropped[n] && disk_owner_has(owner, n));
	close_disk();
}

static void lose_segment(unsigned number)
{
	unlink(segment_path(number));
}

static void make_segment_a_pipe(unsigned number)
{
	unlink(segment_path(number));
	assert_int_equal(mkfifo(segment_path(number), 0600), 0);
}

static void make_segment_a_link(unsigned number)
{
	unlink(segment_path(number));
	assert_int_equal(symlink("/dev/null", segment_path(number)), 0);
}

/* A segment that cannot be cleaned does not keep others from it. */
static void segments_that_are_spoilt(void **state)
{
	static void (*const spoil[])(unsigned) = {
		lose_segment, make_segment_a_pipe, make_segment_a_link,
	};
	struct disk_counters counters;

	(void)state;
	for (size_t i = 0; i < NROWS(spoil); i++) {
		disk_folder_empty();
		open_disk(4 * MIB);
		churn(500);
		spoil[i](2);
		churn((unsigned)rounds_of(3000, 6000));
		disk_count(disk_owner_disk(owner), &counters);
		assert_int_equal(counters.write_errors, 0);
		close_disk();
	}
}

/* A child writes, removes and replaces until it is killed, and says what it has
 * been promised. */
static void write_until_killed(int promises)
{
	unsigned seed = (unsigned)getpid();

	open_disk(2 * MIB);
	for (unsigned round = 0;; round++) {
		unsigned n = (seed = seed * 1103515245 + 12345) >> 16 & 255;

		disk_owner_put(owner, n, 1 + 10 * n);
		if (round % 8)
			continue;
		n = 256 + round / 8 % 256;
		disk_owner_put(owner, n, 100);
		if (round % 16)
			disk_owner_sync(owner);
		disk_owner_drop(owner, n);
		disk_owner_sync(owner);
		if (write(promises, &n, sizeof(n)) < 0)
			_exit(1);
	}
}

/* What was told before the kill: these are removed. The last one may have been
 * put again. */
static void killed_at_any_time(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 6; i++) {
		unsigned n, promised = 0;
		bool removed[512] = { false };
		int pipes[2];
		pid_t child;

		assert_int_equal(pipe(pipes), 0);
		child = fork();
		assert_true(child >= 0);
		if (!child)
			write_until_killed(pipes[1]);
		close(pipes[1]);
		usleep(5000 + 7000 * i);
		kill(child, SIGKILL);
		assert_int_equal(waitpid(child, NULL, 0), child);
		while (read(pipes[0], &n, sizeof(n)) == sizeof(n)) {
			removed[n] = true;
			promised = n;
		}
		close(pipes[0]);
		removed[256 + (promised + 1) % 256] = false;
		open_disk(2 * MIB);
		for (n = 0; n < 512; n++) {
			assert_false(removed[n] && disk_owner_has(owner, n));
			if (disk_owner_has(owner, n))
				assert_int_equal(disk_owner_read(
					owner, n, n < 256 ? 1 + 10 * n : 100),
						 0);
		}
		close_disk();
	}
}

/* A disk that takes nothing for a while: objects are lost, but what was removed
 * meanwhile stays away. */
static void a_disk_that_is_full(void **state)
{
	static const int errors[] = { ENOSPC, EIO };

	(void)state;
	for (size_t i = 0; i < NROWS(errors); i++) {
		disk_folder_empty();
		open_disk(64 * MIB);
		for (unsigned n = 0; n < 100; n++)
			disk_owner_put(owner, n, 1000);
		disk_owner_sync(owner);
		disk_fail_at(DISK_CALL_WRITE, 1, errors[i], true);
		disk_owner_put(owner, 200, 1000);
		disk_owner_drop(owner, 50);
		disk_owner_sync(owner);
		assert_false(disk_owner_has(owner, 200));
		disk_fail_at(DISK_CALL_WRITE, 0, 0, false);
		disk_owner_put(owner, 201, 1000);
		disk_owner_sync(owner);
		assert_int_equal(disk_owner_read(owner, 201, 1000), 0);
		close_disk();
		open_disk(64 * MIB);
		assert_false(disk_owner_has(owner, 50));
		assert_true(disk_owner_has(owner, 201));
		close_disk();
	}
}

/* What goes because a removal cannot be written may have removals itself, of
 * what is older: that stays away, too, even if nobody can read what they were.
 */
static void removals_that_go_with_their_segment(void **state)
{
	(void)state;
	for (int unreadable = 0; unreadable < 2; unreadable++) {
		disk_folder_empty();
		for (unsigned i = 0; i < 3; i++) { /* a segment each */
			open_disk(64 * MIB);
			disk_owner_put(owner, i, 1000);
			if (i == 1)
				disk_owner_drop(owner, 0);
			close_disk();
		}
		open_disk(64 * MIB);
		assert_int_equal(disk_owner_count(owner), 2);
		if (unreadable)
			disk_fail_reads_of(segment_path(2), EIO);
		disk_fail_at(DISK_CALL_WRITE, 1, EIO, true);
		disk_owner_drop(owner, 1);
		disk_owner_sync(owner);
		disk_fail_at(DISK_CALL_WRITE, 0, 0, false);
		disk_fail_reads_of(segment_path(2), 0);
		assert_int_not_equal(access(segment_path(1), F_OK), 0);
		close_disk();
		open_disk(64 * MIB);
		assert_int_equal(disk_owner_count(owner), 1);
		assert_int_equal(disk_owner_read(owner, 2, 1000), 0);
		close_disk();
	}
}

/* A segment that cannot be read at a start: what came after it is there, what
 * came before may have been removed in it, and goes. The next start knows
 * nothing of it. */
static void a_segment_that_cannot_be_read(void **state)
{
	char path[256], aside[256];

	(void)state;
	for (unsigned i = 0; i < 3; i++) { /* a segment each */
		open_disk(64 * MIB);
		disk_owner_put(owner, i, 1000);
		close_disk();
	}
	snprintf(path, sizeof(path), "%s", segment_path(2));
	snprintf(aside, sizeof(aside), "%s",
		 disk_folder_path("00000002.bad"));
	disk_fail_reads_of(path, EIO);
	open_disk(64 * MIB);
	assert_int_not_equal(access(path, F_OK), 0);
	assert_int_equal(access(aside, F_OK), 0);
	assert_int_equal(disk_owner_count(owner), 1);
	assert_int_equal(disk_owner_read(owner, 2, 1000), 0);
	disk_owner_put(owner, 3, 1000);
	close_disk();
	disk_fail_reads_of(path, 0);
	open_disk(64 * MIB);
	assert_int_equal(disk_owner_count(owner), 2);
	assert_int_equal(disk_owner_read(owner, 2, 1000), 0);
	assert_int_equal(disk_owner_read(owner, 3, 1000), 0);
	close_disk();
	assert_int_equal(access(aside, F_OK), 0);
}

/* What is left of a version that had an index goes, files and all. */
static void folders_of_before(void **state)
{
	(void)state;
	save(disk_folder_path("index.mdb"), "anything", 8);
	save(disk_folder_path("index.mdb-lock"), "", 0);
	assert_int_equal(mkdir(disk_folder_path("07"), 0700), 0);
	save(disk_folder_path("07/0000000000000007"), "body", 4);
	open_disk(64 * MIB);
	assert_int_equal(disk_owner_count(owner), 0);
	assert_int_not_equal(access(disk_folder_path("index.mdb"), F_OK), 0);
	assert_int_not_equal(access(disk_folder_path("07/0000000000000007"),
				    F_OK), 0);
	close_disk();
}

/* What has come in the place of segments, or looks like one, keeps nothing from
 * being stored. */
static void what_is_no_segment(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		assert_int_equal(symlink("/etc/passwd", segment_path(3)), 0);
		assert_int_equal(mkdir(segment_path(4), 0700), 0);
		save(segment_path(UINT32_MAX), "", 0);
		open_disk(64 * MIB);
		assert_int_equal(disk_owner_count(owner), i * SOME);
		for (unsigned n = 0; n < SOME; n++)
			disk_owner_put(owner, n, size_of(n));
		disk_owner_sync(owner);
		check_all(SOME);
		close_disk();
		rmdir(segment_path(4));
	}
}

static void many_objects(void **state)
{
	/* of which a hundred thousand are some 12 MiB */
	const unsigned many = (unsigned)rounds_of(20000, 100000);

	(void)state;
	open_disk((uint64_t)256 * MIB);
	for (unsigned n = 0; n < many; n++) {
		disk_owner_put(owner, n, n % 100);
		if (n % 10000 == 0)
			disk_owner_sync(owner);
	}
	close_disk();
	open_disk((uint64_t)256 * MIB);
	assert_int_equal(disk_owner_count(owner), many);
	for (unsigned n = 0; n < many; n += 997)
		assert_int_equal(disk_owner_read(owner, n, n % 100), 0);
	close_disk();
}

/* What waited is written when another process takes the folder; afterwards the
 * first one still reads what it had, and changes nothing there. */
static void what_is_left_to_another(void **state)
{
	enum { SMALL = 0, IN_FILE = 2, LATE = 9 };
	struct disk_owner *first, *second;
	struct disk_used none = { .n = 0 };

	(void)state;
	open_disk(64 * MIB);
	first = owner;
	disk_owner_put(first, SMALL, size_of(SMALL));
	disk_owner_put(first, IN_FILE, size_of(IN_FILE));
	disk_retire(disk_owner_disk(first), &none);
	open_disk(64 * MIB);
	second = owner;
	assert_int_equal(disk_owner_count(second), 2);
	disk_owner_put(first, LATE, size_of(LATE));
	assert_false(disk_owner_has(first, LATE));
	disk_owner_renew(first, IN_FILE, size_of(IN_FILE));
	disk_owner_sync(first); /* there is nothing to wait for */
	assert_int_equal(disk_owner_read(first, IN_FILE, size_of(IN_FILE)), 0);
	assert_true(disk_owner_drop(first, SMALL));
	disk_owner_close(&first);
	disk_owner_close(&second);
	open_disk(64 * MIB);
	assert_int_equal(disk_owner_count(owner), 2);
	assert_int_equal(disk_owner_read(owner, SMALL, size_of(SMALL)), 0);
	assert_int_equal(disk_owner_read(owner, IN_FILE, size_of(IN_FILE)), 0);
	close_disk();
}

#define CASE(name) cmocka_unit_test_setup(name, set_up)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(a_start_finds_all),
		CASE(changes_last),
		CASE(logs_that_are_cut),
		CASE(bits_that_flip),
		CASE(bits_that_flip_in_the_tail),
		CASE(room_comes_back),
		CASE(mostly_removals),
		CASE(removed_while_they_move),
		CASE(segments_that_are_spoilt),
		CASE(killed_at_any_time),
		CASE(a_disk_that_is_full),
		CASE(removals_that_go_with_their_segment),
		CASE(a_segment_that_cannot_be_read),
		CASE(folders_of_before),
		CASE(what_is_no_segment),
		CASE(many_objects),
		CASE(what_is_left_to_another),
	};
	return cmocka_run_group_tests(tests, disk_folder_make,
				      disk_folder_remove);
}
