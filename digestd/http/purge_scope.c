/*
 * Prefixes and tags.
 */
#include "digestd/http/purge_scope.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "codec/uri.h"
#include "digestd/http/fields.h"

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

int purge_scope_prefix(const struct fields *request, char **out)
{
	const char *prefix = fields_get(request, "Purge-Prefix");
	size_t len;
	int err;

	assert(prefix);
	len = strlen(prefix);
	*out = malloc(len + 2);
	if (!*out)
		return -ENOMEM;
	err = scd_uri_canonical(prefix, len, *out, len + 2, NULL);
	if (!err)
		return 0;
	free(*out);
	*out = NULL;
	return -EINVAL;
}
