/*
 * Peer indexes: the filters of many peers as one matrix of bits, so that one
 * lookup answers for all of them. A row stands for a position in the filters, a
 * column for a peer; the AND of the rows at the positions of a key is the set
 * of peers that may hold it. That costs one memory access for each hash
 * function, however many peers there are; asking filter by filter costs so many
 * for each peer.
 *
 * Sizes. An index has a power of two of rows. A filter of fewer bits, also a
 * power of two, stands in its column several times over: the positions of a
 * key in it are those in the index modulo its size (key.h). A filter whose
 * size is no power of two, or more than the rows, does not fit, nor does one
 * of another hashing, as its keys are others; ask it by itself. Filters may
 * differ in their number of hash functions: the i-th row counts for the columns
 * that have that many, and the first k of the positions for more than k
 * functions are those for k.
 *
 * Memory: rows * bytes of a row, and a row has 1, 2, 4, 8, 16, 32 or a
 * multiple of 64 bytes, the smallest that has a bit for each column. An index
 * does not grow; more columns or more rows are a new one, filled again.
 *
 * Threads. One thread may change an index while any number of others look up.
 * Nobody waits: a change stores words one by one, and writes no bit that stays
 * as it is. So a key that a column holds before and after a change is found
 * at any time during it, and other columns notice nothing. A lookup is started
 * again only if meanwhile the number of hash functions of a column has
 * changed. All other rules are as everywhere: two threads must not change an
 * index at a time, and it is freed when nobody uses it any more.
 */
#ifndef SCD_INDEX_H
#define SCD_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bloom.h"
#include "error.h"
#include "key.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
	SCD_INDEX_MIN_ROWS = 64,
	SCD_INDEX_MAX_COLUMNS = 4096, /* a row is 512 bytes then */
};

struct scd_index;

/*
 * Make an index of nrows rows (a power of two, 64..2^40) that has room for
 * ncolumns columns (1..4096); all columns are absent. Errors leave *out alone.
 * SCD_EINVAL: outside of these ranges. SCD_ENOMEM. To be released with
 * scd_index_free().
 */
int scd_index_new(struct scd_index **out, uint64_t nrows, unsigned ncolumns);

/* Release; *index becomes null. Null is accepted. */
void scd_index_free(struct scd_index **index);

/* Bytes that the rows of such an index take; SIZE_MAX: more than there can
 * be. The arguments are those of scd_index_new(). */
size_t scd_index_bytes(uint64_t nrows, unsigned ncolumns);

/* The number of rows. */
uint64_t scd_index_rows(const struct scd_index *index);

/* The number of columns: as many as were asked for, or more if a row has room
 * for more. They are numbered from 0. */
unsigned scd_index_columns(const struct scd_index *index);

/* The number of words that scd_index_lookup() writes: the columns / 64, rounded
 * up. */
unsigned scd_index_words(const struct scd_index *index);

/*
 * Where the rows lie, and how many bytes they are. For advice to the system
 * only, as madvise() gives it: an index is read at random, so large pages
 * make it faster; best said before the first column is set. Borrowed.
 */
void *scd_index_memory(const struct scd_index *index, size_t *bytes);

/* Whether a filter fits: its size is a power of two, at most the rows, and its
 * hashing SCD_HASHING_DOUBLE. */
bool scd_index_fits(const struct scd_index *index,
		    const struct scd_bloom *bloom);

/*
 * Make a column hold a filter, of which it is a copy then. An absent column
 * becomes present once all its bits are there. One that is present goes over
 * from the old filter to the new one bit by bit, and what both hold is found
 * all the while. Costs a pass over all rows. SCD_EMISMATCH: the filter does
 * not fit; the column stays as it is. column is below scd_index_columns().
 */
int scd_index_set(struct scd_index *index, unsigned column,
		  const struct scd_bloom *bloom);

/*
 * scd_index_set() for many columns, filters[i] for column i, i < n (at most the
 * columns); where it is null, the column stays as it is. In one pass over all
 * rows for each 64 columns, which is how an index is best filled.
 * SCD_EMISMATCH: one does not fit; all columns stay as they are.
 */
int scd_index_fill(struct scd_index *index,
		   const struct scd_bloom *const *filters, unsigned n);

/*
 * Flip bits of a column: those that are set in `flips`, the difference of two
 * filters (scd_bloom_xor()). Costs a pass over flips, and one memory access
 * for each bit flipped, times the copies of a smaller filter. SCD_EMISMATCH:
 * flips does not have the shape of the filter in the column, or the column is
 * absent; nothing is flipped then.
 */
int scd_index_flip(struct scd_index *index, unsigned column,
		   const struct scd_bloom *flips);

/*
 * Flip the bits of a column at n distinct positions of its filter, which is
 * faster if they ascend. SCD_EINVAL: a position is outside of the filter.
 * SCD_EMISMATCH: the column is absent. Nothing is flipped then.
 */
int scd_index_flip_at(struct scd_index *index, unsigned column,
		      const uint64_t *at, size_t n);

/* Make a column absent: it holds no key from now on, and may be set again.
 * Costs nothing; an absent one is accepted. */
void scd_index_remove(struct scd_index *index, unsigned column);

/* Whether a column is present. */
bool scd_index_has(const struct scd_index *index, unsigned column);

/*
 * Which columns may hold a key: bit c & 63 of out[c >> 6] says it of column c.
 * out has scd_index_words() words. Returns whether any bit is set. Cannot
 * fail.
 */
bool scd_index_lookup(const struct scd_index *index, const struct scd_key *key,
		      uint64_t *out);

/*
 * scd_index_lookup() of keys[0..n-1]; out has n * scd_index_words() words,
 * those of the first key first. Faster than one by one, since the memory
 * accesses of several keys overlap.
 */
void scd_index_lookup_many(const struct scd_index *index,
			   const struct scd_key *keys, size_t n, uint64_t *out);

#ifdef __cplusplus
}
#endif

#endif
