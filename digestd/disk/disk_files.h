/*
 * The disk tier's large bodies: a file each, named by the object's number, in
 * 256 folders.
 *
 * A number is given once, so a file is never written again: what is opened
 * stays as it is, also when it is removed meanwhile. Files are not synced: what
 * a power failure takes, the checksum finds missing.
 */
#ifndef DIGESTD_DISK_DISK_FILES_H
#define DIGESTD_DISK_DISK_FILES_H

#include <stddef.h>
#include <stdint.h>

#include "digestd/disk/disk_body.h"

struct disk_files;

/*
 * Opens the folder, makes it and those in it where they are missing, and locks
 * it. Returns 0, -EBUSY (another process has it), or a negative errno.
 */
int disk_files_open(const char *path, struct disk_files **out);

/* Lets another process open the folder. */
void disk_files_unlock(const struct disk_files *files);

/* The folder's descriptor, for disk_segments.c. */
int disk_files_folder(const struct disk_files *files);

/* *files becomes null; null is allowed. */
void disk_files_close(struct disk_files **files);

/*
 * All numbers that have a file, in ascending order; *ids is to be freed. What
 * else lies in the folders is left alone. Returns 0 or a negative errno.
 */
int disk_files_list(struct disk_files *files, uint64_t **ids, size_t *n);

/* Writes a file. Returns 0 or a negative errno, and then there is none. */
int disk_files_write(struct disk_files *files, uint64_t id, const void *bytes,
		     size_t len);

/* Opens one to read. Returns a descriptor or a negative errno: -EBADMSG, its
 * length is another. */
int disk_files_read(struct disk_files *files, const struct disk_body *body);

/* Reads len bytes of an open file from there. Returns 0, -EBADMSG (it ends
 * early), or a negative errno. */
int disk_files_load(int fd, void *to, size_t len, uint64_t at);

/* The name of an object's file below the folder, of DISK_NAME_BYTES at most. */
enum { DISK_NAME_BYTES = 24 }; /* "ff/00000000000000ff" */
void disk_files_name(uint64_t id, char name[DISK_NAME_BYTES]);

/* Removes a file; without it, nothing happens. */
void disk_files_remove(struct disk_files *files, uint64_t id);

#endif
