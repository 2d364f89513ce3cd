/*
 * What a list is made of, for those that change and code it.
 *
 * The entries are in 2^log buckets, by their first bits, sorted. A bucket is
 * one piece of memory with some hundred entries. Of an entry it has the last
 * bits, 16 at most, as a word; the bits between are the number of its cell, and
 * the bucket says where each of its cells ends. Where ages are kept, the ids of
 * the entries' cohorts follow the words, in the same order.
 *
 * A list with so few entries for its width that cells would take more memory
 * than they save is wide: its words have 32 bits, its buckets are smaller, and
 * each of these is one cell.
 *
 * Fingerprints are spread evenly, so all buckets have about as many. Where
 * somebody has chosen them badly, one may have all the entries: as each bucket
 * is passed once for a change, that costs no more than a pass over the list.
 * groups counts the entries of some buckets each, so that a rank is found
 * without looking at every bucket.
 */
#ifndef SCD_LIST_STATE_H
#define SCD_LIST_STATE_H

#include "codec/filter/cohorts.h"
#include "codec/list.h"
#include "codec/mix.h"

enum { SCD__LIST_MOST_CELLS_LOG = 6 }; /* of a bucket */

/* The memory of a bucket: the ends of its cells, if there are several; room for
 * so many words; for as many ids, if ages are kept. Null: room for none. */
struct scd__list_bucket {
	uint32_t *memory;
	uint32_t n, room;
};

/* Of a list that keeps ages. */
struct scd__list_ages {
	struct scd__cohorts cohorts;
	uint32_t (*counts)[SCD__COHORT_IDS]; /* by group: entries with an id */
};

struct scd_list {
	unsigned width, log;
	unsigned cell_log;  /* a bucket has 2^cell_log cells */
	unsigned word_bits; /* of an entry that its word has; the rest is in the
			     * numbers of its bucket and its cell */
	bool wide;          /* words are uint32_t, not uint16_t */
	bool has_ids;       /* also before its ages are there */
	uint64_t instance, generation;
	uint64_t n;   /* entries */
	uint64_t sum; /* of scd__list_hash() over them */
	uint64_t key; /* of that hash */
	size_t bytes; /* of the buckets' memory */
	struct scd__list_bucket *buckets;
	uint64_t *groups;
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

/* The bits of an entry that its bucket's number does not have. */
static inline unsigned scd__list_rest_bits(const struct scd_list *list)
{
	return list->cell_log + list->word_bits;
}

static inline size_t scd__list_nbuckets(const struct scd_list *list)
{
	return (size_t)1 << list->log;
}

/* The logarithm of the number of buckets of a group: so many entries that
 * counts of their ids take little memory. */
static inline unsigned scd__list_group_log(const struct scd_list *list)
{
	return list->wide ? 6 : 4;
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

static inline unsigned scd__list_cell_of(const struct scd_list *list,
					 uint64_t entry)
{
	return (unsigned)(entry >> list->word_bits) &
	       ((1u << list->cell_log) - 1);
}

static inline uint32_t scd__list_word_of(const struct scd_list *list,
					 uint64_t entry)
{
	return (uint32_t)(entry & ((UINT64_C(1) << list->word_bits) - 1));
}

/* An entry, from its bucket, its cell and its word. */
static inline uint64_t scd__list_entry(const struct scd_list *list,
				       size_t bucket, unsigned cell,
				       uint32_t word)
{
	return ((uint64_t)bucket << list->cell_log | cell) << list->word_bits |
	       word;
}

/* The ends of cells that a bucket has memory for. */
static inline size_t scd__list_nends(const struct scd_list *list)
{
	return list->cell_log ? (size_t)1 << list->cell_log : 0;
}

static inline size_t scd__list_word_bytes(const struct scd_list *list)
{
	return list->wide ? sizeof(uint32_t) : sizeof(uint16_t);
}

/* The words of a bucket that has memory: of one of both types. */
static inline void *scd__list_words(const struct scd_list *list,
				    const struct scd__list_bucket *b)
{
	return b->memory + scd__list_nends(list);
}

/* The ids of a bucket that has memory, of a list that has them. */
static inline uint8_t *scd__list_ids(const struct scd_list *list,
				     const struct scd__list_bucket *b)
{
	return (uint8_t *)scd__list_words(list, b) +
	       b->room * scd__list_word_bytes(list);
}

static inline uint32_t scd__list_word(const struct scd_list *list,
				      const struct scd__list_bucket *b,
				      uint32_t at)
{
	const void *words = scd__list_words(list, b);

	return list->wide ? ((const uint32_t *)words)[at]
			  : ((const uint16_t *)words)[at];
}

static inline void scd__list_set_word(const struct scd_list *list,
				      const struct scd__list_bucket *b,
				      uint32_t at, uint32_t word)
{
	void *words = scd__list_words(list, b);

	if (list->wide)
		((uint32_t *)words)[at] = word;
	else
		((uint16_t *)words)[at] = (uint16_t)word;
}

/* Where a cell of a bucket with entries begins, and where it ends. */
static inline uint32_t scd__list_cell_end(const struct scd_list *list,
					  const struct scd__list_bucket *b,
					  unsigned cell)
{
	return list->cell_log ? b->memory[cell] : b->n;
}

static inline uint32_t scd__list_cell_start(const struct scd_list *list,
					    const struct scd__list_bucket *b,
					    unsigned cell)
{
	return cell ? scd__list_cell_end(list, b, cell - 1) : 0;
}

/* The cell of the entry at a place, below the entries of its bucket. */
static inline unsigned scd__list_cell_at(const struct scd_list *list,
					 const struct scd__list_bucket *b,
					 uint32_t at)
{
	unsigned cell = 0;

	for (unsigned half = (1u << list->cell_log) / 2; half; half /= 2)
		cell += b->memory[cell + half - 1] <= at ? half : 0;
	return cell;
}

/* The entry at such a place. */
static inline uint64_t scd__list_entry_at(const struct scd_list *list,
					  size_t bucket, uint32_t at)
{
	const struct scd__list_bucket *b = &list->buckets[bucket];

	return scd__list_entry(list, bucket, scd__list_cell_at(list, b, at),
			       scd__list_word(list, b, at));
}

static inline size_t scd__list_group_of(const struct scd_list *list,
					size_t bucket)
{
	return bucket >> scd__list_group_log(list);
}

static inline size_t scd__list_ngroups(const struct scd_list *list)
{
	return scd__list_group_of(list, scd__list_nbuckets(list)) + 1;
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

/* The same for entries of one bucket, and their ids if the list has some. */
size_t scd__list_read_bucket(const struct scd_list *list,
			     struct scd__list_cursor *cursor, uint64_t last,
			     uint64_t *out, uint8_t *ids, size_t n);

/* The entries with some ascending ranks, below the list's entries. */
void scd__list_entries_at(const struct scd_list *list, const uint64_t *ranks,
			  size_t n, uint64_t *entries);

#endif
