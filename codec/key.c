/*
 * Cache keys, and what is derived from a secret.
 */
#include "codec/key.h"

#include <assert.h>
#include <stdbool.h>
#include <string.h>

#include "codec/positions.h"
#include "codec/siphash.h"

/* Whether it is GET, or HEAD, which has its key. */
static bool key_is_read(const char *method)
{
	if (method[0] == 'G') /* saves a call for most */
		return method[1] == 'E' && method[2] == 'T' && !method[3];
	return !strcmp(method, "HEAD");
}

void scd_key_make(const uint8_t secret[SCD_SECRET_BYTES], const char *method,
		  const char *uri, size_t uri_len, struct scd_key *out)
{
	const uint32_t get = (uint32_t)'G' | (uint32_t)'E' << 8 |
			     (uint32_t)'T' << 16 | (uint32_t)' ' << 24;
	struct scd__siphash s;
	uint64_t words[2];

	if (key_is_read(method)) {
		scd__siphash_whole(secret, get, 4, uri, uri_len, words);
	} else {
		scd__siphash_init(&s, secret);
		scd__siphash_update(&s, method, strlen(method));
		scd__siphash_update(&s, " ", 1);
		scd__siphash_update(&s, uri, uri_len);
		scd__siphash_final(&s, words);
	}
	out->lo = words[0];
	out->hi = words[1];
}

void scd_derive(const uint8_t key[SCD_SECRET_BYTES], const char *label,
		uint8_t out[SCD_SECRET_BYTES])
{
	struct scd__siphash s;
	uint64_t words[2];

	scd__siphash_init(&s, key);
	scd__siphash_update(&s, label, strlen(label));
	scd__siphash_final(&s, words);
	for (unsigned i = 0; i < SCD_SECRET_BYTES; i++)
		out[i] = (uint8_t)(words[i / 8] >> i % 8 * 8);
}

void scd_positions(const struct scd_key *key, uint64_t nbits, unsigned nhash,
		   uint64_t *out)
{
	struct scd_key walk = *key;

	assert(nbits > 0 && nhash > 0 && nhash <= SCD_MAX_HASH);
	for (unsigned i = 0; i < nhash; i++)
		out[i] = scd__next_hash(&walk, i);
	/* The remainder by a power of two is a mask, ten times faster. */
	if (nbits & (nbits - 1)) {
		struct scd__modulus m = scd__modulus_of(nbits);

		for (unsigned i = 0; i < nhash; i++)
			out[i] = scd__modulo(m, out[i]);
	} else {
		for (unsigned i = 0; i < nhash; i++)
			out[i] &= nbits - 1;
	}
}

void scd_positions_squid(const struct scd_key *key, uint64_t nbits,
			 uint64_t out[SCD_SQUID_HASH])
{
	assert(nbits > 0);
	out[0] = (key->lo >> 32) % nbits;
	out[1] = (uint32_t)key->lo % nbits;
	out[2] = (key->hi >> 32) % nbits;
	out[3] = (uint32_t)key->hi % nbits;
}
