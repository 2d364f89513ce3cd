/*
 * Tags by which stored responses are purged together: the elements of
 * Cache-Tag, the words of Surrogate-Key, and the strings of Cache-Groups (RFC
 * 9875). Names compare with their case.
 */
#ifndef DIGESTD_CORE_TAGS_H
#define DIGESTD_CORE_TAGS_H

#include <stdbool.h>

struct fields;

/* Whether a response has one of the tags in a request's list field `name`. */
bool tags_match(const struct fields *response, const struct fields *request,
		const char *name);

#endif
