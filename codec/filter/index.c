/*
 * Peer indexes: making them, and changing one column at a time.
 */
#include "codec/filter/index_rows.h"

#include <assert.h>
#include <stdlib.h>

static void index_store_bit(uint64_t *words, unsigned column, bool value)
{
	uint64_t *word = &words[column / 64];
	uint64_t bit = UINT64_C(1) << column % 64;

	scd__store(word,
		   value ? scd__load(word) | bit : scd__load(word) & ~bit);
}

static bool index_is_power_of_two(uint64_t n)
{
	return n && !(n & (n - 1));
}

static unsigned index_row_bits(unsigned ncolumns)
{
	const unsigned line_bits = SCD__LINE_BYTES * 8;
	unsigned bits = 8;

	while (bits < ncolumns && bits < line_bits)
		bits *= 2;
	if (bits < ncolumns)
		bits = (ncolumns + line_bits - 1) / line_bits * line_bits;
	return bits;
}

size_t scd_index_bytes(uint64_t nrows, unsigned ncolumns)
{
	unsigned row_bytes = index_row_bits(ncolumns) / 8;

	if (nrows > (SIZE_MAX / 2 - SCD__LINE_BYTES) / row_bytes)
		return SIZE_MAX;
	return (size_t)nrows * row_bytes;
}

static int index_allocate(struct scd_index *x, unsigned ncolumns)
{
	size_t bytes = scd_index_bytes(x->nrows, ncolumns);
	uintptr_t at;

	if (bytes == SIZE_MAX)
		return SCD_ENOMEM;
	x->columns = calloc(scd_index_columns(x), sizeof(x->columns[0]));
	x->memory = calloc(1, bytes + SCD__LINE_BYTES - 1);
	if (!x->columns || !x->memory)
		return SCD_ENOMEM;
	at = (uintptr_t)x->memory;
	x->rows = (uint64_t *)((at + SCD__LINE_BYTES - 1) / SCD__LINE_BYTES *
			       SCD__LINE_BYTES);
	return SCD_OK;
}

int scd_index_new(struct scd_index **out, uint64_t nrows, unsigned ncolumns)
{
	struct scd_index *x;
	int error;

	if (!index_is_power_of_two(nrows) || nrows < SCD_INDEX_MIN_ROWS ||
	    nrows > SCD_BLOOM_MAX_BITS)
		return SCD_EINVAL;
	if (ncolumns < 1 || ncolumns > SCD_INDEX_MAX_COLUMNS)
		return SCD_EINVAL;
	x = calloc(1, sizeof(*x));
	if (!x)
		return SCD_ENOMEM;
	x->nrows = nrows;
	x->row_bits = index_row_bits(ncolumns);
	x->row_words = (x->row_bits + 63) / 64;
	error = index_allocate(x, ncolumns);
	if (error) {
		scd_index_free(&x);
		return error;
	}
	*out = x;
	return SCD_OK;
}

void scd_index_free(struct scd_index **index)
{
	if (!*index)
		return;
	free((*index)->columns);
	free((*index)->memory);
	free(*index);
	*index = NULL;
}

uint64_t scd_index_rows(const struct scd_index *index)
{
	return index->nrows;
}

unsigned scd_index_columns(const struct scd_index *index)
{
	return index->row_bits;
}

unsigned scd_index_words(const struct scd_index *index)
{
	return index->row_words;
}

void *scd_index_memory(const struct scd_index *index, size_t *bytes)
{
	*bytes = scd_index_bytes(index->nrows, index->row_bits);
	return index->rows;
}

bool scd_index_fits(const struct scd_index *index,
		    const struct scd_bloom *bloom)
{
	return index_is_power_of_two(bloom->nbits) &&
	       bloom->nbits <= index->nrows &&
	       bloom->hashing == SCD_HASHING_DOUBLE;
}

/* Columns */

/* Says how many hash functions a column has; 0: absent, it does not count. */
static void index_set_nhash(struct scd_index *x, unsigned column,
			    unsigned nhash)
{
	unsigned most = 0;

	if (x->columns[column].nhash == nhash)
		return;
	x->columns[column].nhash = nhash;
	for (unsigned i = 0; i < x->row_bits; i++) {
		if (x->columns[i].nhash > most)
			most = x->columns[i].nhash;
	}
	for (unsigned i = 0; i < SCD_MAX_HASH; i++)
		index_store_bit(x->done[i], column, nhash <= i);
	scd__store(&x->nhash, most);
	scd__store(&x->version, x->version + 1);
}

void scd__index_begin(struct scd_index *x, unsigned column,
		      const struct scd_bloom *bloom)
{
	if (x->columns[column].nhash > bloom->nhash)
		index_set_nhash(x, column, bloom->nhash);
}

void scd__index_end(struct scd_index *x, unsigned column,
		    const struct scd_bloom *bloom)
{
	index_set_nhash(x, column, bloom->nhash);
	x->columns[column].nbits = bloom->nbits;
	index_store_bit(x->present, column, true);
}

/* Bit i of the lowest 64 / to bits goes to bit i * to; the others vanish. */
static inline uint64_t index_spread(uint64_t bits, unsigned to)
{
	switch (to) {
	case 8:
		bits = ((bits & 0xff) | bits << 28) & UINT64_C(0xf0000000f);
		bits = (bits | bits << 14) & UINT64_C(0x3000300030003);
		return (bits | bits << 7) & UINT64_C(0x101010101010101);
	case 16:
		bits = ((bits & 0xf) | bits << 30) & UINT64_C(0x300000003);
		return (bits | bits << 15) & UINT64_C(0x1000100010001);
	case 32:
		return ((bits & 3) | bits << 31) & UINT64_C(0x100000001);
	default:
		return bits & 1;
	}
}

/* Writes the bits of a column in 64 rows. Inlined, to have row_bits constant
 * where it counts. */
static inline void index_put_rows(uint64_t *word, unsigned step, unsigned shift,
				  unsigned row_bits, uint64_t bits)
{
	unsigned rows = row_bits < 64 ? 64 / row_bits : 1; /* a word */
	uint64_t keep = ~(index_spread(UINT64_MAX, row_bits) << shift);

	for (unsigned i = 0; i < 64; i += rows, word += step) {
		uint64_t old = scd__load(word);
		uint64_t new = index_spread(bits >> i, row_bits) << shift;

		scd__store(word, (old & keep) | new);
	}
}

static void index_put_column(struct scd_index *x, unsigned column,
			     const struct scd_bloom *b)
{
	uint64_t *word = x->rows + column / 64;
	unsigned shift = column % 64;

	for (uint64_t first = 0; first < x->nrows; first += 64) {
		uint64_t bits = scd__rows_of(b, first);

		switch (x->row_bits) {
		case 8:
			index_put_rows(word, 1, shift, 8, bits);
			break;
		case 16:
			index_put_rows(word, 1, shift, 16, bits);
			break;
		case 32:
			index_put_rows(word, 1, shift, 32, bits);
			break;
		case 64:
			index_put_rows(word, 1, shift, 64, bits);
			break;
		default:
			index_put_rows(word, x->row_words, shift, 64, bits);
		}
		word += x->row_bits;
	}
}

int scd_index_set(struct scd_index *index, unsigned column,
		  const struct scd_bloom *bloom)
{
	assert(column < index->row_bits);
	if (!scd_index_fits(index, bloom))
		return SCD_EMISMATCH;
	scd__index_begin(index, column, bloom);
	index_put_column(index, column, bloom);
	scd__index_end(index, column, bloom);
	return SCD_OK;
}

void scd_index_remove(struct scd_index *index, unsigned column)
{
	assert(column < index->row_bits);
	index_store_bit(index->present, column, false);
	index_set_nhash(index, column, 0);
}

bool scd_index_has(const struct scd_index *index, unsigned column)
{
	assert(column < index->row_bits);
	return scd__load(&index->present[column / 64]) >> column % 64 & 1;
}

/* Flips */

static uint64_t index_bit_at(const struct scd_index *x, unsigned column,
			     uint64_t row)
{
	return UINT64_C(1) << (row * x->row_bits + column) % 64;
}

/* Flips rows first + at[i]. */
static void index_flip_rows(struct scd_index *x, unsigned column,
			    uint64_t first, const uint64_t *at, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		uint64_t row = first + at[i];
		uint64_t *word = scd__word_at(x, column, row);
		uint64_t ahead =
			i + SCD__LOOKAHEAD < n ? at[i + SCD__LOOKAHEAD] : at[i];

		__builtin_prefetch(scd__word_at(x, column, first + ahead), 1);
		scd__store(word,
			   scd__load(word) ^ index_bit_at(x, column, row));
	}
}

/* The same in all copies of the filter. */
static void index_flip_copies(struct scd_index *x, unsigned column,
			      const uint64_t *at, size_t n)
{
	uint64_t nbits = x->columns[column].nbits;

	for (uint64_t first = 0; first < x->nrows; first += nbits)
		index_flip_rows(x, column, first, at, n);
}

int scd_index_flip_at(struct scd_index *index, unsigned column,
		      const uint64_t *at, size_t n)
{
	assert(column < index->row_bits);
	if (!scd_index_has(index, column))
		return SCD_EMISMATCH;
	for (size_t i = 0; i < n; i++) {
		if (at[i] >= index->columns[column].nbits)
			return SCD_EINVAL;
	}
	index_flip_copies(index, column, at, n);
	return SCD_OK;
}

/*
 * Adds the numbers of the bits that are set to a list. The first one is put
 * down without asking whether there is any: in a delta most words have none or
 * one, at random, and a branch would be guessed wrong each time.
 */
static size_t index_add_ones(uint64_t *at, size_t n, uint64_t first,
			     uint64_t bits)
{
	const uint64_t top = UINT64_C(1) << 63; /* ctz of 0 is undefined */

	at[n] = first + (unsigned)__builtin_ctzll(bits | top);
	n += bits != 0;
	for (bits &= bits - 1; bits; bits &= bits - 1)
		at[n++] = first + (unsigned)__builtin_ctzll(bits);
	return n;
}

int scd_index_flip(struct scd_index *index, unsigned column,
		   const struct scd_bloom *flips)
{
	enum { CAP = 512 };
	uint64_t at[CAP];
	size_t n = 0;

	assert(column < index->row_bits);
	if (!scd_index_has(index, column) ||
	    index->columns[column].nbits != flips->nbits ||
	    index->columns[column].nhash != flips->nhash ||
	    flips->hashing != SCD_HASHING_DOUBLE)
		return SCD_EMISMATCH;
	for (uint64_t first = 0; first < flips->nbits; first += 64) {
		n = index_add_ones(at, n, first, scd__word_of(flips, first));
		if (n > CAP - 64) {
			index_flip_copies(index, column, at, n);
			n = 0;
		}
	}
	index_flip_copies(index, column, at, n);
	return SCD_OK;
}
