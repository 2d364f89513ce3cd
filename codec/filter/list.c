/*
 * Lists of fingerprints in memory: changes in place.
 */
#include "codec/list.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "codec/coder/number_sort.h"
#include "codec/filter/list_ages.h"
#include "codec/filter/list_buckets.h"
#include "codec/filter/list_search.h"
#include "codec/filter/list_state.h"

enum {
	BATCH = 16,          /* buckets that are changed together */
	AHEAD = 64,          /* entries that go, or come, fetched before */
	FEW = 3,             /* of a bucket */
	MOST_FETCHED = 2048, /* bytes of a bucket, as most have */

	/* What is copied for a change at most, and at a time. */
	MOST_REWRITTEN = 4096,
	MOST_STEPS = 64,
	CHUNK = 64,
};

unsigned scd_list_width(uint64_t nkeys, double fp)
{
	for (unsigned width = SCD_LIST_MIN_WIDTH; width <= SCD_LIST_MAX_WIDTH;
	     width++) {
		const uint64_t all = UINT64_C(1) << width;

		if (nkeys <= all / SCD_LIST_SPARSITY &&
		    (double)nkeys <= fp * (double)all)
			return width;
	}
	return 0;
}

int scd_list_new(struct scd_list **out, unsigned width, uint64_t instance)
{
	if (width < SCD_LIST_MIN_WIDTH || width > SCD_LIST_MAX_WIDTH ||
	    instance == 0)
		return SCD_EINVAL;
	return scd__list_new_for(out, width, instance, 0);
}

void scd_list_info(const struct scd_list *list, struct scd_digest_info *out)
{
	*out = (struct scd_digest_info){
		.kind = SCD_LIST,
		.coding = SCD_CODING_LIST,
		.hashing = SCD_HASHING_PREFIX,
		.nhash = 1,
		.nbits = UINT64_C(1) << list->width,
		.nkeys = list->n,
		.nones = list->n,
		.instance = list->instance,
		.generation = list->generation,
		.checksum = list->sum,
		.ncoded = list->n,
	};
}

unsigned scd_list_width_of(const struct scd_list *list)
{
	return list->width;
}

bool scd_list_has(const struct scd_list *list, const struct scd_key *key)
{
	const uint64_t entry = scd_fingerprint(key, list->width);
	const struct scd__list_bucket *b =
		&list->buckets[scd__list_bucket_of(list, entry)];

	return scd__list_find(list, b, 0, entry, 0) < b->n;
}

/* Changes. */

void scd_list_change_free(struct scd_list_change *change)
{
	free(change->removed);
	free(change->added);
	*change = (struct scd_list_change){0};
}

/* Drop what is on both sides, which are sorted. */
static void list_cancel(struct scd_list_change *c)
{
	size_t i = 0, j = 0, removed = 0, added = 0;

	while (i < c->nremoved || j < c->nadded) {
		if (j == c->nadded ||
		    (i < c->nremoved && c->removed[i] < c->added[j])) {
			c->removed[removed++] = c->removed[i++];
		} else if (i == c->nremoved || c->added[j] < c->removed[i]) {
			c->added[added++] = c->added[j++];
		} else {
			i++;
			j++;
		}
	}
	c->nremoved = removed;
	c->nadded = added;
}

int scd_list_change_sort(struct scd_list_change *change)
{
	const uint64_t most = (UINT64_C(1) << SCD_LIST_MAX_WIDTH) - 1;
	int error = scd__number_sort(change->removed, change->nremoved, most);

	if (!error)
		error = scd__number_sort(change->added, change->nadded, most);
	if (!error)
		list_cancel(change);
	return error;
}

/* Is it in ascending order, and nothing in it above max? */
static bool list_is_sorted(const uint64_t *numbers, size_t n, uint64_t max)
{
	for (size_t i = 1; i < n; i++) {
		if (numbers[i - 1] > numbers[i])
			return false;
	}
	return n == 0 || numbers[n - 1] <= max;
}

/* What a change does to one bucket: so many from some place on. */
struct list_part {
	size_t bucket;
	size_t removed, nremoved;
	size_t added, nadded;
};

/* The part that follows; all zero before the first. False: there is none. */
static bool list_next_part(const struct scd_list *list,
			   const struct scd_list_change *c,
			   struct list_part *part)
{
	const size_t i = part->removed + part->nremoved;
	const size_t j = part->added + part->nadded;
	uint64_t entry;

	if (i == c->nremoved && j == c->nadded)
		return false;
	if (j == c->nadded || (i < c->nremoved && c->removed[i] < c->added[j]))
		entry = c->removed[i];
	else
		entry = c->added[j];
	part->bucket = scd__list_bucket_of(list, entry);
	part->removed = i;
	part->added = j;
	part->nremoved = scd__list_count_in(list, c->removed, i, c->nremoved,
					    part->bucket);
	part->nadded =
		scd__list_count_in(list, c->added, j, c->nadded, part->bucket);
	return true;
}

/*
 * Parts that follow each other. What is done to them is done for all of them
 * before the next thing is: the processor foresees what such loops do, and has
 * several of their steps under way while it waits for memory.
 */
struct list_batch {
	struct list_part parts[BATCH];
	size_t n;
};

/* How many entries of a change have had their words fetched. */
struct list_fetched {
	size_t removed, added;
};

/* Fetch all words of a part's bucket: a few entries that come or go move half
 * of them, and fetch little. */
static inline __attribute__((always_inline)) void
list_fetch_all(const struct scd_list *list, const struct list_part *part)
{
	const struct scd__list_bucket *b = &list->buckets[part->bucket];
	const size_t bytes = b->n * scd__list_word_bytes(list);

	for (size_t i = 0; i < bytes && i < MOST_FETCHED; i += SCD__LIST_LINE)
		__builtin_prefetch((char *)scd__list_words(list, b) + i, 1);
}

/* The batch that follows; all zero before the first. False: there is none. */
static bool list_next_batch(const struct scd_list *list,
			    const struct scd_list_change *c,
			    struct list_batch *batch)
{
	struct list_part part = {0};

	if (batch->n)
		part = batch->parts[batch->n - 1];
	batch->n = 0;
	while (batch->n < BATCH && list_next_part(list, c, &part)) {
		if (part.nremoved + part.nadded <= FEW)
			list_fetch_all(list, &part);
		batch->parts[batch->n++] = part;
	}
	return batch->n;
}

/* Fetch the words around the entries from one on, as many as are ahead of the
 * work, but those that have been. */
static void list_fetch(const struct scd_list *list, const uint64_t *entries,
		       size_t n, size_t from, size_t *fetched)
{
	const size_t end = n - from > AHEAD ? from + AHEAD : n;

	if (*fetched < from)
		*fetched = from;
	for (; *fetched < end; ++*fetched)
		scd__list_fetch(list, entries[*fetched]);
}

/* Fetch what comes behind a part. */
static void list_fetch_behind(const struct scd_list *list,
			      const struct scd_list_change *c,
			      const struct list_part *part,
			      struct list_fetched *fetched)
{
	list_fetch(list, c->removed, c->nremoved,
		   part->removed + part->nremoved, &fetched->removed);
	list_fetch(list, c->added, c->nadded, part->added + part->nadded,
		   &fetched->added);
}

/*
 * A change under way; of a list that keeps ages, which ids there are. A step is
 * the place of an entry in its bucket, times two, and one more if it goes: so
 * steps are in order as numbers, as one comes before what it pushes away.
 */
struct list_work {
	const struct scd_list_change *c;
	uint32_t *gone;          /* set: steps of entries that go, and */
	uint32_t *come;          /* of those that come; and room */
	uint32_t *steps;         /* for both together */
	unsigned oldest;         /* the least id of an entry that goes */
	unsigned newest;         /* the id of what comes, */
	const uint8_t *come_ids; /* or of each, if this is not null */
	uint8_t *go_ids;         /* set; null: nobody asks */
};

/* Find the entries first..end that are to go. SCD_EINVAL: one is not there. */
static int list_find_gone(const struct scd_list *list,
			  const struct list_work *work, size_t first,
			  size_t end)
{
	size_t last = SIZE_MAX;
	uint32_t from = 0;

	for (size_t i = first; i < end; i++) {
		const uint64_t entry = work->c->removed[i];
		const size_t bucket = scd__list_bucket_of(list, entry);
		const struct scd__list_bucket *b = &list->buckets[bucket];

		from = scd__list_find(list, b, bucket == last ? from : 0, entry,
				      work->oldest);
		if (from == b->n)
			return SCD_EINVAL;
		if (work->go_ids)
			work->go_ids[i] = scd__list_ids(list, b)[from];
		work->gone[i] = 2 * from++ + 1;
		last = bucket;
	}
	return SCD_OK;
}

/* The id of an entry that comes. */
static unsigned list_come_id(const struct list_work *work, size_t i)
{
	return work->come_ids ? work->come_ids[i] : work->newest;
}

/* Find before which entries of their buckets those come that do. */
static void list_find_come(const struct scd_list *list,
			   const struct list_work *work, size_t first,
			   size_t end)
{
	for (size_t i = first; i < end; i++) {
		const uint64_t entry = work->c->added[i];
		const size_t bucket = scd__list_bucket_of(list, entry);

		work->come[i] =
			2 * scd__list_place(list, &list->buckets[bucket], 0,
					    entry, list_come_id(work, i));
	}
}

/* Find the places of a batch. */
static int list_find(const struct scd_list *list, const struct list_work *work,
		     const struct list_batch *batch)
{
	const struct list_part *first = batch->parts;
	const struct list_part *last = first + batch->n - 1;

	list_find_come(list, work, first->added, last->added + last->nadded);
	return list_find_gone(list, work, first->removed,
			      last->removed + last->nremoved);
}

/* Move the words first..end of a bucket, and their ids, by some places. */
static void list_move(const struct scd_list *list, struct scd__list_bucket *b,
		      uint32_t first, uint32_t end, ptrdiff_t by)
{
	const size_t each = scd__list_word_bytes(list);
	char *words = (char *)scd__list_words(list, b) + first * each;

	memmove(words + by * (ptrdiff_t)each, words, (end - first) * each);
	if (list->has_ids) {
		uint8_t *ids = scd__list_ids(list, b) + first;

		memmove(ids + by, ids, end - first);
	}
}

/* Put an entry of a change into its place. */
static void list_put(const struct scd_list *list, const struct list_work *work,
		     struct scd__list_bucket *b, uint32_t at, size_t i)
{
	scd__list_set_word(list, b, at,
			   scd__list_word_of(list, work->c->added[i]));
	if (list->has_ids)
		scd__list_ids(list, b)[at] = (uint8_t)list_come_id(work, i);
}

/* Bring the steps of a part into one order, without a branch that depends on
 * them: none could be foreseen. Returns how many there are. */
static size_t list_merge_steps(const struct list_work *work,
			       const struct list_part *part)
{
	const uint32_t *gone = work->gone + part->removed;
	const uint32_t *come = work->come + part->added;
	size_t i = 0, j = 0, n = 0;

	while (i < part->nremoved && j < part->nadded) {
		const uint32_t goes = gone[i], comes = come[j];
		const bool is_come = comes < goes;

		work->steps[n++] = is_come ? comes : goes;
		i += !is_come;
		j += is_come;
	}
	while (i < part->nremoved)
		work->steps[n++] = gone[i++];
	while (j < part->nadded)
		work->steps[n++] = come[j++];
	return n;
}

/*
 * A part has its bucket's words in runs, between which entries go or come, and
 * each run moves by what has come before it less what has gone. This moves
 * those that move down, in order, so that none is where one goes to that is
 * still to be moved; and then list_move_up() the others, from the last one on.
 */
static void list_move_down(const struct scd_list *list,
			   const struct list_work *work,
			   struct scd__list_bucket *b, size_t nsteps)
{
	ptrdiff_t by = 0;
	uint32_t first = 0;

	for (size_t i = 0; i < nsteps; i++) {
		const uint32_t step = work->steps[i];

		if (by < 0 && step / 2 > first)
			list_move(list, b, first, step / 2, by);
		first = (step + 1) / 2;
		by += step % 2 ? -1 : 1;
	}
	if (by < 0)
		list_move(list, b, first, b->n, by);
}

static void list_move_up(const struct scd_list *list,
			 const struct list_work *work,
			 const struct list_part *part,
			 struct scd__list_bucket *b, size_t nsteps)
{
	ptrdiff_t by = (ptrdiff_t)part->nadded - (ptrdiff_t)part->nremoved;
	size_t next = part->added + part->nadded;
	uint32_t end = b->n;

	for (size_t i = nsteps; i-- > 0;) {
		const uint32_t step = work->steps[i];
		const uint32_t first = (step + 1) / 2;

		if (by > 0 && end > first)
			list_move(list, b, first, end, by);
		end = step / 2;
		by -= step % 2 ? -1 : 1;
		if (step % 2 == 0)
			list_put(list, work, b, (uint32_t)(end + by), --next);
	}
}

/* Copy some bytes, and perhaps some more to what follows them, before end. */
static inline void list_copy_run(char *to, const char *end, const char *from,
				 size_t bytes)
{
	if (bytes + CHUNK > (size_t)(end - to)) {
		memcpy(to, from, bytes);
		return;
	}
	for (size_t i = 0; i < bytes; i += CHUNK)
		memcpy(to + i, from + i, CHUNK);
}

/* What a bucket has of each of its entries: words, or ids. */
struct list_column {
	char *at;
	size_t each, n, room;
};

/*
 * Make all moves in a column at once, from a copy of it: all runs are written
 * from the first to the last, so whether one moves down or up is no branch, nor
 * is how long most of them are. Sets the places of the entries that come.
 */
static void list_rewrite(const struct list_column *column,
			 const uint32_t *steps, size_t nsteps,
			 uint32_t places[MOST_STEPS + 1])
{
	const size_t each = column->each;
	const char *end = column->at + column->room * each;
	char old[MOST_REWRITTEN + CHUNK];
	uint32_t first = 0, to = 0;
	size_t ncome = 0;

	memcpy(old, column->at, column->n * each);
	for (size_t i = 0; i < nsteps; i++) {
		const uint32_t place = steps[i] / 2, goes = steps[i] % 2;

		list_copy_run(column->at + to * each, end, old + first * each,
			      (place - first) * each);
		to += place - first;
		places[ncome] = to;
		ncome += 1 - goes;
		to += 1 - goes;
		first = place + goes;
	}
	memcpy(column->at + to * each, old + first * each,
	       (column->n - first) * each);
}

/* Make all moves of a part, and put what comes. */
static void list_move_all(const struct scd_list *list,
			  const struct list_work *work,
			  const struct list_part *part,
			  struct scd__list_bucket *b, size_t nsteps)
{
	const struct list_column words = {.at = scd__list_words(list, b),
					  .each = scd__list_word_bytes(list),
					  .n = b->n,
					  .room = b->room};
	uint32_t places[MOST_STEPS + 1];

	if (nsteps <= FEW || nsteps > MOST_STEPS ||
	    words.n * words.each > MOST_REWRITTEN) {
		list_move_down(list, work, b, nsteps);
		list_move_up(list, work, part, b, nsteps);
		return;
	}
	list_rewrite(&words, work->steps, nsteps, places);
	if (list->has_ids) {
		const struct list_column ids = {
			.at = (char *)scd__list_ids(list, b),
			.each = 1,
			.n = b->n,
			.room = b->room};

		list_rewrite(&ids, work->steps, nsteps, places);
	}
	for (size_t i = 0; i < part->nadded; i++)
		list_put(list, work, b, places[i], part->added + i);
}

/* Count what goes and comes by cells, modulo 2^32. */
static void list_count_cells(const struct scd_list *list,
			     const struct list_work *work,
			     const struct list_part *part, uint32_t *more)
{
	const uint64_t *removed = work->c->removed;
	const uint64_t *added = work->c->added;

	for (size_t i = 0; i < part->nremoved; i++)
		more[scd__list_cell_of(list, removed[part->removed + i])]--;
	for (size_t i = 0; i < part->nadded; i++)
		more[scd__list_cell_of(list, added[part->added + i])]++;
}

/* Let the cells of a bucket end where they do after a change. */
static void list_move_ends(const struct scd_list *list,
			   const struct list_work *work,
			   const struct list_part *part)
{
	const struct scd__list_bucket *b = &list->buckets[part->bucket];
	uint32_t more[1 << SCD__LIST_MOST_CELLS_LOG], sum = 0;

	if (!list->cell_log)
		return;
	for (size_t cell = 0; cell < scd__list_nends(list); cell++)
		more[cell] = 0;
	list_count_cells(list, work, part, more);
	for (size_t cell = 0; cell < scd__list_nends(list); cell++) {
		sum += more[cell];
		b->memory[cell] += sum;
	}
}

/* Count the entries of the groups by their ids. */
static void list_count_ids(struct scd_list *list, const struct list_work *work,
			   const struct list_part *part)
{
	uint32_t *counts =
		list->ages->counts[scd__list_group_of(list, part->bucket)];

	for (size_t i = 0; i < part->nremoved; i++)
		counts[work->go_ids ? work->go_ids[part->removed + i]
				    : work->oldest]--;
	for (size_t i = 0; i < part->nadded; i++)
		counts[work->come_ids ? work->come_ids[part->added + i]
				      : work->newest]++;
}

/* Apply what a change does to a bucket, in which places have been found.
 * SCD_ENOMEM leaves it as it is. */
static int list_apply_part(struct scd_list *list, const struct list_work *work,
			   const struct list_part *part)
{
	struct scd__list_bucket *b = &list->buckets[part->bucket];
	const size_t n = b->n - part->nremoved + part->nadded;
	size_t nsteps;

	if (scd__list_reserve(list, b, n))
		return SCD_ENOMEM;
	nsteps = list_merge_steps(work, part);
	list_move_all(list, work, part, b, nsteps);
	list_move_ends(list, work, part);
	b->n = (uint32_t)n;
	if (list->ages)
		list_count_ids(list, work, part);
	list->groups[scd__list_group_of(list, part->bucket)] +=
		part->nadded - part->nremoved;
	return SCD_OK;
}

/* Take a change back that has been applied to all buckets before one. It needs
 * no memory: the room that entries had is still there. */
static void list_take_back(struct scd_list *list, const struct list_work *work,
			   size_t bucket)
{
	const struct scd_list_change c = {.removed = work->c->added,
					  .added = work->c->removed,
					  .nremoved = work->c->nadded,
					  .nadded = work->c->nremoved};
	const struct list_work back = {.c = &c,
				       .gone = work->come,
				       .come = work->gone,
				       .steps = work->steps,
				       .oldest = work->newest,
				       .come_ids = work->go_ids};
	struct list_part part = {0};

	while (list_next_part(list, &c, &part) && part.bucket < bucket) {
		const struct list_batch batch = {.parts = {part}, .n = 1};
		int error = list_find(list, &back, &batch);

		if (!error)
			error = list_apply_part(list, &back, &part);
		assert(!error);
		(void)error;
	}
}

uint64_t scd__list_sum_after(const struct scd_list *list,
			     const struct scd_list_change *c)
{
	uint64_t sum = list->sum;

	for (size_t i = 0; i < c->nremoved; i++)
		sum -= scd__list_hash(list, c->removed[i]);
	for (size_t i = 0; i < c->nadded; i++)
		sum += scd__list_hash(list, c->added[i]);
	return sum;
}

int scd__list_check_change(const struct scd_list *list,
			   const struct scd_list_change *c)
{
	const uint64_t last = scd__list_last(list);
	const uint64_t most = (last + 1) / SCD_LIST_SPARSITY;

	if (c->nremoved > list->n ||
	    !list_is_sorted(c->removed, c->nremoved, last) ||
	    !list_is_sorted(c->added, c->nadded, last))
		return SCD_EINVAL;
	if (c->nadded > most || list->n - c->nremoved > most - c->nadded)
		return SCD_ELIMIT;
	return SCD_OK;
}

/* Apply a batch. On errors, *done is the bucket before which all has been. */
static int list_apply_batch(struct scd_list *list, const struct list_work *work,
			    const struct list_batch *batch, size_t *done)
{
	const struct list_part *part = batch->parts;
	int error;

	*done = part->bucket;
	error = list_find(list, work, batch);
	for (; !error && part < batch->parts + batch->n; part++) {
		*done = part->bucket;
		error = list_apply_part(list, work, part);
	}
	return error;
}

/* Apply a change to all buckets, or to none. */
static int list_apply_all(struct scd_list *list, const struct list_work *work)
{
	const struct list_part none = {0};
	struct list_batch batch = {.n = 0};
	struct list_fetched fetched = {0};
	size_t done = 0;
	int error = SCD_OK;

	list_fetch_behind(list, work->c, &none, &fetched);
	while (!error && list_next_batch(list, work->c, &batch)) {
		list_fetch_behind(list, work->c, &batch.parts[batch.n - 1],
				  &fetched);
		error = list_apply_batch(list, work, &batch, &done);
	}
	if (error)
		list_take_back(list, work, done);
	return error;
}

static int list_apply(struct scd_list *list, struct list_work *work)
{
	const size_t n = work->c->nremoved + work->c->nadded;
	uint32_t *steps = malloc((2 * n + 1) * sizeof(*steps));
	int error;

	if (!steps)
		return SCD_ENOMEM;
	work->gone = steps;
	work->come = steps + work->c->nremoved;
	work->steps = steps + n;
	error = list_apply_all(list, work);
	free(steps);
	if (!error)
		list->sum = scd__list_sum_after(list, work->c);
	return error;
}

/* The same for a list that keeps ages. */
static int list_apply_with_ages(struct scd_list *list, struct list_work *work)
{
	struct scd__cohorts *cohorts = &list->ages->cohorts;
	struct scd__cohorts after;
	int error;

	scd__list_ages_make_room(list);
	after = *cohorts;
	work->go_ids = malloc(work->c->nremoved + 1);
	if (!work->go_ids)
		return SCD_ENOMEM;
	scd__cohorts_begin_change(&after, list->n, work->c->nadded);
	work->newest = after.n ? scd__cohorts_newest(&after) : 0;
	error = list_apply(list, work);
	for (size_t i = 0; !error && i < work->c->nremoved; i++)
		scd__cohorts_remove(&after, work->go_ids[i]);
	free(work->go_ids);
	if (error)
		return error;
	scd__cohorts_end_change(&after, work->c->nadded);
	*cohorts = after;
	return SCD_OK;
}

int scd_list_change(struct scd_list *list, const struct scd_list_change *change,
		    uint64_t generation)
{
	struct list_work work = {.c = change};
	int error = scd__list_check_change(list, change);

	if (!error && list->ages)
		error = list_apply_with_ages(list, &work);
	else if (!error)
		error = list_apply(list, &work);
	if (error)
		return error;
	list->n += change->nadded - change->nremoved;
	list->generation = generation;
	scd__list_spread(list);
	return SCD_OK;
}
