/*
 * The readers. What is small comes into memory; what is large stays an open
 * file, of which blocks are read as they are wanted. Whatever is read is held
 * against its checksum where it was read to: never is a byte sent from the
 * file itself, which may change between a look and the next.
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "digestd/disk/cached.h"
#include "digestd/disk/disk_inside.h"

enum {
	IN_MEMORY_BYTES = 65536, /* larger bodies are read block by block */
	MAX_READS = 4096,	 /* that wait */
};

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
	assert(read->id && !read->of);
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

/* Checked each time: that costs a tenth of what reading does. */
static int disk_read_load_body(struct cached *c, const struct disk_body *body,
			       int fd)
{
	char *bytes = malloc(body->len ? (size_t)body->len : 1);
	int err;

	if (!bytes)
		return -ENOMEM;
	cached_set_body(c, bytes, body->len);
	err = disk_files_load(fd, bytes, (size_t)body->len, 0);
	if (!err && disk_sum(body->id, bytes, (size_t)body->len) !=
			    disk_body_sum(body, 0))
		err = -EBADMSG;
	return err;
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

/* Takes over the descriptor. */
static int disk_read_take_body(struct cached *c, const struct disk_body *body,
			       int fd, bool check)
{
	int err;

	if (body->len <= IN_MEMORY_BYTES) {
		err = disk_read_load_body(c, body, fd);
		close(fd);
		return err;
	}
	err = disk_read_keep_file(c, body, fd);
	return err || !check ? err : disk_read_check_file(c);
}

static int disk_read_body(struct disk *d, struct disk_read *read,
			  const struct disk_body *body, struct cached *c)
{
	int fd = disk_files_read(d->files, body);

	return fd < 0 ? fd : disk_read_take_body(c, body, fd, read->check);
}

static int disk_read_object(struct disk *d, struct disk_read *read)
{
	struct disk_body body = { .id = read->id };
	struct cached *c = NULL;
	uint8_t *bytes;
	size_t len;
	int err = disk_index_get(d->index, read->id, &bytes, &len);

	if (err)
		return err;
	err = disk_record_read(bytes, len, &body, &c);
	if (!err)
		err = disk_read_body(d, read, &body, c);
	free(bytes);
	if (err) {
		read->broken = c;
		return err;
	}
	cached_disk(c)->id = read->id;
	read->found = c;
	return 0;
}

void disk_count_error(struct disk *disk, const struct disk_read *read)
{
	assert(read->error < 0);
	pthread_mutex_lock(&disk->lock);
	if (read->error == -EBADMSG)
		disk->counters.corrupt++;
	else
		disk->counters.read_errors++;
	pthread_mutex_unlock(&disk->lock);
	disk_complain_of_read(disk, read->of ? read->of : read->broken,
			      read->id, read->error);
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
