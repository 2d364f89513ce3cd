/*
 * The target of a request (RFC 9112, 3.3): from the raw request line and Host
 * to a canonical URI.
 */
#ifndef DIGESTD_HTTP_TARGET_H
#define DIGESTD_HTTP_TARGET_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "digestd/http/fields.h"

/* Most URIs are in its own memory, so it cannot be copied as a value. */
enum { TARGET_ROOM = 200 };

struct target {
	char *uri;         /* canonical (codec/uri.h), ended by NUL */
	size_t uri_len;
	const char *host;  /* in uri: host, and port where it is not the
			      scheme's */
	size_t host_len;
	const char *path;  /* in uri: path and query, from the first slash */
	bool absolute;     /* the request had an absolute-form target */
	char room[TARGET_ROOM]; /* private */
};

/*
 * Resolves a request target of len bytes: absolute-form, or origin-form with
 * the request's Host, a string (null when it has none), under http. Returns 0;
 * -EINVAL for a target that is neither, without a host, or not http(s);
 * -ENOMEM. To be released with target_free().
 */
int target_resolve_n(struct target *t, const char *raw, size_t len,
		     struct field_part host);
static inline int target_resolve(struct target *t, const char *raw, size_t len,
				 const char *host)
{
	return target_resolve_n(t, raw, len,
				(struct field_part){
					host, host ? strlen(host) : 0 });
}

/* Whether its scheme is https. */
static inline bool target_is_https(const struct target *t)
{
	return t->uri[4] == 's'; /* else it is http */
}

/*
 * Gives a target another scheme, "http" or "https". Returns 0; -EINVAL or
 * -ENOMEM, and then it is as it was.
 */
int target_set_scheme(struct target *t, const char *scheme);

/* Releases what it has; there is no URI in *t any more. */
void target_free(struct target *t);

/*
 * Resolves a reference (Location, Content-Location) against a target and gives
 * it as a canonical URI in *uri, to be released with free(), if it has the
 * same scheme, host and port. A path in it loses its dot segments, as clients
 * ask for it without. Returns 0; -EINVAL for another origin, or what is no
 * reference; -ENOMEM.
 */
int target_same_origin(const struct target *t, const char *reference,
		       char **uri);

#endif
