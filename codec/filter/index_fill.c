/*
 * Peer indexes: many columns at a time. What would be a pass over all rows for
 * each of them is one for 64: squares of 64 filters by 64 bits are transposed.
 *
 * Source: Warren, "Hacker's Delight", 2nd edition, section 7-3.
 */
#include <assert.h>

#include "codec/filter/index_rows.h"

enum {
	SIDE = 64,   /* of a square */
	SQUARES = 8, /* at a time: a cache line of each filter */
	FEW = 8,     /* columns that are as fast one by one */
};

/* The filters of 64 columns, those that there are. */
struct group {
	const struct scd_bloom *filters[SIDE];
	unsigned first; /* column */
	uint64_t keep;  /* bits of other columns */
};

/* In squares of 2 j by 2 j bits, two squares of j by j change places; `low` has
 * the lower j of every 2 j bits. Inlined, so that j is a constant. */
static inline void index_fill_exchange(uint64_t a[SIDE], unsigned j,
				       uint64_t low)
{
	for (unsigned first = 0; first < SIDE; first += 2 * j) {
		for (unsigned i = first; i < first + j; i++) {
			uint64_t swap = (a[i] >> j ^ a[i + j]) & low;

			a[i] ^= swap << j;
			a[i + j] ^= swap;
		}
	}
}

/* Bit i of a[j] and bit j of a[i] change places. */
static void index_fill_transpose(uint64_t a[SIDE])
{
	index_fill_exchange(a, 32, UINT64_C(0x00000000ffffffff));
	index_fill_exchange(a, 16, UINT64_C(0x0000ffff0000ffff));
	index_fill_exchange(a, 8, UINT64_C(0x00ff00ff00ff00ff));
	index_fill_exchange(a, 4, UINT64_C(0x0f0f0f0f0f0f0f0f));
	index_fill_exchange(a, 2, UINT64_C(0x3333333333333333));
	index_fill_exchange(a, 1, UINT64_C(0x5555555555555555));
}

/* Writes 64 rows, from row `first`. a[i]: the columns of the group in row i. */
static void index_fill_put_rows(struct scd_index *x, const struct group *g,
				uint64_t first, const uint64_t a[SIDE])
{
	unsigned bits = x->row_bits < 64 ? x->row_bits : 64;
	unsigned rows = 64 / bits; /* in a word */
	uint64_t *word = scd__word_at(x, g->first, first);

	for (unsigned i = 0; i < SIDE; i += rows, word += x->row_words) {
		uint64_t new = a[i];
		uint64_t keep = g->keep;

		for (unsigned j = 1; j < rows; j++) {
			new |= a[i + j] << j *bits;
			keep |= g->keep << j * bits;
		}
		scd__store(word, (scd__load(word) & keep) | new);
	}
}

static void index_fill_put_group(struct scd_index *x, const struct group *g)
{
	uint64_t squares[SQUARES][SIDE] = { { 0 } };
	unsigned n = x->nrows / SIDE < SQUARES ? (unsigned)(x->nrows / SIDE)
					       : SQUARES;

	for (uint64_t first = 0; first < x->nrows; first += n * SIDE) {
		for (unsigned i = 0; i < SIDE; i++) {
			const struct scd_bloom *b = g->filters[i];

			for (unsigned s = 0; s < n; s++)
				squares[s][i] =
					b ? scd__rows_of(b, first + s * SIDE)
					  : 0;
		}
		for (unsigned s = 0; s < n; s++) {
			index_fill_transpose(squares[s]);
			index_fill_put_rows(x, g, first + s * SIDE, squares[s]);
		}
	}
}

static void index_fill_group(struct scd_index *x,
			     const struct scd_bloom *const *filters, unsigned n,
			     unsigned first)
{
	struct group g = { .first = first };
	unsigned count = 0;

	for (unsigned i = 0; i < SIDE && first + i < n; i++) {
		g.filters[i] = filters[first + i];
		count += !!g.filters[i];
	}
	for (unsigned i = 0; i < SIDE && i < x->row_bits; i++) {
		if (!g.filters[i])
			g.keep |= UINT64_C(1) << i;
		else if (count <= FEW)
			scd_index_set(x, first + i, g.filters[i]);
		else
			scd__index_begin(x, first + i, g.filters[i]);
	}
	if (count <= FEW)
		return;
	index_fill_put_group(x, &g);
	for (unsigned i = 0; i < SIDE; i++) {
		if (g.filters[i])
			scd__index_end(x, first + i, g.filters[i]);
	}
}

int scd_index_fill(struct scd_index *index,
		   const struct scd_bloom *const *filters, unsigned n)
{
	assert(n <= index->row_bits);
	for (unsigned i = 0; i < n; i++) {
		if (filters[i] && !scd_index_fits(index, filters[i]))
			return SCD_EMISMATCH;
	}
	for (unsigned first = 0; first < n; first += SIDE)
		index_fill_group(index, filters, n, first);
	return SCD_OK;
}
