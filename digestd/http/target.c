/*
 * Request targets.
 */
#include "digestd/http/target.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "codec/uri.h"
#include "codec/uri_form.h"

enum { SHORT_BYTES = 512 }; /* of a URI that is joined on the stack */

/* Scheme, host and path of a canonical URI: it begins with http:// or https://,
 * in lower case. */
static void target_split(struct target *t)
{
	t->host = t->uri + (target_is_https(t) ? strlen("https://") :
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

/* The same in the target's own memory, where that is enough. */
static int target_take(struct target *t, const char *uri, size_t len)
{
	if (len + 2 > sizeof(t->room))
		return target_canonical(uri, len, &t->uri, &t->uri_len);
	if (scd_uri_canonical(uri, len, t->room, sizeof(t->room), &t->uri_len))
		return -EINVAL;
	t->uri = t->room;
	return 0;
}

static const char target_prefix[] = "http://";
enum { TARGET_PREFIX = sizeof(target_prefix) - 1 };

static void target_write(char *uri, struct field_part host,
			 struct field_part path)
{
	memcpy(uri, target_prefix, TARGET_PREFIX);
	memcpy(uri + TARGET_PREFIX, host.at, host.len);
	memcpy(uri + TARGET_PREFIX + host.len, path.at, path.len);
	uri[TARGET_PREFIX + host.len + path.len] = '\0';
}

/* Takes what is canonical as it is written, and whose host is all of `host`;
 * false: it is not. */
static bool target_take_written(struct target *t, struct field_part host,
				struct field_part path)
{
	const size_t len = TARGET_PREFIX + host.len + path.len;
	const size_t path_at = TARGET_PREFIX + host.len;

	if (len + 1 > sizeof(t->room) || !path.len)
		return false;
	target_write(t->room, host, path);
	if (scd__uri_written_path(t->room, len) != path_at)
		return false;
	t->uri = t->room;
	t->uri_len = len;
	t->host = t->room + TARGET_PREFIX;
	t->host_len = host.len;
	t->path = t->room + path_at;
	return true;
}

/* http:// + host + path, made canonical. */
static int target_join(struct target *t, struct field_part host,
		       struct field_part path)
{
	size_t uri_len = TARGET_PREFIX + host.len + path.len;
	char room[SHORT_BYTES];
	char *uri = uri_len < sizeof(room) ? room : malloc(uri_len + 1);
	int err = -ENOMEM;

	if (uri) {
		target_write(uri, host, path);
		err = target_take(t, uri, uri_len);
	}
	if (uri != room)
		free(uri);
	return err;
}

/* All but the room is zero then. */
static void target_clear(struct target *t)
{
	memset(t, 0, offsetof(struct target, room));
}

static int target_resolve_origin(struct target *t, const char *raw, size_t len,
				 struct field_part host)
{
	const struct field_part path = { raw, len };

	if (!host.len)
		return -EINVAL;
	if (target_take_written(t, host, path))
		return 0;
	return strpbrk(host.at, "/?#@") ? -EINVAL : target_join(t, host, path);
}

int target_resolve_n(struct target *t, const char *raw, size_t len,
		     struct field_part host)
{
	int err;

	target_clear(t);
	if (!len)
		return -EINVAL;
	t->absolute = raw[0] != '/';
	err = t->absolute ? target_take(t, raw, len)
			  : target_resolve_origin(t, raw, len, host);
	if (!err && !t->path)
		target_split(t);
	return err;
}

/* Frees a URI that is not in the target's own memory. */
static void target_free_uri(const struct target *t, char *uri)
{
	if (uri != t->room)
		free(uri);
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
	target_free_uri(t, old);
	target_split(t);
	return 0;
}

void target_free(struct target *t)
{
	target_free_uri(t, t->uri);
	target_clear(t);
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

/* Makes a URI canonical that begins with so much of the target's. */
static int target_resolve_behind(const struct target *t, size_t base,
				 const char *reference, char **uri)
{
	size_t len = strlen(reference), out_len;
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

/* Takes the dot segments out of a canonical URI's path (RFC 3986, 5.2.4). */
static void target_remove_dots(char *uri)
{
	char *path = strchr(strstr(uri, "://") + 3, '/');
	char *end = path + strcspn(path, "?"), *to = path;

	for (char *from = path; from < end;) {
		size_t len = strcspn(from + 1, "/?");
		bool up = len == 2 && !strncmp(from, "/..", 3);

		if (up || (len == 1 && from[1] == '.')) {
			while (up && to > path && *--to != '/')
				;
			if (from + 1 + len == end)
				*to++ = '/';
		} else {
			memmove(to, from, len + 1);
			to += len + 1;
		}
		from += len + 1;
	}
	memmove(to, end, strlen(end) + 1);
}

/* How much of the target stands before a reference: nothing, its scheme, or
 * what target_base_len() says. */
static size_t target_kept_len(const struct target *t, const char *reference)
{
	if (!strncmp(reference, "//", 2))
		return strcspn(t->uri, "/");
	return reference[strcspn(reference, ":/?#")] == ':' ?
		       0 : target_base_len(t, reference);
}

int target_same_origin(const struct target *t, const char *reference,
		       char **uri)
{
	size_t origin = (size_t)(t->path - t->uri);
	char *found;
	int err = target_resolve_behind(t, target_kept_len(t, reference),
					reference, &found);

	if (err)
		return err;
	if (strncmp(found, t->uri, origin + 1) != 0) {
		free(found);
		return -EINVAL;
	}
	/* without a path of its own the target's stays as it is */
	if (reference[0] && reference[0] != '?' && reference[0] != '#')
		target_remove_dots(found);
	*uri = found;
	return 0;
}
