/*
 * Cleaning: what is still wanted of a segment is copied, and the segment is
 * removed.
 *
 * The order is what makes it safe. The copies are written and synced first;
 * then the owner hears of their places, and whoever reads finds the old ones or
 * the new; then the old segment goes, for good. Removals are written by the
 * same thread afterwards, so one that comes meanwhile is of the new place; and
 * what was removed while it was copied is taken back by a removal of the copy.
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "digestd/disk/disk_inside.h"
#include "digestd/disk/disk_segments.h"

enum {
	CLEAN_MOVES = 1024, /* that are in the buffer at once */
	CLEAN_WINDOW = 1 << 18,
	CLEAN_REMOVAL_BYTES = 24, /* twice in records, once in the table */
};

/* A record that is copied. */
struct disk_move {
	struct scd_key key;
	uint64_t id;
	struct disk_where from;
	struct disk_place to;
};

/* A segment that is cleaned. */
struct disk_cleaning {
	struct disk *d;
	uint32_t number;
	int fd;
	uint64_t bytes;
	uint8_t *window; /* a part of it, to be freed */
	uint64_t window_at;
	size_t window_len, window_cap;
	size_t nmoves, nremovals;
	struct disk_move moves[CLEAN_MOVES];
	struct disk_place removals[CLEAN_MOVES];
};

/* Reading */

/* Has so many bytes from there in the window. */
static int disk_clean_load_window(struct disk_cleaning *k, uint64_t at,
				  size_t len)
{
	uint64_t left = k->bytes > at ? k->bytes - at : 0;
	size_t want = len > CLEAN_WINDOW ? len : CLEAN_WINDOW;

	if (want > k->window_cap) {
		uint8_t *window = realloc(k->window, want);

		if (!window)
			return -ENOMEM;
		k->window = window;
		k->window_cap = want;
	}
	k->window_at = at;
	k->window_len = left < want ? (size_t)left : want;
	return disk_files_load(k->fd, k->window, k->window_len, at);
}

/* A record; null: it cannot be read. */
static const uint8_t *disk_clean_load(struct disk_cleaning *k, uint64_t at,
				      size_t len)
{
	if (at < k->window_at || at + len > k->window_at + k->window_len) {
		if (disk_clean_load_window(k, at, len)) {
			k->window_len = 0;
			return NULL;
		}
	}
	return at + len > k->window_at + k->window_len ?
		       NULL : k->window + (at - k->window_at);
}

/* It goes with its segment. */
static void disk_clean_lose(struct disk *d, const struct segment_entry *e)
{
	pthread_mutex_lock(&d->lock);
	d->counters.lost++;
	pthread_mutex_unlock(&d->lock);
	d->events.lost(d->events.arg, &e->key, e->id);
}

/* Copying */

/* Where the copies are is told. What was removed meanwhile is not to come
 * back. */
static void disk_clean_tell(struct disk_cleaning *k)
{
	struct disk *d = k->d;

	for (size_t i = 0; i < k->nmoves; i++) {
		const struct disk_move *m = &k->moves[i];

		if (!d->events.moved(d->events.arg, &m->key, m->id,
				     &m->from.place, &m->to)) {
			k->removals[k->nremovals++] = m->to;
			continue;
		}
		disk_log_count(&d->log, m->from.place, m->from.units, 0, false);
		disk_log_count(&d->log, m->to, m->from.units, 0, true);
	}
	k->nmoves = 0;
}

static int disk_clean_flush(struct disk_cleaning *k)
{
	size_t n;
	int err = disk_log_flush(&k->d->log);

	if (err) {
		k->nmoves = 0;
		return err;
	}
	if (k->nmoves)
		err = disk_log_sync(&k->d->log);
	disk_clean_tell(k); /* there they are, in any case */
	n = k->nremovals;
	k->nremovals = 0;
	disk_write_removals(k->d, k->removals, n);
	return err;
}

/* Has room for a record; another segment may be opened for it. */
static int disk_clean_prepare(struct disk_cleaning *k, size_t bytes)
{
	struct disk_log *log = &k->d->log;
	bool full = log->number && !disk_log_fits_segment(log, bytes);
	int err = 0;

	if (full || !disk_log_fits_buffer(log, bytes) ||
	    k->nmoves == CLEAN_MOVES)
		err = disk_clean_flush(k);
	if (!err && full && log->number)
		disk_write_seal(k->d);
	if (!err && !log->number)
		err = disk_log_open_segment(log);
	return err;
}

static int disk_clean_copy(struct disk_cleaning *k, struct segment_entry *e,
			   const struct disk_where *from)
{
	size_t bytes = (size_t)e->units * SEGMENT_UNIT;
	uint64_t at = (uint64_t)e->at * SEGMENT_UNIT;
	struct disk *d = k->d;
	struct disk_move *m;
	const uint8_t *old;
	uint8_t *to;
	int err = disk_clean_prepare(k, bytes);

	if (err)
		return err;
	m = &k->moves[k->nmoves];
	*m = (struct disk_move){ .key = e->key, .id = e->id, .from = *from };
	to = disk_log_reserve(&d->log, bytes, &m->to);
	old = to ? disk_clean_load(k, at, bytes) : NULL;
	if (!to)
		return -ENOMEM;
	if (!old) { /* it goes with the segment */
		disk_clean_lose(d, e);
		return 0;
	}
	memcpy(to, old, bytes);
	err = disk_log_add(&d->log, e, bytes);
	k->nmoves += !err;
	return err;
}

static int disk_clean_entry(void *arg, const struct segment_entry *e)
{
	struct disk_cleaning *k = arg;
	struct segment_entry copy = *e;
	struct disk_where where;

	if (!k->d->events.where(k->d->events.arg, &e->key, e->id, &where) ||
	    where.place.segment != k->number || where.place.at != e->at)
		return 0;
	return disk_clean_copy(k, &copy, &where);
}

/* Writes those that have been collected. They count as wanted where they are
 * now: else the segment would be the emptiest, and they be copied for ever. */
static void disk_clean_write_removals(struct disk_cleaning *k, size_t n)
{
	struct disk_log *log = &k->d->log;
	struct segment_info *info;

	disk_write_removals(k->d, k->removals, n);
	info = segment_space_find(&log->space, log->number);
	if (info)
		info->live += n * CLEAN_REMOVAL_BYTES;
}

/* Removals that were written here, of what is still there. */
static int disk_clean_keep_removals(struct disk_cleaning *k,
				    const struct segment_table *t)
{
	struct disk *d = k->d;
	size_t n = 0;

	for (size_t i = 0; i < t->nremovals; i++) {
		if (t->removals[i].segment != k->number &&
		    segment_space_find(&d->log.space, t->removals[i].segment))
			k->removals[n++] = t->removals[i];
		if (n == CLEAN_MOVES) {
			disk_clean_write_removals(k, n);
			n = 0;
		}
	}
	disk_clean_write_removals(k, n);
	return disk_log_sync(&d->log);
}

/* Copies it, of which this is the table. */
static int disk_clean_segment(struct disk_cleaning *k,
			      const struct segment_table *t)
{
	int err;

	k->fd = disk_segments_open(k->d->files, k->number, false, &k->bytes);
	if (k->fd < 0)
		return k->fd;
	err = segment_table_each(t, disk_clean_entry, k);
	if (!err)
		err = disk_clean_flush(k);
	if (!err)
		err = disk_clean_keep_removals(k, t);
	if (err && k->d->log.number)
		disk_log_take_back(&k->d->log);
	close(k->fd);
	free(k->window);
	return err;
}

/* A table that cannot be read. Returns whether another segment may be cleaned
 * instead. */
static bool disk_clean_pass_over(struct disk *d, uint32_t number, int err)
{
	switch (err) {
	case -ENOMEM: /* it can be read later */
	case -EMFILE:
	case -ENFILE:
		return false;
	case -ENOENT: /* as at a start */
	case -EBADMSG:
		return !disk_log_remove_segment(&d->log, number);
	default:
		segment_space_find(&d->log.space, number)->unreadable = true;
		return true;
	}
}

bool disk_clean(struct disk *d)
{
	const struct segment_info *victim = segment_space_victim(&d->log.space);
	struct disk_cleaning *k = victim ? malloc(sizeof(*k)) : NULL;
	struct segment_table t;
	uint32_t number;
	bool well;
	uint64_t end;
	int err;

	assert(!d->log.len && !d->cleaning);
	if (!k)
		return false;
	d->cleaning = true;
	number = victim->number;
	*k = (struct disk_cleaning){ .d = d, .number = number };
	err = disk_log_read_table(&d->log, number, &t, &end);
	if (err) {
		well = disk_clean_pass_over(d, number, err);
	} else {
		err = disk_clean_segment(k, &t);
		segment_table_free(&t);
		/* a removal that could not be written may have */
		if (!err && segment_space_find(&d->log.space, number))
			err = disk_log_remove_segment(&d->log, number);
		well = !err;
	}
	free(k);
	d->cleaning = false;
	if (err)
		disk_complain_of_segment(d, number, "cleaning", err);
	return well;
}

/* Dropping */

struct disk_dropping {
	struct disk *d;
	uint32_t number;
};

static int disk_clean_drop_entry(void *arg, const struct segment_entry *e)
{
	const struct disk_dropping *drop = arg;
	struct disk *d = drop->d;
	struct disk_where where;

	if (d->events.where(d->events.arg, &e->key, e->id, &where) &&
	    where.place.segment == drop->number)
		disk_clean_lose(d, e);
	return 0;
}

static void disk_drop_file(struct disk *d, uint32_t number, int why)
{
	int err = 0;

	disk_complain_of_segment(d, number, "dropped, as there is no writing "
				 "what is removed from it:", why);
	/* making room may have removed it meanwhile */
	if (segment_space_find(&d->log.space, number))
		err = disk_log_remove_segment(&d->log, number);
	if (err)
		disk_complain_of_segment(d, number, "removing", err);
}

/* Removals that were written here, of what is still there: they are written
 * anew. */
static void disk_drop_keep_removals(struct disk *d, uint32_t number,
				    struct segment_table *t)
{
	size_t n = 0, len;

	for (size_t i = 0; i < t->nremovals; i++) {
		if (t->removals[i].segment != number &&
		    segment_space_find(&d->log.space, t->removals[i].segment))
			t->removals[n++] = t->removals[i];
	}
	for (size_t i = 0; i < n; i += len) {
		len = n - i < CLEAN_MOVES ? n - i : CLEAN_MOVES;
		disk_write_removals(d, t->removals + i, len);
	}
}

/* The objects of an older one go. */
static void disk_drop_objects(struct disk *d, struct segment_info *info)
{
	struct disk_dropping drop = { d, info->number };
	struct segment_table t;
	uint64_t end;

	if (info->dropped ||
	    disk_log_read_table(&d->log, info->number, &t, &end))
		return;
	info->dropped = true;
	segment_table_each(&t, disk_clean_drop_entry, &drop);
	segment_table_free(&t);
}

/* What was removed in a segment that cannot be read is not known, and was in
 * older ones. */
static void disk_drop_older(struct disk *d, uint32_t number, int why)
{
	const struct segment_space *space = &d->log.space;

	for (size_t i = space->n; i-- > 0;) {
		if (space->at[i].number >= number)
			continue;
		disk_drop_objects(d, &space->at[i]);
		disk_drop_file(d, space->at[i].number, why);
	}
}

/* Its table; the open one is closed. Returns 0 or a negative errno. */
static int disk_drop_load(struct disk *d, uint32_t number,
			  struct segment_table *t)
{
	uint64_t end;

	if (number != d->log.number)
		return disk_log_read_table(&d->log, number, t, &end);
	/* there can only be half of what was to be written in its place */
	disk_log_take_back(&d->log);
	(void)disk_log_seal(&d->log, t); /* its file goes in any case */
	return 0;
}

/* Once: the file may stay, on a disk that takes nothing any more. */
static void disk_drop_contents(struct disk *d, uint32_t number)
{
	struct disk_dropping drop = { d, number };
	struct segment_table t;
	int err = disk_drop_load(d, number, &t);

	if (err) {
		disk_drop_older(d, number, err);
		return;
	}
	segment_table_each(&t, disk_clean_drop_entry, &drop);
	disk_drop_keep_removals(d, number, &t);
	segment_table_free(&t);
}

void disk_drop_segment(struct disk *d, uint32_t number, int why)
{
	struct segment_info *info = segment_space_find(&d->log.space, number);

	if (info && !info->dropped) {
		info->dropped = true;
		disk_drop_contents(d, number);
	}
	disk_drop_file(d, number, why);
}
