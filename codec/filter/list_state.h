/*
 * What a list is made of, for those that change and code it.
 *
 * The entries are in 2^log buckets, by their first bits, sorted; a bucket keeps
 * the other bits, and where ages are kept, behind them, the id of the entry's
 * cohort: that is its word, 32 bits at most. Fingerprints are spread evenly, so
 * all buckets have about as many. Where somebody has chosen them badly, one may
 * have all the entries: as each bucket is passed once for a change, that costs
 * no more than a pass over the list. groups counts the entries of 64 buckets
 * each, so that a rank is found without looking at every bucket.
 */
#ifndef SCD_LIST_STATE_H
#define SCD_LIST_STATE_H

#include "codec/filter/cohorts.h"
#include "codec/list.h"
#include "codec/mix.h"

enum { SCD__LIST_GROUP_LOG = 6 };

struct scd__list_bucket {
	uint32_t *words; /* of its entries, in order */
	uint32_t n, room;
};

/* Of a list that keeps ages. */
struct scd__list_ages {
	struct scd__cohorts cohorts;
	uint32_t (*counts)[SCD__COHORT_IDS]; /* by group: entries with an id */
};

struct scd_list {
	unsigned width, log;
	uint64_t instance, generation;
	uint64_t n;   /* entries */
	uint64_t sum; /* of scd__list_hash() over them */
	uint64_t key; /* of that hash */
	struct scd__list_bucket *buckets;
	uint64_t *groups;
	unsigned id_bits; /* of a word: 0 without ages */
	struct scd__list_ages *ages; /* null: not kept */
};

/*
 * What a list's checksum adds up over its entries, modulo 2^64: a multiset hash
 * of accidents, not of forgers. A sum, as twins would cancel in an XOR.
 * Source: Clarke, Devadas, van Dijk, Gassend, Suh, "Incremental Multiset Hash
 * Functions", 2003.
 */
static inline uint64_t scd__list_hash(const struct scd_list *list,
				      uint64_t entry)
{
	return scd__mix64(list->key + entry);
}

/* Make an empty list as scd_list_new(), with buckets for n entries. */
int scd__list_new_for(struct scd_list **out, unsigned width, uint64_t instance,
		      uint64_t n);

/*
 * Append the next n entries to a new list without ages: none is below those
 * that it has. SCD_ENOMEM: some of them may be there; all that may be done is
 * to free it.
 */
int scd__list_append(struct scd_list *list, const uint64_t *entries, size_t n);

/*
 * Is a change in order, and the list large enough for it? The errors of
 * scd_list_change(), but for an entry that is not there, and SCD_ENOMEM.
 */
int scd__list_check_change(const struct scd_list *list,
			   const struct scd_list_change *c);

/* The checksum that a list has after a change. */
uint64_t scd__list_sum_after(const struct scd_list *list,
			     const struct scd_list_change *c);

/* The bits of an entry that are in its word. */
static inline unsigned scd__list_rest_bits(const struct scd_list *list)
{
	return list->width - list->log;
}

static inline size_t scd__list_nbuckets(const struct scd_list *list)
{
	return (size_t)1 << list->log;
}

/* The largest fingerprint. */
static inline uint64_t scd__list_last(const struct scd_list *list)
{
	return (UINT64_C(1) << list->width) - 1;
}

static inline size_t scd__list_bucket_of(const struct scd_list *list,
					 uint64_t entry)
{
	return (size_t)(entry >> scd__list_rest_bits(list));
}

/* The first word that an entry may have: that of the oldest cohort. */
static inline uint32_t scd__list_word_of(const struct scd_list *list,
					 uint64_t entry)
{
	const uint64_t rest =
		entry & ((UINT64_C(1) << scd__list_rest_bits(list)) - 1);

	return (uint32_t)(rest << list->id_bits);
}

static inline unsigned scd__list_id_of(const struct scd_list *list,
				       uint32_t word)
{
	return word & ((1u << list->id_bits) - 1);
}

/* Whether two words of a bucket are of equal entries. */
static inline bool scd__list_is_same(const struct scd_list *list, uint32_t a,
				     uint32_t b)
{
	return (a ^ b) >> list->id_bits == 0;
}

/* An entry, from its bucket and its word. */
static inline uint64_t scd__list_entry(const struct scd_list *list,
				       size_t bucket, uint32_t word)
{
	return (uint64_t)bucket << scd__list_rest_bits(list) |
	       word >> list->id_bits;
}

static inline size_t scd__list_ngroups(const struct scd_list *list)
{
	return (scd__list_nbuckets(list) >> SCD__LIST_GROUP_LOG) + 1;
}

/*
 * The ranks of entries that are to go: the first ones of equal entries.
 * SCD_EINVAL: one is not there. Sorted, as in struct scd_list_change.
 */
int scd__list_ranks_of(const struct scd_list *list, const uint64_t *entries,
		       size_t n, uint64_t *ranks);

/* How many entries are from one number to another, of which `most` at most are
 * counted. Takes no longer than a pass over the buckets between them. */
uint64_t scd__list_count(const struct scd_list *list, uint64_t first,
			 uint64_t last, uint64_t most);

/* A place in a list, which no change has passed since it was made. */
struct scd__list_cursor {
	size_t bucket;
	uint32_t at;
};

/* The first entry that is not below a number. */
struct scd__list_cursor scd__list_seek(const struct scd_list *list,
				       uint64_t first);

/* Copy up to n entries that are not above a number, and go on behind them.
 * Returns how many there were. */
size_t scd__list_read(const struct scd_list *list,
		      struct scd__list_cursor *cursor, uint64_t last,
		      uint64_t *out, size_t n);

/* The entries with some ascending ranks, below the list's entries. */
void scd__list_entries_at(const struct scd_list *list, const uint64_t *ranks,
			  size_t n, uint64_t *entries);

#endif
