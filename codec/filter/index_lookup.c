/*
 * Peer indexes: lookups. They wait for nobody; see index_rows.h for why they
 * miss nothing.
 */
#include "codec/filter/index_rows.h"

/* What a lookup has to know of all columns, as of one version. */
struct look {
	uint64_t version;
	unsigned nhash;
};

static struct look index_lookup_look_begin(const struct scd_index *x)
{
	uint64_t version = scd__load(&x->version);

	return (struct look){ version, (unsigned)scd__load(&x->nhash) };
}

static bool index_lookup_look_again(const struct scd_index *x,
				    const struct look *look)
{
	return scd__load(&x->version) != look->version;
}

/* The AND of the rows at `at`, those that count. */
static uint64_t index_lookup_and_rows(const struct scd_index *x,
				      const uint64_t *at, unsigned nhash,
				      uint64_t *out)
{
	uint64_t any = 0;

	for (unsigned w = 0; w < x->row_words; w++) {
		uint64_t sum = scd__load(&x->present[w]);

		for (unsigned i = 0; i < nhash; i++) {
			/* Before the row: who sees that it counts now also
			 * sees the rows that were written for it. */
			uint64_t done = scd__load(&x->done[i][w]);
			uint64_t bit = at[i] * x->row_bits;

			sum &= done |
			       scd__load(&x->rows[bit / 64 + w]) >> bit % 64;
		}
		out[w] = sum;
		any |= sum;
	}
	return any;
}

static void index_lookup_positions(const struct scd_index *x,
				   const struct scd_key *key, unsigned nhash,
				   uint64_t *at)
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
		look = index_lookup_look_begin(index);
		index_lookup_positions(index, key, look.nhash, at);
		any = index_lookup_and_rows(index, at, look.nhash, out);
	} while (index_lookup_look_again(index, &look));
	return any != 0;
}

static void index_lookup_prefetch_rows(const struct scd_index *x,
				       const uint64_t *at, unsigned nhash)
{
	for (unsigned i = 0; i < nhash; i++) {
		const uint64_t *row = scd__word_at(x, 0, at[i]);

		for (unsigned w = 0; w < x->row_words; w += SCD__LINE_WORDS)
			__builtin_prefetch(row + w);
	}
}

/* Up to SCD__LOOKAHEAD keys: all the accesses are begun before one is awaited.
 */
static void index_lookup_some(const struct scd_index *x,
			      const struct scd_key *keys, size_t n,
			      uint64_t *out)
{
	uint64_t at[SCD__LOOKAHEAD][SCD_MAX_HASH];
	struct look look;

	do {
		look = index_lookup_look_begin(x);
		for (size_t i = 0; i < n; i++) {
			index_lookup_positions(x, &keys[i], look.nhash, at[i]);
			index_lookup_prefetch_rows(x, at[i], look.nhash);
		}
		for (size_t i = 0; i < n; i++)
			index_lookup_and_rows(x, at[i], look.nhash,
					      out + i * x->row_words);
	} while (index_lookup_look_again(x, &look));
}

void scd_index_lookup_many(const struct scd_index *index,
			   const struct scd_key *keys, size_t n, uint64_t *out)
{
	while (n) {
		size_t some = n < SCD__LOOKAHEAD ? n : SCD__LOOKAHEAD;

		index_lookup_some(index, keys, some, out);
		out += some * index->row_words;
		keys += some;
		n -= some;
	}
}
