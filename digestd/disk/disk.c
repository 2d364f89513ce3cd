/*
 * The tier's life: open, what was there, close.
 */
#include "digestd/disk/disk.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "digestd/disk/cached.h"
#include "digestd/disk/disk_inside.h"

enum {
	COMPLAINTS = 5, /* in a period */
	COMPLAINTS_MS = 10000,
};

bool disk_is_built(void)
{
	return true;
}

static int64_t disk_now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* Whether there may be one more line. */
static bool disk_may_complain(struct disk *disk)
{
	unsigned dropped = 0;
	bool allowed;

	pthread_mutex_lock(&disk->lock);
	allowed = log_allow(&disk->complaints, disk_now_ms(), &dropped);
	pthread_mutex_unlock(&disk->lock);
	if (dropped)
		log_write(LOG_WARNING, "disk", "%u message%s suppressed",
			  dropped, dropped == 1 ? "" : "s");
	return allowed;
}

void disk_complain_of_index(struct disk *disk, uint64_t bytes, int err)
{
	if (disk_may_complain(disk))
		log_write(LOG_WARNING, "disk", "%s: an index of %" PRIu64
			  " bytes: %s", disk->path, bytes, strerror(-err));
}

void disk_complain_of_write(struct disk *disk, const struct cached *c,
			    uint64_t id, int err)
{
	char name[DISK_NAME_BYTES];

	if (!disk_may_complain(disk))
		return;
	disk_files_name(id, name);
	log_write(LOG_WARNING, "disk", "writing object %s to %s/%s: %s",
		  cached_uri(c), disk->path, name, strerror(-err));
}

void disk_complain_of_read(struct disk *disk, const struct cached *c,
			   uint64_t id, int err)
{
	char name[DISK_NAME_BYTES];

	if (!disk_may_complain(disk))
		return;
	disk_files_name(id, name);
	log_write(LOG_WARNING, "disk", "reading object %s from %s/%s: %s",
		  c ? cached_uri(c) : "of unknown name", disk->path, name,
		  err == -EBADMSG ? "damaged: it is removed" : strerror(-err));
}

/* Without a good copy of the index, the one that is there; or none. */
static int disk_open_index(struct disk *d, const struct disk_settings *settings)
{
	size_t max = (size_t)settings->max_index_bytes;
	int err = disk_index_heal(settings->path, max);

	if (err)
		log_write(LOG_WARNING, "disk", "%s: the index %s%s",
			  settings->path,
			  err > 0 ? "was damaged: some objects are lost" :
				    "was not copied: ",
			  err > 0 ? "" : strerror(-err));
	err = disk_index_open(settings->path, max, &d->index);
	if (err != -EBADMSG)
		return err;
	log_write(LOG_WARNING, "disk", "%s: no index: a new one is made",
		  settings->path);
	disk_index_remove(settings->path);
	return disk_index_open(settings->path, max, &d->index);
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
	assert(settings->events.written && settings->events.was_read);
	if (!d)
		return -ENOMEM;
	d->events = settings->events;
	d->max_queue_bytes = settings->max_queue_bytes;
	d->index_bytes = settings->max_index_bytes;
	d->complaints = (struct log_limit){ .burst = COMPLAINTS,
					    .period_ms = COMPLAINTS_MS };
	d->last_read = &d->reads;
	disk_batch_init(&d->waiting);
	disk_init_threads(d);
	d->path = strdup(settings->path);
	err = d->path ? disk_files_open(settings->path, &d->files) : -ENOMEM;
	if (!err)
		err = disk_open_index(d, settings);
	if (err)
		disk_close(&d);
	else
		*out = d;
	return err;
}

/* Loading: the numbers that have a file beside those that have a record, both
 * ascending. */

struct loading {
	struct disk *disk;
	uint64_t *ids;
	size_t n, at;
	uint64_t last; /* the highest of all */
	uint64_t records;
	void (*each)(void *arg, struct disk_entry *e, const struct cached *c,
		     uint64_t body_len);
	void *arg;
};

/* Removes the files below a number: they have no record. */
static void disk_remove_orphans(struct loading *l, uint64_t below)
{
	for (; l->at < l->n && l->ids[l->at] < below; l->at++)
		disk_files_remove(l->disk->files, l->ids[l->at]);
}

/* One that cannot be used: its record goes, with the file if there is one. */
static int disk_lose(struct loading *l, uint64_t id)
{
	struct disk_entry *e = disk_entry_new(id, NULL);

	l->disk->counters.lost++;
	if (!e)
		return -ENOMEM;
	disk_remove(l->disk, e);
	return 0;
}

static int disk_load_record(void *arg, uint64_t id, const uint8_t *bytes,
			    size_t len)
{
	struct loading *l = arg;
	struct disk_body body = { .id = id };
	struct cached *c = NULL;
	struct disk_entry *e;
	bool has_file;
	int err;

	disk_remove_orphans(l, id);
	l->last = id;
	l->records++;
	has_file = l->at < l->n && l->ids[l->at] == id;
	l->at += has_file;
	err = has_file ? disk_record_read(bytes, len, &body, &c) : -EBADMSG;
	if (err)
		return err == -ENOMEM ? err : disk_lose(l, id);
	e = c ? disk_entry_new(id, cached_selecting(c)) : NULL;
	if (e)
		l->each(l->arg, e, c, body.len);
	cached_unref(&c);
	return e ? 0 : -ENOMEM;
}

static int disk_start_threads(struct disk *d)
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

int disk_load(struct disk *disk,
	      void (*each)(void *arg, struct disk_entry *e,
			   const struct cached *c, uint64_t body_len),
	      void *arg)
{
	struct loading l = { .disk = disk, .each = each, .arg = arg };
	int err;

	assert(each);
	assert(!disk->has_writer);
	err = disk_files_list(disk->files, &l.ids, &l.n);
	if (!err)
		err = disk_index_each(disk->index, disk_load_record, &l);
	if (!err) {
		if (l.n && l.ids[l.n - 1] > l.last)
			l.last = l.ids[l.n - 1];
		disk_remove_orphans(&l, UINT64_MAX);
		disk->next_id = l.last;
		log_write(LOG_INFO, "disk", "%" PRIu64 " object%s restored, "
			  "%" PRIu64 " lost", l.records - disk->counters.lost,
			  l.records - disk->counters.lost == 1 ? "" : "s",
			  disk->counters.lost);
		err = disk_start_threads(disk);
	}
	free(l.ids);
	return err;
}

static void disk_stop_threads(struct disk *d)
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

void disk_close(struct disk **disk)
{
	struct disk *d = *disk;

	if (!d)
		return;
	disk_stop_threads(d);
	disk_forget_removals(d);
	disk_index_close(&d->index);
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

struct cached *disk_head(struct disk *disk, uint64_t id)
{
	struct disk_body body = { .id = id };
	struct cached *c = NULL;
	uint8_t *bytes;
	size_t len;

	assert(id);
	if (disk_index_get(disk->index, id, &bytes, &len))
		return NULL;
	if (disk_record_read(bytes, len, &body, &c))
		c = NULL;
	free(bytes);
	return c;
}

void disk_count(struct disk *disk, struct disk_counters *out)
{
	pthread_mutex_lock(&disk->lock);
	*out = disk->counters;
	pthread_mutex_unlock(&disk->lock);
}
