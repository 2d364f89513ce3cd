/*
 * Lists of fingerprints in memory: the ranks of entries, and the entries with
 * some ranks.
 */
#include <assert.h>

#include "codec/filter/list_search.h"
#include "codec/filter/list_state.h"

/* A walk through the buckets in their order; all zero before the first. */
struct list_walk {
	size_t bucket;
	uint64_t before;       /* entries before the bucket */
	uint64_t group_before; /* entries before its group */
};

static void list_walk_to_group(const struct scd_list *list,
			       struct list_walk *walk, size_t group)
{
	for (size_t i = scd__list_group_of(list, walk->bucket); i < group; i++)
		walk->group_before += list->groups[i];
	walk->before = walk->group_before;
	walk->bucket = group << scd__list_group_log(list);
}

/* Go on to a bucket, not before the one of the walk. */
static void list_walk_to(const struct scd_list *list, struct list_walk *walk,
			 size_t bucket)
{
	const size_t group = scd__list_group_of(list, bucket);

	assert(walk->bucket <= bucket && bucket <= scd__list_nbuckets(list));
	if (scd__list_group_of(list, walk->bucket) < group)
		list_walk_to_group(list, walk, group);
	for (; walk->bucket < bucket; walk->bucket++)
		walk->before += list->buckets[walk->bucket].n;
}

/* Go on to the bucket of a rank, below the list's entries. */
static void list_walk_to_rank(const struct scd_list *list,
			      struct list_walk *walk, uint64_t rank)
{
	size_t group = scd__list_group_of(list, walk->bucket);
	uint64_t before = walk->group_before;

	assert(walk->before <= rank && rank < list->n);
	while (rank - before >= list->groups[group])
		before += list->groups[group++];
	if (scd__list_group_of(list, walk->bucket) < group)
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

		if (i % SCD__LIST_AHEAD == 0)
			for (size_t j = i; j < n && j < i + 2 * SCD__LIST_AHEAD;
			     j++)
				scd__list_fetch(list, entries[j]);
		if (walk.bucket < bucket)
			from = 0;
		list_walk_to(list, &walk, bucket);
		from = scd__list_find(list, b, from, entries[i], 0);
		if (from == b->n)
			return SCD_EINVAL;
		ranks[i] = walk.before + from++;
	}
	return SCD_OK;
}

/* Where some entries are. */
struct list_spot {
	size_t bucket;
	uint32_t at;
};

/* Find the places of n ranks, and fetch what is there. */
static void list_find_ranks(const struct scd_list *list, struct list_walk *walk,
			    const uint64_t *ranks, size_t n,
			    struct list_spot *spots)
{
	for (size_t i = 0; i < n; i++) {
		const struct scd__list_bucket *b;
		uint32_t at;

		list_walk_to_rank(list, walk, ranks[i]);
		b = &list->buckets[walk->bucket];
		at = (uint32_t)(ranks[i] - walk->before);
		__builtin_prefetch(b->memory);
		__builtin_prefetch((char *)scd__list_words(list, b) +
				   at * scd__list_word_bytes(list));
		spots[i] = (struct list_spot){walk->bucket, at};
	}
}

void scd__list_entries_at(const struct scd_list *list, const uint64_t *ranks,
			  size_t n, uint64_t *entries)
{
	struct list_walk walk = {0};
	struct list_spot spots[SCD__LIST_AHEAD];

	for (size_t i = 0; i < n;) {
		const size_t some =
			n - i < SCD__LIST_AHEAD ? n - i : SCD__LIST_AHEAD;

		list_find_ranks(list, &walk, ranks + i, some, spots);
		for (size_t j = 0; j < some; j++)
			entries[i++] = scd__list_entry_at(list, spots[j].bucket,
							  spots[j].at);
	}
}

size_t scd_list_entries(const struct scd_list *list, uint64_t first, size_t n,
			uint64_t *out)
{
	struct list_walk walk = {0};
	struct scd__list_cursor at;

	if (first >= list->n)
		return 0;
	list_walk_to_rank(list, &walk, first);
	at.bucket = walk.bucket;
	at.at = (uint32_t)(first - walk.before);
	return scd__list_read(list, &at, scd__list_last(list), out, n);
}

/* The first place of an entry's bucket, from one on, that has one above it. */
static uint32_t list_place_above(const struct scd_list *list, uint32_t from,
				 uint64_t entry)
{
	const struct scd__list_bucket *b =
		&list->buckets[scd__list_bucket_of(list, entry)];

	if (entry == scd__list_last(list) ||
	    scd__list_bucket_of(list, entry + 1) !=
		    scd__list_bucket_of(list, entry))
		return b->n;
	return scd__list_place(list, b, from, entry + 1, 0);
}

uint64_t scd__list_count(const struct scd_list *list, uint64_t first,
			 uint64_t last, uint64_t most)
{
	const size_t end = scd__list_bucket_of(list, last);
	struct scd__list_cursor at = scd__list_seek(list, first);
	uint64_t n = 0;

	for (; at.bucket <= end && n < most; at.bucket++, at.at = 0)
		n += (at.bucket < end ? list->buckets[at.bucket].n
				      : list_place_above(list, at.at, last)) -
		     at.at;
	return n < most ? n : most;
}

struct scd__list_cursor scd__list_seek(const struct scd_list *list,
				       uint64_t first)
{
	const size_t bucket = scd__list_bucket_of(list, first);

	return (struct scd__list_cursor){
		bucket,
		scd__list_place(list, &list->buckets[bucket], 0, first, 0)};
}

size_t scd__list_read_bucket(const struct scd_list *list,
			     struct scd__list_cursor *cursor, uint64_t last,
			     uint64_t *out, uint8_t *ids, size_t n)
{
	const size_t end = scd__list_bucket_of(list, last);
	const struct scd__list_bucket *b;
	size_t done = 0;
	unsigned cell;

	while (cursor->bucket <= end &&
	       cursor->at == list->buckets[cursor->bucket].n) {
		cursor->bucket++;
		cursor->at = 0;
	}
	if (cursor->bucket > end)
		return 0;
	b = &list->buckets[cursor->bucket];
	cell = scd__list_cell_at(list, b, cursor->at);
	for (; cursor->at < b->n && done < n; cursor->at++) {
		uint64_t entry;

		while (scd__list_cell_end(list, b, cell) <= cursor->at)
			cell++;
		entry = scd__list_entry(list, cursor->bucket, cell,
					scd__list_word(list, b, cursor->at));
		if (entry > last)
			break;
		if (ids && list->has_ids)
			ids[done] = scd__list_ids(list, b)[cursor->at];
		out[done++] = entry;
	}
	return done;
}

size_t scd__list_read(const struct scd_list *list,
		      struct scd__list_cursor *cursor, uint64_t last,
		      uint64_t *out, size_t n)
{
	size_t done = 0, some;

	while (done < n &&
	       (some = scd__list_read_bucket(list, cursor, last, out + done,
					     NULL, n - done)) > 0)
		done += some;
	return done;
}
