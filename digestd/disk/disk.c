/*
 * The tier's life: open and close.
 */
#include "digestd/disk/disk.h"

#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "digestd/disk/cached.h"
#include "digestd/disk/disk_inside.h"
#include "digestd/disk/disk_segments.h"
#include "digestd/disk/disk_used.h"
#include "digestd/os/troubles.h"

static int64_t disk_now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* What an error of the file system is to the node's operator. */
static enum trouble disk_trouble_of(int err)
{
	switch (-err) {
	case ENOSPC:
	case EDQUOT:
	case EFBIG:
		return TROUBLE_disk_full;
	case EBADMSG:
		return TROUBLE_disk_damaged;
	case EMFILE:
	case ENFILE:
		return TROUBLE_descriptors;
	case ENOMEM:
		return TROUBLE_memory;
	default:
		return TROUBLE_disk_error;
	}
}

__attribute__((format(printf, 3, 4)))
static void disk_complain(const struct disk *disk, int err, const char *format,
			  ...)
{
	char detail[1024];
	va_list args;

	va_start(args, format);
	vsnprintf(detail, sizeof(detail), format, args);
	va_end(args);
	troubles_of_part(disk->troubles, TROUBLE_PART_disk,
			 disk_trouble_of(err), detail, disk_now_ms());
}

void disk_complain_of_write(struct disk *disk, const struct cached *c,
			    const char *where, int err)
{
	disk_complain(disk, err, "writing object %s to %s/%s: %s",
		      cached_uri(c), disk->path, where, strerror(-err));
}

void disk_complain_of_segment(struct disk *disk, uint32_t number,
			      const char *what, int err)
{
	char name[DISK_SEGMENT_NAME_BYTES];

	disk_segments_name(number, name);
	disk_complain(disk, err, "%s %s/%s: %s", what, disk->path, name,
		      strerror(-err));
}

void disk_complain_of_read(struct disk *disk, const char *uri,
			   const char *where, int err)
{
	disk_complain(disk, err, "reading object %s from %s/%s: %s",
		      uri ? uri : "of unknown name", disk->path, where,
		      err == -EBADMSG ? "damaged: it is removed" :
					strerror(-err));
}

static void disk_init_threads(struct disk *d)
{
	pthread_condattr_t monotonic;

	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_mutex_init(&d->lock, NULL);
	pthread_cond_init(&d->to_write, &monotonic);
	pthread_cond_init(&d->to_read, NULL);
	pthread_cond_init(&d->was_read, NULL);
	pthread_cond_init(&d->was_synced, NULL);
	pthread_condattr_destroy(&monotonic);
}

int disk_open(const struct disk_settings *settings, struct disk **out)
{
	struct disk *d = calloc(1, sizeof(*d));
	int err;

	assert(settings->path);
	assert(settings->secret && settings->events.arg);
	if (!d)
		return -ENOMEM;
	d->events = settings->events;
	d->max_queue_bytes = settings->max_queue_bytes;
	d->max_bytes = settings->max_bytes;
	d->last_buffered = &d->buffered;
	d->troubles = settings->troubles;
	d->last_read = &d->reads;
	disk_batch_init(&d->waiting);
	disk_init_threads(d);
	d->path = strdup(settings->path);
	err = d->path ? disk_files_open(settings->path, &d->files) : -ENOMEM;
	disk_log_init(&d->log, d->files, settings->secret, settings->max_bytes);
	if (err)
		disk_close(&d);
	else
		*out = d;
	return err;
}

int disk_start_threads(struct disk *d)
{
	int err = -pthread_create(&d->writer, NULL, disk_writer, d);

	d->has_writer = !err;
	while (!err && d->nreaders < DISK_READERS) {
		err = -pthread_create(&d->readers[d->nreaders], NULL,
				      disk_reader, d);
		d->nreaders += !err;
	}
	return err;
}

void disk_stop(struct disk *d)
{
	pthread_mutex_lock(&d->lock);
	d->stopping = true;
	pthread_cond_broadcast(&d->to_write);
	pthread_cond_broadcast(&d->to_read);
	pthread_mutex_unlock(&d->lock);
	while (d->nreaders)
		pthread_join(d->readers[--d->nreaders], NULL);
	if (d->has_writer)
		pthread_join(d->writer, NULL);
	d->has_writer = false;
}

/* What no writer was there for. */
static void disk_forget_removals(struct disk *d)
{
	while (d->waiting.removals) {
		struct disk_entry *e = d->waiting.removals;

		d->waiting.removals = e->next;
		disk_entry_free(e);
	}
}

void disk_retire(struct disk *d, struct disk_used *used)
{
	pthread_mutex_lock(&d->lock);
	d->retired = true;
	pthread_cond_broadcast(&d->to_write);
	pthread_mutex_unlock(&d->lock);
	if (d->has_writer)
		pthread_join(d->writer, NULL);
	d->has_writer = false;
	disk_forget_removals(d);
	disk_log_close(&d->log);
	(void)disk_used_write(used, disk_files_folder(d->files));
	disk_files_unlock(d->files);
}

void disk_save_used(const struct disk *disk, struct disk_used *used)
{
	/* what is not written is done without */
	if (!disk->retired)
		(void)disk_used_write(used, disk_files_folder(disk->files));
}

void disk_close(struct disk **disk)
{
	struct disk *d = *disk;

	if (!d)
		return;
	disk_stop(d);
	disk_forget_removals(d);
	disk_log_close(&d->log);
	disk_files_close(&d->files);
	pthread_cond_destroy(&d->to_write);
	pthread_cond_destroy(&d->to_read);
	pthread_cond_destroy(&d->was_read);
	pthread_cond_destroy(&d->was_synced);
	pthread_mutex_destroy(&d->lock);
	free(d->path);
	free(d);
	*disk = NULL;
}

uint64_t disk_next_id(struct disk *disk)
{
	uint64_t id;

	pthread_mutex_lock(&disk->lock);
	id = ++disk->next_id;
	pthread_mutex_unlock(&disk->lock);
	return id;
}

uint64_t disk_for_objects(uint64_t max_bytes)
{
	return segment_space_for_objects(max_bytes);
}

void disk_count(struct disk *disk, struct disk_counters *out)
{
	pthread_mutex_lock(&disk->lock);
	*out = disk->counters;
	pthread_mutex_unlock(&disk->lock);
}
