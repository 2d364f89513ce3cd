/*
 * The writer. It waits a moment for more, so that a commit, which syncs the
 * index, is for many objects; but for so many at most that what is on disk is
 * known, and its memory free, soon.
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "digestd/disk/cached.h"
#include "digestd/disk/disk_inside.h"

enum { LINGER_NS = 50000000 };

/* Of a commit: some 50 ms of a disk's work. */
enum { COMMIT_OBJECTS = 1024, COMMIT_BYTES = 4 << 20 };

void disk_batch_init(struct disk_batch *batch)
{
	*batch = (struct disk_batch){ .bytes = 0 };
	batch->last_write = &batch->writes;
	batch->last_renewal = &batch->renewals;
}

/* Asking */

bool disk_write(struct disk *disk, struct disk_entry *e)
{
	uint64_t len = e->pending->body_len;
	struct disk_batch *b = &disk->waiting;
	bool room;

	assert(e->id && e->pending);
	pthread_mutex_lock(&disk->lock);
	room = b->bytes + disk->writing_bytes + len <= disk->max_queue_bytes;
	if (room) {
		e->next = NULL;
		*b->last_write = e;
		b->last_write = &e->next;
		b->bytes += len;
		pthread_cond_signal(&disk->to_write);
	} else {
		disk->counters.not_written++;
	}
	pthread_mutex_unlock(&disk->lock);
	return room;
}

void disk_remove(struct disk *disk, struct disk_entry *e)
{
	assert(e->id);
	pthread_mutex_lock(&disk->lock);
	e->next = disk->waiting.removals;
	disk->waiting.removals = e;
	pthread_cond_signal(&disk->to_write);
	pthread_mutex_unlock(&disk->lock);
}

void disk_renew(struct disk *disk, uint64_t id, struct cached *c)
{
	struct disk_renewal *r = malloc(sizeof(*r));

	assert(id && c);
	if (!r)
		return;
	*r = (struct disk_renewal){ .id = id, .c = cached_ref(c) };
	pthread_mutex_lock(&disk->lock);
	*disk->waiting.last_renewal = r;
	disk->waiting.last_renewal = &r->next;
	pthread_cond_signal(&disk->to_write);
	pthread_mutex_unlock(&disk->lock);
}

void disk_grow(struct disk *disk, uint64_t max_index_bytes)
{
	pthread_mutex_lock(&disk->lock);
	if (max_index_bytes > disk->index_bytes)
		disk->index_bytes = max_index_bytes;
	pthread_mutex_unlock(&disk->lock);
}

void disk_sync(struct disk *disk, struct disk_sync *sync)
{
	assert(sync->loop && sync->call.run);
	pthread_mutex_lock(&disk->lock);
	assert(!sync->waits);
	sync->waits = true;
	sync->next = disk->waiting.syncs;
	disk->waiting.syncs = sync;
	pthread_cond_signal(&disk->to_write);
	pthread_mutex_unlock(&disk->lock);
}

void disk_sync_wait(struct disk *disk, struct disk_sync *sync)
{
	pthread_mutex_lock(&disk->lock);
	while (sync->waits)
		pthread_cond_wait(&disk->was_synced, &disk->lock);
	pthread_mutex_unlock(&disk->lock);
}

/* Writing. A function's return value is an error of the index, which ends the
 * batch. */

static int disk_write_put_record(struct disk *d, const struct cached *c,
				 const struct disk_body *body, int *error)
{
	uint8_t *bytes;
	size_t len;
	int err;

	*error = disk_record_write(c, body, &bytes, &len);
	if (*error)
		return 0;
	err = disk_index_put(d->index, body->id, bytes, len);
	free(bytes);
	return err;
}

static int disk_write_one(struct disk *d, struct disk_entry *e)
{
	const struct cached *c = e->pending;
	struct disk_body body = { .id = e->id, .len = c->body_len };
	const char *bytes = cached_body(c);
	uint8_t *sums;
	int err;

	if (__atomic_load_n(&e->gone, __ATOMIC_RELAXED)) {
		e->error = -ECANCELED;
		return 0;
	}
	e->error = disk_files_write(d->files, e->id, bytes, c->body_len);
	if (e->error)
		return 0;
	sums = disk_body_sums(e->id, bytes, c->body_len);
	if (!sums) {
		e->error = -ENOMEM;
		return 0;
	}
	body.sums = sums;
	err = disk_write_put_record(d, c, &body, &e->error);
	free(sums);
	return err;
}

/* The old record knows the body. */
static int disk_write_renew_one(struct disk *d, const struct disk_renewal *r)
{
	struct disk_body body = { .id = r->id };
	struct cached *old = NULL;
	uint8_t *bytes;
	size_t len;
	int err = 0, ignored;

	if (disk_index_get(d->index, r->id, &bytes, &len))
		return 0;
	if (!disk_record_read(bytes, len, &body, &old))
		err = disk_write_put_record(d, r->c, &body, &ignored);
	cached_unref(&old);
	free(bytes);
	return err;
}

static int disk_write_remove_records(struct disk *d, const struct disk_entry *e)
{
	int err = 0;

	for (; e && !err; e = e->next)
		err = disk_index_remove_id(d->index, e->id);
	return err;
}

static int disk_write_batch(struct disk *d, struct disk_batch *b)
{
	int err = disk_index_begin(d->index);

	for (struct disk_entry *e = b->writes; e && !err; e = e->next)
		err = disk_write_one(d, e);
	for (struct disk_renewal *r = b->renewals; r && !err; r = r->next)
		err = disk_write_renew_one(d, r);
	if (!err)
		err = disk_write_remove_records(d, b->removals);
	if (!err)
		err = disk_index_commit(d->index);
	if (err)
		disk_index_give_up(d->index);
	return err;
}

/* The records could not be written: then nothing of it has been. */
static void disk_write_fail_batch(struct disk *d, struct disk_batch *b, int err)
{
	for (struct disk_entry *e = b->writes; e; e = e->next) {
		if (!e->error)
			e->error = err;
	}
	/* what was removed must not come back; else the next start finds that
	 * it has no file */
	if (!disk_index_begin(d->index) &&
	    !disk_write_remove_records(d, b->removals))
		disk_index_commit(d->index);
	disk_index_give_up(d->index);
}

/* Telling */

static void disk_write_tell(struct disk *d, struct disk_entry *e)
{
	uint64_t id = e->id, len = e->pending->body_len;
	int err = e->error;

	if (err && err != -ECANCELED) {
		disk_files_remove(d->files, id);
		disk_complain_of_write(d, e->pending, id, err);
	}
	pthread_mutex_lock(&d->lock);
	d->writing_bytes -= len;
	d->counters.writes += !err;
	d->counters.write_bytes += err ? 0 : len;
	d->counters.spared += err == -ECANCELED;
	d->counters.write_errors += err && err != -ECANCELED;
	pthread_mutex_unlock(&d->lock);
	d->events.written(d->events.arg, e); /* it may be gone after this */
}

static void disk_write_end_batch(struct disk *d, struct disk_batch *b)
{
	while (b->writes) {
		struct disk_entry *e = b->writes;

		b->writes = e->next;
		disk_write_tell(d, e);
	}
	while (b->renewals) {
		struct disk_renewal *r = b->renewals;

		b->renewals = r->next;
		cached_unref(&r->c);
		free(r);
	}
	while (b->removals) {
		struct disk_entry *e = b->removals;

		b->removals = e->next;
		disk_files_remove(d->files, e->id);
		disk_entry_free(e);
	}
}

/* The syncs of a batch that is done. */
static void disk_write_end_syncs(struct disk *d, struct disk_batch *b)
{
	pthread_mutex_lock(&d->lock);
	while (b->syncs) {
		struct disk_sync *sync = b->syncs;

		b->syncs = sync->next;
		sync->waits = false;
		loop_post(sync->loop, &sync->call);
	}
	pthread_cond_broadcast(&d->was_synced);
	pthread_mutex_unlock(&d->lock);
}

static bool disk_write_has_work(const struct disk_batch *b)
{
	return b->writes || b->renewals || b->removals || b->syncs;
}

/* Waits for more, unless much is there already, or somebody waits for it. With
 * the lock. */
static void disk_write_linger(struct disk *d)
{
	struct timespec until;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_nsec += LINGER_NS;
	if (until.tv_nsec >= 1000000000) {
		until.tv_nsec -= 1000000000;
		until.tv_sec++;
	}
	while (!d->stopping && !d->waiting.syncs &&
	       d->waiting.bytes < d->max_queue_bytes / 4 &&
	       !pthread_cond_timedwait(&d->to_write, &d->lock, &until))
		;
}

/* Gives the index the room that it may take by now. */
static void disk_write_grow_index(struct disk *d)
{
	uint64_t room;
	int err;

	pthread_mutex_lock(&d->lock);
	room = d->index_bytes;
	pthread_mutex_unlock(&d->lock);
	err = disk_index_grow(d->index, (size_t)room);
	if (err)
		disk_complain_of_index(d, room, err);
}

/* Takes all that is waiting. False: it is time to end. */
static bool disk_write_take_batch(struct disk *d, struct disk_batch *b)
{
	pthread_mutex_lock(&d->lock);
	while (!disk_write_has_work(&d->waiting) && !d->stopping)
		pthread_cond_wait(&d->to_write, &d->lock);
	disk_write_linger(d);
	*b = d->waiting;
	d->writing_bytes = b->bytes;
	disk_batch_init(&d->waiting);
	pthread_mutex_unlock(&d->lock);
	return disk_write_has_work(b);
}

/* Moves what one commit is for from a batch to a part of it. What is not a
 * write is little, and of objects that earlier batches wrote: all of it. */
static void disk_write_take_part(struct disk_batch *b, struct disk_batch *part)
{
	struct disk_entry **end = &b->writes, *rest;
	uint64_t bytes = 0;

	for (unsigned n = 0; *end && n < COMMIT_OBJECTS && bytes < COMMIT_BYTES;
	     n++) {
		bytes += (*end)->pending->body_len;
		end = &(*end)->next;
	}
	rest = *end;
	*end = NULL;
	*part = *b;
	part->syncs = NULL;
	b->writes = rest;
	b->renewals = NULL;
	b->removals = NULL;
}

void *disk_writer(void *arg)
{
	struct disk *d = arg;
	struct disk_batch b, part;

	while (disk_write_take_batch(d, &b)) {
		disk_write_grow_index(d);
		do {
			int err;

			disk_write_take_part(&b, &part);
			err = disk_write_batch(d, &part);
			if (err)
				disk_write_fail_batch(d, &part, err);
			disk_write_end_batch(d, &part);
		} while (b.writes);
		disk_write_end_syncs(d, &b);
	}
	return NULL;
}
