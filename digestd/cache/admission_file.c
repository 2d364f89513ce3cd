/*
 * The file, see the header.
 */
#include "digestd/cache/admission_file.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "codec/admission.h"
#include "codec/error.h"
#include "codec/key.h"
#include "digestd/os/file_write.h"

enum { MARK_BYTES = 16 };

/* So that the rename outlives a power failure as well. */
static int admission_file_sync_folder(const char *path)
{
	char folder[PATH_MAX];
	const char *slash = strrchr(path, '/');
	int fd, err = 0;

	snprintf(folder, sizeof(folder), "%.*s",
		 slash ? (int)(slash - path) + 1 : 1, slash ? path : ".");
	fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (fsync(fd))
		err = -errno;
	close(fd);
	return err;
}

static int admission_file_write_file(const char *path, const uint8_t *data,
				     size_t len)
{
	int fd, err;

	/* a leftover goes; a pipe would wait for its other end */
	unlink(path);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	err = file_write(fd, data, len);
	if (!err && fsync(fd))
		err = -errno;
	if (close(fd) && !err)
		err = -errno;
	return err;
}

/* Puts a file into its place, or nothing. */
static int admission_file_replace_file(const char *path, const uint8_t *data,
				       size_t len)
{
	char beside[PATH_MAX];
	int err;

	if ((size_t)snprintf(beside, sizeof(beside), "%s.new", path) >=
	    sizeof(beside))
		return -ENAMETOOLONG;
	err = admission_file_write_file(beside, data, len);
	if (!err && rename(beside, path))
		err = -errno;
	if (err) {
		unlink(beside);
		return err;
	}
	return admission_file_sync_folder(path);
}

int admission_file_save(const struct admission_file *f,
			const struct scd_admission *seen)
{
	size_t len;
	uint8_t *data;
	int err;

	assert(f->path && seen);
	len = MARK_BYTES + scd_admission_image_bytes(seen);
	data = malloc(len);
	if (!data)
		return -ENOMEM;
	scd_derive(f->secret, "admission", data);
	err = scd_admission_save(seen, data + MARK_BYTES, len - MARK_BYTES);
	err = err ? -EINVAL : admission_file_replace_file(f->path, data, len);
	free(data);
	return err;
}

static int admission_file_error_of(int scd)
{
	switch (scd) {
	case SCD_OK:
		return 0;
	case SCD_ENOMEM:
		return -ENOMEM;
	case SCD_ELIMIT:
		return -EOVERFLOW;
	default:
		return -EBADMSG;
	}
}

static int admission_file_parse(const struct admission_file *f,
				const uint8_t *data, size_t len,
				struct scd_admission **out)
{
	uint8_t mark[MARK_BYTES];

	scd_derive(f->secret, "admission", mark);
	if (len < MARK_BYTES)
		return -EBADMSG;
	if (memcmp(mark, data, MARK_BYTES) != 0)
		return -EKEYREJECTED;
	return admission_file_error_of(
		scd_admission_load(out, data + MARK_BYTES, len - MARK_BYTES,
				   SCD_ADMISSION_MAX_WINDOW));
}

/* All of a file of the right size, and a byte more would be too much. */
static int admission_file_read_file(FILE *from, size_t max, uint8_t **data,
				    size_t *len)
{
	struct stat st;

	if (fstat(fileno(from), &st))
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -EINVAL;
	if ((uint64_t)st.st_size > max)
		return -EOVERFLOW;
	*len = (size_t)st.st_size;
	*data = malloc(*len ? *len : 1);
	if (!*data)
		return -ENOMEM;
	if (fread(*data, 1, *len, from) == *len)
		return 0;
	free(*data);
	return ferror(from) ? -EIO : -EBADMSG;
}

/* What a file of such a window has, and some more for its rounding. */
static size_t admission_file_most_bytes(uint64_t max_window)
{
	uint64_t blocks = max_window / SCD_ADMISSION_BLOCK_KEYS + 1;

	return MARK_BYTES + SCD_ADMISSION_HEADER_BYTES +
	       (size_t)(blocks * SCD_ADMISSION_BLOCK_BYTES);
}

/* Opens what is there; a pipe does not wait for its other end. */
static int admission_file_open(const char *path, FILE **out)
{
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	int err;

	if (fd < 0)
		return errno == ENXIO ? -EINVAL : -errno; /* a socket */
	*out = fdopen(fd, "r");
	if (*out)
		return 0;
	err = -errno;
	close(fd);
	return err;
}

int admission_file_load(const struct admission_file *f, uint64_t max_window,
			struct scd_admission **out)
{
	FILE *from;
	uint8_t *data = NULL;
	size_t len = 0;
	int err;

	assert(f->path && max_window);
	err = admission_file_open(f->path, &from);
	if (err)
		return err;
	err = admission_file_read_file(
		from, admission_file_most_bytes(max_window), &data, &len);
	fclose(from);
	if (err)
		return err;
	err = admission_file_parse(f, data, len, out);
	free(data);
	return err;
}
