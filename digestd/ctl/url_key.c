/*
 * The keys of URLs.
 */
#include "digestd/ctl/url_key.h"

#include <stdlib.h>

#include "codec/error.h"
#include "codec/squid.h"
#include "codec/uri.h"

enum { SMALL_BYTES = 2048 }; /* of most URLs: spares malloc() */

static int url_key_of(const struct url_key *how, const char *uri, size_t len,
		      struct scd_key *out)
{
	switch (how->hashing) {
	case SCD_HASHING_DOUBLE:
	case SCD_HASHING_PREFIX:
		scd_key_make(how->secret, "GET", uri, len, out);
		return SCD_OK;
	case SCD_HASHING_SQUID:
		return scd_squid_key("GET", uri, len, out);
	}
	return SCD_EVERSION;
}

int url_key(const struct url_key *how, const char *url, size_t len,
	    struct scd_key *out)
{
	char small[SMALL_BYTES];
	char *canonical = len + 2 <= sizeof(small) ? small : malloc(len + 2);
	int error = SCD_ENOMEM;

	if (canonical)
		error = scd_uri_canonical(url, len, canonical, len + 2, &len);
	if (!error)
		error = url_key_of(how, canonical, len, out);
	if (canonical != small)
		free(canonical);
	return error;
}
