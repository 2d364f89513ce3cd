/*
 * Lists that keep ages. A rank within a cohort is found by the counts of the
 * groups before, and a pass over the words of the group, of which only those of
 * cohorts that are meant are counted one by one: 2 to 6 us for one entry that
 * goes, and .8 ns for each entry of the list where many do. The rank of an
 * entry takes twice as long.
 */
#include "codec/filter/list_ages.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "codec/filter/list_pick.h"
#include "codec/filter/list_search.h"

enum {
	/* What is fetched before it is looked through: of a bucket some ahead,
	 * as many lines as most buckets have. */
	BUCKETS_AHEAD = 4,
	LINES_AHEAD = 5,
	LINE_WORDS = 16,
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
		uint32_t *of_group = counts[i >> SCD__LIST_GROUP_LOG];

		for (uint32_t j = 0; j < b->n; j++)
			of_group[scd__list_id_of(copy, b->words[j])]++;
	}
	free(ages->counts);
	ages->counts = counts;
	return SCD_OK;
}

/* Give other ids to all entries, which ascend as those before. */
static void list_ages_map(struct scd_list *list,
			  const uint8_t map[SCD__COHORT_IDS])
{
	const uint32_t ids = SCD__COHORT_IDS - 1;

	for (size_t i = 0; i < scd__list_nbuckets(list); i++) {
		struct scd__list_bucket *b = &list->buckets[i];

		for (uint32_t j = 0; j < b->n; j++)
			b->words[j] =
				(b->words[j] & ~ids) | map[b->words[j] & ids];
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

		for (uint32_t j = 0; j < b->n; j++)
			b->words[j] |= of_entry[done++];
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
		error = scd__list_set_id_bits(list, SCD__COHORT_ID_BITS);
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

static unsigned list_ages_cohort(const struct scd_list *list, uint32_t word)
{
	return list->ages->cohorts.of_id[scd__list_id_of(list, word)];
}

void scd__list_ages_read(const struct scd_list *list, uint8_t *of_entry)
{
	size_t done = 0;

	for (size_t i = 0; i < scd__list_nbuckets(list); i++) {
		const struct scd__list_bucket *b = &list->buckets[i];

		for (uint32_t j = 0; j < b->n; j++)
			of_entry[done++] =
				(uint8_t)list_ages_cohort(list, b->words[j]);
	}
}

/* A walk through the words in their order; all zero before the first. */
struct list_ages_walk {
	size_t bucket;
	uint32_t at;
	uint64_t before[SCD__COHORTS_MAX];       /* entries, by cohort */
	uint64_t group_before[SCD__COHORTS_MAX]; /* before the bucket's group */
};

/* Pass the words of the walk's bucket up to one. */
static void list_ages_pass(const struct scd_list *list,
			   struct list_ages_walk *walk, uint32_t to)
{
	const struct scd__list_bucket *b = &list->buckets[walk->bucket];

	for (; walk->at < to; walk->at++)
		walk->before[list_ages_cohort(list, b->words[walk->at])]++;
}

static void list_ages_to_group(const struct scd_list *list,
			       struct list_ages_walk *walk, size_t group)
{
	const struct scd__cohorts *cohorts = &list->ages->cohorts;

	for (size_t g = walk->bucket >> SCD__LIST_GROUP_LOG; g < group; g++) {
		for (unsigned id = 0; id < cohorts->nids; id++)
			walk->group_before[cohorts->of_id[id]] +=
				list->ages->counts[g][id];
	}
	memcpy(walk->before, walk->group_before, sizeof(walk->before));
	walk->bucket = group << SCD__LIST_GROUP_LOG;
	walk->at = 0;
}

static void list_ages_to_bucket(const struct scd_list *list,
				struct list_ages_walk *walk, size_t bucket)
{
	const size_t group = bucket >> SCD__LIST_GROUP_LOG;

	if (walk->bucket >> SCD__LIST_GROUP_LOG < group)
		list_ages_to_group(list, walk, group);
	for (; walk->bucket < bucket; walk->bucket++, walk->at = 0)
		list_ages_pass(list, walk, list->buckets[walk->bucket].n);
}

/* Find an entry, not before the walk: its cohort and its rank there, and pass
 * it. SCD_EINVAL: it is not there. */
static int list_ages_find(const struct scd_list *list,
			  struct list_ages_walk *walk, uint64_t entry,
			  unsigned *cohort, uint64_t *rank)
{
	const uint32_t word = scd__list_word_of(list, entry);
	const struct scd__list_bucket *b;
	uint32_t at;

	list_ages_to_bucket(list, walk, scd__list_bucket_of(list, entry));
	b = &list->buckets[walk->bucket];
	at = scd__list_place(list, b, walk->at, word);
	if (at == b->n || !scd__list_is_same(list, b->words[at], word))
		return SCD_EINVAL;
	list_ages_pass(list, walk, at);
	*cohort = list_ages_cohort(list, b->words[at]);
	*rank = walk->before[*cohort];
	list_ages_pass(list, walk, at + 1);
	return SCD_OK;
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
	struct list_ages_walk walk = {0};
	uint64_t *ranks = malloc((n + 1) * sizeof(*ranks));
	uint8_t *cohorts = malloc(n + 1);
	int error = ranks && cohorts ? SCD_OK : SCD_ENOMEM;

	memset(out->count, 0, sizeof(out->count));
	for (size_t i = 0; i < n && !error; i++) {
		unsigned cohort = 0;

		error = list_ages_find(list, &walk, entries[i], &cohort,
				       &ranks[i]);
		cohorts[i] = (uint8_t)cohort;
		out->count[cohort]++;
	}
	if (!error)
		list_ages_group(ranks, cohorts, n, out);
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

/* The first id of each cohort, and of one behind them. */
static void list_ages_first_ids(const struct scd__cohorts *cohorts,
				uint16_t first_id[SCD__COHORTS_MAX + 1])
{
	for (unsigned id = cohorts->nids; id-- > 0;)
		first_id[cohorts->of_id[id]] = (uint16_t)id;
	first_id[cohorts->n] = (uint16_t)cohorts->nids;
}

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
	const unsigned first = s->first_id[cohort];
	const unsigned end = s->first_id[cohort + 1];
	uint64_t here = 0;

	for (unsigned id = first; id < end; id++)
		here += counts[id];
	if (s->before[cohort] >= here) {
		s->before[cohort] -= here;
		return false;
	}
	for (unsigned id = first; id < end; id++)
		scd__pick_set_add(&s->counted, id);
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

/* Count the entries of a part of a bucket. */
static void list_ages_search_part(struct list_ages_search *s, size_t bucket,
				  const uint32_t *words, unsigned n)
{
	const uint8_t *of_id = s->list->ages->cohorts.of_id;
	uint64_t picked = s->engine->pick(&s->counted, words, n);

	for (; picked; picked &= picked - 1) {
		const uint32_t word = words[__builtin_ctzll(picked)];
		const unsigned cohort = of_id[word & (SCD__COHORT_IDS - 1)];

		if (s->before[cohort]-- > 0)
			continue;
		*s->out++ = scd__list_entry(s->list, bucket, word);
		list_ages_next(s, cohort);
	}
}

static void list_ages_search_bucket(struct list_ages_search *s, size_t bucket)
{
	const struct scd__list_bucket *b = &s->list->buckets[bucket];

	for (uint32_t i = 0; i < b->n; i += SCD__PICK_MOST)
		list_ages_search_part(s, bucket, b->words + i,
				      b->n - i < SCD__PICK_MOST
					      ? b->n - i
					      : SCD__PICK_MOST);
}

/* What is looked at first of a bucket, to be fetched before. */
static const uint32_t *list_ages_words(const struct scd_list *list,
				       size_t bucket)
{
	return bucket < scd__list_nbuckets(list) ? list->buckets[bucket].words
						 : NULL;
}

static void list_ages_search_group(struct list_ages_search *s, size_t group)
{
	const size_t nbuckets = scd__list_nbuckets(s->list);
	size_t bucket = group << SCD__LIST_GROUP_LOG;
	size_t end = bucket + (1 << SCD__LIST_GROUP_LOG);

	if (end > nbuckets)
		end = nbuckets;
	for (; bucket < end; bucket++) {
		const uint32_t *ahead =
			list_ages_words(s->list, bucket + BUCKETS_AHEAD);

		for (unsigned i = 0; ahead && i < LINES_AHEAD; i++)
			__builtin_prefetch(ahead + i * LINE_WORDS);
		list_ages_search_bucket(s, bucket);
	}
}

void scd__list_aged_entries_at(const struct scd_list *list,
			       const struct scd__aged_ranks *ranks,
			       uint64_t *entries)
{
	struct list_ages_search s = {.list = list,
				     .engine = scd__pick_engine(),
				     .out = entries};

	list_ages_search_begin(&s, ranks);
	for (size_t group = 0; s.nsearched; group++) {
		if (list_ages_enter_group(&s, group))
			list_ages_search_group(&s, group);
	}
}
