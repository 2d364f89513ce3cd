/*
 * Encoding codings 3 and 5 with any lanes and classes: what decoders must
 * take, though the library would choose otherwise.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "tests/codec/slow_model.h"

static void put(uint8_t **at, uint64_t value, size_t n)
{
	for (size_t i = 0; i < n; i++)
		*(*at)++ = (uint8_t)(value >> 8 * i);
}

/* Append the states and words of n symbols coded. */
static void put_symbols(uint8_t **at, const struct slow_symbols *symbols,
			const uint8_t *coded, size_t n, unsigned nlanes)
{
	uint8_t *words = malloc(2 * n + 1), *end = words + 2 * n;
	uint8_t *first = end;
	uint32_t state[128];

	assert(words);
	for (unsigned i = 0; i < nlanes; i++)
		state[i] = 1 << 16;
	for (size_t i = n; i-- > 0;) {
		const uint32_t freq = symbols->freq[coded[i]];
		uint32_t *x = &state[i % nlanes];

		if (*x >= (uint64_t)freq << (32 - symbols->log)) {
			*--first = (uint8_t)(*x >> 8);
			*--first = (uint8_t)*x;
			*x >>= 16;
		}
		*x = (*x / freq << symbols->log) +
		     symbols->start[coded[i]] + *x % freq;
	}
	for (unsigned i = 0; i < nlanes; i++)
		put(at, state[i], 4);
	memcpy(*at, first, (size_t)(end - first));
	*at += end - first;
	free(words);
}

/* The symbol of each byte of a chunk, and how many are in each class. */
static void classify(unsigned nclasses, const uint8_t *bytes, size_t len,
		     uint8_t *coded, size_t count[8])
{
	uint8_t rank[256];

	for (unsigned r = 0; r < 256; r++)
		rank[slow_byte_of_rank()[r]] = (uint8_t)r;
	for (size_t i = 0; i < len; i++) {
		unsigned c = slow_ones(bytes[i]);

		c = c < nclasses ? c : nclasses - 1;
		count[c]++;
		coded[i] = rank[bytes[i]];
		if (nclasses < 8 && c == nclasses - 1)
			coded[i] = (uint8_t)slow_class_rank(c);
	}
}

static unsigned class_size(unsigned c, unsigned nclasses)
{
	if (c == nclasses - 1)
		return nclasses == 8 ? 9 : 1;
	return slow_class_rank(c + 1) - slow_class_rank(c);
}

/* Frequencies by the counts, none of them 0; freq[0] is what is left. */
static void choose(unsigned nclasses, size_t len, const size_t count[8],
		   uint16_t freq[8])
{
	uint64_t sum = 0;

	for (unsigned c = 1; c < nclasses; c++) {
		const unsigned size = class_size(c, nclasses);

		freq[c] = (uint16_t)((count[c] << 13) / (len * size) + 1);
		sum += (uint64_t)freq[c] * size;
	}
	assert(sum < 1 << 14);
}

static void put_escapes(uint8_t **at, unsigned nclasses, const uint8_t *bytes,
			size_t len, size_t count)
{
	const unsigned nbits = slow_escape_bits(nclasses);
	const unsigned first = slow_class_rank(nclasses - 1);
	const size_t size = (count * nbits + 7) / 8;
	size_t bit = 0;

	put(at, count, 4);
	memset(*at, 0, size);
	for (size_t i = 0; i < len; i++) {
		unsigned r = 0;

		if (slow_ones(bytes[i]) < nclasses - 1)
			continue;
		while (slow_byte_of_rank()[r] != bytes[i])
			r++;
		for (unsigned j = 0; j < nbits; j++, bit++)
			(*at)[bit / 8] |= (uint8_t)(((r - first) >> j & 1)
						    << bit % 8);
	}
	*at += size;
}

static void dense_chunk(uint8_t **at, const struct slow_choice *choice,
			const uint8_t *bytes, size_t len)
{
	const unsigned nclasses = choice->nclasses;
	struct slow_symbols symbols;
	uint8_t *coded = malloc(len);
	uint16_t freq[8] = {0};
	size_t count[8] = {0};
	bool valid;

	assert(coded);
	classify(nclasses, bytes, len, coded, count);
	choose(nclasses, len, count, freq);
	valid = slow_dense_symbols(nclasses, freq, &symbols);
	assert(valid);
	put(at, choice->lanes_log, 1);
	put(at, nclasses, 1);
	for (unsigned c = 1; c < nclasses; c++)
		put(at, freq[c], 2);
	if (nclasses < 8)
		put_escapes(at, nclasses, bytes, len, count[nclasses - 1]);
	put_symbols(at, &symbols, coded, len, 1u << choice->lanes_log);
	free(coded);
}

size_t slow_encode_dense(const struct slow_choice *choice, const uint8_t *bits,
			 size_t len, uint8_t *out)
{
	const size_t most = (size_t)1 << choice->chunk_log;
	uint8_t *sizes = out + 1, *at = sizes + 4 * ((len + most - 1) / most);

	*out = (uint8_t)choice->chunk_log;
	for (size_t i = 0; i < len; i += most) {
		const uint8_t *start = at;

		dense_chunk(&at, choice, bits + i,
			    len - i < most ? len - i : most);
		put(&sizes, (uint64_t)(at - start), 4);
	}
	return (size_t)(at - out);
}

/* The symbols and the low bits of a chunk. */
struct listed {
	uint8_t *symbols, *low;
	size_t nsymbols;
	uint64_t low_bits;
};

static void list_gap(struct listed *l, const struct slow_gaps *model,
		     uint64_t gap)
{
	const unsigned n = model->low_bits;
	const uint64_t escape = (uint64_t)model->escape << n;

	for (; gap >= escape; gap -= escape)
		l->symbols[l->nsymbols++] = (uint8_t)model->escape;
	l->symbols[l->nsymbols++] = (uint8_t)(gap >> n);
	for (unsigned i = 0; i < n; i++, l->low_bits++)
		l->low[l->low_bits / 8] |=
			(uint8_t)((gap >> i & 1) << l->low_bits % 8);
}

static size_t ones_of(const uint8_t *bytes, size_t len)
{
	size_t n = 0;

	for (size_t i = 0; i < len; i++)
		n += slow_ones(bytes[i]);
	return n;
}

static void sparse_chunk(uint8_t **at, const struct slow_choice *choice,
			 const struct slow_gaps *model, const uint8_t *bits,
			 size_t len)
{
	struct listed l = {.symbols = malloc(9 * len + 1),
			   .low = calloc(1, ones_of(bits, len) * 18 / 8 + 1)};
	uint64_t gap = 0;

	assert(l.symbols && l.low);
	for (uint64_t i = 0; i < 8 * (uint64_t)len; i++, gap++) {
		if (i % 8 == 0 && bits[i / 8] == 0) {
			i += 7;
			gap += 7;
			continue;
		}
		if (!(bits[i / 8] >> i % 8 & 1))
			continue;
		list_gap(&l, model, gap);
		gap = UINT64_MAX; /* the next place is a gap of 0 away */
	}
	put(at, choice->lanes_log, 1);
	put(at, l.nsymbols, 4);
	put(at, (l.low_bits + 7) / 8, 4);
	memcpy(*at, l.low, (size_t)((l.low_bits + 7) / 8));
	*at += (l.low_bits + 7) / 8;
	put_symbols(at, &model->symbols, l.symbols, l.nsymbols,
		    1u << choice->lanes_log);
	free(l.symbols);
	free(l.low);
}

size_t slow_encode_sparse(const struct slow_choice *choice,
			  const struct scd__shape *shape, const uint8_t *bits,
			  uint8_t *out)
{
	const size_t len = (size_t)((shape->nbits + 7) / 8);
	const size_t most = (size_t)1 << choice->chunk_log;
	uint8_t *sizes = out + 1, *at = sizes + 4 * ((len + most - 1) / most);
	struct slow_gaps model;

	slow_gap_model(shape, &model);
	assert(model.low_bits <= 18);
	*out = (uint8_t)choice->chunk_log;
	for (size_t i = 0; i < len; i += most) {
		const uint8_t *start = at;

		sparse_chunk(&at, choice, &model, bits + i,
			     len - i < most ? len - i : most);
		put(&sizes, (uint64_t)(at - start), 4);
	}
	return (size_t)(at - out);
}
