/*
 * The writer. It waits a moment for more, so that one call writes many objects;
 * but what is in the buffer is written, and its memory free, soon.
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "digestd/disk/cached.h"
#include "digestd/disk/disk_inside.h"
#include "digestd/disk/disk_segments.h"

enum { LINGER_NS = 50000000 };

enum {
	REMOVALS = 512, /* of a record */
	CLEANINGS_IN_VAIN = 8, /* in a row, that gain nothing */
};

void disk_batch_init(struct disk_batch *batch)
{
	*batch = (struct disk_batch){ .bytes = 0 };
	batch->last_write = &batch->writes;
}

/* Asking */

static bool disk_write_has_work(const struct disk_batch *b)
{
	return b->writes || b->removals || b->syncs;
}

/* Whether the writer need not wait for more. */
static bool disk_write_is_enough(const struct disk *d)
{
	return d->waiting.syncs || d->waiting.bytes >= DISK_LOG_BUFFER ||
	       d->waiting.bytes >= d->max_queue_bytes / 4;
}

/* Wakes the writer when there is something to do, and then when that is
 * enough: each wake-up costs more than a write. */
static void disk_write_wake(struct disk *d, bool had_work, bool was_enough)
{
	if (!had_work || (!was_enough && disk_write_is_enough(d)))
		pthread_cond_signal(&d->to_write);
}

/* Of so many bytes. */
static void disk_write_enqueue(struct disk *d, struct disk_writing *w,
			       uint64_t bytes)
{
	bool had_work = disk_write_has_work(&d->waiting);
	bool was_enough = disk_write_is_enough(d);

	*d->waiting.last_write = w;
	d->waiting.last_write = &w->next;
	d->waiting.bytes += bytes;
	disk_write_wake(d, had_work, was_enough);
}

bool disk_write(struct disk *disk, const struct scd_key *key,
		struct disk_entry *e, struct cached *c)
{
	struct disk_writing *w = calloc(1, sizeof(*w));
	bool room;

	assert(e->id && !e->pending);
	pthread_mutex_lock(&disk->lock);
	room = w && !disk->retired &&
	       disk->waiting.bytes + disk->writing_bytes + c->body_len <=
		       disk->max_queue_bytes;
	if (room) {
		*w = (struct disk_writing){
			.e = e, .key = *key, .id = e->id, .c = cached_ref(c)};
		e->writing = w;
		e->pending = true;
		disk_write_enqueue(disk, w, c->body_len);
	} else {
		disk->counters.not_written++;
	}
	pthread_mutex_unlock(&disk->lock);
	if (!room)
		free(w);
	return room;
}

void disk_spare(struct disk_entry *e)
{
	assert(e->pending);
	__atomic_store_n(&e->writing->gone, true, __ATOMIC_RELAXED);
}

void disk_remove(struct disk *disk, struct disk_entry *e)
{
	bool retired;

	assert(e->id && !e->pending);
	pthread_mutex_lock(&disk->lock);
	retired = disk->retired;
	if (!retired) {
		disk_write_wake(disk, disk_write_has_work(&disk->waiting),
				true);
		e->next = disk->waiting.removals;
		disk->waiting.removals = e;
	}
	pthread_mutex_unlock(&disk->lock);
	if (retired)
		disk_entry_free(e);
}

void disk_renew(struct disk *disk, const struct scd_key *key, uint64_t id,
		struct cached *c)
{
	struct disk_writing *w = malloc(sizeof(*w));
	bool retired;

	assert(id && c);
	if (!w)
		return;
	*w = (struct disk_writing){ .key = *key, .id = id, .c = cached_ref(c) };
	pthread_mutex_lock(&disk->lock);
	retired = disk->retired;
	if (!retired)
		disk_write_enqueue(disk, w, 0);
	pthread_mutex_unlock(&disk->lock);
	if (retired) {
		cached_unref(&w->c);
		free(w);
	}
}

void disk_limit(struct disk *disk, uint64_t max_bytes)
{
	pthread_mutex_lock(&disk->lock);
	disk->max_bytes = max_bytes;
	pthread_mutex_unlock(&disk->lock);
}

void disk_sync(struct disk *disk, struct disk_sync *sync)
{
	assert(sync->loop && sync->call.run);
	pthread_mutex_lock(&disk->lock);
	assert(!sync->waits);
	if (disk->retired) {
		loop_post(sync->loop, &sync->call);
	} else {
		sync->waits = true;
		sync->next = disk->waiting.syncs;
		disk->waiting.syncs = sync;
		pthread_cond_signal(&disk->to_write);
	}
	pthread_mutex_unlock(&disk->lock);
}

void disk_sync_wait(struct disk *disk, struct disk_sync *sync)
{
	pthread_mutex_lock(&disk->lock);
	while (sync->waits)
		pthread_cond_wait(&disk->was_synced, &disk->lock);
	pthread_mutex_unlock(&disk->lock);
}

/* Telling */

static bool disk_write_is_in_file(const struct disk_writing *w)
{
	return w->c->body_len > SEGMENT_BODY_MAX;
}

static void disk_write_complain(struct disk *d, const struct disk_writing *w)
{
	char name[DISK_NAME_BYTES];

	if (disk_write_is_in_file(w))
		disk_files_name(w->id, name);
	else
		disk_segments_name(d->log.number ? d->log.number :
						   d->log.last_number + 1,
				   name);
	disk_complain_of_write(d, w->c, name, w->error);
}

static void disk_write_tell_written(struct disk *d, struct disk_writing *w)
{
	uint64_t len = w->c->body_len;
	int err = w->error;

	if (err && err != -ECANCELED) {
		if (disk_write_is_in_file(w))
			disk_files_remove(d->files, w->id);
		disk_write_complain(d, w);
	}
	if (!err)
		disk_log_count(&d->log, w->place, w->e->units,
			       disk_entry_file_bytes(w->e), true);
	pthread_mutex_lock(&d->lock);
	d->writing_bytes -= len;
	d->counters.writes += !err;
	d->counters.write_bytes += err ? 0 : len;
	d->counters.spared += err == -ECANCELED;
	d->counters.write_errors += err && err != -ECANCELED;
	pthread_mutex_unlock(&d->lock);
	d->events.written(d->events.arg, w);
}

/* The record that was there before, or the new one if the object is gone. */
static void disk_write_tell_renewed(struct disk *d,
				    const struct disk_writing *w)
{
	struct disk_where now;
	bool there;

	if (w->error)
		return;
	there = d->events.where(d->events.arg, &w->key, w->id, &now) &&
		d->events.moved(d->events.arg, &w->key, w->id, &w->old,
				&w->place);
	if (there) {
		disk_log_count(&d->log, w->old, now.units, 0, false);
		disk_log_count(&d->log, w->place, now.units, 0, true);
	}
	d->renewed[d->nrenewed++] = there ? w->old : w->place;
}

static void disk_write_tell(struct disk *d, struct disk_writing *w)
{
	if (w->e)
		disk_write_tell_written(d, w);
	else
		disk_write_tell_renewed(d, w);
	cached_unref(&w->c);
	free(w);
}

static void disk_write_tell_buffered(struct disk *d, int err)
{
	struct disk_writing *w = d->buffered;

	d->buffered = NULL;
	d->last_buffered = &d->buffered;
	while (w) {
		struct disk_writing *next = w->next;

		w->error = err;
		disk_write_tell(d, w);
		w = next;
	}
}

/* What is removed has to stay away: where that cannot be had, what it was in
 * goes as a whole. */
static void disk_write_drop_segments(struct disk *d,
				     const struct disk_place *places, size_t n,
				     int why)
{
	for (size_t i = 0; i < n; i++) {
		if (segment_space_find(&d->log.space, places[i].segment))
			disk_drop_segment(d, places[i].segment, why);
	}
}

void disk_write_seal(struct disk *d)
{
	uint32_t number = d->log.number;
	struct segment_table table;
	int err = disk_log_seal(&d->log, &table);

	if (err) {
		disk_complain_of_segment(d, number, "syncing", err);
		disk_write_drop_segments(d, table.removals, table.nremovals,
					 err);
	}
	segment_table_free(&table);
}

/* Writes the buffer, and tells whose objects are in it. */
static int disk_write_flush(struct disk *d)
{
	struct disk_log *log = &d->log;
	int err = log->number ? disk_log_flush(log) : 0;

	disk_write_tell_buffered(d, err);
	if (err && log->at == DISK_LOG_HEAD_BYTES)
		disk_log_remove_segment(log, log->number);
	else if (err) /* the next one may do better */
		disk_write_seal(d);
	return err;
}

/* Room */

/* Has what is not wanted give way to so many bytes more. A gain is one on the
 * least that there has been: else a disk that is full of what is wanted could
 * gain and lose the same few bytes for ever. */
static int disk_write_make_room(struct disk *d, uint64_t bytes)
{
	unsigned vain = 0;
	uint64_t least;

	if (d->cleaning || !disk_log_wants_room(&d->log, bytes))
		return 0;
	disk_write_flush(d);
	least = d->log.space.bytes;
	while (disk_log_wants_room(&d->log, bytes)) {
		if (!disk_clean(d))
			return -ENOSPC;
		vain = d->log.space.bytes < least ? 0 : vain + 1;
		if (vain == CLEANINGS_IN_VAIN)
			return -ENOSPC;
		if (!vain)
			least = d->log.space.bytes;
	}
	return 0;
}

/* Has a segment open that a record fits into. */
static int disk_write_prepare(struct disk *d, size_t bytes)
{
	struct disk_log *log = &d->log;
	uint64_t segment = segment_space_segment_bytes(log->max_bytes);
	int err;

	if (log->number && !disk_log_fits_segment(log, bytes)) {
		disk_write_flush(d);
		if (log->number)
			disk_write_seal(d);
	}
	if (!log->number) {
		err = disk_write_make_room(d, segment > bytes ? segment
								: bytes);
		/* cleaning may have opened one */
		if (!err && !log->number)
			err = disk_log_open_segment(log);
		if (err)
			return err;
	}
	if (!disk_log_fits_buffer(log, bytes))
		disk_write_flush(d);
	return log->number ? 0 : -EIO;
}

/* Removals */

static int disk_write_try_removals(struct disk *d,
				   const struct disk_place *places, size_t n)
{
	size_t bytes = segment_removals_bytes(n);
	struct disk_place place;
	uint8_t *to;
	int err = disk_write_prepare(d, 2 * bytes);

	/* twice: a flipped bit does not bring an object back */
	for (int i = 0; i < 2 && !err; i++) {
		to = disk_log_reserve(&d->log, bytes, &place);
		if (!to)
			return -ENOMEM;
		segment_removals_write(places, n, d->log.seed, to);
		err = disk_log_add_removals(&d->log, places, i ? 0 : n,
					    bytes);
	}
	return err ? err : disk_write_flush(d);
}

void disk_write_removals(struct disk *d, const struct disk_place *places,
			 size_t n)
{
	int err = n ? disk_write_try_removals(d, places, n) : 0;

	if (err)
		err = disk_write_try_removals(d, places, n);
	if (err)
		disk_write_drop_segments(d, places, n, err);
}

/* Their files, and what they take, before others are written. */
static void disk_write_release(struct disk *d, const struct disk_entry *e)
{
	for (; e; e = e->next) {
		if (e->blocks)
			disk_files_remove(d->files, e->id);
		if (e->place.segment)
			disk_log_count(&d->log, e->place, e->units,
				       disk_entry_file_bytes(e), false);
	}
}

/* After what is written in their place: killed in between, a start finds both,
 * and knows which is newer. */
static void disk_write_remove(struct disk *d, struct disk_entry *e)
{
	struct disk_place places[REMOVALS];
	size_t n = 0;

	while (e) {
		struct disk_entry *next = e->next;

		if (segment_space_find(&d->log.space, e->place.segment))
			places[n++] = e->place;
		if (n == REMOVALS) {
			disk_write_removals(d, places, n);
			n = 0;
		}
		disk_entry_free(e);
		e = next;
	}
	disk_write_removals(d, places, n);
}

static void disk_write_remove_renewed(struct disk *d)
{
	unsigned n;

	disk_write_flush(d); /* which may have one more to remove */
	n = d->nrenewed;
	d->nrenewed = 0;
	disk_write_removals(d, d->renewed, n);
}

/* Objects */

/* The record, with the sums of a body in a file (else null). */
static int disk_write_append(struct disk *d, struct disk_writing *w,
			     const uint8_t *sums)
{
	const struct fields *selecting = cached_selecting(w->c);
	size_t len = segment_selecting_bytes(selecting);
	size_t bytes = segment_record_bytes(w->c, sums);
	struct segment_entry entry = {
		.key = w->key,
		.id = w->id,
		.file_bytes = sums ? w->c->body_len : 0,
		.selecting_len = (uint32_t)len,
		.unvouched = w->c->unvouched,
	};
	uint8_t *to, *select = NULL;
	int err = disk_write_prepare(d, bytes);

	to = err ? NULL : disk_log_reserve(&d->log, bytes, &w->place);
	if (len)
		entry.selecting = select = malloc(len);
	if (!to || (len && !select)) {
		free(select);
		return err ? err : -ENOMEM;
	}
	segment_record_write(w->c, w->id, sums, d->log.seed, to);
	if (len)
		segment_selecting_write(selecting, select);
	err = disk_log_add(&d->log, &entry, bytes);
	free(select);
	return err;
}

static int disk_write_object(struct disk *d, struct disk_writing *w)
{
	const char *body = cached_body(w->c);
	uint8_t *sums = NULL;
	int err;

	if (__atomic_load_n(&w->gone, __ATOMIC_RELAXED))
		return -ECANCELED;
	if (!disk_write_is_in_file(w))
		return disk_write_append(d, w, NULL);
	err = disk_write_make_room(d, w->c->body_len);
	if (!err)
		err = disk_files_write(d->files, w->id, body, w->c->body_len);
	if (err)
		return err;
	sums = disk_body_sums(w->id, body, w->c->body_len);
	err = sums ? disk_write_append(d, w, sums) : -ENOMEM;
	free(sums);
	return err;
}

/* The old record knows the body. */
static int disk_write_renewal(struct disk *d, struct disk_writing *w)
{
	struct segment_record old;
	struct disk_where where;
	uint8_t *bytes = NULL;
	int err;

	/* of what waits before it, too */
	disk_write_flush(d);
	if (!d->events.where(d->events.arg, &w->key, w->id, &where))
		return -ENOENT;
	err = disk_load_record(d, w->id, where.place, where.units, &bytes,
			       &old);
	if (!err && !old.in_file)
		err = -EBADMSG;
	if (!err)
		err = disk_write_append(d, w, old.sums);
	free(bytes);
	/* making room may have moved it */
	if (!err && d->events.where(d->events.arg, &w->key, w->id, &where))
		w->old = where.place;
	return err;
}

static void disk_write_one(struct disk *d, struct disk_writing *w)
{
	w->next = NULL;
	w->error = w->e ? disk_write_object(d, w) : disk_write_renewal(d, w);
	if (w->error) {
		disk_write_tell(d, w);
	} else {
		*d->last_buffered = w;
		d->last_buffered = &w->next;
	}
}

static void disk_write_batch(struct disk *d, struct disk_batch *b)
{
	struct disk_writing *w = b->writes;

	disk_write_release(d, b->removals);
	while (w) {
		struct disk_writing *next = w->next;

		disk_write_one(d, w);
		w = next;
		if (d->nrenewed == DISK_RENEWED - 1)
			disk_write_remove_renewed(d);
	}
	disk_write_flush(d);
	disk_write_remove(d, b->removals);
	disk_write_remove_renewed(d);
	disk_write_make_room(d, 0); /* where there is less by now */
}

/* The syncs of a batch that is done. */
static void disk_write_end_syncs(struct disk *d, struct disk_batch *b)
{
	if (b->syncs && disk_log_sync(&d->log))
		disk_write_seal(d);
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

/* With the lock. */
static bool disk_write_ends(const struct disk *d)
{
	return d->stopping || d->retired;
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
	while (!disk_write_ends(d) && !disk_write_is_enough(d) &&
	       !pthread_cond_timedwait(&d->to_write, &d->lock, &until))
		;
}

/* Takes all that is waiting. False: it is time to end. */
static bool disk_write_take_batch(struct disk *d, struct disk_batch *b)
{
	pthread_mutex_lock(&d->lock);
	while (!disk_write_has_work(&d->waiting) && !disk_write_ends(d))
		pthread_cond_wait(&d->to_write, &d->lock);
	disk_write_linger(d);
	*b = d->waiting;
	d->writing_bytes = b->bytes;
	d->log.max_bytes = d->max_bytes;
	disk_batch_init(&d->waiting);
	pthread_mutex_unlock(&d->lock);
	return disk_write_has_work(b);
}

void *disk_writer(void *arg)
{
	struct disk *d = arg;
	struct disk_batch b;

	while (disk_write_take_batch(d, &b)) {
		disk_write_batch(d, &b);
		disk_write_end_syncs(d, &b);
	}
	return NULL;
}
