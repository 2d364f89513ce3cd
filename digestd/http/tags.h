/*
 * Tags by which stored responses are purged together: the elements of
 * Cache-Tag, the words of Surrogate-Key, and the strings of Cache-Groups (RFC
 * 9875). Names compare with their case.
 */
#ifndef DIGESTD_HTTP_TAGS_H
#define DIGESTD_HTTP_TAGS_H

#include <stdbool.h>

#include "digestd/http/fields.h"

/* A place in a walk over the tags of a response; all zero at its beginning. */
struct tags_cursor {
	unsigned field; /* of those that have tags */
	struct field_cursor elements;
	struct field_part words; /* of the element */
};

/* The next tag of a response, which points into the fields; false: no more. */
bool tags_next(const struct fields *response, struct tags_cursor *cursor,
	       struct field_part *tag);

/* The next tag that a PURGE names in Purge-Tag; false: no more. */
bool tags_next_purged(const struct fields *request, struct field_cursor *cursor,
		      struct field_part *tag);

#endif
