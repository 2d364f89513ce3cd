/*
 * The canonical form of a URI: the one spelling under which all nodes of a
 * cluster know an object.
 */
#ifndef SCD_URI_H
#define SCD_URI_H

#include <stddef.h>

#include "error.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Write the canonical form of an absolute http or https URI of len bytes to
 * out, with a final NUL, and its length without it to *out_len (may be null).
 * cap >= len + 2 always suffices; out must not overlap uri.
 *
 * Changed (RFC 3986, 6.2.2.1 and 6.2.3): scheme and host in lower case; a
 * trailing dot of the host, the default port, an empty port, leading zeros of
 * a port, userinfo and fragment dropped; an empty path becomes "/".
 * Left alone: path and query as they came, also the case of %-escapes, dot
 * segments and double slashes, because servers may tell them apart.
 *
 * SCD_EURI: not such a URI (another scheme, no host, a port outside 1..65535,
 * a byte that is no ASCII graphic). SCD_ESPACE: cap is too small. On errors
 * out is undefined.
 */
int scd_uri_canonical(const char *uri, size_t len, char *out, size_t cap,
		      size_t *out_len);

#ifdef __cplusplus
}
#endif

#endif
