/*
 * A start: the tables of all segments are read, what was removed is left out of
 * them, and what is left is told to the owner.
 */
#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "digestd/disk/disk_inside.h"
#include "digestd/disk/disk_numbers.h"
#include "digestd/disk/disk_segments.h"
#include "digestd/disk/disk_used.h"

struct disk_loading {
	struct disk *d;
	uint64_t *numbers; /* of segments */
	struct segment_table *tables; /* theirs */
	size_t nsegments;
	size_t current; /* of them */
	size_t nuntrusted; /* of them: what was removed of them may not be
			      known, as a later one could not be read */
	uint64_t *ids; /* that have a file */
	bool *known;   /* they have a record, too */
	size_t nids;
	struct disk_used used;
	uint64_t restored;
	void (*each)(void *arg, struct disk_entry *e,
		     const struct scd_key *key);
	void *arg;
};

/* Segments */

/* Whether a segment cannot be read because of what it is on, and not for want
 * of what there may be at the next start. */
static bool disk_load_is_unreadable(int err)
{
	return err && err != -EBADMSG && err != -ENOMEM && err != -EMFILE &&
	       err != -ENFILE;
}

/* Once more if it fails: it may have been the moment. */
static int disk_load_table(const struct disk_loading *l, size_t i,
			   uint64_t *end)
{
	const struct disk_log *log = &l->d->log;
	uint32_t number = (uint32_t)l->numbers[i];
	int err = disk_log_read_table(log, number, &l->tables[i], end);

	return disk_load_is_unreadable(err)
		       ? disk_log_read_table(log, number, &l->tables[i], end)
		       : err;
}

/* A segment that cannot be read stays out, and what is older may have been
 * removed in it. */
static int disk_load_set_aside(struct disk_loading *l, size_t i, int why)
{
	uint32_t number = (uint32_t)l->numbers[i];

	disk_complain_of_segment(l->d, number, "set aside, as it cannot be "
				 "read:", why);
	l->nuntrusted = i;
	l->d->log.last_number = number;
	return disk_segments_set_aside(l->d->files, number);
}

/* One that is none of this folder goes. */
static int disk_load_segment(struct disk_loading *l, size_t i)
{
	struct disk_log *log = &l->d->log;
	uint32_t number = (uint32_t)l->numbers[i];
	struct segment_table *t = &l->tables[i];
	uint64_t end = 0, bytes = 0;
	int err = disk_load_table(l, i, &end);

	if (disk_load_is_unreadable(err))
		return disk_load_set_aside(l, i, err);
	if (err && err != -EBADMSG)
		return err;
	if (!err && (t->nentries || t->nremovals)) {
		bytes = end ? disk_log_repair(log, number, t, end) :
			      disk_log_file_bytes(log, number);
		err = segment_space_add(&log->space, number);
		if (err)
			return err;
		segment_space_set_bytes(&log->space,
					segment_space_find(&log->space, number),
					bytes ? bytes : end);
		segment_space_find(&log->space, number)->sealed = true;
	} else {
		if (err)
			disk_complain_of_segment(l->d, number, "reading", err);
		disk_segments_remove(log->files, number);
	}
	log->last_number = number;
	return 0;
}

/* Leaves out what a removal is of. Numbers that it knows are not given again,
 * whether or not they have a file. */
static void disk_load_removal(struct disk_loading *l, struct disk_place place)
{
	const uint64_t *at = disk_numbers_find(l->numbers, l->nsegments,
					       place.segment);

	if (place.segment > l->d->log.last_number)
		l->d->log.last_number = place.segment;
	if (at)
		segment_table_drop(&l->tables[at - l->numbers], place.at);
}

/* Removes what may have been purged: rather is much lost than that one object
 * comes back. */
static int disk_load_drop_untrusted(struct disk_loading *l)
{
	uint64_t before = l->d->counters.lost;
	int err = 0;

	for (size_t i = 0; i < l->nuntrusted && !err; i++) {
		l->d->counters.lost += l->tables[i].nentries;
		segment_table_free(&l->tables[i]);
		err = disk_log_remove_segment(&l->d->log,
					      (uint32_t)l->numbers[i]);
	}
	if (l->nuntrusted && !err)
		log_write(LOG_WARNING, "disk", "%" PRIu64 " older objects are "
			  "dropped: which of them had been removed stood in "
			  "the segment that is set aside",
			  l->d->counters.lost - before);
	return err;
}

static int disk_load_segments(struct disk_loading *l)
{
	int err = disk_segments_list(l->d->files, &l->numbers, &l->nsegments);

	if (!err)
		err = disk_log_find_seed(&l->d->log, l->numbers, l->nsegments);
	if (!err) {
		l->tables = calloc(l->nsegments + 1, sizeof(*l->tables));
		err = l->tables ? 0 : -ENOMEM;
	}
	for (size_t i = 0; i < l->nsegments && !err; i++)
		err = disk_load_segment(l, i);
	if (!err)
		err = disk_load_drop_untrusted(l);
	for (size_t i = 0; i < l->nsegments && !err; i++) {
		for (size_t j = 0; j < l->tables[i].nremovals; j++)
			disk_load_removal(l, l->tables[i].removals[j]);
	}
	return err;
}

/* Objects */

/* Whether its body is there, as far as can be seen. *again: that has been asked
 * before. */
static bool disk_load_has_file(struct disk_loading *l, uint64_t id, bool *again)
{
	const uint64_t *at = disk_numbers_find(l->ids, l->nids, id);

	*again = at && l->known[at - l->ids];
	if (at)
		l->known[at - l->ids] = true;
	return at;
}

/* One of that entry, which says what it is for. Null without memory. */
static struct disk_entry *disk_load_make_entry(const struct disk_loading *l,
					       const struct segment_entry *from)
{
	struct fields selecting;
	struct disk_entry *e = NULL;

	if (segment_selecting_read(from->selecting, from->selecting_len,
				   &selecting))
		return NULL;
	e = disk_entry_new(from->id, &selecting);
	fields_free(&selecting);
	if (!e)
		return NULL;
	e->place = (struct disk_place){ (uint32_t)l->numbers[l->current],
				       from->at };
	e->units = from->units;
	e->unvouched = from->unvouched;
	e->blocks = (uint32_t)((from->file_bytes + DISK_FILE_BLOCK - 1) /
			       DISK_FILE_BLOCK);
	return e;
}

static int disk_load_entry(void *arg, const struct segment_entry *from)
{
	struct disk_loading *l = arg;
	struct disk_entry *e = disk_load_make_entry(l, from);
	bool again = false, lost;

	if (!e)
		return -ENOMEM;
	if (from->id > l->d->next_id)
		l->d->next_id = from->id;
	lost = e->blocks && !disk_load_has_file(l, from->id, &again);
	disk_log_count(&l->d->log, e->place, e->units,
		       again ? 0 : disk_entry_file_bytes(e), true);
	if (lost) {
		l->d->counters.lost++;
		disk_remove(l->d, e);
		return 0;
	}
	l->restored++;
	e->used = disk_used_has(&l->used, e->id);
	l->each(l->arg, e, &from->key);
	return 0;
}

static int disk_load_objects(struct disk_loading *l)
{
	int err = 0;

	for (size_t i = 0; i < l->nsegments && !err; i++) {
		l->current = i;
		err = segment_table_each(&l->tables[i], disk_load_entry, l);
		segment_table_free(&l->tables[i]);
	}
	return err;
}

/* Files */

static int disk_load_files(struct disk_loading *l)
{
	int err = disk_files_list(l->d->files, &l->ids, &l->nids);

	if (err)
		return err;
	l->known = calloc(l->nids + 1, sizeof(*l->known));
	return l->known ? 0 : -ENOMEM;
}

static void disk_load_remove_orphans(const struct disk_loading *l)
{
	for (size_t i = 0; i < l->nids; i++) {
		if (!l->known[i])
			disk_files_remove(l->d->files, l->ids[i]);
		if (l->ids[i] > l->d->next_id && !(l->ids[i] >> DISK_ID_BITS))
			l->d->next_id = l->ids[i];
	}
}

static void disk_load_free(struct disk_loading *l)
{
	for (size_t i = 0; l->tables && i < l->nsegments; i++)
		segment_table_free(&l->tables[i]);
	free(l->tables);
	free(l->numbers);
	free(l->ids);
	free(l->known);
	disk_used_free(&l->used);
}

int disk_discard(const char *path)
{
	struct disk_files *files = NULL;
	uint64_t *numbers = NULL;
	size_t n = 0;
	int err = disk_files_open(path, &files);

	if (!err)
		err = disk_segments_list(files, &numbers, &n);
	/* without its record, a file goes at the next start */
	for (size_t i = 0; i < n; i++) {
		int failed = disk_segments_remove(files, (uint32_t)numbers[i]);

		if (failed)
			err = failed;
	}
	free(numbers);
	disk_files_close(&files);
	return err;
}

int disk_load(struct disk *disk,
	      void (*each)(void *arg, struct disk_entry *e,
			   const struct scd_key *key),
	      void *arg)
{
	struct disk_loading l = { .d = disk, .each = each, .arg = arg };
	int err;

	assert(each);
	assert(!disk->has_writer);
	if (disk_segments_remove_former(disk->files))
		log_write(LOG_WARNING, "disk", "%s: what an earlier version "
			  "has stored there is discarded", disk->path);
	err = disk_load_files(&l);
	/* without it nothing was in use */
	(void)disk_used_read(&l.used, disk_files_folder(disk->files));
	if (!err)
		err = disk_load_segments(&l);
	if (!err)
		err = disk_load_objects(&l);
	if (!err) {
		disk_load_remove_orphans(&l);
		log_write(LOG_INFO, "disk", "%" PRIu64 " object%s restored, "
			  "%" PRIu64 " lost", l.restored,
			  l.restored == 1 ? "" : "s", disk->counters.lost);
		err = disk_start_threads(disk);
	}
	disk_load_free(&l);
	return err;
}
