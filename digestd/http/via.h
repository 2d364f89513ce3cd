/*
 * Loops: a node marks what it forwards with its name, in Via (RFC 9110, 7.6.3)
 * and in CDN-Loop (RFC 8586), and refuses what carries its name already.
 */
#ifndef DIGESTD_HTTP_VIA_H
#define DIGESTD_HTTP_VIA_H

#include <stdbool.h>

#include "digestd/http/fields.h"

/* Longer chains than this are taken for loops too. */
enum { VIA_MAX_HOPS = 20 };

/* Whether a request has been at the node `name` before, or at too many. */
bool via_lists_loop(const struct fields *request, const char *name);
static inline bool via_loops(const struct fields *request, const char *name)
{
	return (fields_may_have(request, "Via") ||
		fields_may_have(request, "CDN-Loop")) &&
	       via_lists_loop(request, name);
}

/* Appends "version name" to Via; version: of the message that was received,
 * such as "1.1". Returns 0 or -ENOMEM. */
int via_append(struct fields *f, const char *version, const char *name);

/* Appends name to CDN-Loop. Returns 0 or -ENOMEM. */
int via_cdn_loop(struct fields *f, const char *name);

/*
 * What a node marks messages with, made once: Via by version, and CDN-Loop. A
 * list of them may have other lines behind these.
 */
enum via_mark {
	VIA_MARK_1_0,
	VIA_MARK_1_1,
	VIA_MARK_2_0,
	VIA_MARK_CDN_LOOP,
	VIA_MARKS,
};

/* Appends them to an empty list. Returns 0 or -ENOMEM. */
int via_marks_make(struct fields *marks, const char *name);

/* Appends one of them to f, which lends its text. Returns 0 or -ENOMEM. */
int via_mark(struct fields *f, const struct fields *marks, unsigned which);

#endif
