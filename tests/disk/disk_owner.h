/*
 * An owner of the disk tier for tests: a list of entries, without eviction.
 */
#ifndef TESTS_DISK_DISK_OWNER_H
#define TESTS_DISK_DISK_OWNER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "digestd/disk/disk.h"

struct disk_owner;

/* Opens the folder with a disk of so many bytes, and loads what is there. An
 * error is returned, and there is none. */
int disk_owner_open(struct disk_owner **out, const char *folder,
		    uint64_t max_bytes);

/* Closes it; what waits is written. */
void disk_owner_close(struct disk_owner **owner);

/* Puts object n, of len bytes, in place of one that is there. */
void disk_owner_put(struct disk_owner *owner, unsigned n, size_t len);

/* Removes it; whether it was there. */
bool disk_owner_drop(struct disk_owner *owner, unsigned n);

/* Has the next so many that the disk moves removed at that moment; see
 * disk_owner_was_dropped(). */
void disk_owner_drop_moved(struct disk_owner *owner, unsigned count);

/* Whether n was removed so, and has not been put since. */
bool disk_owner_was_dropped(struct disk_owner *owner, unsigned n);

/* Confirms it with other fields, if its body is in a file. */
void disk_owner_renew(struct disk_owner *owner, unsigned n, size_t len);

/* Waits until all that was asked for is on disk. */
void disk_owner_sync(struct disk_owner *owner);

/* Objects that it thinks are there. */
size_t disk_owner_count(struct disk_owner *owner);

/* Whether it thinks so of n; how it can be read: 0, or an error. What is read
 * has to be right. */
bool disk_owner_has(struct disk_owner *owner, unsigned n);
int disk_owner_read(struct disk_owner *owner, unsigned n, size_t len);

struct disk *disk_owner_disk(struct disk_owner *owner);

#endif
