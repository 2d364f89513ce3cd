/*
 * Files of segments, in the folder of disk_files.c.
 */
#include "digestd/disk/disk_segments.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "digestd/disk/disk_files.h"
#include "digestd/disk/disk_numbers.h"

enum { SEGMENT_DIGITS = 8 };

/* Larger numbers are nobody's: there are always some behind those that are
 * found. */
static const uint32_t segment_last = 0xf0000000;

void disk_segments_name(uint32_t number, char name[DISK_SEGMENT_NAME_BYTES])
{
	snprintf(name, DISK_SEGMENT_NAME_BYTES, "%08" PRIx32 ".log", number);
}

static bool disk_segments_read_name(const char *name, const char *folder,
				    uint64_t *number)
{
	char right[DISK_SEGMENT_NAME_BYTES];

	(void)folder;
	if (strspn(name, "0123456789abcdef") != SEGMENT_DIGITS)
		return false;
	*number = strtoul(name, NULL, 16);
	disk_segments_name((uint32_t)*number, right);
	return *number && *number <= segment_last && !strcmp(right, name);
}

int disk_segments_list(struct disk_files *files, uint64_t **out, size_t *n)
{
	struct disk_numbers numbers = { 0 };
	int err = disk_numbers_add_folder(&numbers, disk_files_folder(files),
					  ".", disk_segments_read_name);

	if (err) {
		free(numbers.at);
		return err;
	}
	disk_numbers_sort(&numbers);
	*out = numbers.at;
	*n = numbers.n;
	return 0;
}

static int disk_segments_sync_folder(struct disk_files *files)
{
	return fsync(disk_files_folder(files)) ? -errno : 0;
}

int disk_segments_create(struct disk_files *files, uint32_t number)
{
	char name[DISK_SEGMENT_NAME_BYTES];
	int fd, err;

	assert(number);
	disk_segments_name(number, name);
	fd = openat(disk_files_folder(files), name,
		    O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	err = disk_segments_sync_folder(files);
	if (!err)
		return fd;
	unlinkat(disk_files_folder(files), name, 0);
	close(fd);
	return err;
}

/* Whether something else is in the place of a file. */
static bool disk_segments_is_no_file(int err)
{
	return err == ELOOP || err == EISDIR || err == ENXIO;
}

int disk_segments_open(struct disk_files *files, uint32_t number, bool write,
		       uint64_t *bytes)
{
	char name[DISK_SEGMENT_NAME_BYTES];
	struct stat st;
	int fd, err = 0;

	disk_segments_name(number, name);
	/* what has become a pipe would wait for its other end */
	fd = openat(disk_files_folder(files), name,
		    (write ? O_RDWR : O_RDONLY) | O_CLOEXEC | O_NOFOLLOW |
			    O_NONBLOCK, 0);
	if (fd < 0)
		return disk_segments_is_no_file(errno) ? -EBADMSG : -errno;
	if (fstat(fd, &st))
		err = -errno;
	else if (!S_ISREG(st.st_mode))
		err = -EBADMSG;
	if (!err) {
		*bytes = (uint64_t)st.st_size;
		return fd;
	}
	close(fd);
	return err;
}

int disk_segments_write(int fd, const void *bytes, size_t len, uint64_t at)
{
	const char *from = bytes;

	while (len) {
		ssize_t n = pwrite(fd, from, len, (off_t)at);

		if (n < 0 && errno != EINTR)
			return -errno;
		if (!n)
			return -EIO;
		if (n > 0) {
			from += n;
			at += (uint64_t)n;
			len -= (size_t)n;
		}
	}
	return 0;
}

int disk_segments_cut(int fd, uint64_t at)
{
	return ftruncate(fd, (off_t)at) ? -errno : 0;
}

int disk_segments_sync(int fd)
{
	return fdatasync(fd) ? -errno : 0;
}

int disk_segments_remove(struct disk_files *files, uint32_t number)
{
	char name[DISK_SEGMENT_NAME_BYTES];

	disk_segments_name(number, name);
	if (unlinkat(disk_files_folder(files), name, 0) && errno != ENOENT)
		return -errno;
	return disk_segments_sync_folder(files);
}

int disk_segments_set_aside(struct disk_files *files, uint32_t number)
{
	char name[DISK_SEGMENT_NAME_BYTES], aside[DISK_SEGMENT_NAME_BYTES];
	int folder = disk_files_folder(files);

	disk_segments_name(number, name);
	snprintf(aside, sizeof(aside), "%08" PRIx32 ".bad", number);
	if (renameat(folder, name, folder, aside))
		return disk_segments_remove(files, number);
	return disk_segments_sync_folder(files);
}

int disk_segments_seed(uint64_t *seed)
{
	return getrandom(seed, sizeof(*seed), 0) == sizeof(*seed) ? 0 : -EIO;
}

bool disk_segments_remove_former(struct disk_files *files)
{
	bool was = !unlinkat(disk_files_folder(files), "index.mdb", 0);

	unlinkat(disk_files_folder(files), "index.mdb-lock", 0);
	unlinkat(disk_files_folder(files), "index.new", 0);
	return was;
}
