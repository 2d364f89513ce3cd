/*
 * Where an entry is in its bucket. What that costs is to wait for memory, so
 * the search begins near its end, and what it looks at may be fetched before.
 */
#ifndef SCD_LIST_SEARCH_H
#define SCD_LIST_SEARCH_H

#include "codec/filter/list_state.h"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

enum {
	SCD__LIST_AHEAD = 32,  /* entries that are fetched before, in a row */
	SCD__LIST_WINDOW = 32, /* words that are looked at together */
	SCD__LIST_LINE = 64,   /* bytes */
};

/* A part of a bucket: the places first..end - 1. */
struct scd__list_range {
	uint32_t first, end;
};

/* The places of a cell's entries. */
static inline struct scd__list_range
scd__list_cell(const struct scd_list *list, const struct scd__list_bucket *b,
	       unsigned cell)
{
	if (!b->n)
		return (struct scd__list_range){0, 0};
	return (struct scd__list_range){scd__list_cell_start(list, b, cell),
					scd__list_cell_end(list, b, cell)};
}

/* The first place of a range whose word is not below one; else its end. */
static inline uint32_t scd__list_bisect(const struct scd_list *list,
					const struct scd__list_bucket *b,
					struct scd__list_range r, uint32_t word)
{
	while (r.first < r.end) {
		const uint32_t middle = r.first + (r.end - r.first) / 2;

		if (scd__list_word(list, b, middle) < word)
			r.first = middle + 1;
		else
			r.end = middle;
	}
	return r.first;
}

/*
 * How many words of a window are below one, and are among those from place
 * `skip` of the window on, `n` of them, which ascend. Without a branch that
 * depends on words; of large ones a loop whose length compilers know, so that
 * they make vectors of it.
 */
#if defined(__SSE2__)
static inline uint32_t scd__list_below16(const uint16_t *words, uint16_t word,
					 uint32_t skip, uint32_t n)
{
	const __m128i below = _mm_set1_epi16((short)word);
	uint64_t others = 0; /* a bit for each word that is not below */

	for (unsigned i = 0; i < SCD__LIST_WINDOW; i += 16) {
		const __m128i *at = (const void *)(words + i);
		const __m128i by = _mm_packs_epi16(
			_mm_subs_epu16(below, _mm_loadu_si128(at)),
			_mm_subs_epu16(below, _mm_loadu_si128(at + 1)));

		others |= (uint64_t)_mm_movemask_epi8(
				  _mm_cmpeq_epi8(by, _mm_setzero_si128()))
			  << i;
	}
	return (uint32_t)__builtin_ctzll(others >> skip | UINT64_C(1) << n);
}
#else
static inline uint32_t scd__list_below16(const uint16_t *words, uint16_t word,
					 uint32_t skip, uint32_t n)
{
	uint16_t below = 0;

	for (uint16_t i = 0; i < SCD__LIST_WINDOW; i++)
		below += (uint16_t)((words[i] < word) &
				    ((uint16_t)(i - skip) < n));
	return below;
}
#endif

static inline uint32_t scd__list_below32(const uint32_t *words, uint32_t word,
					 uint32_t skip, uint32_t n)
{
	uint32_t below = 0;

	for (uint32_t i = 0; i < SCD__LIST_WINDOW; i++)
		below += (words[i] < word) & (i - skip < n);
	return below;
}

/* Where the window begins for a word: around the place it has in its range if
 * words are spread evenly; of a bucket with a window's words at least. */
static inline uint32_t scd__list_window(const struct scd_list *list,
					const struct scd__list_bucket *b,
					struct scd__list_range r, uint32_t word)
{
	const uint32_t last = b->n - SCD__LIST_WINDOW;
	uint32_t at = r.first;

	if (r.end - r.first > SCD__LIST_WINDOW) {
		at += (uint32_t)((uint64_t)(r.end - r.first) * word >>
				 list->word_bits);
		at = at - r.first > SCD__LIST_WINDOW / 2
			     ? at - SCD__LIST_WINDOW / 2
			     : r.first;
	}
	return at < last ? at : last;
}

/*
 * The first place of a range whose word is not below one. Most often it is in
 * the window, where words are counted: a search step by step takes branches
 * that no processor foresees.
 */
static inline uint32_t scd__list_lower(const struct scd_list *list,
				       const struct scd__list_bucket *b,
				       struct scd__list_range r, uint32_t word)
{
	uint32_t at, skip, n, below;

	if (b->n < SCD__LIST_WINDOW)
		return scd__list_bisect(list, b, r, word);
	at = scd__list_window(list, b, r, word);
	skip = at < r.first ? r.first - at : 0;
	n = r.end - at - skip;
	if (n > SCD__LIST_WINDOW - skip)
		n = SCD__LIST_WINDOW - skip;
	at += skip;
	below = list->wide ? scd__list_below32(
				     (uint32_t *)scd__list_words(list, b) + at -
					     skip,
				     word, skip, n)
			   : scd__list_below16(
				     (uint16_t *)scd__list_words(list, b) + at -
					     skip,
				     (uint16_t)word, skip, n);
	if (below == 0 && at > r.first)
		return scd__list_bisect(
			list, b, (struct scd__list_range){r.first, at}, word);
	if (below == n && at + n < r.end)
		return scd__list_bisect(
			list, b, (struct scd__list_range){at + n, r.end}, word);
	return at + below;
}

/* Of equal words from a place on, which ascend by id: the first one whose id is
 * not below one. */
static inline uint32_t scd__list_skip_ids(const struct scd_list *list,
					  const struct scd__list_bucket *b,
					  struct scd__list_range r,
					  uint32_t word, unsigned id)
{
	const uint8_t *ids = scd__list_ids(list, b);

	while (r.first < r.end) {
		const uint32_t middle = r.first + (r.end - r.first) / 2;

		if (scd__list_word(list, b, middle) == word && ids[middle] < id)
			r.first = middle + 1;
		else
			r.end = middle;
	}
	return r.first;
}

/* The first place in an entry's bucket, from one on, of those that are not
 * below the entry with an id. */
static inline uint32_t scd__list_place(const struct scd_list *list,
				       const struct scd__list_bucket *b,
				       uint32_t from, uint64_t entry,
				       unsigned id)
{
	const uint32_t word = scd__list_word_of(list, entry);
	const struct scd__list_range r =
		scd__list_cell(list, b, scd__list_cell_of(list, entry));
	uint32_t at = scd__list_lower(list, b, r, word);

	if (id && at < r.end && list->has_ids &&
	    scd__list_word(list, b, at) == word)
		at = scd__list_skip_ids(
			list, b, (struct scd__list_range){at, r.end}, word, id);
	return at > from ? at : from;
}

/* The place of an entry in its bucket, from one on; of equal ones the first
 * that has an id not below one. b->n: it is not there. */
static inline uint32_t scd__list_find(const struct scd_list *list,
				      const struct scd__list_bucket *b,
				      uint32_t from, uint64_t entry,
				      unsigned id)
{
	const unsigned cell = scd__list_cell_of(list, entry);
	const uint32_t at = scd__list_place(list, b, from, entry, id);

	return at < scd__list_cell(list, b, cell).end &&
			       scd__list_word(list, b, at) ==
				       scd__list_word_of(list, entry)
		       ? at
		       : b->n;
}

/*
 * Fetch what an entry is looked for among, some of which may move: inlined
 * whatever compilers think of it, into a function that does more than fetch, as
 * one that did nothing else would have no effect that they know of, and they
 * leave out calls of such.
 */
static inline __attribute__((always_inline)) void
scd__list_fetch(const struct scd_list *list, uint64_t entry)
{
	const struct scd__list_bucket *b =
		&list->buckets[scd__list_bucket_of(list, entry)];
	const unsigned rest_bits = scd__list_rest_bits(list);
	const uint64_t rest = entry & ((UINT64_C(1) << rest_bits) - 1);
	const size_t at = (size_t)(b->n * rest >> rest_bits);
	const char *words;

	if (!b->n)
		return;
	words = (const char *)scd__list_words(list, b) +
		at * scd__list_word_bytes(list);
	__builtin_prefetch(b->memory, 1);
	__builtin_prefetch(words - SCD__LIST_LINE / 2, 1);
	__builtin_prefetch(words + SCD__LIST_LINE / 2, 1);
	if (list->has_ids)
		__builtin_prefetch(scd__list_ids(list, b) + at, 1);
}

#endif
