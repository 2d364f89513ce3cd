/*
 * Tags by which stored responses are purged together: the elements of
 * Cache-Tag, the words of Surrogate-Key, and the strings of Cache-Groups (RFC
 * 9875). Names compare with their case.
 *
 * Those that are wanted are sorted once: with t of them, a response of n tags
 * costs n log t comparisons, where a look at each for each costs n t, which
 * two headers of 8 KB make ten millions, for every object of a store.
 */
#ifndef DIGESTD_HTTP_TAGS_H
#define DIGESTD_HTTP_TAGS_H

#include <stdbool.h>
#include <stddef.h>

#include "digestd/http/fields.h"

/* What is wanted; all zero: nothing. Points into the fields it was read of. */
struct tags {
	struct field_part *sorted;
	size_t count;
};

/* Reads the tags of a list field. Returns 0 or -ENOMEM. */
int tags_init(struct tags *t, const struct fields *request, const char *name);

void tags_free(struct tags *t);

/* Whether a response has one of the tags. */
bool tags_match(const struct tags *t, const struct fields *response);

#endif
