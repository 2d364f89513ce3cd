/*
 * The buckets of lists: how many there are, and their memory.
 */
#ifndef SCD_LIST_BUCKETS_H
#define SCD_LIST_BUCKETS_H

#include "codec/filter/list_state.h"

/* How many of some ascending fingerprints, from..n, are in a bucket. */
static inline size_t scd__list_count_in(const struct scd_list *list,
					const uint64_t *at, size_t from,
					size_t n, size_t bucket)
{
	size_t i = from;

	while (i < n && scd__list_bucket_of(list, at[i]) == bucket)
		i++;
	return i - from;
}

/*
 * Have room for so many entries in a bucket. One with far more of it than it
 * needs gives some back, but none of what its entries take now: whoever takes a
 * change back has the room that there was. SCD_ENOMEM.
 */
int scd__list_reserve(struct scd_list *list, struct scd__list_bucket *b,
		      size_t n);

/* Have more buckets, or other ones, where they are crowded. Without memory for
 * them, the list is as right as before, and a little slower. */
void scd__list_spread(struct scd_list *list);

#endif
