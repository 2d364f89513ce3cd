/*
 * The keys of URLs, by the hashing of the digest that they are for.
 */
#ifndef DIGESTD_CTL_URL_KEY_H
#define DIGESTD_CTL_URL_KEY_H

#include <stddef.h>

#include "codec/key.h"

struct url_key {
	enum scd_hashing hashing;
	const uint8_t *secret; /* SCD_SECRET_BYTES; Squid's needs none: null */
};

/*
 * The key of GET and a URL (len bytes), brought into canonical form first.
 * Returns an SCD_ error: SCD_EURI for what is no such URL, SCD_ENOMEM.
 */
int url_key(const struct url_key *how, const char *url, size_t len,
	    struct scd_key *out);

#endif
