/*
 * The history of a node's list.
 */
#include "digestd/mesh/list_history.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum {
	FULL_SHARE = 16, /* of a full digest's bytes: then it is made anew */
	FREE_ENTRIES = 1 << 14, /* encoded in .2 ms: made each time */
	NARROW = 16,     /* so many times too wide is a list made anew */
	LEAST_KEYS = 1024, /* for which the width is made */
	LEAST_BYTES = 1 << 14, /* of frames, that are kept in any case */
	LOGGED_SHARE = 4, /* of the entries: the log has as many changes, */
	LEAST_LOGGED = 4096, /* or so many */
	LEAST_AGED = 1024, /* entries of a list that begins to keep ages */
	MOST_AGED = 1 << 19, /* to read a frame by age takes .5 ms more then */
	FEW_AGED = 64,       /* that go from a longer one take less */
};

const char *const digest_form_names[] = { "auto", "list", "array", NULL };

struct list_history {
	uint64_t instance;
	struct list_shape shape;
	struct scd_list *wide; /* of CATALOG_NOTED_WIDTH; the catalog's keys */
	struct scd_list *list; /* as it is published; null: to be made anew */
	struct blob *full;     /* of full_generation; null: none */
	struct blob *ages;     /* the same */
	uint64_t full_generation;
	uint64_t generation; /* of list */
	size_t since_full;   /* bytes of frames */
	size_t bytes;        /* of all frames */
	size_t nsteps;
	struct list_step steps[LIST_HISTORY_STEPS]; /* oldest first */
	bool lost;
	bool logs; /* somebody asks for sectors */
	struct change_log log; /* in full width; since list has its width */
};

/* Publications */

void list_publication_free(struct list_publication *p)
{
	if (!p)
		return;
	for (size_t i = 0; i < p->nsteps; i++) {
		blob_unref(p->steps[i].frame);
		blob_unref(p->steps[i].aged);
	}
	blob_unref(p->full);
	blob_unref(p->ages);
	free(p);
}

size_t list_publication_find(const struct list_publication *p, uint64_t from)
{
	size_t low = 0, high = p->nsteps;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (p->steps[middle].from < from)
			low = middle + 1;
		else
			high = middle;
	}
	return low < p->nsteps && p->steps[low].from == from ? low : p->nsteps;
}

size_t list_publication_bytes(const struct list_publication *p, size_t step)
{
	size_t bytes = 0;

	for (size_t i = step; i < p->nsteps; i++)
		bytes += p->steps[i].frame->len;
	return bytes;
}

/* What a reader takes of a step. */
static struct blob *list_publication_form(const struct list_publication *p,
					  size_t step, bool aged)
{
	const struct list_step *s = &p->steps[step];

	return aged && s->aged ? s->aged : s->frame;
}

struct blob *list_publication_frame(const struct list_publication *p,
				    size_t step, bool aged)
{
	assert(step < p->nsteps);
	return blob_ref(list_publication_form(p, step, aged));
}

/* Copies a blob behind others. */
static void list_publication_append(uint8_t *bytes, size_t *at,
				    const struct blob *blob)
{
	memcpy(bytes + *at, blob->bytes, blob->len);
	*at += blob->len;
}

/* The frames from a step on, behind the ages if there are any. */
static struct blob *list_publication_join(const struct list_publication *p,
					  size_t step, bool aged,
					  const struct blob *ages)
{
	size_t len = ages ? ages->len : 0, at = 0;
	uint8_t *bytes;

	for (size_t i = step; i < p->nsteps; i++)
		len += list_publication_form(p, i, aged)->len;
	bytes = malloc(len);
	if (!bytes)
		return NULL;
	if (ages)
		list_publication_append(bytes, &at, ages);
	for (size_t i = step; i < p->nsteps; i++)
		list_publication_append(bytes, &at,
					list_publication_form(p, i, aged));
	return blob_take(bytes, len);
}

struct blob *list_publication_frames(const struct list_publication *p,
				     size_t step)
{
	assert(step < p->nsteps);
	if (step == p->nsteps - 1)
		return blob_ref(p->steps[step].frame);
	return list_publication_join(p, step, false, NULL);
}

struct blob *list_publication_aged_frames(const struct list_publication *p,
					  size_t step, bool ages)
{
	assert(ages ? p->ages != NULL : step < p->nsteps);
	if (ages && step == p->nsteps)
		return blob_ref(p->ages);
	if (!ages && step == p->nsteps - 1)
		return list_publication_frame(p, step, true);
	return list_publication_join(p, step, true, ages ? p->ages : NULL);
}

/* Life */

int list_history_new(struct list_history **out, uint64_t instance,
		     const struct list_shape *shape)
{
	struct list_history *h = calloc(1, sizeof(*h));
	int error = SCD_ENOMEM;

	assert(instance && shape->fp > 0 && shape->fp < 1);
	if (h)
		error = scd_list_new(&h->wide, CATALOG_NOTED_WIDTH, instance);
	if (error) {
		free(h);
		return error;
	}
	h->instance = instance;
	h->shape = *shape;
	*out = h;
	return SCD_OK;
}

static void list_history_drop_steps(struct list_history *h, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		h->bytes -= h->steps[i].frame->len;
		blob_unref(h->steps[i].frame);
		blob_unref(h->steps[i].aged);
	}
	h->nsteps -= n;
	memmove(h->steps, h->steps + n, h->nsteps * sizeof(h->steps[0]));
}

/* Drops the list as it is published: no step leads to the next one. */
static void list_history_drop_list(struct list_history *h)
{
	list_history_drop_steps(h, h->nsteps);
	scd_list_free(&h->list);
	blob_unref(h->full);
	blob_unref(h->ages);
	h->full = h->ages = NULL;
}

void list_history_free(struct list_history **h)
{
	if (!*h)
		return;
	list_history_drop_list(*h);
	change_log_free(&(*h)->log);
	scd_list_free(&(*h)->wide);
	free(*h);
	*h = NULL;
}

bool list_history_is_lost(const struct list_history *h)
{
	return h->lost;
}

size_t list_history_memory(const struct list_history *h)
{
	return sizeof(*h) + scd_list_memory(h->wide) +
	       (h->list ? scd_list_memory(h->list) : 0) + h->bytes +
	       (h->full ? h->full->len : 0) + (h->ages ? h->ages->len : 0) +
	       h->log.nchanges * sizeof(uint64_t);
}

/* Width */

static uint64_t list_history_entries_of(const struct scd_list *list)
{
	struct scd_digest_info info;

	scd_list_info(list, &info);
	return info.nones;
}

/* The width for n objects, with room to grow. */
static unsigned list_history_width_for(const struct list_history *h, uint64_t n)
{
	uint64_t room = 2 * n > LEAST_KEYS ? 2 * n : LEAST_KEYS;
	unsigned width;

	if (room < h->shape.expected)
		room = h->shape.expected;
	width = scd_list_width(room, h->shape.fp);
	return width ? width : SCD_LIST_MAX_WIDTH;
}

/* Whether the list's width will do for n objects. */
static bool list_history_fits(const struct list_history *h, uint64_t n)
{
	const unsigned width = scd_list_width_of(h->list);
	const unsigned least = scd_list_width(n ? n : 1, h->shape.fp);

	return (least && least <= width &&
		width <= list_history_width_for(h, NARROW * n)) ||
	       width == SCD_LIST_MAX_WIDTH;
}

/* Cuts noted fingerprints, which stay in their order. */
static void list_history_cut(uint64_t *entries, size_t n, unsigned width)
{
	for (size_t i = 0; i < n; i++)
		entries[i] >>= CATALOG_NOTED_WIDTH - width;
}

/* Makes the list that is published anew, of the one in full width. */
static int list_history_make_list(struct list_history *h, uint64_t generation)
{
	const uint64_t n = list_history_entries_of(h->wide);
	const unsigned width = list_history_width_for(h, n);
	struct scd_list_change all = { .nadded = (size_t)n };
	struct scd_list *list = NULL;
	int error;

	list_history_drop_list(h);
	all.added = malloc((size_t)(n + 1) * sizeof(*all.added));
	if (!all.added)
		return SCD_ENOMEM;
	scd_list_entries(h->wide, 0, (size_t)n, all.added);
	list_history_cut(all.added, (size_t)n, width);
	error = scd_list_new(&list, width, h->instance);
	if (!error)
		error = scd_list_change(list, &all, generation);
	scd_list_change_free(&all);
	if (error) {
		scd_list_free(&list);
		return error;
	}
	h->list = list;
	return SCD_OK;
}

/* Publishing */

/* Drops the oldest steps, where there are too many. None that leads from the
 * full digest. */
static void list_history_trim(struct list_history *h)
{
	const size_t most = h->full->len > LEAST_BYTES ? h->full->len
						       : LEAST_BYTES;
	size_t n = 0, left = h->bytes;

	while (n < h->nsteps && h->steps[n].from < h->full_generation &&
	       (left > most || h->nsteps - n >= LIST_HISTORY_STEPS)) {
		left -= h->steps[n].frame->len;
		n++;
	}
	if (n)
		list_history_drop_steps(h, n);
}

/* The ages that go with a full digest. Without memory there are none, and all
 * get frames by rank. */
static struct blob *list_history_ages(const struct list_history *h)
{
	uint8_t *bytes;
	size_t len;

	if (list_history_entries_of(h->list) < LEAST_AGED ||
	    scd_list_keep_ages(h->list) ||
	    scd_list_ages_encode(h->list, &bytes, &len))
		return NULL;
	return blob_take(bytes, len);
}

static int list_history_make_full(struct list_history *h)
{
	struct blob *full;
	uint8_t *bytes;
	size_t len;
	int error = scd_list_encode(h->list, &bytes, &len);

	if (error)
		return error;
	full = blob_take(bytes, len);
	if (!full)
		return SCD_ENOMEM;
	blob_unref(h->full);
	blob_unref(h->ages);
	h->full = full;
	h->ages = list_history_ages(h);
	h->full_generation = h->generation;
	h->since_full = 0;
	return SCD_OK;
}

static bool list_history_wants_full(const struct list_history *h)
{
	const size_t room = LIST_HISTORY_STEPS / 2;

	return !h->full ||
	       list_history_entries_of(h->list) <= FREE_ENTRIES ||
	       h->since_full > h->full->len / FULL_SHARE ||
	       h->generation - h->full_generation > room;
}

/* Whether what a frame by age saves is worth what it takes to read: .8 to 1 ns
 * for each entry of the list, or 6 us for each that goes. */
static bool list_history_age_pays(const struct list_history *h,
				  const struct scd_list_change *change)
{
	return change->nremoved && scd_list_has_ages(h->list) &&
	       (list_history_entries_of(h->list) <= MOST_AGED ||
		change->nremoved <= FEW_AGED);
}

/* The frame by age; null: it does not pay, or is not smaller than the other. */
static struct blob *list_history_aged(const struct list_history *h,
				      const struct scd_list_change *change,
				      uint64_t generation,
				      const struct blob *frame)
{
	uint8_t *bytes;
	size_t len;

	if (!list_history_age_pays(h, change) ||
	    scd_list_aged_frame_encode(h->list, change, generation, &bytes,
				       &len))
		return NULL;
	if (len < frame->len)
		return blob_take(bytes, len);
	free(bytes);
	return NULL;
}

/* Goes one step, with a change that is cut to the list's width. */
static int list_history_step(struct list_history *h,
			     const struct scd_list_change *change,
			     uint64_t generation)
{
	struct blob *frame, *aged;
	uint8_t *bytes;
	size_t len;
	int error = scd_list_frame_encode(h->list, change, generation, &bytes,
					  &len);

	if (error)
		return error;
	frame = blob_take(bytes, len);
	if (!frame)
		return SCD_ENOMEM;
	aged = list_history_aged(h, change, generation, frame);
	error = scd_list_change(h->list, change, generation);
	if (error) {
		blob_unref(frame);
		blob_unref(aged);
		return error;
	}
	if (h->nsteps == LIST_HISTORY_STEPS)
		list_history_drop_steps(h, 1);
	h->steps[h->nsteps++] =
		(struct list_step){ h->generation, frame, aged,
				    change->nremoved };
	h->bytes += len;
	h->since_full += len;
	return SCD_OK;
}

/* Takes the changes, in full width, to the list as it is published. */
static int list_history_follow(struct list_history *h,
			       struct scd_list_change *change,
			       uint64_t generation)
{
	const unsigned width = h->list ? scd_list_width_of(h->list) : 0;
	int error = SCD_ENOMEM;

	if (width &&
	    list_history_fits(h, list_history_entries_of(h->wide))) {
		list_history_cut(change->removed, change->nremoved, width);
		list_history_cut(change->added, change->nadded, width);
		error = scd_list_change_sort(change); /* what cancels now */
		if (!error)
			error = list_history_step(h, change, generation);
	}
	/* where a step fails, a list made anew has all the same */
	if (error)
		error = list_history_make_list(h, generation);
	return error;
}

/* Notes what leads from the generation before. Without memory sectors are sent
 * whole. */
static void list_history_log(struct list_history *h,
			     const struct scd_list_change *change)
{
	const size_t share =
		(size_t)list_history_entries_of(h->wide) / LOGGED_SHARE;

	if (!h->logs || !h->generation ||
	    change_log_add(&h->log, change, h->generation))
		return;
	change_log_trim(&h->log, share > LEAST_LOGGED ? share : LEAST_LOGGED);
}

/* The same as list_history_follow(), and notes it for sectors, whose lists have
 * another width where the list has. */
static int list_history_follow_and_log(struct list_history *h,
				       struct scd_list_change *change,
				       uint64_t generation)
{
	const unsigned width = h->list ? scd_list_width_of(h->list) : 0;
	int error;

	list_history_log(h, change);
	error = list_history_follow(h, change, generation);
	if (error || scd_list_width_of(h->list) != width)
		change_log_free(&h->log);
	return error;
}

static struct list_publication *
list_history_publication(const struct list_history *h)
{
	struct list_publication *p =
		malloc(sizeof(*p) + h->nsteps * sizeof(p->steps[0]));

	if (!p)
		return NULL;
	*p = (struct list_publication){
		.generation = h->generation,
		.nkeys = list_history_entries_of(h->list),
		.width = scd_list_width_of(h->list),
		.full = blob_ref(h->full),
		.full_generation = h->full_generation,
		.ages = h->ages ? blob_ref(h->ages) : NULL,
		.nsteps = h->nsteps,
	};
	for (size_t i = 0; i < h->nsteps; i++) {
		p->steps[i] = h->steps[i];
		blob_ref(p->steps[i].frame);
		if (p->steps[i].aged)
			blob_ref(p->steps[i].aged);
	}
	return p;
}

int list_history_publish(struct list_history *h,
			 struct catalog_snapshot *snapshot,
			 struct list_publication **out)
{
	struct scd_list_change change = snapshot->changes;
	int error;

	assert(snapshot->generation > h->generation);
	snapshot->changes = (struct scd_list_change){ 0 };
	h->lost |= snapshot->lost;
	error = h->lost ? SCD_ENOMEM : scd_list_change_sort(&change);
	if (!error)
		error = scd_list_change(h->wide, &change, snapshot->generation);
	h->lost |= error;
	if (!error)
		error = list_history_follow_and_log(h, &change,
						    snapshot->generation);
	scd_list_change_free(&change);
	if (error) {
		list_history_drop_list(h);
		return error;
	}
	h->generation = snapshot->generation;
	error = list_history_wants_full(h) ? list_history_make_full(h) : SCD_OK;
	if (error && !h->full) {
		list_history_drop_list(h);
		return error;
	}
	list_history_trim(h);
	*out = list_history_publication(h);
	return *out ? SCD_OK : SCD_ENOMEM;
}

int list_history_sector(struct list_history *h, const struct sector *s,
			uint64_t from, struct sector_digest *out)
{
	struct sector_source source = { .all = h->wide, .log = &h->log };

	h->logs = true;
	if (h->lost || !h->list)
		return SCD_EINVAL;
	source.width = scd_list_width_of(h->list);
	return sector_digest_make(&source, s, from, out);
}
