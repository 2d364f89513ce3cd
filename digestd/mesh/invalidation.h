/*
 * An invalidation: what is older than it, and is of it, must not be served any
 * more. It is of one cache key, of all URIs that begin with a prefix, of all
 * responses that have a tag, or of all there is.
 *
 * URIs and tags stand in it as hashes under the cluster's secret, so that each
 * has one size, on the wire and in memory, and a lookup finds those that are of
 * a response without comparing it with all. Schemes do not matter to a prefix.
 */
#ifndef DIGESTD_MESH_INVALIDATION_H
#define DIGESTD_MESH_INVALIDATION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "codec/key.h"
#include "digestd/http/fields.h"

enum invalidation_kind {
	INVALIDATION_ALL,    /* hash and length are 0 */
	INVALIDATION_KEY,    /* hash: the cache key */
	INVALIDATION_PREFIX, /* hash: of `len` bytes behind the scheme */
	INVALIDATION_TAG,    /* hash: of the tag */
};

enum {
	INVALIDATION_KINDS = INVALIDATION_TAG + 1,
	/* Longer prefixes are cut, and are of more than they say. */
	INVALIDATION_PREFIX_MAX = 8192,
};

struct invalidation {
	struct scd_key hash;
	uint16_t len; /* of a prefix [bytes], > 0; else 0 */
	uint8_t kind;
};

/* Of the cache key. */
struct invalidation invalidation_of_key(const struct scd_key *key);

/* Of a prefix: a canonical URI, of http or https. */
struct invalidation
invalidation_of_prefix(const uint8_t secret[SCD_SECRET_BYTES], const char *uri);

/* Of a tag, see tags.h. */
struct invalidation
invalidation_of_tag(const uint8_t secret[SCD_SECRET_BYTES],
		    struct field_part tag);

/* Of the first len bytes behind a URI's scheme, as prefixes are hashed. */
struct scd_key
invalidation_hash_prefix(const uint8_t secret[SCD_SECRET_BYTES],
			 const char *behind_scheme, size_t len);

/* What follows the scheme of a canonical URI. */
const char *invalidation_behind_scheme(const char *uri);

#endif
