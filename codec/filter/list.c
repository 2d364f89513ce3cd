/*
 * Lists of fingerprints in memory: buckets, and changes in place.
 */
#include "codec/list.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "codec/coder/number_sort.h"
#include "codec/filter/list_ages.h"
#include "codec/filter/list_search.h"
#include "codec/filter/list_state.h"
#include "codec/mix.h"

enum {
	WORD_BITS = 32,
	BUCKET_ENTRIES = 96, /* on average, at most, when buckets are made */
	CROWDED = 192,       /* on average: then there are more buckets */
	ROOM_STEP = 8,       /* entries by which a bucket's room grows */
	BATCH = 32,          /* buckets that are changed together */
	AHEAD = 64,          /* entries that go, or come, fetched before */
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

/* The buckets for n entries: as few as leave so many to each, and so many bits
 * of an entry to its word. */
static unsigned list_log_for(unsigned width, uint64_t n, unsigned rest_bits)
{
	unsigned log = width > rest_bits ? width - rest_bits : 0;

	while (log < width && n >> log > BUCKET_ENTRIES)
		log++;
	return log;
}

static int list_make(struct scd_list **out, const struct scd_list *like,
		     uint64_t n)
{
	struct scd_list *list = calloc(1, sizeof(*list));

	if (!list)
		return SCD_ENOMEM;
	list->width = like->width;
	list->instance = like->instance;
	list->id_bits = like->id_bits;
	list->log = list_log_for(like->width, n, WORD_BITS - like->id_bits);
	list->key = scd__mix64(like->instance +
			       like->width * SCD__SPLITMIX_STEP);
	list->buckets =
		calloc(scd__list_nbuckets(list), sizeof(*list->buckets));
	list->groups = calloc(scd__list_ngroups(list), sizeof(*list->groups));
	if (!list->buckets || !list->groups) {
		scd_list_free(&list);
		return SCD_ENOMEM;
	}
	*out = list;
	return SCD_OK;
}

int scd__list_new_for(struct scd_list **out, unsigned width, uint64_t instance,
		      uint64_t n)
{
	const struct scd_list like = {.width = width, .instance = instance};

	return list_make(out, &like, n);
}

int scd_list_new(struct scd_list **out, unsigned width, uint64_t instance)
{
	if (width < SCD_LIST_MIN_WIDTH || width > SCD_LIST_MAX_WIDTH ||
	    instance == 0)
		return SCD_EINVAL;
	return scd__list_new_for(out, width, instance, 0);
}

void scd_list_free(struct scd_list **list)
{
	struct scd_list *l = *list;

	if (!l)
		return;
	for (size_t i = 0; l->buckets && i < scd__list_nbuckets(l); i++)
		free(l->buckets[i].words);
	free(l->buckets);
	free(l->groups);
	scd__list_ages_free(&l->ages);
	free(l);
	*list = NULL;
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

size_t scd_list_memory(const struct scd_list *list)
{
	size_t bytes = sizeof(*list) +
		       scd__list_nbuckets(list) * sizeof(*list->buckets) +
		       scd__list_ngroups(list) * sizeof(*list->groups);

	for (size_t i = 0; i < scd__list_nbuckets(list); i++)
		bytes += list->buckets[i].room * sizeof(uint32_t);
	if (list->ages)
		bytes += sizeof(*list->ages) +
			 scd__list_ngroups(list) * sizeof(*list->ages->counts);
	return bytes;
}

bool scd_list_has(const struct scd_list *list, const struct scd_key *key)
{
	const uint64_t entry = scd_fingerprint(key, list->width);
	const struct scd__list_bucket *b =
		&list->buckets[scd__list_bucket_of(list, entry)];
	const uint32_t word = scd__list_word_of(list, entry);

	return scd__list_find(list, b, 0, word) < b->n;
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

/* Room for so many entries in a bucket. */
static int list_reserve(struct scd__list_bucket *b, size_t n)
{
	const size_t room = (n + ROOM_STEP - 1) / ROOM_STEP * ROOM_STEP;
	uint32_t *words;

	if (n <= b->room)
		return SCD_OK;
	if (room > UINT32_MAX || room > SIZE_MAX / sizeof(*words))
		return SCD_ENOMEM;
	words = realloc(b->words, room * sizeof(*words));
	if (!words)
		return SCD_ENOMEM;
	b->words = words;
	b->room = (uint32_t)room;
	return SCD_OK;
}

/* Append an entry of another list, which has none below it, with its id. */
static int list_append_word(struct scd_list *list, const struct scd_list *from,
			    size_t bucket, uint32_t word)
{
	const uint64_t entry = scd__list_entry(from, bucket, word);
	const size_t to = scd__list_bucket_of(list, entry);
	struct scd__list_bucket *b = &list->buckets[to];

	if (list_reserve(b, b->n + (size_t)1))
		return SCD_ENOMEM;
	b->words[b->n++] = scd__list_word_of(list, entry) |
			   scd__list_id_of(from, word);
	list->groups[to >> SCD__LIST_GROUP_LOG]++;
	return SCD_OK;
}

/* What a change does to one bucket: so many from some place on. */
struct list_part {
	size_t bucket;
	size_t removed, nremoved;
	size_t added, nadded;
};

/* How many of some ascending fingerprints, from..n, are in a bucket. */
static size_t list_count_in(const struct scd_list *list, const uint64_t *at,
			    size_t from, size_t n, size_t bucket)
{
	size_t i = from;

	while (i < n && scd__list_bucket_of(list, at[i]) == bucket)
		i++;
	return i - from;
}

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
	part->nremoved =
		list_count_in(list, c->removed, i, c->nremoved, part->bucket);
	part->nadded =
		list_count_in(list, c->added, j, c->nadded, part->bucket);
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

/* The batch that follows; all zero before the first. False: there is none. */
static bool list_next_batch(const struct scd_list *list,
			    const struct scd_list_change *c,
			    struct list_batch *batch)
{
	struct list_part part = {0};

	if (batch->n)
		part = batch->parts[batch->n - 1];
	batch->n = 0;
	while (batch->n < BATCH && list_next_part(list, c, &part))
		batch->parts[batch->n++] = part;
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

/* A change under way; of a list that keeps ages, which ids there are. */
struct list_work {
	const struct scd_list_change *c;
	uint32_t *gone_at;       /* set: the places of entries that go, and */
	uint32_t *come_at;       /* of those that come, in their buckets */
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

		from = scd__list_find(
			list, b, bucket == last ? from : 0,
			scd__list_word_of(list, entry) | work->oldest);
		if (from == b->n)
			return SCD_EINVAL;
		if (work->go_ids)
			work->go_ids[i] = (uint8_t)scd__list_id_of(
				list, b->words[from]);
		work->gone_at[i] = from++;
		last = bucket;
	}
	return SCD_OK;
}

/* The word of an entry that comes. */
static uint32_t list_come_word(const struct scd_list *list,
			       const struct list_work *work, size_t i)
{
	return scd__list_word_of(list, work->c->added[i]) |
	       (work->come_ids ? work->come_ids[i] : work->newest);
}

/* Find before which entries of their buckets those are to be that come. */
static void list_find_come(const struct scd_list *list,
			   const struct list_work *work, size_t first,
			   size_t end)
{
	for (size_t i = first; i < end; i++) {
		const size_t bucket =
			scd__list_bucket_of(list, work->c->added[i]);

		work->come_at[i] =
			scd__list_place(list, &list->buckets[bucket], 0,
					list_come_word(list, work, i));
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

/* Move the words first..end of a bucket by some places. */
static void list_move(struct scd__list_bucket *b, uint32_t first, uint32_t end,
		      ptrdiff_t by)
{
	memmove(b->words + first + by, b->words + first,
		(end - first) * sizeof(*b->words));
}

/*
 * A part has its bucket's words in runs, between which entries go or come, and
 * each run moves by what has come before it less what has gone. This moves
 * those that move down, in order, so that none is where one goes to that is
 * still to be moved; and then list_move_up() the others, from the last one on.
 */
static void list_move_down(struct scd_list *list, const struct list_work *work,
			   const struct list_part *part)
{
	struct scd__list_bucket *b = &list->buckets[part->bucket];
	const uint32_t *gone = work->gone_at + part->removed;
	const uint32_t *come = work->come_at + part->added;
	size_t i = 0, j = 0;
	uint32_t first = 0;

	while (i < part->nremoved || i > j) {
		const bool comes = j < part->nadded &&
				   (i == part->nremoved || come[j] <= gone[i]);
		const bool goes = !comes && i < part->nremoved;
		const uint32_t end = comes ? come[j] : goes ? gone[i] : b->n;

		if (i > j)
			list_move(b, first, end, (ptrdiff_t)(j - i));
		if (!comes && !goes)
			break;
		first = end + goes;
		j += comes;
		i += goes;
	}
}

static void list_move_up(struct scd_list *list, const struct list_work *work,
			 const struct list_part *part)
{
	struct scd__list_bucket *b = &list->buckets[part->bucket];
	const uint32_t *gone = work->gone_at + part->removed;
	const uint32_t *come = work->come_at + part->added;
	size_t i = part->nremoved, j = part->nadded;
	uint32_t end = b->n;

	while (j > 0) {
		const bool goes = i > 0 && gone[i - 1] >= come[j - 1];
		const uint32_t first = goes ? gone[i - 1] + 1 : come[j - 1];

		if (j > i)
			list_move(b, first, end, (ptrdiff_t)(j - i));
		end = first - goes;
		i -= goes;
		j -= !goes;
		if (!goes)
			b->words[end + j - i] = list_come_word(
				list, work, part->added + j);
	}
}

/* Count the entries of the groups by their ids. */
static void list_count_ids(struct scd_list *list, const struct list_work *work,
			   const struct list_part *part)
{
	uint32_t *counts =
		list->ages->counts[part->bucket >> SCD__LIST_GROUP_LOG];

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

	if (list_reserve(b, n))
		return SCD_ENOMEM;
	list_move_down(list, work, part);
	list_move_up(list, work, part);
	b->n = (uint32_t)n;
	if (list->ages)
		list_count_ids(list, work, part);
	list->groups[part->bucket >> SCD__LIST_GROUP_LOG] +=
		part->nadded - part->nremoved;
	return SCD_OK;
}

/* Take a change back that has been applied to all buckets before one. It needs
 * no memory: the room that entries had is still there. */
static void list_take_back(struct scd_list *list,
			   const struct list_work *work, size_t bucket)
{
	const struct scd_list_change c = {.removed = work->c->added,
					  .added = work->c->removed,
					  .nremoved = work->c->nadded,
					  .nadded = work->c->nremoved};
	const struct list_work back = {.c = &c,
				       .gone_at = work->come_at,
				       .come_at = work->gone_at,
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

/* The same entries in as many buckets as they are to have. */
static int list_copy(const struct scd_list *list, unsigned id_bits,
		     struct scd_list **out)
{
	struct scd_list like = *list, *copy = NULL;
	int error;

	like.id_bits = id_bits;
	error = list_make(&copy, &like, list->n);
	for (size_t i = 0; !error && i < scd__list_nbuckets(list); i++) {
		for (uint32_t j = 0; !error && j < list->buckets[i].n; j++)
			error = list_append_word(copy, list, i,
						 list->buckets[i].words[j]);
	}
	if (error)
		scd_list_free(&copy);
	else
		*out = copy;
	return error;
}

/* Take over the buckets of a copy, which is released. */
static void list_take_over(struct scd_list *list, struct scd_list *copy)
{
	const struct scd_list old = *list;

	list->log = copy->log;
	list->id_bits = copy->id_bits;
	list->buckets = copy->buckets;
	list->groups = copy->groups;
	copy->log = old.log;
	copy->buckets = old.buckets;
	copy->groups = old.groups;
	scd_list_free(&copy);
}

int scd__list_set_id_bits(struct scd_list *list, unsigned id_bits)
{
	struct scd_list *copy = NULL;
	int error = list_copy(list, id_bits, &copy);

	if (!error)
		list_take_over(list, copy);
	return error;
}

/* More buckets, where they are crowded. Without memory for them, the list is
 * as right as before, and a little slower. */
static void list_spread(struct scd_list *list)
{
	struct scd_list *copy = NULL;

	if (list->n >> list->log <= CROWDED ||
	    list_copy(list, list->id_bits, &copy))
		return;
	if (list->ages && scd__list_ages_spread(list->ages, copy))
		scd_list_free(&copy);
	else
		list_take_over(list, copy);
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
	uint32_t *places = malloc((n + 1) * sizeof(*places));
	int error;

	if (!places)
		return SCD_ENOMEM;
	work->gone_at = places;
	work->come_at = places + work->c->nremoved;
	error = list_apply_all(list, work);
	free(places);
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
	list_spread(list);
	return SCD_OK;
}

int scd__list_append(struct scd_list *list, const uint64_t *entries, size_t n)
{
	for (size_t i = 0; i < n;) {
		const size_t bucket = scd__list_bucket_of(list, entries[i]);
		struct scd__list_bucket *b = &list->buckets[bucket];
		const size_t more = list_count_in(list, entries, i, n, bucket);

		if (list_reserve(b, b->n + more))
			return SCD_ENOMEM;
		for (size_t j = 0; j < more; j++, i++) {
			b->words[b->n++] = scd__list_word_of(list, entries[i]);
			list->sum += scd__list_hash(list, entries[i]);
		}
		list->groups[bucket >> SCD__LIST_GROUP_LOG] += more;
		list->n += more;
	}
	return SCD_OK;
}
