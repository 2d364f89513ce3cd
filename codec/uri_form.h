/*
 * Whether a URI needs to be made canonical (uri.h) at all.
 */
#ifndef SCD_URI_FORM_H
#define SCD_URI_FORM_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Whether so many bytes are a canonical URI, as nearly all are that clients ask
 * for: a name in lower case, perhaps a port, and a path. False also for some
 * that are (escapes in a host, an address of IPv6); to make these canonical
 * only takes longer.
 */
bool scd__uri_is_canonical(const char *uri, size_t len);

#endif
