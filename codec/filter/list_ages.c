/*
 * Lists that keep ages. A rank within a cohort is found by the counts of the
 * groups before, and a pass over the words of the group, of which only those of
 * cohorts that are meant are counted one by one: 2 to 6 us for one entry that
 * goes, and .8 to 1 ns for each entry of the list where many do; the same from
 * entries to ranks.
 */
#include "codec/filter/list_ages.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "codec/filter/list_pick.h"
#include "codec/filter/list_search.h"

enum {
	/* What is fetched before it is looked through: of a bucket some ahead,
	 * as many ids as most buckets have. */
	BUCKETS_AHEAD = 2,
	IDS_AHEAD = 640,
	LINE_BYTES = 64,
};

void scd__list_ages_free(struct scd__list_ages **ages)
{
	if (!*ages)
		return;
	free((*ages)->counts);
	free(*ages);
	*ages = NULL;
}

int scd__list_ages_spread(struct scd__list_ages *ages,
			  const struct scd_list *copy)
{
	uint32_t(*counts)[SCD__COHORT_IDS] =
		calloc(scd__list_ngroups(copy), sizeof(*counts));

	if (!counts)
		return SCD_ENOMEM;
	for (size_t i = 0; i < scd__list_nbuckets(copy); i++) {
		const struct scd__list_bucket *b = &copy->buckets[i];
		uint32_t *of_group = counts[scd__list_group_of(copy, i)];

		for (uint32_t j = 0; j < b->n; j++)
			of_group[scd__list_ids(copy, b)[j]]++;
	}
	free(ages->counts);
	ages->counts = counts;
	return SCD_OK;
}

/* Give other ids to all entries, which ascend as those before. */
static void list_ages_map(struct scd_list *list,
			  const uint8_t map[SCD__COHORT_IDS])
{
	for (size_t i = 0; i < scd__list_nbuckets(list); i++) {
		struct scd__list_bucket *b = &list->buckets[i];

		for (uint32_t j = 0; j < b->n; j++) {
			uint8_t *id = scd__list_ids(list, b) + j;

			*id = map[*id];
		}
	}
	for (size_t g = 0; g < scd__list_ngroups(list); g++) {
		uint32_t old[SCD__COHORT_IDS];
		uint32_t *counts = list->ages->counts[g];

		memcpy(old, counts, sizeof(old));
		memset(counts, 0, sizeof(old));
		for (unsigned id = 0; id < SCD__COHORT_IDS; id++)
			counts[map[id]] += old[id];
	}
}

void scd__list_ages_make_room(struct scd_list *list)
{
	struct scd__cohorts *cohorts = &list->ages->cohorts;
	uint8_t map[SCD__COHORT_IDS];

	if (cohorts->nids < SCD__COHORT_IDS)
		return;
	scd__cohorts_renumber(cohorts, map);
	list_ages_map(list, map);
}

/* Make the cohort of each entry its id. */
static void list_ages_put(struct scd_list *list, const uint8_t *of_entry)
{
	size_t done = 0;

	for (size_t i = 0; i < scd__list_nbuckets(list); i++) {
		struct scd__list_bucket *b = &list->buckets[i];

		if (b->n)
			memcpy(scd__list_ids(list, b), of_entry + done, b->n);
		done += b->n;
	}
}

int scd__list_ages_set(struct scd_list *list,
		       const struct scd__cohorts *cohorts,
		       const uint8_t *of_entry)
{
	struct scd__list_ages *ages = calloc(1, sizeof(*ages));
	int error = SCD_ENOMEM;

	assert(!list->ages);
	if (ages)
		error = scd__list_set_has_ids(list, true);
	if (!error && of_entry)
		list_ages_put(list, of_entry);
	if (!error)
		error = scd__list_ages_spread(ages, list);
	if (error) {
		scd__list_ages_free(&ages);
		return error;
	}
	ages->cohorts = *cohorts;
	list->ages = ages;
	return SCD_OK;
}

int scd_list_keep_ages(struct scd_list *list)
{
	struct scd__cohorts cohorts;

	if (list->ages)
		return SCD_OK;
	scd__cohorts_begin(&cohorts, list->n);
	return scd__list_ages_set(list, &cohorts, NULL);
}

bool scd_list_has_ages(const struct scd_list *list)
{
	return list->ages;
}

/* The cohort of the entry at a place. */
static uint8_t list_ages_cohort(const struct scd_list *list,
				const struct scd__list_bucket *b, uint32_t at)
{
	return list->ages->cohorts.of_id[scd__list_ids(list, b)[at]];
}

void scd__list_ages_read(const struct scd_list *list, uint8_t *of_entry)
{
	size_t done = 0;

	for (size_t i = 0; i < scd__list_nbuckets(list); i++) {
		const struct scd__list_bucket *b = &list->buckets[i];

		for (uint32_t j = 0; j < b->n; j++)
			of_entry[done++] = list_ages_cohort(list, b, j);
	}
}

/* The first id of each cohort, and of one behind them. */
static void list_ages_first_ids(const struct scd__cohorts *cohorts,
				uint16_t first_id[SCD__COHORTS_MAX + 1])
{
	for (unsigned id = cohorts->nids; id-- > 0;)
		first_id[cohorts->of_id[id]] = (uint16_t)id;
	first_id[cohorts->n] = (uint16_t)cohorts->nids;
}

/* How many entries of a cohort a group has. */
static uint64_t list_ages_count(const uint32_t counts[SCD__COHORT_IDS],
				const uint16_t *first_id, unsigned cohort)
{
	uint64_t sum = 0;

	for (unsigned id = first_id[cohort]; id < first_id[cohort + 1]; id++)
		sum += counts[id];
	return sum;
}

/* Put the ids of a cohort into a set. */
static void list_ages_mark(struct scd__pick_set *set, const uint16_t *first_id,
			   unsigned cohort)
{
	for (unsigned id = first_id[cohort]; id < first_id[cohort + 1]; id++)
		scd__pick_set_add(set, id);
}

/* Fetch the ids of a bucket that is some ahead of one. */
static inline __attribute__((always_inline)) void
list_ages_fetch(const struct scd_list *list, size_t bucket)
{
	const struct scd__list_bucket *b =
		&list->buckets[bucket + BUCKETS_AHEAD];

	if (bucket + BUCKETS_AHEAD >= scd__list_nbuckets(list) || !b->n)
		return;
	for (uint32_t i = 0; i < b->n && i < IDS_AHEAD; i += LINE_BYTES)
		__builtin_prefetch(scd__list_ids(list, b) + i);
}

/* Entries that go, and a walk through the words for their ranks: all entries of
 * their cohorts are counted, of other ones none. */
struct list_ages_walk {
	const struct scd_list *list;
	const struct scd__pick_engine *engine;
	uint16_t first_id[SCD__COHORTS_MAX + 1];
	uint8_t meant[SCD__COHORTS_MAX]; /* cohorts of which some go */
	unsigned nmeant;
	struct scd__pick_set counted; /* ids of those that go in a group */
	size_t bucket;
	uint32_t at;
	uint64_t before[SCD__COHORTS_MAX];       /* entries, by cohort */
	uint64_t group_before[SCD__COHORTS_MAX]; /* before the group */
};

/*
 * Find entries: each one's cohort, and where it is in its bucket; of equal
 * ones the oldest. SCD_EINVAL: one is not there.
 */
static int list_ages_find(const struct scd_list *list, const uint64_t *entries,
			  size_t n, uint8_t *cohorts, uint64_t *places)
{
	size_t last = 0;
	uint32_t from = 0;

	for (size_t i = 0; i < n; i++) {
		const size_t bucket = scd__list_bucket_of(list, entries[i]);
		const struct scd__list_bucket *b = &list->buckets[bucket];

		if (i % SCD__LIST_AHEAD == 0)
			for (size_t j = i; j < n && j < i + 2 * SCD__LIST_AHEAD;
			     j++)
				scd__list_fetch(list, entries[j]);
		from = scd__list_find(list, b, bucket == last ? from : 0,
				      entries[i], 0);
		if (from == b->n)
			return SCD_EINVAL;
		cohorts[i] = list_ages_cohort(list, b, from);
		places[i] = from++;
		last = bucket;
	}
	return SCD_OK;
}

/* Count the entries of some words of the walk's bucket, and go on to one. */
static void list_ages_pass(struct list_ages_walk *walk, uint32_t to)
{
	const struct scd__list_bucket *b = &walk->list->buckets[walk->bucket];
	const uint8_t *of_id = walk->list->ages->cohorts.of_id;

	while (walk->at < to) {
		const uint8_t *ids = scd__list_ids(walk->list, b) + walk->at;
		const uint32_t n = to - walk->at < SCD__PICK_MOST
					   ? to - walk->at
					   : SCD__PICK_MOST;
		uint64_t picked = walk->engine->pick(&walk->counted, ids, n);

		for (; picked; picked &= picked - 1)
			walk->before[of_id[ids[__builtin_ctzll(picked)]]]++;
		walk->at += n;
	}
}

/* Go on to a bucket of the walk's group. */
static void list_ages_to_bucket(struct list_ages_walk *walk, size_t bucket)
{
	for (; walk->bucket < bucket; walk->bucket++, walk->at = 0) {
		list_ages_fetch(walk->list, walk->bucket);
		list_ages_pass(walk, walk->list->buckets[walk->bucket].n);
	}
}

/* Pass whole groups, by their counts, and go on to one. */
static void list_ages_to_group(struct list_ages_walk *walk, size_t group)
{
	size_t at = scd__list_group_of(walk->list, walk->bucket);

	for (; at < group; at++) {
		const uint32_t *counts = walk->list->ages->counts[at];

		for (unsigned i = 0; i < walk->nmeant; i++)
			walk->group_before[walk->meant[i]] += list_ages_count(
				counts, walk->first_id, walk->meant[i]);
	}
	memcpy(walk->before, walk->group_before, sizeof(walk->before));
	walk->counted = (struct scd__pick_set){{0}};
	walk->bucket = group << scd__list_group_log(walk->list);
	walk->at = 0;
}

static size_t list_ages_group_of(const struct scd_list *list, uint64_t entry)
{
	return scd__list_group_of(list, scd__list_bucket_of(list, entry));
}

/* The ranks of the first of n entries, as many as are in one group; at first,
 * ranks are their places. Returns how many. */
static size_t list_ages_rank_group(struct list_ages_walk *walk,
				   const uint64_t *entries, size_t n,
				   const uint8_t *cohorts, uint64_t *ranks)
{
	const size_t group = list_ages_group_of(walk->list, entries[0]);
	size_t end = 0;

	list_ages_to_group(walk, group);
	for (; end < n && list_ages_group_of(walk->list, entries[end]) == group;
	     end++)
		list_ages_mark(&walk->counted, walk->first_id, cohorts[end]);
	for (size_t i = 0; i < end; i++) {
		list_ages_to_bucket(
			walk, scd__list_bucket_of(walk->list, entries[i]));
		list_ages_pass(walk, (uint32_t)ranks[i]);
		ranks[i] = walk->before[cohorts[i]];
	}
	return end;
}

/* The ranks of entries whose places they are at first. */
static void list_ages_rank(const struct scd_list *list, const uint64_t *entries,
			   size_t n, const uint8_t *cohorts,
			   const uint64_t count[SCD__COHORTS_MAX],
			   uint64_t *ranks)
{
	struct list_ages_walk walk = {.list = list,
				      .engine = scd__pick_engine(NULL)};

	list_ages_first_ids(&list->ages->cohorts, walk.first_id);
	for (unsigned i = 0; i < list->ages->cohorts.n; i++) {
		if (count[i])
			walk.meant[walk.nmeant++] = (uint8_t)i;
	}
	for (size_t i = 0; i < n;)
		i += list_ages_rank_group(&walk, entries + i, n - i,
					  cohorts + i, ranks + i);
}

/* Put ranks, which are in the order of their entries, one cohort after the
 * other. */
static void list_ages_group(const uint64_t *ranks, const uint8_t *cohorts,
			    size_t n, struct scd__aged_ranks *out)
{
	uint64_t at[SCD__COHORTS_MAX], sum = 0;

	for (unsigned i = 0; i < SCD__COHORTS_MAX; i++) {
		at[i] = sum;
		sum += out->count[i];
	}
	for (size_t i = 0; i < n; i++)
		out->ranks[at[cohorts[i]]++] = ranks[i];
}

int scd__list_aged_ranks_of(const struct scd_list *list,
			    const uint64_t *entries, size_t n,
			    struct scd__aged_ranks *out)
{
	uint64_t *ranks = malloc((n + 1) * sizeof(*ranks));
	uint8_t *cohorts = malloc(n + 1);
	int error = ranks && cohorts ? SCD_OK : SCD_ENOMEM;

	memset(out->count, 0, sizeof(out->count));
	if (!error)
		error = list_ages_find(list, entries, n, cohorts, ranks);
	if (!error) {
		for (size_t i = 0; i < n; i++)
			out->count[cohorts[i]]++;
		list_ages_rank(list, entries, n, cohorts, out->count, ranks);
		list_ages_group(ranks, cohorts, n, out);
	}
	free(cohorts);
	free(ranks);
	return error;
}

/* Ranks of which the entries are looked for. */
struct list_ages_search {
	const struct scd_list *list;
	const struct scd__pick_engine *engine;
	const uint64_t *next[SCD__COHORTS_MAX]; /* by cohort: the next rank */
	const uint64_t *end[SCD__COHORTS_MAX];
	uint64_t before[SCD__COHORTS_MAX]; /* entries to pass until that */
	uint16_t first_id[SCD__COHORTS_MAX + 1];
	uint8_t searched[SCD__COHORTS_MAX]; /* cohorts with ranks left */
	unsigned nsearched;
	struct scd__pick_set counted; /* ids: those wanted in a group */
	uint64_t *out;
};

static void list_ages_search_begin(struct list_ages_search *s,
				   const struct scd__aged_ranks *ranks)
{
	const struct scd__cohorts *cohorts = &s->list->ages->cohorts;
	const uint64_t *at = ranks->ranks;

	list_ages_first_ids(cohorts, s->first_id);
	for (unsigned i = 0; i < cohorts->n; i++) {
		s->next[i] = at;
		at += ranks->count[i];
		s->end[i] = at;
		if (!ranks->count[i])
			continue;
		s->before[i] = *s->next[i];
		s->searched[s->nsearched++] = (uint8_t)i;
	}
}

/* Pass the entries of a cohort in a group; but if one of them is wanted, they
 * are to be counted one by one: then return true. */
static bool list_ages_is_wanted(struct list_ages_search *s, unsigned cohort,
				const uint32_t counts[SCD__COHORT_IDS])
{
	const uint64_t here = list_ages_count(counts, s->first_id, cohort);

	if (s->before[cohort] >= here) {
		s->before[cohort] -= here;
		return false;
	}
	list_ages_mark(&s->counted, s->first_id, cohort);
	return true;
}

/* Begin with a group. Returns whether something in it is wanted. */
static bool list_ages_enter_group(struct list_ages_search *s, size_t group)
{
	const uint32_t *counts = s->list->ages->counts[group];
	unsigned left = 0;
	bool any = false;

	s->counted = (struct scd__pick_set){{0}};
	for (unsigned i = 0; i < s->nsearched; i++) {
		const unsigned cohort = s->searched[i];

		if (s->next[cohort] == s->end[cohort])
			continue;
		s->searched[left++] = (uint8_t)cohort;
		any |= list_ages_is_wanted(s, cohort, counts);
	}
	s->nsearched = left;
	return any;
}

/* Go on to the next rank of a cohort, behind one that was found. */
static void list_ages_next(struct list_ages_search *s, unsigned cohort)
{
	const uint64_t rank = *s->next[cohort]++;

	s->before[cohort] = s->next[cohort] < s->end[cohort]
				    ? *s->next[cohort] - rank - 1
				    : UINT64_MAX;
}

/* Count the entries of a part of a bucket, from a place on. */
static void list_ages_search_part(struct list_ages_search *s, size_t bucket,
				  uint32_t at, unsigned n)
{
	const struct scd__list_bucket *b = &s->list->buckets[bucket];
	const uint8_t *of_id = s->list->ages->cohorts.of_id;
	const uint8_t *ids = scd__list_ids(s->list, b) + at;
	uint64_t picked = s->engine->pick(&s->counted, ids, n);

	for (; picked; picked &= picked - 1) {
		const unsigned i = (unsigned)__builtin_ctzll(picked);
		const unsigned cohort = of_id[ids[i]];

		if (s->before[cohort]-- > 0)
			continue;
		*s->out++ = scd__list_entry_at(s->list, bucket, at + i);
		list_ages_next(s, cohort);
	}
}

static void list_ages_search_bucket(struct list_ages_search *s, size_t bucket)
{
	const uint32_t n = s->list->buckets[bucket].n;

	for (uint32_t i = 0; i < n; i += SCD__PICK_MOST)
		list_ages_search_part(s, bucket, i,
				      n - i < SCD__PICK_MOST ? n - i
							     : SCD__PICK_MOST);
}

static void list_ages_search_group(struct list_ages_search *s, size_t group)
{
	const size_t nbuckets = scd__list_nbuckets(s->list);
	const unsigned log = scd__list_group_log(s->list);
	size_t bucket = group << log;
	size_t end = bucket + ((size_t)1 << log);

	if (end > nbuckets)
		end = nbuckets;
	for (; bucket < end; bucket++) {
		list_ages_fetch(s->list, bucket);
		list_ages_search_bucket(s, bucket);
	}
}

void scd__list_aged_entries_at(const struct scd_list *list,
			       const struct scd__aged_ranks *ranks,
			       uint64_t *entries)
{
	struct list_ages_search s = {
		.list = list, .engine = scd__pick_engine(NULL), .out = entries};

	list_ages_search_begin(&s, ranks);
	for (size_t group = 0; s.nsearched; group++) {
		if (list_ages_enter_group(&s, group))
			list_ages_search_group(&s, group);
	}
}
