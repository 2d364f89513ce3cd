/*
 * Lists for tests: entries drawn from a seed, and changes of them.
 */
#ifndef TEST_CODEC_LIST_SAMPLE_H
#define TEST_CODEC_LIST_SAMPLE_H

#include <stdlib.h>

#include "codec/list.h"
#include "tests/codec/random.h"
#include "tests/unit.h"

enum { LIST_INSTANCE = 77 };

static inline uint64_t *list_sample_numbers(size_t n)
{
	uint64_t *numbers = malloc((n + 1) * sizeof(*numbers));

	assert_non_null(numbers);
	return numbers;
}

/* How many entries there are. */
static inline uint64_t list_sample_count(const struct scd_list *list)
{
	struct scd_digest_info info;

	scd_list_info(list, &info);
	return info.nones;
}

static inline uint64_t list_sample_sum(const struct scd_list *list)
{
	struct scd_digest_info info;

	scd_list_info(list, &info);
	return info.checksum;
}

/* All entries, to be freed. */
static inline uint64_t *list_sample_entries(const struct scd_list *list)
{
	const size_t n = (size_t)list_sample_count(list);
	uint64_t *entries = list_sample_numbers(n);

	assert_int_equal(scd_list_entries(list, 0, n, entries), n);
	return entries;
}

/* A change by which go entries at random, and come others. */
static inline struct scd_list_change
list_sample_change(const struct scd_list *list, uint64_t seed, size_t go,
		   size_t come)
{
	uint64_t *entries = list_sample_entries(list);
	uint64_t left = list_sample_count(list);
	struct scd_list_change c = {.removed = list_sample_numbers(go),
				    .added = list_sample_numbers(come),
				    .nadded = come};

	for (size_t i = 0; c.nremoved < go; i++, left--) {
		if (random_below(&seed, left) < go - c.nremoved)
			c.removed[c.nremoved++] = entries[i];
	}
	for (size_t i = 0; i < come; i++)
		c.added[i] =
			random_next(&seed) >> (64 - scd_list_width_of(list));
	free(entries);
	assert_int_equal(scd_list_change_sort(&c), SCD_OK);
	return c;
}

/* A list of n entries, of generation 1. */
static inline struct scd_list *list_sample(unsigned width, size_t n,
					   uint64_t seed)
{
	struct scd_list *list = NULL;
	struct scd_list_change c;

	assert_int_equal(scd_list_new(&list, width, LIST_INSTANCE), SCD_OK);
	c = list_sample_change(list, seed, 0, n);
	assert_int_equal(scd_list_change(list, &c, 1), SCD_OK);
	scd_list_change_free(&c);
	return list;
}

/* Both have the same entries, and say the same of themselves. */
static inline void list_sample_same(const struct scd_list *a,
				    const struct scd_list *b)
{
	uint64_t *from_a = list_sample_entries(a);
	uint64_t *from_b = list_sample_entries(b);

	assert_int_equal(list_sample_count(a), list_sample_count(b));
	assert_memory_equal(from_a, from_b,
			    (size_t)list_sample_count(a) * sizeof(*from_a));
	assert_true(list_sample_sum(a) == list_sample_sum(b));
	free(from_a);
	free(from_b);
}

#endif
