/*
 * What a PURGE is of: a target, or many: all whose URI begins so
 * (Purge-Prefix), or all that has one of some tags (Purge-Tag, see tags.h).
 */
#ifndef DIGESTD_HTTP_PURGE_SCOPE_H
#define DIGESTD_HTTP_PURGE_SCOPE_H

struct fields;

/*
 * What is wrong with a PURGE's fields, as a line for who sent them; null: they
 * say one thing.
 */
const char *purge_scope_fault(const struct fields *request);

/*
 * The prefix that a PURGE names, which is there once, as a canonical URI, to be
 * freed. Returns 0, -EINVAL for what is no URI, -ENOMEM.
 */
int purge_scope_prefix(const struct fields *request, char **out);

#endif
