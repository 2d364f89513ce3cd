/*
 * What a list is made of, for those that change and code it.
 *
 * The entries are in 2^log buckets, by their first bits, sorted; a bucket keeps
 * the other bits, 32 of them at most. Fingerprints are spread evenly, so all
 * buckets have about as many. Where somebody has chosen them badly, one may
 * have all the entries: as each bucket is passed once for a change, that costs
 * no more than a pass over the list. groups counts the entries of 64 buckets
 * each, so that a rank is found without looking at every bucket.
 */
#ifndef SCD_LIST_STATE_H
#define SCD_LIST_STATE_H

#include "codec/list.h"
#include "codec/mix.h"

enum { SCD__LIST_GROUP_LOG = 6 };

struct scd__list_bucket {
	uint32_t *rest; /* of its entries: the bits below the bucket's */
	uint32_t n, room;
};

struct scd_list {
	unsigned width, log;
	uint64_t instance, generation;
	uint64_t n;   /* entries */
	uint64_t sum; /* of scd__list_hash() over them */
	uint64_t key; /* of that hash */
	struct scd__list_bucket *buckets;
	uint64_t *groups;
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
 * Append the next n entries to a new list: none is below those that it has.
 * SCD_ENOMEM: some of them may be there; all that may be done is to free it.
 */
int scd__list_append(struct scd_list *list, const uint64_t *entries, size_t n);

/*
 * Is a change in order, and the list large enough for it? The errors of
 * scd_list_change(), but for an entry that is not there, and SCD_ENOMEM.
 */
int scd__list_check_change(const struct scd_list *list,
			   const struct scd_list_change *c);

/* The bits of an entry that its bucket keeps. */
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

static inline uint32_t scd__list_rest_of(const struct scd_list *list,
					 uint64_t entry)
{
	return (uint32_t)(entry &
			  ((UINT64_C(1) << scd__list_rest_bits(list)) - 1));
}

/* An entry, from its bucket and what that keeps. */
static inline uint64_t scd__list_entry(const struct scd_list *list,
				       size_t bucket, uint32_t rest)
{
	return (uint64_t)bucket << scd__list_rest_bits(list) | rest;
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
