/*
 * The readers. A record comes into memory, and with it a small body; a large
 * one stays an open file, of which blocks are read as they are wanted. Whatever
 * is read is held against its checksum where it was read to: never is a byte
 * sent from the file itself, which may change between a look and the next.
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "digestd/disk/cached.h"
#include "digestd/disk/disk_inside.h"
#include "digestd/disk/disk_segments.h"

enum { MAX_READS = 4096 }; /* that wait */

/* Asking */

static void disk_read_enqueue(struct disk *d, struct disk_read *read)
{
	read->state = DISK_READ_WAITS;
	read->next = NULL;
	*d->last_read = read;
	d->last_read = &read->next;
	d->nreads++;
	pthread_cond_signal(&d->to_read);
}

bool disk_read(struct disk *disk, struct disk_read *read)
{
	bool room;

	assert(read->loop && read->call.run);
	assert(read->state == DISK_READ_IDLE);
	assert(read->id && read->place.segment && !read->of);
	pthread_mutex_lock(&disk->lock);
	room = disk->nreads < MAX_READS && disk->nreaders > 0;
	if (room)
		disk_read_enqueue(disk, read);
	pthread_mutex_unlock(&disk->lock);
	return room;
}

void disk_read_blocks(struct disk *disk, struct disk_read *read)
{
	assert(read->loop && read->call.run);
	assert(read->state == DISK_READ_IDLE);
	assert(read->of && read->to && read->nblocks);
	pthread_mutex_lock(&disk->lock);
	disk_read_enqueue(disk, read);
	pthread_mutex_unlock(&disk->lock);
}

static void disk_read_unlist(struct disk *d, struct disk_read *read)
{
	struct disk_read **link = &d->reads;

	while (*link != read)
		link = &(*link)->next;
	*link = read->next;
	if (!*link)
		d->last_read = link;
	d->nreads--;
	read->state = DISK_READ_IDLE;
}

void disk_read_cancel(struct disk *disk, struct disk_read *read)
{
	pthread_mutex_lock(&disk->lock);
	if (read->state == DISK_READ_WAITS)
		disk_read_unlist(disk, read);
	while (read->state == DISK_READ_RUNS)
		pthread_cond_wait(&disk->was_read, &disk->lock);
	pthread_mutex_unlock(&disk->lock);
}

/* Reading */

static int disk_read_load_block(const struct cached *c, uint64_t block,
				char *to)
{
	const struct cached_file *file = cached_file(c);
	size_t len = disk_block_bytes(c->body_len, block);
	int err = disk_files_load(file->fd, to, len, block * DISK_BLOCK_BYTES);

	if (!err &&
	    disk_block_sum(file->id, block, to, len) != file->sums[block])
		err = -EBADMSG;
	return err;
}

static int disk_read_load_blocks(const struct disk_read *read)
{
	int err = 0;

	for (unsigned i = 0; i < read->nblocks && !err; i++)
		err = disk_read_load_block(read->of, read->block + i,
					   read->to + (size_t)i *
							      DISK_BLOCK_BYTES);
	return err;
}

/* Whether the file is whole: after a power failure it may not be, and a reply
 * had better not find that out in the middle. */
static int disk_read_check_file(const struct cached *c)
{
	char *block = malloc(DISK_BLOCK_BYTES);
	uint64_t n = disk_blocks(c->body_len);
	int err = block ? 0 : -ENOMEM;

	for (uint64_t i = 0; i < n && !err; i++)
		err = disk_read_load_block(c, i, block);
	free(block);
	return err;
}

/* The body of a record. */
static int disk_read_copy_body(struct cached *c, const struct segment_record *r)
{
	char *bytes = malloc(r->body_len ? (size_t)r->body_len : 1);

	if (!bytes)
		return -ENOMEM;
	if (r->body_len)
		memcpy(bytes, r->body, (size_t)r->body_len);
	cached_set_body(c, bytes, r->body_len);
	return 0;
}

/* Takes over the descriptor. */
static int disk_read_keep_file(struct cached *c, const struct disk_body *body,
			       int fd)
{
	uint64_t n = disk_blocks(body->len);
	struct cached_file *file =
		malloc(sizeof(*file) + (size_t)n * sizeof(file->sums[0]));

	if (!file) {
		close(fd);
		return -ENOMEM;
	}
	file->fd = fd;
	file->id = body->id;
	for (uint64_t i = 0; i < n; i++)
		file->sums[i] = disk_body_sum(body, i);
	cached_set_file(c, file, body->len);
	return 0;
}

static int disk_read_open_body(struct disk *d, const struct disk_read *read,
			       const struct segment_record *r, struct cached *c)
{
	const struct disk_body body = { r->id, r->body_len, r->sums };
	int fd = disk_files_read(d->files, &body);
	int err = fd < 0 ? fd : disk_read_keep_file(c, &body, fd);

	return err || !read->check ? err : disk_read_check_file(c);
}

/* As many bytes as there are, up to that. */
static int disk_read_load_bytes(int fd, uint64_t at, uint64_t end, size_t want,
				uint8_t **bytes, size_t *len)
{
	uint8_t *more;

	if (at >= end)
		return -EBADMSG;
	*len = end - at < want ? (size_t)(end - at) : want;
	more = realloc(*bytes, *len);
	if (!more)
		return -ENOMEM;
	*bytes = more;
	return disk_files_load(fd, more, *len, at);
}

/* A record of an open segment, which may be longer than expected. */
static int disk_read_load_record(const struct disk *d, int fd, uint64_t end,
				 uint64_t at, size_t want, uint8_t **bytes,
				 struct segment_record *r)
{
	size_t len, size;
	int err = disk_read_load_bytes(fd, at, end, want, bytes, &len);

	if (err)
		return err;
	size = segment_record_measure(*bytes, len);
	if (size > len) {
		err = disk_read_load_bytes(fd, at, end, size, bytes, &len);
		if (err)
			return err;
	}
	return segment_record_read(*bytes, len, d->log.seed, r);
}

int disk_load_record(const struct disk *d, uint64_t id, struct disk_place place,
		     uint32_t units, uint8_t **bytes, struct segment_record *r)
{
	uint64_t at = (uint64_t)place.at * SEGMENT_UNIT, end;
	int fd = disk_segments_open(d->files, place.segment, false, &end), err;

	*bytes = NULL;
	if (fd < 0)
		return fd;
	err = disk_read_load_record(d, fd, end, at,
				    (size_t)units * SEGMENT_UNIT, bytes, r);
	close(fd);
	if (!err && (r->kind != SEGMENT_OBJECT || r->id != id))
		err = -EBADMSG;
	if (err) {
		free(*bytes);
		*bytes = NULL;
	}
	return err;
}

static int disk_read_object_at(struct disk *d, struct disk_read *read)
{
	struct segment_record r;
	struct cached *c = NULL;
	uint8_t *bytes;
	int err = disk_load_record(d, read->id, read->place, read->units,
				   &bytes, &r);

	if (err)
		return err;
	err = segment_record_response(&r, &c);
	if (!err)
		err = r.in_file ? disk_read_open_body(d, read, &r, c) :
				  disk_read_copy_body(c, &r);
	free(bytes);
	if (err) {
		read->broken = c;
		return err;
	}
	cached_disk(c)->id = read->id;
	read->found = c;
	return 0;
}

/* Its segment may go while it is asked for: then it is in another one. */
static int disk_read_object(struct disk *d, struct disk_read *read)
{
	struct disk_where now;
	int err;

	for (;;) {
		err = disk_read_object_at(d, read);
		if (!err || !d->events.where(d->events.arg, &read->key,
					     read->id, &now) ||
		    (now.place.segment == read->place.segment &&
		     now.place.at == read->place.at))
			return err;
		cached_unref(&read->broken);
		read->place = now.place;
		read->units = now.units;
	}
}

struct cached *disk_head(struct disk *disk, uint64_t id,
			 const struct disk_where *where)
{
	struct segment_record r;
	struct cached *c = NULL;
	uint8_t *bytes;

	assert(id);
	if (disk_load_record(disk, id, where->place, where->units, &bytes, &r))
		return NULL;
	if (segment_record_response(&r, &c))
		c = NULL;
	free(bytes);
	return c;
}

/* A damaged record does not say whose it is; who has asked knows. Null: nobody
 * does. */
static const char *disk_read_name(const struct disk_read *read)
{
	const struct cached *c = read->of ? read->of : read->broken;

	return c ? cached_uri(c) : read->uri;
}

void disk_count_error(struct disk *disk, const struct disk_read *read)
{
	char name[DISK_NAME_BYTES];

	assert(read->error < 0);
	pthread_mutex_lock(&disk->lock);
	if (read->error == -EBADMSG)
		disk->counters.corrupt++;
	else
		disk->counters.read_errors++;
	pthread_mutex_unlock(&disk->lock);
	if (read->of || read->broken)
		disk_files_name(read->id, name);
	else
		disk_segments_name(read->place.segment, name);
	disk_complain_of_read(disk, disk_read_name(read), name, read->error);
}

/* The next one; null: it is time to end. */
static struct disk_read *disk_read_take_read(struct disk *d)
{
	struct disk_read *read;

	pthread_mutex_lock(&d->lock);
	while (!d->reads && !d->stopping)
		pthread_cond_wait(&d->to_read, &d->lock);
	read = d->reads;
	if (read) {
		disk_read_unlist(d, read);
		read->state = DISK_READ_RUNS;
	}
	pthread_mutex_unlock(&d->lock);
	return read;
}

static uint64_t disk_read_bytes_read(const struct disk_read *read)
{
	uint64_t left;

	if (read->error)
		return 0;
	if (!read->of)
		return cached_file(read->found) ? 0 : read->found->body_len;
	left = read->of->body_len - read->block * DISK_BLOCK_BYTES;
	return left < (uint64_t)read->nblocks * DISK_BLOCK_BYTES ?
		       left : (uint64_t)read->nblocks * DISK_BLOCK_BYTES;
}

/* Posted with the lock, so that a read that is taken back is not posted to a
 * loop that has gone. */
static void disk_read_end_read(struct disk *d, struct disk_read *read)
{
	d->events.was_read(d->events.arg, read);
	cached_unref(&read->broken);
	pthread_mutex_lock(&d->lock);
	d->counters.hits += read->found != NULL;
	d->counters.read_bytes += disk_read_bytes_read(read);
	read->state = DISK_READ_IDLE;
	loop_post(read->loop, &read->call);
	pthread_cond_broadcast(&d->was_read);
	pthread_mutex_unlock(&d->lock);
}

void *disk_reader(void *arg)
{
	struct disk *d = arg;
	struct disk_read *read;

	while ((read = disk_read_take_read(d))) {
		read->error = read->of ? disk_read_load_blocks(read)
				       : disk_read_object(d, read);
		disk_read_end_read(d, read);
	}
	return NULL;
}
