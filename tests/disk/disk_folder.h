/*
 * A folder for a test of the disk tier, and responses to put there.
 */
#ifndef TESTS_DISK_DISK_FOLDER_H
#define TESTS_DISK_DISK_FOLDER_H

#include <stddef.h>

struct cached;

/* Makes an empty folder: group set-up and tear-down of cmocka. It is in TMPDIR;
 * else in memory, where there is room: a file system on a disk costs these
 * tests five times as much of the processor, and shows nothing more, as faults
 * and power failures are made by what is linked. */
int disk_folder_make(void **state);
int disk_folder_remove(void **state);

/* Its path. */
const char *disk_folder(void);

/* Removes what is in it. */
void disk_folder_empty(void);

/* The path of something in it; valid until the next call. */
const char *disk_folder_path(const char *name);

/* A response with fields, and a body of len bytes that only n has. */
struct cached *disk_response(unsigned n, size_t len);

#endif
