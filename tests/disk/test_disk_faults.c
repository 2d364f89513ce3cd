/*
 * The tier when the system refuses, once and at every place: what the owner is
 * left with can be read, what was removed stays away after the next start, and
 * a start that fails for want of memory or descriptors loses nothing.
 */
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>

#include "digestd/os/log.h"
#include "tests/codec/alloc.h"
#include "tests/disk/disk_faults.h"
#include "tests/disk/disk_folder.h"
#include "tests/disk/disk_owner.h"
#include "tests/os/call_faults.h"
#include "tests/rounds.h"
#include "tests/spared.h"
#include "tests/unit.h"

enum {
	OBJECTS = 40,
	DISK_BYTES = 256 << 10,
	SMALL_BYTES = 108 << 10,
	PUTS = 300, /* more than it has room for: segments are cleaned */
	LARGE = OBJECTS + 1,
	LARGE_BYTES = 40000, /* in a file */
};

static struct disk_owner *owner;
static uint64_t disk_bytes = DISK_BYTES;
static pthread_t owners_thread;
static bool spares_owner; /* faults are the disk's threads' only */

bool spared_thread(void)
{
	return spares_owner && pthread_equal(pthread_self(), owners_thread);
}

static size_t size_of(unsigned n)
{
	return n == LARGE ? LARGE_BYTES : 500 + 50 * n;
}

/* Puts, removes and replaces; marks what it has removed in the end. */
static void live(bool removed[LARGE + 1])
{
	for (unsigned i = 0; i < PUTS; i++) {
		unsigned n = i * 7 % OBJECTS, gone = (n + 11) % OBJECTS;

		disk_owner_put(owner, n, size_of(n));
		removed[n] = false;
		if (i % 5)
			continue;
		disk_owner_drop(owner, gone);
		removed[gone] = true;
		if (i % 10)
			disk_owner_sync(owner);
	}
	disk_owner_put(owner, LARGE, size_of(LARGE));
	disk_owner_sync(owner);
}

/* Reads all that there is. While calls fail, some may be an error. */
static void read_all(bool faults)
{
	for (unsigned n = 0; n <= LARGE; n++) {
		int err = disk_owner_has(owner, n) ?
				  disk_owner_read(owner, n, size_of(n)) : 0;

		if (!faults)
			assert_int_equal(err, 0);
	}
}

static void open_disk(void)
{
	assert_int_equal(disk_owner_open(&owner, disk_folder(), disk_bytes), 0);
}

struct fault {
	const char *call; /* of call_faults.h; null: see below */
	int error;
	int disk_call; /* of disk_faults.h; -1: an allocation */
};

static void arm(const struct fault *f, unsigned i)
{
	if (f->call)
		call_fail_at(f->call, i, f->error);
	else if (f->disk_call >= 0)
		disk_fail_at((enum disk_call)f->disk_call, i, f->error, false);
	else
		alloc_fail_at(i);
}

/* Returns whether there was one. */
static bool disarm(const struct fault *f)
{
	bool failed = f->call ? call_failed() : f->disk_call >= 0 ?
				disk_failed() > 0 : alloc_failed();

	call_fail_at("", 0, 0);
	disk_fail_at(DISK_CALL_READ, 0, 0, false);
	alloc_fail_at(0);
	return failed;
}

/* A life in which the i-th call fails, and one after it; with what the lives
 * before have left, as it takes long to make all folders anew. */
static bool live_with(const struct fault *f, unsigned i,
		      void (*lives)(bool removed[LARGE + 1]))
{
	bool removed[LARGE + 1] = { false }, failed;

	open_disk();
	spares_owner = true;
	arm(f, i);
	lives(removed);
	read_all(true);
	failed = disarm(f);
	spares_owner = false;
	disk_owner_put(owner, LARGE, size_of(LARGE));
	removed[0] |= disk_owner_drop(owner, 0);
	disk_owner_sync(owner);
	read_all(false);
	assert_true(disk_owner_has(owner, LARGE));
	disk_owner_close(&owner);
	open_disk();
	read_all(false);
	assert_true(disk_owner_has(owner, LARGE));
	for (unsigned n = 0; n < OBJECTS; n++) {
		if (removed[n] && disk_owner_has(owner, n))
			fail_msg("%s %u: %u is back", f->call ? f->call : "-",
				 i, n);
	}
	disk_owner_close(&owner);
	return failed;
}

static const struct fault faults[] = {
	{ NULL, ENOMEM, -1 },
	{ NULL, ENOSPC, DISK_CALL_WRITE },
	{ NULL, EIO, DISK_CALL_READ },
	{ NULL, EIO, DISK_CALL_SYNC },
	{ "openat", EMFILE, 0 },
	{ "openat", EIO, 0 },
	{ "fstat", EIO, 0 },
	{ "ftruncate", EIO, 0 },
	{ "posix_fallocate", ENOSPC, 0 },
};

/* The place after the i-th: all of the first ones, some of the later ones. */
static unsigned next_place(unsigned i)
{
	return i + 1 + i / (unsigned)rounds_of(1, 20);
}

static void one_fault_in_a_life(void **state)
{
	(void)state;
	disk_skip_syncs(true);
	disk_folder_empty();
	for (size_t k = 0; k < NROWS(faults); k++) {
		for (unsigned i = 1; live_with(&faults[k], i, live);)
			i = next_place(i);
	}
}

/* Little happens in it, of each kind: so each place of it can have a fault. */
static void live_shortly(bool removed[LARGE + 1])
{
	disk_owner_put(owner, 1, size_of(1));
	if (disk_owner_has(owner, LARGE))
		disk_owner_renew(owner, LARGE, size_of(LARGE));
	disk_owner_sync(owner);
	removed[2] = disk_owner_drop(owner, 2);
	disk_owner_put(owner, 3, size_of(3));
	disk_owner_put(owner, LARGE, size_of(LARGE));
	disk_owner_sync(owner);
}

static void one_fault_anywhere(void **state)
{
	(void)state;
	disk_skip_syncs(true);
	disk_folder_empty();
	for (size_t k = 0; k < NROWS(faults); k++) {
		for (unsigned i = 1; live_with(&faults[k], i, live_shortly);)
			i++;
	}
}

/* Some of all objects are replaced, on a disk that has room for few more: the
 * others are copied from the segments that are cleaned. A segment that cannot
 * be read leaves too little room, which must come to an end all the same. */
static void live_by_cleaning(bool removed[LARGE + 1])
{
	static unsigned seed = 1;

	for (unsigned i = 0; i < OBJECTS; i++) {
		unsigned n = (seed = seed * 1103515245 + 12345) >> 16;

		n %= OBJECTS;
		disk_owner_put(owner, n, size_of(n));
		removed[n] = false;
	}
	removed[3] = disk_owner_drop(owner, 3);
	disk_owner_sync(owner);
}

static void one_fault_in_cleaning(void **state)
{
	bool removed[LARGE + 1] = { false };

	(void)state;
	disk_skip_syncs(true);
	disk_folder_empty();
	disk_bytes = SMALL_BYTES;
	open_disk();
	live(removed);
	disk_owner_close(&owner);
	for (size_t k = 0; k < NROWS(faults); k++) {
		for (unsigned i = 1; live_with(&faults[k], i,
					       live_by_cleaning);)
			i += 1 + i / 10;
	}
	disk_bytes = DISK_BYTES;
}

/* Starts that fail, and are tried again. */
static void a_start_that_fails(void **state)
{
	static const char *const calls[] = {
		"openat", "fdopendir", "flock", "fstat", "pread", "mkdirat",
	};
	bool removed[LARGE + 1] = { false };
	size_t count;

	(void)state;
	disk_skip_syncs(true);
	disk_folder_empty();
	open_disk();
	live(removed);
	count = disk_owner_count(owner);
	disk_owner_close(&owner);
	for (size_t k = 0; k < NROWS(calls); k++) {
		unsigned before = call_descriptors(), n = 1;
		bool failed;

		do {
			int err;

			call_fail_at(calls[k], n, EMFILE);
			err = disk_owner_open(&owner, disk_folder(),
					      DISK_BYTES);
			failed = call_failed();
			call_fail_at("", 0, 0);
			if (err)
				assert_true(failed);
			else
				disk_owner_close(&owner);
			assert_int_equal(call_descriptors(), before);
			open_disk();
			assert_int_equal(disk_owner_count(owner), count);
			disk_owner_close(&owner);
			n = next_place(n);
		} while (failed);
	}
	open_disk();
	read_all(false);
	disk_owner_close(&owner);
}

static int set_up(void **state)
{
	log_set_level("error");
	owners_thread = pthread_self();
	return disk_folder_make(state);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_fault_in_a_life),
		cmocka_unit_test(one_fault_anywhere),
		cmocka_unit_test(one_fault_in_cleaning),
		cmocka_unit_test(a_start_that_fails),
	};

	return cmocka_run_group_tests(tests, set_up, disk_folder_remove);
}
