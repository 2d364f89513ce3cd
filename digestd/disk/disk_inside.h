/*
 * Inside the disk tier: what its writer and its readers share.
 */
#ifndef DIGESTD_DISK_DISK_INSIDE_H
#define DIGESTD_DISK_DISK_INSIDE_H

#include <pthread.h>

#include "digestd/disk/disk.h"
#include "digestd/disk/disk_files.h"
#include "digestd/disk/disk_index.h"
#include "digestd/os/log.h"

enum { DISK_READERS = 4 };

/* A record that is to be written anew. */
struct disk_renewal {
	uint64_t id;
	struct cached *c; /* one user */
	struct disk_renewal *next;
};

/* What waits for the writer. */
struct disk_batch {
	struct disk_entry *writes, **last_write; /* in order */
	struct disk_renewal *renewals, **last_renewal;
	struct disk_entry *removals;
	struct disk_sync *syncs;
	uint64_t bytes; /* of bodies to be written */
};

struct disk {
	struct disk_events events;
	uint64_t max_queue_bytes;
	char *path;
	struct disk_files *files;
	struct disk_index *index;

	pthread_mutex_t lock; /* guards the rest */
	uint64_t next_id;
	struct disk_counters counters;
	struct log_limit complaints;
	bool stopping;
	uint64_t index_bytes; /* that the index may grow to */

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

/* Logs what went wrong with an object that is written, but no flood of it. */
void disk_complain_of_write(struct disk *disk, const struct cached *c,
			    uint64_t id, int err);

/* The same of the index, which may not have so many bytes. */
void disk_complain_of_index(struct disk *disk, uint64_t bytes, int err);

/* The same of one whose response (null: unknown) could not be read. */
void disk_complain_of_read(struct disk *disk, const struct cached *c,
			   uint64_t id, int err);

#endif
