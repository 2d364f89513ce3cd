/*
 * Dictionaries of structured fields (RFC 8941, 3.2), as they are received.
 *
 * The RFC's parser is strict: a field with any fault in it counts as absent as
 * a whole. So walk it once to the end before anything in it is believed.
 * Values that nobody here needs (inner lists, bytes) are checked and skipped;
 * so are parameters. Allocates nothing.
 */
#ifndef DIGESTD_HTTP_DICTIONARY_H
#define DIGESTD_HTTP_DICTIONARY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "digestd/http/fields.h"

enum dictionary_type {
	DICTIONARY_BOOLEAN, /* also a member without a value: true */
	DICTIONARY_INTEGER,
	DICTIONARY_OTHER,
};

struct dictionary_member {
	struct field_part key;
	enum dictionary_type type;
	int64_t number; /* an integer, or 0 and 1 */
};

/* A place in a walk; all zero at its beginning. */
struct dictionary_cursor {
	size_t line;            /* of the fields, the next to look at */
	struct field_part rest; /* of the one before */
	bool failed;            /* what was walked is no dictionary */
};

/*
 * Walks the members of a field over all its lines, in order; a key that comes
 * twice is given twice, and the last one counts. Returns false at the end, or
 * at the first fault, with cursor->failed set.
 */
bool dictionary_next(const struct fields *f, const char *name,
		     struct dictionary_cursor *cursor,
		     struct dictionary_member *member);

#endif
