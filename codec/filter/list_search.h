/*
 * Where an entry is in its bucket. What that costs is to wait for memory, so
 * the search begins near its end, and what it looks at may be fetched before.
 */
#ifndef SCD_LIST_SEARCH_H
#define SCD_LIST_SEARCH_H

#include "codec/filter/list_state.h"

enum {
	SCD__LIST_AHEAD = 12,  /* entries of a change that are fetched before */
	SCD__LIST_WINDOW = 32, /* words that are looked at together */
	SCD__LIST_LINE_WORDS = 64 / sizeof(uint32_t),
	SCD__LIST_LINES = 4, /* of a bucket that are fetched for an entry */
};

/*
 * Where an entry of a bucket is if they are spread evenly: some places off, so
 * most often in the same cache line or the next.
 */
static inline uint32_t scd__list_guess(const struct scd_list *list,
				       const struct scd__list_bucket *b,
				       uint32_t word)
{
	return (uint32_t)((uint64_t)b->n * word >>
			  (scd__list_rest_bits(list) + list->id_bits));
}

/*
 * What a change of an entry is going to look at first, to be fetched before. A
 * function that did that itself would have no effect that compilers know of,
 * and they leave out calls of such.
 */
static inline const uint32_t *scd__list_near(const struct scd_list *list,
					     uint64_t entry)
{
	const struct scd__list_bucket *b =
		&list->buckets[scd__list_bucket_of(list, entry)];

	return b->n ? b->words + scd__list_guess(list, b,
						 scd__list_word_of(list, entry))
		    : NULL;
}

/* The first place of low..high whose word is not below one; else high. */
static inline uint32_t scd__list_bisect(const struct scd__list_bucket *b,
					uint32_t low, uint32_t high,
					uint32_t word)
{
	while (low < high) {
		const uint32_t middle = low + (high - low) / 2;

		if (b->words[middle] < word)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/*
 * The first place in a bucket, from one on, whose word is not below one: near
 * the guess; where it is not, further and further away from it, so that entries
 * that are not spread evenly take no more than a logarithm of steps.
 */
static inline uint32_t scd__list_gallop(const struct scd_list *list,
					const struct scd__list_bucket *b,
					uint32_t from, uint32_t word)
{
	uint32_t at = scd__list_guess(list, b, word), step = 1, last;

	if (at < from)
		at = from;
	if (at < b->n && b->words[at] < word) {
		for (last = at; at < b->n && b->words[at] < word; step *= 2) {
			last = at + 1;
			at = b->n - at > step ? at + step : b->n;
		}
		return scd__list_bisect(b, last, at, word);
	}
	for (last = at; at > from && b->words[at - 1] >= word; step *= 2) {
		last = at - 1;
		at = last - from > step ? last - step : from;
	}
	return scd__list_bisect(b, at, last, word);
}

/* Where the window around the guess begins, in a bucket of so many words. */
static inline uint32_t scd__list_window(const struct scd_list *list,
					const struct scd__list_bucket *b,
					uint32_t word)
{
	const uint32_t guess = scd__list_guess(list, b, word);
	const uint32_t last = b->n - SCD__LIST_WINDOW;
	const uint32_t first = guess - SCD__LIST_WINDOW / 2;

	if (guess < SCD__LIST_WINDOW / 2)
		return 0;
	return first < last ? first : last;
}

/* How many words of a window are below one: a loop without a branch, whose
 * length compilers know, so that they make vectors of it. */
static inline uint32_t scd__list_below(const uint32_t *words, uint32_t word)
{
	uint32_t n = 0;

	for (unsigned i = 0; i < SCD__LIST_WINDOW; i++)
		n += words[i] < word;
	return n;
}

/*
 * The same. Most often the place is in a window around the guess, where words
 * are counted: a search step by step takes branches that no processor foresees.
 */
static inline uint32_t scd__list_place(const struct scd_list *list,
				       const struct scd__list_bucket *b,
				       uint32_t from, uint32_t word)
{
	uint32_t at, n;

	if (b->n < SCD__LIST_WINDOW)
		return scd__list_gallop(list, b, from, word);
	at = scd__list_window(list, b, word);
	n = scd__list_below(b->words + at, word);
	if ((n == 0 && at > 0) || (n == SCD__LIST_WINDOW && at + n < b->n))
		return scd__list_gallop(list, b, from, word);
	return at + n > from ? at + n : from;
}

/*
 * Fetch the words that an entry is looked for among, and some behind them, as
 * those move: inlined whatever compilers think of it, for the same reason, into
 * a function that does more than fetch.
 */
static inline __attribute__((always_inline)) void
scd__list_fetch(const struct scd_list *list, uint64_t entry)
{
	const struct scd__list_bucket *b =
		&list->buckets[scd__list_bucket_of(list, entry)];
	uint32_t at;

	if (b->n < SCD__LIST_WINDOW)
		return;
	at = scd__list_window(list, b, scd__list_word_of(list, entry));
	for (unsigned i = 0; i < SCD__LIST_LINES; i++) {
		__builtin_prefetch(b->words + at, 1);
		at += SCD__LIST_LINE_WORDS;
		at = at < b->n ? at : b->n - 1;
	}
}

/* The place of an entry in its bucket, from one on; of equal ones the first.
 * b->n: it is not there. */
static inline uint32_t scd__list_find(const struct scd_list *list,
				      const struct scd__list_bucket *b,
				      uint32_t from, uint32_t word)
{
	const uint32_t at = scd__list_place(list, b, from, word);

	return at < b->n && scd__list_is_same(list, b->words[at], word) ? at
									: b->n;
}

#endif
