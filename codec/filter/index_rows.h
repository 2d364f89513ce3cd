/*
 * The inside of a peer index, for index*.c: rows packed into words of 64 bits.
 *
 * A row of fewer than 64 bits is a part of a word, one of more is several
 * words. Words are the unit of access. They are stored with release and loaded
 * with acquire, which are plain moves on x86: who sees a row as changed sees
 * also what the writer has stored before it.
 *
 * That carries the proof that no lookup misses what it has to find:
 * - A bit that is set in the old and in the new filter is never stored as
 *   zero, so a mixture of old and new rows holds what both hold, as long as no
 *   more of the positions are asked for than both set.
 * - So a column has the smaller number of hash functions of the two filters
 *   while its rows change. A lookup that has seen the larger number and then a
 *   changed row also sees the new `version`, and starts again. One that sees
 *   the number go up reads rows that are complete.
 * - A column is marked as present after its rows and its number of functions,
 *   and a lookup reads the mark first. When it is made absent, `version`
 *   changes, so no lookup takes the next filter for the one before.
 */
#ifndef SCD_INDEX_ROWS_H
#define SCD_INDEX_ROWS_H

#include "codec/index.h"
#include "codec/le64.h"

enum {
	SCD__LINE_BYTES = 64, /* of a cache; rows are aligned to it */
	SCD__LINE_WORDS = SCD__LINE_BYTES / 8,
	SCD__LOOKAHEAD = 16, /* accesses under way at a time, as a core can */
	SCD__INDEX_WORDS = SCD_INDEX_MAX_COLUMNS / 64,
};

/* What only the writer reads. */
struct scd__column {
	uint64_t nbits;
	unsigned nhash; /* 0: absent */
};

struct scd_index {
	uint64_t nrows;
	unsigned row_bits;  /* 8, 16, 32 or a multiple of 64 */
	unsigned row_words; /* of an answer, so at least 1 */
	uint64_t *rows;
	void *memory;     /* of the rows, before they are aligned */
	uint64_t version; /* counts the changes of nhash and done */
	uint64_t nhash;   /* the most of all columns */
	struct scd__column *columns;
	/* A bit for each column: whether it is present; and in done[i],
	 * whether it has i hash functions at most. */
	uint64_t present[SCD__INDEX_WORDS];
	uint64_t done[SCD_MAX_HASH][SCD__INDEX_WORDS];
};

static inline uint64_t scd__load(const uint64_t *word)
{
	return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}

static inline void scd__store(uint64_t *word, uint64_t value)
{
	__atomic_store_n(word, value, __ATOMIC_RELEASE);
}

/* The word of a row that has the bit of a column. */
static inline uint64_t *scd__word_at(const struct scd_index *x, unsigned column,
				     uint64_t row)
{
	return x->rows + (row * x->row_bits + column) / 64;
}

/* 64 bits of a filter, from bit `first` (a multiple of 64), or all bits of a
 * filter that has fewer. */
static inline uint64_t scd__word_of(const struct scd_bloom *b, uint64_t first)
{
	uint64_t bits = 0;

	if (b->nbits >= 64)
		return scd__load_le64(b->bits + first / 8);
	for (size_t i = 0; i < scd_bloom_bytes(b); i++)
		bits |= (uint64_t)b->bits[i] << i * 8;
	return bits;
}

/* What stands in 64 rows, from row `first`: a filter and its copies. */
static inline uint64_t scd__rows_of(const struct scd_bloom *b, uint64_t first)
{
	uint64_t bits = scd__word_of(b, first & (b->nbits - 1));

	for (uint64_t n = b->nbits; n < 64; n *= 2)
		bits |= bits << n;
	return bits;
}

/*
 * What surrounds the writing of a filter to the rows of a column: before it,
 * the column has no more hash functions than the filter; after it, it has its
 * shape and is present.
 */
void scd__index_begin(struct scd_index *x, unsigned column,
		      const struct scd_bloom *bloom);
void scd__index_end(struct scd_index *x, unsigned column,
		    const struct scd_bloom *bloom);

#endif
