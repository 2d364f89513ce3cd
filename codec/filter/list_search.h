/*
 * Where an entry is in its bucket. What that costs is to wait for memory, so
 * the search begins near its end, and what it looks at may be fetched before.
 */
#ifndef SCD_LIST_SEARCH_H
#define SCD_LIST_SEARCH_H

#include "codec/filter/list_state.h"

enum { SCD__LIST_AHEAD = 12 }; /* entries of a change that are fetched before */

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
static inline uint32_t scd__list_place(const struct scd_list *list,
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
