/*
 * Files that other processes map.
 */
#include "digestd/os/shared_file.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { GROUP_BYTES = 16384 };

int shared_file_group(const char *name, gid_t *out)
{
	char room[GROUP_BYTES];
	struct group entry, *found;

	if (getgrnam_r(name, &entry, room, sizeof(room), &found) || !found)
		return -ENOENT;
	*out = found->gr_gid;
	return 0;
}

/* Of a file that is open: its group, its pages, its mapping. Pages that it has
 * need none when they are written to, where there would be nobody to tell. */
static int shared_file_fill(struct shared_file *f, int fd, gid_t group)
{
	int err;

	if (group != SHARED_FILE_NO_GROUP && fchown(fd, (uid_t)-1, group))
		return -errno;
	if (fchmod(fd, 0640))
		return -errno;
	err = posix_fallocate(fd, 0, (off_t)f->bytes);
	if (err)
		return -err;
	f->memory = mmap(NULL, f->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
			 0);
	if (f->memory != MAP_FAILED)
		return 0;
	f->memory = NULL;
	return -errno;
}

/* What a process before this one has left is none of its business. */
static int shared_file_open(const char *path)
{
	if (unlink(path) && errno != ENOENT)
		return -1;
	return open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
}

int shared_file_new(const char *path, gid_t group, size_t bytes,
		    struct shared_file *out)
{
	const size_t room = strlen(path) + sizeof(".new");
	struct shared_file f = { .bytes = bytes };
	int fd, err;

	f.path = strdup(path);
	f.temporary = malloc(room);
	if (!f.path || !f.temporary) {
		free(f.path);
		free(f.temporary);
		return -ENOMEM;
	}
	snprintf(f.temporary, room, "%s.new", path);
	fd = shared_file_open(f.temporary);
	err = fd < 0 ? -errno : shared_file_fill(&f, fd, group);
	if (fd >= 0)
		close(fd);
	if (err)
		shared_file_free(&f);
	else
		*out = f;
	return err;
}

int shared_file_publish(struct shared_file *f)
{
	assert(f->temporary);
	if (rename(f->temporary, f->path))
		return -errno;
	free(f->temporary);
	f->temporary = NULL;
	return 0;
}

void shared_file_free(struct shared_file *f)
{
	if (f->memory)
		munmap(f->memory, f->bytes);
	if (f->temporary)
		unlink(f->temporary);
	free(f->temporary);
	free(f->path);
	*f = (struct shared_file){ 0 };
}
