/*
 * The files of segments: written once from beginning to end, read at any place,
 * then removed. A number is given once, so what is opened stays as it is.
 */
#ifndef DIGESTD_DISK_DISK_SEGMENTS_H
#define DIGESTD_DISK_DISK_SEGMENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct disk_files;

/* The name of a segment below the folder, in so many bytes at most. */
enum { DISK_SEGMENT_NAME_BYTES = 16 }; /* "0000001f.log" */
void disk_segments_name(uint32_t number, char name[DISK_SEGMENT_NAME_BYTES]);

/* All numbers that have a file, in ascending order; to be freed. Returns 0 or a
 * negative errno. */
int disk_segments_list(struct disk_files *files, uint64_t **numbers, size_t *n);

/* Makes an empty one that a power failure does not take away again. Returns a
 * descriptor to write and read it, or a negative errno, and then there is
 * none. */
int disk_segments_create(struct disk_files *files, uint32_t number);

/* Opens one to read, or to write its end as well; *bytes is its length. Returns
 * a descriptor, or a negative errno: -EBADMSG, it is no file. */
int disk_segments_open(struct disk_files *files, uint32_t number, bool write,
		       uint64_t *bytes);

/* Writes at a place, which may be the end. Returns 0 or a negative errno; some
 * of it may have been written then. */
int disk_segments_write(int fd, const void *bytes, size_t len, uint64_t at);

/* Cuts off what is behind a place. 0 or a negative errno. */
int disk_segments_cut(int fd, uint64_t at);

/* What has been written outlives a power failure. 0 or a negative errno. */
int disk_segments_sync(int fd);

/* Removes one, so that it does not come back after a power failure. Returns 0,
 * also if there was none, or a negative errno. */
int disk_segments_remove(struct disk_files *files, uint32_t number);

/* Gives one another name (0000001f.bad), by which nobody finds it; one that may
 * not be renamed is removed. 0 or a negative errno. */
int disk_segments_set_aside(struct disk_files *files, uint32_t number);

/* A random number for a new folder. 0 or -EIO. */
int disk_segments_seed(uint64_t *seed);

/* Removes the index that versions before had; whether there was one. What it
 * knew of is lost. */
bool disk_segments_remove_former(struct disk_files *files);

#endif
