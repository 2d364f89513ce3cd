/*
 * The authority of a request (RFC 9110, 4.2 and 7.2): host and port, as in Host
 * and in targets. What is one here makes a canonical URI, too (codec/uri.h),
 * but some of what that accepts is none: user information, and in brackets
 * anything but an IPv6 address.
 */
#ifndef DIGESTD_HTTP_AUTHORITY_H
#define DIGESTD_HTTP_AUTHORITY_H

#include <stdbool.h>

#include "digestd/http/fields.h"

enum { AUTHORITY_MAX = 300 }; /* bytes; a DNS name and a port have up to 261 */

struct authority {
	struct field_part host; /* as it came, but for a dot at its end */
	unsigned port;          /* 0: none, or an empty one */
};

/* Takes an authority apart; false: it is none. */
bool authority_parse(struct field_part text, struct authority *a);

/* Whether two name the same; https: their scheme, for the default port. */
bool authority_same(const struct authority *a, const struct authority *b,
		    bool https);

#endif
