/*
 * Names of header fields, sorted, so that many of them can be looked up in one
 * list: with n lines and t names that costs (n + t) log n comparisons, where a
 * look at each line for each name costs n t, which a message of 8 KB can make a
 * million. Nothing is allocated.
 */
#ifndef DIGESTD_CORE_FIELD_NAMES_H
#define DIGESTD_CORE_FIELD_NAMES_H

#include "digestd/core/fields.h"

struct field_names;

/* Marks the lines of a name, without regard to case. */
void field_names_mark(struct field_names *names, struct field_part name);

/*
 * Removes from f the lines that mark(names, arg) marks: it calls
 * field_names_mark() for every name that is to go, and may look at f meanwhile.
 * It is called once for every 256 lines.
 */
void field_names_remove(struct fields *f,
			void (*mark)(struct field_names *names,
				     const void *arg),
			const void *arg);

#endif
