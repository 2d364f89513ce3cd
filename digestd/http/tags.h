/*
 * Tags by which stored responses are purged together: the elements of
 * Cache-Tag, the words of Surrogate-Key, and the strings of Cache-Groups (RFC
 * 9875). Names compare with their case.
 */
#ifndef DIGESTD_HTTP_TAGS_H
#define DIGESTD_HTTP_TAGS_H

#include <stdbool.h>

#include "digestd/http/fields.h"

/*
 * The names of a line that is stored with what came from a peer, and never
 * sent: no message has such a name. Its value, tags_source(), is a tag by which
 * all that came from there can be purged, here or at all nodes. The first one
 * says that the body did, and nobody has vouched for it: no other node gets it.
 * The second one is of what may be given to others all the same: a peer has
 * confirmed it, or handed it over as it went.
 */
extern const char tags_source_field[], tags_from_field[];

/* Writes the tag of a source: a colon and its name, in which characters that
 * separate tags become "_". Longer names are cut. */
enum { TAGS_SOURCE_BYTES = 64 };
void tags_source(const char *name, char out[TAGS_SOURCE_BYTES]);

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
