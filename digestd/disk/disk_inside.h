/*
 * Inside the disk tier: what its writer and its readers share.
 */
#ifndef DIGESTD_DISK_DISK_INSIDE_H
#define DIGESTD_DISK_DISK_INSIDE_H

#include <pthread.h>

#include "digestd/disk/disk.h"
#include "digestd/disk/disk_files.h"
#include "digestd/disk/disk_log.h"
#include "digestd/disk/segment_record.h"
#include "digestd/os/log.h"

enum { DISK_READERS = 4, DISK_RENEWED = 256 };

/* What waits for the writer. */
struct disk_batch {
	struct disk_writing *writes, **last_write; /* in order */
	struct disk_entry *removals;
	struct disk_sync *syncs;
	uint64_t bytes; /* of bodies to be written */
};

struct disk {
	struct disk_events events;
	uint64_t max_queue_bytes;
	char *path;
	struct disk_files *files;

	/* the writer's */
	struct disk_log log;
	struct disk_writing *buffered, **last_buffered; /* in its buffer */
	struct disk_place renewed[DISK_RENEWED]; /* records to be removed */
	unsigned nrenewed;
	bool cleaning;

	pthread_mutex_t lock; /* guards the rest */
	uint64_t next_id;
	struct disk_counters counters;
	struct troubles *troubles;
	bool stopping;
	bool retired; /* see disk_retire() */
	uint64_t max_bytes; /* of the disk */

	struct disk_batch waiting;
	uint64_t writing_bytes; /* of the batch that is under way */
	pthread_cond_t to_write, was_synced;
	pthread_t writer;
	bool has_writer;

	struct disk_read *reads, **last_read;
	unsigned nreads;
	pthread_cond_t to_read, was_read;
	pthread_t readers[DISK_READERS];
	unsigned nreaders;
};

/* Nothing is waiting. */
void disk_batch_init(struct disk_batch *batch);

/* The threads; their argument is the disk. */
void *disk_writer(void *arg);
void *disk_reader(void *arg);

/* Starts them all; 0 or a negative errno. */
int disk_start_threads(struct disk *d);

/*
 * The record of an object, to be freed, in *bytes, of which *r is made. Returns
 * 0, -EBADMSG, -ENOENT (there is no such segment), or another negative errno.
 * From any thread.
 */
int disk_load_record(const struct disk *d, uint64_t id, struct disk_place place,
		     uint32_t units, uint8_t **bytes, struct segment_record *r);

/*
 * The writer's: has records that were removed not come back; where that cannot
 * be written, the segments that they are in are removed, whatever they have.
 */
void disk_write_removals(struct disk *d, const struct disk_place *places,
			 size_t n);

/* The writer's: the open segment is full, or bad; the buffer is empty. */
void disk_write_seal(struct disk *d);

/* The writer's, in disk_clean.c: copies what is wanted of the segment that has
 * the least of it, and removes that. Returns whether there is more room; or
 * that there is none to gain, or an error. The buffer is empty before. */
bool disk_clean(struct disk *d);

/* Removes a segment, as a removal of something in it could not be written (why,
 * a negative errno), and tells of what was wanted of it. What was removed in it
 * of others stays away; where that cannot be had, they are removed, too. */
void disk_drop_segment(struct disk *d, uint32_t number, int why);

/* Logs what went wrong with an object that is written, but no flood of it:
 * where is below the folder. */
void disk_complain_of_write(struct disk *disk, const struct cached *c,
			    const char *where, int err);

/* The same of a segment. */
void disk_complain_of_segment(struct disk *disk, uint32_t number,
			      const char *what, int err);

/* The same of one of that URI (null: unknown) that could not be read. */
void disk_complain_of_read(struct disk *disk, const char *uri,
			   const char *where, int err);

#endif
