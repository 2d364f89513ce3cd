/*
 * The lists of peers in a file that modules map.
 *
 * Entries are the decoder's: it alone changes them, and makes another file of
 * them. What is in the head, peers and beats, is the loop's. The lock is for
 * the change from one file to the next, and for the head; a file is filled
 * without it.
 */
#include "digestd/peers/table_share.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "codec/shared_table_write.h"
#include "codec/table.h"
#include "digestd/mesh/peerset.h"
#include "digestd/os/log.h"
#include "digestd/os/loop.h"
#include "digestd/os/shared_file.h"

enum {
	BEAT_MS = 500,
	PART = 1024,       /* entries that are read at a time */
	SPARSE = 16,       /* so many times as many lines as are needed */
	MOST_DOUBLED = 4,  /* times: as large as needed, and nothing helps */
	RETRY_MS = 10000,  /* to the next try after a file that failed */
};

struct table_share {
	struct loop *loop;
	struct table_share_settings settings;
	gid_t group;
	struct loop_timer timer;
	pthread_mutex_t lock;
	struct shared_file file; /* with the lock, or by the decoder */
	bool retired;            /* with the lock */
	/* the decoder's */
	const struct scd_list *lists[SCD_TABLE_MAX_PEERS];
	bool refuses[SCD_TABLE_MAX_PEERS]; /* a list that is not in the file */
	unsigned widths[SCD_LIST_MAX_WIDTH + 1];
	uint64_t nlines;
	uint64_t nentries;
	atomic_int_fast64_t failed_ms; /* when a file could not be made, last */
	atomic_bool broken; /* the file is not what lists are */
	/* of a number, for the loop */
	atomic_bool hidden[SCD_TABLE_MAX_PEERS];
	atomic_uint_fast64_t entries, bytes, peers;
#define X(name, help) atomic_uint_fast64_t name;
	TABLE_SHARE_COUNTERS(X)
#undef X
};

/* As readers tell the time. */
static int64_t table_share_now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * INT64_C(1000) + now.tv_nsec / 1000000;
}

static uint64_t table_share_size_of(const struct scd_list *list)
{
	struct scd_digest_info info;

	scd_list_info(list, &info);
	return info.nones;
}

/* Files */

static int table_share_make(const struct table_share *t, uint64_t nlines,
			    struct shared_file *out)
{
	struct scd__shared_shape shape = { .nlines = nlines };
	int err;

	memcpy(shape.secret, t->settings.secret, sizeof(shape.secret));
	if (getrandom(&shape.salt, sizeof(shape.salt), 0) !=
	    sizeof(shape.salt))
		return -EIO;
	err = shared_file_new(t->settings.path, t->group,
			      scd__shared_table_bytes(nlines), out);
	if (!err)
		scd__shared_table_format(out->memory, &shape);
	return err;
}

/* Puts a file in the place of the one before, which is retired after the path
 * names the new one. */
static int table_share_replace(struct table_share *t, struct shared_file *file,
			       uint64_t nlines)
{
	int err = 0;

	pthread_mutex_lock(&t->lock);
	if (t->file.memory)
		scd__shared_table_copy_peers(file->memory, t->file.memory);
	scd__shared_table_publish(file->memory);
	if (t->retired)
		scd__shared_table_retire(file->memory);
	else
		err = shared_file_publish(file);
	if (!err) {
		struct shared_file old = t->file;

		t->file = *file;
		*file = old;
		t->nlines = nlines;
		if (old.memory)
			scd__shared_table_retire(old.memory);
	}
	pthread_mutex_unlock(&t->lock);
	shared_file_free(file);
	if (!err)
		atomic_fetch_add(&t->files, 1);
	return err;
}

static void table_share_note(struct table_share *t)
{
	atomic_store(&t->entries, t->nentries);
	atomic_store(&t->bytes, scd__shared_table_bytes(t->nlines));
}

/* Entries */

/* What is done to the entries of one peer in a table. */
struct table_share_work {
	struct table_share *share;
	void *memory;
	unsigned peer, width;
};

static int table_share_add(const struct table_share_work *w,
			   const uint64_t *entries, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const int error = scd__shared_table_insert(
			w->memory, w->peer, w->width, entries[i]);

		if (error)
			return error;
		w->share->nentries++;
	}
	return SCD_OK;
}

static void table_share_drop(const struct table_share_work *w,
			     const uint64_t *entries, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (scd__shared_table_remove(w->memory, w->peer, w->width,
					     entries[i]))
			w->share->nentries--;
	}
}

static int table_share_add_list(const struct table_share_work *w,
				const struct scd_list *list)
{
	uint64_t entries[PART], first = 0;
	int error = SCD_OK;
	size_t n;

	while (!error &&
	       (n = scd_list_entries(list, first, PART, entries)) > 0) {
		error = table_share_add(w, entries, n);
		first += n;
	}
	return error;
}

static void table_share_drop_list(const struct table_share_work *w,
				  const struct scd_list *list)
{
	uint64_t entries[PART], first = 0;
	size_t n;

	while ((n = scd_list_entries(list, first, PART, entries)) > 0) {
		table_share_drop(w, entries, n);
		first += n;
	}
}

static uint64_t table_share_widths(const struct table_share *t)
{
	uint64_t bits = 0;

	for (unsigned w = 0; w <= SCD_LIST_MAX_WIDTH; w++)
		bits |= (uint64_t)(t->widths[w] > 0) << w;
	return bits;
}

/* The peer's list does not belong into a table: nobody is told to ask it. */
static void table_share_refuse(struct table_share *t, unsigned peer)
{
	if (!t->refuses[peer])
		atomic_fetch_add(&t->refused, 1);
	t->refuses[peer] = true;
	pthread_mutex_lock(&t->lock);
	atomic_store(&t->hidden[peer], true);
	if (t->file.memory)
		scd__shared_table_set_peer(t->file.memory, peer, NULL);
	pthread_mutex_unlock(&t->lock);
}

static void table_share_accept(struct table_share *t, unsigned peer)
{
	t->refuses[peer] = false;
	atomic_store(&t->hidden[peer], false);
}

/* Fills a new file with all lists. SCD_ENOMEM: it is too small. */
static int table_share_fill(struct table_share *t, void *memory)
{
	t->nentries = 0;
	scd__shared_table_set_widths(memory, table_share_widths(t));
	for (unsigned i = 0; i < SCD_TABLE_MAX_PEERS; i++) {
		const struct scd_list *list = t->lists[i];
		struct table_share_work work = { t, memory, i, 0 };
		int error;

		if (!list || t->refuses[i])
			continue;
		work.width = scd_list_width_of(list);
		error = table_share_add_list(&work, list);
		if (error == SCD_ENOMEM)
			return error;
		if (error)
			table_share_refuse(t, i);
	}
	return SCD_OK;
}

static uint64_t table_share_count(const struct table_share *t)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < SCD_TABLE_MAX_PEERS; i++) {
		if (t->lists[i] && !t->refuses[i])
			sum += table_share_size_of(t->lists[i]);
	}
	return sum;
}

/* A file that does not say what lists are is worse than none: it is not said
 * any more that this process lives, until another could be made. */
static void table_share_fail(struct table_share *t, int err)
{
	t->failed_ms = table_share_now_ms();
	atomic_store(&t->broken, true);
	atomic_fetch_add(&t->failed, 1);
	log_write(LOG_ERROR, "share", "%s: %s; modules send their misses to "
		  "origins meanwhile", t->settings.path, strerror(-err));
}

/* Makes another file, of all lists. */
static void table_share_remake(struct table_share *t)
{
	uint64_t nlines = scd__shared_table_lines_for(table_share_count(t));
	struct shared_file file = { 0 };
	int err = 0;

	for (unsigned i = 0; i < MOST_DOUBLED; i++, nlines *= 2) {
		err = table_share_make(t, nlines, &file);
		if (err || !table_share_fill(t, file.memory))
			break;
		shared_file_free(&file);
		err = -ENOMEM;
	}
	if (!err)
		err = table_share_replace(t, &file, nlines);
	if (err) {
		table_share_fail(t, err);
		return;
	}
	atomic_store(&t->broken, false);
	table_share_note(t);
}

/* The same; but after a failure only now and then. */
static void table_share_rewrite(struct table_share *t)
{
	if (!atomic_load(&t->broken) || !t->failed_ms ||
	    table_share_now_ms() - t->failed_ms >= RETRY_MS)
		table_share_remake(t);
}

/* Whether that is due: before `more` entries come, or as the file is not what
 * lists were before this change. */
static bool table_share_is_due(const struct table_share *t, uint64_t more)
{
	const uint64_t nentries = t->nentries + more;

	return atomic_load(&t->broken) ||
	       scd__shared_table_is_full(t->nlines, nentries) ||
	       t->nlines > SPARSE * scd__shared_table_lines_for(nentries);
}

static struct table_share_work table_share_work_of(struct table_share *t,
						   unsigned peer,
						   const struct scd_list *list)
{
	return (struct table_share_work){ t, t->file.memory, peer,
					  scd_list_width_of(list) };
}

/* What came of adding a peer's entries. */
static void table_share_end_adding(struct table_share *t, unsigned peer,
				   int error)
{
	if (error == SCD_ENOMEM)
		table_share_remake(t);
	else if (error)
		table_share_refuse(t, peer);
	table_share_note(t);
}

/* What a table watches, in the decoder's thread: it has done it already */

/* A peer's list in the place of another one: what both have stays. */
static void table_share_exchange(struct table_share *t, unsigned peer,
				 const struct scd_list *old,
				 const struct scd_list *list)
{
	struct table_share_work work = table_share_work_of(t, peer, list);
	int error;

	scd__shared_table_set_widths(work.memory, table_share_widths(t));
	error = table_share_add_list(&work, list);
	if (old && !error) {
		work = table_share_work_of(t, peer, old);
		table_share_drop_list(&work, old);
	}
	table_share_end_adding(t, peer, error);
}

static void table_share_on_set(void *arg, unsigned peer,
			       const struct scd_list *old,
			       const struct scd_list *list)
{
	struct table_share *t = arg;
	const bool whole = t->refuses[peer] ||
			   table_share_is_due(t, table_share_size_of(list));

	t->lists[peer] = list;
	t->widths[scd_list_width_of(list)]++;
	table_share_accept(t, peer);
	if (!whole)
		table_share_exchange(t, peer, old, list);
	if (old)
		t->widths[scd_list_width_of(old)]--;
	if (whole)
		table_share_rewrite(t);
	else
		scd__shared_table_set_widths(t->file.memory,
					     table_share_widths(t));
}

static void table_share_on_change(void *arg, unsigned peer,
				  const struct scd_list *list,
				  const struct scd_list_change *change)
{
	struct table_share *t = arg;
	const struct table_share_work work = table_share_work_of(t, peer, list);
	int error;

	if (t->refuses[peer])
		return;
	if (table_share_is_due(t, change->nadded)) {
		table_share_rewrite(t);
		return;
	}
	error = table_share_add(&work, change->added, change->nadded);
	if (!error)
		table_share_drop(&work, change->removed, change->nremoved);
	table_share_end_adding(t, peer, error);
}

static void table_share_on_removal(void *arg, unsigned peer,
				   const struct scd_list *list)
{
	struct table_share *t = arg;
	const struct table_share_work work = table_share_work_of(t, peer, list);

	t->lists[peer] = NULL;
	t->widths[work.width]--;
	if (t->refuses[peer] || table_share_is_due(t, 0)) {
		table_share_accept(t, peer);
		table_share_rewrite(t);
		return;
	}
	table_share_drop_list(&work, list);
	scd__shared_table_set_widths(work.memory, table_share_widths(t));
	table_share_note(t);
}

struct peer_table_watcher table_share_watcher(struct table_share *t)
{
	return (struct peer_table_watcher){
		.arg = t,
		.set = table_share_on_set,
		.changed = table_share_on_change,
		.removed = table_share_on_removal,
	};
}

/* The head, in the loop's thread */

static void table_share_beat(void *arg)
{
	struct table_share *t = arg;

	pthread_mutex_lock(&t->lock);
	if (!atomic_load(&t->broken) && !t->retired)
		scd__shared_table_beat(t->file.memory,
				       (uint64_t)table_share_now_ms());
	pthread_mutex_unlock(&t->lock);
	loop_timer_set(t->loop, &t->timer, loop_now_ms(t->loop) + BEAT_MS,
		       table_share_beat, t);
}

/* Whether a module may be told to ask a peer. */
static bool table_share_shows(struct table_share *t,
			      const struct peerset_peer *p)
{
	return p->usable && !p->suspect && !peerset_is_elsewhere(p) &&
	       p->digest &&
	       peer_digest_is_list(p->digest) &&
	       !atomic_load(&t->hidden[p->digest->slot.number]) &&
	       strlen(p->name) < SCD_SHARED_TABLE_NAME_BYTES;
}

void table_share_set_view(struct table_share *t, const struct peerset *view)
{
	bool shown[SCD_TABLE_MAX_PEERS] = { false };
	uint64_t n = 0;

	pthread_mutex_lock(&t->lock);
	for (size_t i = 0; i < peerset_count(view); i++) {
		const struct peerset_peer *p = peerset_at(view, i);
		const struct scd__shared_peer about = {
			p->name, (uint32_t)(p->rtt_ms * 1000)
		};

		if (!table_share_shows(t, p))
			continue;
		shown[p->digest->slot.number] = true;
		scd__shared_table_set_peer(t->file.memory,
					   p->digest->slot.number, &about);
		n++;
	}
	for (unsigned i = 0; i < SCD_TABLE_MAX_PEERS; i++) {
		if (!shown[i])
			scd__shared_table_set_peer(t->file.memory, i, NULL);
	}
	pthread_mutex_unlock(&t->lock);
	atomic_store(&t->peers, n);
}

/* Life */

static int table_share_open(struct table_share *t)
{
	struct shared_file file;
	int err = 0;

	t->group = SHARED_FILE_NO_GROUP;
	if (t->settings.group)
		err = shared_file_group(t->settings.group, &t->group);
	if (err) {
		log_write(LOG_ERROR, "share", "share_table_group: there is no "
			  "group %s", t->settings.group);
		return err;
	}
	err = table_share_make(t, SCD__SHARED_TABLE_MIN_LINES, &file);
	if (!err)
		scd__shared_table_beat(file.memory,
				       (uint64_t)table_share_now_ms());
	if (!err)
		err = table_share_replace(t, &file,
					  SCD__SHARED_TABLE_MIN_LINES);
	if (err)
		log_write(LOG_ERROR, "share", "share_table: %s: %s",
			  t->settings.path, strerror(-err));
	return err;
}

int table_share_new(struct loop *loop,
		    const struct table_share_settings *settings,
		    struct table_share **out)
{
	struct table_share *t = calloc(1, sizeof(*t));
	int err;

	if (!t)
		return -ENOMEM;
	t->loop = loop;
	t->settings = *settings;
	pthread_mutex_init(&t->lock, NULL);
	err = table_share_open(t);
	if (err) {
		table_share_free(&t);
		return err;
	}
	table_share_note(t);
	table_share_beat(t);
	*out = t;
	return 0;
}

void table_share_free(struct table_share **out)
{
	struct table_share *t = *out;

	if (!t)
		return;
	loop_timer_clear(t->loop, &t->timer);
	if (t->file.memory)
		scd__shared_table_retire(t->file.memory);
	shared_file_free(&t->file);
	pthread_mutex_destroy(&t->lock);
	free(t);
	*out = NULL;
}

void table_share_retire(struct table_share *t)
{
	pthread_mutex_lock(&t->lock);
	t->retired = true;
	scd__shared_table_retire(t->file.memory);
	pthread_mutex_unlock(&t->lock);
}

/* What the other process has put at the path is not in the way of another
 * file, which the next change brings. */
void table_share_resume(struct table_share *t)
{
	pthread_mutex_lock(&t->lock);
	t->retired = false;
	t->failed_ms = 0;
	atomic_store(&t->broken, true);
	pthread_mutex_unlock(&t->lock);
}

void table_share_stats(const struct table_share *t,
		       struct table_share_stats *out)
{
	out->entries = atomic_load(&t->entries);
	out->bytes = atomic_load(&t->bytes);
	out->peers = atomic_load(&t->peers);
#define X(name, help) out->name = atomic_load(&t->name);
	TABLE_SHARE_COUNTERS(X)
#undef X
}
