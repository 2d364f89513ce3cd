/*
 * The disk tier's log, files and threads; what is in it, and what goes when
 * there is no room, is its owner's to know (cache_disk.c).
 *
 * Objects are records in segments, which are written from beginning to end;
 * only large bodies have files of their own. A writer thread takes what is to
 * be written, in order and in batches; and where segments have little left that
 * is wanted, it copies that and removes them. What is removed is written down,
 * too, so that it does not come back. Killed at any point, what was written is
 * found again; a file without a record is removed at the next start, a record
 * without its file is dropped. What waits to be written is bounded; reader
 * threads take what is to be read. Nobody else ever waits for the disk, but
 * disk_load() at the start and disk_close() at the end.
 *
 * Lock order: the owner's, then this one's; callbacks come without any.
 */
#ifndef DIGESTD_DISK_DISK_H
#define DIGESTD_DISK_DISK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "digestd/http/fields.h"
#include "digestd/store/store.h"
#include "digestd/disk/disk_entry.h"
#include "digestd/disk/disk_body.h"
#include "digestd/os/loop.h"

struct cached;
struct disk;
struct troubles;

/* One row each: name, what it counts. */
/* clang-format off */
#define DISK_COUNTERS(X) \
	X(hits,           "objects read from the disk") \
	X(read_bytes,     "bytes of bodies read, or sent, from the disk") \
	X(writes,         "objects written to the disk") \
	X(write_bytes,    "bytes of bodies written to the disk") \
	X(spared,         "objects removed before the write to the disk") \
	X(not_written,    "objects not written to the disk because too many were waiting") \
	X(write_errors,   "objects that could not be written to the disk") \
	X(read_errors,    "objects that could not be read from the disk") \
	X(corrupt,        "objects on the disk that were not what had been written") \
	X(lost,           "objects that a start did not find whole, or that went with a damaged segment")
/* clang-format on */

struct disk_counters {
#define X(name, help) uint64_t name;
	DISK_COUNTERS(X)
#undef X
};

/*
 * What is to be read: an object, or with `of` some blocks of its body. Zero at
 * first; the first part is the caller's to set.
 */
struct disk_read {
	struct loop *loop;
	struct loop_call call; /* posted there at the end */
	struct scd_key key;
	const char *uri; /* of what is asked for, for the log; null: unknown.
			    Borrowed */
	uint64_t id;
	struct disk_place place; /* the object's record, of so many units */
	uint32_t units;
	bool check; /* all of it, also what stays in its file */
	struct cached *of; /* borrowed, with its body in a file; null: none */
	uint64_t block;	   /* the first one of `of` */
	unsigned nblocks;
	char *to; /* room for them */

	struct cached *found; /* with one user; null: see error */
	struct cached *broken; /* what could not be read, for the log */
	int error;
	struct disk_read *next;
	enum { DISK_READ_IDLE, DISK_READ_WAITS, DISK_READ_RUNS } state;
};

/* Waits until what was asked for before is on disk; zero at first. loop and
 * call are the caller's to set. */
struct disk_sync {
	struct loop *loop;
	struct loop_call call; /* posted there then */
	struct disk_sync *next;
	bool waits;
};

/* An entry that is being written. */
struct disk_writing {
	struct disk_entry *e; /* the owner's; null: the record is renewed */
	struct scd_key key;
	uint64_t id;
	struct cached *c; /* one user */
	bool gone;	  /* needs not be; changed atomically */
	int error;	  /* in the end; else: */
	struct disk_place place, old;
	struct disk_writing *next;
};

/* Where an object is, and what it takes. */
struct disk_where {
	struct disk_place place;
	uint32_t units;
	int64_t file_bytes;
};

/* The owner's callbacks, in the disk's threads. */
struct disk_events {
	/* The entry has been written, or not: w->error; else e->place is to
	 * be w->place. If it is gone meanwhile, the owner hands it to
	 * disk_remove(). The writing is not to be used after this. */
	void (*written)(void *arg, struct disk_writing *w);
	/* The read has ended; the call is posted after this. */
	void (*was_read)(void *arg, struct disk_read *read);
	/* Where the object of that number is; false: it is gone, or pending. */
	bool (*where)(void *arg, const struct scd_key *key, uint64_t id,
		      struct disk_where *out);
	/* Its record is in another place now. Returns whether it was where it
	 * is thought to have been. */
	bool (*moved)(void *arg, const struct scd_key *key, uint64_t id,
		      const struct disk_place *from,
		      const struct disk_place *to);
	/* It has been lost: it is to be removed. */
	void (*lost)(void *arg, const struct scd_key *key, uint64_t id);
	void *arg;
};

struct disk_settings {
	const char *path;
	const uint8_t *secret; /* of the keys, 16 bytes; copied */
	uint64_t max_bytes; /* of the disk */
	uint64_t max_queue_bytes; /* of bodies that wait to be written */
	struct troubles *troubles; /* borrowed; null: not told */
	struct disk_events events;
};

/*
 * Opens the folder. Returns 0, -EBUSY (it is another process's), or a negative
 * errno. For a process that has one thread.
 */
int disk_open(const struct disk_settings *settings, struct disk **out);

/*
 * What was there at the start, each with its key and without its response; the
 * entry is the owner's. Then starts the threads. Of an object that was replaced
 * or copied when the process was killed there may be two: of two that are for
 * the same requests that with the higher number is the newer one; of one number
 * the later, and then the other one has no file. Returns 0 or a negative
 * errno.
 */
int disk_load(struct disk *disk,
	      void (*each)(void *arg, struct disk_entry *e,
			   const struct scd_key *key),
	      void *arg);

/*
 * Removes all objects from a folder that is not open: who does without it
 * cannot write down there what is removed meanwhile. Returns 0 or a negative
 * errno, and then some may be left.
 */
int disk_discard(const char *path);

struct disk_used;

/*
 * Leaves the folder to another process: writes what is waiting, and which
 * objects are in use, if there is room, and nothing from then on. What is
 * stored by then can be read as long as the other one leaves it there; what is
 * removed is not written down. Waits for the disk.
 */
void disk_retire(struct disk *disk, struct disk_used *used);

/* Writes what is waiting, and ends the threads: from then on entries are only
 * the caller's. Nothing more may be stored, read or removed. */
void disk_stop(struct disk *disk);

/*
 * Writes down which objects are in use, of which the next start's entries tell,
 * once it has stopped. A folder that was left to another process is left alone,
 * and without memory or room nothing is written.
 */
void disk_save_used(const struct disk *disk, struct disk_used *used);

/* Stops it, and frees; *disk becomes null; null is allowed. */
void disk_close(struct disk **disk);

/* A number for a new entry. */
uint64_t disk_next_id(struct disk *disk);

/* How much the objects on a disk of so many bytes may weigh. */
uint64_t disk_for_objects(uint64_t max_bytes);

/* Has the response of an entry written, which becomes pending, with one user
 * more. False: too much is waiting, and it is counted. */
bool disk_write(struct disk *disk, const struct scd_key *key,
		struct disk_entry *e, struct cached *c);

/* An entry that is pending need not be written any more. */
void disk_spare(struct disk_entry *e);

/* Removes an entry's record and file, and frees it. */
void disk_remove(struct disk *disk, struct disk_entry *e);

/* The disk may take so many bytes from now on; what is removed for that is the
 * owner's to say. */
void disk_limit(struct disk *disk, uint64_t max_bytes);

/* Has the record of an object whose body is in a file written anew: c is it,
 * but for the body. Without memory it stays as it is. */
void disk_renew(struct disk *disk, const struct scd_key *key, uint64_t id,
		struct cached *c);

/* Reads an object; false: too many reads are waiting. */
bool disk_read(struct disk *disk, struct disk_read *read);

/* Reads blocks, however many reads are waiting: read->error is 0, -EBADMSG (one
 * of them is damaged), or a negative errno. */
void disk_read_blocks(struct disk *disk, struct disk_read *read);

/* Has the call posted when all that was asked for before is done: what was
 * removed does not come back after a crash. */
void disk_sync(struct disk *disk, struct disk_sync *sync);

/* Waits until the call has been posted, if it has not. */
void disk_sync_wait(struct disk *disk, struct disk_sync *sync);

/* Takes a read back whose loop is over. */
void disk_read_cancel(struct disk *disk, struct disk_read *read);

/*
 * A response on disk, without its body, at once: for walks outside of workers.
 * With one user; null: it cannot be read there.
 */
struct cached *disk_head(struct disk *disk, uint64_t id,
			 const struct disk_where *where);

/* Counts and logs one that was not what had been written, or not readable. */
void disk_count_error(struct disk *disk, const struct disk_read *read);

/* What has been counted since the start. */
void disk_count(struct disk *disk, struct disk_counters *out);

#endif
