/*
 * The index of the disk tier when calls fail: of LMDB, of the system and of the
 * allocator, each of them once. What could not be done is told, and does not
 * hold up what comes after it.
 */
#include <errno.h>
#include <lmdb.h>
#include <stdlib.h>
#include <string.h>

#include "digestd/disk/cached.h"
#include "digestd/disk/disk_index.h"
#include "digestd/disk/disk_record.h"
#include "tests/codec/alloc.h"
#include "tests/disk/disk_folder.h"
#include "tests/os/call_faults.h"
#include "tests/unit.h"

enum { MAP_BYTES = 1 << 22, NRECORDS = 5000, BODY = 1000 };

static struct disk_index *disk_index;

static int step_open(void)
{
	struct disk_index *other = NULL;
	int err;

	disk_index_close(&disk_index);
	err = disk_index_open(disk_folder(), MAP_BYTES, &other);
	assert_true(err ? !other : other != NULL);
	disk_index_close(&other);
	return err;
}

static int step_batch(void)
{
	int err = disk_index_begin(disk_index);

	if (!err)
		err = disk_index_put(disk_index, 7, "record", 6);
	if (!err)
		err = disk_index_remove_id(disk_index, 8);
	if (!err)
		return disk_index_commit(disk_index);
	disk_index_give_up(disk_index);
	return err;
}

static int step_get(void)
{
	uint8_t *bytes = NULL;
	size_t len;
	int err = disk_index_get(disk_index, 1, &bytes, &len);

	free(bytes);
	return err;
}

static int count_one(void *arg, uint64_t id, const uint8_t *bytes, size_t len)
{
	(void)id;
	(void)bytes;
	(void)len;
	++*(unsigned *)arg;
	return 0;
}

static int step_each(void)
{
	unsigned n = 0;

	return disk_index_each(disk_index, count_one, &n);
}

static size_t map_bytes = MAP_BYTES;

static int step_grow(void)
{
	map_bytes += 4096;
	return disk_index_grow(disk_index, map_bytes);
}

static const struct {
	const char *label;
	int (*step)(void);
	const char *calls[10];
} rows[] = {
	{ "a batch", step_batch,
	  { "mdb_txn_begin", "mdb_put", "mdb_del", "mdb_txn_commit" } },
	{ "a read", step_get, { "mdb_txn_begin", "mdb_get" } },
	{ "a walk", step_each,
	  { "mdb_txn_begin", "mdb_cursor_open", "mdb_cursor_get" } },
	{ "more room", step_grow, { "mdb_env_set_mapsize" } },
	{ "a start", step_open,
	  { "open", "posix_fallocate", "mdb_env_create", "mdb_env_set_mapsize",
	    "mdb_env_set_maxreaders", "mdb_env_open", "mdb_txn_begin",
	    "mdb_dbi_open", "mdb_txn_commit" } },
};

static void open_it(void)
{
	if (!disk_index)
		assert_int_equal(disk_index_open(disk_folder(), MAP_BYTES,
						 &disk_index), 0);
}

static void calls_that_fail(void **state)
{
	(void)state;
	for (size_t i = 0; i < NROWS(rows); i++) {
		for (const char *const *call = rows[i].calls;
		     call < rows[i].calls + 10 && *call; call++) {
			unsigned n = 0;
			int err;

			open_it();
			while (call_fail_at(*call, ++n, EIO),
			       err = rows[i].step(), call_failed()) {
				call_fail_at("", 0, 0);
				if (err != -EIO)
					fail_msg("%s: %s %u: %d", rows[i].label,
						 *call, n, err);
				open_it();
			}
			call_fail_at("", 0, 0);
			assert_int_equal(err, 0);
			assert_true(n > 1);
		}
	}
}

static const struct {
	int code, error;
} codes[] = {
	{ MDB_NOTFOUND, -ENOENT },         { MDB_PANIC, -EAGAIN },
	{ MDB_MAP_FULL, -ENOSPC },         { MDB_TXN_FULL, -ENOSPC },
	{ MDB_CORRUPTED, -EBADMSG },       { MDB_PAGE_NOTFOUND, -EBADMSG },
	{ MDB_INVALID, -EBADMSG },         { MDB_VERSION_MISMATCH, -EBADMSG },
	{ MDB_INCOMPATIBLE, -EBADMSG },    { MDB_CURSOR_FULL, -EBADMSG },
	{ MDB_KEYEXIST, -EIO },            { EACCES, -EACCES },
};

static void codes_of_lmdb(void **state)
{
	(void)state;
	open_it();
	for (size_t i = 0; i < NROWS(codes); i++) {
		call_fail_at("mdb_get", 1, codes[i].code);
		assert_int_equal(step_get(), codes[i].error);
	}
}

static void allocations_that_fail(void **state)
{
	static int (*const steps[])(void) = { step_get, step_open };

	(void)state;
	for (size_t i = 0; i < NROWS(steps); i++) {
		open_it();
		alloc_fail_at(1);
		assert_int_equal(steps[i](), -ENOMEM);
		assert_true(alloc_failed());
	}
}

/* What is asked for is not there; and less room than there is. */
static void nothing_to_do(void **state)
{
	uint8_t *bytes = NULL;
	size_t len;

	(void)state;
	open_it();
	assert_int_equal(disk_index_get(disk_index, 99999, &bytes, &len),
			 -ENOENT);
	assert_int_equal(disk_index_grow(disk_index, 1), 0);
	disk_index_give_up(disk_index); /* there is no batch */
}

/* A disk that was full for a moment: LMDB is opened again. While that fails,
 * nothing else is possible, and then it is again. */
static void opened_again_after_a_panic(void **state)
{
	(void)state;
	open_it();
	call_fail_at("mdb_txn_begin", 1, MDB_PANIC);
	assert_int_equal(step_batch(), 0);
	call_fail_at("mdb_put", 1, MDB_PANIC);
	assert_int_equal(step_batch(), -EAGAIN);
	call_fail_at("mdb_txn_begin", 1, MDB_PANIC);
	assert_int_equal(disk_index_begin(disk_index), 0);
	disk_index_give_up(disk_index);
	disk_index_close(&disk_index);
}

static void long_paths(void **state)
{
	static char path[8192];
	struct disk_index *none = NULL;

	(void)state;
	memset(path, 'p', sizeof(path) - 1);
	assert_int_equal(disk_index_open(path, MAP_BYTES, &none),
			 -ENAMETOOLONG);
	assert_int_equal(disk_index_heal(path, MAP_BYTES), -ENAMETOOLONG);
	disk_index_remove(path);
}

/* Healing */

static void fill_with_good_ones(void)
{
	uint8_t sums[8] = { 1 };

	disk_index_close(&disk_index);
	disk_folder_empty();
	open_it();
	assert_int_equal(disk_index_begin(disk_index), 0);
	for (unsigned n = 1; n <= NRECORDS; n++) {
		struct disk_body body = { .id = n, .len = BODY, .sums = sums };
		struct cached *c = disk_response(n, 0);
		uint8_t *bytes;
		size_t len;

		assert_int_equal(disk_record_write(c, &body, &bytes, &len), 0);
		assert_int_equal(disk_index_put(disk_index, n, bytes, len), 0);
		cached_unref(&c);
		free(bytes);
	}
	assert_int_equal(disk_index_commit(disk_index), 0);
	disk_index_close(&disk_index);
}

/* The n-th call, and what comes of it: an error, 1 (damaged), 0. */
static const struct {
	const char *call;
	unsigned n;
	int error, outcome;
} heals[] = {
	{ "", 0, 0, 0 },
	{ "fork", 1, EAGAIN, -EAGAIN },
	{ "waitpid", 1, EINTR, 0 },
	{ "waitpid", 1, ECHILD, -EIO },
	{ "rename", 1, EACCES, -EACCES },
	{ "mdb_env_open", 1, ENOSPC, -ENOSPC },  /* the new one */
	{ "mdb_env_open", 1, EIO, -EIO },
	{ "mdb_env_sync", 1, ENOSPC, -ENOSPC },
	{ "mdb_env_sync", 1, EIO, -EIO },
	{ "mdb_put", 1, MDB_MAP_FULL, -ENOSPC },
	{ "mdb_put", 100, EIO, -EIO },
	{ "mdb_txn_commit", 4, ENOSPC, -ENOSPC }, /* of the records */
	{ "mdb_txn_begin", 4, EIO, -EIO },
	{ "mdb_cursor_get", 4000, EIO, 1 }, /* keeps those before it */
	{ "mdb_env_open", 2, EIO, 1 },      /* the old one: keeps none */
	{ "mdb_env_open", 2, ENOMEM, -EIO }, /* for want of memory: all */
	{ "mdb_cursor_open", 1, ENOMEM, -EIO },
	{ "mdb_cursor_open", 1, MDB_CORRUPTED, 1 },
};

static void healing_that_fails(void **state)
{
	(void)state;
	for (size_t i = 0; i < NROWS(heals); i++) {
		unsigned records;
		int err;

		fill_with_good_ones();
		call_fail_at(heals[i].call, heals[i].n, heals[i].error);
		err = disk_index_heal(disk_folder(), MAP_BYTES);
		call_fail_at("", 0, 0);
		if (err != heals[i].outcome)
			fail_msg("%s %u: %d", heals[i].call, heals[i].n, err);
		open_it(); /* there is one in any case */
		records = 0;
		assert_int_equal(disk_index_each(disk_index, count_one,
						 &records), 0);
		/* all, unless the old one was damaged */
		assert_true(err > 0 ? records < NRECORDS :
				      records == NRECORDS);
		disk_index_close(&disk_index);
	}
}

static void nothing_to_heal(void **state)
{
	(void)state;
	disk_index_close(&disk_index);
	disk_folder_empty();
	assert_int_equal(disk_index_heal(disk_folder(), MAP_BYTES), 0);
}

static int set_up(void **state)
{
	if (disk_folder_make(state))
		return -1;
	open_it();
	return disk_index_begin(disk_index) ||
	       disk_index_put(disk_index, 1, "first", 5) ||
	       disk_index_commit(disk_index);
}

static int tear_down(void **state)
{
	call_fail_at("", 0, 0);
	disk_index_close(&disk_index);
	return disk_folder_remove(state);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(calls_that_fail),
		cmocka_unit_test(codes_of_lmdb),
		cmocka_unit_test(allocations_that_fail),
		cmocka_unit_test(nothing_to_do),
		cmocka_unit_test(opened_again_after_a_panic),
		cmocka_unit_test(long_paths),
		cmocka_unit_test(healing_that_fails),
		cmocka_unit_test(nothing_to_heal),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
