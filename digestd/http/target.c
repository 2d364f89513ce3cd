/*
 * Request targets.
 */
#include "digestd/http/target.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "codec/uri.h"

enum { SHORT_BYTES = 512 }; /* of a URI that is joined on the stack */

/* Scheme, host and path of a canonical URI: it begins with http:// or https://,
 * in lower case. */
static void target_split(struct target *t)
{
	t->host = t->uri + (t->uri[4] == 's' ? strlen("https://") :
					       strlen("http://"));
	t->path = strchr(t->host, '/');
	t->host_len = (size_t)(t->path - t->host);
}

/* A canonical URI in memory of its own. */
static int target_canonical(const char *uri, size_t len, char **out,
			    size_t *out_len)
{
	char *text = malloc(len + 2);

	if (!text)
		return -ENOMEM;
	if (scd_uri_canonical(uri, len, text, len + 2, out_len)) {
		free(text);
		return -EINVAL;
	}
	*out = text;
	return 0;
}

/* prefix + host + path, made canonical. */
static int target_join(const char *prefix, const char *host, struct target *t,
		       const char *raw, size_t len)
{
	size_t prefix_len = strlen(prefix), host_len = strlen(host);
	size_t uri_len = prefix_len + host_len + len;
	char room[SHORT_BYTES];
	char *uri = uri_len <= sizeof(room) ? room : malloc(uri_len);
	int err = -ENOMEM;

	if (uri) {
		memcpy(uri, prefix, prefix_len);
		memcpy(uri + prefix_len, host, host_len);
		memcpy(uri + prefix_len + host_len, raw, len);
		err = target_canonical(uri, uri_len, &t->uri, &t->uri_len);
	}
	if (uri != room)
		free(uri);
	return err;
}

int target_resolve(struct target *t, const char *raw, size_t len,
		   const char *host)
{
	int err = -EINVAL;

	*t = (struct target){ .absolute = len && raw[0] != '/' };
	if (t->absolute)
		err = target_canonical(raw, len, &t->uri, &t->uri_len);
	else if (len && host && *host && !strpbrk(host, "/?#@"))
		err = target_join("http://", host, t, raw, len);
	if (!err)
		target_split(t);
	return err;
}

bool target_is_https(const struct target *t)
{
	return !strncmp(t->uri, "https:", 6);
}

int target_set_scheme(struct target *t, const char *scheme)
{
	const char *rest = strstr(t->uri, "://");
	size_t scheme_len = strlen(scheme);
	size_t rest_len = t->uri_len - (size_t)(rest - t->uri);
	char *uri = malloc(scheme_len + rest_len);
	char *old = t->uri;
	int err = -ENOMEM;

	if (uri) {
		memcpy(uri, scheme, scheme_len);
		memcpy(uri + scheme_len, rest, rest_len);
		err = target_canonical(uri, scheme_len + rest_len, &t->uri,
				       &t->uri_len);
	}
	free(uri);
	if (err)
		return err;
	free(old);
	target_split(t);
	return 0;
}

void target_free(struct target *t)
{
	free(t->uri);
	*t = (struct target){ 0 };
}

/* How much of the target stands before a relative reference (RFC 3986, 5.2). */
static size_t target_base_len(const struct target *t, const char *reference)
{
	size_t origin = (size_t)(t->path - t->uri);
	size_t query = strcspn(t->path, "?");

	if (reference[0] == '\0' || reference[0] == '#')
		return t->uri_len;
	if (reference[0] == '/')
		return origin;
	if (reference[0] == '?')
		return origin + query;
	while (t->path[query - 1] != '/')
		query--;
	return origin + query;
}

static int target_resolve_relative(const struct target *t,
				   const char *reference, char **uri)
{
	size_t base = target_base_len(t, reference), len = strlen(reference);
	size_t out_len;
	char *joined = malloc(base + len + 1);
	int err = -ENOMEM;

	if (joined) {
		memcpy(joined, t->uri, base);
		memcpy(joined + base, reference, len);
		err = target_canonical(joined, base + len, uri, &out_len);
	}
	free(joined);
	return err;
}

int target_same_origin(const struct target *t, const char *reference,
		       char **uri)
{
	size_t origin = (size_t)(t->path - t->uri);
	size_t len, colon = strcspn(reference, ":/?#");
	char *found;
	int err;

	if (!strncmp(reference, "//", 2))
		return -EINVAL;
	if (reference[colon] != ':')
		return target_resolve_relative(t, reference, uri);
	err = target_canonical(reference, strlen(reference), &found, &len);
	if (err)
		return err;
	if (len <= origin || memcmp(found, t->uri, origin + 1)) {
		free(found);
		return -EINVAL;
	}
	*uri = found;
	return 0;
}
