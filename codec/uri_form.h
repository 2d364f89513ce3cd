/*
 * Whether a URI needs to be made canonical (uri.h) at all.
 */
#ifndef SCD_URI_FORM_H
#define SCD_URI_FORM_H

#include <stddef.h>

/*
 * Where the path of a canonical URI begins, as nearly all are that clients ask
 * for: a name in lower case, perhaps a port, and a path. 0: so many bytes are
 * no such URI. Some of those are canonical, too (escapes in a host, an address
 * of IPv6); to make them so only takes longer.
 */
size_t scd__uri_written_path(const char *uri, size_t len);

#endif
