/*
 * Appending to segments, and what is in them.
 */
#include "digestd/disk/disk_log.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "codec/cursor.h"
#include "digestd/disk/cached.h"
#include "digestd/disk/disk_segments.h"
#include "digestd/disk/segment_record.h"

enum { LOG_MAGIC = 0x31474f4c /* "LOG1" */ };

void disk_log_init(struct disk_log *log, struct disk_files *files,
		   const uint8_t secret[16], uint64_t max_bytes)
{
	*log = (struct disk_log){ .files = files,
				  .max_bytes = max_bytes,
				  .fd = -1 };
	memcpy(log->secret, secret, sizeof(log->secret));
}

void disk_log_close(struct disk_log *log)
{
	if (log->number) {
		log->len = 0;
		disk_log_seal(log, NULL);
	}
	segment_space_free(&log->space);
	segment_table_free(&log->table);
	free(log->buffer);
	log->buffer = NULL;
}

/* Any number that tells one secret from another. */
static uint64_t disk_log_secret_number(const struct disk_log *log)
{
	struct scd_key key;

	scd_key_make(log->secret, "DISK", "", 0, &key);
	return key.lo;
}

/* Heads */

static void disk_log_write_head(uint64_t seed, uint8_t *to)
{
	struct scd__writer w = scd__writer(to, DISK_LOG_HEAD_BYTES);

	for (int i = 0; i < 3; i++)
		scd__write_u64(&w, seed);
	scd__write_u64(&w, LOG_MAGIC);
}

/* Bit by bit what most say; the magic number is for people. */
static uint64_t disk_log_read_head(const uint8_t *head)
{
	struct scd__reader r = scd__reader(head, DISK_LOG_HEAD_BYTES);
	uint64_t a = scd__read_u64(&r), b = scd__read_u64(&r);
	uint64_t c = scd__read_u64(&r);

	return (a & b) | (a & c) | (b & c);
}

static int disk_log_load_head(const struct disk_log *log, uint32_t number,
			      uint64_t *seed)
{
	uint8_t head[DISK_LOG_HEAD_BYTES];
	uint64_t bytes;
	int fd = disk_segments_open(log->files, number, false, &bytes);
	int err = fd < 0 ? fd : disk_files_load(fd, head, sizeof(head), 0);

	if (fd >= 0)
		close(fd);
	*seed = err ? 0 : disk_log_read_head(head);
	return err;
}

int disk_log_find_seed(struct disk_log *log, const uint64_t *numbers, size_t n)
{
	int err;

	/* twice: what cannot be read may be so for a moment only */
	for (size_t i = 0; i < 2 * n && !log->seed; i++) {
		err = disk_log_load_head(log, (uint32_t)numbers[i % n],
					 &log->seed);
		if (err == -ENOMEM || err == -EMFILE || err == -ENFILE)
			return err;
	}
	return log->seed ? 0 : disk_segments_seed(&log->seed);
}

/* Tables */

/* A segment that is looked through. */
struct log_scan {
	const struct disk_log *log;
	struct segment_table *table;
	int err;
};

static int disk_log_scan_object(const struct log_scan *scan, uint32_t at,
				const struct segment_record *r)
{
	struct segment_entry e = {
		.id = r->id,
		.at = at,
		.units = (uint32_t)(r->bytes / SEGMENT_UNIT),
		.file_bytes = r->in_file ? r->body_len : 0,
		.selecting = r->selecting,
		.selecting_len = (uint32_t)r->selecting_len,
	};

	if (!cached_text_is_good(r->text, r->text_len) || e.id >> 48)
		return 0;
	e.unvouched = cached_text_origin(r->text, r->text_len) ==
		      CACHED_FROM_PEER;
	scd_key_make(scan->log->secret, "GET", r->text, strlen(r->text),
		     &e.key);
	return segment_table_add(scan->table, &e);
}

static void disk_log_scan_record(void *arg, uint32_t at,
				 const struct segment_record *r)
{
	struct log_scan *scan = arg;

	if (scan->err)
		return;
	if (r->kind == SEGMENT_OBJECT)
		scan->err = disk_log_scan_object(scan, at, r);
	for (size_t i = 0; i < r->nremovals && !scan->err; i++)
		scan->err = segment_table_add_removal(scan->table,
						      segment_removal(r, i));
}

/* Looks through an open segment of so many bytes. */
static int disk_log_scan(const struct disk_log *log, int fd, uint64_t bytes,
			 struct segment_table *t, uint64_t *end)
{
	struct log_scan scan = { .log = log, .table = t };
	uint8_t *all;

	*end = DISK_LOG_HEAD_BYTES;
	if (bytes > UINT32_MAX)
		return -EBADMSG;
	all = malloc((size_t)bytes + 1);
	scan.err = all ? disk_files_load(fd, all, (size_t)bytes, 0) : -ENOMEM;
	if (!scan.err)
		*end = segment_scan(all, (size_t)bytes, log->seed,
				    disk_log_scan_record, &scan);
	if (*end < DISK_LOG_HEAD_BYTES)
		*end = DISK_LOG_HEAD_BYTES;
	free(all);
	t->secret = disk_log_secret_number(log);
	if (scan.err)
		segment_table_free(t);
	return scan.err;
}

/* The table at the end of an open segment. */
static int disk_log_load_table(const struct disk_log *log, int fd,
			       uint64_t bytes, struct segment_table *t)
{
	uint8_t foot[SEGMENT_FOOT_BYTES], *all;
	size_t len;
	int err;

	if (bytes < DISK_LOG_HEAD_BYTES + SEGMENT_FOOT_BYTES)
		return -EBADMSG;
	err = disk_files_load(fd, foot, sizeof(foot), bytes - sizeof(foot));
	len = err ? 0 : segment_table_measure(foot);
	if (!len || len > bytes - DISK_LOG_HEAD_BYTES)
		return err ? err : -EBADMSG;
	all = malloc(len);
	err = all ? disk_files_load(fd, all, len, bytes - len) : -ENOMEM;
	if (!err)
		err = segment_table_read(t, all, len, log->seed);
	free(all);
	if (!err && t->secret != disk_log_secret_number(log)) {
		segment_table_free(t);
		err = -EBADMSG;
	}
	return err;
}

/* What an open segment has. */
static int disk_log_read_open(const struct disk_log *log, int fd,
			      uint64_t bytes, struct segment_table *t,
			      uint64_t *end)
{
	int err = disk_log_load_table(log, fd, bytes, t);

	*end = 0;
	return err == -EBADMSG ? disk_log_scan(log, fd, bytes, t, end) : err;
}

int disk_log_read_table(const struct disk_log *log, uint32_t number,
			struct segment_table *t, uint64_t *end)
{
	uint64_t bytes;
	int fd = disk_segments_open(log->files, number, false, &bytes), err;

	*t = (struct segment_table){ 0 };
	if (fd < 0)
		return fd;
	err = disk_log_read_open(log, fd, bytes, t, end);
	close(fd);
	return err;
}

uint64_t disk_log_file_bytes(const struct disk_log *log, uint32_t number)
{
	uint64_t bytes;
	int fd = disk_segments_open(log->files, number, false, &bytes);

	if (fd < 0)
		return 0;
	close(fd);
	return bytes;
}

/* A table as bytes, to be freed; null without memory. */
static uint8_t *disk_log_table_bytes(const struct disk_log *log,
				     const struct segment_table *t)
{
	uint8_t *bytes = malloc(segment_table_bytes(t));

	if (bytes)
		segment_table_write(t, log->seed, bytes);
	return bytes;
}

/* Writes a table behind the records of an open segment. */
static int disk_log_write_table(const struct disk_log *log, int fd, uint64_t at,
				const struct segment_table *t)
{
	uint8_t *bytes = disk_log_table_bytes(log, t);
	int err = bytes ? disk_segments_write(fd, bytes, segment_table_bytes(t),
					      at) : -ENOMEM;

	free(bytes);
	return err ? err : disk_segments_sync(fd);
}

uint64_t disk_log_repair(const struct disk_log *log, uint32_t number,
			 const struct segment_table *t, uint64_t end)
{
	uint64_t bytes;
	int fd = disk_segments_open(log->files, number, true, &bytes), err;

	if (fd < 0)
		return 0;
	err = disk_segments_cut(fd, end);
	if (!err)
		err = disk_log_write_table(log, fd, end, t);
	close(fd);
	return err ? 0 : end + segment_table_bytes(t);
}

/* Appending */

bool disk_log_fits_buffer(const struct disk_log *log, size_t bytes)
{
	return !log->len || log->len + bytes <= DISK_LOG_BUFFER;
}

bool disk_log_fits_segment(const struct disk_log *log, size_t bytes)
{
	uint64_t used = log->at + log->len;

	assert(log->number);
	return used <= DISK_LOG_HEAD_BYTES ||
	       used + bytes + SEGMENT_ENTRY_BYTES +
			       segment_table_bytes(&log->table) <=
		       segment_space_segment_bytes(log->max_bytes);
}

static void disk_log_note_written(struct disk_log *log)
{
	log->written_entries = log->table.nentries;
	log->written_removals = log->table.nremovals;
	log->written_extras = log->table.extras_len;
}

int disk_log_open_segment(struct disk_log *log)
{
	uint8_t head[DISK_LOG_HEAD_BYTES];
	int err;

	assert(!log->number && log->seed && !log->len);
	err = segment_space_add(&log->space, log->last_number + 1);
	if (err)
		return err;
	log->last_number++;
	log->fd = disk_segments_create(log->files, log->last_number);
	disk_log_write_head(log->seed, head);
	err = log->fd < 0 ? log->fd :
			    disk_segments_write(log->fd, head, sizeof(head), 0);
	log->number = log->last_number;
	if (err) {
		disk_log_remove_segment(log, log->number);
		return err;
	}
	log->at = sizeof(head);
	log->table.secret = disk_log_secret_number(log);
	disk_log_note_written(log);
	return 0;
}

/* It is not open any more. */
static void disk_log_close_segment(struct disk_log *log)
{
	if (log->fd >= 0)
		close(log->fd);
	log->fd = -1;
	log->number = 0;
	log->len = 0;
	segment_table_free(&log->table);
}

int disk_log_seal(struct disk_log *log, struct segment_table *table)
{
	struct segment_info *info = segment_space_find(&log->space,
						       log->number);
	int err;

	assert(log->number && !log->len);
	err = disk_log_write_table(log, log->fd, log->at, &log->table);
	if (err) /* its records will do */
		err = disk_segments_sync(log->fd);
	info->sealed = true;
	segment_space_set_bytes(&log->space, info,
				log->at + segment_table_bytes(&log->table));
	if (table) {
		*table = log->table;
		log->table = (struct segment_table){ 0 };
	}
	disk_log_close_segment(log);
	return err;
}

uint8_t *disk_log_reserve(struct disk_log *log, size_t bytes,
			  struct disk_place *place)
{
	size_t cap = log->len + bytes;
	uint8_t *buffer;

	assert(log->number);
	assert(!((log->at + log->len) % SEGMENT_UNIT));
	if (cap > log->cap) {
		if (cap < DISK_LOG_BUFFER)
			cap = DISK_LOG_BUFFER;
		buffer = realloc(log->buffer, cap);
		if (!buffer)
			return NULL;
		log->buffer = buffer;
		log->cap = cap;
	}
	place->segment = log->number;
	place->at = (uint32_t)((log->at + log->len) / SEGMENT_UNIT);
	return log->buffer + log->len;
}

int disk_log_add(struct disk_log *log, struct segment_entry *e, size_t bytes)
{
	int err;

	e->at = (uint32_t)((log->at + log->len) / SEGMENT_UNIT);
	e->units = (uint32_t)(bytes / SEGMENT_UNIT);
	err = segment_table_add(&log->table, e);
	if (!err)
		log->len += bytes;
	return err;
}

int disk_log_add_removals(struct disk_log *log, const struct disk_place *places,
			  size_t n, size_t bytes)
{
	size_t before = log->table.nremovals;
	int err = 0;

	for (size_t i = 0; i < n && !err; i++)
		err = segment_table_add_removal(&log->table, places[i]);
	if (err)
		log->table.nremovals = before;
	else
		log->len += bytes;
	return err;
}

void disk_log_take_back(struct disk_log *log)
{
	log->table.nentries = log->written_entries;
	log->table.nremovals = log->written_removals;
	log->table.extras_len = log->written_extras;
	log->len = 0;
}

int disk_log_flush(struct disk_log *log)
{
	struct segment_info *info = segment_space_find(&log->space,
						       log->number);
	int err;

	if (!log->len)
		return 0;
	err = disk_segments_write(log->fd, log->buffer, log->len, log->at);
	if (err) {
		disk_log_take_back(log);
		/* what was written of it must not be found at a start; the next
		 * is written over it, at least */
		disk_segments_cut(log->fd, log->at);
		return err;
	}
	log->at += log->len;
	log->len = 0;
	disk_log_note_written(log);
	segment_space_set_bytes(&log->space, info, log->at);
	return 0;
}

int disk_log_sync(const struct disk_log *log)
{
	return log->number ? disk_segments_sync(log->fd) : 0;
}

/* Room */

void disk_log_count(struct disk_log *log, struct disk_place place,
		    uint32_t units, int64_t file_bytes, bool wanted)
{
	struct segment_info *info = segment_space_find(&log->space,
						       place.segment);
	uint64_t bytes = (uint64_t)units * SEGMENT_UNIT + SEGMENT_ENTRY_BYTES;

	log->file_bytes += (uint64_t)(wanted ? file_bytes : -file_bytes);
	if (!info)
		return;
	assert(wanted || info->live >= bytes);
	info->live += wanted ? bytes : -bytes;
}

bool disk_log_wants_room(const struct disk_log *log, uint64_t bytes)
{
	return log->space.bytes + log->file_bytes + bytes > log->max_bytes;
}

int disk_log_remove_segment(struct disk_log *log, uint32_t number)
{
	int err;

	if (number == log->number)
		disk_log_close_segment(log);
	err = disk_segments_remove(log->files, number);
	if (!err)
		segment_space_remove(&log->space, number);
	return err;
}
