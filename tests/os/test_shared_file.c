/*
 * Files that other processes map: who has one mapped keeps it, and a path names
 * nothing that is not whole.
 */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "digestd/os/shared_file.h"
#include "tests/codec/alloc.h"
#include "tests/os/call_faults.h"
#include "tests/unit.h"

enum { BYTES = 10000 };

static char folder[] = "/tmp/scd-shared-XXXXXX";
static char path[64], temporary[64];

static int set_up(void **state)
{
	(void)state;
	strcpy(folder + strlen(folder) - 6, "XXXXXX");
	if (!mkdtemp(folder))
		return -1;
	snprintf(path, sizeof(path), "%s/table", folder);
	snprintf(temporary, sizeof(temporary), "%s/table.new", folder);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	unlink(path);
	return rmdir(folder);
}

static struct shared_file published(char filled_with)
{
	struct shared_file f;

	assert_int_equal(shared_file_new(path, SHARED_FILE_NO_GROUP, BYTES,
					 &f), 0);
	assert_int_equal(f.bytes, BYTES);
	memset(f.memory, filled_with, BYTES);
	assert_int_equal(shared_file_publish(&f), 0);
	return f;
}

/* What a reader maps; the caller unmaps it. */
static const char *mapped(void)
{
	int fd = open(path, O_RDONLY);
	struct stat st;
	void *at;

	assert_true(fd >= 0);
	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(st.st_mode, S_IFREG | 0640);
	assert_int_equal(st.st_size, BYTES);
	assert_true(st.st_blocks * 512 >= BYTES); /* it has all its pages */
	at = mmap(NULL, BYTES, PROT_READ, MAP_SHARED, fd, 0);
	assert_ptr_not_equal(at, MAP_FAILED);
	close(fd);
	return at;
}

static void unmap(const char *at)
{
	munmap((void *)(uintptr_t)at, BYTES);
}

static void path_names_what_is_published(void **state)
{
	struct shared_file first = published('1'), second;
	const char *old = mapped(), *new;

	(void)state;
	assert_int_equal(shared_file_new(path, SHARED_FILE_NO_GROUP, BYTES,
					 &second), 0);
	assert_memory_equal(second.memory, (const char[BYTES]){ 0 }, BYTES);
	new = mapped(); /* the path still names the first */
	assert_int_equal(new[0], '1');
	unmap(new);
	memset(second.memory, '2', BYTES);
	assert_int_equal(shared_file_publish(&second), 0);
	shared_file_free(&first);
	new = mapped();
	assert_int_equal(new[BYTES - 1], '2');
	assert_int_equal(old[BYTES - 1], '1');
	unmap(new);
	unmap(old);
	shared_file_free(&second);
	assert_int_equal(access(path, F_OK), 0); /* the readers' from now on */
}

static void what_is_not_published_goes(void **state)
{
	struct shared_file f;
	FILE *left = fopen(temporary, "w");

	(void)state;
	/* what a process has left that died */
	assert_non_null(left);
	fclose(left);
	assert_int_equal(shared_file_new(path, SHARED_FILE_NO_GROUP, BYTES, &f),
			 0);
	assert_int_equal(access(temporary, F_OK), 0);
	shared_file_free(&f);
	assert_int_equal(access(temporary, F_OK), -1);
	assert_int_equal(access(path, F_OK), -1);
	shared_file_free(&f); /* there is none */
}

static void groups(void **state)
{
	const struct group *own = getgrgid(getgid());
	struct shared_file f;
	struct stat st;
	gid_t group;

	(void)state;
	assert_int_equal(shared_file_group("no such group", &group), -ENOENT);
	if (!own)
		skip(); /* a machine that has no name for it */
	assert_int_equal(shared_file_group(own->gr_name, &group), 0);
	assert_int_equal(group, getgid());
	assert_int_equal(shared_file_new(path, group, BYTES, &f), 0);
	assert_int_equal(stat(temporary, &st), 0);
	assert_int_equal(st.st_gid, group);
	shared_file_free(&f);
}

CALL_WRAPPER(int, fchown, (int a, uid_t b, gid_t c), (a, b, c), -1)
CALL_WRAPPER(int, fchmod, (int a, mode_t b), (a, b), -1)
CALL_WRAPPER(int, unlink, (const char *a), (a), -1)
CALL_WRAPPER(void *, mmap, (void *a, size_t b, int c, int d, int e, off_t f),
	     (a, b, c, d, e, f), MAP_FAILED)

/* Readers have what they had, and nothing is left over. */
static void failures(void **state)
{
	static const char *const calls[] = {
		"unlink", "open", "fchown", "fchmod", "posix_fallocate", "mmap",
		NULL, "rename",
	};
	struct shared_file before = published('1'), f;
	unsigned descriptors = call_descriptors();
	const char *seen;

	(void)state;
	for (size_t i = 0; i < NROWS(calls); i++) {
		unsigned n = 1;
		int err;

		do {
			calls[i] ? call_fail_at(calls[i], n, ENOSPC)
				 : alloc_fail_at(n);
			err = shared_file_new(path, getgid(), BYTES, &f);
			if (!err) {
				err = shared_file_publish(&f);
				call_fail_at("", 0, 0);
				shared_file_free(&f);
			}
			alloc_fail_at(0);
			if (err)
				assert_int_equal(err, calls[i] ? -ENOSPC
							       : -ENOMEM);
			assert_int_equal(access(temporary, F_OK), -1);
		} while (!calls[i] && err && ++n);
		assert_true(calls[i] ? err != 0 : n > 2);
	}
	call_fail_at("", 0, 0);
	assert_int_equal(call_descriptors(), descriptors);
	seen = mapped();
	unmap(seen);
	shared_file_free(&before);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(path_names_what_is_published),
		TEST(what_is_not_published_goes),
		TEST(groups),
		TEST(failures),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
