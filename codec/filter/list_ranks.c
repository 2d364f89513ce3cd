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
		const uint32_t word = scd__list_word_of(list, entries[i]);

		if (i + SCD__LIST_AHEAD < n)
			__builtin_prefetch(scd__list_near(
				list, entries[i + SCD__LIST_AHEAD]));
		if (walk.bucket < bucket)
			from = 0;
		list_walk_to(list, &walk, bucket);
		from = scd__list_find(list, b, from, word);
		if (from == b->n)
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
					     b->words[rank - walk.before]);
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
				scd__list_entry(list, walk.bucket, b->words[i]);
	}
	return done;
}

/* The first place of a bucket, from one on, with an entry above that of the
 * first word which it may have. */
static uint32_t list_place_above(const struct scd_list *list,
				 const struct scd__list_bucket *b,
				 uint32_t from, uint32_t word)
{
	const uint64_t next = (uint64_t)word + (UINT64_C(1) << list->id_bits);

	return next >> (scd__list_rest_bits(list) + list->id_bits)
		       ? b->n
		       : scd__list_place(list, b, from, (uint32_t)next);
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
					  scd__list_word_of(list, last));

		n += to - at.at;
	}
	return n < most ? n : most;
}

struct scd__list_cursor scd__list_seek(const struct scd_list *list,
				       uint64_t first)
{
	const size_t bucket = scd__list_bucket_of(list, first);

	return (struct scd__list_cursor){
		bucket, scd__list_place(list, &list->buckets[bucket], 0,
				   scd__list_word_of(list, first))
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
						b->words[cursor->at]);

			if (entry > last || done == n)
				return done;
			out[done++] = entry;
			cursor->at++;
		}
	}
	return done;
}
