/*
 * Peer indexes: rows packed into words of 64 bits.
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
#include "codec/index.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum {
	LINE_BYTES = 64, /* of a cache; rows are aligned to it */
	LINE_WORDS = LINE_BYTES / 8,
	LOOKAHEAD =
		16, /* accesses under way at a time: what a core can track */
	MAX_WORDS = SCD_INDEX_MAX_COLUMNS / 64,
};

/* What only the writer reads. */
struct column {
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
	struct column *columns;
	/* A bit for each column: whether it is present; and in done[i],
	 * whether it has i hash functions at most. */
	uint64_t present[MAX_WORDS];
	uint64_t done[SCD_MAX_HASH][MAX_WORDS];
};

static uint64_t load(const uint64_t *word)
{
	return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}

static void store(uint64_t *word, uint64_t value)
{
	__atomic_store_n(word, value, __ATOMIC_RELEASE);
}

static void store_bit(uint64_t *words, unsigned column, bool value)
{
	uint64_t *word = &words[column / 64];
	uint64_t bit = UINT64_C(1) << column % 64;

	store(word, value ? load(word) | bit : load(word) & ~bit);
}

static bool is_power_of_two(uint64_t n)
{
	return n && !(n & (n - 1));
}

static unsigned row_bits(unsigned ncolumns)
{
	const unsigned line_bits = LINE_BYTES * 8;
	unsigned bits = 8;

	while (bits < ncolumns && bits < line_bits)
		bits *= 2;
	if (bits < ncolumns)
		bits = (ncolumns + line_bits - 1) / line_bits * line_bits;
	return bits;
}

size_t scd_index_bytes(uint64_t nrows, unsigned ncolumns)
{
	unsigned row_bytes = row_bits(ncolumns) / 8;

	if (nrows > (SIZE_MAX / 2 - LINE_BYTES) / row_bytes)
		return SIZE_MAX;
	return (size_t)nrows * row_bytes;
}

static int allocate(struct scd_index *x, unsigned ncolumns)
{
	size_t bytes = scd_index_bytes(x->nrows, ncolumns);
	uintptr_t at;

	if (bytes == SIZE_MAX)
		return SCD_ENOMEM;
	x->columns = calloc(scd_index_columns(x), sizeof(x->columns[0]));
	x->memory = calloc(1, bytes + LINE_BYTES - 1);
	if (!x->columns || !x->memory)
		return SCD_ENOMEM;
	at = (uintptr_t)x->memory;
	x->rows = (uint64_t *)((at + LINE_BYTES - 1) / LINE_BYTES * LINE_BYTES);
	return SCD_OK;
}

int scd_index_new(struct scd_index **out, uint64_t nrows, unsigned ncolumns)
{
	struct scd_index *x;
	int error;

	if (!is_power_of_two(nrows) || nrows < SCD_INDEX_MIN_ROWS ||
	    nrows > SCD_BLOOM_MAX_BITS)
		return SCD_EINVAL;
	if (ncolumns < 1 || ncolumns > SCD_INDEX_MAX_COLUMNS)
		return SCD_EINVAL;
	x = calloc(1, sizeof(*x));
	if (!x)
		return SCD_ENOMEM;
	x->nrows = nrows;
	x->row_bits = row_bits(ncolumns);
	x->row_words = (x->row_bits + 63) / 64;
	error = allocate(x, ncolumns);
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
	return is_power_of_two(bloom->nbits) && bloom->nbits <= index->nrows &&
	       bloom->hashing == SCD_HASHING_DOUBLE;
}

/* Columns */

/* Says how many hash functions a column has; 0: absent, it does not count. */
static void set_nhash(struct scd_index *x, unsigned column, unsigned nhash)
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
		store_bit(x->done[i], column, nhash <= i);
	store(&x->nhash, most);
	store(&x->version, x->version + 1);
}

static inline uint64_t little_endian(const uint8_t *p)
{
	/* Spelled out, it is one load to all compilers. */
	return (uint64_t)p[0] | (uint64_t)p[1] << 8 | (uint64_t)p[2] << 16 |
	       (uint64_t)p[3] << 24 | (uint64_t)p[4] << 32 |
	       (uint64_t)p[5] << 40 | (uint64_t)p[6] << 48 |
	       (uint64_t)p[7] << 56;
}

/* 64 bits of a filter, from bit `first` (a multiple of 64), or all bits of a
 * filter that has fewer. */
static inline uint64_t word_of(const struct scd_bloom *b, uint64_t first)
{
	uint64_t bits = 0;

	if (b->nbits >= 64)
		return little_endian(b->bits + first / 8);
	for (size_t i = 0; i < scd_bloom_bytes(b); i++)
		bits |= (uint64_t)b->bits[i] << i * 8;
	return bits;
}

/* What stands in 64 rows, from row `first`: a filter and its copies. */
static inline uint64_t rows_of(const struct scd_bloom *b, uint64_t first)
{
	uint64_t bits = word_of(b, first & (b->nbits - 1));

	for (uint64_t n = b->nbits; n < 64; n *= 2)
		bits |= bits << n;
	return bits;
}

/* Bit i of the lowest 64 / to bits goes to bit i * to; the others vanish. */
static inline uint64_t spread(uint64_t bits, unsigned to)
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
static inline void put_rows(uint64_t *word, unsigned step, unsigned shift,
			    unsigned row_bits, uint64_t bits)
{
	unsigned rows = row_bits < 64 ? 64 / row_bits : 1; /* a word */
	uint64_t keep = ~(spread(UINT64_MAX, row_bits) << shift);

	for (unsigned i = 0; i < 64; i += rows, word += step) {
		uint64_t old = load(word);
		uint64_t new = spread(bits >> i, row_bits) << shift;

		store(word, (old & keep) | new);
	}
}

static void put_column(struct scd_index *x, unsigned column,
		       const struct scd_bloom *b)
{
	uint64_t *word = x->rows + column / 64;
	unsigned shift = column % 64;

	for (uint64_t first = 0; first < x->nrows; first += 64) {
		uint64_t bits = rows_of(b, first);

		switch (x->row_bits) {
		case 8:
			put_rows(word, 1, shift, 8, bits);
			break;
		case 16:
			put_rows(word, 1, shift, 16, bits);
			break;
		case 32:
			put_rows(word, 1, shift, 32, bits);
			break;
		case 64:
			put_rows(word, 1, shift, 64, bits);
			break;
		default:
			put_rows(word, x->row_words, shift, 64, bits);
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
	if (index->columns[column].nhash > bloom->nhash)
		set_nhash(index, column, bloom->nhash);
	put_column(index, column, bloom);
	set_nhash(index, column, bloom->nhash);
	index->columns[column].nbits = bloom->nbits;
	store_bit(index->present, column, true);
	return SCD_OK;
}

void scd_index_remove(struct scd_index *index, unsigned column)
{
	assert(column < index->row_bits);
	store_bit(index->present, column, false);
	set_nhash(index, column, 0);
}

bool scd_index_has(const struct scd_index *index, unsigned column)
{
	assert(column < index->row_bits);
	return load(&index->present[column / 64]) >> column % 64 & 1;
}

/* Flips */

static uint64_t *word_at(const struct scd_index *x, unsigned column,
			 uint64_t row)
{
	return x->rows + (row * x->row_bits + column) / 64;
}

static uint64_t bit_at(const struct scd_index *x, unsigned column, uint64_t row)
{
	return UINT64_C(1) << (row * x->row_bits + column) % 64;
}

/* Flips rows first + at[i]. */
static void flip_rows(struct scd_index *x, unsigned column, uint64_t first,
		      const uint64_t *at, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		uint64_t row = first + at[i];
		uint64_t *word = word_at(x, column, row);
		uint64_t ahead = i + LOOKAHEAD < n ? at[i + LOOKAHEAD] : at[i];

		__builtin_prefetch(word_at(x, column, first + ahead), 1);
		store(word, load(word) ^ bit_at(x, column, row));
	}
}

/* The same in all copies of the filter. */
static void flip_copies(struct scd_index *x, unsigned column,
			const uint64_t *at, size_t n)
{
	uint64_t nbits = x->columns[column].nbits;

	for (uint64_t first = 0; first < x->nrows; first += nbits)
		flip_rows(x, column, first, at, n);
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
	flip_copies(index, column, at, n);
	return SCD_OK;
}

/*
 * Adds the numbers of the bits that are set to a list. The first one is put
 * down without asking whether there is any: in a delta most words have none or
 * one, at random, and a branch would be guessed wrong each time.
 */
static size_t add_ones(uint64_t *at, size_t n, uint64_t first, uint64_t bits)
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
		n = add_ones(at, n, first, word_of(flips, first));
		if (n > CAP - 64) {
			flip_copies(index, column, at, n);
			n = 0;
		}
	}
	flip_copies(index, column, at, n);
	return SCD_OK;
}

/* Lookups */

/* What a lookup has to know of all columns, as of one version. */
struct look {
	uint64_t version;
	unsigned nhash;
};

static struct look look_begin(const struct scd_index *x)
{
	uint64_t version = load(&x->version);

	return (struct look){ version, (unsigned)load(&x->nhash) };
}

static bool look_again(const struct scd_index *x, const struct look *look)
{
	return load(&x->version) != look->version;
}

/* The AND of the rows at `at`, those that count. */
static uint64_t and_rows(const struct scd_index *x, const uint64_t *at,
			 unsigned nhash, uint64_t *out)
{
	uint64_t any = 0;

	for (unsigned w = 0; w < x->row_words; w++) {
		uint64_t sum = load(&x->present[w]);

		for (unsigned i = 0; i < nhash; i++) {
			/* Before the row: who sees that it counts now also
			 * sees the rows that were written for it. */
			uint64_t done = load(&x->done[i][w]);
			uint64_t bit = at[i] * x->row_bits;

			sum &= done | load(&x->rows[bit / 64 + w]) >> bit % 64;
		}
		out[w] = sum;
		any |= sum;
	}
	return any;
}

static void positions(const struct scd_index *x, const struct scd_key *key,
		      unsigned nhash, uint64_t *at)
{
	if (nhash)
		scd_positions(key, x->nrows, nhash, at);
}

bool scd_index_lookup(const struct scd_index *index, const struct scd_key *key,
		      uint64_t *out)
{
	uint64_t at[SCD_MAX_HASH], any;
	struct look look;

	do {
		look = look_begin(index);
		positions(index, key, look.nhash, at);
		any = and_rows(index, at, look.nhash, out);
	} while (look_again(index, &look));
	return any != 0;
}

static void prefetch_rows(const struct scd_index *x, const uint64_t *at,
			  unsigned nhash)
{
	for (unsigned i = 0; i < nhash; i++) {
		const uint64_t *row = word_at(x, 0, at[i]);

		for (unsigned w = 0; w < x->row_words; w += LINE_WORDS)
			__builtin_prefetch(row + w);
	}
}

/* Up to LOOKAHEAD keys: all the accesses are begun before one is awaited. */
static void lookup_some(const struct scd_index *x, const struct scd_key *keys,
			size_t n, uint64_t *out)
{
	uint64_t at[LOOKAHEAD][SCD_MAX_HASH];
	struct look look;

	do {
		look = look_begin(x);
		for (size_t i = 0; i < n; i++) {
			positions(x, &keys[i], look.nhash, at[i]);
			prefetch_rows(x, at[i], look.nhash);
		}
		for (size_t i = 0; i < n; i++)
			and_rows(x, at[i], look.nhash, out + i * x->row_words);
	} while (look_again(x, &look));
}

void scd_index_lookup_many(const struct scd_index *index,
			   const struct scd_key *keys, size_t n, uint64_t *out)
{
	while (n) {
		size_t some = n < LOOKAHEAD ? n : LOOKAHEAD;

		lookup_some(index, keys, some, out);
		out += some * index->row_words;
		keys += some;
		n -= some;
	}
}
