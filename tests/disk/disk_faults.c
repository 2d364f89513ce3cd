/*
 * The calls themselves go to the kernel by their numbers, so that it does not
 * matter who else has put himself in between.
 */
#include "tests/disk/disk_faults.h"

#include <errno.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

static atomic_int failing, failing_error;
static atomic_bool failing_lasts;
static atomic_int left; /* calls until then; 0: none will */
static atomic_int failed;
static atomic_bool syncs_are_skipped;
static atomic_ullong unreadable; /* a file; 0: none */
static atomic_int unreadable_error;

void disk_fail_at(enum disk_call call, unsigned n, int error, bool lasts)
{
	atomic_store(&left, 0);
	atomic_store(&failed, 0);
	atomic_store(&failing, (int)call);
	atomic_store(&failing_error, error);
	atomic_store(&failing_lasts, lasts);
	atomic_store(&left, (int)n);
}

void disk_skip_syncs(bool skip)
{
	atomic_store(&syncs_are_skipped, skip);
}

void disk_fail_reads_of(const char *path, int error)
{
	struct stat st = { .st_ino = 0 };

	if (error && stat(path, &st))
		st.st_ino = 0;
	atomic_store(&unreadable_error, error);
	atomic_store(&unreadable, error ? st.st_ino : 0);
}

static bool is_unreadable(int fd)
{
	unsigned long long file = atomic_load(&unreadable);
	struct stat st;

	if (!file || fstat(fd, &st) || st.st_ino != file)
		return false;
	errno = atomic_load(&unreadable_error);
	return true;
}

unsigned disk_failed(void)
{
	return (unsigned)atomic_load(&failed);
}

static bool is_file(int fd)
{
	struct stat st;
	int before = errno;
	bool is = fd > STDERR_FILENO && !fstat(fd, &st) && S_ISREG(st.st_mode);

	errno = before;
	return is;
}

/* Counts down to 1, and stays there where it lasts. */
static bool fails(enum disk_call call, int fd)
{
	int now = atomic_load(&left);

	if (!now || (int)call != atomic_load(&failing) || !is_file(fd))
		return false;
	while (now && !(now == 1 && atomic_load(&failing_lasts)) &&
	       !atomic_compare_exchange_weak(&left, &now, now - 1))
		;
	if (now != 1)
		return false;
	atomic_fetch_add(&failed, 1);
	errno = atomic_load(&failing_error);
	return true;
}

ssize_t write(int fd, const void *bytes, size_t len)
{
	if (fails(DISK_CALL_WRITE, fd))
		return -1;
	return syscall(SYS_write, fd, bytes, len);
}

ssize_t pwrite(int fd, const void *bytes, size_t len, off_t at)
{
	if (fails(DISK_CALL_WRITE, fd))
		return -1;
	return syscall(SYS_pwrite64, fd, bytes, len, at);
}

ssize_t writev(int fd, const struct iovec *parts, int n)
{
	if (fails(DISK_CALL_WRITE, fd))
		return -1;
	return syscall(SYS_writev, fd, parts, n);
}

ssize_t pread(int fd, void *bytes, size_t len, off_t at)
{
	if (fails(DISK_CALL_READ, fd) || is_unreadable(fd))
		return -1;
	return syscall(SYS_pread64, fd, bytes, len, at);
}

int fsync(int fd)
{
	if (fails(DISK_CALL_SYNC, fd))
		return -1;
	if (atomic_load(&syncs_are_skipped))
		return 0;
	return (int)syscall(SYS_fsync, fd);
}

int fdatasync(int fd)
{
	if (fails(DISK_CALL_SYNC, fd))
		return -1;
	if (atomic_load(&syncs_are_skipped))
		return 0;
	return (int)syscall(SYS_fdatasync, fd);
}
