/*
 * Names of servers.
 */
#include "digestd/tls/tls_name.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <strings.h>

/* Without the dot of the root. */
static size_t tls_name_len(const char *name)
{
	size_t len = strlen(name);

	return len - (len && name[len - 1] == '.');
}

static bool tls_name_is_same(const char *a, const char *b)
{
	size_t len = tls_name_len(a);

	return len && len == tls_name_len(b) && !strncasecmp(a, b, len);
}

enum tls_match tls_name_match(const char *certified, const char *asked)
{
	const char *rest = strchr(asked, '.');

	if (tls_name_is_same(certified, asked))
		return TLS_MATCH_EXACT;
	if (certified[0] == '*' && certified[1] == '.' && rest &&
	    rest > asked && tls_name_is_same(certified + 2, rest + 1))
		return TLS_MATCH_WILDCARD;
	return TLS_MATCH_NONE;
}
