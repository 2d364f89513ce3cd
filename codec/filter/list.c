/*
 * Lists of fingerprints in memory: buckets, ranks, and changes in place.
 */
#include "codec/list.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "codec/coder/number_sort.h"
#include "codec/filter/list_state.h"
#include "codec/mix.h"

enum {
	REST_BITS = 32,      /* that a bucket keeps of an entry, at most */
	BUCKET_ENTRIES = 96, /* on average, at most, when buckets are made */
	CROWDED = 192,       /* on average: then there are more buckets */
	ROOM_STEP = 8,       /* entries by which a bucket's room grows */
	PART = 512,          /* entries that are copied at a time */
	FEW = 16,            /* entries whose places are kept for a while */
	AHEAD = 12,          /* entries of a change that are fetched before */
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

/* The buckets for n entries: as few as leave so many to each. */
static unsigned list_log_for(unsigned width, uint64_t n)
{
	unsigned log = width > REST_BITS ? width - REST_BITS : 0;

	while (log < width && n >> log > BUCKET_ENTRIES)
		log++;
	return log;
}

static size_t list_ngroups(const struct scd_list *list)
{
	return (scd__list_nbuckets(list) >> SCD__LIST_GROUP_LOG) + 1;
}

int scd__list_new_for(struct scd_list **out, unsigned width, uint64_t instance,
		      uint64_t n)
{
	struct scd_list *list = calloc(1, sizeof(*list));

	if (!list)
		return SCD_ENOMEM;
	list->width = width;
	list->log = list_log_for(width, n);
	list->instance = instance;
	list->key = scd__mix64(instance + width * SCD__SPLITMIX_STEP);
	list->buckets =
		calloc(scd__list_nbuckets(list), sizeof(*list->buckets));
	list->groups = calloc(list_ngroups(list), sizeof(*list->groups));
	if (!list->buckets || !list->groups) {
		scd_list_free(&list);
		return SCD_ENOMEM;
	}
	*out = list;
	return SCD_OK;
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
		free(l->buckets[i].rest);
	free(l->buckets);
	free(l->groups);
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
		       list_ngroups(list) * sizeof(*list->groups);

	for (size_t i = 0; i < scd__list_nbuckets(list); i++)
		bytes += list->buckets[i].room * sizeof(uint32_t);
	return bytes;
}

/*
 * Where an entry of a bucket is if they are spread evenly: some places off, so
 * most often in the same cache line or the next.
 */
static uint32_t list_guess(const struct scd_list *list,
			   const struct scd__list_bucket *b, uint32_t rest)
{
	return (uint32_t)((uint64_t)b->n * rest >> scd__list_rest_bits(list));
}

/*
 * What a change of an entry is going to look at first, to be fetched before. A
 * function that did that itself would have no effect that compilers know of,
 * and they leave out calls of such.
 */
static const uint32_t *list_near(const struct scd_list *list, uint64_t entry)
{
	const struct scd__list_bucket *b =
		&list->buckets[scd__list_bucket_of(list, entry)];

	return b->n ? b->rest + list_guess(list, b,
					    scd__list_rest_of(list, entry))
		    : NULL;
}

/* The first place of low..high whose rest is not below rest; else high. */
static uint32_t list_bisect(const struct scd__list_bucket *b, uint32_t low,
			    uint32_t high, uint32_t rest)
{
	while (low < high) {
		const uint32_t middle = low + (high - low) / 2;

		if (b->rest[middle] < rest)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/*
 * The first place in a bucket, from one on, whose rest is not below rest: near
 * the guess; where it is not, further and further away from it, so that entries
 * that are not spread evenly take no more than a logarithm of steps.
 */
static uint32_t list_place(const struct scd_list *list,
			   const struct scd__list_bucket *b, uint32_t from,
			   uint32_t rest)
{
	uint32_t at = list_guess(list, b, rest), step = 1, last;

	if (at < from)
		at = from;
	if (at < b->n && b->rest[at] < rest) {
		for (last = at; at < b->n && b->rest[at] < rest; step *= 2) {
			last = at + 1;
			at = b->n - at > step ? at + step : b->n;
		}
		return list_bisect(b, last, at, rest);
	}
	for (last = at; at > from && b->rest[at - 1] >= rest; step *= 2) {
		last = at - 1;
		at = last - from > step ? last - step : from;
	}
	return list_bisect(b, at, last, rest);
}

bool scd_list_has(const struct scd_list *list, const struct scd_key *key)
{
	const uint64_t entry = scd_fingerprint(key, list->width);
	const struct scd__list_bucket *b =
		&list->buckets[scd__list_bucket_of(list, entry)];
	const uint32_t rest = scd__list_rest_of(list, entry);
	const uint32_t at = list_place(list, b, 0, rest);

	return at < b->n && b->rest[at] == rest;
}

/* A walk through the buckets in their order; all zero before the first. */
struct list_walk {
	size_t bucket;
	uint64_t before;       /* entries before the bucket */
	uint64_t group_before; /* entries before its group */
};

static void list_walk_to_group(const struct scd_list *list,
			       struct list_walk *walk, size_t group)
{
	for (size_t i = walk->bucket >> SCD__LIST_GROUP_LOG; i < group; i++)
		walk->group_before += list->groups[i];
	walk->before = walk->group_before;
	walk->bucket = group << SCD__LIST_GROUP_LOG;
}

/* Go on to a bucket, not before the one of the walk. */
static void list_walk_to(const struct scd_list *list, struct list_walk *walk,
			 size_t bucket)
{
	const size_t group = bucket >> SCD__LIST_GROUP_LOG;

	assert(walk->bucket <= bucket && bucket <= scd__list_nbuckets(list));
	if (walk->bucket >> SCD__LIST_GROUP_LOG < group)
		list_walk_to_group(list, walk, group);
	for (; walk->bucket < bucket; walk->bucket++)
		walk->before += list->buckets[walk->bucket].n;
}

/* Go on to the bucket of a rank, below the list's entries. */
static void list_walk_to_rank(const struct scd_list *list,
			      struct list_walk *walk, uint64_t rank)
{
	size_t group = walk->bucket >> SCD__LIST_GROUP_LOG;
	uint64_t before = walk->group_before;

	assert(walk->before <= rank && rank < list->n);
	while (rank - before >= list->groups[group])
		before += list->groups[group++];
	if (walk->bucket >> SCD__LIST_GROUP_LOG < group)
		list_walk_to_group(list, walk, group);
	while (rank - walk->before >= list->buckets[walk->bucket].n)
		walk->before += list->buckets[walk->bucket++].n;
}

int scd__list_ranks_of(const struct scd_list *list, const uint64_t *entries,
		       size_t n, uint64_t *ranks)
{
	struct list_walk walk = {0};
	uint32_t from = 0; /* in the walk's bucket */

	for (size_t i = 0; i < n; i++) {
		const size_t bucket = scd__list_bucket_of(list, entries[i]);
		const struct scd__list_bucket *b = &list->buckets[bucket];
		const uint32_t rest = scd__list_rest_of(list, entries[i]);

		if (i + AHEAD < n)
			__builtin_prefetch(list_near(list, entries[i + AHEAD]));
		if (walk.bucket < bucket)
			from = 0;
		list_walk_to(list, &walk, bucket);
		from = list_place(list, b, from, rest);
		if (from == b->n || b->rest[from] != rest)
			return SCD_EINVAL;
		ranks[i] = walk.before + from++;
	}
	return SCD_OK;
}

void scd__list_entries_at(const struct scd_list *list, const uint64_t *ranks,
			  size_t n, uint64_t *entries)
{
	struct list_walk walk = {0};

	for (size_t i = 0; i < n; i++) {
		const struct scd__list_bucket *b;
		const uint64_t rank = ranks[i];

		list_walk_to_rank(list, &walk, rank);
		b = &list->buckets[walk.bucket];
		entries[i] = scd__list_entry(list, walk.bucket,
					     b->rest[rank - walk.before]);
	}
}

size_t scd_list_entries(const struct scd_list *list, uint64_t first, size_t n,
			uint64_t *out)
{
	struct list_walk walk = {0};
	size_t done = 0;

	if (first >= list->n)
		return 0;
	if (n > list->n - first)
		n = (size_t)(list->n - first);
	while (done < n) {
		const struct scd__list_bucket *b;

		list_walk_to_rank(list, &walk, first + done);
		b = &list->buckets[walk.bucket];
		for (uint64_t i = first + done - walk.before;
		     i < b->n && done < n; i++)
			out[done++] =
				scd__list_entry(list, walk.bucket, b->rest[i]);
	}
	return done;
}

/* The first place of a bucket, from one on, whose rest is above rest. */
static uint32_t list_place_above(const struct scd_list *list,
				 const struct scd__list_bucket *b,
				 uint32_t from, uint32_t rest)
{
	const uint64_t most =
		(UINT64_C(1) << scd__list_rest_bits(list)) - 1;

	return rest < most ? list_place(list, b, from, rest + 1) : b->n;
}

uint64_t scd__list_count(const struct scd_list *list, uint64_t first,
			 uint64_t last, uint64_t most)
{
	const size_t end = scd__list_bucket_of(list, last);
	struct scd__list_cursor at = scd__list_seek(list, first);
	uint64_t n = 0;

	for (; at.bucket <= end && n < most; at.bucket++, at.at = 0) {
		const struct scd__list_bucket *b = &list->buckets[at.bucket];
		const uint32_t to =
			at.bucket < end
				? b->n
				: list_place_above(
					  list, b, at.at,
					  scd__list_rest_of(list, last));

		n += to - at.at;
	}
	return n < most ? n : most;
}

struct scd__list_cursor scd__list_seek(const struct scd_list *list,
				       uint64_t first)
{
	const size_t bucket = scd__list_bucket_of(list, first);

	return (struct scd__list_cursor){
		bucket, list_place(list, &list->buckets[bucket], 0,
				   scd__list_rest_of(list, first))
	};
}

size_t scd__list_read(const struct scd_list *list,
		      struct scd__list_cursor *cursor, uint64_t last,
		      uint64_t *out, size_t n)
{
	const size_t end = scd__list_bucket_of(list, last);
	size_t done = 0;

	for (; cursor->bucket <= end; cursor->bucket++, cursor->at = 0) {
		const struct scd__list_bucket *b =
			&list->buckets[cursor->bucket];

		while (cursor->at < b->n) {
			const uint64_t entry =
				scd__list_entry(list, cursor->bucket,
						b->rest[cursor->at]);

			if (entry > last || done == n)
				return done;
			out[done++] = entry;
			cursor->at++;
		}
	}
	return done;
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
	uint32_t *rest;

	if (n <= b->room)
		return SCD_OK;
	if (room > UINT32_MAX || room > SIZE_MAX / sizeof(*rest))
		return SCD_ENOMEM;
	rest = realloc(b->rest, room * sizeof(*rest));
	if (!rest)
		return SCD_ENOMEM;
	b->rest = rest;
	b->room = (uint32_t)room;
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
	if (i + AHEAD < c->nremoved)
		__builtin_prefetch(list_near(list, c->removed[i + AHEAD]));
	if (j + AHEAD < c->nadded)
		__builtin_prefetch(list_near(list, c->added[j + AHEAD]));
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
 * Where n entries that are to go are in a bucket, as many as there is room for
 * in at. SCD_EINVAL: one is not there.
 */
static int list_find(const struct scd_list *list,
		     const struct scd__list_bucket *b, const uint64_t *removed,
		     size_t n, uint32_t at[FEW])
{
	uint32_t from = 0;

	for (size_t i = 0; i < n; i++) {
		const uint32_t rest = scd__list_rest_of(list, removed[i]);

		from = list_place(list, b, from, rest);
		if (from == b->n || b->rest[from] != rest)
			return SCD_EINVAL;
		if (i < FEW)
			at[i] = from;
		from++;
	}
	return SCD_OK;
}

/* Close the gaps of n (> 0) entries that go, from the first one on; at: where
 * the first of them are. */
static void list_remove_from(struct scd_list *list, struct scd__list_bucket *b,
			     const uint64_t *removed, size_t n,
			     const uint32_t at[FEW])
{
	uint32_t from = 0, to = 0; /* what is behind from goes to to */

	for (size_t i = 0; i < n; i++) {
		const uint32_t gap =
			i < FEW ? at[i]
				: list_place(
					  list, b, from,
					  scd__list_rest_of(list, removed[i]));

		if (to < from)
			memmove(b->rest + to, b->rest + from,
				(gap - from) * sizeof(*b->rest));
		to += gap - from;
		from = gap + 1;
		list->sum -= scd__list_hash(list, removed[i]);
	}
	memmove(b->rest + to, b->rest + from, (b->n - from) * sizeof(*b->rest));
	b->n -= (uint32_t)n;
}

/* Open gaps for n (> 0) entries that come, from the last one on. */
static void list_add_to(struct scd_list *list, struct scd__list_bucket *b,
			const uint64_t *added, size_t n)
{
	const uint32_t all = b->n + (uint32_t)n;

	for (size_t i = n; i-- > 0;) {
		const uint32_t rest = scd__list_rest_of(list, added[i]);
		const uint32_t at = list_place(list, b, 0, rest);

		memmove(b->rest + at + i + 1, b->rest + at,
			(b->n - at) * sizeof(*b->rest));
		b->rest[at + i] = rest;
		b->n = at; /* those that have not moved */
		list->sum += scd__list_hash(list, added[i]);
	}
	b->n = all;
}

/* Apply what a change does to a bucket. Errors leave it as it is. */
static int list_apply_part(struct scd_list *list,
			   const struct scd_list_change *c,
			   const struct list_part *part)
{
	struct scd__list_bucket *b = &list->buckets[part->bucket];
	uint32_t at[FEW];
	int error = SCD_OK;

	if (part->nremoved)
		error = list_find(list, b, c->removed + part->removed,
				  part->nremoved, at);
	if (!error)
		error = list_reserve(b, b->n - part->nremoved + part->nadded);
	if (error)
		return error;
	if (part->nremoved)
		list_remove_from(list, b, c->removed + part->removed,
				 part->nremoved, at);
	if (part->nadded)
		list_add_to(list, b, c->added + part->added, part->nadded);
	list->groups[part->bucket >> SCD__LIST_GROUP_LOG] +=
		part->nadded - part->nremoved;
	return SCD_OK;
}

/* Take a change back that has been applied to all buckets before one. It needs
 * no memory: the room that entries had is still there. */
static void list_take_back(struct scd_list *list,
			   const struct scd_list_change *c, size_t bucket)
{
	const struct scd_list_change back = {.removed = c->added,
					     .added = c->removed,
					     .nremoved = c->nadded,
					     .nadded = c->nremoved};
	struct list_part part = {0};

	while (list_next_part(list, &back, &part) && part.bucket < bucket) {
		int error = list_apply_part(list, &back, &part);

		assert(!error);
		(void)error;
	}
}

/* More buckets, where they are crowded. Without memory for them, the list is
 * as right as before, and a little slower. */
static void list_spread(struct scd_list *list)
{
	struct scd_list *wide, old = *list;
	uint64_t entries[PART];
	uint64_t done = 0;
	size_t n;

	if (list->n >> list->log <= CROWDED ||
	    scd__list_new_for(&wide, list->width, list->instance, list->n))
		return;
	while ((n = scd_list_entries(list, done, PART, entries)) > 0) {
		if (scd__list_append(wide, entries, n)) {
			scd_list_free(&wide);
			return;
		}
		done += n;
	}
	list->log = wide->log;
	list->buckets = wide->buckets;
	list->groups = wide->groups;
	wide->log = old.log;
	wide->buckets = old.buckets;
	wide->groups = old.groups;
	scd_list_free(&wide);
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

int scd_list_change(struct scd_list *list, const struct scd_list_change *change,
		    uint64_t generation)
{
	struct list_part part = {0};
	int error = scd__list_check_change(list, change);

	if (error)
		return error;
	while (!error && list_next_part(list, change, &part))
		error = list_apply_part(list, change, &part);
	if (error) {
		list_take_back(list, change, part.bucket);
		return error;
	}
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
			b->rest[b->n++] = scd__list_rest_of(list, entries[i]);
			list->sum += scd__list_hash(list, entries[i]);
		}
		list->groups[bucket >> SCD__LIST_GROUP_LOG] += more;
		list->n += more;
	}
	return SCD_OK;
}
