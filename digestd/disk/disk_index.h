/*
 * The disk tier's index: an LMDB file with a record (disk_record.h) for each
 * object, by its number.
 *
 * One thread writes, in batches; any may read. A commit is whole or not there
 * at all, also after kill -9 and after a power failure, which may take the last
 * one (MDB_NOMETASYNC).
 *
 * LMDB trusts its pages, and a page that was damaged can crash it. So at each
 * start a process of its own reads the old file and writes what is good into a
 * new one, which takes its place: a crash there costs the records behind the
 * damage, and the old file's free pages are never used again.
 */
#ifndef DIGESTD_DISK_DISK_INDEX_H
#define DIGESTD_DISK_DISK_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct disk_index;

/*
 * Copies the good records of the index in a folder to a new file in its place.
 * Returns 0, also if there is none; 1: some of it could not be read and is
 * gone; or a negative errno: it stays as it is (-ENOSPC: it is good, but there
 * is no room for the copy). `max_bytes` as below. For a process that has one
 * thread.
 */
int disk_index_heal(const char *folder, size_t max_bytes);

/*
 * Opens, or makes, the index in a folder; it can grow to max_bytes, which takes
 * addresses and no memory. Returns 0, -EBADMSG (that is no index), or a
 * negative errno.
 */
int disk_index_open(const char *folder, size_t max_bytes,
		    struct disk_index **out);

/*
 * Lets it grow to max_bytes, if that is more; between batches, from the thread
 * that writes them. Waits for reads that are under way. Returns 0 or a negative
 * errno, and then it stays as it is.
 */
int disk_index_grow(struct disk_index *index, size_t max_bytes);

/* *index becomes null; null is allowed. */
void disk_index_close(struct disk_index **index);

/* Removes the files of an index that is not open. */
void disk_index_remove(const char *folder);

/*
 * A batch: begin, puts and removals, commit. After an error it can only be
 * given up. Errors: -ENOSPC (the disk, or max_bytes, is full), or another
 * negative errno. Removing what is not there is none. After an error that left
 * the index unusable, the next begin opens it again.
 */
int disk_index_begin(struct disk_index *index);
int disk_index_put(struct disk_index *index, uint64_t id, const void *bytes,
		   size_t len);
int disk_index_remove_id(struct disk_index *index, uint64_t id);
int disk_index_commit(struct disk_index *index);
void disk_index_give_up(struct disk_index *index);

/*
 * A record, copied; to be freed. Returns 0, -ENOENT, -EAGAIN (the index is not
 * usable until a batch has begun), or another negative errno. From any thread.
 */
int disk_index_get(struct disk_index *index, uint64_t id, uint8_t **bytes,
		   size_t *len);

/*
 * Calls back for each record, in the order of the numbers, until that returns
 * another value than 0. Returns that, or 0, or a negative errno. Not while it
 * may grow.
 */
int disk_index_each(struct disk_index *index,
		    int (*each)(void *arg, uint64_t id, const uint8_t *bytes,
				size_t len),
		    void *arg);

#endif
