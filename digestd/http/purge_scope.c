/*
 * Prefixes and tags.
 */
#include "digestd/http/purge_scope.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "codec/uri.h"
#include "digestd/http/fields.h"
#include "digestd/http/tags.h"

struct purge_scope {
	char *prefix;         /* canonical; null: by tags */
	struct fields fields; /* which the tags point into */
	struct tags tags;
};

static int purge_scope_set_prefix(struct purge_scope *s, const char *prefix)
{
	size_t len = strlen(prefix);

	s->prefix = malloc(len + 2);
	if (!s->prefix)
		return -ENOMEM;
	return scd_uri_canonical(prefix, len, s->prefix, len + 2, NULL) ?
		       -EINVAL :
		       0;
}

static int purge_scope_set_tags(struct purge_scope *s,
				const struct fields *request)
{
	int err = fields_copy(request, &s->fields);

	return err ? err : tags_init(&s->tags, &s->fields, "Purge-Tag");
}

const char *purge_scope_fault(const struct fields *request)
{
	size_t prefixes = fields_lines(request, "Purge-Prefix");
	struct field_cursor tags = { 0 };
	struct field_part tag;

	if (prefixes && fields_lines(request, "Purge-Tag"))
		return "Purge-Prefix and Purge-Tag exclude each other";
	if (prefixes > 1)
		return "Purge-Prefix may be given once only";
	if (!prefixes && !fields_next(request, "Purge-Tag", &tags, &tag))
		return "Purge-Tag must name at least one tag";
	return NULL;
}

int purge_scope_new(const struct fields *request, struct purge_scope **out)
{
	const char *prefix = fields_get(request, "Purge-Prefix");
	struct purge_scope *s = calloc(1, sizeof(*s));
	int err;

	if (!s)
		return -ENOMEM;
	fields_init(&s->fields);
	err = prefix ? purge_scope_set_prefix(s, prefix) :
		       purge_scope_set_tags(s, request);
	if (err)
		purge_scope_free(&s);
	*out = s;
	return err;
}

void purge_scope_free(struct purge_scope **scope)
{
	struct purge_scope *s = *scope;

	*scope = NULL;
	if (!s)
		return;
	tags_free(&s->tags);
	fields_free(&s->fields);
	free(s->prefix);
	free(s);
}

const char *purge_scope_prefix(const struct purge_scope *scope)
{
	return scope->prefix;
}

/* What http and https share; URIs are canonical. */
static const char *purge_scope_behind_scheme(const char *uri)
{
	return strstr(uri, "://") + 3;
}

bool purge_scope_has(const struct purge_scope *scope, const char *uri,
		     const struct fields *fields)
{
	const char *prefix;

	if (!scope->prefix)
		return tags_match(&scope->tags, fields);
	prefix = purge_scope_behind_scheme(scope->prefix);
	return !strncmp(purge_scope_behind_scheme(uri), prefix, strlen(prefix));
}
