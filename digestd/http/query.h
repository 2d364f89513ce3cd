/*
 * The arguments of a query that count: URIs that differ in others only are made
 * one.
 */
#ifndef DIGESTD_HTTP_QUERY_H
#define DIGESTD_HTTP_QUERY_H

#include <stdbool.h>
#include <stddef.h>

enum { QUERY_MAX_ARGUMENTS = 256 }; /* of more, none is touched */

/* Names are in lines; one that ends in * stands for all that begin so. */
struct query_rules {
	const char *keep; /* all others are dropped; null: none are */
	const char *drop; /* these are dropped; null: none */
	bool sort; /* by name; arguments of one name stay in their order */
};

/* Whether a name is in such lines. */
bool query_lists_name(const char *names, const char *name, size_t len);

/*
 * Drops and sorts the arguments of a URI (what stands between the & behind its
 * first ?), in place; without any, the ? goes, too. Names count as they are
 * spelt. *len is that of the URI, which ends with a NUL. Time is n log n.
 * Returns 0, or -ENOMEM, and then it is as it was.
 */
int query_normalise(char *uri, size_t *len, const struct query_rules *rules);

#endif
