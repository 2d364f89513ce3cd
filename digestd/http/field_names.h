/*
 * Names of header fields, sorted, so that many of them can be looked up in one
 * list: with n lines and t names that costs (n + t) log n comparisons, where a
 * look at each line for each name costs n t, which a message of 8 KB can make a
 * million. Nothing is allocated.
 */
#ifndef DIGESTD_HTTP_FIELD_NAMES_H
#define DIGESTD_HTTP_FIELD_NAMES_H

#include "digestd/http/fields.h"

struct field_names;

/* Marks the lines of a name, without regard to case. */
void field_names_mark(struct field_names *names, struct field_part name);

/* Names to look for: mark(names, arg) calls field_names_mark() for each. */
struct field_names_wanted {
	void (*mark)(struct field_names *names, const void *arg);
	const void *arg;
};

enum { FIELD_NAMES_LINES = 256 }; /* at a time; messages have fewer */

/*
 * Looks at up to FIELD_NAMES_LINES lines of f, from line `first` on, for the
 * names wanted, and says of each whether it has one of them. Returns how many
 * lines there were, 0 at the end.
 */
size_t field_names_find(const struct fields *f, size_t first,
			const struct field_names_wanted *wanted,
			bool found[static FIELD_NAMES_LINES]);

/* Removes from f the lines of the names wanted; mark() may look at f. */
void field_names_remove(struct fields *f,
			const struct field_names_wanted *wanted);

#endif
