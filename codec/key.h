/*
 * Cache keys: what an object is known by in filters, in the store's index and
 * between peers.
 *
 * A key stands for method + canonical URI (uri.h) and is hashed once, under
 * the secret of the cluster, into 128 bits from which everything else derives.
 * All nodes of a cluster share the secret, so one hash serves every peer; who
 * does not know it cannot craft URIs that fill a digest.
 */
#ifndef SCD_KEY_H
#define SCD_KEY_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
	SCD_SECRET_BYTES = 16,
	SCD_MAX_HASH = 32,  /* hash functions of a filter at most */
	SCD_SQUID_HASH = 4, /* and all that there are in Squid's way */
};

/* Squid counts an array's bits in 31 bits. */
#define SCD_SQUID_MAX_BITS (UINT64_C(1) << 31)

/* How positions derive from a key; FORMAT.md numbers them. */
enum scd_hashing {
	SCD_HASHING_DOUBLE = 0, /* scd_positions() */
	SCD_HASHING_SQUID = 1,  /* scd_positions_squid() */
	SCD_HASHING_PREFIX = 2, /* scd_fingerprint(): one function */
};

/* A value: copied, compared and stored freely. It depends on the secret. */
struct scd_key {
	uint64_t lo, hi;
};

/*
 * The key of a method and a canonical URI (scd_uri_canonical(); uri_len bytes,
 * any bytes). The method is a string with a final NUL, case-sensitive; HEAD has
 * GET's key. Cannot fail; takes about 40 ns for a URI of 60 bytes.
 * Source: SipHash-2-4-128 over method, one space, URI.
 */
void scd_key_make(const uint8_t secret[SCD_SECRET_BYTES], const char *method,
		  const char *uri, size_t uri_len, struct scd_key *out);

/*
 * Derive a secret for one purpose from the one key of a cluster. The label, a
 * string with a final NUL, names the purpose: nodes take "hash" for
 * scd_key_make() and "token" for what they present to each other. Neither the
 * key nor another label's secret can be computed from the result. out may be
 * key. Cannot fail.
 * Source: SipHash-2-4-128 as a pseudo-random function of the label.
 */
void scd_derive(const uint8_t key[SCD_SECRET_BYTES], const char *label,
		uint8_t out[SCD_SECRET_BYTES]);

/*
 * The nhash (1..32) positions of a key in an array of nbits (> 0) bits, each
 * below nbits, not necessarily distinct. Cannot fail. In an array of half as
 * many bits, both numbers powers of two, they are the same modulo its size.
 * Source: enhanced double hashing, Dillinger and Manolios, "Bloom Filters in
 * Probabilistic Verification", 2004: x(0) = lo, step(0) = hi; x(i) = x(i-1) +
 * step(i-1); step(i) = step(i-1) + i; modulo 2^64, then modulo nbits.
 */
void scd_positions(const struct scd_key *key, uint64_t nbits, unsigned nhash,
		   uint64_t *out);

/*
 * The fingerprint of a key: its first bits, `width` (1..63) of lo from the top,
 * so below 2^width. It is the one position of the key in an array of 2^width
 * bits of hashing SCD_HASHING_PREFIX. Keys in the order of their fingerprints
 * of one width are so for each smaller width, too. Cannot fail.
 */
static inline uint64_t scd_fingerprint(const struct scd_key *key,
				       unsigned width)
{
	return key->lo >> (64 - width);
}

/*
 * The same as Squid's cache digests have it: the key's four words of 32 bits,
 * those of lo first, the upper one before the lower, modulo nbits (> 0).
 * Bits from 2^32 on are never reached. Cannot fail. The key is one of
 * scd_squid_key() (squid.h).
 */
void scd_positions_squid(const struct scd_key *key, uint64_t nbits,
			 uint64_t out[SCD_SQUID_HASH]);

#ifdef __cplusplus
}
#endif

#endif
