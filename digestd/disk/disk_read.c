/*
 * The readers. What is small comes into memory; what is large stays an open
 * file, which is sent from there.
 */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "digestd/disk/cached.h"
#include "digestd/disk/disk_inside.h"

enum {
	IN_MEMORY_BYTES = 65536, /* larger bodies are sent from their file */
	MAX_READS = 4096,	 /* that wait */
};

/* Asking */

bool disk_read(struct disk *disk, struct disk_read *read)
{
	bool room;

	pthread_mutex_lock(&disk->lock);
	room = disk->nreads < MAX_READS && disk->nreaders > 0;
	if (room) {
		read->state = DISK_READ_WAITS;
		read->next = NULL;
		*disk->last_read = read;
		disk->last_read = &read->next;
		disk->nreads++;
		pthread_cond_signal(&disk->to_read);
	}
	pthread_mutex_unlock(&disk->lock);
	return room;
}

static void unlist(struct disk *d, struct disk_read *read)
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
		unlist(disk, read);
	while (read->state == DISK_READ_RUNS)
		pthread_cond_wait(&disk->was_read, &disk->lock);
	pthread_mutex_unlock(&disk->lock);
}

/* Reading */

/* Checked each time: that costs a tenth of what reading does. */
static int load_body(struct cached *c, const struct disk_body *body, int fd)
{
	char *bytes = malloc(body->len ? (size_t)body->len : 1);
	int err;

	if (!bytes)
		return -ENOMEM;
	cached_set_body(c, bytes, body->len);
	err = disk_files_load(fd, body, bytes);
	if (!err && disk_sum(body->id, bytes, (size_t)body->len) != body->sum)
		err = -EBADMSG;
	return err;
}

/* Takes over the descriptor. */
static int take_body(struct cached *c, const struct disk_body *body, int fd,
		     bool check)
{
	int err;

	if (body->len <= IN_MEMORY_BYTES) {
		err = load_body(c, body, fd);
		close(fd);
		return err;
	}
	if (body->len > CACHED_BODY_MAX) {
		close(fd);
		return -EBADMSG;
	}
	cached_set_file(c, fd, body->len);
	return check ? disk_files_check(fd, body) : 0;
}

static int read_one(struct disk *d, struct disk_read *read)
{
	struct disk_body body = { .id = read->id };
	struct cached *c = NULL;
	uint8_t *bytes;
	size_t len;
	int err = disk_index_get(d->index, read->id, &bytes, &len), fd;

	if (err)
		return err;
	err = disk_record_read(bytes, len, &body, &c);
	free(bytes);
	if (err)
		return err;
	fd = disk_files_read(d->files, &body);
	err = fd < 0 ? fd : take_body(c, &body, fd, read->check);
	if (err) {
		cached_unref(&c);
		return err;
	}
	cached_disk(c)->id = read->id;
	read->found = c;
	return 0;
}

void disk_count_error(struct disk *disk, const struct disk_read *read)
{
	pthread_mutex_lock(&disk->lock);
	if (read->error == -EBADMSG)
		disk->counters.corrupt++;
	else
		disk->counters.read_errors++;
	pthread_mutex_unlock(&disk->lock);
	disk_complain(disk, "reading object", read->id, read->error);
}

/* The next one; null: it is time to end. */
static struct disk_read *take_read(struct disk *d)
{
	struct disk_read *read;

	pthread_mutex_lock(&d->lock);
	while (!d->reads && !d->stopping)
		pthread_cond_wait(&d->to_read, &d->lock);
	read = d->reads;
	if (read) {
		unlist(d, read);
		read->state = DISK_READ_RUNS;
	}
	pthread_mutex_unlock(&d->lock);
	return read;
}

/* Posted with the lock, so that a read that is taken back is not posted to a
 * loop that has gone. */
static void end_read(struct disk *d, struct disk_read *read)
{
	d->events.was_read(d->events.arg, read);
	pthread_mutex_lock(&d->lock);
	if (read->found) {
		d->counters.hits++;
		d->counters.read_bytes += read->found->body_len;
	}
	read->state = DISK_READ_IDLE;
	loop_post(read->loop, &read->call);
	pthread_cond_broadcast(&d->was_read);
	pthread_mutex_unlock(&d->lock);
}

void *disk_reader(void *arg)
{
	struct disk *d = arg;
	struct disk_read *read;

	while ((read = take_read(d))) {
		read->error = read_one(d, read);
		end_read(d, read);
	}
	return NULL;
}
