/*
 * Invalidations: hashes of what they are of. Prefixes and tags are hashed like
 * keys, with a word that no method can be in place of the method.
 */
#include "digestd/mesh/invalidation.h"

#include <assert.h>
#include <string.h>

struct invalidation invalidation_of_key(const struct scd_key *key)
{
	return (struct invalidation){*key, 0, INVALIDATION_KEY};
}

const char *invalidation_behind_scheme(const char *uri)
{
	const char *scheme = strstr(uri, "://");

	assert(scheme);
	return scheme + 3;
}

struct scd_key invalidation_hash_prefix(const uint8_t secret[SCD_SECRET_BYTES],
					const char *behind_scheme, size_t len)
{
	struct scd_key hash;

	scd_key_make(secret, "a prefix", behind_scheme, len, &hash);
	return hash;
}

struct invalidation
invalidation_of_prefix(const uint8_t secret[SCD_SECRET_BYTES], const char *uri)
{
	const char *prefix = invalidation_behind_scheme(uri);
	size_t len = strlen(prefix);

	assert(len);
	if (len > INVALIDATION_PREFIX_MAX)
		len = INVALIDATION_PREFIX_MAX;
	return (struct invalidation){
		invalidation_hash_prefix(secret, prefix, len), (uint16_t)len,
		INVALIDATION_PREFIX};
}

struct invalidation invalidation_of_tag(const uint8_t secret[SCD_SECRET_BYTES],
					struct field_part tag)
{
	struct invalidation of = {.kind = INVALIDATION_TAG};

	scd_key_make(secret, "a tag", tag.at, tag.len, &of.hash);
	return of;
}
