/*
 * The file: a magic, an XXH3 of what follows, and the numbers. All are
 * little-endian.
 */
#include "digestd/disk/disk_used.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include "codec/cursor.h"
#include "codec/le64.h"
#include "digestd/disk/disk_files.h"

static const char disk_used_name[] = "used";

enum {
	MAGIC_BYTES = 8,
	HEAD_BYTES = 16,
	ID_BYTES = 8,
};

static const char disk_used_magic[MAGIC_BYTES + 1] = "SCDUSED1";

void disk_used_free(struct disk_used *u)
{
	free(u->ids);
	*u = (struct disk_used){ 0 };
}

void disk_used_add(struct disk_used *u, uint64_t id)
{
	if (u->n == DISK_USED_MAX)
		return;
	if (u->n == u->cap) {
		const size_t cap = u->cap ? 2 * u->cap : 1024;
		uint64_t *ids = realloc(u->ids, cap * sizeof(*ids));

		if (!ids)
			return;
		u->ids = ids;
		u->cap = cap;
	}
	u->ids[u->n++] = id;
}

static int disk_used_compare(const void *a, const void *b)
{
	const uint64_t one = *(const uint64_t *)a, other = *(const uint64_t *)b;

	return (one > other) - (one < other);
}

bool disk_used_has(const struct disk_used *u, uint64_t id)
{
	return u->n && bsearch(&id, u->ids, u->n, sizeof(id),
			       disk_used_compare);
}

/* A new file, whatever has that name: a link would lead elsewhere, and a pipe
 * wait for a reader. -1: see errno. */
static int disk_used_create(int folder)
{
	if (unlinkat(folder, disk_used_name, 0) && errno != ENOENT)
		return -1;
	return openat(folder, disk_used_name,
		      O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
}

static int disk_used_write_file(int folder, const uint8_t *bytes, size_t len)
{
	const int fd = disk_used_create(folder);
	size_t done = 0;
	ssize_t n = 1;
	int err;

	if (fd < 0)
		return -errno;
	while (done < len && n > 0) {
		n = write(fd, bytes + done, len - done);
		done += n > 0 ? (size_t)n : 0;
	}
	err = n < 0 ? -errno : done < len ? -ENOSPC : 0;
	if (close(fd) && !err)
		err = -errno;
	if (err)
		unlinkat(folder, disk_used_name, 0);
	return err;
}

int disk_used_write(struct disk_used *u, int folder)
{
	const size_t len = HEAD_BYTES + u->n * ID_BYTES;
	uint8_t *bytes = malloc(len);
	struct scd__writer head, rest;
	int err;

	if (!bytes)
		return -ENOMEM;
	if (u->n)
		qsort(u->ids, u->n, sizeof(*u->ids), disk_used_compare);
	rest = scd__writer(bytes + HEAD_BYTES, len - HEAD_BYTES);
	for (size_t i = 0; i < u->n; i++)
		scd__write_u64(&rest, u->ids[i]);
	head = scd__writer(bytes, HEAD_BYTES);
	scd__write_bytes(&head, (const uint8_t *)disk_used_magic, MAGIC_BYTES);
	scd__write_u64(&head, XXH3_64bits(bytes + HEAD_BYTES,
					  len - HEAD_BYTES));
	err = disk_used_write_file(folder, bytes, len);
	free(bytes);
	return err;
}

/* Takes the bytes of a whole file. Returns 0 or -EBADMSG. */
static int disk_used_parse(struct disk_used *u, const uint8_t *bytes,
			   size_t len)
{
	if (memcmp(bytes, disk_used_magic, MAGIC_BYTES) != 0 ||
	    scd__load_le64(bytes + MAGIC_BYTES) !=
		    XXH3_64bits(bytes + HEAD_BYTES, len - HEAD_BYTES))
		return -EBADMSG;
	for (size_t at = HEAD_BYTES; at < len; at += ID_BYTES)
		disk_used_add(u, scd__load_le64(bytes + at));
	return 0;
}

static int disk_used_read_file(struct disk_used *u, int fd)
{
	struct stat st;
	uint8_t *bytes;
	size_t len;
	int err;

	if (fstat(fd, &st))
		return -errno;
	len = (size_t)st.st_size;
	if (!S_ISREG(st.st_mode) || st.st_size < HEAD_BYTES ||
	    len % ID_BYTES || (len - HEAD_BYTES) / ID_BYTES > DISK_USED_MAX)
		return -EBADMSG;
	bytes = malloc(len);
	if (!bytes)
		return -ENOMEM;
	err = disk_files_load(fd, bytes, len, 0);
	if (!err)
		err = disk_used_parse(u, bytes, len);
	free(bytes);
	return err;
}

int disk_used_read(struct disk_used *u, int folder)
{
	/* a pipe of that name is not waited for */
	const int fd = openat(folder, disk_used_name,
			      O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
	int err = fd < 0 ? -errno : disk_used_read_file(u, fd);

	if (fd >= 0)
		close(fd);
	unlinkat(folder, disk_used_name, 0);
	if (err)
		disk_used_free(u);
	return err;
}
