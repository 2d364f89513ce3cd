/*
 * An array of segments. Linear where it is rare: once a segment.
 */
#include "digestd/disk/segment_space.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
	SEGMENT_BYTES_MAX = 64 << 20,
	SEGMENT_BYTES_MIN = 4096,
	SEGMENT_PARTS = 64, /* of a small disk */
	SPARE_PARTS = 8,    /* one is for what is not wanted any more */
	GAIN_PARTS = 32,    /* one has to be gained by copying the rest */
	SPACE_FIRST = 16,
};

uint64_t segment_space_segment_bytes(uint64_t max_bytes)
{
	uint64_t bytes = max_bytes / SEGMENT_PARTS;

	if (bytes > SEGMENT_BYTES_MAX)
		return SEGMENT_BYTES_MAX;
	return bytes < SEGMENT_BYTES_MIN ? SEGMENT_BYTES_MIN : bytes;
}

uint64_t segment_space_for_objects(uint64_t max_bytes)
{
	uint64_t spare = max_bytes / SPARE_PARTS;
	uint64_t least = 3 * segment_space_segment_bytes(max_bytes);

	if (spare < least)
		spare = least;
	return max_bytes > spare ? max_bytes - spare : 0;
}

int segment_space_add(struct segment_space *s, uint32_t number)
{
	assert(!s->n || s->at[s->n - 1].number < number);
	if (s->n == s->cap) {
		size_t cap = s->cap ? 2 * s->cap : SPACE_FIRST;
		void *at = realloc(s->at, cap * sizeof(*s->at));

		if (!at)
			return -ENOMEM;
		s->at = at;
		s->cap = cap;
	}
	s->at[s->n++] = (struct segment_info){ .number = number };
	return 0;
}

struct segment_info *segment_space_find(const struct segment_space *s,
					uint32_t number)
{
	size_t low = 0, high = s->n;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (s->at[middle].number == number)
			return &s->at[middle];
		if (s->at[middle].number < number)
			low = middle + 1;
		else
			high = middle;
	}
	return NULL;
}

void segment_space_set_bytes(struct segment_space *s, struct segment_info *i,
			     uint64_t bytes)
{
	s->bytes += bytes - i->bytes;
	i->bytes = bytes;
}

void segment_space_remove(struct segment_space *s, uint32_t number)
{
	struct segment_info *i = segment_space_find(s, number);
	size_t after;

	if (!i)
		return;
	segment_space_set_bytes(s, i, 0);
	after = s->n - (size_t)(i - s->at) - 1;
	memmove(i, i + 1, after * sizeof(*i));
	s->n--;
}

/* Whether one is emptier than another. */
static bool segment_space_is_emptier(const struct segment_info *a,
				     const struct segment_info *b)
{
	return (double)a->live * (double)b->bytes <
	       (double)b->live * (double)a->bytes;
}

const struct segment_info *segment_space_victim(const struct segment_space *s)
{
	const struct segment_info *best = NULL;

	for (size_t i = 0; i < s->n; i++) {
		if (s->at[i].sealed && !s->at[i].unreadable &&
		    (!best || segment_space_is_emptier(&s->at[i], best)))
			best = &s->at[i];
	}
	return best && best->live <= best->bytes - best->bytes / GAIN_PARTS ?
		       best : NULL;
}

void segment_space_free(struct segment_space *s)
{
	free(s->at);
	*s = (struct segment_space){ 0 };
}
