/*
 * Files and folders, all relative to one descriptor.
 */
#include "digestd/disk/disk_files.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "digestd/disk/disk_numbers.h"
#include "digestd/os/file_write.h"

enum {
	FOLDERS = 256,
	ID_DIGITS = 16,
	LOCK_TRIES = 40,
	LOCK_PAUSE_US = 50000,
};

struct disk_files {
	int folder; /* locked */
};

void disk_files_name(uint64_t id, char name[DISK_NAME_BYTES])
{
	snprintf(name, DISK_NAME_BYTES, "%02x/%016" PRIx64,
		 (unsigned)(id % FOLDERS), id);
}

static int disk_files_make_folders(int folder)
{
	char name[8];

	for (unsigned i = 0; i < FOLDERS; i++) {
		snprintf(name, sizeof(name), "%02x", i);
		if (mkdirat(folder, name, 0700) && errno != EEXIST)
			return -errno;
	}
	return 0;
}

/* Who has just been killed may hold it for a moment. */
static int disk_files_lock(int fd)
{
	for (int i = 0; i < LOCK_TRIES; i++) {
		if (!flock(fd, LOCK_EX | LOCK_NB))
			return 0;
		if (errno != EWOULDBLOCK)
			return -errno;
		usleep(LOCK_PAUSE_US);
	}
	return -EBUSY;
}

static int disk_files_open_folder(const char *path)
{
	int fd, err;

	if (mkdir(path, 0700) && errno != EEXIST)
		return -errno;
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	err = disk_files_lock(fd);
	if (!err)
		return fd;
	close(fd);
	return err;
}

int disk_files_open(const char *path, struct disk_files **out)
{
	struct disk_files *files = calloc(1, sizeof(*files));
	int err;

	if (!files)
		return -ENOMEM;
	files->folder = disk_files_open_folder(path);
	err = files->folder < 0 ? files->folder
				: disk_files_make_folders(files->folder);
	if (err)
		disk_files_close(&files);
	else
		*out = files;
	return err;
}

void disk_files_unlock(const struct disk_files *files)
{
	flock(files->folder, LOCK_UN);
}

int disk_files_folder(const struct disk_files *files)
{
	return files->folder;
}

void disk_files_close(struct disk_files **files)
{
	if (!*files)
		return;
	if ((*files)->folder >= 0)
		close((*files)->folder);
	free(*files);
	*files = NULL;
}

/* Listing */

/* Whether a name is that of a file in its folder. */
static bool disk_files_read_name(const char *name, const char *folder,
				 uint64_t *id)
{
	char right[DISK_NAME_BYTES];

	if (strspn(name, "0123456789abcdef") != ID_DIGITS || name[ID_DIGITS])
		return false;
	*id = strtoull(name, NULL, 16);
	disk_files_name(*id, right);
	return *id && !strncmp(right, folder, 2) && !strcmp(right + 3, name);
}

int disk_files_list(struct disk_files *files, uint64_t **out, size_t *n)
{
	struct disk_numbers ids = { 0 };
	int err = 0;

	for (unsigned i = 0; i < FOLDERS && !err; i++) {
		char folder[8];

		snprintf(folder, sizeof(folder), "%02x", i);
		err = disk_numbers_add_folder(&ids, files->folder, folder,
					      disk_files_read_name);
	}
	if (err) {
		free(ids.at);
		return err;
	}
	disk_numbers_sort(&ids);
	*out = ids.at;
	*n = ids.n;
	return 0;
}

/* Single files */

int disk_files_write(struct disk_files *files, uint64_t id, const void *bytes,
		     size_t len)
{
	char name[DISK_NAME_BYTES];
	int fd, err;

	assert(id);
	disk_files_name(id, name);
	fd = openat(files->folder, name,
		    O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	err = file_write(fd, bytes, len);
	if (close(fd) && !err)
		err = -errno;
	if (err)
		unlinkat(files->folder, name, 0);
	return err;
}

int disk_files_read(struct disk_files *files, const struct disk_body *body)
{
	char name[DISK_NAME_BYTES];
	struct stat st;
	int fd, err = 0;

	assert(body->id);
	disk_files_name(body->id, name);
	/* what has become a pipe would wait for its other end */
	fd = openat(files->folder, name,
		    O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd < 0)
		return -errno;
	if (fstat(fd, &st))
		err = -errno;
	else if (!S_ISREG(st.st_mode) || (uint64_t)st.st_size != body->len)
		err = -EBADMSG;
	if (!err)
		return fd;
	close(fd);
	return err;
}

/* Up to len bytes from there; 0: the end, or a negative errno. */
static ssize_t disk_files_read_at(int fd, void *to, size_t len, uint64_t at)
{
	ssize_t n;

	do
		n = pread(fd, to, len, (off_t)at);
	while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : n;
}

int disk_files_load(int fd, void *to, size_t len, uint64_t at)
{
	size_t got = 0;

	assert(fd >= 0);
	while (got < len) {
		ssize_t n = disk_files_read_at(fd, (char *)to + got, len - got,
					       at + got);

		if (n < 0)
			return (int)n;
		if (!n)
			return -EBADMSG;
		got += (size_t)n;
	}
	return 0;
}

void disk_files_remove(struct disk_files *files, uint64_t id)
{
	char name[DISK_NAME_BYTES];

	assert(id);
	disk_files_name(id, name);
	unlinkat(files->folder, name, 0);
}
