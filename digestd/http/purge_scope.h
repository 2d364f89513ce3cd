/*
 * What a purge of many is of: all whose URI begins so, by http or https, or all
 * that has one of some tags (tags.h).
 */
#ifndef DIGESTD_HTTP_PURGE_SCOPE_H
#define DIGESTD_HTTP_PURGE_SCOPE_H

#include <stdbool.h>

struct fields;
struct purge_scope;

/*
 * What is wrong with a PURGE's fields, as a line for who sent them; null: they
 * say one thing.
 */
const char *purge_scope_fault(const struct fields *request);

/*
 * Makes one of a PURGE's fields, which are copied and without a fault: of
 * Purge-Prefix, or, without one, of Purge-Tag. Returns 0, -EINVAL for a prefix
 * that is no URI, -ENOMEM.
 */
int purge_scope_new(const struct fields *request, struct purge_scope **out);

/* *scope becomes null; null is allowed. */
void purge_scope_free(struct purge_scope **scope);

/* The prefix, canonical; null: it is by tags. */
const char *purge_scope_prefix(const struct purge_scope *scope);

/* Whether it has the response of a canonical URI with these fields, which do
 * not matter, and may be null, where there is a prefix. */
bool purge_scope_has(const struct purge_scope *scope, const char *uri,
		     const struct fields *fields);

#endif
